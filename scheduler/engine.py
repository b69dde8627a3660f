"""The loop that runs a plan on one rank: tasks, messages and stages, one at a time.

**Why it can't deadlock.** The steps of a plan stand in one order that is the same on all ranks
and in which a serial program could run them. Take the first operation in that order, over all
ranks, that is not complete; everything before it is. A task has its inputs, so it runs. A stage is
entered by all. A receive has the inputs of its buffer; receives are posted strictly in plan order,
so whatever stood before it has left the window, and the window always takes one receive, however
large. Its sender has the value, and sends as soon as that is there (before it enters a later
stage); sending never waits. Hence something can always go on.

**Tags.** A message has its running number among those of its pair in the plan, modulo the world's
number of tags. Two messages of a run with the same tag are kept apart because the later one is
posted, on either side, only when the earlier one is; then MPI's non-overtaking order holds. That
order also keeps messages apart from those of stages, which are posted after all that stands before
a stage. Two runs can't mix as every rank completes all its messages before the final agreement.

**Failures.** A task that raises gives a `Failure`, which its readers pass on unrun and messages as
nothing. Tasks of later steps are not run any more; those before are, as they might fail too, all
messages are received and every stage is entered. The final agreement raises the exception of
the first failing step on all ranks, so it doesn't depend on the number of ranks or on timing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from operator import length_hint
from time import perf_counter
from typing import Any, Literal

from scheduler import agreement, transfer
from scheduler.comm.virtual import VirtualWorld
from scheduler.comm.world import Request, World
from scheduler.errors import Failure, PeerFailed
from scheduler.events import Observer
from scheduler.plan import Key, Plan, Send, SendObject
from scheduler.prepared import ABSENT, Collective, Op, Prepared, Ready, Straight, prepare
from scheduler.ready import TURN, first_failure, rank_list, run_ready

PERIOD = 1e-3
"""Seconds between two looks at the messages, if tasks are long."""


def execute(
    world: World,
    plan: Plan,
    values: dict[Key, Any],
    where: str,
    observers: Sequence[Observer] | None = None,
    flag: agreement.Flag | None = None,
) -> dict[Key, Any]:
    """Run this rank's part of a plan and return the values of its outputs.

    Parameters
    ----------
    values : dict
        A value for each key that the plan reads and does not make.
    where : str
        The user's call and line, for reports.
    observers : sequence of Observer, optional
        Who is told of tasks and messages; those of the world by default.
    flag : Flag, optional
        A bit that tasks may put up; after the run it is up if any rank's was.

    Raises
    ------
    BaseException
        What the first failing step of all ranks raised, on every rank.
    """
    table = plan.prepared
    if table is None:
        table = prepare(plan)
        object.__setattr__(plan, "prepared", table)
    store = [ABSENT] * len(table.steps)
    missing = _fill(store, table, values)
    del values
    if observers is None:
        observers = world.observers
    if world.size == 1 and table.silent and not observers and not missing:
        _run_alone(world, table, store, where)
    else:
        run = Run(world, table, store, where, observers, flag)
        for key, slot in missing:
            store[slot] = run.fail(0, ValueError(f"the plan needs a value for {key!r}"))
        run.run()
    return {key: store[slot] for key, slot in table.outputs}


def _fill(store: list[Any], table: Prepared, values: dict[Key, Any]) -> list[tuple[Key, int]]:
    """Put the given values into the store, and return the keys and slots of missing ones."""
    missing = []
    for key, slot in table.given:
        if key in values:
            store[slot] = values[key]
        else:
            missing.append((key, slot))
    return missing


def _run_alone(world: World, table: Prepared, store: list[Any], where: str) -> None:
    """Run a plan without messages where nobody waits for this rank, until something fails."""
    get = store.__getitem__
    todo: Iterator[Any] = iter(())
    number = -1
    try:
        for part in table.parts:
            number += 1
            if isinstance(part, Straight):
                todo = iter(part.lean)
                for run, inputs, output, free in todo:
                    store[output] = run(*map(get, inputs))
                    for slot in free:
                        store[slot] = ABSENT
            elif isinstance(part, Collective):
                _keep(store, part, part.stage.run(world, tuple(map(get, part.inputs))))
    except BaseException as error:
        Run(world, table, store, where, ()).run_rest(number, length_hint(todo), error)


class Run:
    """One execution on one rank.

    world, table, where, observers, flag
        what was given to `execute`;
    store, reads
        the value of each slot, and how often it will still be read;
    sent
        requests of sends on their way, with the time when they began;
    done, held
        (rank, tag) of posted sends, and sends that wait until another one has used their tag;
    step, error
        the first failing step so far, and what it raised;
    looked, period
        when messages were looked at, and how many seconds may pass until that is done again;
        virtual ranks go by the number of tasks only, so that a seed gives one schedule;
    limit, stopped
        the first step that this rank failed in: later ones are not run; and the failure after which
        nothing at all is run (Ctrl-C).
    """

    def __init__(
        self,
        world: World,
        table: Prepared,
        store: list[Any],
        where: str,
        observers: Sequence[Observer],
        flag: agreement.Flag | None = None,
    ) -> None:
        self.world = world
        self.table = table
        self.store = store
        self.where = where
        self.observers = observers
        self.flag = flag
        self.reads = table.reads.copy()
        self.sent: list[tuple[Request, float]] = []
        self.done: set[tuple[int, int]] = set()
        self.held: dict[tuple[int, int], tuple[Send | SendObject, int, Any]] = {}
        self.step = 0
        self.error: BaseException | None = None
        self.limit: float = inf
        self.stopped: Failure | None = None
        self.looked = 0.0
        self.period = inf if isinstance(world, VirtualWorld) else PERIOD

    def run(self) -> None:
        """Run all parts, complete all messages and agree on how it went."""
        start = perf_counter()
        for part in self.table.parts:
            self._run_part(part)
        if self.sent:
            self.world.wait(self._all_sent, f"{self.where}, sending to {self._receivers()}")
            self.look()
        for observer in self.observers:
            observer.run(self.world.rank, self.where, start, perf_counter())
        error, self.error, self.stopped = self.error, None, None
        try:
            agreement.close_run(self.world, self.step, error, self.where, self.flag)
        except BaseException:
            self.store.clear()  # the traceback refers to it
            raise

    def run_rest(self, number: int, left: int, error: BaseException) -> None:
        """Look for an earlier failure than that of part `number`, which had `left` tasks to go."""
        part = self.table.parts[number]
        if isinstance(part, Straight):
            program = part.program[len(part.program) - left - 1 :]
            self.store[program[0].output] = self.fail(program[0].task.step, error)
            self._run_program(program[1:])
        elif isinstance(part, Collective):
            failure = self.fail(part.number, error)
            for slot in part.outputs:
                self.store[slot] = failure
        for part in self.table.parts[number + 1 :]:
            self._run_part(part)
        first, self.error, self.stopped = self.error or error, None, None
        self.store.clear()
        raise first

    def call(self, op: Op) -> Any:
        """Return a task's value, or the Failure of it or of an input."""
        arguments = [self.store[slot] for slot in op.inputs]
        if self.error is not None:
            failure = self.stopped or first_failure(arguments)
            if failure is None and op.task.step > self.limit:
                failure = Failure(op.task.step, self.error)
            if failure is not None:
                return failure
        start = perf_counter() if self.observers else 0.0
        try:
            value = op.run(*arguments)
        except BaseException as error:
            value = self.fail(op.task.step, error)
        for observer in self.observers:
            observer.task(self.world.rank, op.task.name, start, perf_counter(), op.task.step)
        return value

    def fail(self, step: int, error: BaseException) -> Failure:
        """Note an error, if it is this rank's first: news of another rank's come last."""
        failure = Failure(step, error)
        if self.error is None or _order(step, error) < _order(self.step, self.error):
            self.step, self.error = step, error
            self.limit = inf if isinstance(error, PeerFailed) else step
        if not isinstance(error, Exception) and self.stopped is None:
            self.stopped = failure
        return failure

    def send(self, send: Send | SendObject, slot: int, value: Any) -> None:
        """Post a send, or hold it back while its tag is in use."""
        limit = self.world.tag_limit
        before = (send.dest, send.tag - limit)
        if before[1] >= 0 and before not in self.done:
            self.held[before] = (send, slot, value)
            return
        tag = send.tag % limit
        start = perf_counter() if self.observers else 0.0
        try:
            if isinstance(value, Failure):
                requests = transfer.post_failure(self.world, send, tag)
            else:
                requests = transfer.post(self.world, send, value, tag)
        except BaseException as error:
            self.fail(max(self.table.steps[slot], 0), error)
            requests = transfer.post_failure(self.world, send, tag)
        self.sent += [(request, start) for request in requests]
        self.done.add((send.dest, send.tag))
        if self.held and (send.dest, send.tag) in self.held:
            self.send(*self.held.pop((send.dest, send.tag)))

    def look(self) -> None:
        """Forget the sends that are complete."""
        self.looked = perf_counter()
        rest = []
        for request, start in self.sent:
            if not request.test():
                rest.append((request, start))
            else:
                self.report("send", request, start)
        self.sent = rest

    def report(self, kind: Literal["send", "recv"], request: Request, start: float) -> None:
        """Tell the observers that a message is complete."""
        for observer in self.observers:
            observer.message(
                kind, self.world.rank, request.peer, request.nbytes, start, perf_counter()
            )

    def _run_part(self, part: Straight | Ready | Collective) -> None:
        if isinstance(part, Straight):
            for slot, send in part.opening:
                self.send(send, slot, self.store[slot])
            for slot in part.free:
                self.store[slot] = ABSENT
            self._run_program(part.program)
        elif isinstance(part, Ready):
            run_ready(self, part)
        else:
            self._enter(part)

    def _run_program(self, program: list[Op]) -> None:
        store = self.store
        for turn, op in enumerate(program, 1):
            value = self.call(op)
            store[op.output] = value
            for send in op.sends:
                self.send(send, op.output, value)
            for slot in op.free:
                store[slot] = ABSENT
            if self.sent and (not turn % TURN or perf_counter() - self.looked > self.period):
                self.look()

    def _enter(self, part: Collective) -> None:
        inputs: Any = tuple([self.store[slot] for slot in part.inputs])
        if self.error is not None:
            inputs = first_failure(inputs) or Failure(part.number, self.error)
        try:
            outputs = part.stage.run(self.world, inputs)
            if len(outputs) != len(part.outputs):
                raise ValueError(f"stage {part.stage.name!r} returned {len(outputs)} values")
        except BaseException as error:
            outputs = (self.fail(part.number, error),) * len(part.outputs)
        _keep(self.store, part, outputs)

    def _all_sent(self) -> bool:
        return all(request.test() for request, _ in self.sent)

    def _receivers(self) -> str:
        return rank_list([request.peer for request, _ in self.sent if not request.test()])


def _keep(store: list[Any], part: Collective, outputs: Sequence[Any]) -> None:
    for slot, value in zip(part.outputs, outputs, strict=True):
        store[slot] = value
    for slot in part.free:
        store[slot] = ABSENT


def _order(step: int, error: BaseException) -> tuple[bool, int]:
    return isinstance(error, PeerFailed), step
