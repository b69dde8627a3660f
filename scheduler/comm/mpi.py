"""The MPI world. No other module imports mpi4py.

Waiting is always polled: some tests, then a nap after each. MPICH hands a core on only to a
rank that really sleeps, and a polled wait can report what it waits for. The one blocking call
is ``Alltoallv``, which is entered only when all ranks are known to be there.

A nap takes 75 to 130 us, and two ranks that miss each other by less would go on missing each
other from one reduction to the next. So where each rank has a core, the tests before the first
nap last about as long; where ranks share cores, they are few.
"""

from __future__ import annotations

import atexit
import os
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from mpi4py import MPI

from scheduler import lifetime
from scheduler.comm.devices import loaded_library, says_so
from scheduler.comm.watchdog import Watchdog
from scheduler.comm.world import RESERVED_TAGS, Request, World, byte_view
from scheduler.errors import SPMDError

__all__ = ["MPIWorld", "abort", "world_of_all"]

_SPINS_ALONE = 1000
_SPINS_SHARED = 20
_NAP = 20e-6
_OPERATIONS = {"max": MPI.MAX, "min": MPI.MIN, "sum": MPI.SUM, "or": MPI.BOR}
_TAG_BOUND = 1 << 30
_LEAST_TAG_BOUND = 32767
_PROBES = 4  # the first ones may only let MPI see what has come


def abort(status: int) -> None:
    """End all ranks of the job at once."""
    MPI.COMM_WORLD.Abort(status)


def world_of_all() -> MPIWorld:
    """Return a world of all ranks of the program, closed when the program ends."""
    world = MPIWorld(MPI.COMM_WORLD)

    def end() -> None:
        for function in lifetime.before_close:
            function()
        world.close()

    atexit.register(end)
    return world


def world_of(comm: object) -> MPIWorld | None:
    """Return the world of a communicator, kept with it, or None for the ranks of the program."""
    if not isinstance(comm, MPI.Intracomm):
        raise TypeError(f"comm={comm!r} is not an mpi4py intracommunicator")
    if MPI.Comm.Compare(comm, MPI.COMM_WORLD) == MPI.IDENT:
        return None
    found = comm.Get_attr(_worlds())
    if isinstance(found, MPIWorld):
        return found
    world = MPIWorld(comm)
    comm.Set_attr(_worlds(), world)
    return world


@cache
def _worlds() -> int:
    """Return the key under which communicators keep their worlds."""
    return MPI.Comm.Create_keyval()


