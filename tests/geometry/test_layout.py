from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taskarr.geometry.layout import Layout, single
from taskarr.geometry.owners import dealt, new_layout, replicated
from taskarr.geometry.region import box_shape
from taskarr.ops.keys import view_of_key
from tests.geometry.strategies import (
    boxes,
    layouts,
    numbered,
    owned,
    part,
    shapes,
    shown,
    sizes,
    views,
)


@st.composite
def viewed(draw):
    """A layout, a view, and the layout of the view."""
    shape = draw(shapes)
    layout = draw(layouts(shape, draw(sizes)))
    view = draw(views(shape))
    return layout, view, layout.viewed(view)


def holds_all_once(layout: Layout) -> bool:
    found = np.sort(np.concatenate([owned(layout, r) for r in range(layout.size)]))
    times = layout.size if layout.replicated else 1
    return np.array_equal(found, np.repeat(numbered(layout.shape).ravel(), times))


@given(viewed())
def test_every_element_has_one_owner_through_any_views(case):
    layout, _, other = case
    assert holds_all_once(layout)
    assert holds_all_once(other)


@given(viewed())
def test_a_viewed_brick_shows_the_elements_of_the_brick(case):
    layout, view, other = case
    assert other.shape == view.shape
    positions = shown(view, numbered(layout.shape))
    for rank in range(layout.size):
        box = other.brick(rank)
        mine = np.isin(positions, owned(layout, rank))
        if box is None:
            assert not mine.any()
        else:
            assert part(mine, box).all()
            assert mine.sum() == part(mine, box).size


@given(viewed(), st.data())
def test_owners_of_a_box(case, data):
    _, _, layout = case
    assume(0 not in layout.shape)
    box = data.draw(boxes(layout.shape))
    wanted = part(numbered(layout.shape), box)
    found = list(layout.owners_of(box))
    brute = [r for r in range(layout.size) if np.isin(wanted, owned(layout, r)).any()]
    assert sorted(found) == brute
    corners = [tuple(lo for lo, _ in layout.brick(r) or ()) for r in found]
    assert corners == sorted(corners)


@given(viewed())
def test_coordinates_are_places_on_the_mesh(case):
    _, _, layout = case
    found = [layout.coordinates(rank) for rank in range(layout.size)]
    places = [c for c in found if c is not None]
    assert len(set(places)) == len(places) == int(np.prod(layout.mesh))
    for rank, place in enumerate(found):
        if place is not None:
            offsets = (c * a.stride for c, a in zip(place, layout.axes, strict=True))
            assert layout.base + sum(offsets) == rank
            assert all(c < n for c, n in zip(place, layout.mesh, strict=True))


@given(viewed())
def test_owners_hold_whole_blocks(case):
    for layout in case[::2]:
        for axis in layout.axes:
            assert set(axis.cut.tolist()) <= set(axis.bounds.tolist())
            assert (np.diff(axis.cut) >= 0).all()
            ends = [axis.span(j) for j in range(axis.owners)]
            assert (ends[0][0], ends[-1][1]) == (0, axis.length)
        for rank in range(layout.size):
            box = layout.brick(rank)
            if box is not None and not layout.replicated:
                edges = layout.blocks(box)
                assert [(e[0], e[-1]) for e in edges] == list(box)
                assert tuple(int(np.diff(e).sum()) for e in edges) == box_shape(box)


@given(viewed(), st.data())
def test_equal_layouts_share_key_hash_and_digest(case, data):
    _, view, layout = case
    again = Layout(
        tuple(type(a)(a.bounds.copy(), a.cut.copy(), a.stride) for a in layout.axes),
        layout.size,
        layout.base,
        layout.replicated,
    )
    assert again == layout and hash(again) == hash(layout) and again.digest == layout.digest
    other = data.draw(layouts(view.shape, layout.size)) if view.shape else layout
    assert (other == layout) == (other.digest == layout.digest) == (other.key == layout.key)


@given(viewed())
def test_owners_and_places_of_elements(case):
    _, _, layout = case
    assume(all(layout.shape))
    owners = layout.owners(tuple(np.indices(layout.shape)))
    assert owners.shape == layout.shape
    for index in np.ndindex(layout.shape):
        box = tuple((i, i + 1) for i in index)
        holders = list(layout.owners_of(box))
        assert owners[index] == (0 if layout.replicated else holders[0])
        behind = tuple(i - n for i, n in zip(index, layout.shape, strict=True))
        assert layout.owners(tuple(np.array(i) for i in behind)) == owners[index]
        for rank in range(layout.size):
            at = layout.local_index(rank, index)
            assert (at is not None) == (rank in holders)
            if at is not None:
                brick = layout.brick(rank)
                assert tuple(i + lo for i, (lo, _) in zip(at, brick, strict=True)) == index


@given(viewed())
def test_layouts_are_pickled_without_their_hash(case):
    _, _, layout = case
    hash(layout)
    again = pickle.loads(pickle.dumps(layout))
    assert "_hash" not in vars(again)
    assert (again, hash(again), again.digest) == (layout, hash(layout), layout.digest)


def test_indices_that_are_none():
    layout = new_layout((7, 5), 8, 3, split=0)
    for index in (7, -8, (0, 5), (0, 0, 0), 1.5, "a", None, (0, None)):
        for find in (layout.owners, lambda i: layout.local_index(0, i)):
            with pytest.raises(IndexError):
                find(index)
    with pytest.raises(IndexError, match="cut among ranks"):
        new_layout((7, 500_000), 8, 3, split=1).owners([0])


def test_a_viewed_identity_is_the_layout_itself():
    layout = new_layout((8, 9), 8, 3, split=(0, 1), block=32)
    assert layout.viewed(view_of_key((8, 9), (slice(None), ...))) is layout


def test_a_row_lies_where_its_owner_is():
    layout = new_layout((9, 4), 8, 3, split=0, block=32, mesh=(3,))
    rows = [layout.viewed(view_of_key((9, 4), k)) for k in range(9)]
    assert [next(r.owners_of(r.whole)) for r in rows] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert all(r.mesh == (1,) for r in rows)


def test_a_flipped_axis_keeps_owners():
    layout = new_layout((7,), 8, 3, split=0, block=8)
    flipped = layout.viewed(view_of_key((7,), slice(None, None, -1)))
    boxes = [(layout.brick(r), flipped.brick(r)) for r in range(3)]
    assert all(mine == ((7 - hi, 7 - lo),) for ((lo, hi),), mine in boxes)


def test_more_ranks_than_rows():
    layout = new_layout((3, 5), 8, 9, split=0, block=8)
    assert layout.mesh == (3, 1)
    assert [layout.brick(r) is None for r in range(9)] == [False] * 3 + [True] * 6
    assert layout.coordinates(8) is None


def test_facts():
    layout = new_layout((7, 4), 8, 2, split=0, block=64)
    assert layout.shape == (7, 4)
    assert layout.chunks == ((1, 2, 2, 2), (4,))
    assert (layout.split, layout.mesh, layout.whole) == ((0,), (2, 1), ((0, 7), (0, 4)))
    whole = replicated(tuple(a.bounds for a in layout.axes), 2)
    assert (whole.split, list(whole.owners_of(((0, 1), (0, 1))))) == ((), [0, 1])
    assert dealt((single(0).bounds,), (0,), None, 4).brick(0) is None
