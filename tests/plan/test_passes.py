from __future__ import annotations

import numpy as np
import pytest

import taskarr as ta
from taskarr.expr import Elementwise, Own, Put, Reduce
from taskarr.kernel.tiles import TILE
from taskarr.optimize import passes
from tests.plan.ghost import Planned, plan_for, plans_for

ROWS = (16, 5)


def norm(make):
    a, b = make(ROWS), make(ROWS)
    return ta.sqrt(a * a + b * b) * 2 - 1


def statistics(make):
    a = make(ROWS)
    return a.mean(), a.std(), a.min(), a.max()


def extremes(make):
    a = make(ROWS)
    return a.argmin(), a.argmax(), a.mean(), a.std(), a.min(), a.max()


def masked_mean(make):
    a = make(ROWS)
    return a.mean(where=a > 0)


def without_largest(make):
    a = make(ROWS)
    return a - a.argmax(axis=1, keepdims=True)


def statistics_of_rows(make):
    a = make(ROWS)
    return a.mean(axis=0), a.std(axis=1), a.sum()


def standardised(make):
    x = make(ROWS)
    return (x - x.mean()) / x.std()


def squares(make):
    return ((make(ROWS) - make(ROWS)) ** 2).sum()


def stencil(make):
    u = make((16, 16))
    middle = u[1:-1, 1:-1]
    return (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]) - 4 * middle


def shifted(make):
    e = make(ROWS) * 2
    return e[1:] - e[:-1]


def shifted_leaf(make):
    e = make(ROWS)
    return e[1:] - e[:-1]


def rare_rows(make):
    return (make(ROWS) > 3).any(axis=1)


def standardised_rows(make):
    x = make(ROWS)
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def standardised_cut_rows(make):
    x = make(ROWS, chunks=(4, 3))
    return x - x.mean(axis=1, keepdims=True)


def standardised_long_rows(make):
    x = make((4, TILE + 1))
    return x - x.mean(axis=1, keepdims=True)


def held_mean_of_rows(make):
    x = make(ROWS)
    m = x.mean(axis=1, keepdims=True)
    return x - m, [m]


def held_inside(make):
    c = make(ROWS) + make(ROWS)
    return c * 2, [c]


def not_held_inside(make):
    return (make(ROWS) + make(ROWS)) * 2


def chain(make):
    a = make(ROWS)
    for k in range(20):
        a = a * k + 1
    return a


def moved(make):
    return (make(ROWS, split=0) + 1).redistribute(split=1)


def of_two_passes(make):
    c = make(ROWS, split=0) + 1
    return c.sum(axis=0), c.redistribute(split=1)


def scalars(make):
    s = make(ROWS).sum()
    return s * 2 + 1


def written(make):
    u, v = make(ROWS), make(ROWS)
    u[2:7] = v[1:6] * 2
    u[8:] = 1
    return u


def outer(make):
    return make((16,)) * make((5,))[:, None]


EXPECTED = [  # per pass the number of calls, and of results that are stored or reduced
    (norm, [(6, 1)]),
    (statistics, [(0, 4)]),
    (extremes, [(0, 6)]),
    (masked_mean, [(2, 2), (1, 1)]),
    (without_largest, [(2, 1)]),
    (statistics_of_rows, [(0, 3)]),
    (standardised, [(0, 2), (2, 1)]),
    (squares, [(2, 1)]),
    (stencil, [(5, 1)]),
    (shifted, [(1, 1), (1, 1)]),
    (shifted_leaf, [(1, 1)]),
    (rare_rows, [(1, 1)]),
    (standardised_rows, [(4, 1)]),
    (standardised_cut_rows, [(0, 1), (1, 1)]),
    (standardised_long_rows, [(0, 1), (1, 1)]),
    (held_mean_of_rows, [(0, 1), (1, 1), (1, 1)]),
    (held_inside, [(2, 2)]),
    (not_held_inside, [(2, 1)]),
    (chain, [(40, 1)]),
    (moved, [(1, 1)]),
    (scalars, [(0, 1), (2, 1)]),
    (outer, [(1, 1)]),
]


def shape_of(planned: Planned) -> list[tuple[int, int]]:
    return [
        (len(c.program.calls), len(c.outputs) + len(c.folds) + len(c.filters))
        for c in planned.compiled
    ]


@pytest.mark.parametrize(
    ("program", "expected"), EXPECTED, ids=lambda x: getattr(x, "__name__", "")
)
@pytest.mark.parametrize("size", [1, 3])
def test_number_of_passes_calls_and_results(program, expected, size):
    assert [shape_of(p) for p in plans_for(program, size)] == [expected] * size


