from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taskarr.geometry.region import as_region, intersect
from taskarr.geometry.view import Affine, identity
from taskarr.kernel.leaves import Piece, own_piece, picker, reader
from taskarr.kernel.program import Leaf
from taskarr.ops.keys import view_of_key
from tests.geometry.strategies import boxes, layouts, numbered, part, shapes, shown, sizes, views


def array_leaf(view: Affine) -> Leaf:
    return Leaf("array", 0, view, np.dtype(np.int64))


def same(found, view, x, tile) -> bool:
    """Whether values are what the view shows in a tile, not repeated along new axes."""
    expected = part(shown(view, x), tile)
    return found.ndim == expected.ndim and np.array_equal(
        np.broadcast_to(found, expected.shape), expected
    )


@st.composite
def scattered(draw):
    """A base in the bricks of a layout, some views of one shape, and a tile of them."""
    shape = draw(shapes)
    assume(0 not in shape)
    layout = draw(layouts(shape, draw(sizes)))
    first = draw(views(shape))
    assume(0 not in first.shape)
    found = [first]
    for _ in range(draw(st.integers(0, 3))):
        other = draw(views(shape))
        if other.shape == first.shape:
            found.append(other)
    return layout, found, draw(boxes(first.shape))


def pieces_of(layout, found, tile, x):
    """What an exchange leaves at a reader: whole bricks, or the regions that the views need."""
    pieces = []
    for rank in range(1 if layout.replicated else layout.size):
        brick = layout.brick(rank)
        if brick is not None:
            needed = [intersect(view.image(tile), brick) for view in found]
            regions = dict.fromkeys(r for r in needed if r is not None)
            pieces += [Piece(r, x[np.ix_(*r)].reshape(tuple(map(len, r)))) for r in regions]
    return pieces


@given(scattered())
def test_values_are_read_from_whole_bricks(case):
    layout, found, tile = case
    x = numbered(layout.shape)
    ranks = range(1 if layout.replicated else layout.size)
    bricks = [layout.brick(r) for r in ranks]
    pieces = [own_piece(b, part(x, b)) for b in bricks if b is not None]
    for view in found:
        assert same(reader(array_leaf(view), pieces, (), np)(tile), view, x, tile)


@given(scattered())
def test_values_are_read_from_strided_pieces_of_several_views(case):
    layout, found, tile = case
    x = numbered(layout.shape)
    pieces = pieces_of(layout, found, tile, x)
    for view in found:
        assert same(reader(array_leaf(view), pieces, (), np)(tile), view, x, tile)


def test_two_interleaved_pieces_are_told_apart():
    x = np.arange(24)
    found = [view_of_key((24,), slice(start, None, 2)) for start in (0, 1)]
    pieces = [
        Piece(view.image(((3, 9),)), x[start + 6 : 18 : 2]) for start, view in enumerate(found)
    ]
    for start, view in enumerate(found):
        read = reader(array_leaf(view), pieces, (), np)
        assert read(((4, 7),)).tolist() == x[start::2][4:7].tolist()


@given(shapes, st.data())
def test_what_a_picker_gives_is_memory_of_the_piece(shape, data):
    view = data.draw(views(shape))
    assume(0 not in view.shape)
    tile = data.draw(boxes(view.shape))
    x = numbered(shape)
    region = view.image(tile)
    brick = x[tuple(slice(r.start, r.stop, r.step) for r in region)]
    found = picker(Piece(region, brick), view)(tile)
    assert same(found, view, x, tile)
    assert np.shares_memory(found, x)


@given(shapes, st.data())
def test_fill_is_one_value(shape, data):
    view = data.draw(views(shape))
    leaf = Leaf("fill", 1, view, np.dtype("f4"))
    found = reader(leaf, (), (None, 2.5), np)(())
    assert (found.dtype, found.shape) == (np.dtype("f4"), (1,) * len(view.shape))
    assert found.ravel() == 2.5


@given(st.sampled_from((1, 7, 8, 9)), st.sampled_from(("i1", "i8", "f4", "f8")), st.data())
def test_arange_is_numpys(n, dtype, data):
    view = data.draw(views((n,)))
    assume(0 not in view.shape)
    tile = data.draw(boxes(view.shape))
    start, step = data.draw(st.integers(-5, 5)), data.draw(st.sampled_from((1, -2, 3)))
    x = np.arange(start, start + n * step, step, dtype=dtype)
    leaf = Leaf("arange", 0, view, np.dtype(dtype))
    found = reader(leaf, (), (x.dtype.type(start), x.dtype.type(step)), np)(tile)
    assert found.dtype == x.dtype
    assert same(found, view, x, tile)


class File:
    """A file that counts what is read of it."""

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.read_elements = x, 0

    def read(self, region):
        found = self.x[np.ix_(*region)]
        self.read_elements += found.size
        return found.reshape(tuple(map(len, region)))


@given(shapes, st.data())
def test_a_file_is_read_where_the_tile_needs_it(shape, data):
    view = data.draw(views(shape))
    assume(0 not in view.shape)
    tile = data.draw(boxes(view.shape))
    file = File(numbered(shape))
    leaf = Leaf("file", 0, view, np.dtype(np.int64))
    assert same(reader(leaf, (), (file,), np)(tile), view, file.x, tile)
    assert file.read_elements == len(set(part(shown(view, file.x), tile).ravel()))


def test_a_piece_must_have_the_shape_of_its_box():
    with pytest.raises(AssertionError):
        own_piece(((0, 2),), np.zeros(3))
    piece = own_piece(((1, 3), (0, 4)), np.zeros((2, 4)))
    assert piece.bounding == ((1, 3), (0, 4))
    assert picker(piece, identity((5, 4)))(((1, 2), (0, 4))).shape == (1, 4)
    assert as_region(piece.bounding) == piece.region


def test_a_piece_of_one_element_serves_any_step():
    x = np.arange(24)
    view = view_of_key((24,), slice(None, None, 2))
    pieces = [Piece((range(6, 7, 5),), x[6:7]), Piece((range(8, 12, 2),), x[8:12:2])]
    assert reader(array_leaf(view), pieces, (), np)(((3, 6),)).tolist() == [6, 8, 10]
