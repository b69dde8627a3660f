"""The collectives of one stage: after an error on a rank the others still meet it everywhere."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from scheduler import World
from scheduler.errors import Failure, PeerFailed
from scheduler.shuffle import In, Out, shuffle

T = TypeVar("T")


class Company:
    """One rank's part in the collectives of a stage.

    A rank that has failed enters what is left with status "failed", so that all go the same way.

    State: the world, what it is doing, and the first error here.
    """

    buffer: ClassVar[int] = 64 << 20
    """Bytes that a rank keeps of what others send it in one round of a stage."""

    piece: ClassVar[int] = 1 << 20
    """Bytes of the largest piece of a message."""

    def __init__(self, world: World, values: Any, where: str) -> None:
        self.world, self.where = world, where
        self.error: Exception | None = PeerFailed(where) if isinstance(values, Failure) else None

    def work(self, act: Callable[..., T], *args: Any) -> T | None:
        """Give what a call gives, or None once anything has failed here."""
        if self.error is None:
            try:
                return act(*args)
            except Exception as error:
                self.error = error
        return None

    def counts(self, counts: np.ndarray | None) -> np.ndarray:
        """Numbers that the ranks have for this one, given one for each rank; raises on all."""
        if self.error is not None or counts is None:
            counts = np.full(self.world.size, -1, np.int64)
        heard = self.world.alltoall(counts, self.where)
        self.end()
        if heard.min() < 0:
            raise PeerFailed(f"rank {int(heard.argmin())} has failed before {self.where}")
        return heard

    def most(self, number: int) -> int:
        """Largest of the ranks' numbers."""
        return int(self.world.allreduce(np.array([number], np.int64), "max", self.where)[0])

    def shuffle(self, pieces: tuple[Sequence[Out], Sequence[In]] | None) -> None:
        """Move pieces; all-to-all-v unless a setting says otherwise."""
        outgoing, incoming = ((), ()) if pieces is None else pieces
        wish = self.world.state.get("shuffle", "auto")
        try:
            shuffle(
                self.world,
                outgoing,
                incoming,
                failed=self.error is not None,
                where=self.where,
                transport="alltoallv" if wish == "auto" else None,
            )
        except Exception as error:
            self.error = self.error or error

    def end(self) -> None:
        """Raise what failed here."""
        if self.error is not None:
            raise self.error

    def rows_of_piece(self, row_bytes: int) -> int:
        """Rows of the largest piece."""
        return max(1, min(self.piece, self.buffer // self.world.size) // max(1, row_bytes))


def send(peer: int, data: np.ndarray) -> Out:
    """Piece that lies contiguous in memory."""
    flat = data.view(np.uint8)

    def pack(buffer: Any) -> Any:
        if buffer is None:
            return flat
        buffer[...] = flat
        return buffer

    return Out(peer, flat.nbytes, pack)


def receive(peer: int, place: np.ndarray) -> In:
    """Piece that is received where it is to be."""
    flat = place.view(np.uint8)
    return In(peer, flat.nbytes, lambda: flat, lambda buffer: None)
