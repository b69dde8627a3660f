"""From expressions to passes: which nodes are stored, and what is computed in one sweep.

A *root* is a node whose value is stored or reduced: what the run must give, reductions, and
what would otherwise be computed more than once (read through different views, or in two passes).
All other nodes are inlined in the passes that read them; views end at the leaves.

Roots that sweep the same iteration space and don't need each other's stored values share a pass.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from taskarr.expr import (
    Elementwise,
    Filtered,
    Generate,
    Held,
    Op,
    Own,
    Put,
    Reduce,
    Scatter,
    Stored,
    Viewed,
)
from taskarr.geometry.layout import Layout
from taskarr.geometry.view import NEW, Affine, broadcast, identity
from taskarr.kernel.tiles import TILE


@dataclass(frozen=True, slots=True)
class Node:
    """Structure of one expression: inputs are positions, arguments are counted, data is absent."""

    op: Op
    inputs: tuple[int, ...]
    dtype: np.dtype
    layout: Layout
    first_arg: int

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the node's value."""
        return self.layout.shape


@dataclass(frozen=True, slots=True)
class Pass:
    """Roots that are computed in one sweep over an iteration space."""

    space: Layout
    level: int
    roots: tuple[int, ...]


Graph = Sequence[Node]
Read = tuple[int, Affine]
Uses = dict[tuple[Layout, Affine], None]


def space_of(graph: Graph, root: int) -> Layout:
    """Iteration space of the pass that computes a root."""
    node = graph[root]
    if isinstance(node.op, Put):
        return node.layout.viewed(node.op.view)
    swept = isinstance(node.op, Reduce | Filtered)
    return graph[node.inputs[0]].layout if swept else node.layout


def body(graph: Graph, position: int, view: Affine | None = None) -> list[Read]:
    """Inputs of a node, and the view of each that is read when ``view`` of the node is wanted."""
    node = graph[position]
    if isinstance(node.op, Viewed):
        inner = [node.op.view]
    elif isinstance(node.op, Elementwise):
        inner = [broadcast(graph[i].shape, node.shape) for i in node.inputs]
    elif isinstance(node.op, Filtered):
        data, mask = (graph[i].shape for i in node.inputs)
        inner = [identity(data), leading(mask, data)]
    elif isinstance(node.op, Reduce):
        return [(node.inputs[0], identity(graph[node.inputs[0]].shape))]
    elif isinstance(node.op, Put):
        inner = [node.op.view, identity(node.op.view.shape)]
    else:
        inner = [identity(graph[i].shape) for i in node.inputs]
    views = inner if view is None else [view.after(v) for v in inner]
    return list(zip(node.inputs, views, strict=True))


def leading(mask: tuple[int, ...], data: tuple[int, ...]) -> Affine:
    """View of a mask over the leading axes of data, repeated along the others."""
    rest = len(data) - len(mask)
    return Affine(
        data,
        (*range(len(mask)), *(-1,) * rest),
        (0,) * len(mask),
        (*(1,) * len(mask), *(0,) * rest),
        mask,
    )


def is_row_wise(graph: Graph, position: int, space: Layout, view: Affine) -> bool:
    """Whether a reduction can be computed at each tile of the pass that reads it.

    So it is if the pass sweeps the reduction's input, each tile holds whole rows of what is
    reduced, and the result is read where its row is: ``x - x.mean(axis=1, keepdims=True)``.
    """
    node = graph[position]
    if not isinstance(node.op, Reduce):
        return False
    source, axes = graph[node.inputs[0]], node.op.reduction.axes
    first = len(source.shape) - len(axes)
    return (
        source.layout == space
        and 0 < first < len(source.shape)
        and axes == tuple(range(first, len(source.shape)))
        and all(len(space.axes[a].bounds) == 2 for a in axes)
        and prod(source.shape[first:]) <= TILE
        and view == leading(node.shape, source.shape)
    )


def reused(graph: Graph, wanted: set[int]) -> Graph:
    """Graph in which a chain of writes goes into one copy: versions that nobody reads go."""
    readers = [0] * len(graph)
    for node in graph:
        for i in node.inputs:
            readers[i] += 1
    found = list(graph)
    for position, node in enumerate(graph):
        if not isinstance(node.op, Put | Scatter):
            continue
        (version,) = graph[node.inputs[0]].inputs
        spare = isinstance(graph[version].op, Put | Scatter) and readers[version] == 1
        if spare and version not in wanted:
            found[position] = replace(node, inputs=(version, *node.inputs[1:]))
    return found


def is_leaf(node: Node) -> bool:
    """Whether the node is read and not computed."""
    return isinstance(node.op, Held | Generate)


