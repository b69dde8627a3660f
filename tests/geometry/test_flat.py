"""Layouts whose bricks are runs: the flat layouts they are, and back."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from taskarr.geometry.flat import flat_of, has_blocks_of_rows, in_rows, shaped
from taskarr.geometry.owners import new_layout, on_root

SHAPES = ((12,), (6, 4), (2, 9), (1, 7, 3), (3, 2, 5), (5, 1), (1, 1, 4))


def brick_numbers(layout, rank):
    """Flat numbers of the elements that a rank owns, in C order."""
    box = layout.brick(rank)
    if box is None:
        return []
    every = np.arange(prod(layout.shape)).reshape(layout.shape)
    return every[tuple(slice(lo, hi) for lo, hi in box)].reshape(-1).tolist()


@pytest.mark.parametrize("size", (1, 2, 3, 4, 6))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bricks_of_the_flat_layout_are_the_bricks(shape, size):
    for split in range(len(shape)):
        layout = new_layout(shape, 8, size, split=split, block=16, replicate=False)
        flat = flat_of(layout)
        runs = [brick_numbers(layout, rank) for rank in range(size)]
        if any(run and run != list(range(run[0], run[-1] + 1)) for run in runs):
            assert flat is None
        elif flat is not None:
            assert [brick_numbers(flat, rank) for rank in range(size)] == runs
        if has_blocks_of_rows(layout):
            back = shaped(flat, shape)
            assert [brick_numbers(back, rank) for rank in range(size)] == runs
            assert back.chunks == layout.chunks


@pytest.mark.parametrize("size", (1, 2, 3, 5, 8))
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rows_are_runs_and_shared_out(shape, size):
    layout = in_rows(shape, 8, size, 16)
    flat = flat_of(layout)
    parts = [len(brick_numbers(layout, rank)) for rank in range(size)]
    assert flat is not None
    assert sum(parts) == prod(shape)
    assert sum(n > 0 for n in parts) > min(size, prod(shape)) // 3


def test_a_block_that_ends_inside_a_row_has_no_shape():
    flat = flat_of(new_layout((12,), 8, 3, split=0, chunks=4))
    assert shaped(flat, (3, 4)).chunks == ((1, 1, 1), (4,))
    assert shaped(flat, (2, 6)) is None
    assert shaped(flat, (1, 6, 2)).chunks == ((1,), (2, 2, 2), (2,))


def test_owner_of_all_stays():
    flat = flat_of(on_root((3, 4), 2, 5))
    assert flat.brick(2) == ((0, 12),)
    assert shaped(flat, (2, 6)).brick(2) == ((0, 2), (0, 6))


def test_columns_and_meshes_are_no_runs():
    assert flat_of(new_layout((4, 6), 8, 2, split=1, block=16)) is None
    assert flat_of(new_layout((4, 6), 8, 4, split=(0, 1), block=16)) is None
