"""The interface of a world: some ranks, their messages, collectives and the polled wait.

State of a `World`:

rank, size, nodes_shared
    who this rank is, and whether all ranks are on one node;
state
    what the other layers keep per world (settings, caches);
counters
    how much was communicated, always counted;
observers
    the `scheduler.events.Observer` objects that are told of events;
gone
    ranks known to have ended, with how: every later collective raises;
runs, stages
    how many runs and shuffle stages were begun, the same on all ranks.
"""

from __future__ import annotations

import abc
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scheduler import wire
from scheduler.errors import SPMDError
from scheduler.events import Observer

__all__ = ["PIECE", "RESERVED_TAGS", "REDUCTIONS", "Request", "World", "byte_view"]

PIECE = 64 << 20
"""Bytes of the longest message: longer data are cut by the caller."""

RESERVED_TAGS = 16
"""Tags from `World.tag_limit` on, kept for shuffle stages."""

REDUCTIONS = {
    "max": np.maximum,
    "min": np.minimum,
    "sum": np.add,
    "or": np.bitwise_or,
}

_EMPTY = np.empty(0, np.uint8)
_POISON = 0xA5


def byte_view(buffer: Any) -> Any:
    """Return the bytes of a contiguous host buffer as a flat uint8 array that shares its memory.

    A device array is returned as it is. An array that is not C-contiguous is refused.
    """
    if isinstance(buffer, np.ndarray):
        if not buffer.flags.c_contiguous:
            raise ValueError("a message buffer must be C-contiguous")
        return buffer.reshape(-1).view(np.uint8) if buffer.nbytes else _EMPTY
    if hasattr(buffer, "__cuda_array_interface__"):
        return buffer
    view = memoryview(buffer)
    return np.frombuffer(view, np.uint8) if view.nbytes else _EMPTY


class Request(abc.ABC):
    """A message on its way.

    Attributes
    ----------
    peer : int
        The other rank.
    nbytes : int
        Bytes sent, or received once `test` has returned True; 0 tells of a failure.
    """

    __slots__ = ("nbytes", "peer")
    peer: int
    nbytes: int

    @abc.abstractmethod
    def test(self) -> bool:
        """Return whether the message is complete; never blocks, may be called again."""


