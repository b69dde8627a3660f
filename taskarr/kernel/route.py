"""Rows by address: sorting what is asked for, naming each row once, taking and placing rows.

All in host memory, where messages leave from. A row travels as one element of as many bytes.
Positions are those of the index array, flat.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

TILE = 1 << 14
"""Entries that are handled together, so that what is made of them stays in the cache."""

WORDS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
"""Element types that are copied as one word, by bytes."""


def row_dtype(row_bytes: int) -> np.dtype:
    """Element type of a row of so many bytes, at least one."""
    return np.dtype(WORDS.get(row_bytes, f"V{row_bytes}"))


def as_rows(data: Any, row_bytes: int) -> Any:
    """Contiguous array, or bytes, as a flat array of rows in the same memory."""
    return data.reshape(-1).view(row_dtype(row_bytes))


def tiles(start: int, stop: int, step: int = TILE) -> Iterator[tuple[int, int]]:
    """Neighbouring spans of at most ``step``.

    >>> list(tiles(0, 5, 2))
    [(0, 2), (2, 4), (4, 5)]
    """
    for first in range(start, stop, step):
        yield first, min(first + step, stop)


@dataclass(frozen=True, slots=True)
class Entries:
    """Addresses and the positions that ask for them, by address and then by position.

    Parameters
    ----------
    keys
        ``address << bits | position`` where both fit 63 bits, so that sorting numbers sorts
        entries; else the addresses.
    bits
        Bits of a position; 0 when positions lie apart.
    apart
        The positions then.
    """

    keys: Any
    bits: int
    apart: Any = None

    def __len__(self) -> int:
        return len(self.keys)

    def addresses(self, which: Any) -> Any:
        """Addresses of some entries: a slice, or an array of numbers."""
        return self.keys[which] >> self.bits if self.bits else self.keys[which]

    def positions(self, which: Any) -> Any:
        """Positions of some entries."""
        if self.bits:
            return self.keys[which] & ((1 << self.bits) - 1)
        return self.apart[which]


def entries_of(addresses: Any, positions: Any, length: int, most: int) -> Entries:
    """Entries in order.

    Parameters
    ----------
    addresses, positions
        Flat arrays; positions ascend and lie below ``length``, None: 0, 1, 2, ...
    most
        The largest possible address.
    """
    bits = max(1, length.bit_length())
    if most.bit_length() + bits > 63:
        order = np.argsort(addresses, kind="stable")
        return Entries(addresses[order], 0, order if positions is None else positions[order])
    keys = np.empty(len(addresses), np.int64)
    for a, b in tiles(0, len(keys)):
        part = np.left_shift(addresses[a:b], bits, out=keys[a:b])
        part |= np.arange(a, b) if positions is None else positions[a:b]
    if not _ascend(keys):
        keys.sort()
    return Entries(keys, bits)


def _ascend(keys: np.ndarray) -> bool:
    """Whether numbers are in order already."""
    return all(
        bool(np.all(keys[a + 1 : b + 1] >= keys[a : min(b, len(keys) - 1)]))
        for a, b in tiles(0, len(keys) - 1)
    )


def heads_of(entries: Entries) -> Any:
    """Number of the first entry of each distinct address."""
    found = []
    before: Any = -1
    for a, b in tiles(0, len(entries), 8 * TILE):
        addresses = entries.addresses(slice(a, b))
        new = np.empty(b - a, np.bool_)
        new[:1] = addresses[:1] != before
        np.not_equal(addresses[1:], addresses[:-1], out=new[1:])
        found.append(np.flatnonzero(new) + a)
        before = addresses[-1:]
    return np.concatenate(found) if found else np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Rows that are asked for, each named once.

    Parameters
    ----------
    entries
        Who asks.
    heads
        Number of the first entry of each row.
    rows
        Their addresses, ascending.
    """

    entries: Entries
    heads: Any
    rows: Any

    def asking(self, first: int, last: int) -> tuple[Any, Any]:
        """Positions that ask for the rows ``[first, last)``, and the row that each asks for."""
        edges = self.heads[first : last + 1]
        if last == len(self.heads):
            edges = np.concatenate((edges, np.asarray([len(self.entries)])))
        positions = self.entries.positions(slice(int(edges[0]), int(edges[-1])))
        rows = np.arange(first, last)
        if len(positions) > last - first:
            rows = np.repeat(rows, np.diff(edges))
        return positions, rows

    def numbers(self) -> Any:
        """For each position the number of the row that it asks for."""
        found = np.empty(len(self.entries), np.int64)
        for a, b in tiles(0, len(self.rows), 8 * TILE):
            positions, rows = self.asking(a, b)
            found[positions] = rows
        return found


