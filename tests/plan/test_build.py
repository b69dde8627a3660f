from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taskarr as ta
from taskarr.geometry.region import box_size
from taskarr.plan.build import BARE_RUN, RUN, build
from taskarr.plan.tasks import RunBlocks
from tests.geometry.strategies import chunks, entries
from tests.layouts import on_ranks
from tests.plan import test_counts as counted
from tests.plan import test_passes as programs
from tests.plan.ghost import check_messages, plan_for, plans_for

PROGRAMS = [program for program, _ in programs.EXPECTED] + [
    programs.of_two_passes,
    programs.statistics_of_rows,
    programs.written,
    *(count.program for count in counted.COUNTS),
]
SIZES = (1, 2, 3, 5, 7, 20)
ON_MESH = (counted.square_stencil, counted.on_mesh)
"""Programs that need four ranks."""


def sizes_for(program):
    return [size for size in SIZES if size >= 4 or program not in ON_MESH]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_all_ranks_plans_fit_together(program):
    for size in sizes_for(program):
        plans_for(program, size)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_planning_is_a_function_of_the_graph(program):
    for rank in (0, 3):
        planned = plan_for(program, rank, 4)
        again = build(planned.graph, planned.wanted, rank, 4)
        assert again.steps == planned.plan.steps
        assert again.outputs == planned.plan.outputs
        other = plan_for(program, rank, 4)
        assert other.plan.steps == planned.plan.steps


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_every_block_is_swept_by_its_owner_once(program):
    for planned in plans_for(program, 4):
        swept: dict[int, list] = {}
        for task in planned.tasks:
            if isinstance(task.run, RunBlocks):
                swept.setdefault(task.step, []).extend(task.run.blocks)
        boxes = [w.space.brick(planned.rank) for w in planned.passes]
        for blocks in swept.values():
            assert len(set(blocks)) == len(blocks)
            assert sum(map(box_size, blocks)) in [box_size(b) for b in boxes if b is not None]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_the_blocks_of_results_do_not_depend_on_the_ranks(program):
    def grids(size):
        planned = plan_for(program, 0, size)
        return [w.space.chunks for w in planned.passes]

    first, *others = sizes_for(program)
    assert all(grids(size) == grids(first) for size in others)


@pytest.mark.parametrize("mesh", [(1, 4), (4, 1), (2, 2)])
def test_the_blocks_of_results_do_not_depend_on_the_mesh(mesh):
    def program(make):
        a = make((24, 24), split=(0, 1), chunks=(2, 3), mesh=mesh)
        return a.sum(axis=1), a.sum(axis=0), (a.sum(axis=1) + 1).sum()

    found = [plan_for(program, rank, 4) for rank in range(4)]
    check_messages([p.plan for p in found])
    chunks = {p.graph[k].layout.chunks for p in found for k in p.wanted}
    assert chunks == {((2,) * 12,), ((3,) * 8,), ()}


def test_messages_name_the_brick_and_lie_in_it():
    for planned in plans_for(counted.two_rows, 4):
        for send in planned.sends:
            brick = np.arange(20.0).reshape(4, 5)
            packed = send.pack(brick)
            assert (packed.nbytes, packed.flags.c_contiguous) == (send.nbytes, True)
            assert np.shares_memory(packed, brick) != send.copies
        for recv in planned.recvs:
            assert recv.make().nbytes == recv.nbytes


def test_strided_pieces_are_copied_before_they_are_sent():
    def program(make):
        u = make((6, 8), split=1, chunks=(-1, 2))
        return u[:, 1:] - u[:, :-1]

    sends = [send for planned in plans_for(program, 4) for send in planned.sends]
    assert len(sends) == 3
    assert all(send.copies for send in sends)


def test_neighbouring_blocks_that_read_the_same_pieces_are_one_task():
    planned = plan_for(counted.two_rows, 1, 4)
    assert [len(s.blocks) for s in planned.sweeps] == [1, 3]
    assert [len(s.sources[0].received) for s in planned.sweeps] == [1, 0]


