"""The engine's dependency table of a plan: keys as slot numbers, who reads them, when they die.

It is computed once for a plan and holds no values, so that a run copies two lists of counts and
starts. A plan falls into parts: a `Collective` for each stage and what stands between two stages,
as a `Straight` program if nothing is received there (its order never changes), else as a
`Ready` graph that is run by readiness.

A slot is freed after its last read. If that is in a straight program or a stage, the place is
known here (``free``); if it is in a ready graph, the reads are counted down (``reads``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from scheduler.plan import (
    Key,
    Plan,
    Recv,
    RecvObject,
    Send,
    SendObject,
    Stage,
    Step,
    Task,
    check,
    recv_inputs,
)

Slots = tuple[int, ...]

ABSENT: Any = type("Absent", (), {"__slots__": (), "__repr__": lambda self: "<absent>"})()
"""What a slot without a value holds."""

GIVEN = -1
"""Step number of what the plan doesn't make."""


class Op(NamedTuple):
    """A task on slots: ``uses`` are its distinct inputs, ``free`` what dies with it."""

    run: Any
    inputs: Slots
    output: int
    uses: Slots
    free: Slots
    sends: tuple[Send | SendObject, ...]
    task: Task


class Arrival(NamedTuple):
    """A receive on slots."""

    recv: Recv | RecvObject
    inputs: Slots
    output: int


@dataclass(slots=True)
class Straight:
    """Tasks in a fixed order; ``opening`` sends have their values at the start."""

    name: str
    program: list[Op]
    opening: list[tuple[int, Send | SendObject]]
    free: Slots
    lean: list[tuple[Any, Slots, int, Slots]]


@dataclass(slots=True)
class Ready:
    """Tasks by readiness: ``missing`` inputs of each, ``readers`` of each slot, what is ready."""

    name: str
    ops: list[Op]
    arrivals: list[Arrival]
    opening: list[tuple[int, Send | SendObject]]
    missing: list[int]
    readers: dict[int, Slots]
    ready: list[int]
    sends: dict[int, list[Send | SendObject]]


@dataclass(slots=True)
class Collective:
    """A stage on slots."""

    stage: Stage
    number: int
    inputs: Slots
    outputs: Slots
    free: Slots


@dataclass(slots=True)
class Prepared:
    """All parts of a plan.

    ``given`` are the keys that the values of a run must have; ``steps[slot]`` is the step number
    of what produces a slot; ``reads[slot]`` how often ready graphs read it, and one more if it
    isn't for them to free it; ``silent`` that there are no messages. The last slot takes the
    outputs of tasks that have none.
    """

    parts: list[Straight | Ready | Collective]
    given: list[tuple[Key, int]]
    outputs: list[tuple[Key, int]]
    steps: list[int]
    reads: list[int]
    silent: bool


def prepare(plan: Plan) -> Prepared:
    """Return the dependency table of a plan.

    Raises
    ------
    ValueError
        The plan breaks a rule of `scheduler.plan`.
    """
    check(plan)
    slots = _slots(plan)
    steps = [GIVEN] * (len(slots) + 1)
    for key, number in _producers(plan):
        steps[slots[key]] = number
    outputs = [(key, slots[key]) for key in plan.outputs]
    given = [(key, slot) for key, slot in slots.items() if steps[slot] == GIVEN]
    groups = list(_groups(plan))
    kept = {slot for _, slot in outputs}
    mortal = _mortal(groups, slots, kept)
    present = {slot for _, slot in given}
    parts: list[Straight | Ready | Collective] = []
    for index, group in enumerate(groups):
        parts.append(_part(group, slots, present, mortal[index]))
        present.update(slots[key] for step, _ in group for key in _made(step))
    reads = _reads(parts, mortal, len(steps))
    silent = not any(isinstance(part, Ready) or _sends(part) for part in parts)
    return Prepared(parts, given, outputs, steps, reads, silent)


def _slots(plan: Plan) -> dict[Key, int]:
    slots: dict[Key, int] = {}
    for step in plan.steps:
        for key in _keys(step):
            slots.setdefault(key, len(slots))
    for key in plan.outputs:
        slots.setdefault(key, len(slots))
    return slots


Group = list[tuple[Step | Stage, int]]


def _groups(plan: Plan) -> Iterator[Group]:
    """Stages alone, and the runs of steps between them, each with its index."""
    group: Group = []
    for number, step in enumerate(plan.steps):
        if isinstance(step, Stage):
            if group:
                yield group
            yield [(step, number)]
            group = []
        else:
            group.append((step, number))
    if group:
        yield group


def _keys(step: Step | Stage) -> Iterator[Key]:
    yield from _read(step)
    yield from _made(step)


def _read(step: Step | Stage) -> Iterator[Key]:
    if isinstance(step, Stage):
        yield from step.inputs
        return
    for task in step.tasks:
        yield from task.inputs
    for send in step.sends:
        yield send.key
    for recv in step.recvs:
        yield from recv_inputs(recv)


def _made(step: Step | Stage) -> Iterator[Key]:
    if isinstance(step, Stage):
        yield from step.outputs
        return
    for task in step.tasks:
        if task.output is not None:
            yield task.output
    for recv in step.recvs:
        yield recv.key


def _producers(plan: Plan) -> Iterator[tuple[Key, int]]:
    """Each key that the plan makes, with the step number of its failure."""
    for number, step in enumerate(plan.steps):
        if isinstance(step, Stage):
            yield from ((key, number) for key in step.outputs)
            continue
        yield from ((task.output, task.step) for task in step.tasks if task.output is not None)
        yield from ((recv.key, number) for recv in step.recvs)


