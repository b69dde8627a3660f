"""The pairwise transport of a shuffle stage: messages between pairs of ranks.

The receives of a few rounds are posted ahead; pieces are packed and sent to the ranks ``rank + 1,
rank + 2, ...``, with so few bytes under way that pack buffers are still in the cache when the
other side reads them. Pieces that are contiguous at their source or target are not copied.

Before the first round all ranks make their receive buffers and agree that they have them. An
error after that is raised when all rounds are over; a piece that cannot be packed arrives as
messages without data and raises `PeerFailed` at its target.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from scheduler.comm.world import RESERVED_TAGS, Request, World
from scheduler.errors import PeerFailed
from scheduler.pieces import In, Out, Rounds, first_error, go_on
from scheduler.plan import cuts

__all__ = ["pairwise"]

_WINDOW = 4 << 20
_AHEAD = 3
_ALIGNMENT = 64


def pairwise(world: World, sends: Rounds[Out], receives: Rounds[In], where: str) -> None:
    """Move the pieces of all rounds; collective."""
    world.counters["pairwise"] += 1
    error: Exception | None = None
    places: list[list[np.ndarray | None]] = []
    spares: list[np.ndarray] = []
    try:
        places = [[piece.place() for piece in pieces] for pieces in receives]
        room = _spare_bytes(receives, places)
        spares = [np.empty(room, np.uint8) for _ in range(_AHEAD if room else 1)]
    except Exception as caught:
        error = caught
    go_on(world, error, where)
    exchange = _Exchange(world, where)
    begun = 0
    for outgoing, incoming, targets in zip(sends, receives, places, strict=True):
        exchange.progress(begun - len(spares) + 1)
        exchange.post(incoming, targets, spares[begun % len(spares)], begun)
        exchange.send(outgoing)
        begun += 1
    exchange.progress(begun)
    exchange.complete_sends()
    if exchange.error is not None:
        raise exchange.error


def _spare_bytes(receives: Rounds[In], places: Sequence[Sequence[np.ndarray | None]]) -> int:
    """Return the bytes of the largest round of pieces that have no place of their own."""
    return max(
        sum(
            _aligned(piece.nbytes)
            for piece, place in zip(pieces, targets, strict=True)
            if place is None
        )
        for pieces, targets in zip(receives, places, strict=True)
    )


@dataclass(slots=True)
class _Receiving:
    piece: In
    target: np.ndarray
    placed: bool
    requests: list[Request]
    start: float
    round: int


@dataclass(slots=True)
class _Sending:
    piece: Out
    buffer: np.ndarray | None
    requests: list[Request]
    start: float


class _Exchange:
    """The messages of a stage on one rank.

    State: pieces that arrive (`_receiving`), wait to be packed (`_queue`) or are under way
    (`_sending`, of `_under_way` bytes), pack buffers to use again (`_free`), the first `error`.
    """

    def __init__(self, world: World, where: str) -> None:
        self.error: Exception | None = None
        self._world = world
        self._where = where
        self._tag = world.tag_limit + world.stages % RESERVED_TAGS
        self._receiving: list[_Receiving] = []
        self._queue: deque[Out] = deque()
        self._sending: list[_Sending] = []
        self._under_way = 0
        self._free: list[np.ndarray] = []

    def post(
        self,
        pieces: Sequence[In],
        places: Sequence[np.ndarray | None],
        spare: np.ndarray,
        number: int,
    ) -> None:
        """Post the receives of a round; pieces without a place go to `spare`."""
        start = 0
        for piece, place in zip(pieces, places, strict=True):
            target = place
            if target is None:
                target = spare[start : start + piece.nbytes]
                start += _aligned(piece.nbytes)
            requests = [
                self._world.irecv(target[begin:end], piece.peer, self._tag)
                for begin, end in cuts(piece.nbytes)
            ]
            self._receiving.append(
                _Receiving(piece, target, place is not None, requests, time.perf_counter(), number)
            )

    def send(self, pieces: Sequence[Out]) -> None:
        """Queue the pieces of a round for sending, the next ranks first."""
        rank, size = self._world.rank, self._world.size
        self._queue.extend(sorted(pieces, key=lambda piece: (piece.peer - rank) % size))

    def progress(self, rounds: int) -> None:
        """Return when the receives of the first `rounds` rounds are done."""
        while any(receiving.round < rounds for receiving in self._receiving):
            if not (self._advance_sends() | self._advance_receives()):
                self._world.idle(self._where)

    def complete_sends(self) -> None:
        """Return when all that is queued has been sent."""
        while self._queue or self._sending:
            if not self._advance_sends():
                self._world.idle(self._where)

    def _advance_sends(self) -> bool:
        """Finish sends, pack and send one more piece; return whether anything was done."""
        done = [sending for sending in self._sending if _all_done(sending.requests)]
        for sending in done:
            self._sending.remove(sending)
            self._under_way -= sending.piece.nbytes
            if sending.buffer is not None:
                self._free.append(sending.buffer)
            self._tell("send", sending.piece.peer, sending.piece.nbytes, sending.start)
        room = self._queue and (
            not self._sending or self._under_way + self._queue[0].nbytes <= _WINDOW
        )
        if room:
            self._send_piece(self._queue.popleft())
        return bool(done or room)

    def _send_piece(self, piece: Out) -> None:
        start = time.perf_counter()
        data = buffer = None
        try:
            data = piece.pack(None)
            if data is None:
                buffer = self._take(piece.nbytes)
                data = piece.pack(buffer[: piece.nbytes])
        except Exception as error:
            self._note(error)
        requests = [
            self._world.isend(
                b"" if data is None else data[begin:end],
                piece.peer,
                self._tag,
                owned=buffer is not None,
            )
            for begin, end in cuts(piece.nbytes)
        ]
        self._sending.append(_Sending(piece, buffer, requests, start))
        self._under_way += piece.nbytes

    def _take(self, nbytes: int) -> np.ndarray:
        for place, buffer in enumerate(self._free):
            if buffer.nbytes >= nbytes:
                return self._free.pop(place)
        return np.empty(nbytes, np.uint8)

    def _advance_receives(self) -> bool:
        done = [receiving for receiving in self._receiving if _all_done(receiving.requests)]
        for receiving in done:
            self._receiving.remove(receiving)
            try:
                self._take_in(receiving)
            except Exception as error:
                self._note(error)
        return bool(done)

    def _take_in(self, receiving: _Receiving) -> None:
        piece = receiving.piece
        nbytes = sum(request.nbytes for request in receiving.requests)
        self._tell("recv", piece.peer, nbytes, receiving.start)
        if not nbytes:
            raise PeerFailed(f"rank {piece.peer} could not send its part of {self._where}")
        if nbytes != piece.nbytes:
            raise ValueError(f"{nbytes} bytes came from rank {piece.peer}, not {piece.nbytes}")
        if not receiving.placed:
            piece.drain(receiving.target)

    def _note(self, error: Exception) -> None:
        self.error = first_error(self.error, error)

    def _tell(self, kind: Literal["send", "recv"], peer: int, nbytes: int, start: float) -> None:
        for observer in self._world.observers:
            observer.message(kind, self._world.rank, peer, nbytes, start, time.perf_counter())


def _aligned(nbytes: int) -> int:
    return -(-nbytes // _ALIGNMENT) * _ALIGNMENT


def _all_done(requests: list[Request]) -> bool:
    """Return whether all are complete."""
    return all(request.test() for request in requests)
