from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskarr.kernel.reduction import (
    FieldSpec,
    Reduction,
    Row,
    keys_of,
    merge,
    nodes,
    pack,
    state_bytes,
    top,
    unpack,
)
from taskarr.ops.reductions import ROWS
from taskarr.ops.reductions.rows import UFUNCS
from tests.kernel.states import leaf, spelling, whole

counts = st.sampled_from((1, 2, 3, 7, 8, 9, 13))


@st.composite
def cuts(draw, length):
    """Neighbouring runs that cover ``length`` blocks, some of them empty."""
    inner = sorted(draw(st.lists(st.integers(0, length), max_size=4)))
    return list(pairwise([0, *inner, length]))


@given(st.integers(1, 40))
def test_top_stands_for_all_blocks(blocks):
    assert 1 << top(blocks) >= blocks
    assert top(blocks) == 0 or 1 << (top(blocks) - 1) < blocks
    assert list(nodes(0, blocks, blocks)) == [(top(blocks), 0)]


@given(st.integers(1, 40), st.data())
def test_nodes_cover_a_run_with_few_and_large_ones(blocks, data):
    first = data.draw(st.integers(0, blocks))
    last = data.draw(st.integers(first, blocks))
    found = list(nodes(first, last, blocks))
    spans = [(i << level, min((i + 1) << level, blocks)) for level, i in found]
    assert [b for lo, hi in spans for b in range(lo, hi)] == list(range(first, last))
    assert len(found) <= 2 * max(1, (last - first).bit_length())
    for (lo, hi), (level, i) in zip(spans, found, strict=True):
        wider = [((i >> 1) << (level + 1)), min(((i >> 1) + 1) << (level + 1), blocks)]
        assert level == top(blocks) or not (first <= wider[0] and wider[1] <= last), (lo, hi)


@given(counts, st.data())
def test_any_runs_of_blocks_give_one_tree(blocks, data):
    axes, reductions = (0,), (spelling((0,)),)
    parts = []
    for first, last in data.draw(cuts(blocks)):
        mine = {((0, b),): leaf(((0, b),)) for b in range(first, last)}
        merged = merge(mine, axes, (blocks,), reductions, np)
        assert set(merged) == {(node,) for node in nodes(first, last, blocks)}
        parts.append(merged)
    here = {}
    for part in data.draw(st.permutations(parts)):
        here = merge({**here, **part}, axes, (blocks,), reductions, np)
    assert here == whole(axes, (blocks,))


@given(st.tuples(counts, counts), st.sampled_from([(0,), (1,), (1, 0), (0, 1)]), st.data())
def test_any_bricks_of_blocks_give_one_tree(blocks, axes, data):
    reductions = (spelling(tuple(sorted(axes))),)
    runs = [data.draw(cuts(n)) for n in blocks]
    parts = []
    for box in product(*runs):
        keys = keys_of([[(0, b) for b in range(*span)] for span in box])
        parts.append(merge({k: leaf(k) for k in keys}, axes, blocks, reductions, np))
    here = {}
    for part in data.draw(st.permutations(parts)):
        here = merge({**here, **part}, axes, blocks, reductions, np)
    assert here == whole(axes, blocks)


def _join_all(xp, a, b):
    return ("(" + a[0] + " " + b[0] + ")",)


def _not_at_one_go(*_):
    return None


@given(st.sampled_from((1, 7, 8, 9, 31, 64, 77)), st.data())
def test_many_neighbours_combined_at_one_go_make_the_same_tree(blocks, data):
    row = Row(
        "spell", lambda *_: (FieldSpec(np.dtype(object)),), lambda *_: (), _join_all,
        lambda *_: "", together=_not_at_one_go,
    )  # fmt: skip
    reduction = Reduction(row, np.dtype(object), np.dtype(object), (0,), 0)
    parts = []
    for first, last in data.draw(cuts(blocks)):
        mine = {((0, b),): [(np.array([str(b)], object),)] for b in range(first, last)}
        merged = merge(mine, (0,), (blocks,), (reduction,), np)
        assert set(merged) == {(node,) for node in nodes(first, last, blocks)}
        assert all(states[0][0].shape == (1,) for states in merged.values())
        parts.append(merged)
    here = {}
    for part in data.draw(st.permutations(parts)):
        here = merge({**here, **part}, (0,), (blocks,), (reduction,), np)
    ((found,),) = here.values()
    ((wanted,),) = whole((0,), (blocks,)).values()
    assert found[0].item() == wanted[0]


def test_three_blocks_by_hand():
    keys = [((0, b),) for b in range(3)]
    found = merge({k: leaf(k) for k in keys}, (0,), (3,), (spelling((0,)),), np)
    assert found == {((2, 0),): [("((0 1) 2)",)]}


