"""Building a rank's plan: for each pass an exchange, block tasks, trees and counts."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from scheduler.plan import Plan
from taskarr.expr import (
    Filtered,
    Gather,
    Held,
    Op,
    Put,
    Reshaped,
    Scan,
    Scatter,
    Stored,
    Stretches,
)
from taskarr.geometry.layout import Layout
from taskarr.geometry.region import Box, as_region, box_shape, box_size, contains, slices
from taskarr.geometry.view import Affine
from taskarr.kernel.reduction import Key as BlockKey
from taskarr.optimize import Graph, Pass, passes, reused
from taskarr.plan import exchange
from taskarr.plan.compile import Compiled, compiled
from taskarr.plan.gather import gather_steps, scatter_steps
from taskarr.plan.recorder import (
    ARGS,
    BACKEND,
    Key,
    OpenStep,
    Recorder,
    brick_key,
    counts_key,
    raw_key,
)
from taskarr.plan.reduce import first_blocks, groups, reduction_steps
from taskarr.plan.scan import scan_steps
from taskarr.plan.stages import CountRows
from taskarr.plan.stretches import stretch_steps
from taskarr.plan.tasks import (
    Allocate,
    Collect,
    Reform,
    RunBlocks,
    SourceParts,
    ViewBrick,
    block_boxes,
    first_of,
)
from taskarr.plan.transfer import Part, Target, copy_step, exchange_step

RUN = 1 << 22
"""Elements of a task: neighbouring blocks are run together up to this size."""

BARE_RUN = 4 * RUN
"""Elements of a task without calls, which just reads them."""


STEPS: dict[type[Op], Callable[[Recorder, Graph, int, int], None]] = {
    Gather: gather_steps,
    Scatter: scatter_steps,
    Scan: scan_steps,
    Stretches: stretch_steps,
}
"""What records the steps of an operation from bricks to bricks."""


def build(
    graph: Graph,
    wanted: frozenset[int],
    rank: int,
    size: int,
    staged: bool = False,
    large: frozenset[int] = frozenset(),
) -> Plan:
    """Plan a graph for one rank.

    Parameters
    ----------
    graph
        Nodes in an order in which inputs come first.
    wanted
        Positions whose bricks the run keeps.
    rank, size
        The rank, and the number of ranks.
    staged
        Whether arrays lie on a device; see `plan.staging`.
    large
        Positions that are not stored on the way, but computed by every pass that reads them.

    Returns
    -------
    Plan
        Needs `BACKEND`, `ARGS` and the bricks of held nodes; gives the wanted bricks.
    """
    graph = reused(graph, set(wanted))
    work = passes(graph, set(wanted), large)
    return _Builder(graph, wanted, work, rank, staged).plan()


class _Builder:
    """Plans the passes of a graph, one after the other.

    State: the recorder with the steps so far, and the keys of the last pass's tasks, which run
    before the next pass takes memory.
    """

    def __init__(
        self,
        graph: Graph,
        wanted: frozenset[int],
        work: list[Pass],
        rank: int,
        staged: bool = False,
    ) -> None:
        self.graph, self.wanted, self.work, self.rank = graph, wanted, work, rank
        self.recorder = Recorder(staged)
        self.stored = frozenset(root for w in work for root in w.roots)
        self.before: list[Key] = []

    def plan(self) -> Plan:
        """Plan all passes in order."""
        for number, work in enumerate(self.work):
            if isinstance(self.graph[work.roots[0]].op, Stored):
                self._stored(work.roots[0])
            else:
                self._pass(number, work, compiled(self.graph, work, self.stored))
        outputs: list[Key] = []
        for root in sorted(self.wanted & self.stored):
            if isinstance(self.graph[root].op, Filtered):
                outputs += [brick_key(root), counts_key(root)]
            elif self.graph[root].layout.brick(self.rank) is not None:
                outputs.append(brick_key(root))
        return self.recorder.plan(outputs)

    def _pass(self, number: int, work: Pass, made: Compiled) -> None:
        space, name = work.space, _name(self.graph, work)
        box = space.brick(self.rank)
        parts = [self._part(p, source) for p, source in _sources(self.graph, made)]
        self._allocate(name, made, box)
        target = Target(made.outputs[0], box) if self._is_plain_copy(made, parts) else None
        for k, part in enumerate(parts):
            exchange_step(self.recorder, (number, k), part, space, self.rank, target)
        if target:
            copy_step(self.recorder, name, parts[0], target)
            return
        runs = self._run(number, name, space, made, box, parts)
        self.before = runs or self.before
        shared = groups(space, made.program)
        for k, group in enumerate(shared):
            roots = tuple(made.folds[f] for f in group.folds)
            reduction_steps(
                self.recorder, (number, k), name, self.graph, space, group, roots, runs, self.rank
            )
        for k, root in enumerate(made.filters):
            self._count(name, root, len(shared) + k, space, runs)

    def _stored(self, root: int) -> None:
        """Record the steps of an operation from bricks to bricks."""
        node = self.graph[root]
        record = STEPS.get(type(node.op))
        if record is not None:
            record(self.recorder, self.graph, root, self.rank)
            return
        assert isinstance(node.op, Reshaped), node.op
        step, box = self.recorder.step("reshape"), node.layout.brick(self.rank)
        if box is not None:
            step.task(Reform(box_shape(box)), (brick_key(node.inputs[0]),), brick_key(root))

    def _part(self, position: int, source: exchange.Source) -> Part:
        node = self.graph[position]
        label = f"{node.op.token[0]}{list(node.shape)}"
        return Part(position, source, node.dtype, source.layout.brick(self.rank), label)

    def _is_plain_copy(self, made: Compiled, parts: list[Part]) -> bool:
        return (
            made.program.is_copy
            and parts[0].source.views[0].is_identity
            and not isinstance(self.graph[made.outputs[0]].op, Put)
        )

    def _allocate(self, name: str, made: Compiled, box: Box | None) -> None:
        step = self.recorder.step(f"allocate {name}")
        if box is None:
            return
        for root in made.outputs:
            node = self.graph[root]
            if isinstance(node.op, Put):
                brick = node.layout.brick(self.rank)
                assert brick is not None
                view = ViewBrick(brick, node.op.view, box)
                step.task(view, (brick_key(node.inputs[0]),), raw_key(root))
            else:
                allocate = Allocate(box_shape(box), node.dtype)
                step.task(allocate, (BACKEND, *self.before), raw_key(root))
        for root, chosen in zip(made.filters, made.program.filters, strict=True):
            shape, dtype = box_shape(box), self.graph[root].dtype
            room = (prod(shape[: chosen.mask_ndim]), *shape[chosen.mask_ndim :])
            mask = self.graph[root].inputs[1]
            part = self._held_part(mask, box[: chosen.mask_ndim])
            known = () if part is None else (brick_key(mask),)
            step.task(Collect(room, dtype, part), (BACKEND, *known, *self.before), raw_key(root))

    def _held_part(self, position: int, box: Box) -> tuple[slice, ...] | None:
        """Slices of this rank's brick of a held node that show a box; None if it has not all."""
        node = self.graph[position]
        brick = node.layout.brick(self.rank) if isinstance(node.op, Held) else None
        if brick is None or not box_size(box) or not contains(brick, as_region(box)):
            return None
        return slices(as_region(box), (lo for lo, _ in brick))

    def _run(
        self,
        number: int,
        name: str,
        space: Layout,
        made: Compiled,
        box: Box | None,
        parts: list[Part],
    ) -> list[Key]:
        """Record the block tasks; gives the keys of what they return."""
        step = self.recorder.step(name)
        runs: list[Key] = []
        if box is not None:
            raws = [raw_key(root) for root in (*made.outputs, *made.filters)]
            shared = tuple(groups(space, made.program))
            most = RUN if made.program.calls else BARE_RUN
            for blocks, chosen in _run_lists(space, box, parts, most):
                inputs: list[Key] = [BACKEND, ARGS, *raws]
                for _, keys in chosen:
                    inputs += keys
                if made.filters:  # what is kept is appended in the order of the blocks
                    inputs += runs[-1:]
                run = RunBlocks(
                    made.program,
                    tuple(b for _, b in blocks),
                    tuple(k for k, _ in blocks),
                    tuple(lo for lo, _ in box),
                    len(made.outputs),
                    tuple(p for p, _ in chosen),
                    shared,
                )
                runs.append(step.task(run, inputs, ("ran", number, len(runs))))
        self._store(step, made, box, runs)
        return runs

    def _store(self, step: OpenStep, made: Compiled, box: Box | None, runs: list[Key]) -> None:
        """Give the output bricks their names once all tasks have filled them."""
        for root in made.outputs:
            node = self.graph[root]
            if isinstance(node.op, Put) and node.layout.brick(self.rank) is not None:
                step.task(first_of, (brick_key(node.inputs[0]), *runs), brick_key(root))
            elif box is not None:
                step.task(first_of, (raw_key(root), *runs), brick_key(root))

    def _count(self, name: str, root: int, at: int, space: Layout, runs: list[Key]) -> None:
        name = f"count {name}"
        stage = CountRows(at, len(space.axes[0].bounds) - 1, space.replicated, name)
        mine = space.brick(self.rank) is not None
        inputs = (BACKEND, raw_key(root), *runs) if mine else (BACKEND,)
        self.recorder.stage(name, stage, inputs, (counts_key(root), brick_key(root)))


