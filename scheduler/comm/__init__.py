"""Worlds: the ranks of a program, real (MPI) or virtual (threads), behind one interface."""

from scheduler.comm.default import current, default_world, from_mpi, launched, use
from scheduler.comm.virtual import VirtualWorld, run_virtual
from scheduler.comm.world import PIECE, Request, World, byte_view

__all__ = [
    "PIECE",
    "Request",
    "VirtualWorld",
    "World",
    "byte_view",
    "current",
    "default_world",
    "from_mpi",
    "launched",
    "run_virtual",
    "use",
]
