from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taskarr.backend import numpy_backend
from taskarr.geometry.region import as_region, box_shape, region_shape
from taskarr.geometry.view import identity
from taskarr.plan.tasks import (
    Copy,
    Pack,
    UnpackBricks,
    ViewBrick,
    block_boxes,
    lies_contiguous,
    pack,
    pack_bricks,
)
from tests.geometry.strategies import boxes, numbered, part, shapes, shown, views


@st.composite
def regions(draw):
    """A box with elements and a region of it."""
    shape = draw(shapes)
    assume(0 not in shape)
    box = draw(boxes(shape))
    found = []
    for lo, hi in box:
        first = draw(st.integers(lo, hi - 1))
        step = draw(st.sampled_from((1, 1, 2, 3)))
        found.append(range(first, hi, step)[: draw(st.integers(1, hi - first))])
    return shape, box, tuple(found)


@given(regions())
def test_packed_regions_are_copied_unless_they_lie_in_one_run(case):
    shape, box, region = case
    x = numbered(shape)
    brick = part(x, box).copy()
    packed = pack(region, box)(brick)
    assert packed.flags.c_contiguous
    assert np.array_equal(packed, x[np.ix_(*region)])
    if lies_contiguous(region, box):
        assert np.shares_memory(packed, brick)
    else:
        assert not np.shares_memory(packed, brick)


def test_zero_dimensions_are_packed_and_filled_in_place():
    brick = np.array(1.5)
    Pack(())(brick)[...] = 2.5
    assert brick == 2.5
    Copy((), ())(brick, np.array(3.5))
    assert brick == 3.5
    ViewBrick((), identity(()), ())(brick)[...] = 4.5
    assert brick == 4.5


@given(shapes, st.data())
def test_what_is_written_into_a_viewed_brick_is_in_the_brick(shape, data):
    view = data.draw(views(shape))
    assume(0 not in view.shape and -1 not in view.axes)
    box = data.draw(boxes(view.shape))
    x = np.zeros(shape, int)
    whole = tuple((0, n) for n in shape)
    ViewBrick(whole, view, box)(x)[...] = 1
    expected = np.zeros(view.shape, int)
    part(expected, box)[...] = 1
    assert np.array_equal(shown(view, x), expected)
    assert x.sum() == expected.sum()


@pytest.mark.parametrize("dtypes", [("f8",), ("f4", "c16", "?"), ("i2", "m8[s]")])
def test_bricks_survive_as_bytes(dtypes):
    bricks = [np.arange(6).reshape(2, 3).astype(d) for d in dtypes]
    buffer = pack_bricks(numpy_backend(0), *bricks)
    kinds = tuple(b.dtype for b in bricks)
    found = UnpackBricks(((2, 3),) * len(bricks), kinds)(buffer)
    for a, b in zip(found, bricks, strict=True):
        assert np.array_equal(a, b)
        assert a.dtype == b.dtype
        assert not np.shares_memory(a, buffer)


def test_blocks_of_a_brick_in_c_order():
    bounds = [np.array([4, 6, 9]), np.array([0, 5])]
    assert block_boxes(bounds, [2, 0]) == [
        (((0, 2), (0, 0)), ((4, 6), (0, 5))),
        (((0, 3), (0, 0)), ((6, 9), (0, 5))),
    ]
    assert block_boxes([], []) == [((), ())]
    assert region_shape(as_region(((4, 6), (0, 5)))) == box_shape(((4, 6), (0, 5)))
