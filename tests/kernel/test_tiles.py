from __future__ import annotations

from math import prod

import pytest

from taskarr.kernel.tiles import SEGMENT, TILE, tiles
from tests.geometry.strategies import numbered, part


@pytest.mark.parametrize(
    "shape", [(), (1,), (7,), (8, 9), (1, 40), (40, 1), (3, 1, 7), (2, 3, 5, 2), (13, 2)]
)
@pytest.mark.parametrize("most", [1, 2, 6, 7, 20, 1000])
def test_tiles_cover_a_block_in_c_order(shape, most):
    found = tiles(shape, most)
    x = numbered(shape)
    flat = [int(i) for tile in found for i in part(x, tile).ravel()]
    assert flat == list(range(x.size))
    assert all(part(x, tile).size <= most for tile in found)
    assert len(found) <= 2 * -(-x.size // most)


@pytest.mark.parametrize("shape", [(10**6, 50), (300, 300, 300), (2, 10**7), (1 << 20,)])
def test_tiles_of_large_blocks_are_nearly_full(shape):
    assert TILE <= SEGMENT
    sizes = [prod(hi - lo for lo, hi in tile) for tile in tiles(shape)]
    assert max(sizes) <= SEGMENT
    assert sum(sizes) == prod(shape)
    assert len(sizes) <= 2 * -(-prod(shape) // SEGMENT)


def test_a_block_that_fits_is_one_tile():
    assert tiles((8, 9), 72) == (((0, 8), (0, 9)),)
    assert tiles((), 1) == ((),)
