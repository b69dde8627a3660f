"""Rows of layouts: their owners, and the layouts of what is gathered."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from taskarr.geometry import rows as module
from taskarr.geometry.owners import new_layout, on_root
from taskarr.geometry.rows import beside, following, has_whole_rows, is_cut, is_in_order, rows_of
from taskarr.geometry.view import Affine
from taskarr.ops.views import flip, transpose

SHAPE = (7, 5, 3)


def layouts(leading):
    """Layouts of `SHAPE` that are cut along their leading axes only."""
    splits = [s for s in [0, 1, (0, 1)] if np.max(s) < leading]
    for size, split in itertools.product((1, 2, 3, 6), splits):
        layout = new_layout(SHAPE, 8, size, split=split, block=8, replicate=False)
        yield layout
        yield layout.viewed(flip(SHAPE, 0))
        if leading > 1:
            yield layout.viewed(transpose(SHAPE, (1, 0, 2)))
        yield new_layout((5, *SHAPE), 8, size, split=(0, 1), block=8).viewed(
            Affine(SHAPE, (1, 2, 3), (2, 0, 0, 0), (1, 1, 1), (5, *SHAPE))
        )
    yield on_root(SHAPE, 1, 3)


@pytest.mark.parametrize("leading", [1, 2, 3])
def test_an_address_is_a_row_of_its_owner(leading):
    for layout in layouts(leading):
        found = rows_of(layout, leading)
        shape = layout.shape[:leading]
        indices = np.indices(shape).reshape(leading, -1)
        addresses = found.addresses(tuple(indices))
        assert sorted(addresses.tolist()) == list(range(int(np.prod(shape))))
        for rank in range(layout.size):
            box = layout.brick(rank)
            start, stop = found.owned(rank)
            if box is None:
                assert start == stop
                continue
            inside = np.all(
                [(i >= lo) & (i < hi) for i, (lo, hi) in zip(indices, box, strict=False)], axis=0
            )
            assert addresses[inside].tolist() == list(range(start, stop))


def test_addresses_of_plain_rows_are_the_indices():
    layout = new_layout((70,), 8, 3, split=0, block=64)
    index = np.arange(70)
    assert rows_of(layout, 1).addresses((index,)) is index


def test_cuts_are_seen_on_one_rank_too():
    for size in (1, 3):
        layout = new_layout(SHAPE, 8, size, split=1, block=8)
        assert is_cut(layout, range(1, 3)) and not is_cut(layout, range(1))
        assert has_whole_rows(layout, 1) == (size == 1)
        assert has_whole_rows(layout, 2)
        assert not is_in_order(layout)


def test_large_rows_get_smaller_blocks(monkeypatch):
    layout = new_layout((40,), 8, 3, split=0, block=160)
    assert following(layout, (5,), 8).axes[0].key == layout.axes[0].key
    monkeypatch.setattr(module, "LARGEST", 400)
    finer = following(layout, (5,), 8)
    assert finer.shape == (40, 5)
    assert finer.chunks == ((10,) * 4, (5,))
    assert finer.axes[0].cut.tolist() == layout.axes[0].cut.tolist()


def test_columns_stay_where_they_are():
    layout = new_layout(SHAPE, 8, 3, split=1, block=8)
    found = beside((4, 2), layout, range(1))
    assert found.shape == (4, 2, 5, 3)
    for rank in range(3):
        box, own = found.brick(rank), layout.brick(rank)
        assert box[:2] == ((0, 4), (0, 2)) and box[2:] == own[1:]
