"""Array memory: which array module blocks are made with, and the pool that bricks come from.

The only module that will import CuPy.
"""

from dataclasses import dataclass, field
from math import prod
from types import ModuleType
from typing import Any

import numpy as np

PAGE = 4096
POOLED = 1 << 20
"""Bytes from which a brick's memory is kept for the next brick when it is freed."""


class _Slab:
    """Memory of one brick; goes back to its pool when the last view of it is gone."""

    __slots__ = ("__array_interface__", "memory", "pool")

    def __init__(self, memory: np.ndarray, pool: "Pool") -> None:
        self.memory = memory
        self.pool = pool
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        self.pool.give(self.memory)


@dataclass
class Pool:
    """Freed bricks, kept so that a loop does not touch fresh pages at every turn.

    State: free memory by size, its total, and the most that is kept.

    Parameters
    ----------
    limit
        Bytes of free memory that are kept.
    """

    limit: int
    free: dict[int, list[np.ndarray]] = field(default_factory=dict)
    kept: int = 0

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Uninitialised C-contiguous array."""
        nbytes = prod(shape) * dtype.itemsize
        if nbytes < POOLED or dtype.hasobject:
            return np.empty(shape, dtype)
        room = -(-nbytes // PAGE) * PAGE
        spare = self.free.get(room)
        if spare:
            memory = spare.pop()
            self.kept -= room
        else:
            memory = np.empty(room, np.uint8)
        slab = np.asarray(_Slab(memory, self))
        return slab[:nbytes].view(dtype).reshape(shape)

    def give(self, memory: np.ndarray) -> None:
        """Take memory back."""
        if self.kept + memory.nbytes <= self.limit:
            self.free.setdefault(memory.nbytes, []).append(memory)
            self.kept += memory.nbytes

    def clear(self) -> None:
        """Give all free memory to the system."""
        self.free.clear()
        self.kept = 0


@dataclass(frozen=True, slots=True)
class Backend:
    """Array module and memory that a rank computes with."""

    xp: ModuleType
    pool: Pool

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """Uninitialised brick."""
        return self.pool.empty(shape, dtype)


def numpy_backend(limit: int) -> Backend:
    """Backend of this processor; its pool keeps at most ``limit`` free bytes."""
    return Backend(np, Pool(limit))
