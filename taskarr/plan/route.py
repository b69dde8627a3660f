"""Stages that bring every rank the rows that an index asks for.

A distributed index takes two shuffles: every rank asks the owners for the rows that it lacks, each
once, and is sent them. If all ranks know the index, the owners need not be asked.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from scheduler import World
from scheduler.shuffle import In, Out
from taskarr.backend import CPU
from taskarr.geometry.region import Box
from taskarr.geometry.rows import Rows, raveled
from taskarr.kernel.route import (
    TILE,
    as_rows,
    entries_of,
    far_from,
    numbered,
    room_beside,
    spanning,
    take,
    tiles,
    wanted_of,
)
from taskarr.plan.company import Company, receive, send

Slices = tuple[slice, ...]

RARE = 8
"""Times as many positions as far ones from which own rows are taken first, and those then."""


def host_empty(backend: Any, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Uninitialised array in host memory, from the pool if bricks lie there too."""
    return backend.empty(shape, dtype) if backend.device == CPU else np.empty(shape, dtype)


@dataclass(frozen=True, slots=True)
class Source:
    """Rows that are taken, and what of them one rank has.

    Parameters
    ----------
    rows
        Owners of the rows.
    row_bytes
        Bytes of a row, at least one.
    here
        Whether this rank has any.
    """

    rows: Rows
    row_bytes: int
    here: bool


@dataclass(frozen=True, slots=True)
class TakeRows:
    """Task that gathers where all rows lie in this rank's brick.

    Parameters
    ----------
    shape
        Lengths of the indexed axes.
    part
        What this rank takes of the index.
    result, dtype
        Shape and dtype of the result's brick.
    axis
        First indexed axis.
    row_bytes
        Bytes of the brick behind the indexed axes.
    """

    shape: tuple[int, ...]
    part: Slices
    result: tuple[int, ...]
    dtype: np.dtype
    axis: int
    row_bytes: int

    def __call__(self, backend: Any, brick: Any, *indices: Any) -> Any:
        """Give the result's brick."""
        out = host_empty(backend, self.result, self.dtype)
        outer = prod(self.result[: self.axis])
        source, into = (
            as_rows(data, self.row_bytes).reshape(outer, -1) for data in (backend.host(brick), out)
        )
        flat = tuple(backend.host(index)[self.part].reshape(-1) for index in indices)
        step = TILE if len(flat) > 1 and outer == 1 else len(flat[0])
        for a, b in tiles(0, len(flat[0]), step):
            numbers = raveled(tuple(index[a:b] for index in flat), self.shape)
            if outer == 1:
                take(source[0], numbers, into[0, a:b])
            else:
                np.take(source, numbers, axis=1, mode="clip", out=into)
        return backend.here(out)


