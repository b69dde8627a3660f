"""Steps of gathers and scatters: where all rows are at hand a task, else a stage."""

from math import prod

import numpy as np

from taskarr.expr import Gather, Scatter
from taskarr.geometry.region import Box, box_shape
from taskarr.geometry.rows import Rows, is_cut, rows_of
from taskarr.optimize import Graph
from taskarr.plan.recorder import BACKEND, Key, Recorder, brick_key
from taskarr.plan.route import AskForRows, SendKnownRows, Slices, Source, TakeRows, part_of
from taskarr.plan.spread import SendToOwners, WriteRows, Written
from taskarr.plan.tasks import Allocate


def gather_steps(recorder: Recorder, graph: Graph, root: int, rank: int) -> None:
    """Record how a rank gets its brick of a gather.

    Parameters
    ----------
    graph, root
        The node: its inputs are what is read, and one index for each of some axes.
    """
    node = graph[root]
    assert isinstance(node.op, Gather)
    first, *others = node.inputs
    axis = node.op.axis
    source, index = graph[first], graph[others[0]]
    box, brick = node.layout.brick(rank), source.layout.brick(rank)
    leading, name = len(others), f"gather{list(source.shape)}"
    if 0 in node.shape or not node.dtype.itemsize:
        step = recorder.step(name)
        if box is not None:
            step.task(Allocate(box_shape(box), node.dtype), (BACKEND,), brick_key(root))
        return
    far = source.layout.size > 1 and not source.layout.replicated
    if not far or (
        index.layout.replicated and not is_cut(source.layout, range(axis, axis + leading))
    ):
        step = recorder.step(name)
        if box is not None:
            shape = source.shape[axis : axis + leading]
            step.task(
                _take(box, index.layout.brick(rank), axis, shape, node.dtype),
                (BACKEND, *map(brick_key, node.inputs)),
                brick_key(root),
            )
        return
    assert axis == 0, "rows are whole where they are sent"
    row_bytes = prod(node.shape[len(index.shape) :]) * node.dtype.itemsize
    rows = Source(rows_of(source.layout, leading), row_bytes, brick is not None)
    inputs: list[Key] = [BACKEND]
    inputs += [brick_key(first)] if brick is not None else []
    if index.layout.replicated:
        parts = _parts(graph, root, index.layout.whole)
        known = None if box is None else box_shape(box)
        stage = SendKnownRows(rows, parts, known, node.dtype, name)
        recorder.stage(name, stage, [*inputs, *map(brick_key, others)], (brick_key(root),))
        return
    inputs += map(brick_key, others) if box is not None else []
    result = None if box is None else (_all(index.shape), box_shape(box), node.dtype)
    recorder.stage(name, AskForRows(rows, result, name), inputs, (brick_key(root),))


def _all(shape: tuple[int, ...]) -> Slices:
    return (slice(None),) * len(shape)


def _take(
    box: Box, index: Box | None, axis: int, shape: tuple[int, ...], dtype: np.dtype
) -> TakeRows:
    assert index is not None
    behind = axis + len(index)
    size = prod(hi - lo for lo, hi in box[behind:]) * dtype.itemsize
    return TakeRows(shape, part_of(box[axis:behind], index), box_shape(box), dtype, axis, size)


def _parts(graph: Graph, root: int, index: Box) -> tuple[tuple[int, Slices], ...]:
    """What each rank takes of an index that all know."""
    found = []
    for rank in range(graph[root].layout.size):
        box = graph[root].layout.brick(rank)
        if box is not None:
            found.append((rank, part_of(box[: len(index)], index)))
    return tuple(found)


def scatter_steps(recorder: Recorder, graph: Graph, root: int, rank: int) -> None:
    """Record how a rank writes what a scatter has for its brick.

    Parameters
    ----------
    graph, root
        The node: its inputs are the copy that is written into, an index for each of the leading
        axes, and values.
    """
    node = graph[root]
    assert isinstance(node.op, Scatter)
    first = node.inputs[1]
    values = node.inputs[1 + node.op.leading :]
    index, layout, box = graph[first], node.layout, node.layout.brick(rank)
    near = index.layout.replicated or layout.size == 1
    whole = layout.replicated or layout.size == 1 or not is_cut(layout, range(node.op.leading))
    shape = node.shape[: node.op.leading]
    rows = _undivided(shape) if near and whole else rows_of(layout, node.op.leading)
    row = node.shape[node.op.leading :] if box is None else box_shape(box)[node.op.leading :]
    kind = "none" if not values else "each"
    if values and len(graph[values[0]].shape) < len(index.shape) + len(row):
        kind = "one"
    dtype = graph[values[0]].dtype if values else node.dtype
    what = Written(rows, row, node.op.function, dtype, kind, root)
    name, keys = f"scatter{list(node.shape)}", [brick_key(i) for i in node.inputs]
    if near:
        step = recorder.step(name)
        if box is not None:
            write = WriteRows(what, (0, prod(shape)) if whole else rows.owned(rank))
            step.task(write, (BACKEND, *keys), brick_key(root))
        return
    asks = index.layout.brick(rank) is not None
    inputs: list[Key] = [BACKEND]
    inputs += keys[:1] if box is not None else []
    inputs += keys[1 : 1 + node.op.leading] if asks else []
    inputs += keys[1 + node.op.leading :] if asks or kind == "one" else []
    stage = SendToOwners(what, box is not None, asks, name)
    recorder.stage(name, stage, inputs, (brick_key(root),))


def _undivided(shape: tuple[int, ...]) -> Rows:
    """Rows that are all here."""
    nothing = np.zeros(0, np.int64)
    return Rows(shape, np.array([0, prod(shape)], np.int64), (), nothing)