def test_several_reductions_are_merged_side_by_side():
    both = (spelling((0,)), spelling((0,)))
    states = {((0, b),): [("a",), (str(b),)] for b in range(2)}
    assert merge(states, (0,), (2,), both, np) == {((1, 0),): [("(a a)",), ("(0 1)",)]}


def by_numpy(name, x, axes):
    """NumPy's result of a row."""
    if name in UFUNCS and len(axes) == x.ndim:  # lcm takes one axis
        return getattr(np, UFUNCS[name]).reduce(x.reshape(-1))
    if name in UFUNCS:
        return getattr(np, UFUNCS[name]).reduce(x, axis=axes)
    if name == "unsigned max":
        if x.dtype != np.int64:
            raise TypeError(f"{name} of {x.dtype}")
        return np.max(x.view(np.uint64), axis=axes)
    if ROWS[name].located:
        return getattr(np, name)(x, axis=None if len(axes) == x.ndim else axes[0])
    return getattr(np, {"count": "count_nonzero"}.get(name, name))(x, axis=axes)


def options_of(name, x, axes):
    if ROWS[name].located:
        return tuple(x.shape[a] for a in axes)
    return (0,) if name in ("var", "std") else ()


def is_known(name, dtype):
    """Whether NumPy has the reduction of this dtype."""
    try:
        by_numpy(name, np.ones((2, 2), dtype), (0,))
    except TypeError:
        return False
    return True


KNOWN = [
    (name, dtype)
    for name, dtype in product(sorted(ROWS), ("f4", "f8", "c8", "i2", "i8", "?"))
    if is_known(name, dtype)
]


@pytest.mark.parametrize(("name", "dtype"), KNOWN)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_states_survive_as_bytes(name, dtype, axes):
    x = (np.arange(35).reshape(7, 5) % 11).astype(dtype)
    with np.errstate(all="ignore"):
        result = np.asarray(by_numpy(name, x, axes))
    options = options_of(name, x, axes)
    reduction = Reduction(ROWS[name], x.dtype, result.dtype, axes, x.size, options)
    states = [reduction.partial(np, x), reduction.partial(np, x[::-1].copy())]
    shape = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
    packed = np.concatenate([b for s in states for b in pack([s], np)])
    assert (
        packed.nbytes == 2 * state_bytes(shape, (reduction,)) == state_bytes(shape, [reduction] * 2)
    )
    found, end = unpack(packed, 0, shape, [reduction] * 2)
    assert end == packed.nbytes
    for a, b in zip(states, found, strict=True):
        for left, right, spec in zip(a, b, reduction.fields, strict=True):
            assert left.dtype == right.dtype == spec.dtype
            assert np.array_equal(np.reshape(left, right.shape), right)
            assert right.flags.writeable


@pytest.mark.parametrize("name", sorted(ROWS))
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_rows_give_numpys_result_whatever_the_blocks(name, axes):
    x = np.sin(np.arange(7 * 9)).reshape(7, 9) + 1
    if not is_known(name, x.dtype):
        x = np.round(9 * x).astype("i8") % 3 - 1
    expected = np.asarray(by_numpy(name, x, axes))
    count = int(np.prod([x.shape[a] for a in axes]))
    options = options_of(name, x, axes)
    reduction = Reduction(ROWS[name], x.dtype, expected.dtype, axes, count, options)
    edges = [(0, 2, 3, 7), (0, 9)] if axes == (0,) else [(0, 7), (0, 1, 5, 6, 9)]
    blocks = tuple(len(e) - 1 for e in edges)
    partials = {
        ((0, i), (0, j)): [reduction.partial(np, np.ascontiguousarray(x[a:b, c:d]), (a, c))]
        for i, (a, b) in enumerate(pairwise(edges[0]))
        for j, (c, d) in enumerate(pairwise(edges[1]))
    }
    for shuffled in list(permutations(partials))[:5]:
        found = merge({k: partials[k] for k in shuffled}, axes[::-1], blocks, [reduction], np)
        got = np.concatenate([reduction.finish(np, found[k][0]).reshape(-1) for k in sorted(found)])
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected.reshape(-1), rtol=1e-14)


def test_fields_of_one_element_have_it_whatever_the_shape():
    row = Row("r", lambda s, r: (FieldSpec(r), FieldSpec(r, unit=True)), None, None, None)
    reduction = Reduction(row, np.dtype("f8"), np.dtype("f8"), (0,), 1)
    assert state_bytes((1, 5), [reduction]) == 48
    (state,), end = unpack(np.zeros(48, "u1"), 0, (1, 5), [reduction])
    assert ([x.shape for x in state], end) == ([(1, 5), (1, 1)], 48)
