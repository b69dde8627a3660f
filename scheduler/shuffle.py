"""The shuffle stage: every rank has pieces of bytes for other ranks.

The k-th piece of a pair of ranks belongs to round k. A status round (polled) tells whether all
ranks are well, how many rounds there are and how much moves, from which all choose the same
transport:

alltoallv
    pack some rounds into one buffer, ``Alltoallv``, unpack what is not received in its place; the
    buffers are reused, and a polled round before each call shows that all ranks are there and well;
pairwise
    see `scheduler.pairwise`;
pull
    see `scheduler.pull`: for ranks that share a node, and pieces that name their memory.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from scheduler.comm.world import World
from scheduler.errors import PeerFailed
from scheduler.pairwise import pairwise
from scheduler.pieces import In, Out, P, Rounds, go_on, largest_round
from scheduler.pull import SHORTEST_RUN, pull, puller, shortest_run

__all__ = ["TRANSPORTS", "In", "Out", "alltoallv_counts", "choose_transport", "shuffle"]

TRANSPORTS = ("alltoallv", "pairwise", "pull")
_PULL_BYTES = 4 << 20
_ALLTOALLV_BYTES = 1 << 30
_JOINED_BYTES = 16 << 20


def shuffle(
    world: World,
    outgoing: Sequence[Out],
    incoming: Sequence[In],
    *,
    failed: bool,
    where: str,
    transport: str | None = None,
) -> None:
    """Move the pieces; collective.

    Parameters
    ----------
    outgoing, incoming : sequence
        The pieces of each pair in the order of their rounds, the same on both sides. The part
        that stays on this rank is not among them.
    failed : bool
        This rank cannot take part: no data move and all ranks raise `PeerFailed`.
    transport : {"auto", "alltoallv", "pairwise", "pull"}, optional
        ``world.state["shuffle"]`` by default.
    """
    if world.size == 1:
        if failed:
            raise PeerFailed(where)
        return
    start = time.perf_counter()
    world.stages += 1
    sends = _by_round(outgoing)
    receives = _by_round(incoming)
    chosen, rounds, largest = _agree(world, sends, receives, failed, where, transport)
    sends, receives = _padded(sends, rounds), _padded(receives, rounds)
    reads = puller(world) if chosen == "pull" else None
    if chosen == "pull" and reads is None:
        chosen = "pairwise"
    if reads is not None and rounds:
        pull(world, reads, sends, receives, where)
    elif chosen == "pairwise" and rounds:
        pairwise(world, sends, receives, where)
    elif rounds:
        together = max(1, _JOINED_BYTES // max(1, largest))
        _alltoallv(world, _joined(sends, together), _joined(receives, together), where)
    nbytes = sum(piece.nbytes for piece in outgoing)
    for observer in world.observers:
        observer.stage(world.rank, where, start, time.perf_counter(), nbytes, chosen)


def alltoallv_counts(world: World, counts: np.ndarray, where: str = "a shuffle") -> np.ndarray:
    """Return what each rank has for this one, given the int64 counts for each rank."""
    return world.alltoall(np.asarray(counts, np.int64), where)


def choose_transport(
    wish: str, nodes_shared: bool, pair_bytes: int, round_bytes: int, can_pull: bool
) -> str:
    """Return the transport, by numbers that are the same on all ranks.

    Parameters
    ----------
    wish : {"auto", "alltoallv", "pairwise", "pull"}
        The setting.
    pair_bytes : int
        What the busiest pair of ranks moves in all.
    round_bytes : int
        What the busiest rank moves in its largest round; over 1 GiB never by ``Alltoallv``, since
        some MPI libraries limit counts and displacements to 31 bits.
    can_pull : bool
        Whether all pieces name their memory, in runs that are worth it.
    """
    if wish not in ("auto", *TRANSPORTS):
        raise ValueError(f"the shuffle must be auto, alltoallv, pairwise or pull, not {wish!r}")
    if wish == "auto":
        wish = "pull" if nodes_shared and pair_bytes >= _PULL_BYTES else "alltoallv"
    if wish == "alltoallv" and round_bytes <= _ALLTOALLV_BYTES:
        return wish
    return "pull" if wish == "pull" and can_pull and nodes_shared else "pairwise"


def _by_round(pieces: Iterable[P]) -> list[list[P]]:
    """Return the pieces that have some bytes, by round."""
    rounds: list[list[P]] = []
    seen: Counter[int] = Counter()
    for piece in pieces:
        number = seen[piece.peer]
        seen[piece.peer] += 1
        if number == len(rounds):
            rounds.append([])
        if piece.nbytes:
            rounds[number].append(piece)
    return rounds


def _padded(rounds: list[list[P]], count: int) -> list[list[P]]:
    return rounds + [[] for _ in range(count - len(rounds))]


def _can_be_pulled(piece: Out) -> bool:
    return shortest_run(piece.source) >= min(SHORTEST_RUN, max(piece.nbytes, 1))


def _can_be_put(piece: In) -> bool:
    return shortest_run(piece.target) >= min(SHORTEST_RUN, max(piece.nbytes, 1))


def _joined(rounds: list[list[P]], together: int) -> list[list[P]]:
    """Return rounds that are as many of the given ones as go together."""
    return [
        [piece for pieces in rounds[first : first + together] for piece in pieces]
        for first in range(0, len(rounds), together)
    ]


def _agree(
    world: World,
    sends: Rounds[Out],
    receives: Rounds[In],
    failed: bool,
    where: str,
    transport: str | None,
) -> tuple[str, int, int]:
    """Return the transport, the number and the most bytes of rounds, or raise if a rank failed."""
    pairs: Counter[int] = Counter()
    for piece in (piece for pieces in sends for piece in pieces):
        pairs[piece.peer] += piece.nbytes
    numbers = (
        failed,
        max(len(sends), len(receives)),
        max(pairs.values(), default=0),
        max(largest_round(sends), largest_round(receives)),
        not all(_can_be_pulled(piece) for pieces in sends for piece in pieces),
        not all(_can_be_put(piece) for pieces in receives for piece in pieces),
    )
    agreed = world.allreduce(np.array(numbers, np.int64), "max", where)
    if agreed[0]:
        raise PeerFailed(f"a rank failed before {where}")
    wish = transport or world.state.get("shuffle", "auto")
    pair_bytes, round_bytes, *cannot = map(int, agreed[2:])
    chosen = choose_transport(wish, world.nodes_shared, pair_bytes, round_bytes, not any(cannot))
    return chosen, int(agreed[1]), int(agreed[3])


def _alltoallv(world: World, sends: Rounds[Out], receives: Rounds[In], where: str) -> None:
    error: Exception | None = None
    send = recv = np.empty(0, np.uint8)
    rooms = [_room(incoming, world.size) for incoming in receives]
    through = [incoming for incoming, room in zip(receives, rooms, strict=True) if room is None]
    try:
        send = np.empty(largest_round(sends), np.uint8)
        recv = np.empty(largest_round(through), np.uint8)
    except MemoryError as caught:
        error = caught
    for outgoing, incoming, room in zip(sends, receives, rooms, strict=True):
        if error is None:
            error = _attempt(_fill, send, outgoing)
        go_on(world, error, where)
        counts = _counts(world, incoming)
        into, starts = room or (recv, _starts(counts))
        world.alltoallv(send, _counts(world, outgoing), into, starts, counts)
        if room is None:
            error = _attempt(_empty, recv, incoming)
    if error is not None:
        raise error


_FARTHEST = np.iinfo(np.int32).max
"""Bytes from the first place of a round to the end of the last, at most: MPI has ints for them."""


def _room(pieces: Sequence[In], size: int) -> tuple[np.ndarray, list[int]] | None:
    """Return memory in which the pieces may be received where they are to be, or None.

    A peer's pieces have to lie one behind the other. With the memory, which may hold other things
    too, goes where in it each peer's part begins.
    """
    first: dict[int, int] = {}
    ends: dict[int, int] = {}
    places: dict[int, np.ndarray] = {}
    for piece in pieces:
        place = piece.place()
        if place is None:
            return None
        at = place.ctypes.data
        if ends.get(piece.peer, at) != at:
            return None
        first.setdefault(piece.peer, at)
        ends[piece.peer] = at + piece.nbytes
        places[at] = place
    if not places:
        return None
    start, stop = min(places), max(ends.values())
    if stop - start > _FARTHEST:
        return None
    room = as_strided(places[start], (stop - start,), (1,))
    return room, [first.get(peer, start) - start for peer in range(size)]


def _starts(counts: Sequence[int]) -> list[int]:
    return [0, *accumulate(counts)][:-1]


def _attempt(function: Callable[..., None], *args: Any) -> Exception | None:
    try:
        function(*args)
    except Exception as error:
        return error
    return None


def _counts(world: World, pieces: Iterable[Out] | Iterable[In]) -> list[int]:
    counts = [0] * world.size
    for piece in pieces:
        counts[piece.peer] += piece.nbytes
    return counts


def _slices(buffer: np.ndarray, pieces: Iterable[P]) -> Iterator[tuple[P, np.ndarray]]:
    """Yield the pieces in rank order, a peer's in theirs, each with its part of the buffer."""
    start = 0
    for piece in sorted(pieces, key=lambda piece: piece.peer):
        yield piece, buffer[start : start + piece.nbytes]
        start += piece.nbytes


def _fill(send: np.ndarray, pieces: Iterable[Out]) -> None:
    for piece, part in _slices(send, pieces):
        piece.pack(part)


def _empty(recv: np.ndarray, pieces: Iterable[In]) -> None:
    for piece, part in _slices(recv, pieces):
        place = piece.place()
        if place is None:
            piece.drain(part)
        else:
            place[...] = part
