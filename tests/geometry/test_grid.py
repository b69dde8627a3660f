from __future__ import annotations

from math import prod

import numpy as np
import pytest
from dask.array.core import normalize_chunks
from hypothesis import given
from hypothesis import strategies as st

from taskarr.geometry.grid import (
    MIB,
    MOST_BLOCKS,
    auto_split,
    block_bytes,
    bounds_of,
    chunk_grid,
    default_grid,
    even_bounds,
    lengths_of,
)
from tests.geometry.strategies import chunks, shapes


def is_grid(bounds, length):
    steps = np.diff(bounds)
    return (
        bounds.dtype == np.int64
        and (bounds[0], bounds[-1]) == (0, length)
        and (bool((steps > 0).all()) or (length == 0 and len(bounds) == 2))
    )


@given(st.integers(0, 60), st.integers(1, 70))
def test_even_blocks_differ_by_one_at_most(length, blocks):
    bounds = even_bounds(length, blocks)
    assert is_grid(bounds, length)
    assert len(bounds) - 1 == max(1, min(blocks, length))
    assert np.ptp(np.diff(bounds)) <= 1


@given(st.lists(st.integers(0, 5), max_size=8))
def test_bounds_of_lengths(lengths):
    bounds = bounds_of(lengths)
    assert is_grid(bounds, sum(lengths))
    assert lengths_of(bounds) == (tuple(n for n in lengths if n) or (0,))


@given(shapes.flatmap(lambda s: st.tuples(st.just(s), st.tuples(*map(chunks, s)))))
def test_chunks_are_dasks(case):
    shape, wanted = case
    grid = chunk_grid(shape, wanted, 8)
    expected = normalize_chunks(tuple(-1 if c is None else c for c in wanted), shape)
    assert tuple(map(lengths_of, grid)) == expected
    assert all(map(is_grid, grid, shape))


def test_one_entry_stands_for_all_axes():
    assert [g.tolist() for g in chunk_grid((5, 4), 3, 8)] == [[0, 3, 5], [0, 3, 4]]
    assert [g.tolist() for g in chunk_grid((5, 4), None, 8)] == [[0, 5], [0, 4]]
    assert [g.tolist() for g in chunk_grid((5, 4), (-1, (1, 0, 3)), 8)] == [[0, 5], [0, 1, 4]]


@pytest.mark.parametrize(
    "wrong", [0, -2, (3,), (3, 3, 3), ((2, 2), 4), ((6, -1), 4), (2.5, 4), "all", (None, "x")]
)
def test_wrong_chunks_are_refused_by_value(wrong):
    with pytest.raises(ValueError, match="chunks="):
        chunk_grid((5, 4), wrong, 8)


@pytest.mark.parametrize(
    ("nbytes", "setting", "expected"),
    [
        (0, None, MIB),
        (100 * MIB, None, MIB),
        (256 * MIB, None, MIB),
        (256 * MIB + 1, None, 3 * MIB // 2),
        (1024 * MIB, None, 6 * MIB),
        (1 << 40, None, 1 << 28),
        (100, 7, 7),
        (1 << 20, 7, (1 << 20) // MOST_BLOCKS),
    ],
)
def test_bytes_of_a_block(nbytes, setting, expected):
    assert block_bytes(nbytes, setting) == expected


@given(shapes, st.sampled_from((1, 8)), st.sampled_from((8, 24, 100, 1000)), st.data())
def test_default_blocks_hold_what_they_should(shape, itemsize, block, data):
    split = tuple(sorted(data.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    grid = default_grid(shape, itemsize, split, block)
    assert all(map(is_grid, grid, shape))
    assert all(len(b) == 2 for axis, b in enumerate(grid) if axis not in split)
    largest = prod(int(np.diff(b).max()) for b in grid)
    whole = prod(n for axis, n in enumerate(shape) if axis not in split)
    assert largest * itemsize <= max(block, whole * itemsize)
    assert prod(len(b) - 1 for b in grid) <= MOST_BLOCKS


@pytest.mark.parametrize("shape", [(1 << 27,), (10**6, 50), (1 << 14, 1 << 14), (3, 1 << 27)])
def test_arrays_of_some_gigabytes_get_up_to_256_blocks(shape):
    block = block_bytes(prod(shape) * 8, None)
    grid = default_grid(shape, 8, auto_split(shape, 8, block), None)
    assert block % (3 * MIB // 2) == 0
    assert 128 < prod(len(b) - 1 for b in grid) <= 260


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((), ()), ((9,), (0,)), ((100, 10**6), (0,)), ((7, 10**6), (0, 1)), ((7, 10), (0,))],
)
def test_axes_that_auto_cuts(shape, expected):
    assert auto_split(shape, 8, MIB) == expected


def test_lengths_of_one_axis_need_no_nesting():
    assert [b.tolist() for b in chunk_grid((9,), (8, 1), 8)] == [[0, 8, 9]]
    assert [b.tolist() for b in chunk_grid((9,), (4,), 8)] == [[0, 4, 8, 9]]
    with pytest.raises(ValueError, match="does not add up to 9"):
        chunk_grid((9,), (3, 3), 8)


def test_auto_and_dicts():
    assert [b.tolist() for b in chunk_grid((9, 4), {0: 4}, 8)] == [[0, 4, 8, 9], [0, 4]]
    assert [b.tolist() for b in chunk_grid((9, 4), {-1: 3}, 8)] == [[0, 9], [0, 3, 4]]
    auto = chunk_grid((9, 4), ("auto", 2), 8, 64)
    assert auto[1].tolist() == [0, 2, 4]
    assert auto[0].tolist() == default_grid((9, 4), 8, (0,), 64)[0].tolist()
    with pytest.raises(ValueError, match="'many'"):
        chunk_grid((9,), "many", 8)
