from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taskarr.geometry.layout import Layout
from taskarr.geometry.owners import new_layout
from taskarr.geometry.region import region_size
from taskarr.geometry.view import identity
from taskarr.ops.keys import view_of_key
from taskarr.plan import exchange
from taskarr.plan.exchange import Source, givers, is_dense, pieces, takers
from tests.geometry.strategies import layouts, numbered, owned, part, shapes, shown, sizes, views


@st.composite
def exchanges(draw):
    """A source, seen through views of one shape, and the layout of the pass that reads it."""
    shape, size = draw(shapes), draw(sizes)
    source = draw(layouts(shape, size))
    if draw(st.booleans()):
        base = draw(views(shape, 1))
        source, shape = source.viewed(base), base.shape
    first = draw(views(shape))
    assume(first.shape)
    found = {first: None}
    for _ in range(draw(st.integers(0, 4))):
        other = draw(views(shape))
        if other.shape == first.shape:
            found[other] = None
    near = draw(st.booleans())
    space = source.viewed(first) if near else draw(layouts(first.shape, size))
    return Source(source, tuple(found), 8), space


def needed(source: Source, space: Layout, rank: int) -> set[int]:
    """Flat positions that a rank's part of the pass reads."""
    box, x = space.brick(rank), numbered(source.layout.shape)
    if box is None:
        return set()
    return {int(i) for view in source.views for i in part(shown(view, x), box).ravel()}


def moved(source: Source, space: Layout, owner: int, reader: int) -> list[int]:
    """Flat positions in the pieces from one rank to another, as often as they are in one."""
    x = numbered(source.layout.shape)
    return [
        int(i)
        for region in pieces(source, space, owner, reader)
        for i in x[np.ix_(*region)].ravel()
    ]


@given(exchanges())
def test_a_reader_has_what_it_needs(case):
    source, space = case
    for rank in range(space.size):
        here = set(owned(source.layout, rank).tolist())
        for peer in givers(source, space, rank):
            assert peer != rank
            here.update(moved(source, space, peer, rank))
        assert needed(source, space, rank) <= here


@given(exchanges())
def test_only_owners_give_and_little_more_than_is_needed(case):
    source, space = case
    for rank in range(space.size):
        wanted = needed(source, space, rank)
        for peer in givers(source, space, rank):
            came = moved(source, space, peer, rank)
            mine = set(owned(source.layout, peer).tolist())
            assert set(came) <= mine
            assert len(came) <= len(source.views) * len(wanted & mine)


@given(exchanges())
def test_givers_and_takers_mirror_each_other(case):
    source, space = case
    ranks = range(space.size)
    gives = {r: list(takers(source, space, r)) for r in ranks}
    takes = {r: list(givers(source, space, r)) for r in ranks}
    for r in ranks:
        assert gives[r] == sorted(set(gives[r]) - {r})
        assert takes[r] == sorted(set(takes[r]) - {r})
    if source.layout.replicated:
        assert not any((*gives.values(), *takes.values()))
        return
    for a, b in product(ranks, ranks):
        if a != b and pieces(source, space, a, b):
            assert b in gives[a]
            assert a in takes[b]


@given(exchanges())
def test_dense_is_a_function_of_layouts(case):
    source, space = case
    exchange._dense.cache_clear()
    found = is_dense((source,), space)
    exchange._dense.cache_clear()
    assert is_dense((source,), space) == found
    assert is_dense((source, source), space) == found
    if source.layout.replicated or space.size == 1:
        assert not found


@given(exchanges(), st.sampled_from((8, 24, 64)))
def test_pieces_are_cut_to_size(case, most):
    source, space = case
    before, exchange.PIECE = exchange.PIECE, most
    try:
        cut = {
            (a, b): pieces(source, space, a, b)
            for a in range(space.size)
            for b in range(space.size)
        }
    finally:
        exchange.PIECE = before
    for (a, b), found in cut.items():
        assert all(region_size(r) * 8 <= most for r in found)
        x = numbered(source.layout.shape)
        assert [int(i) for r in found for i in x[np.ix_(*r)].ravel()] == moved(source, space, a, b)


def stencil(shape: tuple[int, ...], width: int = 1) -> list:
    """Views of a stencil that reaches ``width`` along each axis, and its middle."""
    middle = [slice(width, n - width) for n in shape]
    found = [view_of_key(shape, tuple(middle))]
    for axis, n in enumerate(shape):
        for shift in (*range(-width, 0), *range(1, width + 1)):
            key = list(middle)
            key[axis] = slice(width + shift, n - width + shift)
            found.append(view_of_key(shape, tuple(key)))
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 4, 6, 9])
@pytest.mark.parametrize(
    ("shape", "split", "width"),
    [((16,), 0, 1), ((31,), 0, 3), ((12, 13), 0, 1), ((12, 13), (0, 1), 1), ((15, 16), (0, 1), 2)],
)
def test_a_stencil_gets_its_borders_once(shape, split, width, size):
    layout = new_layout(shape, 8, size, split=split, block=8)
    found = stencil(shape, width)
    source = Source(layout, tuple(found), 8)
    space = layout.viewed(found[0])
    for rank in range(size):
        mine = set(owned(layout, rank).tolist())
        came = Counter(
            i for peer in givers(source, space, rank) for i in moved(source, space, peer, rank)
        )
        assert set(came.values()) <= {1}
        assert set(came) == needed(source, space, rank) - mine
        assert len(list(givers(source, space, rank))) <= 2 * len(layout.split)


def test_a_neighbour_sends_one_row():
    layout = new_layout((16, 5), 8, 4, split=0, block=40)
    shifted = view_of_key((16, 5), slice(None, -2))
    source = Source(layout, (shifted,), 8)
    space = layout.viewed(view_of_key((16, 5), slice(1, -1)))
    assert [list(givers(source, space, r)) for r in range(4)] == [[], [0], [1], [2]]
    assert pieces(source, space, 1, 2) == ((range(7, 8), range(5)),)
    assert pieces(source, space, 2, 1) == ()


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_what_is_dense(size):
    def source(split):
        return Source(
            new_layout((28, 28), 8, size, split=split, block=100), (identity((28, 28)),), 8
        )

    rows, columns = source(0), source(1)
    assert is_dense((rows,), columns.layout)
    assert is_dense((columns,), rows.layout)
    assert not is_dense((rows,), rows.layout)
    shifted = Source(rows.layout, (view_of_key((28, 28), slice(1, None)),), 8)
    space = rows.layout.viewed(view_of_key((28, 28), slice(None, -1)))
    assert not is_dense((shifted,), space)
