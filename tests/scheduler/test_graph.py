from __future__ import annotations

import functools
import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import fingerprint
from scheduler.comm import run_virtual
from scheduler.errors import SPMDError
from scheduler.graph import Graph, order, plan_jobs
from scheduler.placement import assign
from scheduler.plan import check_together

SIZES = (1, 2, 3, 5, 7)


class Broken(Exception):
    pass


def break_down(*_):
    raise Broken("no")


@st.composite
def calls(draw):
    """What each call reads, and its rank."""
    count = draw(st.integers(1, 15))
    return [
        (
            tuple(draw(st.lists(st.integers(0, p - 1), max_size=3))) if p else (),
            draw(st.none() | st.integers(0, 1)),
        )
        for p in range(count)
    ]


def build(calls, broken=()):
    graph = Graph()
    nodes = []
    for position, (reads, rank) in enumerate(calls):
        function = break_down if position in broken else lambda values, n: sum(values) % 97 + n
        nodes.append(graph.add(function, [nodes[i] for i in reads], position, rank=rank))
    return graph, nodes


def serial(calls):
    values = []
    for position, (reads, _) in enumerate(calls):
        values.append(sum(values[i] for i in reads) % 97 + position)
    return values


@pytest.mark.parametrize("size", SIZES)
@given(calls=calls(), data=st.data())
def test_random_graphs_give_the_serial_values_on_every_rank(size, calls, data):
    if size == 1:
        calls = [(reads, None) for reads, _ in calls]
    wanted = data.draw(st.lists(st.integers(0, len(calls) - 1), min_size=1, max_size=4))

    def main(world):
        graph, nodes = build(calls)
        return graph.run(*(nodes[i] for i in wanted), world=world)

    expected = serial(calls)
    results = run_virtual(size, main, seed=data.draw(st.integers(0, 3)))
    assert results == [tuple(expected[i] for i in wanted)] * size


@pytest.mark.parametrize("size", SIZES[1:])
@given(calls=calls(), data=st.data())
def test_a_failing_call_fails_on_every_rank(size, calls, data):
    broken = data.draw(st.sets(st.integers(0, len(calls) - 1), min_size=1, max_size=2))

    def main(world):
        graph, _ = build(calls, broken)
        with pytest.raises(Broken) as caught:
            graph.run(world=world)
        graph, nodes = build(calls)
        return caught.value.__notes__, graph.run(nodes[-1], world=world)

    for notes, values in run_virtual(size, main):
        assert notes[0] == "in the call 'break_down' of a graph"
        assert values == (serial(calls)[-1],)


@pytest.mark.parametrize("size", SIZES)
def test_arguments_may_be_nested(size):
    def main(world):
        graph = Graph()
        one, two = graph.add(int, 1), graph.add(int, "10", base=2)
        nested = graph.add(lambda *a, **k: (a, k), one, [two, (one, 5)], {"x": [one]}, k=two)
        return graph.run(nested, one, world=world)

    assert run_virtual(size, main) == [(((1, [2, (1, 5)], {"x": [1]}), {"k": 2}), 1)] * size


@pytest.mark.parametrize("size", SIZES)
def test_pinned_calls_run_where_they_are_told(size):
    def main(world):
        graph = Graph()
        nodes = [graph.add(lambda: world.rank, rank=rank) for rank in reversed(range(size))]
        return graph.run(*nodes, world=world)

    assert run_virtual(size, main) == [tuple(reversed(range(size)))] * size


def test_every_call_runs_once_and_only_what_is_needed():
    ran = []

    def main(world):
        graph = Graph()
        nodes = [graph.add(ran.append, i) for i in range(20)]
        graph.add(ran.append, "not needed")
        graph.run(graph.add(lambda *_: None, *nodes), world=world)

    run_virtual(3, main)
    assert sorted(ran) == list(range(20))


def test_a_value_goes_once_to_each_rank():
    def main(world):
        graph = Graph()
        source = graph.add(np.arange, 10_000, rank=0)
        sums = [graph.add(np.sum, source, rank=1) for _ in range(5)]
        graph.run(*sums, world=world)
        return world.counters["send_bytes"]

    sent, _ = run_virtual(2, main)
    assert 80_000 <= sent < 90_000


def test_arrays_are_not_shared_between_virtual_ranks():
    def main(world):
        graph = Graph()
        source = graph.add(np.zeros, 10, rank=0)
        (values,) = graph.run(source, world=world)
        values += world.rank
        world.allgather(None, "all have written")
        return values.tolist()

    assert run_virtual(3, main) == [[float(rank)] * 10 for rank in range(3)]