def test_large_blocks_are_tasks_of_their_own():
    planned = plan_for(lambda make: make((1 << 24,)) * 2, 0, 2, block=1 << 20)
    assert [len(s.blocks) for s in planned.sweeps] == [32, 32]
    assert all(sum(map(box_size, s.blocks)) == RUN for s in planned.sweeps)
    planned = plan_for(lambda make: make((1 << 26,)).sum(), 0, 2, block=1 << 20)
    assert [sum(map(box_size, s.blocks)) for s in planned.sweeps] == [BARE_RUN] * 2


def test_a_rank_without_a_part_has_empty_steps():
    plans = plans_for(counted.columns_mean, 20)
    idle = plans[-1]
    assert len(idle.plan.steps) == len(plans[0].plan.steps)
    assert not idle.sweeps
    assert [len(idle.recvs), len(idle.sends)] == [1, 0]


def test_values_end_with_the_run_unless_wanted():
    planned = plan_for(programs.held_inside, 0, 2)
    assert len(planned.plan.outputs) == 2
    assert {type(t.run) for t in planned.tasks if "allocate" not in t.name} >= {RunBlocks}


@st.composite
def random_programs(draw):
    """Two arrays of one shape in any layouts, seen through two keys of one shape, and a sum."""
    shape = draw(st.sampled_from([(7,), (8, 5), (1, 9), (9, 3), (2, 3, 4), (0, 4)]))
    places = []
    for _ in range(2):
        split = draw(st.sampled_from([0, len(shape) - 1, tuple(range(len(shape))), None]))
        cut = tuple(draw(chunks(n)) for n in shape) if draw(st.booleans()) else None
        places.append({"split": split, "chunks": cut})
    key = tuple(draw(entries(n)) for n in shape)
    flip = draw(st.sampled_from([1, -1]))
    last = draw(st.sampled_from([None, 0, len(shape) - 1]))
    return shape, places, key, flip, last, draw(st.integers(1, 9))


@settings(max_examples=60)
@given(random_programs())
def test_random_plans_fit_and_give_numpys_result(case):
    shape, places, key, flip, last, size = case

    def act(x, y):
        e = (x * 2 + y[::flip])[key]
        f = (x - y)[key]
        return e + f[::-1] if f.ndim else e + f

    def program(make):
        return act(*[make(shape, **place) for place in places])

    check_messages([p.plan for p in plans_for(program, size, 16)])
    x = np.arange(prod(shape) * 1.0).reshape(shape)
    y = x[::-1] * 100
    expected = act(x, y)

    def job(world):
        a, b = (ta.asarray(v, **place) for v, place in zip((x, y), places, strict=True))
        found = act(a, b)
        axis = last if found.ndim and last is not None and last < found.ndim else None
        return ta.compute(found, found.sum(axis=axis)), axis

    (whole, total), axis = on_ranks(size, job).value
    assert np.array_equal(whole, expected)
    np.testing.assert_allclose(total, expected.sum(axis=axis), rtol=1e-14)


def test_graphs_have_inputs_first():
    for program in PROGRAMS:
        graph = plan_for(program, 0, 4).graph
        assert all(i < k for k, node in enumerate(graph) for i in node.inputs)


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_a_value_of_zero_dimensions_travels_from_its_owner(size):
    def job(world):
        x = np.arange(24.0)
        a = ta.asarray(x)
        one = a[20].persist()
        b = ta.asarray(x)
        b[3] = a[2]
        moved = [one.gather(root) is not None for root in range(world.size)]
        assert moved == [root == world.rank for root in range(world.size)]
        return ta.compute(one, a + one, one * 2, b, a * one + a[3])

    x = np.arange(24.0)
    y = x.copy()
    y[3] = 2
    expected = (np.array(20.0), x + 20, np.array(40.0), y, x * 20 + 3)
    for found, right in zip(on_ranks(size, job).value, expected, strict=True):
        assert found.shape == right.shape
        assert np.array_equal(found, right)
