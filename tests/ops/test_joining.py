"""Joining arrays end to end: NumPy's `concatenate`, in the layout of the largest."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from taskarr.api import Array
from taskarr.arrays import node_of
from taskarr.ops.joining import extended, joined
from tests.layouts import CUT, LAYOUTS, RANKS, TINY, on_ranks
from tests.oracle import Check, verify


def numbers(shape, dtype="i8", start=0):
    return (np.arange(np.prod(shape, dtype=int)) + start).reshape(shape).astype(dtype)


def together(xp, *parts):
    *arrays, axis = parts
    if xp is np:
        return np.concatenate(arrays, axis)
    return Array._of(joined([node_of(x) for x in arrays], axis), fixed=False)


def test_as_numpy():
    shapes = [
        (((2, 5), (7, 5), (1, 5)), 0),
        (((7, 5), (7, 5)), 1),
        (((7, 1), (7, 5), (7, 0)), 1),
        (((0, 5), (0, 5)), 0),
        (((0, 5), (3, 5), (0, 5)), 0),
        (((4,), (9,)), 0),
        (((7, 5),), 0),
    ]
    verify(
        (Check(str(many), together, tuple(map(numbers, many)), fixed=(axis,)), p)
        for many, axis in shapes
        for p in (*CUT, LAYOUTS[0])
    )


@pytest.mark.parametrize("dtypes", ("bd", "?i", "fF", ("S2", "S5"), ("M8[s]", "M8[D]")))
def test_common_dtypes(dtypes):
    parts = [numbers((3, 2), dtype) for dtype in dtypes]
    verify([Check(str(dtypes), together, tuple(parts), fixed=(0,))], (1, 3))


def test_shapes_that_do_not_fit():
    for a, b in (((2, 3), (2, 4)), ((2, 3), (3,))):
        with pytest.raises(ValueError, match="must match exactly"):
            joined([node_of(taskarr.zeros(shape)) for shape in (a, b)], 0)


def test_the_largest_stays_where_it_is():
    def job(world):
        a = taskarr.asarray(numbers((24, 5)), split=0).persist()
        ends = [taskarr.asarray(numbers((n, 5)), split=None) for n in (1, 2)]
        before = dict(world.counters)
        found = together(taskarr, ends[0], a, ends[1], 0).persist()
        moved = [world.counters[k] - before.get(k, 0) for k in ("sends", "alltoallv_bytes")]
        return moved, found.layout.chunks[0], a.layout.chunks[0]

    for n in (1, 2, 3, 5):
        moved, longer, chunks = on_ranks(n, job).value
        assert moved == [0, 0]
        assert longer == (chunks[0] + 1, *chunks[1:-1], chunks[-1] + 2)


def test_owners_of_longer_axes():
    def job(world):
        for placing in CUT:
            for a in (placing.place(numbers((7, 5))), placing.place(numbers((7, 5)))[::-1, 1:].T):
                for axis in (0, 1):
                    new, old = extended(a.layout, axis, 2, 1).axes[axis], a.layout.axes[axis]
                    assert new.length == old.length + 3
                    assert set(new.cut) <= set(new.bounds)
                    inner = np.arange(old.length)
                    assert (new.owner(inner + 2) == old.owner(inner)).all()
                    assert new.owner(np.array([0, 1])).tolist() == [old.owner(inner)[0]] * 2

    for n in RANKS:
        on_ranks(n, job, **TINY)