class Gathering:
    """One rank's part in a gather.

    State: the result being filled (`out`, its rows `into`); the addresses that are wanted; the
    positions of those that are far (``far``); which rows they want from others, by address
    (``rows``), and where in these each rank's part begins (``spans``). The wanted rows are kept in
    ``kept`` until all are there, and ``numbers`` has for each far position that of its row; where
    they would be too many, both are None, and rows are placed as they come, as ``want`` says.
    """

    def __init__(self, source: Source, rank: int, result: Any, values: Any) -> None:
        self.backend, *bricks = values[0], *map(values[0].host, values[1:])
        self.source = source
        self.start, self.stop = source.rows.owned(rank)
        self.near = as_rows(bricks.pop(0), source.row_bytes) if source.here else None
        self.indices = bricks
        self.out: Any = None
        self.into: Any = None
        self.form: tuple[tuple[int, ...], np.dtype] | None = None
        self.addresses = np.empty(0, np.int64)
        if result is not None:
            part, *form = result
            self.form = tuple(form)
            self.addresses = self.addresses_of(part)
        self.far = far_from(self.addresses, (self.start, self.stop))
        self._name()
        self.spans = np.searchsorted(self.rows, source.rows.starts)

    def _name(self) -> None:
        """Find the rows that are wanted from others, each once, and see whether they fit."""
        asked, size = self.addresses[self.far], self.source.row_bytes
        self.kept: Any = None
        self.want: Any = None
        self.rows: Any
        self.numbers: Any
        self.rows, self.numbers = numbered(asked) or (None, None)
        if self.rows is None or len(self.rows) * size > Company.buffer:
            most = int(self.source.rows.starts[-1])
            self.want = wanted_of(entries_of(asked, None, len(asked), most))
            self.rows, self.numbers = self.want.rows, None
        if len(self.rows) * size <= Company.buffer:
            room = host_empty(self.backend, ((len(self.rows) + 1) * size,), np.dtype(np.uint8))
            self.kept = room_beside(self.near, room, size)

    def result(self) -> Any:
        """The result's brick, or None."""
        return None if self.out is None else self.backend.here(self.out)

    def addresses_of(self, part: Slices) -> Any:
        """Addresses that a part of the index names."""
        flat = tuple(index[part].reshape(-1) for index in self.indices)
        return self.source.rows.addresses(flat)

    def counts(self) -> np.ndarray:
        """Number of rows that are wanted from each rank."""
        return np.diff(self.spans)

    def begin(self) -> None:
        """Make the result and fill it with the own rows, if not together with those kept."""
        if self.form is not None:
            self.out = host_empty(self.backend, *self.form)
            self.into = as_rows(self.out, self.source.row_bytes)
        if self.kept is None:
            for a, b in tiles(0, len(self.addresses)):
                self._take_near(a, b)

    def finish(self) -> None:
        """Fill the result with the own rows and those kept."""
        if self.kept is None:
            return
        numbers = self.want.numbers() if self.numbers is None else self.numbers
        edges = [*range(0, len(self.addresses), TILE), len(self.addresses)]
        bounds = np.searchsorted(self.far, edges).tolist()
        both = None
        if self.near is not None and len(self.addresses) < RARE * len(self.far):
            both = spanning(self.near, self.kept, self.into)
        for (a, b), (first, last) in zip(pairwise(edges), pairwise(bounds), strict=True):
            positions, rows = self.far[first:last] - a, numbers[first:last]
            if both is not None:
                which = self.addresses[a:b] - (self.start - both.near)
                which[positions] = np.add(rows, both.kept, dtype=np.int64)
                both.take(which, self.into[a:b])
                continue
            self._take_near(a, b)
            if first < last:
                self.into[a:b][positions] = np.take(self.kept, rows, mode="clip")

    def _take_near(self, first: int, last: int) -> None:
        """Copy own rows; where others belong, some own row."""
        if self.near is not None:
            take(self.near, self.addresses[first:last] - self.start, self.into[first:last])

    def reply(self, peer: int, rows: Any, most: int) -> list[Out]:
        """Pieces with the own rows of these numbers."""
        return [self._reply(peer, rows[a:b]) for a, b in tiles(0, len(rows), most)]

    def _reply(self, peer: int, rows: Any) -> Out:
        def pack(buffer: Any) -> Any:
            if buffer is not None:
                take(self.near, rows, as_rows(buffer, self.source.row_bytes))
            return buffer

        return Out(peer, len(rows) * self.source.row_bytes, pack)

    def answers(self, peer: int, first: int, last: int, most: int) -> list[In]:
        """Pieces with the wanted rows ``[first, last)``, which a rank owns."""
        return [self._answer(peer, a, b) for a, b in tiles(first, last, most)]

    def _answer(self, peer: int, first: int, last: int) -> In:
        if self.kept is not None:
            return receive(peer, self.kept[first:last])

        def drain(buffer: Any) -> None:
            numbers, rows = self.want.asking(first, last)
            self.into[self.far[numbers]] = as_rows(buffer, self.source.row_bytes)[rows - first]

        return In(peer, (last - first) * self.source.row_bytes, lambda: None, drain)