class World(abc.ABC):
    """Some ranks that run the same program, as seen by one of them."""

    tag_limit: int = 32767 - RESERVED_TAGS
    """Tags of messages are below this."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size
        self.nodes_shared = True
        self.state: dict[str, Any] = {}
        self.counters: Counter[str] = Counter()
        self.observers: list[Observer] = []
        self.gone: dict[int, str] = {}
        self.runs = 0
        self.stages = 0

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rank={self.rank}, size={self.size})"

    @abc.abstractmethod
    def isend(self, buffer: Any, dest: int, tag: int, *, owned: bool = False) -> Request:
        """Begin to send a contiguous buffer of at most `PIECE` bytes to rank `dest`.

        The buffer must stay as it is until the request is complete. ``owned=True`` says that
        nobody reads it afterwards, so that a test can overwrite it (``state["poison"]``,
        under which buffers of planned messages are also frozen once they are received).
        """

    @abc.abstractmethod
    def irecv(self, buffer: Any, source: int, tag: int) -> Request:
        """Begin to receive from rank `source` into a writable contiguous buffer."""

    @abc.abstractmethod
    def wait(self, ready: Callable[[], bool], where: str) -> None:
        """Return when ``ready()`` is true; `where` names the wait in reports.

        `ready` may be called by any thread of this world and must only test requests.

        Raises
        ------
        SPMDError
            A rank has ended, or with ``state["debug"]`` the wait was too long.
        """

    @abc.abstractmethod
    def idle(self, where: str = "") -> None:
        """Make one step of a wait loop, after which the caller tests its requests again."""

    def reads_device_memory(self) -> bool:
        """Return whether messages may lie in the memory of a GPU, as far as it is known."""
        return False

    def close(self) -> None:
        """Give back what the world holds; it cannot be used afterwards."""
        self.observers.clear()

    def run_number(self) -> int:
        """Return the number of the next run, the same on all ranks."""
        self.runs += 1
        return self.runs

    def allreduce(self, values: np.ndarray, op: str, where: str) -> np.ndarray:
        """Return the 1-D int64, uint64 or float64 `values` combined over all ranks.

        Parameters
        ----------
        op : {"max", "min", "sum", "or"}
            How two values are combined.
        """
        if op not in REDUCTIONS:
            raise ValueError(f"op must be one of {', '.join(REDUCTIONS)}, not {op!r}")
        self.counters["allreduce"] += 1
        if self.size == 1:
            return values.copy()
        self._check_gone(where)
        return self._allreduce(values, op, where)

    def allgather(self, obj: Any, where: str) -> list[Any]:
        """Return the (small, picklable) objects of all ranks, in rank order."""
        self.counters["allgather"] += 1
        if self.size == 1:
            return [obj]
        self._check_gone(where)
        return [wire.loads(data) for data in self._allgather(wire.dumps(obj), where)]

    def bcast(self, obj: Any, root: int, where: str) -> Any:
        """Return the (small, picklable) object of rank `root`; other ranks' are ignored."""
        self.counters["bcast"] += 1
        if self.size == 1:
            return obj
        self._check_gone(where)
        if self.rank == root:
            self._bcast(wire.dumps(obj), root, where)
            return obj
        return wire.loads(self._bcast(None, root, where))

    def alltoall(self, values: np.ndarray, where: str) -> np.ndarray:
        """Return the int64 numbers that the ranks have for this one, given one for each rank."""
        self.counters["alltoall"] += 1
        if self.size == 1:
            return values.copy()
        self._check_gone(where)
        return self._alltoall(values, where)

    def alltoallv(
        self,
        send: np.ndarray,
        send_counts: Sequence[int],
        recv: np.ndarray,
        recv_starts: Sequence[int],
        recv_counts: Sequence[int],
    ) -> None:
        """Exchange bytes with all ranks; the parts sent lie in rank order in a uint8 array.

        Those received lie where ``recv_starts`` says. This call may block: enter it only after a
        polled collective has shown that all ranks are there.
        """
        self.counters["alltoallv"] += 1
        self.counters["alltoallv_bytes"] += int(sum(send_counts))
        if self.size == 1:
            start = recv_starts[0]
            recv[start : start + recv_counts[0]] = send[: send_counts[0]]
            return
        self._check_gone("alltoallv")
        self._alltoallv(send, send_counts, recv, recv_starts, recv_counts)

    def _check_gone(self, where: str) -> None:
        if self.gone:
            ended = "; ".join(f"rank {rank} has ended ({how})" for rank, how in self.gone.items())
            raise SPMDError(f"{ended}, so that {where} cannot be done together")

    def _poison(self, buffer: Any) -> None:
        """Overwrite a pack buffer that nobody may read any more."""
        if self.state.get("poison") and isinstance(buffer, np.ndarray) and buffer.flags.writeable:
            buffer[...] = _POISON

    @abc.abstractmethod
    def _allreduce(self, values: np.ndarray, op: str, where: str) -> np.ndarray: ...

    @abc.abstractmethod
    def _allgather(self, data: bytes, where: str) -> list[bytes]: ...

    @abc.abstractmethod
    def _bcast(self, data: bytes | None, root: int, where: str) -> bytes: ...

    @abc.abstractmethod
    def _alltoall(self, values: np.ndarray, where: str) -> np.ndarray: ...

    @abc.abstractmethod
    def _alltoallv(
        self,
        send: np.ndarray,
        send_counts: Sequence[int],
        recv: np.ndarray,
        recv_starts: Sequence[int],
        recv_counts: Sequence[int],
    ) -> None: ...
