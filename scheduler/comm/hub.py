"""What virtual ranks share: the baton, message channels and meetings (collectives).

A rank that has to wait calls `Hub.sleep`, which looks for another rank that can go on: first
among those to which something happened, by the seeded order, then among all. If there is none,
every sleeping rank is given a fault to raise.
"""

from __future__ import annotations

import ctypes
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from scheduler.comm.where import user_line
from scheduler.errors import Hang, SPMDError

__all__ = ["Hub", "Meeting"]

_JOIN_SECONDS = 5.0


class _Posted(Protocol):
    data: np.ndarray | None


class _Channel:
    """Messages from one rank to another under one tag, matched in order."""

    __slots__ = ("messages", "posted")

    def __init__(self) -> None:
        self.messages: deque[np.ndarray] = deque()
        self.posted: deque[_Posted] = deque()

    def post(self, request: _Posted) -> None:
        if self.messages:
            request.data = self.messages.popleft()
        else:
            self.posted.append(request)

    def put(self, data: np.ndarray) -> None:
        if self.posted:
            self.posted.popleft().data = data
        else:
            self.messages.append(data)


class Meeting:
    """One collective operation: who has come with what."""

    __slots__ = ("clash", "first", "kind", "left", "number", "values")

    def __init__(self, number: int, kind: str, first: str) -> None:
        self.number = number
        self.kind = kind
        self.first = first
        self.values: dict[int, Any] = {}
        self.clash = ""
        self.left = 0


class _Sleep:
    """Why a rank sleeps: its predicate (None: any event will do), named by `where`."""

    __slots__ = ("ready", "thread", "where")

    def __init__(self, ready: Callable[[], bool] | None, where: str, thread: int | None) -> None:
        self.ready = ready
        self.where = where
        self.thread = thread