class MPIWorld(World):
    """The ranks of an mpi4py intracommunicator, of which it duplicates what it uses.

    Making and closing one are collective. All calls come from one thread.
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        super().__init__(comm.rank, comm.size)
        self.tag_limit = (
            min(comm.Get_attr(MPI.TAG_UB) or _LEAST_TAG_BOUND, _TAG_BOUND) - RESERVED_TAGS
        )
        self._inflight: set[_MPIRequest] = set()
        self._abandoned: list[Any] = []
        self._idles = 0
        self._spins = _SPINS_SHARED
        self._closed = False
        self._watchdog = Watchdog(self.rank, self.size)
        self._messages, self._collectives, watching = (self._duplicate(comm) for _ in range(3))
        if self.size > 1:
            node = self._messages.Split_type(MPI.COMM_TYPE_SHARED)
            self.nodes_shared = bool(node.size == self.size)
            if node.size <= (os.cpu_count() or 1):
                self._spins = _SPINS_ALONE
            node.Free()
        self._watching = watching
        if self.size > 1 and MPI.Query_thread() == MPI.THREAD_MULTIPLE:
            self._watchdog.start(_Post(watching))

    def isend(self, buffer: Any, dest: int, tag: int, *, owned: bool = False) -> Request:
        """Begin to send, see `World.isend`."""
        data = byte_view(buffer)
        self.counters["sends"] += 1
        self.counters["send_bytes"] += data.nbytes
        request = self._messages.Isend((data, MPI.BYTE), dest, tag)
        return _MPIRequest(self, request, dest, data.nbytes, data if owned else None)

    def irecv(self, buffer: Any, source: int, tag: int) -> Request:
        """Begin to receive, see `World.irecv`."""
        request = self._messages.Irecv((byte_view(buffer), MPI.BYTE), source, tag)
        return _MPIRequest(self, request, source, -1, None)

    def wait(self, ready: Callable[[], bool], where: str) -> None:
        """Poll until ``ready()``, see `World.wait`."""
        for _ in range(self._spins):
            if ready():
                return
        self._check_gone(where)
        watchdog = self._watchdog
        watchdog.begin(where, self._timeout())
        try:
            while not ready():
                time.sleep(_NAP)
                self._watch()
        finally:
            watchdog.finish()

    def idle(self, where: str = "") -> None:
        """Nap after the first few calls since a message was completed, see `World.idle`."""
        self._idles += 1
        if self._idles <= self._spins:
            return
        if self._idles == self._spins + 1:
            self._watchdog.begin(where or "its run", self._timeout())
        time.sleep(_NAP)
        self._watch()

    def reads_device_memory(self) -> bool:
        """Return whether the MPI library says so, see `World.reads_device_memory`."""
        kinds = self._messages.Get_info().get("mpi_memory_alloc_kinds") or ""
        return says_so(kinds, loaded_library())

    def close(self) -> None:
        """Wait until all ranks close, telling who asks that this one has ended."""
        if self._closed or MPI.Is_finalized():
            return
        self._closed = True
        if self.size > 1:
            self._watchdog.finish()
            self._watchdog.ended = True
            barrier = self._watching.Ibarrier()
            while not barrier.Test():
                time.sleep(50 * _NAP)
            self._watchdog.stop()
        if not self._inflight and not self._abandoned:
            for comm in (self._messages, self._collectives, self._watching):
                comm.Free()

    def _timeout(self) -> float:
        return float(self.state.get("timeout", 60.0))

    def _watch(self) -> None:
        """Report a long wait; raise if it cannot end or, in debug mode, at the first report."""
        reported = self._watchdog.check(self._awaited)
        if reported is not None and (reported.ended or self.state.get("debug")):
            self._watchdog.finish()
            raise SPMDError(reported.text)

    def _awaited(self) -> set[int]:
        return {request.peer for request in self._inflight}

    def _duplicate(self, comm: MPI.Intracomm) -> MPI.Intracomm:
        duplicate, request = comm.Idup()
        self.wait(request.Test, "the start of all ranks")
        duplicate.Set_errhandler(MPI.ERRORS_RETURN)
        return duplicate

    def _poll(self, request: MPI.Request, where: str) -> None:
        try:
            self.wait(request.Test, where)
        except BaseException:
            self._abandoned.append(request)
            raise

    def _allreduce(self, values: np.ndarray, op: str, where: str) -> np.ndarray:
        values = np.ascontiguousarray(values)
        result = np.empty_like(values)
        self._poll(self._collectives.Iallreduce(values, result, _OPERATIONS[op]), where)
        return result

    def _allgather(self, data: bytes, where: str) -> list[bytes]:
        counts = np.empty(self.size, np.int64)
        self._poll(self._collectives.Iallgather(np.array([len(data)]), counts), where)
        gathered = np.empty(int(counts.sum()), np.uint8)
        place = (gathered, counts.tolist(), MPI.BYTE)
        self._poll(self._collectives.Iallgatherv((data, MPI.BYTE), place), where)
        return [part.tobytes() for part in np.split(gathered, np.cumsum(counts)[:-1])]

    def _bcast(self, data: bytes | None, root: int, where: str) -> bytes:
        length = np.array([len(data or b"")])
        self._poll(self._collectives.Ibcast(length, root), where)
        buffer = np.empty(int(length[0]), np.uint8)
        if data is not None:
            buffer[:] = np.frombuffer(data, np.uint8)
        self._poll(self._collectives.Ibcast(buffer, root), where)
        return buffer.tobytes()

    def _alltoall(self, values: np.ndarray, where: str) -> np.ndarray:
        result = np.empty(self.size, np.int64)
        self._poll(self._collectives.Ialltoall(np.ascontiguousarray(values), result), where)
        return result

    def _alltoallv(
        self,
        send: np.ndarray,
        send_counts: Sequence[int],
        recv: np.ndarray,
        recv_starts: Sequence[int],
        recv_counts: Sequence[int],
    ) -> None:
        self._collectives.Alltoallv(
            (send, [int(count) for count in send_counts], MPI.BYTE),
            (recv, [int(n) for n in recv_counts], [int(n) for n in recv_starts], MPI.BYTE),
        )


class _MPIRequest(Request):
    """A send (``nbytes >= 0``) or receive; the world keeps it until it is complete."""

    __slots__ = ("_owned", "_request", "_world")

    def __init__(
        self, world: MPIWorld, request: MPI.Request, peer: int, nbytes: int, owned: Any
    ) -> None:
        self.peer = peer
        self.nbytes = nbytes
        self._world = world
        self._request: MPI.Request | None = request
        self._owned = owned
        world._inflight.add(self)

    def test(self) -> bool:
        """Return whether the message is complete."""
        if self._request is None:
            return True
        if self.nbytes >= 0:
            if not self._request.Test():
                return False
        else:
            status = MPI.Status()
            if not self._request.Test(status):
                return False
            self._received(status.Get_count(MPI.BYTE))
        self._finish()
        return True

    def _received(self, nbytes: int) -> None:
        self.nbytes = nbytes
        counters = self._world.counters
        counters["recvs"] += 1
        counters["recv_bytes"] += nbytes

    def _finish(self) -> None:
        world = self._world
        self._request = None
        world._inflight.discard(self)
        if world._idles:
            world._idles = 0
            world._watchdog.finish()
        if self._owned is not None:
            world._poison(self._owned)
            self._owned = None


class _Post:
    """Short texts between the watchdogs of the ranks."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._comm = comm
        self._sends: list[MPI.Request] = []

    def send(self, text: bytes, dest: int, tag: int) -> None:
        self._sends = [request for request in self._sends if not request.Test()]
        self._sends.append(self._comm.Isend((bytearray(text), MPI.BYTE), dest, tag))

    def receive(self, tag: int) -> tuple[int, bytes] | None:
        """Return the sender and the text of a message that has arrived, if there is one."""
        status = MPI.Status()
        probe = self._comm.Iprobe
        if not any(probe(MPI.ANY_SOURCE, tag, status) for _ in range(_PROBES)):
            return None
        buffer = bytearray(status.Get_count(MPI.BYTE))
        self._comm.Recv((buffer, MPI.BYTE), status.source, tag)
        return status.source, bytes(buffer)