def passes(graph: Graph, wanted: set[int], large: frozenset[int] = frozenset()) -> list[Pass]:
    """Passes that give the ``wanted`` positions, in the order in which they run.

    Parameters
    ----------
    large
        Positions whose values are computed again rather than stored on the way.
    """
    roots = _roots(graph, set(wanted), large)
    while True:
        levels = _levels(graph, roots)
        shared = _shared(graph, roots, levels) - large
        if not shared:
            break
        roots = _roots(graph, roots | shared, large)
    groups: dict[tuple[int, Layout, int], list[int]] = {}
    for root in sorted(roots):
        alone = root if isinstance(graph[root].op, Stored) else -1
        groups.setdefault((levels[root], space_of(graph, root), alone), []).append(root)
    found = [Pass(space, level, tuple(g)) for (level, space, _), g in groups.items()]
    return sorted(found, key=lambda p: (p.level, p.roots))


def _roots(graph: Graph, wanted: set[int], large: frozenset[int]) -> set[int]:
    """Wanted nodes, reductions below them, and nodes that are read through several views."""
    roots = {r for r in wanted if not isinstance(graph[r].op, Held)}
    uses: dict[int, Uses] = {}
    for position in range(max(roots, default=-1), -1, -1):
        node, seen = graph[position], uses.get(position)
        if seen is None and position not in roots:
            continue
        again = position in large and _is_chain(graph, position)
        if seen and not again and _is_stored(graph, position, seen):
            roots.add(position)
        if is_leaf(node):
            continue
        whole = (space_of(graph, position), None)
        for space, view in [whole] if position in roots else list(seen or ()):
            for child, inner in body(graph, position, view):
                if isinstance(node.op, Stored) and not isinstance(graph[child].op, Held):
                    roots.add(child)
                uses.setdefault(child, {})[space, inner] = None
    return roots


def _is_stored(graph: Graph, position: int, seen: Uses) -> bool:
    """Whether a node that is read so must be stored first."""
    op = graph[position].op
    if isinstance(op, Reduce):
        return not all(is_row_wise(graph, position, space, view) for space, view in seen)
    if isinstance(op, Filtered | Own | Put | Stored):
        return True
    if isinstance(op, Generate):
        return op.costly and not _is_followed(graph[position], seen)
    read = sum(prod(view.shape) for _, view in seen)
    return len(seen) > 1 and read > prod(graph[position].shape) and isinstance(op, Elementwise)


def _is_chain(graph: Graph, position: int) -> bool:
    """Whether a node is what functions of one array make, one after the other, of what is read.

    Views of such a node are as easily computed from views of that.
    """
    node = graph[position]
    while isinstance(node.op, Elementwise) and len(node.inputs) == 1:
        node = graph[node.inputs[0]]
    return is_leaf(node)


def _is_followed(node: Node, seen: Uses) -> bool:
    """Whether the only reader sweeps a node's blocks as they are, or slices of them, in order."""
    ((space, view), *more) = seen
    walked = [axis for axis in view.axes if axis != NEW]
    return not more and walked == sorted(walked) and node.layout.viewed(view) == space


def _reads(graph: Graph, roots: set[int], root: int) -> Iterator[tuple[int, Affine, bool]]:
    """Nodes that a root's program reads or inlines: position, view, whether it is stored."""
    todo, seen = body(graph, root), set()
    while todo:
        position, view = todo.pop()
        if (position, view) in seen:
            continue
        seen.add((position, view))
        stored = position in roots
        yield position, view, stored
        if not stored and not is_leaf(graph[position]):
            todo.extend(body(graph, position, view))


def same_point(graph: Graph, position: int, view: Affine, space: Layout) -> bool:
    """Whether a stored value is needed just where the same pass can compute it."""
    node = graph[position]
    swept = isinstance(node.op, Reduce | Filtered | Put | Stored)
    return not swept and node.layout == space and view == identity(node.shape)


def _levels(graph: Graph, roots: set[int]) -> dict[int, int]:
    levels: dict[int, int] = {}
    for root in sorted(roots):
        space, level, alone = space_of(graph, root), 0, isinstance(graph[root].op, Stored)
        for position, view, stored in _reads(graph, roots, root):
            if stored:
                later = alone or not same_point(graph, position, view, space)
                level = max(level, levels[position] + later)
        levels[root] = level
    return levels


def _shared(graph: Graph, roots: set[int], levels: dict[int, int]) -> set[int]:
    """Outermost inlined functions that two passes would compute."""
    homes: dict[int, set[tuple[int, Layout]]] = {}
    for root in roots:
        home = (levels[root], space_of(graph, root))
        for position, _, stored in _reads(graph, roots, root):
            if not stored and _is_work(graph[position].op):
                homes.setdefault(position, set()).add(home)
    twice = {p for p, home in homes.items() if len(home) > 1}
    inner = {i for p in twice for i in graph[p].inputs if len(homes.get(i, ())) > 1}
    return twice - inner or twice


def _is_work(op: Op) -> bool:
    """Whether computing the operation twice costs more than storing its result."""
    return isinstance(op, Elementwise | Reduce) or (isinstance(op, Generate) and op.costly)
