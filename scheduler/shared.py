"""The shared transport of a shuffle stage: pieces go through memory that all ranks of a node see.

Each rank has a few slots. The sender packs a piece into a free slot of its own and sends the slot's
number; the receiver copies the piece from there to its place and sends the number back. A piece is
copied twice, and the slot is in the cache at the second copy: about a third faster than a message
through the kernel, which copies once but page by page.

An error is kept until all pieces are through; a piece that cannot be packed is announced by the
number -1 and raises `PeerFailed` at its target.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scheduler.comm.world import RESERVED_TAGS, Request, Slots, World
from scheduler.errors import PeerFailed
from scheduler.pieces import In, Out, Rounds, first_error

__all__ = ["shared"]

_AHEAD = 8
_FAILED = -1


def shared(
    world: World, slots: Slots, sends: Rounds[Out], receives: Rounds[In], where: str
) -> None:
    """Move the pieces of all rounds, none larger than a slot; collective."""
    world.counters["shared"] += 1
    exchange = _Exchange(world, slots, where)
    exchange.run(
        [piece for pieces in sends for piece in _next_ranks_first(world, pieces)],
        [piece for pieces in receives for piece in pieces],
    )
    if exchange.error is not None:
        raise exchange.error


def _next_ranks_first(world: World, pieces: Sequence[Out]) -> list[Out]:
    return sorted(pieces, key=lambda piece: (piece.peer - world.rank) % world.size)


@dataclass(slots=True)
class _Note:
    """A slot's number on its way: from the sender of a piece, or back to it."""

    request: Request
    number: np.ndarray
    piece: In | None = None


class _Exchange:
    """The pieces of a stage on one rank.

    State: pieces to send, free slots, notes that announce pieces, notes that give slots back, own
    notes under way, the first error.
    """

    def __init__(self, world: World, slots: Slots, where: str) -> None:
        self.error: Exception | None = None
        self._world, self._slots, self._where = world, slots, where
        self._free = list(range(slots.count))
        self._announced: deque[_Note] = deque()
        self._returned: list[_Note] = []
        self._under_way: list[_Note] = []
        stage = world.stages % (RESERVED_TAGS // 2)
        self._tag = world.tag_limit + 2 * stage
        self._back = self._tag + 1

    def run(self, outgoing: Sequence[Out], incoming: Sequence[In]) -> None:
        """Send and take in all pieces."""
        to_send, to_receive = deque(outgoing), deque(incoming)
        while to_send or to_receive or self._announced or self._returned or self._under_way:
            busy = False
            while to_receive and len(self._announced) < _AHEAD * self._world.size:
                piece = to_receive.popleft()
                self._announced.append(self._listen(piece.peer, self._tag, piece))
            if to_send and self._free:
                self._send(to_send.popleft())
                busy = True
            busy |= self._take_in() | self._take_back()
            self._under_way = [note for note in self._under_way if not note.request.test()]
            if not busy:
                self._world.idle(self._where)

    def _listen(self, peer: int, tag: int, piece: In | None = None) -> _Note:
        number = np.zeros(1, np.int64)
        return _Note(self._world.irecv(number, peer, tag), number, piece)

    def _tell(self, peer: int, tag: int, slot: int) -> None:
        number = np.array([slot], np.int64)
        self._under_way.append(_Note(self._world.isend(number, peer, tag), number))

    def _send(self, piece: Out) -> None:
        slot = self._free.pop()
        try:
            piece.pack(self._slots.of(self._world.rank, slot)[: piece.nbytes])
            self._slots.publish()
        except Exception as error:
            self.error = first_error(self.error, error)
            self._free.append(slot)
            self._tell(piece.peer, self._tag, _FAILED)
            return
        self._tell(piece.peer, self._tag, slot)
        self._returned.append(self._listen(piece.peer, self._back))
        self._world.counters["shared_bytes"] += piece.nbytes

    def _take_in(self) -> bool:
        """Copy pieces that are there to their places; a pair's come in order."""
        done = [note for note in self._announced if note.request.test()]
        for note in done:
            self._announced.remove(note)
            piece, slot = note.piece, int(note.number[0])
            assert piece is not None
            try:
                self._copy(piece, slot)
            except Exception as error:
                self.error = first_error(self.error, error)
            if slot != _FAILED:
                self._tell(piece.peer, self._back, slot)
        return bool(done)

    def _copy(self, piece: In, slot: int) -> None:
        if slot == _FAILED:
            raise PeerFailed(f"rank {piece.peer} could not send its part of {self._where}")
        self._slots.publish()
        data = self._slots.of(piece.peer, slot)[: piece.nbytes]
        place = piece.place()
        if place is None:
            piece.drain(data)
        else:
            np.copyto(place, data)

    def _take_back(self) -> bool:
        done = [note for note in self._returned if note.request.test()]
        for note in done:
            self._returned.remove(note)
            self._free.append(int(note.number[0]))
        return bool(done)
