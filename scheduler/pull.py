"""The pull transport of a shuffle stage: ranks of one node read each other's memory.

The sender tells where a piece lies (address and strides); the receiver has the kernel copy it from
there to its place, however both are strided (``process_vm_readv``, Linux). So a piece is copied
once and packed nowhere. A closing agreement keeps the source in place until all have read.

State of a `Puller`: the process of each rank.
"""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Sequence

import numpy as np

from scheduler.comm.world import RESERVED_TAGS, Request, World
from scheduler.pieces import In, Out, Rounds, go_on

__all__ = ["SHORTEST_RUN", "Puller", "pull", "puller", "shortest_run"]

SHORTEST_RUN = 1 << 10
"""Bytes of a contiguous run below which packing is faster."""

_MOST_RUNS = 1024  # IOV_MAX


class Puller:
    """Reads other ranks' memory."""

    def __init__(self, processes: Sequence[int]) -> None:
        self._processes = processes
        self._read = ctypes.CDLL(None, use_errno=True).process_vm_readv
        self._read.restype = ctypes.c_ssize_t

    def copy(self, rank: int, address: int, strides: Sequence[int], target: np.ndarray) -> None:
        """Fill `target` from an array of its shape and dtype in another rank's memory.

        Raises
        ------
        OSError
            When the kernel refuses.
        """
        here = _runs(target.ctypes.data, target.shape, target.strides, target.itemsize)
        there = _runs(address, target.shape, strides, target.itemsize)
        length = min(here[1], there[1])
        local, remote = (_vectors(*runs, length) for runs in (here, there))
        for first in range(0, len(local), _MOST_RUNS):
            mine, other = (v[first : first + _MOST_RUNS] for v in (local, remote))
            self._copy(self._processes[rank], mine, other)

    def _copy(self, process: int, local: np.ndarray, remote: np.ndarray) -> None:
        count = ctypes.c_ulong(len(local))
        done = self._read(
            ctypes.c_int(process),
            ctypes.c_void_p(local.ctypes.data),
            count,
            ctypes.c_void_p(remote.ctypes.data),
            count,
            ctypes.c_ulong(0),
        )
        if done != int(local[:, 1].sum()):
            number = ctypes.get_errno()
            raise OSError(number, f"process_vm_readv: {os.strerror(number)}")


def _runs(
    address: int, shape: Sequence[int], strides: Sequence[int], itemsize: int
) -> tuple[np.ndarray, int]:
    """Return the addresses of an array's contiguous runs in C order, and their length in bytes."""
    length, inner = itemsize, len(shape)
    while inner and (strides[inner - 1] == length or shape[inner - 1] == 1):
        inner -= 1
        length *= shape[inner]
    starts = np.array([address], np.int64)
    for n, stride in zip(shape[:inner], strides[:inner], strict=True):
        starts = np.add.outer(starts, np.arange(n, dtype=np.int64) * stride).reshape(-1)
    return starts, length


def _vectors(starts: np.ndarray, length: int, wanted: int) -> np.ndarray:
    """Return (address, bytes) of the runs, cut to `wanted` bytes, which divide their length."""
    bases = np.add.outer(starts, np.arange(0, length, wanted, dtype=np.int64)).reshape(-1)
    return np.stack([bases, np.full(len(bases), wanted, np.int64)], axis=1)


def shortest_run(array: np.ndarray | None) -> int:
    """Return the bytes of an array's contiguous runs; 0 for None."""
    return 0 if array is None else _runs(0, array.shape, array.strides, array.itemsize)[1]


def puller(world: World) -> Puller | None:
    """Return what reads the other ranks' memory, or None if nothing can; collective at first."""
    if "puller" not in world.state:
        world.state["puller"] = _probed(world) if world.nodes_shared else None
    return world.state["puller"]


def _probed(world: World) -> Puller | None:
    where = "trying to read the neighbour's memory"
    secret = np.array([0x5EC2E7 + world.rank], np.int64)
    known = world.allgather((os.getpid(), secret.ctypes.data), where)
    peer, found = (world.rank + 1) % world.size, np.zeros(1, np.int64)
    try:
        made: Puller | None = Puller([process for process, _ in known])
        assert made is not None
        made.copy(peer, known[peer][1], found.strides, found)
    except (OSError, AttributeError):
        made = None
    good = np.array([found[0] == 0x5EC2E7 + peer], np.int64)
    return made if world.allreduce(good, "min", where)[0] else None


def pull(world: World, reads: Puller, sends: Rounds[Out], receives: Rounds[In], where: str) -> None:
    """Move the pieces of all rounds, each of which names its arrays; collective."""
    world.counters["pull"] += 1
    tag = world.tag_limit + world.stages % RESERVED_TAGS
    told: list[tuple[Request, np.ndarray]] = []
    heard: list[tuple[Request, np.ndarray, In]] = []
    for piece in (p for pieces in receives for p in pieces):
        assert piece.target is not None
        note = np.zeros(1 + piece.target.ndim, np.int64)
        heard.append((world.irecv(note, piece.peer, tag), note, piece))
    for out in (p for pieces in sends for p in pieces):
        assert out.source is not None
        note = np.array([out.source.ctypes.data, *out.source.strides], np.int64)
        told.append((world.isend(note, out.peer, tag), note))
    error: Exception | None = None
    for request, note, piece in heard:
        world.wait(request.test, where)
        if error is None:
            try:
                _take(world, reads, piece, note)
            except OSError as refused:
                error = refused
    world.wait(lambda: all(request.test() for request, _ in told), where)
    go_on(world, error, where)


def _take(world: World, reads: Puller, piece: In, note: np.ndarray) -> None:
    assert piece.target is not None
    reads.copy(piece.peer, int(note[0]), [int(s) for s in note[1:]], piece.target)
    world.counters["pull_bytes"] += math.prod(piece.target.shape) * piece.target.itemsize
