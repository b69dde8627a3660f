"""Array memory: which array module blocks are made with, and the pool that bricks come from.

A device has a backend of its own, in `taskarr.device`.
"""

from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

import numpy as np

from taskarr.faults import Recorder

CPU = "cpu"
"""Name of the device that is this processor."""

PAGE = 4096
POOLED = 1 << 20
"""Bytes from which a brick's memory is kept for the next brick when it is freed."""

LINE = 64
"""Bytes of a cache line, at which a brick's memory begins: rows of as many lie in one each."""


def _lines(nbytes: int) -> np.ndarray:
    """Uninitialised bytes that begin at a cache line."""
    memory = np.empty(nbytes + LINE, np.uint8)
    first = -memory.ctypes.data % LINE
    return memory[first : first + nbytes]


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

    State: the budget, free memory by size, its total, and the bytes of the bricks in use; bricks
    under `POOLED` bytes are not counted.

    Parameters
    ----------
    budget
        Bytes of bricks above which nothing is kept free; free memory alone takes a quarter.
    """

    budget: int
    free: dict[int, list[np.ndarray]] = field(default_factory=dict)
    kept: int = 0
    live: int = 0

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
            self.shrink(max(0, self.budget - self.live - room))
            memory = _lines(room)
        self.live += room
        slab = np.asarray(_Slab(memory, self))
        return slab[:nbytes].view(dtype).reshape(shape)

    def give(self, memory: np.ndarray) -> None:
        """Take memory back."""
        room = memory.nbytes
        self.live -= room
        if self.kept + room <= min(self.budget // 4, self.budget - self.live):
            self.free.setdefault(room, []).append(memory)
            self.kept += room

    def resize(self, budget: int) -> None:
        """Have another budget from now on."""
        self.budget = budget
        self.shrink(min(budget // 4, max(0, budget - self.live)))

    def shrink(self, most: int) -> None:
        """Give free memory to the system until at most so many bytes are left."""
        while self.kept > most:
            room, spare = next(iter(self.free.items()))
            if spare:
                spare.pop()
                self.kept -= room
            else:
                del self.free[room]


@dataclass(frozen=True, slots=True)
class Backend:
    """Array module and memory that a rank computes with, and who notes floating-point faults.

    Parameters
    ----------
    xp
        Functions of arrays, as NumPy's.
    pool
        Where bricks come from.
    faults
        Notes floating-point faults.
    """

    xp: Any
    pool: Pool
    faults: Recorder = field(default_factory=Recorder)

    whole_blocks: ClassVar[bool] = False
    """Whether a block is one tile, rather than many that fit the processor's cache."""

    @property
    def device(self) -> str:
        """Name of the device."""
        return CPU

    @property
    def live(self) -> int:
        """Bytes in use, as far as they are counted."""
        return self.pool.live

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Any:
        """Uninitialised brick."""
        return self.pool.empty(shape, dtype)

    def own(self, x: Any) -> Any:
        """Brick with the elements of an array."""
        brick = self.empty(x.shape, x.dtype)
        brick[...] = x
        return brick

    def here(self, x: Any) -> Any:
        """Array for kernels, of one in the processor's memory."""
        return x

    def host(self, x: Any) -> Any:
        """Array in the processor's memory, of one that may lie on a device."""
        return x if isinstance(x, np.ndarray | np.generic) else x.get()


def numpy_backend(budget: int) -> Backend:
    """Backend of this processor, with a pool for bricks of ``budget`` bytes."""
    return Backend(np, Pool(budget))
