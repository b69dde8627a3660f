"""Steps of scans: blocks accumulated where they are, and the carry from owner to owner.

Along the axis, what a block is joined to depends on all blocks before it. The first owner knows
it and is done in one go; the others accumulate their blocks by themselves, meanwhile::

    owner 0   through ──► carry
    owner 1   alone         └──► total ──► carry     join
    owner 2   alone                          └──► total     join

Where parts can't be joined, each owner waits for the carry and then goes ``through`` its own.

``total`` reads the last row of each part only, so that the carry, a row of the array, is soon with
the last owner; then all join their parts to what stands before them, at the same time. Totals are
combined in the order of the parts, so the bits don't depend on the owners.
"""

from collections.abc import Iterator
from itertools import pairwise, product
from math import prod
from typing import Any

import numpy as np

from taskarr.expr import Scan
from taskarr.geometry.layout import Layout
from taskarr.geometry.region import Box, box_shape, box_size
from taskarr.optimize import Graph
from taskarr.plan.carries import Alone, Carry, Column, Columns, Runs, TakeCarries, pack_carries
from taskarr.plan.recorder import BACKEND, Key, OpenStep, Recorder, brick_key, raw_key
from taskarr.plan.tasks import Allocate, Make, first_of

RUN = 1 << 22
"""Elements of a task: neighbouring blocks are accumulated together up to this size."""

BYTES = np.dtype("u1")


def scan_steps(recorder: Recorder, graph: Graph, root: int, rank: int) -> None:
    """Record how a rank gets its brick of a scan.

    Parameters
    ----------
    graph, root
        The node; its input has the same layout.
    """
    node = graph[root]
    assert isinstance(node.op, Scan)
    name = f"{node.op.what.name}.accumulate{list(node.shape)}"
    between = neighbours(node.layout, node.op.axis, rank)
    box = node.layout.brick(rank)
    _Scan(recorder, root, node.inputs[0], node.op, box, between).record(name, node.layout)


Neighbours = tuple[int | None, int | None]


def owners(layout: Layout, axis: int) -> np.ndarray:
    """Mesh coordinates along an axis of those that have elements."""
    cut = layout.axes[axis].cut
    return np.flatnonzero(cut[:-1] < cut[1:])


def neighbours(layout: Layout, axis: int, rank: int) -> Neighbours:
    """Ranks that have the elements before and behind this rank's along an axis; None at an end."""
    coordinates = layout.coordinates(rank)
    if layout.replicated or coordinates is None or layout.brick(rank) is None:
        return None, None
    here, every = coordinates[axis], owners(layout, axis)
    at = int(np.searchsorted(every, here))

    def peer(k: int) -> int | None:
        inside = 0 <= k < len(every)
        return rank + int(every[k] - here) * layout.axes[axis].stride if inside else None

    return peer(at - 1), peer(at + 1)


