"""Trees over ranks: partial states travel to the first owner, replicated results back to all.

Along one mesh axis the owners 0 to m - 1 hold neighbouring runs of blocks. At hop ``h`` the
owners whose number is an odd multiple of ``2**h`` send what they hold to the one ``2**h`` below::

    hop 0    0 ← 1    2 ← 3    4
    hop 1    0 ←───── 2        4
    hop 2    0 ←────────────── 4

What travels is the largest nodes of the block tree (`kernel.reduction`) that the sender could
merge, so the depth is ``ceil(log2 m)`` and the bits don't depend on m.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from taskarr.geometry.layout import Layout
from taskarr.kernel.reduction import (
    Key,
    Node,
    Partials,
    keys_of,
    nodes,
    pack,
    state_bytes,
    top,
    unpack,
)
from taskarr.plan.tasks import BlockPartials


@dataclass(frozen=True, slots=True)
class Hop:
    """One message of the tree.

    Parameters
    ----------
    axis, level
        Reduced axis along which it goes, and its place in the order of hops there.
    peer
        The other rank.
    sends
        Whether this rank sends; else it receives and merges.
    keys, shapes
        What the message holds, in order.
    nbytes
        Its length.
    """

    axis: int
    level: int
    peer: int
    sends: bool
    keys: tuple[Key, ...]
    shapes: tuple[tuple[int, ...], ...]
    nbytes: int


def _holders(space: Layout, axis: int) -> np.ndarray:
    """Owners along an axis that have elements."""
    cut = space.axes[axis].cut
    return np.flatnonzero(cut[:-1] < cut[1:])


def depth(space: Layout, axis: int) -> int:
    """Number of hops along a reduced axis."""
    return int(len(_holders(space, axis)) - 1).bit_length()


def hops(space: Layout, group: BlockPartials, rank: int) -> Iterator[Hop]:
    """This rank's messages up the tree, in order; after one that it sends there are no more."""
    coordinates = space.coordinates(rank)
    if space.replicated or coordinates is None or space.brick(rank) is None:
        return
    spans = [
        tuple(np.searchsorted(axis.bounds, axis.span(c)).tolist())
        for axis, c in zip(space.axes, coordinates, strict=True)
    ]
    for axis in group.order:
        cut = space.axes[axis].cut
        owners = _holders(space, axis)
        at = int(np.searchsorted(owners, coordinates[axis]))
        for h in range(depth(space, axis)):
            far = 1 << h
            lower = at - far if at & far else at
            if lower % (2 * far) or lower + far >= len(owners):
                continue
            first, last = owners[lower + far], owners[min(lower + 2 * far, len(owners)) - 1]
            span = np.searchsorted(space.axes[axis].bounds, (cut[first], cut[last + 1]))
            keys = _keys(group, axis, spans, (int(span[0]), int(span[1])))
            shapes = tuple(_shape(space, group, key) for key in keys)
            nbytes = sum(state_bytes(shape, group.reductions) for shape in shapes)
            other = owners[lower] if at & far else owners[lower + far]
            peer = rank + int(other - coordinates[axis]) * space.axes[axis].stride
            yield Hop(axis, h, peer, bool(at & far), keys, shapes, nbytes)
            if at & far:
                return


def _keys(
    group: BlockPartials, axis: int, spans: list[Any], span: tuple[int, int]
) -> tuple[Key, ...]:
    done = group.order[: group.order.index(axis)]
    per_axis: list[list[Node]] = []
    for a, (first, last) in enumerate(spans):
        if a == axis:
            per_axis.append(list(nodes(*span, group.blocks[a])))
        elif a in done:
            per_axis.append([(top(group.blocks[a]), 0)])
        else:
            per_axis.append([(0, b) for b in range(first, last)])
    return tuple(keys_of(per_axis))


def _shape(space: Layout, group: BlockPartials, key: Key) -> tuple[int, ...]:
    """Shape of a state: the kept block's, reduced axes as length 1."""
    return tuple(
        1 if a in group.order else int(axis.bounds[b + 1] - axis.bounds[b])
        for a, (axis, (_, b)) in enumerate(zip(space.axes, key, strict=True))
    )


def is_root(space: Layout, axes: tuple[int, ...], rank: int) -> bool:
    """Whether states end at this rank: it is the first owner along every reduced axis."""
    brick = space.brick(rank)
    return brick is not None and all(brick[a][0] == 0 for a in axes)


@dataclass(frozen=True, slots=True)
class PackStates:
    """States of a hop as bytes."""

    keys: tuple[Key, ...]

    def __call__(self, backend: Any, partials: Partials) -> Any:
        """Give the bytes."""
        xp = backend.xp
        return xp.concatenate([x for key in self.keys for x in pack(partials[key], xp)])


@dataclass(frozen=True, slots=True)
class MergeHop:
    """Merge what a hop brought with what is here."""

    group: BlockPartials
    keys: tuple[Key, ...]
    shapes: tuple[tuple[int, ...], ...]

    def __call__(self, backend: Any, here: Partials, buffer: Any) -> Partials:
        """Give the merged partials."""
        partials, at = dict(here), 0
        for key, shape in zip(self.keys, self.shapes, strict=True):
            partials[key], at = unpack(buffer, at, shape, self.group.reductions)
        return self.group.merged(partials, backend)


def broadcast_peers(root: int, rank: int, size: int) -> tuple[int | None, list[int]]:
    """Parent and children of a rank in the binomial tree that starts at ``root``.

    >>> broadcast_peers(0, 1, 6)
    (0, [3, 5])
    """
    place = (rank - root) % size
    level = place.bit_length()
    parent = None if place == 0 else (place - (1 << (level - 1)) + root) % size
    children = []
    while place + (1 << level) < size:
        children.append((place + (1 << level) + root) % size)
        level += 1
    return parent, children
