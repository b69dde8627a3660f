"""What one rank will do in a run: tasks, messages and stages in one order, as plain data.

A plan is immutable and holds no values, so it is made once and executed many times with other
``values``. The order of the steps is the same on all ranks and is an order in which the whole
program could run serially: what a task, a message or a stage reads stands before it, on this rank
or on the one that sends it. The engine relies on that (and only on that) to be free of deadlocks.

Every key is produced once: by a task, a receive or a stage, or it is given in ``values``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from scheduler.comm.world import PIECE

Key = Hashable

WINDOW = 256 * 2**20
"""Bytes of receives that the engine keeps posted, unless ``world.state["window"]`` says else."""


@dataclass(frozen=True, slots=True)
class Task:
    """Call ``run(*values of inputs)`` and keep what it returns under ``output``.

    ``step`` orders failures: the first failing step of all ranks is the one that is raised. It is
    the index of the task's step in the plan, or its position in an explicit graph.
    """

    name: str
    run: Callable[..., Any]
    inputs: tuple[Key, ...]
    output: Key | None
    step: int = 0


@dataclass(frozen=True, slots=True)
class Send:
    """Send ``nbytes > 0`` bytes of a value to rank ``dest``.

    ``pack(value)`` gives a C-contiguous buffer; None: the value is one. ``copies`` says that what
    ``pack`` returns is fresh memory, which the world may overwrite once it is sent. ``tag`` is the
    running number of the piece among all messages of the pair (this rank, ``dest``) in the plan.
    """

    key: Key
    dest: int
    pack: Callable[[Any], Any] | None
    nbytes: int
    tag: int
    copies: bool = False


@dataclass(frozen=True, slots=True)
class Recv:
    """Receive ``nbytes`` bytes from rank ``source`` into ``make(*values of inputs)``.

    The buffer, C-contiguous and writable, becomes the value of ``key``; it may be a view of a
    brick that an earlier task allocated.
    """

    key: Key
    source: int
    make: Callable[..., Any]
    inputs: tuple[Key, ...]
    nbytes: int
    tag: int


@dataclass(frozen=True, slots=True)
class SendObject:
    """Send any value that can be pickled to rank ``dest``."""

    key: Key
    dest: int
    tag: int


@dataclass(frozen=True, slots=True)
class RecvObject:
    """Receive a value of unknown size from rank ``source``."""

    key: Key
    source: int
    tag: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step as far as a rank does it: tasks, and the messages from and to them, in order."""

    name: str
    tasks: tuple[Task, ...] = ()
    sends: tuple[Send | SendObject, ...] = ()
    recvs: tuple[Recv | RecvObject, ...] = ()


@dataclass(frozen=True, slots=True)
class Stage:
    """A collective that all ranks enter in order: ``run(world, values)`` gives all ``outputs``.

    ``values`` is the tuple of the inputs, or a `scheduler.errors.Failure` if this rank has failed
    before: the stage must then take part with status "failed" and raise ``PeerFailed``.
    """

    name: str
    run: Callable[[Any, Any], tuple[Any, ...]]
    inputs: tuple[Key, ...] = ()
    outputs: tuple[Key, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Plan:
    """Steps and stages of one rank, and the keys whose values `scheduler.engine.execute` returns.

    ``prepared`` is the engine's dependency table, filled in at the first execution.
    """

    steps: tuple[Step | Stage, ...]
    outputs: tuple[Key, ...] = ()
    prepared: Any = field(default=None, init=False, repr=False)


def recv_inputs(recv: Recv | RecvObject) -> tuple[Key, ...]:
    """Keys that must be there before a receive is posted."""
    return recv.inputs if isinstance(recv, Recv) else ()


def cuts(nbytes: int) -> Iterator[tuple[int, int]]:
    """Bounds of the MPI messages that a piece of ``nbytes`` is sent in.

    >>> list(cuts(100))
    [(0, 100)]
    """
    for start in range(0, nbytes, PIECE):
        yield start, min(start + PIECE, nbytes)


def check(plan: Plan, given: Sequence[Key] | None = None) -> None:
    """Raise ValueError if a plan breaks a rule of this module.

    ``given`` are the keys that will be in ``values``; None: whatever the plan doesn't produce.
    """
    known: set[Key] = set() if given is None else set(given)
    produced = set(_produced(plan))
    _check_once(plan, known)
    for step in plan.steps:
        if isinstance(step, Step):
            known.update(recv.key for recv in step.recvs)
            _check_messages(step)
        for what, reads, makes in _operations(step):
            missing = [key for key in reads if key not in known]
            if given is None:
                missing = [key for key in missing if key in produced]
            if missing:
                raise ValueError(f"{what} in step {step.name!r} reads {missing[0]!r} too early")
            known.update(makes)
    wanted = [key for key in plan.outputs if given is not None and key not in known]
    if wanted:
        raise ValueError(f"nothing in the plan makes its output {wanted[0]!r}")
    _check_tags(plan)


def check_together(plans: Sequence[Plan]) -> None:
    """Raise ValueError unless each message of the ranks' plans has its partner, in one order."""
    for source, plan in enumerate(plans):
        check(plan)
        for dest, other in enumerate(plans):
            sent = [_shape(m) for m in _messages(plan, "sends") if m.dest == dest]
            got = [_shape(m) for m in _messages(other, "recvs") if m.source == source]
            if sent != got:
                raise ValueError(f"rank {source} sends {sent} to {dest}, which expects {got}")
    kinds = [[(type(step).__name__, step.name) for step in plan.steps] for plan in plans]
    if any(kind != kinds[0] for kind in kinds):
        raise ValueError("the ranks' plans have different steps")


def _operations(step: Step | Stage) -> Iterator[tuple[str, tuple[Key, ...], tuple[Key, ...]]]:
    """Yield (description, keys read, keys made) of all that a step does, in order."""
    if isinstance(step, Stage):
        yield "the stage", step.inputs, step.outputs
        return
    for task in step.tasks:
        yield f"task {task.name!r}", task.inputs, () if task.output is None else (task.output,)
    for send in step.sends:
        yield f"the send to rank {send.dest}", (send.key,), ()
    for recv in step.recvs:
        yield f"the receive from rank {recv.source}", recv_inputs(recv), (recv.key,)


def _produced(plan: Plan) -> Iterator[Key]:
    for step in plan.steps:
        for _, _, makes in _operations(step):
            yield from makes


def _check_once(plan: Plan, given: set[Key]) -> None:
    seen = set(given)
    for key in _produced(plan):
        if key in seen:
            raise ValueError(f"key {key!r} is produced twice")
        seen.add(key)


def _check_messages(step: Step) -> None:
    for message in (*step.sends, *step.recvs):
        if isinstance(message, Send | Recv) and message.nbytes <= 0:
            raise ValueError(f"empty message for {message.key!r} in step {step.name!r}")


def _messages(plan: Plan, kind: str) -> Iterator[Any]:
    for step in plan.steps:
        if isinstance(step, Step):
            yield from getattr(step, kind)


def _check_tags(plan: Plan) -> None:
    for kind, peer in (("sends", "dest"), ("recvs", "source")):
        count: Counter[int] = Counter()
        for message in _messages(plan, kind):
            rank = getattr(message, peer)
            if message.tag != count[rank]:
                raise ValueError(
                    f"message {count[rank]} of {kind} with rank {rank} has tag {message.tag}"
                )
            count[rank] += 1


def _shape(message: Any) -> tuple[int, int | None]:
    return message.tag, getattr(message, "nbytes", None)
