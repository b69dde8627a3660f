"""The pieces of a shuffle stage and what both of its transports need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from scheduler.comm.world import World
from scheduler.errors import PeerFailed

__all__ = ["In", "Out", "P", "Rounds", "first_error", "go_on", "largest_round"]


@dataclass(frozen=True, slots=True)
class Out:
    """A piece that this rank sends.

    Parameters
    ----------
    peer : int
        Its target, another rank.
    nbytes : int
        Its length; a piece of no bytes counts as a round but is not sent.
    pack : callable
        ``pack(buffer)`` fills `buffer` (uint8, `nbytes`) and returns it. ``pack(None)`` may return
        a contiguous array that holds the data, or None if it wants a buffer.
    source : numpy.ndarray, optional
        The piece where it lies in memory, however strided.
    """

    peer: int
    nbytes: int
    pack: Callable[[np.ndarray | None], np.ndarray | None]
    source: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class In:
    """A piece that this rank receives.

    Parameters
    ----------
    peer : int
        Its source, another rank.
    nbytes : int
        Its length, as the source has it.
    place : callable
        Returns the final place as a writable contiguous uint8 array, or None if there is none.
    drain : callable
        ``drain(buffer)`` takes the bytes out of `buffer` when there is no place.
    target : numpy.ndarray, optional
        The final place, of the shape and dtype that the source has, however strided.
    """

    peer: int
    nbytes: int
    place: Callable[[], np.ndarray | None]
    drain: Callable[[np.ndarray], None]
    target: np.ndarray | None = None


P = TypeVar("P", Out, In)
Rounds = Sequence[Sequence[P]]
"""The pieces of each round; those of one peer in their order."""


def largest_round(rounds: Rounds[Out] | Rounds[In]) -> int:
    """Return the bytes of the largest round."""
    return max((sum(piece.nbytes for piece in pieces) for pieces in rounds), default=0)


def first_error(kept: Exception | None, error: Exception) -> Exception:
    """Return which of two errors to raise: the first, but an own one before that of a peer."""
    if kept is None or (isinstance(kept, PeerFailed) and not isinstance(error, PeerFailed)):
        return error
    return kept


def go_on(world: World, error: Exception | None, where: str) -> None:
    """Return on all ranks if all are well, or raise on all; collective and polled."""
    failed = world.allreduce(np.array([error is not None], np.int64), "max", where)
    if error is not None:
        raise error
    if failed[0]:
        raise PeerFailed(f"a rank failed in {where}")