def _sources(graph: Graph, made: Compiled) -> list[tuple[int, exchange.Source]]:
    views: list[dict[Affine, None]] = [{} for _ in made.sources]
    for leaf in made.program.leaves:
        if leaf.kind == "array":
            views[leaf.source][leaf.view] = None
    return [
        (p, exchange.Source(graph[p].layout, tuple(v), graph[p].dtype.itemsize))
        for p, v in zip(made.sources, views, strict=True)
    ]


def _run_lists(
    space: Layout, box: Box, parts: Sequence[Part], most: int
) -> list[tuple[list[tuple[BlockKey, Box]], list[tuple[SourceParts, list[Key]]]]]:
    """Blocks of a brick in tasks: neighbours that read the same pieces, up to ``most`` elements."""
    blocks = block_boxes(space.blocks(box), first_blocks(space, box))
    far = any(part.received for part in parts)
    found: list[Any] = []
    size = 0
    for key, block in blocks:
        chosen = [part.parts_for(block if far else None) for part in parts]
        size += box_size(block)
        if found and size <= most and found[-1][1] == chosen:
            found[-1][0].append((key, block))
        else:
            found.append(([(key, block)], chosen))
            size = box_size(block)
    return found


def _name(graph: Graph, work: Pass) -> str:
    """Name a pass, for traces, by its roots' operations."""
    return "+".join(dict.fromkeys(str(graph[root].op.token[0]) for root in work.roots))
