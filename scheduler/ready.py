"""Tasks run by readiness: what becomes ready last is run first, receives come in between.

The tasks that are ready lie on a stack, in plan order at the start; so results that belong
together meet early and are freed.
"""

from __future__ import annotations

from collections.abc import Iterable
from time import perf_counter
from typing import TYPE_CHECKING, Any

from scheduler import transfer
from scheduler.errors import Failure
from scheduler.plan import WINDOW, Recv, Send, SendObject
from scheduler.prepared import ABSENT, Arrival, Ready

if TYPE_CHECKING:
    from scheduler.engine import Run

TURN = 16
"""Tasks between two looks at the messages."""


def run_ready(run: Run, part: Ready) -> None:
    """Run all tasks and complete all receives of a part; its sends may be on their way."""
    _Graph(run, part).run()


def first_failure(values: Iterable[Any]) -> Failure | None:
    """Return the first Failure among values."""
    return next((value for value in values if isinstance(value, Failure)), None)


def rank_list(ranks: Iterable[int]) -> str:
    """Name ranks, each once.

    >>> rank_list([2, 0, 2])
    'ranks 0, 2'
    """
    numbers = sorted(set(ranks))
    return f"rank{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers))}"


class _Arriving:
    """A receive on its way."""

    __slots__ = ("arrival", "nbytes", "receiving", "requests", "start")

    def __init__(
        self, arrival: Arrival, receiving: transfer.Receiving, nbytes: int, start: float
    ) -> None:
        self.arrival = arrival
        self.receiving = receiving
        self.requests = next(receiving)
        self.nbytes = nbytes
        self.start = start

    def moved(self) -> bool:
        return all(request.test() for request in self.requests)


class _Graph:
    """One part on its way.

    run, part, store, reads
        the run, its part, and the run's slots;
    missing, stack
        how many inputs each task still waits for, and the tasks that wait for none;
    arriving, posted, room
        receives on their way, how many were posted so far, and bytes left in the window.
    """

    def __init__(self, run: Run, part: Ready) -> None:
        self.run_ = run
        self.part = part
        self.store = run.store
        self.reads = run.reads
        self.missing = part.missing.copy()
        self.stack = part.ready.copy()
        self.arriving: list[_Arriving] = []
        self.posted = 0
        self.room: int = run.world.state.get("window", WINDOW)

    def run(self) -> None:
        run, part, stack = self.run_, self.part, self.stack
        ops, store, reads = part.ops, self.store, self.reads
        for slot, send in part.opening:
            run.send(send, slot, store[slot])
            self.release(slot)
        self.post()
        todo = len(ops)
        while todo or self.arriving or self.posted < len(part.arrivals):
            if stack:
                op = ops[stack.pop()]
                todo -= 1
                self.arrive(op.output, run.call(op), op.sends)
                for slot in op.uses:
                    reads[slot] -= 1
                    if not reads[slot]:
                        store[slot] = ABSENT
                if todo % TURN and stack and perf_counter() - run.looked < run.period:
                    continue
            elif self.arriving:
                run.world.wait(self.moved, f"{run.where}, receiving from {self.senders()}")
            self.look()

    def arrive(self, slot: int, value: Any, sends: Iterable[Send | SendObject]) -> None:
        """Keep a new value for its readers, send it, and push the tasks that are now ready."""
        reads = self.reads
        if reads[slot]:
            self.store[slot] = value
        for send in sends:
            self.run_.send(send, slot, value)
            self.release(slot)
        missing = self.missing
        for reader in self.part.readers.get(slot, ()):
            missing[reader] -= 1
            if not missing[reader]:
                self.stack.append(reader)

    def release(self, slot: int) -> None:
        """Count a read of a slot, and forget its value after the last."""
        self.reads[slot] -= 1
        if not self.reads[slot]:
            self.store[slot] = ABSENT

    def post(self) -> None:
        """Post receives in plan order, as the window and the inputs of their buffers allow."""
        arrivals = self.part.arrivals
        while self.posted < len(arrivals):
            arrival = arrivals[self.posted]
            recv = arrival.recv
            nbytes = recv.nbytes if isinstance(recv, Recv) else transfer.FIRST
            if self.arriving and (nbytes > self.room or self.in_use(recv.source, recv.tag)):
                return
            if any(self.store[slot] is ABSENT for slot in arrival.inputs):
                return
            self.posted += 1
            self.room -= nbytes
            start = perf_counter() if self.run_.observers else 0.0
            self.arriving.append(_Arriving(arrival, self.receive(arrival), nbytes, start))

    def receive(self, arrival: Arrival) -> transfer.Receiving:
        """Return the generator of a receive, whose buffer is made at its start."""
        recv, world = arrival.recv, self.run_.world
        tag = recv.tag % world.tag_limit
        if not isinstance(recv, Recv):
            return transfer.receive_object(world, recv.source, tag)
        return transfer.receive(world, recv, lambda: self.make(recv, arrival.inputs), tag)

    def make(self, recv: Recv, inputs: tuple[int, ...]) -> Any:
        """Return the buffer of a receive; raises if an input of it has failed."""
        values = [self.store[slot] for slot in inputs]
        for slot in inputs:
            self.release(slot)
        failure = first_failure(values)
        if failure is not None:
            raise failure.error
        return recv.make(*values)

    def in_use(self, source: int, tag: int) -> bool:
        """Return whether a receive on its way from a rank has the tag, modulo their number."""
        limit = self.run_.world.tag_limit
        if tag < limit:
            return False
        others = [arriving.arrival.recv for arriving in self.arriving]
        return any(recv.source == source and not (recv.tag - tag) % limit for recv in others)

    def look(self) -> None:
        """Take in what has arrived, and post what there is room for."""
        if self.run_.sent:
            self.run_.look()
        else:
            self.run_.looked = perf_counter()
        waiting, self.arriving = self.arriving, []
        for arriving in waiting:
            if not arriving.moved() or self.proceed(arriving):
                self.arriving.append(arriving)
        self.post()

    def proceed(self, arriving: _Arriving) -> bool:
        """Go on with a receive; return False if it is complete."""
        run, arrival = self.run_, arriving.arrival
        for request in arriving.requests:
            run.report("recv", request, arriving.start)
        value: Any
        try:
            arriving.requests = next(arriving.receiving)
            return True
        except StopIteration as stop:
            value = stop.value
        except BaseException as error:
            value = run.fail(run.table.steps[arrival.output], error)
        self.room += arriving.nbytes
        self.arrive(arrival.output, value, self.part.sends.get(arrival.output, ()))
        return False

    def moved(self) -> bool:
        return any(arriving.moved() for arriving in self.arriving)

    def senders(self) -> str:
        return rank_list(arriving.arrival.recv.source for arriving in self.arriving)