@dataclass(frozen=True, slots=True)
class AskForRows:
    """Gather by a distributed index: requests, then replies.

    Parameters
    ----------
    source
        The rows.
    result
        Part of this rank's index brick (all of it), shape and dtype of the result's brick; None
        where there is none.

    Notes
    -----
    The inputs are the backend, this rank's brick of the source and its bricks of the index, where
    it has them. What an owner is asked for in one round is bounded, so a crowd that asks one rank
    for everything takes more rounds and no more memory.
    """

    source: Source
    result: tuple[Slices, tuple[int, ...], np.dtype] | None
    where: str

    def __call__(self, world: World, values: Any) -> tuple[Any, ...]:
        """Give the result's brick, or None."""
        company = Company(world, values, self.where)
        job = company.work(Gathering, self.source, world.rank, self.result, values)
        heard = company.counts(job.counts() if job else None)
        assert job is not None
        rounds = company.most(-(-int(heard.sum()) * 8 // Company.buffer))
        company.work(job.begin)
        for k in range(rounds):
            self._round(company, job, heard, (k, rounds))
        company.work(job.finish)
        company.end()
        return (job.result(),)

    def _round(
        self, company: Company, job: Gathering, heard: np.ndarray, part: tuple[int, int]
    ) -> None:
        most = company.rows_of_piece(8)
        mine = [(p, *_share(a, b, part)) for p, a, b in _runs(job.spans)]
        asked = company.work(_requested, heard, part)
        asking = company.work(_requests, job, mine, asked, most)
        company.shuffle(asking)
        if asked is None:
            company.shuffle(None)
            return
        most = company.rows_of_piece(self.source.row_bytes)
        outs = [out for peer, rows in asked for out in job.reply(peer, rows, most)]
        ins = [piece for p, a, b in mine for piece in job.answers(p, a, b, most)]
        company.shuffle((outs, ins))


def _runs(edges: np.ndarray) -> list[tuple[int, int, int]]:
    """Numbers and spans of the runs between edges that are not empty."""
    found = edges.tolist()
    return [(k, found[k], found[k + 1]) for k in np.flatnonzero(np.diff(edges)).tolist()]


def _share(first: int, last: int, part: tuple[int, int]) -> tuple[int, int]:
    """The k-th of so many near-equal parts of a span."""
    k, count = part
    return first + (last - first) * k // count, first + (last - first) * (k + 1) // count


def _requested(heard: np.ndarray, part: tuple[int, int]) -> list[tuple[int, np.ndarray]]:
    """Room for the row numbers that each rank asks for in a round."""
    spans = [(p, *_share(0, int(heard[p]), part)) for p in np.flatnonzero(heard).tolist()]
    return [(p, np.empty(b - a, np.int64)) for p, a, b in spans]


def _requests(
    job: Gathering,
    mine: list[tuple[int, int, int]],
    asked: list[tuple[int, np.ndarray]],
    most: int,
) -> tuple[list[Out], list[In]]:
    """Pieces with row numbers, as their owners count."""
    starts = job.source.rows.starts
    outs = [
        send(peer, job.rows[c:d] - starts[peer])
        for peer, a, b in mine
        for c, d in tiles(a, b, most)
    ]
    ins = [receive(p, room[a:b]) for p, room in asked for a, b in tiles(0, len(room), most)]
    return outs, ins


@dataclass(frozen=True, slots=True)
class SendKnownRows:
    """Gather by an index that all ranks know: every owner sends what the others lack.

    Parameters
    ----------
    source
        The rows.
    results
        Per rank with a part of the result: which part of the index it takes.
    shape, dtype
        Of this rank's result brick; None where there is none.
    """

    source: Source
    parts: tuple[tuple[int, Slices], ...]
    shape: tuple[int, ...] | None
    dtype: np.dtype
    where: str

    def __call__(self, world: World, values: Any) -> tuple[Any, ...]:
        """Give the result's brick, or None; the inputs are as those of `AskForRows`."""
        company = Company(world, values, self.where)
        job = company.work(self._begin, world.rank, values)
        if job is None:
            company.shuffle(None)
            company.end()
        assert job is not None
        company.work(job.begin)
        company.shuffle(company.work(self._pieces, world.rank, job, company))
        company.work(job.finish)
        company.end()
        return (job.result(),)

    def _begin(self, rank: int, values: Any) -> Gathering:
        mine = dict(self.parts).get(rank)
        result = None if mine is None or self.shape is None else (mine, self.shape, self.dtype)
        return Gathering(self.source, rank, result, values)

    def _pieces(self, rank: int, job: Gathering, company: Company) -> tuple[list[Out], list[In]]:
        most = company.rows_of_piece(self.source.row_bytes)
        named: dict[str, Any] = {}
        outs: list[Out] = []
        for peer, part in self.parts:
            if peer == rank or job.near is None:
                continue
            key = repr(part)
            if key not in named:
                named[key] = _named(job, part)
            outs += job.reply(peer, named[key], most)
        ins = [x for p, a, b in _runs(job.spans) for x in job.answers(p, a, b, most)]
        return outs, ins


def _named(job: Gathering, part: Slices) -> Any:
    """Own rows that a part of the index names, by number."""
    numbers = job.addresses_of(part) - job.start
    numbers = numbers[(numbers >= 0) & (numbers < job.stop - job.start)]
    entries = entries_of(numbers, None, len(numbers), job.stop - job.start)
    return wanted_of(entries).rows


def part_of(box: Box, whole: Box) -> Slices:
    """Slices of the brick at ``whole`` that show a box within it."""
    return tuple(slice(lo - o, hi - o) for (lo, hi), (o, _) in zip(box, whole, strict=True))
