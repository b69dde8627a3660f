"""The world of the calling thread.

State: a thread-local world, and the default world of the process, made when first asked for.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from scheduler import lifetime
from scheduler.comm.world import World

__all__ = ["LAUNCHERS", "current", "default_world", "from_mpi", "launched", "use"]

LAUNCHERS = (
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MPI_LOCALRANKID",
    "PALS_RANKID",
    "MV2_COMM_WORLD_RANK",
)
"""Environment variables of which an MPI launcher sets at least one."""

_local = threading.local()
_lock = threading.Lock()
_default: World | None = None


def launched() -> bool:
    """Return whether an MPI launcher has started this process."""
    return any(name in os.environ for name in LAUNCHERS)


def default_world() -> World:
    """Return the world of this process: all MPI ranks if launched by MPI, else one rank.

    The first call is collective under MPI.
    """
    global _default
    with _lock:
        found, made = _default, _default is None
        if found is None:
            found = _default = _make_default()
    if made:
        for function in lifetime.when_made:
            function()
    return found


def current() -> World:
    """Return the world that `use` has set in this thread, else the default world."""
    world = getattr(_local, "world", None)
    return default_world() if world is None else world


@contextmanager
def use(world: World) -> Iterator[World]:
    """Make `world` the current one of this thread inside a ``with`` block."""
    before = getattr(_local, "world", None)
    _local.world = world
    try:
        yield world
    finally:
        _local.world = before


def from_mpi(comm: Any) -> World:
    """Return the world of an mpi4py intracommunicator's ranks, always the same one.

    The first call is collective over them. That of ``COMM_WORLD`` is the default world.

    Raises
    ------
    TypeError
        When `comm` is no intracommunicator.
    """
    from scheduler.comm.mpi import world_of

    return world_of(comm) or default_world()


def _make_default() -> World:
    if launched():
        from scheduler.comm.mpi import world_of_all

        return world_of_all()
    from scheduler.comm.virtual import VirtualWorld

    return VirtualWorld()
