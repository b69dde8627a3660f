"""Streams, tiles of blocks, and permutations computed index by index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taskarr.geometry.region import as_region, region_shape
from taskarr.geometry.view import identity
from taskarr.kernel import random as kernel
from taskarr.kernel.random import Drawer, Draws, Shuffled, Streams, flat_index, shuffled, tiles_of


def test_streams_begin_anew_and_differ():
    streams = Streams(7)
    words = streams.beginnings(3, 5, 4)
    assert words.shape == (4, 3)
    first = streams.begin(words[0]).random(5)
    streams.generator.integers(0, 10, 3, np.uint32)  # which leaves half a number behind
    assert streams.begin(words[0]).random(5).tolist() == first.tolist()
    others = [(8, 3, 5, 0), (7, 4, 5, 0), (7, 3, 6, 0), (7, 3, 5, 1)]
    for key, call, block, tile in others:
        other = Streams(key)
        values = other.begin(other.beginnings(call, block, 4)[tile]).random(5)
        assert not set(values) & set(first), (key, call, block, tile)


def test_more_tiles_of_a_block_begin_alike():
    streams = Streams(1)
    assert streams.beginnings(0, 2, 9)[:4].tolist() == streams.beginnings(0, 2, 4).tolist()


@st.composite
def bounds_and_region(draw):
    bounds, region = [], []
    for _ in range(draw(st.integers(0, 3))):
        lengths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=3))
        edges = np.cumsum([0, *lengths]).tolist()
        first = draw(st.integers(0, edges[-1] - 1))
        last = draw(st.integers(first, edges[-1] - 1))
        bounds.append(tuple(edges))
        region.append(range(first, last + 1, draw(st.integers(1, 3))))
    return tuple(bounds), tuple(region)


@settings(max_examples=60, deadline=None)
@given(bounds_and_region(), st.sampled_from((1, 2, 5, 1 << 15)))
def test_a_region_holds_what_the_whole_holds_there(case, most):
    bounds, region = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel, "DRAW", most)
        draws = Draws(bounds, "random", ())
        dtype = np.dtype(np.float64)
        everything = tuple(range(b[-1]) for b in bounds)
        whole = Drawer(draws, 1, 2).read(everything, dtype).copy()
        drawer = Drawer(draws, 1, 2)
        index = tuple(slice(r.start, r.stop, r.step) for r in region)
        for _ in range(2):
            found = drawer.read(region, dtype)
            assert found.shape == region_shape(region)
            assert found.tobytes() == whole[index].tobytes()
        assert len(set(whole.reshape(-1).tolist())) == whole.size


def test_tiles_cover_each_block_once():
    bounds = ((0, 40_000, 90_000), (0, 2))
    seen = np.zeros((90_000, 2), int)
    tiles = list(tiles_of(bounds, as_region(((0, 90_000), (0, 2)))))
    for _, number, count, ((a, b), (c, d)) in tiles:
        assert number < count
        assert (b - a) * (d - c) <= kernel.DRAW
        seen[a:b, c:d] += 1
    assert (seen == 1).all()
    assert len({tile[:2] for tile in tiles}) == len(tiles) > 5


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 31, 33, 1000, 4096, 4097, 70_001])
def test_a_permutation_and_any_part_of_it(count):
    permutation = shuffled(5, 6, count)
    whole = permutation(np.arange(count, dtype="u8"), np)
    assert np.array_equal(np.sort(whole), np.arange(count))
    some = np.arange(count, dtype="u8")[::-3]
    assert np.array_equal(permutation(some, np), whole[::-3])


def test_a_permutation_of_more_than_32_bits():
    count = (1 << 40) + 12345
    at = np.array([0, 1, 2, count - 1, 1 << 33], "u8")
    found = shuffled(1, 1, count)(at, np)
    assert (found < count).all()
    assert len(set(found.tolist())) == 5
    assert found.max() > 1 << 35


def test_keys_make_different_permutations():
    at = np.arange(1000, dtype="u8")
    orders = {shuffled(key, call, 1000)(at, np).tobytes() for key in (1, 2) for call in (0, 1, 2)}
    assert len(orders) == 6
    assert len(Shuffled(10, [1, 2]).keys) == 2


def test_flat_index():
    view = identity((4, 5, 6))
    region = (range(1, 4, 2), range(2, 3), range(0, 6, 3))
    expected = np.arange(120).reshape(4, 5, 6)[1:4:2, 2:3, 0:6:3]
    assert np.array_equal(flat_index(view, region, np), expected)
    assert flat_index(identity(()), (), np).shape == ()
