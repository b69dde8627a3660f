"""Scatters: a task where all that is written is at hand, else a stage that sends it to the owners.

Where several values are for one element, they count in C order of the index. Ranks hold parts of
the index in that order, and owners take what they are sent in the order of ranks.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from scheduler import World
from scheduler.shuffle import In, Out
from taskarr.faults import NOBODY
from taskarr.geometry.rows import Rows
from taskarr.kernel.route import (
    TILE,
    Target,
    as_rows,
    entries_of,
    last_entries,
    last_of_each,
    near_of,
    take,
    tiles,
)
from taskarr.plan.company import Company, receive, send
from taskarr.plan.rounds import BINS, bin_edges, schedule


@dataclass(frozen=True, slots=True)
class Written:
    """What a scatter writes, and where.

    Parameters
    ----------
    rows
        Owners of the rows that are written.
    row
        Shape of a row of this rank's brick.
    function
        What combines an element with a value; None: the last value stays.
    dtype
        Of the values.
    values
        ``"each"``: a row for each index; ``"one"``: one for all; ``"none"``.
    position
        Node that answers for faults.
    """

    rows: Rows
    row: tuple[int, ...]
    function: np.ufunc | None
    dtype: np.dtype
    values: str
    position: int

    @property
    def value_bytes(self) -> int:
        """Bytes that travel with each index."""
        return prod(self.row) * self.dtype.itemsize if self.values == "each" else 0


@dataclass(frozen=True, slots=True)
class WriteRows:
    """Task that scatters where index and values are at hand.

    Parameters
    ----------
    owned
        Addresses of the rows that are here.
    """

    what: Written
    owned: tuple[int, int]

    def __call__(self, backend: Any, brick: Any, *arrays: Any) -> Any:
        """Write into the brick and give it."""
        work = Scattering(self.what, True, True, (backend, brick, *arrays))
        if self.what.function is None:
            every = self.owned == (0, int(self.what.rows.starts[-1]))
            work.sort(None if every else near_of(work.addresses, self.owned))
            work.write_own(0, work.count, self.owned[0])
        else:
            for positions, numbers in near_of(work.addresses, self.owned):
                work.write(numbers, work.values_at(positions))
        return work.result()


class Scattering:
    """One rank's part in a scatter.

    State: the ``target`` that is written; the ``addresses`` that the own part of the index names,
    sorted as ``entries``; the numbers of those that count (``last``, None for all) and how many;
    the ``values`` as rows.
    """

    def __init__(self, what: Written, here: bool, asks: bool, values: Any) -> None:
        backend, *arrays = values[0], *map(values[0].host, values[1:])
        self.what, self.backend = what, backend
        self.brick = arrays.pop(0) if here else None
        if self.brick is not None:
            self.target = Target(self.brick, what.row, what.function, what.dtype)
        self.addresses = np.empty(0, np.int64)
        self.last: Any = None
        leading = len(what.rows.shape)
        if asks:
            flat = tuple(index.reshape(-1) for index in arrays[:leading])
            self.addresses, arrays = what.rows.addresses(flat), arrays[leading:]
        self.values: Any = None
        if arrays and what.values != "none":
            size = max(1, prod(what.row) * what.dtype.itemsize)
            self.values = as_rows(np.ascontiguousarray(arrays[0]), size)

    def write(self, numbers: Any, values: Any) -> None:
        """Write rows of the brick, by their numbers."""
        faults = self.backend.faults
        faults.at = self.what.position
        self.target.write(numbers, values)
        faults.at = NOBODY

    def result(self) -> Any:
        """The brick, where the caller's arrays are."""
        return None if self.brick is None else self.backend.here(self.brick)

    def sort(self, near: Any = None) -> None:
        """Put the entries in order and find those that count."""
        addresses, positions = self.addresses, None
        if near is not None:
            places = [place for place, _ in near]
            if sum(map(len, places)) < len(addresses):
                positions = np.concatenate(places or [np.empty(0, np.int64)])
                addresses = addresses[positions]
        found = None if self.what.function else last_entries(addresses, positions)
        if found is None:
            most = int(self.what.rows.starts[-1])
            found = entries_of(addresses, positions, len(self.addresses), most)
            self.last = None if self.what.function else last_of_each(found)
        self.entries = found
        self.count = len(found) if self.last is None else len(self.last)

    def which(self, first: int, last: int) -> Any:
        """Entries ``[first, last)`` of those that count."""
        return slice(first, last) if self.last is None else self.last[first:last]

    def edges(self, addresses: np.ndarray) -> np.ndarray:
        """Number, among the entries that count, of the first one not below each address."""
        found = np.searchsorted(self.entries.keys, addresses << self.entries.bits)
        return found if self.last is None else np.searchsorted(self.last, found)

    def values_at(self, positions: np.ndarray) -> np.ndarray | None:
        """Rows of values for some positions; the only one if there is one for all."""
        if self.what.values != "each":
            return self.values
        found = np.empty(len(positions), self.values.dtype)
        take(self.values, positions, found)
        return found

    def write_own(self, first: int, last: int, start: int) -> None:
        """Write own entries into the own brick, whose first row has the address ``start``."""
        for a, b in tiles(first, last):
            which = self.which(a, b)
            values = self.values_at(self.entries.positions(which))
            self.write(self.entries.addresses(which) - start, values)

    def pieces(self, peer: int, first: int, last: int, most: int) -> list[Out]:
        """Entries for a rank: in turn the numbers of rows, and their values."""
        found = []
        for a, b in tiles(first, last, most):
            found.append(Out(peer, (b - a) * 8, self._numbers(peer, a, b)))
            if self.what.value_bytes:
                found.append(Out(peer, (b - a) * self.what.value_bytes, self._values(a, b)))
        return found

    def _numbers(self, peer: int, first: int, last: int) -> Any:
        start = int(self.what.rows.starts[peer])

        def pack(buffer: Any) -> Any:
            if buffer is not None:
                numbers = self.entries.addresses(self.which(first, last))
                np.subtract(numbers, start, out=buffer.view(np.int64))
            return buffer

        return pack

    def _values(self, first: int, last: int) -> Any:
        def pack(buffer: Any) -> Any:
            if buffer is not None:
                positions = self.entries.positions(self.which(first, last))
                take(self.values, positions, as_rows(buffer, self.what.value_bytes))
            return buffer

        return pack


