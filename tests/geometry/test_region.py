from __future__ import annotations

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskarr.geometry.region import (
    as_region,
    box_shape,
    box_size,
    clip,
    contains,
    cut_to,
    intersect,
    merged,
    region_shape,
    region_size,
    slices,
)
from tests.geometry.strategies import boxes, numbered, part, shapes

ranges = st.builds(
    lambda start, count, step: range(start, start + count * step, step),
    st.integers(0, 9),
    st.integers(1, 7),
    st.integers(1, 5),
)
spans = st.tuples(st.integers(0, 20), st.integers(0, 20)).map(sorted).map(tuple)
regions = st.lists(st.tuples(ranges, ranges), min_size=1, max_size=5)


def members(region):
    return set(product(*region))


@given(shapes.flatmap(lambda shape: st.tuples(st.just(shape), boxes(shape))))
def test_a_box_picks_what_numpy_slices(case):
    shape, box = case
    x = part(numbered(shape), box)
    assert box_shape(box) == x.shape == region_shape(as_region(box))
    assert box_size(box) == x.size == region_size(as_region(box))


@given(ranges, spans)
def test_clip_keeps_the_members_inside(indices, span):
    found = clip(indices, *span)
    assert list(found) == [i for i in indices if span[0] <= i < span[1]]
    assert len(found) < 2 or found.step == indices.step


@given(st.tuples(ranges, ranges), st.tuples(spans, spans))
def test_intersect_and_contains(region, box):
    (top, bottom), (left, right) = box
    inside = {(i, j) for i, j in members(region) if top <= i < bottom and left <= j < right}
    found = intersect(region, box)
    assert inside == (set() if found is None else members(found))
    assert contains(box, region) == (inside == members(region))


@given(st.tuples(ranges, ranges), st.integers(0, 3))
def test_slices_pick_a_region_of_a_brick(region, margin):
    origin = [max(0, r.start - margin) for r in region]
    whole = numbered((40, 50))
    brick = whole[origin[0] :, origin[1] :]
    assert np.array_equal(brick[slices(region, origin)], whole[np.ix_(*region)])


@given(regions)
def test_merged_rectangles_cover_the_regions_with_no_more_elements(found):
    joined = merged(found)
    assert set().union(*map(members, found)) <= set().union(*map(members, joined))
    assert sum(map(region_size, joined)) <= sum(map(region_size, found))
    assert len(set(joined)) == len(joined) <= len(set(found))
    assert merged(joined) == joined


def test_shifted_rows_are_merged_into_one():
    row = range(9)
    assert merged([(range(3, 5), row), (range(2, 4), row), (range(4, 5), row)]) == [
        (range(2, 5), row)
    ]
    assert merged([(range(2), row), (range(2, 4), row)]) == [(range(4), row)]
    apart = [(range(2), row), (range(7, 9), row)]
    assert merged(apart) == apart


@pytest.mark.parametrize("shape", [(), (1,), (7,), (1, 1), (3, 8), (8, 9), (2, 3, 7), (13, 2)])
@pytest.mark.parametrize("most", [1, 2, 6, 7, 20, 1000])
def test_pieces_cover_a_region_in_c_order(shape, most):
    region = tuple(range(2, 2 + 3 * n, 3) for n in shape)
    pieces = list(cut_to(region, most))
    assert all(region_size(p) <= most for p in pieces)
    assert [at for p in pieces for at in product(*p)] == list(product(*region))
    assert len(pieces) <= 2 * -(-prod(shape) // most)
