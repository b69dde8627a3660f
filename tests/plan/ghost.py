"""Worlds without ranks: a rank's plan is made with no data, messages or other ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scheduler import World
from scheduler.plan import Plan, Recv, Send, Stage, Step, Task, check, check_together
from taskarr.api import Array
from taskarr.arrays import node_of
from taskarr.backend import numpy_backend
from taskarr.config import Settings
from taskarr.evaluate import collect, graph_of
from taskarr.expr import Held, held
from taskarr.ops.operands import layout_for
from taskarr.optimize import Graph, Node, Pass, passes, reused
from taskarr.plan.build import build
from taskarr.plan.compile import Compiled, compiled
from taskarr.plan.recorder import ARGS, BACKEND, brick_key
from taskarr.plan.stages import DenseExchange
from taskarr.plan.tasks import RunBlocks
from taskarr.runtime import PlanCache, Runtime

Make = Callable[..., Array]
Program = Callable[[Make], Any]
"""Gets a maker of arrays, ``make(shape, **layout)``; returns the array or arrays to be computed.

Other arrays that it wants kept are returned behind them, in a list.
"""


class Ghost(World):
    """One rank of a job that does not exist: it can be planned for, and that is all."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("planning communicates")

    isend = irecv = wait = idle = _refuse
    _allgather = _allreduce = _alltoall = _alltoallv = _bcast = _refuse


@dataclass(frozen=True)
class Planned:
    """A rank's plan of a program, and what it was made from."""

    graph: Graph
    wanted: frozenset[int]
    rank: int
    size: int
    plan: Plan

    @property
    def passes(self) -> list[Pass]:
        """Passes of the program, the same on all ranks."""
        return passes(reused(self.graph, set(self.wanted)), set(self.wanted))

    @property
    def compiled(self) -> list[Compiled]:
        """Programs of the passes."""
        graph, work = reused(self.graph, set(self.wanted)), self.passes
        stored = frozenset(root for w in work for root in w.roots)
        return [compiled(graph, w, stored) for w in work]

    @property
    def steps(self) -> list[Step]:
        """Steps, without the stages."""
        return [step for step in self.plan.steps if isinstance(step, Step)]

    @property
    def stages(self) -> list[Stage]:
        """Stages, without the steps."""
        return [stage for stage in self.plan.steps if isinstance(stage, Stage)]

    @property
    def tasks(self) -> list[Task]:
        """All tasks."""
        return [task for step in self.steps for task in step.tasks]

    @property
    def sweeps(self) -> list[RunBlocks]:
        """What the tasks that compute blocks run."""
        return [task.run for task in self.tasks if isinstance(task.run, RunBlocks)]

    @property
    def sends(self) -> list[Send]:
        """All messages from this rank."""
        return [m for step in self.steps for m in step.sends if isinstance(m, Send)]

    @property
    def recvs(self) -> list[Recv]:
        """All messages to this rank."""
        return [m for step in self.steps for m in step.recvs if isinstance(m, Recv)]

    @property
    def dense(self) -> list[DenseExchange]:
        """All-to-all exchanges."""
        return [stage.run for stage in self.stages if isinstance(stage.run, DenseExchange)]


def targets_of(found: Any) -> tuple[list[Any], Any]:
    """Expressions to be computed of what a program returned."""
    first = found[0] if isinstance(found, tuple) and isinstance(found[-1], list) else found
    arrays = first if isinstance(first, tuple) else (first,)
    return [node_of(x) for x in arrays], found


def wanted_of(nodes: Sequence[Any], targets: Sequence[Any]) -> frozenset[int]:
    """Positions that a run stores: its targets and what a live array shows."""
    goal = {id(node) for node in targets}
    return frozenset(k for k, x in enumerate(nodes) if x.holders or id(x) in goal)


def plan_for(program: Program, rank: int, size: int, block: int = 40) -> Planned:
    """One rank's plan; it passes the scheduler's check."""
    world = Ghost(rank, size)
    settings = Settings(block=block, replicate=False)
    world.state["taskarr"] = Runtime(world, settings, numpy_backend(0), PlanCache())

    def make(shape: Any, dtype: Any = "f8", **layout: Any) -> Array:
        kind = np.dtype(dtype)
        return Array._of(held(None, kind, layout_for(world, shape, kind, **layout), world))

    targets, alive = targets_of(program(make))
    nodes = collect(targets)
    graph, wanted = graph_of(nodes), wanted_of(nodes, targets)
    plan = build(graph, wanted, rank, size)
    check(plan, given(graph, rank))
    del alive
    return Planned(graph, wanted, rank, size, plan)


def given(graph: Sequence[Node], rank: int) -> list[Any]:
    """Keys whose values a run has before it starts."""
    at_hand = [
        brick_key(k)
        for k, node in enumerate(graph)
        if isinstance(node.op, Held) and node.layout.brick(rank) is not None
    ]
    return [BACKEND, ARGS, *at_hand]


def plans_for(program: Program, size: int, block: int = 40) -> list[Planned]:
    """All ranks' plans; their messages fit together."""
    found = [plan_for(program, rank, size, block) for rank in range(size)]
    check_messages([p.plan for p in found])
    return found


def check_messages(plans: Sequence[Plan]) -> None:
    """Assert that sends and receives match one to one, in the same steps of all ranks."""
    check_together(plans)
    sent, got = defaultdict(list), defaultdict(list)
    for rank, plan in enumerate(plans):
        for number, step in enumerate(plan.steps):
            if isinstance(step, Step):
                assert all(task.step == number for task in step.tasks)
                for send in step.sends:
                    sent[rank, send.dest].append((send.tag, send.nbytes, number))
                for recv in step.recvs:
                    got[recv.source, rank].append((recv.tag, recv.nbytes, number))
    assert sent == got
    assert not any(source == dest for source, dest in sent)
    check_stages(plans)


def check_stages(plans: Sequence[Plan]) -> None:
    """Assert that what ranks give in all-to-all exchanges is what the others take."""
    exchanges = [
        [s.run for s in p.steps if isinstance(s, Stage) and isinstance(s.run, DenseExchange)]
        for p in plans
    ]
    for together in zip(*exchanges, strict=True):
        for a, mine in enumerate(together):
            for b, other in enumerate(together):
                outgoing = [region for peer, region in mine.outgoing if peer == b]
                assert outgoing == [region for peer, region in other.incoming if peer == a]
                assert a != b or not outgoing
