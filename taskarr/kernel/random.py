"""Random values: a stream of numbers for every tile of every block, and permutations of indices.

Values are a function of the key, the number of the call and the place in the block, so any rank can
draw any tile, again if need be, and gets the same.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

from taskarr.geometry.region import (
    Box,
    Region,
    box_shape,
    contains,
    intersect,
    region_shape,
    slices,
)
from taskarr.geometry.view import Affine
from taskarr.kernel.tiles import tiles

DRAW = 1 << 15
"""Elements that one stream gives at most: the tile of a pass, which is then drawn at one go."""

WORDS = 3
"""Words of 64 bits that begin a stream."""

WARM = 12
"""Numbers that the generator's author discards so that the words are mixed."""


class Streams:
    """A NumPy generator that is put to the beginning of one stream after the other.

    Philox (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) of (call, block)
    gives the words that begin a block's streams; SFC64, which is twice as fast, gives the numbers.

    State: the generator.

    Parameters
    ----------
    key
        Of Philox, 128 bits.
    """

    def __init__(self, key: int) -> None:
        self.key = key
        self._bits = np.random.SFC64(0)
        self.generator = np.random.Generator(self._bits)

    def beginnings(self, call: int, block: int, count: int) -> np.ndarray:
        """Words that begin the streams of a block, a row for each."""
        source = np.random.Philox(counter=(call << 128) + (block << 64), key=self.key)
        return source.random_raw(WORDS * count).reshape(count, WORDS)

    def begin(self, words: Sequence[int] | np.ndarray) -> np.random.Generator:
        """The generator at the beginning of a stream."""
        state = np.array([*words, 1], np.uint64)
        self._bits.state = {
            "bit_generator": "SFC64",
            "state": {"state": state},
            "has_uint32": 0,
            "uinteger": 0,
        }
        self._bits.random_raw(WARM, output=False)
        return self.generator

    def of_call(self, call: int) -> np.random.Generator:
        """The generator at the beginning of a call that needs one stream only."""
        return self.begin(self.beginnings(call, 0, 1)[0])


@dataclass(frozen=True, slots=True)
class Draws:
    """What is drawn, and over which blocks.

    Parameters
    ----------
    bounds
        Block boundaries per axis.
    method
        Name of a method of `numpy.random.Generator`.
    parameters, options
        What it is called with besides ``size``.
    """

    bounds: tuple[tuple[int, ...], ...]
    method: str
    parameters: tuple[Any, ...]
    options: tuple[tuple[str, Any], ...] = ()


