"""Accumulating blocks: parts that are accumulated by themselves and joined in order.

A block is seen as an array of shape (lead, n, inner), accumulated along the middle axis. It is cut
into tiles that fit the processor's cache, a function of the block's shape; a tile is accumulated
from its first element on, as NumPy does, and then joined to the last value of the tile before::

    elements        1  2  3 │ 4  5  6 │ 7  8
    by themselves   1  3  6 │ 4  9 15 │ 7 15
    joined          1  3  6 │10 15 21 │28 36

The first value that follows a tile is never less than its last one where elements are not negative,
as joining starts from that very value; a tree over blocks would not have that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from taskarr.backend import Backend
from taskarr.faults import NOBODY
from taskarr.kernel.functions import Bind
from taskarr.kernel.hazards import SAFE, Risk, is_at_risk, risk_of, spoils

TILE = 1 << 16
"""Elements of a tile."""

WIDE = 512
"""Elements of a row from which there is a call for each row."""

STRIP = 1 << 11
"""Elements of a part of such a row, a few of which stay in the first-level cache."""

Shape = tuple[int, int, int]
Tile = tuple[slice, slice, slice]


@dataclass(frozen=True, slots=True)
class Accumulation:
    """What is accumulated.

    Parameters
    ----------
    name
        Of the ufunc.
    find
        From an array module to the ufunc.
    dtype
        Of the result, in which elements are combined.
    joins
        Whether the ufunc is associative, so that parts can be joined; else each goes on from the
        one before.
    """

    name: str
    find: Bind
    dtype: np.dtype
    joins: bool


@lru_cache(1024)
def tiles(shape: Shape, joins: bool = True) -> tuple[Tile, ...]:
    """Tiles of a block, those that follow each other along the middle axis in order.

    >>> [(rows.start, rows.stop) for _, rows, _ in tiles((1, 100_000, 1))]
    [(0, 65536), (65536, 100000)]
    """
    _, n, inner = shape
    if inner >= WIDE:
        return tuple(_boxes((1, n, -(-inner // -(-inner // STRIP))), shape))
    if n * inner <= TILE:
        return tuple(_boxes((TILE // (n * inner), n, inner), shape))
    return tuple(_boxes((1, TILE // inner if joins else n, inner), shape))


def _boxes(tile: Shape, shape: Shape) -> Iterator[Tile]:
    spans = [
        [slice(lo, min(lo + most, n)) for lo in range(0, n, most)]
        for most, n in zip(tile, shape, strict=True)
    ]
    for lead in spans[0]:
        for inner in spans[2]:
            for rows in spans[1]:
                yield lead, rows, inner


class Scanner:
    """Accumulates blocks for one node, which answers for floating-point faults.

    The blocks of a column of blocks are taken in order; the ``carry`` that comes from one to the
    next is the last row of what is accumulated so far, of shape (lead, 1, inner).

    State: the function; whether parts are ``watched`` for what range loses; whether the bits of its
    results may depend on how many are computed ``alike``, by one call.
    """

    def __init__(self, what: Accumulation, backend: Backend, position: int) -> None:
        self.what, self.xp, self.position = what, backend.xp, position
        self.faults = backend.faults
        self.whole = backend.whole_blocks
        self.function: Any = what.find(backend.xp)
        self.watched = is_at_risk(what.name, what.dtype)
        self.alike = what.name == "multiply" and what.dtype.kind == "c"

    def through(self, x: Any, y: Any, carry: Any) -> Any:
        """Accumulate a block whose carry is known (None for the first block); give the next."""
        for tile in self._tiles(x.shape):
            part, found = x[tile], y[tile]
            before = _before(tile, y, carry)
            if before is None:
                self.faults.at = self.position
                self._accumulate(part, found)
            elif not self.what.joins:
                self.faults.at = self.position
                found[...] = self._again(part, before)
            else:
                self._join(part, found, before, self._alone(part, found))
        self.faults.at = NOBODY
        return y[:, -1:].copy()

    def alone(self, x: Any, y: Any) -> list[Risk]:
        """Accumulate the tiles of a block by themselves; give the risk of each."""
        return [self._alone(x[tile], y[tile]) for tile in self._tiles(x.shape)]

    def total(self, x: Any, y: Any, carry: Any, risks: list[Risk]) -> Any:
        """Carry behind a block whose tiles are accumulated by themselves."""
        self.faults.at = NOBODY
        found = carry.copy()
        for tile, risk in zip(self._tiles(x.shape), risks, strict=True):
            lead, rows, inner = tile
            before = found[lead, :, inner]
            if self._spoils(before, risk):
                before[...] = self._again(x[tile], before)[:, -1:]
                continue
            last = slice(None if self.alike and not self._is_wide(x) else -1, None)
            joined = y[lead, rows, inner][:, last].copy()
            self._apply(before, joined)
            before[...] = joined[:, -1:]
        return found

    def join(self, x: Any, y: Any, carry: Any, risks: list[Risk]) -> Any:
        """Join the tiles of a block, accumulated by themselves, to the carry; give the next."""
        for tile, risk in zip(self._tiles(x.shape), risks, strict=True):
            self._join(x[tile], y[tile], _before(tile, y, carry), risk)
        self.faults.at = NOBODY
        return y[:, -1:].copy()

    def _tiles(self, shape: Shape) -> tuple[Tile, ...]:
        return (WHOLE,) if self.whole else tiles(shape, self.what.joins)

    def _alone(self, x: Any, y: Any) -> Risk:
        """Accumulate a tile; what its own numbers fault by is no fault of the result."""
        self.faults.at = NOBODY
        self._accumulate(x, y)
        return risk_of(self.what.name, self.xp, x, y) if self.watched else SAFE

    def _join(self, x: Any, y: Any, before: Any, risk: Risk) -> None:
        spoils = self._spoils(before, risk)
        self.faults.at = self.position
        if spoils:
            y[...] = self._again(x, before)
        else:
            self._apply(before, y)

    def _apply(self, before: Any, y: Any) -> None:
        """Join a tile, by calls whose outputs are contiguous."""
        if not self._is_wide(y):
            self.function(before, y, out=y)
            return
        for above, rows in zip(before, y, strict=True):
            for row in rows:
                self.function(above[0], row, out=row)

    def _spoils(self, before: Any, risk: Risk) -> bool:
        return self.watched and spoils(self.what.name, self.xp, before, risk)

    def _again(self, x: Any, before: Any) -> Any:
        """Tile accumulated from the values before it."""
        lead, n, inner = x.shape
        rows = self.xp.empty((lead, n + 1, inner), self.what.dtype)
        rows[:, :1] = before
        self.xp.copyto(rows[:, 1:], x, casting="unsafe")
        found = self.xp.empty(rows.shape, rows.dtype)
        self._accumulate(rows, found)
        return found[:, 1:]

    def _accumulate(self, x: Any, y: Any) -> None:
        if self._is_wide(x):
            self._by_rows(x, y)
        else:
            self.function.accumulate(self._converted(x), axis=1, out=y)

    def _is_wide(self, x: Any) -> bool:
        """Whether a tile is made row by row: long rows are the processor's vectors."""
        return x.shape[2] >= WIDE and not self.whole

    def _by_rows(self, x: Any, y: Any) -> None:
        """Accumulate a tile row by row."""
        for above, elements in zip(y, x, strict=True):
            self.xp.copyto(above[0], elements[0], casting="unsafe")
            for k in range(1, len(elements)):
                self.function(above[k - 1], self._converted(elements[k]), out=above[k])

    def _converted(self, x: Any) -> Any:
        if x.dtype == self.what.dtype:
            return x
        found = self.xp.empty(x.shape, self.what.dtype)
        self.xp.copyto(found, x, casting="unsafe")
        return found


WHOLE: Tile = (slice(None), slice(None), slice(None))


def _before(tile: Tile, y: Any, carry: Any) -> Any:
    """Values that a tile is joined to: the last row of the tile before, or of the block before."""
    lead, rows, inner = tile
    if rows.start:
        return y[lead, rows.start - 1 : rows.start, inner]
    return None if carry is None else carry[lead, :, inner]
