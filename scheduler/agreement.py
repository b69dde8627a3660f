"""What the ranks agree on: the same run at its beginning, the same error at its end.

The opening is one OR-reduction of 64 words: the digest of the graph, its complement, the number
of nodes, its complement, and one bit per node. If all digests are equal, the OR of the digests
and that of their complements share no bit. The end of a program takes part in the same
reduction under a digest of its own, so that a rank that ends early is found by those that go on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from scheduler import wire
from scheduler.comm.where import user_line
from scheduler.comm.world import World
from scheduler.errors import PeerFailed, SPMDError

__all__ = ["Description", "Flag", "close_run", "farewell", "open_run"]

Description = str | tuple[str, str, Sequence[str]]
"""What a rank does: a text, or (call, line of the program, one text per node)."""

_WORDS = 60
_MASK = (1 << 64) - 1
_FAREWELL = 0xFA3E_3E11_FA3E_3E11
_OPENING = "the start of a run"
_NONE = (1 << 63) - 1
_SECONDARY = 1 << 62


def open_run(
    world: World, digest: int, bits: int, count: int, describe: Callable[[], Description]
) -> int:
    """Check that all ranks begin the same run and return the OR of their `bits`.

    Parameters
    ----------
    digest : int
        64 bits that are equal on two ranks if and only if they run the same graph.
    bits : int
        A set of nodes as the bits of a number, for instance those that this rank holds.
    count : int
        The number of nodes.
    describe : callable
        Says what this rank runs; called only if the ranks differ.

    Raises
    ------
    SPMDError
        The ranks run different graphs, or one has ended; on every rank.
    """
    world.run_number()
    if world.size == 1:
        return bits
    digest &= _MASK
    words = np.empty(4 + _WORDS, np.uint64)
    words[:4] = (digest, digest ^ _MASK, count, count ^ _MASK)
    words[4:] = _to_words(bits, _WORDS)
    merged = world.allreduce(words, "or", _OPENING)
    if merged[0] & merged[1] or merged[2] & merged[3]:
        raise _difference(world, describe(), ended=False)
    found = _from_words(merged[4:])
    more = -(-count // 64) - _WORDS
    if more > 0:
        rest = world.allreduce(_to_words(bits >> (64 * _WORDS), more), "or", _OPENING)
        found |= _from_words(rest) << (64 * _WORDS)
    return found


@dataclass(slots=True)
class Flag:
    """A bit that rides on the closing agreement: up afterwards where any rank had put it up."""

    up: bool = False


def close_run(
    world: World, step: int, error: BaseException | None, where: str, flag: Flag | None = None
) -> None:
    """Raise on every rank the first error of a run, if there is one.

    The first is that of the lowest `step`, then of the lowest rank; a `PeerFailed` counts only
    if there is nothing else. The rank that raised it gets the same object, the others a copy; all
    get a RuntimeError with its text if it cannot be pickled.

    Parameters
    ----------
    step : int
        Number of the step in which `error` was raised; ignored without one.
    error : BaseException or None
        What this rank raised first.
    flag : Flag, optional
        What else the ranks agree on, by OR; all ranks give one or none does.
    """
    if world.size > 1:
        error = _agreed_error(world, step, error, where, flag or Flag())
    if error is not None:
        raise error


def farewell(world: World) -> None:
    """Take part in the last agreement: call it when the program ends normally on this rank.

    Raises
    ------
    SystemExit
        With code 1, after a report on stderr, if other ranks still begin a run.
    """
    if world.size == 1 or world.gone:
        return
    words = np.zeros(4 + _WORDS, np.uint64)
    words[:4] = (_FAREWELL, _FAREWELL ^ _MASK, 0, _MASK)
    merged = world.allreduce(words, "or", "the end of the program")
    if merged[0] & merged[1]:
        program = os.path.basename(sys.argv[0]) or "the program"
        error = _difference(world, f"{program} finished", ended=True)
        os.write(2, f"[rank {world.rank}/{world.size}] SPMDError: {error}\n".encode())
        raise SystemExit(1)


def _to_words(bits: int, count: int) -> np.ndarray:
    data = (bits & ((1 << (64 * count)) - 1)).to_bytes(8 * count, "little")
    return np.frombuffer(data, "<u8").astype(np.uint64)


def _from_words(words: np.ndarray) -> int:
    return int.from_bytes(words.astype("<u8").tobytes(), "little")


def _difference(world: World, description: Description, *, ended: bool) -> SPMDError:
    """Return the error that says how the ranks differ; collective."""
    if isinstance(description, str):
        description = (description, user_line(), ())
    call, line, nodes = description
    ranks = world.allgather((call, line, ended), _OPENING)
    gone = {rank: how for rank, (how, _, is_end) in enumerate(ranks) if is_end}
    if gone:
        world.gone.update(gone)
        return SPMDError(_missing(ranks))
    place = _first_difference(world, nodes)
    texts = world.allgather(nodes[place] if place < len(nodes) else "nothing", _OPENING)
    said = "; ".join(
        f"rank {rank}: {text} ({call} at {line})"
        for rank, ((call, line, _), text) in enumerate(zip(ranks, texts, strict=True))
    )
    return SPMDError(f"ranks run different graphs, which differ first at node {place}: {said}")


def _first_difference(world: World, nodes: Sequence[str]) -> int:
    """Return the first place at which some rank's nodes differ from rank 0's."""
    reference = world.bcast(list(nodes), 0, _OPENING)
    common = min(len(nodes), len(reference))
    place = next((i for i in range(common) if nodes[i] != reference[i]), common)
    if place == len(nodes) == len(reference):
        place = _NONE
    first = int(world.allreduce(np.array([place], np.int64), "min", _OPENING)[0])
    return 0 if first == _NONE else first


def _missing(ranks: Sequence[tuple[str, str, bool]]) -> str:
    """Say which ranks have ended and where the others wait, those of one call together."""
    ended = [f"rank {rank} has ended ({how})" for rank, (how, _, end) in enumerate(ranks) if end]
    waiting: dict[str, list[str]] = {}
    for rank, (call, line, end) in enumerate(ranks):
        if not end:
            waiting.setdefault(f"in {call} at {line}", []).append(str(rank))
    waits = [
        f"rank {members[0]} waits {place}"
        if len(members) == 1
        else f"ranks {', '.join(members)} wait {place}"
        for place, members in waiting.items()
    ]
    return f"{', '.join(ended)} while {', '.join(waits)}"


def _agreed_error(
    world: World, step: int, error: BaseException | None, where: str, flag: Flag
) -> BaseException | None:
    key = _NONE
    if error is not None:
        key = step * world.size + world.rank
        key += _SECONDARY if isinstance(error, PeerFailed) else 0
    words = world.allreduce(np.array([key, -int(flag.up)], np.int64), "min", where)
    first, flag.up = int(words[0]), bool(words[1])
    if first == _NONE:
        return None
    owner = (first & ~_SECONDARY) % world.size
    if world.rank == owner and error is not None:
        text, data = _pack(error)
        world.bcast((text, data), owner, where)
        if data is not None:
            return error
        other = RuntimeError(text)
        other.__cause__ = error
        return other
    agreed = _unpack(*world.bcast(None, owner, where))
    agreed.add_note(f"raised on rank {owner}")
    return agreed


def _pack(error: BaseException) -> tuple[str, bytes | None]:
    """Return the text of an error and, if it survives that, its pickle."""
    text = f"{type(error).__name__}: {error}"
    try:
        data = wire.dumps(error)
        intact = type(wire.loads(data)) is type(error)
    except Exception:  # whatever a user's class does when it is pickled
        intact = False
    return text, data if intact else None


def _unpack(text: str, data: bytes | None) -> BaseException:
    if data is not None:
        try:
            return wire.loads(data)
        except Exception:  # the text is all that is left of it
            pass
    return RuntimeError(text)
