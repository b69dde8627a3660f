"""Steps of reductions: merge a rank's blocks, climb the tree over ranks, finish, broadcast."""

from collections.abc import Iterator
from math import prod

import numpy as np
from toolz import groupby

from taskarr.geometry.layout import Layout
from taskarr.geometry.region import Box
from taskarr.kernel.program import Program
from taskarr.kernel.reduction import Key as BlockKey
from taskarr.kernel.reduction import top
from taskarr.optimize import Graph
from taskarr.plan import tree
from taskarr.plan.recorder import BACKEND, Key, OpenStep, Recorder, brick_key
from taskarr.plan.tasks import (
    BlockPartials,
    Finish,
    Make,
    MergeRuns,
    Nth,
    UnpackBricks,
    block_boxes,
    pack_bricks,
)

BYTES = np.dtype("u1")


def groups(space: Layout, program: Program) -> list[BlockPartials]:
    """Folds that share axes, and so messages, in the order of the first of each."""
    blocks = tuple(len(axis.bounds) - 1 for axis in space.axes)
    shared = groupby(lambda k: program.folds[k].reduction.axes, range(len(program.folds)))
    return [
        BlockPartials(
            tuple(members),
            tuple(program.folds[k].reduction for k in members),
            axes[::-1],
            blocks,
            tuple(program.folds[k].node for k in members),
        )
        for axes, members in shared.items()
    ]


def reduction_steps(
    recorder: Recorder,
    tag: tuple[int, int],
    name: str,
    graph: Graph,
    space: Layout,
    group: BlockPartials,
    roots: tuple[int, ...],
    runs: list[Key],
    rank: int,
) -> None:
    """Record one group of reductions.

    Parameters
    ----------
    tag
        Numbers of the pass and of the group in it; the latter says which partials are meant.
    roots
        Nodes of the group's results.
    runs
        Keys of what the pass's tasks returned on this rank.
    """
    step = recorder.step(f"merge {name}")
    key: Key = ("merged", *tag, -1)
    if runs:
        step.task(MergeRuns(group, tag[1]), (BACKEND, *runs), key)
    key = _climb(recorder, tag, name, space, group, key, rank)
    step = recorder.step(f"finish {name}")
    results = ("results", *tag)
    if runs and (space.replicated or tree.is_root(space, group.order, rank)):
        step.task(_finish(space, group, rank), (BACKEND, key), results)
        _spread(step, roots, results)
    wide = tuple(r for r in roots if graph[r].layout.replicated)
    if wide and not space.replicated:
        _broadcast(recorder, tag, name, graph, space, wide, rank)


def _climb(
    recorder: Recorder,
    tag: tuple[int, int],
    name: str,
    space: Layout,
    group: BlockPartials,
    key: Key,
    rank: int,
) -> Key:
    """Record the hops of the tree; gives the key of the last merged partials here."""
    mine = {(hop.axis, hop.level): hop for hop in tree.hops(space, group, rank)}
    for k, level in enumerate(_levels(space, group)):
        step = recorder.step(f"tree {name}")
        hop = mine.get(level)
        if hop is None:
            continue
        if hop.sends:
            packed = step.task(tree.PackStates(hop.keys), (BACKEND, key), ("packed", *tag, k))
            step.send(packed, hop.peer, hop.nbytes)
        else:
            states = ("states", *tag, k)
            step.recv(states, hop.peer, hop.nbytes, Make((hop.nbytes,), BYTES))
            merged = tree.MergeHop(group, hop.keys, hop.shapes)
            key = step.task(merged, (BACKEND, key, states), ("merged", *tag, k))
    return key


def _levels(space: Layout, group: BlockPartials) -> Iterator[tuple[int, int]]:
    if not space.replicated:
        for axis in group.order:
            for level in range(tree.depth(space, axis)):
                yield axis, level


def _finish(space: Layout, group: BlockPartials, rank: int) -> Finish:
    box = space.brick(rank)
    assert box is not None
    bounds = [
        np.array([0, 1]) if a in group.order else edges - edges[0]
        for a, edges in enumerate(space.blocks(box))
    ]
    boxes = tuple(
        (_whole(group, block), where)
        for block, where in block_boxes(bounds, first_blocks(space, box))
    )
    shape = tuple(hi - lo for a, (lo, hi) in enumerate(box) if a not in group.order)
    return Finish(group, boxes, shape)


def _whole(group: BlockPartials, block: BlockKey) -> BlockKey:
    """Key of the state of everything that a kept block's results are made of."""
    return tuple(
        (top(group.blocks[a]), 0) if a in group.order else node for a, node in enumerate(block)
    )


def first_blocks(space: Layout, box: Box) -> list[int]:
    """Number of a brick's first block along each axis."""
    return [
        int(np.searchsorted(axis.bounds, lo)) for axis, (lo, _) in zip(space.axes, box, strict=True)
    ]


def _spread(step: OpenStep, roots: tuple[int, ...], results: Key) -> None:
    for k, root in enumerate(roots):
        step.task(Nth(k), (results,), brick_key(root))


def _broadcast(
    recorder: Recorder,
    tag: tuple[int, int],
    name: str,
    graph: Graph,
    space: Layout,
    roots: tuple[int, ...],
    rank: int,
) -> None:
    root = next(space.owners_of(tuple((0, 1) for _ in space.axes)))
    parent, children = tree.broadcast_peers(root, rank, space.size)
    shapes = tuple(graph[r].shape for r in roots)
    dtypes = tuple(graph[r].dtype for r in roots)
    nbytes = sum(prod(s) * d.itemsize for s, d in zip(shapes, dtypes, strict=True))
    packed, results = ("broadcast", *tag), ("results", *tag)
    step = recorder.step(f"broadcast {name}")
    if parent is None:
        step.task(pack_bricks, (BACKEND, *map(brick_key, roots)), packed)
    else:
        step.recv(packed, parent, nbytes, Make((nbytes,), BYTES))
        step.task(UnpackBricks(shapes, dtypes), (packed,), results)
        _spread(step, roots, results)
    for peer in children:
        step.send(packed, peer, nbytes)