def test_values_are_forgotten_after_their_last_use():
    class Value:
        pass

    refs = []

    def make(_):
        gc.collect()
        assert sum(ref() is not None for ref in refs) <= 1
        value = Value()
        refs.append(weakref.ref(value))
        return value

    graph = Graph()
    node = graph.add(make, None)
    for _ in range(10):
        node = graph.add(make, node)
    graph.run(graph.add(bool, node))
    assert len(refs) == 11


@pytest.mark.parametrize(
    "change",
    [
        lambda graph, rank: graph.add([abs, float][rank], 1),
        lambda graph, rank: graph.add(abs, rank),
        lambda graph, rank: graph.add(lambda: rank),
        lambda graph, rank: graph.add(np.sum, np.full(3, rank)),
        lambda graph, rank: graph.add(abs, 1, rank=rank),
        lambda graph, rank: [graph.add(abs, 1) for _ in range(rank)],
    ],
)
def test_different_graphs_are_a_wrong_program(change):
    def main(world):
        graph = Graph()
        last = graph.add(abs, -1)
        change(graph, world.rank)
        with pytest.raises(SPMDError, match="different graphs"):
            graph.run(world=world)
        same = Graph()
        return same.run(same.add(abs, -2), world=world), last.name

    assert run_virtual(2, main) == [((2,), "abs")] * 2


def test_mistakes_are_told():
    graph, other = Graph(), Graph()
    node = other.add(abs, 1)
    with pytest.raises(TypeError, match="cannot be called"):
        graph.add(3)
    with pytest.raises(ValueError, match="rank must be"):
        graph.add(abs, 1, rank=-1)
    with pytest.raises(ValueError, match="not a node of this graph"):
        graph.add(abs, [node])
    with pytest.raises(ValueError, match="not a node of this graph"):
        graph.run(node)
    graph.add(abs, 1, rank=3)
    with pytest.raises(ValueError, match="wants rank 3 of only 1"):
        graph.run()
    assert repr(node) == "Node(0, 'abs')"


def test_cycles_are_named():
    with pytest.raises(ValueError, match="cycle: b -> c -> b"):
        order({"a": ["b"], "b": ["c"], "c": ["b"]}, ["a"])
    with pytest.raises(ValueError, match="cycle: None -> None"):
        order({None: [None]}, [None])


def test_deep_graphs_need_no_recursion():
    graph = Graph()
    node = graph.add(int)
    for _ in range(5000):
        node = graph.add(lambda n: n + 1, node)
    assert graph.run(node) == (5000,)


@given(calls=calls(), size=st.integers(2, 9), data=st.data())
def test_the_plans_of_all_ranks_match(calls, size, data):
    graph, _ = build(calls)
    jobs = graph._jobs
    wanted = data.draw(st.sets(st.integers(0, len(jobs) - 1)))
    owners = assign([job.inputs for job in jobs], [job.rank for job in jobs], size)
    plans = [plan_jobs(jobs, owners, wanted, rank, size) for rank in range(size)]
    check_together(plans)
    assert sum(len(plan.steps[0].tasks) for plan in plans) == len(jobs)


def test_fingerprints():
    def make(n):
        return lambda: n

    same = [
        (1, 1),
        ("a", "a"),
        (np.arange(3), np.arange(3)),
        ({"a", "b", "c"}, {"c", "b", "a"}),
        (make(1), make(1)),
        (functools.partial(max, 1), functools.partial(max, 1)),
        ([1, (2, {"x": None})], [1, (2, {"x": None})]),
        (object(), object()),
    ]
    different = [
        (1, 2),
        (1, 1.0),
        (1, True),
        ([1], (1,)),
        (np.arange(3), np.arange(3.0)),
        (np.zeros((2, 3)), np.zeros((3, 2))),
        (np.array([1, "a"], object), np.array([1, "b"], object)),
        (make(1), make(2)),
        (lambda x: x + 1, lambda x: x - 1),
        (np.add, np.multiply),
        (len, abs),
        ([].append, [].pop),
        (functools.partial(max, 1), functools.partial(max, 2)),
    ]
    for a, b in same:
        assert fingerprint.digest([a]) == fingerprint.digest([b])
    for a, b in different:
        assert fingerprint.digest([a]) != fingerprint.digest([b])
        assert fingerprint.digest([a], strict=True) != fingerprint.digest([b], strict=True)

    def recursive():
        return recursive

    assert fingerprint.digest([recursive]) == fingerprint.digest([recursive])


@pytest.mark.ranks(1, 2, 3)
def test_mpi_ranks(world):
    graph = Graph()
    parts = [graph.add(lambda n: np.full(3000, n), n) for n in range(20)]
    graph.add(break_down, parts[0], parts[-1])
    total = graph.add(lambda values: sum(values), parts)
    (values,) = graph.run(total, world=world)
    assert values.tolist() == [190] * 3000
    with pytest.raises(Broken):
        graph.run(world=world)
    assert graph.run(parts[0], world=world)[0][0] == 0
