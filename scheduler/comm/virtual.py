"""Virtual ranks: threads of one process that run one at a time, in a seeded order.

The rank that runs holds the *baton*. It passes it only when it waits for something that has
not happened yet, so a run is a deterministic function of the program and the seed. If every
rank waits and nothing can happen any more, each of them gets a `Hang` at once.

A world of one virtual rank needs no thread: it is the world of a plain ``python job.py``.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from scheduler.comm.default import use
from scheduler.comm.hub import Hub
from scheduler.comm.world import REDUCTIONS, Request, World, byte_view
from scheduler.errors import Hang, SPMDError

__all__ = ["VirtualWorld", "run_virtual"]


def run_virtual(
    size: int, function: Callable[..., Any], *args: Any, seed: int = 0, timeout: float = 120.0
) -> list[Any]:
    """Call ``function(world, *args)`` on `size` virtual ranks and return their results.

    Parameters
    ----------
    seed : int
        Chooses the order in which waiting ranks go on.
    timeout : float
        Seconds after which the ranks are stopped and `Hang` is raised.

    Raises
    ------
    BaseException
        What the lowest failing rank raised, with notes on the other ranks. Errors that only
        tell that another rank has ended count last.

    Examples
    --------
    >>> run_virtual(3, lambda world: world.allgather(world.rank, "the example"))
    [[0, 1, 2], [0, 1, 2], [0, 1, 2]]
    """
    if size == 1:
        world = VirtualWorld()
        with use(world):
            return [function(world, *args)]
    hub = Hub(size, seed)
    ranks = [_Rank(hub, rank, function, args) for rank in range(size)]
    hub.run(timeout, [rank.thread for rank in ranks])
    errors = {rank.world.rank: rank.error for rank in ranks if rank.error is not None}
    if errors:
        raise _first_error(errors, hub)
    return [rank.result for rank in ranks]


class VirtualWorld(World):
    """One virtual rank; alone unless it is made by `run_virtual`."""

    def __init__(self, hub: Hub | None = None, rank: int = 0) -> None:
        self._hub = hub or Hub(1, 0)
        super().__init__(rank, self._hub.size)
        self._round = 0

    def isend(self, buffer: Any, dest: int, tag: int, *, owned: bool = False) -> Request:
        """Send a copy, see `World.isend`."""
        data = byte_view(buffer)
        self.counters["sends"] += 1
        self.counters["send_bytes"] += data.nbytes
        self._hub.deliver(self.rank, dest, tag, data.copy())
        if owned:
            self._poison(data)
        return _Sent(dest, data.nbytes)

    def irecv(self, buffer: Any, source: int, tag: int) -> Request:
        """Begin to receive, see `World.irecv`."""
        request = _Received(self, source, byte_view(buffer))
        self._hub.channel(source, self.rank, tag).post(request)
        return request

    def wait(self, ready: Callable[[], bool], where: str) -> None:
        """Pass the baton until ``ready()``, see `World.wait`."""
        if not ready():
            self._hub.sleep(self.rank, ready, where)

    def idle(self, where: str = "") -> None:
        """Pass the baton until something happens to this rank, if it has not yet."""
        if self._hub.stirred[self.rank]:
            self._hub.stirred[self.rank] = False
        else:
            self._hub.sleep(self.rank, None, where or "its run")

    def _collect(self, kind: str, value: Any, where: str, root: int | None = None) -> list[Any]:
        """Return what all ranks (or at least `root`) gave to this collective."""
        meeting = self._hub.meet(self.rank, self._round, kind, where)
        self._round += 1
        meeting.values[self.rank] = value

        def complete() -> bool:
            return len(meeting.values) == self.size if root is None else root in meeting.values

        if complete():
            self._hub.stir_all(self.rank)
        self.wait(lambda: complete() or bool(meeting.clash), where)
        if meeting.clash:
            raise SPMDError(meeting.clash)
        self._hub.leave(meeting)
        return [meeting.values.get(rank) for rank in range(self.size)]

    def _allreduce(self, values: np.ndarray, op: str, where: str) -> np.ndarray:
        result, *others = self._collect(f"allreduce {op}", values.copy(), where)
        for other in others:
            result = REDUCTIONS[op](result, other)
        return result if others else result.copy()

    def _allgather(self, data: bytes, where: str) -> list[bytes]:
        return self._collect("allgather", data, where)

    def _bcast(self, data: bytes | None, root: int, where: str) -> bytes:
        return self._collect("bcast", data, where, root)[root]

    def _alltoall(self, values: np.ndarray, where: str) -> np.ndarray:
        rows = self._collect("alltoall", values.copy(), where)
        return np.array([row[self.rank] for row in rows], np.int64)

    def _alltoallv(
        self,
        send: np.ndarray,
        send_counts: Sequence[int],
        recv: np.ndarray,
        recv_starts: Sequence[int],
        recv_counts: Sequence[int],
    ) -> None:
        cuts = np.cumsum(send_counts)[:-1]
        parts = [part.copy() for part in np.split(send[: sum(send_counts)], cuts)]
        rows = self._collect("alltoallv", parts, "alltoallv")
        for row, start, count in zip(rows, recv_starts, recv_counts, strict=True):
            part = row[self.rank]
            if part.size != count:
                raise SPMDError(f"alltoallv: {part.size} bytes were sent, {count} expected")
            recv[start : start + count] = part


class _Sent(Request):
    __slots__ = ()

    def __init__(self, peer: int, nbytes: int) -> None:
        self.peer = peer
        self.nbytes = nbytes

    def test(self) -> bool:
        return True


class _Received(Request):
    """A receive; the data are put into the buffer by the test that finds them."""

    __slots__ = ("_buffer", "_world", "data")

    def __init__(self, world: World, peer: int, buffer: np.ndarray) -> None:
        self.peer = peer
        self.nbytes = 0
        self.data: np.ndarray | None = None
        self._world = world
        self._buffer: np.ndarray | None = buffer

    def test(self) -> bool:
        if self._buffer is None:
            return True
        if self.data is None:
            return False
        self._finish(self._buffer, self.data)
        return True

    def _finish(self, buffer: np.ndarray, data: np.ndarray) -> None:
        if data.size > buffer.size:
            raise SPMDError(
                f"a message of {data.size} bytes from rank {self.peer} does not fit "
                f"a buffer of {buffer.size} bytes"
            )
        buffer[: data.size] = data
        self.nbytes = data.size
        self._buffer = self.data = None
        self._world.counters["recvs"] += 1
        self._world.counters["recv_bytes"] += self.nbytes


class _Rank:
    """One virtual rank: its thread, its world and what came of it."""

    def __init__(
        self, hub: Hub, rank: int, function: Callable[..., Any], args: tuple[Any, ...]
    ) -> None:
        self.world = VirtualWorld(hub, rank)
        self.result: Any = None
        self.error: BaseException | None = None
        context = contextvars.copy_context()
        self.thread = threading.Thread(
            target=context.run,
            args=(self._main, hub, function, args),
            name=f"virtual rank {rank}",
            daemon=True,
        )

    def _main(self, hub: Hub, function: Callable[..., Any], args: tuple[Any, ...]) -> None:
        rank = self.world.rank
        how = "its function returned"
        try:
            hub.begin(rank)
            with use(self.world):
                self.result = function(self.world, *args)
        except BaseException as error:
            self.error = error
            how = f"{type(error).__name__}: {error}"
        finally:
            hub.end(rank, how)


def _first_error(errors: dict[int, BaseException], hub: Hub) -> BaseException:
    """Return the error of the lowest rank that failed by itself, with notes on the others."""
    if hub.overdue:
        return Hang(hub.overdue)
    first = min(errors, key=lambda rank: (id(errors[rank]) in hub.consequences, rank))
    chosen = errors[first]
    for rank, error in errors.items():
        if str(error) != str(chosen):
            chosen.add_note(f"rank {rank}: {type(error).__name__}: {error}")
    chosen.add_note(f"raised on virtual rank {first} of {hub.size}")
    return chosen