def _mortal(groups: list[Group], slots: dict[Key, int], kept: set[int]) -> list[set[int]]:
    """For each part the slots that die in it: it reads them last, or makes them for nobody."""
    last: dict[int, int] = {}
    for index, group in enumerate(groups):
        for step, _ in group:
            for key in _keys(step):
                last[slots[key]] = index
    mortal: list[set[int]] = [set() for _ in groups]
    for slot, index in last.items():
        if slot not in kept:
            mortal[index].add(slot)
    return mortal


def _part(
    group: Group, slots: dict[Key, int], present: set[int], mortal: set[int]
) -> Straight | Ready | Collective:
    first, number = group[0]
    if isinstance(first, Stage):
        inputs = tuple(slots[key] for key in first.inputs)
        outputs = tuple(slots[key] for key in first.outputs)
        free = tuple(slot for slot in dict.fromkeys(inputs + outputs) if slot in mortal)
        return Collective(first, number, inputs, outputs, free)
    steps = [step for step, _ in group if isinstance(step, Step)]
    ready = _ready(steps, slots, present)
    order = _serial_order(ready, present)
    return ready if ready.arrivals else _straight(ready, order, mortal)


def _ready(steps: list[Step], slots: dict[Key, int], present: set[int]) -> Ready:
    trash = len(slots)
    sends: dict[int, list[Send | SendObject]] = {}
    opening: list[tuple[int, Send | SendObject]] = []
    for step in steps:
        for send in step.sends:
            slot = slots[send.key]
            if slot in present:
                opening.append((slot, send))
            else:
                sends.setdefault(slot, []).append(send)
    ops: list[Op] = []
    arrivals: list[Arrival] = []
    for step in steps:
        for task in step.tasks:
            inputs = tuple([slots[key] for key in task.inputs])
            output = trash if task.output is None else slots[task.output]
            uses = inputs if len(inputs) < 2 else tuple(dict.fromkeys(inputs))
            out = tuple(sends.get(output, ()))
            ops.append(Op(task.run, inputs, output, uses, (), out, task))
        for recv in step.recvs:
            wanted = tuple([slots[key] for key in recv_inputs(recv)])
            arrivals.append(Arrival(recv, wanted, slots[recv.key]))
    readers: dict[int, list[int]] = {}
    missing = []
    for index, op in enumerate(ops):
        waits = [slot for slot in op.uses if slot not in present]
        missing.append(len(waits))
        for slot in waits:
            readers.setdefault(slot, []).append(index)
    first = [index for index, count in enumerate(missing) if not count]
    # both are pushed on a stack: the last is run first
    backward = {slot: tuple(reversed(indices)) for slot, indices in readers.items()}
    name = ", ".join(dict.fromkeys(step.name for step in steps))
    return Ready(name, ops, arrivals, opening, missing, backward, first[::-1], sends)


def _serial_order(ready: Ready, present: set[int]) -> list[Op]:
    """Depth-first order of the tasks if messages took no time; shows that there is an order."""
    order: list[Op] = []
    missing, stack, known = ready.missing.copy(), ready.ready.copy(), set(present)

    def arrive(slot: int) -> None:
        known.add(slot)
        for reader in ready.readers.get(slot, ()):
            missing[reader] -= 1
            if not missing[reader]:
                stack.append(reader)

    def run_tasks() -> None:
        while stack:
            order.append(ready.ops[stack.pop()])
            arrive(order[-1].output)

    run_tasks()
    for arrival in ready.arrivals:
        if not known.issuperset(arrival.inputs):
            raise ValueError(f"the buffer of {arrival.recv.key!r} depends on later messages")
        arrive(arrival.output)
        run_tasks()
    return order


def _straight(ready: Ready, order: list[Op], mortal: set[int]) -> Straight:
    """Mark what dies where in a fixed order of tasks."""
    dead = set(mortal)
    program = []
    for op in reversed(order):
        free = [slot for slot in dict.fromkeys((*op.uses, op.output)) if slot in dead]
        dead.difference_update(free)
        if op.task.output is None:
            free.append(op.output)
        program.append(op._replace(free=tuple(free)))
    program.reverse()
    lean = [(op.run, op.inputs, op.output, op.free) for op in program]
    opened = {slot for slot, _ in ready.opening}
    opened_free = tuple(sorted(opened & dead))
    return Straight(ready.name, program, ready.opening, opened_free, lean)


def _reads(
    parts: list[Straight | Ready | Collective], mortal: list[set[int]], size: int
) -> list[int]:
    reads = [1] * size
    for part, dying in zip(parts, mortal, strict=True):
        if isinstance(part, Ready):
            for slot in dying:
                reads[slot] -= 1
            for slot in _all_reads(part):
                reads[slot] += 1
    reads[-1] = 0
    return reads


def _all_reads(part: Ready) -> Iterable[int]:
    for op in part.ops:
        yield from op.uses
    for slot, _ in part.opening:
        yield slot
    for slot, sends in part.sends.items():
        yield from (slot for _ in sends)
    for arrival in part.arrivals:
        yield from arrival.inputs


def _sends(part: Straight | Ready | Collective) -> bool:
    return isinstance(part, Straight) and bool(part.opening or any(op.sends for op in part.program))