class Drawer:
    """Draws regions, tile by tile.

    State: the numbers of the block at hand and the words that begin its streams; the last tile
    that was drawn, and its values.
    """

    def __init__(self, draws: Draws, key: int, call: int) -> None:
        self.bounds, self.call = draws.bounds, call
        self.streams = Streams(key)
        self.method = getattr(self.streams.generator, draws.method)
        self.parameters, self.options = draws.parameters, dict(draws.options)
        self.block = -1
        self.words = np.empty((0, WORDS), np.uint64)
        self.box: Box | None = None
        self.values: Any = None

    def read(self, region: Region, dtype: np.dtype) -> np.ndarray:
        """Values of a region: contiguous, or a part of the tile at hand."""
        if self.box is not None and contains(self.box, region):
            return self._part(region)
        found: np.ndarray | None = None
        for block, number, count, box in tiles_of(self.bounds, region):
            part = intersect(region, box)
            if part is None:
                continue
            self._draw(block, number, count, box)
            if part == region:
                return self._part(region)
            if found is None:
                found = np.empty(region_shape(region), dtype)
            where = tuple(
                slice((p.start - r.start) // r.step, (p.start - r.start) // r.step + len(p))
                for p, r in zip(part, region, strict=True)
            )
            found[where] = self._part(part)
        assert found is not None
        return found

    def _draw(self, block: int, number: int, count: int, box: Box) -> None:
        if box == self.box:
            return
        if block != self.block:
            self.block, self.words = block, self.streams.beginnings(self.call, block, count)
        self.streams.begin(self.words[number])
        self.values = self.method(*self.parameters, size=box_shape(box), **self.options)
        self.box = box

    def _part(self, region: Region) -> np.ndarray:
        assert self.box is not None
        if region_shape(region) == self.values.shape:
            return self.values
        return self.values[slices(region, (lo for lo, _ in self.box))]


def tiles_of(
    bounds: Sequence[Sequence[int]], region: Region
) -> Iterator[tuple[int, int, int, Box]]:
    """Tiles that a region may have elements of, in C order of blocks, then of tiles.

    Yields
    ------
    tuple
        Number of the block, number of the tile in it, tiles of the block, and the tile's box.

    Examples
    --------
    >>> list(tiles_of(((0, 3, 5),), (range(2, 5),)))
    [(0, 0, 1, ((0, 3),)), (1, 0, 1, ((3, 5),))]
    """
    spans = [
        range(bisect_right(b, r.start) - 1, bisect_left(b, r[-1] + 1))
        for b, r in zip(bounds, region, strict=True)
    ]
    for at in product(*spans):
        block = 0
        for k, b in zip(at, bounds, strict=True):
            block = block * (len(b) - 1) + k
        box = tuple((b[k], b[k + 1]) for k, b in zip(at, bounds, strict=True))
        for number, count, tile in _tiles_in(box, region):
            yield block, number, count, tile


def _tiles_in(box: Box, region: Region) -> Iterator[tuple[int, int, Box]]:
    """Tiles of a block that a region may touch: number, number of all, box."""
    largest = box_shape(tiles(box_shape(box), DRAW)[0])
    counts = [-(-(hi - lo) // n) for (lo, hi), n in zip(box, largest, strict=True)]
    spans = [
        range((max(r.start, lo) - lo) // n, (min(r[-1], hi - 1) - lo) // n + 1)
        for (lo, hi), r, n in zip(box, region, largest, strict=True)
    ]
    for at in product(*spans):
        number = 0
        for k, count in zip(at, counts, strict=True):
            number = number * count + k
        tile = tuple(
            (lo + k * n, min(lo + (k + 1) * n, hi))
            for k, n, (lo, hi) in zip(at, largest, box, strict=True)
        )
        yield number, prod(counts), tile


ROUNDS = 12


class Shuffled:
    """A permutation of ``range(count)``, computed for any index by itself.

    A Feistel network over just enough bits, which is a permutation of a power of two, walked until
    it comes back below ``count`` (Black and Rogaway, "Ciphers with arbitrary finite domains",
    2002). The halves may differ by a bit and take turns.

    Parameters
    ----------
    count
        Number of indices, at least one.
    keys
        A word of 64 bits for each round.
    """

    def __init__(self, count: int, keys: Sequence[int]) -> None:
        self.count, self.keys = count, keys
        bits = max(2, (count - 1).bit_length())
        self.low = bits // 2
        self.high = bits - self.low

    def __call__(self, at: Any, xp: ModuleType) -> Any:
        """Where the indices of an uint64 array of one axis go."""
        found = self._once(at)
        left = xp.flatnonzero(found >= self.count)
        while left.size:
            again = self._once(found[left])
            found[left] = again
            left = left[again >= self.count]
        return found

    def _once(self, at: Any) -> Any:
        low, high = self.low, self.high
        upper, lower = at >> low, at & ((1 << low) - 1)
        for number, key in enumerate(self.keys):
            if number % 2:
                lower ^= _mixed(upper, key, low)
            else:
                upper ^= _mixed(lower, key, high)
        upper <<= low
        upper |= lower
        return upper


def _mixed(x: Any, key: int, bits: int) -> Any:
    """The upper bits of two multiplications modulo 2**64, constants of splitmix64."""
    x = x ^ key
    x *= 0xBF58476D1CE4E5B9
    x ^= x >> 32
    x *= 0x94D049BB133111EB
    x >>= 64 - bits
    return x


def shuffled(key: int, call: int, count: int) -> Shuffled:
    """The permutation of one call."""
    words = Streams(key).beginnings(call, 0, -(-ROUNDS // WORDS))
    return Shuffled(count, words.reshape(-1)[:ROUNDS].tolist())


def flat_index(view: Affine, region: Region, xp: ModuleType) -> Any:
    """Place of each element of a region of the view's base in C order, as uint64."""
    found = xp.zeros((1,) * len(region), "u8")
    for axis, r in enumerate(region):
        stride = prod(view.base[axis + 1 :])
        steps = xp.arange(len(r), dtype="u8") * (r.step * stride) + r.start * stride
        found = found + steps.reshape((-1,) + (1,) * (len(region) - axis - 1))
    return found