def wanted_of(entries: Entries) -> Wanted:
    """Rows that some entries ask for."""
    heads = heads_of(entries)
    return Wanted(entries, heads, entries.addresses(heads))


DENSE = 4
"""Times as many addresses as entries up to which a table over all addresses beats sorting."""


def span_of(addresses: np.ndarray) -> tuple[int, int] | None:
    """The least address, and how many there are up to the largest; None if that is far more."""
    if not len(addresses):
        return None
    low, high = int(addresses.min()), int(addresses.max())
    count = high - low + 1
    dense = count <= min(DENSE * len(addresses), np.iinfo(np.int32).max)
    return (low, count) if dense else None


def numbered(addresses: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Distinct addresses, ascending, and for each entry the number of its own among them.

    None where sorting is better.

    >>> numbered(np.array([7, 5, 7]))
    (array([5, 7]), array([1, 0, 1], dtype=int32))
    """
    span = span_of(addresses)
    if span is None:
        return None
    low, count = span
    there, table = np.zeros(count, np.bool_), np.empty(count, np.int32)
    for a, b in tiles(0, len(addresses)):
        there[addresses[a:b] - low] = True
    rows = np.flatnonzero(there)
    for a, b in tiles(0, len(rows)):
        table[rows[a:b]] = np.arange(a, b)
    numbers = np.empty(len(addresses), np.int32)
    for a, b in tiles(0, len(addresses)):
        np.take(table, addresses[a:b] - low, mode="clip", out=numbers[a:b])
    rows += low
    return rows, numbers


def last_entries(addresses: np.ndarray, positions: np.ndarray | None) -> Entries | None:
    """The last entry of each address, by address; None where sorting is better.

    >>> last_entries(np.array([7, 5, 7]), None).positions(slice(None))
    array([1, 2], dtype=int32)
    """
    span = span_of(addresses)
    if span is None:
        return None
    low, count = span
    table = np.full(count, -1, np.int32)
    for a, b in tiles(0, len(addresses), 4 * TILE):  # of several, NumPy keeps the last
        table[addresses[a:b] - low] = np.arange(a, b)
    rows = np.flatnonzero(table >= 0)
    last = np.take(table, rows)
    rows += low
    return Entries(rows, 0, last if positions is None else positions[last])


def last_of_each(entries: Entries) -> Any:
    """Number of the last entry of each address, None when no address is there twice."""
    heads = heads_of(entries)
    if len(heads) == len(entries):
        return None
    return np.concatenate((heads[1:], np.asarray([len(entries)]))) - 1


def is_near(rows: Any, count: int) -> Any:
    """Which row numbers lie in ``[0, count)``."""
    return rows.view(np.uint64) < np.uint64(count)


def far_from(addresses: Any, owned: tuple[int, int]) -> Any:
    """Positions of the addresses that another rank owns, ascending."""
    (start, stop), far = owned, np.empty(len(addresses), np.bool_)
    spare = np.empty(TILE, np.int64)
    for a, b in tiles(0, len(addresses), TILE):
        numbers = np.subtract(addresses[a:b], start, out=spare[: b - a])
        np.logical_not(is_near(numbers, stop - start), out=far[a:b])
    return np.flatnonzero(far)


HALF = 32
"""Bytes of the longest element that NumPy takes by moves of its own, without a call of memmove."""


def take(source: Any, rows: Any, out: Any) -> None:
    """Copy rows by number into ``out``; numbers out of range give some row."""
    if source.dtype.itemsize != 2 * HALF:
        source.take(rows, mode="clip", out=out)
        return
    half, step = np.dtype(("V", HALF)), 2 * TILE
    halves, into, numbers = source.view(half), out.view(half), np.empty((step, 2), np.int64)
    for a, b in tiles(0, len(rows), step):
        part, pairs = rows[a:b], numbers[: b - a]
        if not _are_near(part):
            source.take(part, mode="clip", out=out[a:b])
            continue
        np.add(part, part, out=pairs[:, 0])
        np.bitwise_or(pairs[:, 0], 1, out=pairs[:, 1])
        halves.take(pairs.reshape(-1), mode="clip", out=into[2 * a : 2 * b])


def _are_near(rows: np.ndarray) -> bool:
    """Whether rows seem to ascend by small steps: then copying them takes longer than finding."""
    first, middle, last = rows[0], rows[len(rows) // 2], rows[-1]
    return bool(first <= middle <= last < first + 8 * len(rows))


def room_beside(near: np.ndarray | None, room: np.ndarray, row_bytes: int) -> np.ndarray:
    """Part of some bytes, as rows, that lies a whole number of rows away from other rows.

    Parameters
    ----------
    near
        The other rows, if there are any.
    room
        Bytes, those of one row more than are wanted.
    """
    shift = 0 if near is None else (near.ctypes.data - room.ctypes.data) % row_bytes
    return room[shift : len(room) - row_bytes + shift].view(row_dtype(row_bytes))


@dataclass(frozen=True, slots=True)
class Spanning:
    """Array that begins with the first of two and ends with the other, so that one call reads both.

    What lies between the two is other memory, or none, and not to be touched.

    Parameters
    ----------
    rows
        The array.
    near, kept
        Numbers of their first rows in it.
    clear
        Whether nothing that is written lies between. NumPy would take that for a part of the array
        and write it twice.
    """

    rows: np.ndarray
    near: int
    kept: int
    clear: bool

    def take(self, numbers: np.ndarray, out: np.ndarray) -> None:
        """Copy rows by number."""
        if self.clear:
            take(self.rows, numbers, out)
        else:
            out[...] = np.take(self.rows, numbers, mode="clip")


def spanning(near: np.ndarray, kept: np.ndarray, out: np.ndarray) -> Spanning:
    """Array over rows that lie a whole number of rows apart (`room_beside`), read to ``out``."""
    spans = [(x.ctypes.data, x.ctypes.data + x.nbytes) for x in (near, kept, out)]
    (first, _), (second, _), (start, stop) = spans
    lower, upper = min(first, second), max(end for _, end in spans[:2])
    size = near.itemsize
    rows = as_strided(near if first == lower else kept, ((upper - lower) // size,), (size,))
    clear = upper <= start or stop <= lower
    return Spanning(rows, (first - lower) // size, (second - lower) // size, clear)


def near_of(addresses: np.ndarray, owned: tuple[int, int]) -> Iterator[tuple[Any, Any]]:
    """Positions and row numbers of the addresses that a rank owns, a tile at a time."""
    start, stop = owned
    for a, b in tiles(0, len(addresses)):
        numbers = addresses[a:b] - start
        here = np.flatnonzero(is_near(numbers, stop - start))
        if len(here):
            yield here + a, numbers[here]


@dataclass(frozen=True, slots=True)
class Target:
    """A brick whose rows are written.

    Parameters
    ----------
    brick
        Its memory, contiguous.
    row
        Shape of a row.
    function
        What combines an element with a value; None: the value replaces it.
    dtype
        Of the values.
    """

    brick: np.ndarray
    row: tuple[int, ...]
    function: np.ufunc | None
    dtype: np.dtype

    def write(self, numbers: np.ndarray, values: np.ndarray | None) -> None:
        """Write rows, those that are named more than once in order.

        Parameters
        ----------
        numbers
            Of the rows; each once when there is no function.
        values
            Bytes of a row for each, or of one for all; None for a function of one operand.
        """
        rows = self.brick.reshape(-1, *self.row)
        if values is not None:
            values = values.reshape(-1).view(np.uint8).view(self.dtype).reshape(-1, *self.row)
        if self.function is not None:
            operands = () if values is None else (values,)
            self.function.at(rows, numbers, *operands)
        elif values is not None:
            size = values.itemsize * values[0].size
            as_rows(self.brick, size)[numbers] = as_rows(values, size)