@dataclass(frozen=True, slots=True)
class SendToOwners:
    """Scatter by a distributed index, whose parts and values lie in order of ranks.

    Parameters
    ----------
    what
        What is written, and where.
    here, asks
        Whether this rank has rows of the array, and a part of the index.

    Notes
    -----
    The inputs are the backend, this rank's brick, its parts of the index, and its values, where it
    has them. One shuffle, as long as what each owner gets fits a buffer.
    """

    what: Written
    here: bool
    asks: bool
    where: str

    def __call__(self, world: World, values: Any) -> tuple[Any, ...]:
        """Give the brick, or None."""
        company = Company(world, values, self.where)
        work = company.work(self._begin, values)
        edges = None if work is None else work.edges(self.what.rows.starts)
        heard = company.counts(None if edges is None else np.diff(edges))
        assert work is not None and edges is not None
        takes, gives = self._rounds(company, work, heard, np.diff(edges))
        at = edges[:-1].copy()
        for take_now, give_now in zip(takes, gives, strict=True):
            self._round(company, work, take_now, (at, at + give_now))
            at += give_now
        company.end()
        return (work.result(),)

    def _begin(self, values: Any) -> Scattering:
        work = Scattering(self.what, self.here, self.asks, values)
        work.sort()
        return work

    def _rounds(
        self, company: Company, work: Scattering, heard: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """What this rank takes from each rank, and gives to each, in each round."""
        rank, most = company.world.rank, max(1, Company.buffer // (8 + self.what.value_bytes))
        rounds = company.most(int(heard.sum() - heard[rank] > most) + bool(heard.any()))
        if rounds <= 1:
            return heard[None, :][:rounds], counts[None, :][:rounds]
        inner = company.work(work.edges, bin_edges(self.what.rows.starts).reshape(-1))
        told = np.empty((len(heard), BINS), np.int64)
        sent = told.copy() if inner is None else np.diff(inner.reshape(-1, BINS + 1), axis=1)
        told[rank] = sent[rank]
        company.shuffle(_tables(rank, sent, told))
        takes = company.work(schedule, told, rank, most)
        lengths = company.counts(None if takes is None else np.full(len(heard), len(takes)))
        assert takes is not None
        columns = [np.zeros(int(n), np.int64) for n in lengths]
        columns[rank] = takes[:, rank].copy()
        company.shuffle(_tables(rank, [takes[:, p].copy() for p in range(len(heard))], columns))
        rounds = int(lengths.max())
        gives = np.zeros((rounds, len(heard)), np.int64)
        for peer, column in enumerate(columns):
            gives[: len(column), peer] = column
        blank = np.zeros((rounds - len(takes), len(heard)), np.int64)
        return np.concatenate((takes, blank)), gives

    def _round(
        self,
        company: Company,
        work: Scattering,
        counts: np.ndarray,
        given: tuple[np.ndarray, np.ndarray],
    ) -> None:
        rank = company.world.rank
        room = company.work(self._room, rank, counts)
        if room is None:
            company.shuffle(None)
            return
        most = company.rows_of_piece(max(8, self.what.value_bytes))
        spans = enumerate(zip(*(x.tolist() for x in given), strict=True))
        outs = [x for p, (a, b) in spans if p != rank for x in work.pieces(p, a, b, most)]
        company.shuffle((outs, [x for p in room for x in _places(p, *room[p], most)]))
        for peer in np.flatnonzero(counts).tolist():
            if peer == rank:
                first, last = (int(x[rank]) for x in given)
                company.work(work.write_own, first, last, int(self.what.rows.starts[rank]))
            else:
                company.work(_write_all, work, *room[peer])

    def _room(self, rank: int, counts: np.ndarray) -> dict[int, tuple[np.ndarray, Any]]:
        """Room for what comes from each rank: numbers of rows, and values."""
        size, found = self.what.value_bytes, {}
        for peer in np.flatnonzero(counts).tolist():
            count = int(counts[peer])
            rows = np.empty(count * size, np.uint8).reshape(count, size) if size else None
            if peer != rank:
                found[peer] = (np.empty(count, np.int64), rows)
        return found


def _places(peer: int, numbers: np.ndarray, values: Any, most: int) -> Iterator[In]:
    """Pieces, as `Scattering.pieces` has them, that are received where they are to be."""
    for a, b in tiles(0, len(numbers), most):
        yield receive(peer, numbers[a:b])
        if values is not None:
            yield receive(peer, values[a:b].reshape(-1))


def _write_all(work: Scattering, numbers: np.ndarray, values: Any) -> None:
    """Write what a rank sent."""
    for a, b in tiles(0, len(numbers), 4 * TILE):
        work.write(numbers[a:b], work.values if values is None else values[a:b])


def _tables(rank: int, sent: Any, heard: Any) -> tuple[list[Out], list[In]]:
    """Pieces with an array for each other rank, and from each."""
    outs = [send(p, x) for p, x in enumerate(sent) if p != rank]
    ins = [receive(p, x) for p, x in enumerate(heard) if p != rank]
    return outs, ins