class Hub:
    """The shared state of the virtual ranks; only the holder of the baton touches it.

    State: the seeded order (`random`), one lock per rank on which it sleeps, `sleeps` (why, for
    those that do), `stirred` (something happened to the rank since it last looked), `queue`
    (ranks worth looking at), `faults` (what a rank raises when it wakes), `ended` (how ranks
    ended), `consequences` (errors that only tell of another rank's end or of a hang), message
    channels and meetings.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self.random = random.Random(seed).random
        self.locks = [threading.Lock() for _ in range(size)]
        self.sleeps: list[_Sleep | None] = [None] * size
        self.stirred = [False] * size
        self.queue: list[int] = []
        self.faults: list[Exception | None] = [None] * size
        self.ended: dict[int, str] = {}
        self.consequences: set[int] = set()
        self.channels: dict[tuple[int, int, int], _Channel] = {}
        self.meetings: dict[int, Meeting] = {}
        self.finished = threading.Lock()
        self.overdue = ""
        for lock in (*self.locks, self.finished):
            lock.acquire()

    def channel(self, source: int, dest: int, tag: int) -> _Channel:
        """Return the channel between two ranks under a tag."""
        key = (source, dest, tag)
        found = self.channels.get(key)
        if found is None:
            for rank in (source, dest):
                if not 0 <= rank < self.size:
                    raise ValueError(f"there is no rank {rank} among {self.size}")
            found = self.channels[key] = _Channel()
        return found

    def deliver(self, source: int, dest: int, tag: int, data: np.ndarray) -> None:
        """Put a message into its channel."""
        self.channel(source, dest, tag).put(data)
        self.stir(dest)

    def meet(self, rank: int, number: int, kind: str, where: str) -> Meeting:
        """Return the meeting of that number, which must be of one kind on all ranks."""
        meeting = self.meetings.get(number)
        if meeting is None:
            meeting = Meeting(number, kind, f"rank {rank} does {kind} in {where}")
            self.meetings[number] = meeting
        elif meeting.kind != kind and not meeting.clash:
            meeting.clash = (
                f"ranks meet in different operations: {meeting.first}, "
                f"rank {rank} does {kind} in {where}"
            )
            self.stir_all(rank)
        return meeting

    def leave(self, meeting: Meeting) -> None:
        """Forget a meeting when all ranks have left it."""
        meeting.left += 1
        if meeting.left == self.size:
            del self.meetings[meeting.number]

    def stir(self, rank: int) -> None:
        """Note that something happened to a rank."""
        if not self.stirred[rank]:
            self.stirred[rank] = True
            if self.sleeps[rank] is not None:
                self.queue.append(rank)

    def stir_all(self, but: int) -> None:
        """Note that something happened to all ranks but one."""
        for rank in range(self.size):
            if rank != but:
                self.stir(rank)

    def begin(self, rank: int) -> None:
        """Wait for the baton for the first time."""
        self.locks[rank].acquire()
        self._wake(rank)

    def sleep(self, rank: int, ready: Callable[[], bool] | None, where: str) -> None:
        """Pass the baton on until ``ready()`` or, if it is None, until something happens."""
        self.sleeps[rank] = _Sleep(ready, where, threading.get_ident())
        self.stirred[rank] = False
        chosen = self._choose()
        if chosen != rank:
            self.locks[chosen].release()
            self.locks[rank].acquire()
        self.stirred[rank] = ready is not None
        self._wake(rank)

    def end(self, rank: int, how: str) -> None:
        """Note that a rank has ended and pass the baton on for the last time."""
        self.ended[rank] = how
        if len(self.ended) == self.size:
            self.finished.release()
        else:
            self.locks[self._choose()].release()

    def run(self, timeout: float, threads: Sequence[threading.Thread]) -> None:
        """Start the threads, give the baton to one of them and return when all have ended."""
        for rank, thread in enumerate(threads):
            thread.start()
            self.sleeps[rank] = _Sleep(lambda: True, "its start", thread.ident)
            self.stir(rank)
        try:
            self.locks[self._choose()].release()
            if not self.finished.acquire(timeout=timeout):
                self._stop(f"the virtual ranks ran for over {timeout:g} s", threads)
        except BaseException:
            self._stop("the virtual ranks were interrupted", threads)
            raise
        finally:
            for thread in threads:
                thread.join(_JOIN_SECONDS)

    def _wake(self, rank: int) -> None:
        self.sleeps[rank] = None
        fault = self.faults[rank]
        if fault is not None:
            self.faults[rank] = None
            raise fault

    def _choose(self) -> int:
        """Return a rank that can go on; if there is none, all get a fault first."""
        queue = self.queue
        while queue:
            place = int(self.random() * len(queue))
            rank = queue[place]
            queue[place] = queue[-1]
            queue.pop()
            if self._can_go_on(rank):
                return rank
            self.stirred[rank] = False
        asleep = [rank for rank in range(self.size) if self.sleeps[rank] is not None]
        for rank in asleep:
            if self._can_go_on(rank):
                return rank
        self._break(asleep)
        return self._choose()

    def _can_go_on(self, rank: int) -> bool:
        sleep = self.sleeps[rank]
        if sleep is None:
            return False
        if self.overdue or self.faults[rank] is not None:
            self.faults[rank] = self.faults[rank] or Hang(self.overdue)
            return True
        if sleep.ready is None:
            return self.stirred[rank]
        try:
            return sleep.ready()
        except Exception as error:
            self.faults[rank] = error
            return True

    def _break(self, asleep: Sequence[int]) -> None:
        """Let every sleeping rank raise, since nothing that they wait for can happen."""
        waits = "; ".join(
            f"rank {rank} waits in {sleep.where} at {user_line(sleep.thread)}"
            for rank in asleep
            if (sleep := self.sleeps[rank]) is not None
        )
        ended = "; ".join(f"rank {rank} has ended ({how})" for rank, how in self.ended.items())
        for rank in asleep:
            fault = SPMDError(f"{ended}; {waits}") if ended else Hang(f"every rank waits: {waits}")
            self.faults[rank] = fault
            self.consequences.add(id(fault))
            self.queue.append(rank)

    def _stop(self, why: str, threads: Sequence[threading.Thread]) -> None:
        """Make every rank raise, the running one by an asynchronous exception."""
        places = [
            f"rank {rank} {'runs' if sleep is None else 'waits in ' + sleep.where} "
            f"at {user_line(threads[rank].ident)}"
            for rank, sleep in enumerate(self.sleeps)
            if rank not in self.ended
        ]
        self.overdue = f"{why}: {'; '.join(places)}"
        for rank, sleep in enumerate(self.sleeps):
            if sleep is None and rank not in self.ended:
                ident = ctypes.c_ulong(threads[rank].ident or 0)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ident, ctypes.py_object(Hang))
        self.finished.acquire(timeout=_JOIN_SECONDS)
