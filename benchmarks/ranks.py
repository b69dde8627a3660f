"""The ranks of one benchmark job, and clocks that read alike on all of them.

A rank that waits sleeps: it looks every millisecond whether the others have come, so that whoever
works has its core and the memory to itself.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

from mpi4py import MPI

NAP = 1e-3


class Unable(Exception):
    """A library could not do its computation; the text says why."""


class Ranks:
    """The processes that the launcher has started. All methods are collective.

    State: a communicator of their own, apart from those of the libraries measured.
    """

    def __init__(self) -> None:
        self._comm = MPI.COMM_WORLD.Dup()
        self.rank = self._comm.rank
        self.size = self._comm.size

    def meet_asleep(self) -> None:
        """Wait for all ranks, sleeping."""
        self._meet(NAP)

    def meet_sharply(self) -> None:
        """Wait for all ranks, which are about to come, and go on at the same time."""
        self._meet(0.0)

    def _meet(self, nap: float) -> None:
        barrier = self._comm.Ibarrier()
        while not barrier.Test():
            time.sleep(nap)

    def time_alone(self, call: Callable[[], Any] | None, repeat: int) -> float:
        """Seconds of a call on rank 0, while the others sleep."""
        gc.collect()
        self.meet_asleep()
        reading = read_clock(call, repeat) if self.rank == 0 and call else 0.0
        return self._agreed(reading)

    def time_together(self, call: Callable[[], Any] | None, repeat: int) -> float:
        """Seconds from when all ranks begin a call until the last has ended it."""
        gc.collect()
        self.meet_asleep()
        self.meet_sharply()
        return self._agreed(read_clock(call, repeat) if call else 0.0)

    def _agreed(self, reading: float | Exception) -> float:
        self.meet_asleep()
        readings = self._comm.allgather(reading if isinstance(reading, float) else _text(reading))
        for found in readings:
            if isinstance(found, str):
                raise Unable(found) from (reading if isinstance(reading, Exception) else None)
        return max(readings)

    def agree(self, call: Callable[[], Any]) -> Any:
        """Return what a call gives on this rank; raise `Unable` if it fails on any."""
        found: Any = None
        problem: Exception | None = None
        try:
            found = call()
        except Exception as error:
            problem = error
        self._agreed(problem or 0.0)
        return found


def read_clock(call: Callable[[], Any], repeat: int) -> float | Exception:
    """Seconds of one of `repeat` calls, or what it raised; its last result is freed afterwards."""
    try:
        start = time.perf_counter()
        for _ in range(repeat):
            found = call()
        seconds = time.perf_counter() - start
    except Exception as error:
        return error
    del found
    return seconds / repeat


def _text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