def test_what_is_not_held_is_not_stored():
    for program, stored in ((held_inside, 2), (not_held_inside, 1), (chain, 1), (stencil, 1)):
        planned = plan_for(program, 0, 2)
        assert len(planned.plan.outputs) == stored
        allocated = [t for t in planned.tasks if t.name.startswith("allocate")]
        assert len(allocated) == stored


def test_a_node_read_through_two_views_is_stored_and_let_go():
    planned = plan_for(shifted, 1, 3)
    first, last = planned.passes
    assert isinstance(planned.graph[first.roots[0]].op, Elementwise)
    assert last.roots == tuple(planned.wanted)
    assert len(planned.plan.outputs) == 1


def test_a_value_that_two_passes_need_is_computed_once():
    planned = plan_for(of_two_passes, 0, 3)
    calls = [call.function.name for c in planned.compiled for call in c.program.calls]
    assert calls.count("add") == 1
    assert [len(c.folds) for c in planned.compiled] == [1, 0]


def test_a_value_that_a_later_pass_needs_too_is_computed_once():
    def program(make):
        e = ta.exp(ta.sqrt(make(ROWS)))
        return e - e.mean()

    planned = plan_for(program, 0, 3)
    assert [[c.function.name for c in m.program.calls] for m in planned.compiled] == [
        ["sqrt", "exp"],
        ["subtract"],
    ]


def test_what_is_too_large_to_be_stored_is_computed_by_each_pass_that_reads_it():
    def chain_of_one(make):
        e = ta.exp(make(ROWS))
        return e[1:] - e[:-1]

    def of_two(make):
        e = make(ROWS) + make(ROWS)
        return e - e.mean()

    def two_through_views(make):
        e = make(ROWS) + make(ROWS)
        return e[1:] - e[:-1]

    for program, stored in ((chain_of_one, 0), (of_two, 0), (two_through_views, 1)):
        graph = plan_for(program, 0, 2).graph
        last = len(graph) - 1
        large = frozenset(k for k in range(last) if isinstance(graph[k].op, Elementwise))
        for too_large, expected in ((frozenset(), 1), (large, stored)):
            roots = [r for p in passes(graph, {last}, too_large) for r in p.roots]
            assert len(set(roots) & large) == expected, program


def test_a_result_of_the_same_pass_is_read_where_it_is_stored():
    (made,) = plan_for(held_inside, 0, 2).compiled
    assert [c.target for c in made.program.calls] == [("out", 0), ("out", 1)]
    assert ("out", 0) in made.program.calls[1].args


def test_writes_share_one_copy():
    planned = plan_for(written, 0, 1)
    ops = [type(planned.graph[root].op) for work in planned.passes for root in work.roots]
    assert ops == [Own, Put, Put]
    allocated = [t for t in planned.tasks if type(t.run).__name__ == "Allocate"]
    assert len(allocated) == 1


def test_a_version_that_is_held_is_kept():
    def program(make):
        u = make(ROWS)
        u[2:7] = 1
        before = u + 0
        u[8:] = 2
        return u, before

    planned = plan_for(program, 0, 1)
    assert len(planned.plan.outputs) == 2
    ops = [type(planned.graph[root].op) for work in planned.passes for root in work.roots]
    assert ops.count(Put) == 2


def test_reductions_of_one_array_that_share_axes_share_messages():
    planned = plan_for(statistics, 1, 2)
    assert len(planned.sends) == 1
    assert len(plan_for(statistics_of_rows, 1, 2).sends) == 2


def test_passes_run_in_an_order_in_which_inputs_come_first():
    for program, _ in EXPECTED:
        planned = plan_for(program, 0, 3)
        done: set[int] = set()
        for work, made in zip(planned.passes, planned.compiled, strict=True):
            needs = [s for s in made.sources if planned.graph[s].inputs]
            assert set(needs) <= done
            done.update(work.roots)
        assert planned.wanted <= done | {k for k, n in enumerate(planned.graph) if not n.inputs}


def test_a_reduction_at_the_root_reads_its_input_inline():
    planned = plan_for(squares, 0, 3)
    (work,) = planned.passes
    assert [type(planned.graph[r].op) for r in work.roots] == [Reduce]
    assert planned.compiled[0].program.outputs == ()
    assert np.dtype("f8") in {t.dtype for t in planned.compiled[0].program.temps}
