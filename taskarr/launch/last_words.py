"""What ranks that end in trouble tell each other, so that one of them speaks for all.

Every such rank sends a word of 16 bytes to rank 0. If rank 0 is in trouble itself, it waits a
moment for the others' words and answers each whether the rank is the lowest with its word, and
whether all ranks are ending. A rank that gets no answer speaks, and must end the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scheduler.comm.world import World

__all__ = ["Verdict", "exchange"]

_PATIENCE = 1.0
"""Seconds that rank 0 waits for the others' words."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a rank may do.

    Parameters
    ----------
    speaks : bool
        No lower rank has the same to say.
    all_end : bool
        Every rank is ending by itself, so that none must be killed.
    alike : bool
        All ranks have the same to say.
    """

    speaks: bool
    all_end: bool
    alike: bool = False


def exchange(world: World, word: bytes, patience: float = _PATIENCE) -> Verdict:
    """Return what this rank may do, given its `word` of a fixed length."""
    if world.size == 1:
        return Verdict(True, True, True)
    if world.rank == 0:
        return _preside(world, word, patience)
    return _ask(world, word, 2 * patience)


def _tag(world: World) -> int:
    from scheduler.comm.world import RESERVED_TAGS

    return world.tag_limit + RESERVED_TAGS


def _preside(world: World, word: bytes, patience: float) -> Verdict:
    tag = _tag(world)
    words = {rank: bytearray(len(word)) for rank in range(1, world.size)}
    requests = {rank: world.irecv(words[rank], rank, tag) for rank in words}
    _poll(world, lambda: all(x.test() for x in requests.values()), patience)
    heard = {0: word} | {rank: bytes(words[rank]) for rank in words if requests[rank].test()}
    verdicts = _judge(heard, world.size)
    answers = [
        world.isend(bytes([v.speaks, v.all_end, v.alike]), rank, tag)
        for rank, v in verdicts.items()
        if rank != 0
    ]
    _poll(world, lambda: all(x.test() for x in answers), patience)
    return verdicts[0]


def _judge(heard: dict[int, bytes], size: int) -> dict[int, Verdict]:
    all_end = len(heard) == size
    alike = all_end and len(set(heard.values())) == 1
    lowest: dict[bytes, int] = {}
    for rank in sorted(heard):
        lowest.setdefault(heard[rank], rank)
    return {rank: Verdict(lowest[word] == rank, all_end, alike) for rank, word in heard.items()}


def _ask(world: World, word: bytes, patience: float) -> Verdict:
    tag = _tag(world)
    answer = bytearray(3)
    reply = world.irecv(answer, 0, tag)
    sent = world.isend(word, 0, tag)
    if not _poll(world, lambda: reply.test() and sent.test(), patience):
        return Verdict(True, False)
    return Verdict(*(bool(x) for x in answer))


def _poll(world: World, ready: Callable[[], bool], patience: float) -> bool:
    deadline = time.monotonic() + patience
    while not ready():
        if time.monotonic() > deadline:
            return False
        world.idle("the end of the job")
    return True