class _Scan:
    """Records the steps of one scan on one rank.

    State: where steps go; positions of the node and its input; the operation; this rank's brick;
    its neighbours along the axis; the keys of the last tasks that touch the output.
    """

    def __init__(
        self,
        recorder: Recorder,
        root: int,
        source: int,
        op: Scan,
        box: Box | None,
        between: Neighbours,
    ) -> None:
        self.recorder, self.root, self.op, self.box = recorder, root, op, box
        self.bricks = (brick_key(source), raw_key(root))
        self.before, self.behind = between
        self.done: list[Key] = []

    def record(self, name: str, layout: Layout) -> None:
        """Record all steps; ranks without a part in one an empty one."""
        dtype = self.op.what.dtype
        step = self.recorder.step(f"allocate {name}")
        if self.box is not None:
            step.task(Allocate(box_shape(self.box), dtype), (BACKEND,), raw_key(self.root))
        groups = [] if self.box is None else list(_groups(layout, self.box, self.op.axis))
        step = self.recorder.step(name)
        carries = [self._first(step, g, runs) for g, runs in enumerate(groups)]
        if not layout.replicated and len(owners(layout, self.op.axis)) > 1:
            step = self.recorder.step(f"carry {name}")
            taken = self._carry(step, groups, carries)
            step = self.recorder.step(f"join {name}")
            if taken and self.op.what.joins:
                self.done = [
                    self._along(step, "join", g, runs, taken[g]) for g, runs in enumerate(groups)
                ]
        if self.box is not None:
            step.task(first_of, (raw_key(self.root), *self.done), brick_key(self.root))

    def _first(self, step: OpenStep, g: int, runs: Runs) -> Key:
        """Record the first tasks of a group of columns; gives the key of its carries, or None."""
        if self.before is None:
            carries = self._along(step, "through", g, runs, None)
            self.done.append(carries)
            return carries
        for k, columns in enumerate(runs if self.op.what.joins else []):
            step.task(
                Alone(self._columns(columns)), (BACKEND, *self.bricks), self._key("alone", g, k)
            )
        return None

    def _along(self, step: OpenStep, verb: str, g: int, runs: Runs, carries: Key) -> Key:
        """Record tasks along the axis, each with the carries of the one before."""
        for k, columns in enumerate(runs):
            inputs: list[Key] = [BACKEND, *self.bricks]
            inputs += [] if carries is None else [carries]
            inputs += [] if verb == "through" else [self._key("alone", g, k)]
            carry = Carry(self._columns(columns), verb)
            carries = step.task(carry, inputs, self._key(verb, g, k))
        return carries

    def _carry(self, step: OpenStep, groups: list[Runs], carries: list[Key]) -> list[Key]:
        """Record how the carry comes and goes; gives the keys of what came, per group."""
        if self.box is None:
            return []
        dtype, shapes = self.op.what.dtype, [self._shapes(runs[0]) for runs in groups]
        sizes = [sum(map(prod, group)) * dtype.itemsize for group in shapes]
        taken: list[Key] = []
        if self.before is not None:
            buffer, nbytes, at = self._key("carried"), sum(sizes), 0
            step.recv(buffer, self.before, nbytes, Make((nbytes,), BYTES))
            for g, (group, size) in enumerate(zip(shapes, sizes, strict=True)):
                take = TakeCarries(group, dtype, at)
                taken.append(step.task(take, (buffer,), self._key("taken", g)))
                at += size
        if taken and not self.op.what.joins:
            carries = [
                self._along(step, "through", g, runs, taken[g]) for g, runs in enumerate(groups)
            ]
            self.done += carries
        if self.behind is not None:
            if taken and self.op.what.joins:
                carries = [
                    self._along(step, "total", g, runs, taken[g]) for g, runs in enumerate(groups)
                ]
            packed = step.task(pack_carries, (BACKEND, *carries), self._key("packed"))
            step.send(packed, self.behind, sum(sizes))
        return taken

    def _columns(self, columns: tuple[Column, ...]) -> Columns:
        return Columns(self.op.what, self.op.axis, self.root, columns)

    def _shapes(self, columns: tuple[Column, ...]) -> tuple[tuple[int, ...], ...]:
        """Shapes of the carries of columns."""
        axis, shapes = self.op.axis, [box_shape(column[0]) for column in columns]
        return tuple([(prod(s[:axis]), 1, prod(s[axis + 1 :])) for s in shapes])

    def _key(self, *name: Any) -> Key:
        return ("scan", self.root, *name)


def _groups(layout: Layout, box: Box, axis: int) -> Iterator[Runs]:
    """Columns of a brick's blocks, as many as make a task, cut along the axis into runs."""
    spans = []
    for edges, (lo, _) in zip(layout.blocks(box), box, strict=True):
        inside = (edges - lo).tolist()
        spans.append(list(pairwise(inside)))
    along = spans[axis]
    columns = [
        tuple((*kept[:axis], span, *kept[axis + 1 :]) for span in along)
        for kept in product(*[[(0, 1)] if a == axis else s for a, s in enumerate(spans)])
    ]
    size = sum(map(box_size, columns[0]))
    count = max(1, RUN // size)
    for first in range(0, len(columns), count):
        group = columns[first : first + count]
        blocks = max(1, RUN // max(1, sum(box_size(column[0]) for column in group)))
        yield [
            tuple(column[k : k + blocks] for column in group) for k in range(0, len(along), blocks)
        ]
