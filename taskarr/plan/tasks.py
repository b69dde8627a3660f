"""What planned tasks call: small records that hold geometry and get their arrays when they run."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np

from taskarr.backend import Backend
from taskarr.faults import NOBODY, UNSURE
from taskarr.geometry.region import Box, Region, region_shape, slices
from taskarr.geometry.view import Affine
from taskarr.kernel.collect import Collector
from taskarr.kernel.leaves import Piece, own_piece, picker
from taskarr.kernel.program import Program
from taskarr.kernel.reduction import Key, Node, Partials, Reduction, merge, merge_numbers
from taskarr.kernel.run import Found, Frame, Totals, run_blocks


@dataclass(frozen=True, slots=True)
class Allocate:
    """Uninitialised brick."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __call__(self, backend: Backend, *_: Any) -> Any:
        """Give the brick; further values only order tasks."""
        return backend.empty(self.shape, self.dtype)


@dataclass(frozen=True, slots=True)
class ViewBrick:
    """The part of a brick that a view shows, to be written into.

    Parameters
    ----------
    brick
        Box of the brick.
    view
        Of the whole array.
    box
        Part of the view that lies in the brick.
    """

    brick: Box
    view: Affine
    box: Box

    def __call__(self, data: Any) -> Any:
        """Give the part."""
        return picker(own_piece(self.brick, data), self.view)(self.box)


@dataclass(frozen=True, slots=True)
class Collect:
    """Empty collector with room for all that a filter could keep here.

    Parameters
    ----------
    shape, dtype
        Of all rows.
    part
        What the filter goes by of the brick of its mask, which is the first value then: its true
        elements are counted, so that there is no more room than is needed. None: the mask is not
        known yet.
    """

    shape: tuple[int, ...]
    dtype: np.dtype
    part: tuple[slice, ...] | None = None

    def __call__(self, backend: Backend, *values: Any) -> Collector:
        """Give the collector; further values only order tasks."""
        count = self.shape[0]
        if self.part is not None:
            count = int(backend.xp.count_nonzero(values[0][self.part]))
        return Collector(backend.empty((count, *self.shape[1:]), self.dtype))


@dataclass(frozen=True, slots=True)
class Reform:
    """A brick in another shape, in the same memory."""

    shape: tuple[int, ...]

    def __call__(self, brick: Any) -> Any:
        """Give it."""
        return brick.reshape(self.shape)


def first_of(value: Any, *_: Any) -> Any:
    """The brick, once all that fill it have run."""
    return value


@dataclass(frozen=True, slots=True)
class Pack:
    """Part of a brick, contiguous: a view of it where it lies so, else a copy."""

    index: tuple[slice, ...]

    def __call__(self, brick: Any) -> Any:
        """Give the part."""
        part = brick[(*self.index, ...)]
        return part if part.flags.c_contiguous else part.copy()


def pack(region: Region, box: Box) -> Pack:
    """Packer of a region of the brick at ``box``."""
    return Pack(slices(region, (lo for lo, _ in box)))


def lies_contiguous(region: Region, box: Box) -> bool:
    """Whether a region of the brick at ``box`` is one run of memory."""
    broken = False
    for r, (lo, hi) in zip(reversed(region), reversed(box), strict=True):
        if len(r) > 1 and (broken or r.step != 1):
            return False
        broken = broken or len(r) < hi - lo
    return True


@dataclass(frozen=True, slots=True)
class Make:
    """Fresh buffer of a received piece."""

    shape: tuple[int, ...]
    dtype: np.dtype

    def __call__(self) -> Any:
        """Give the buffer."""
        return np.empty(self.shape, self.dtype)


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy a part of one array to a part of another."""

    target: tuple[slice, ...]
    source: tuple[slice, ...]

    def __call__(self, target: Any, source: Any, *_: Any) -> None:
        """Do it; further values only order tasks."""
        target[self.target] = source[self.source]


@dataclass(frozen=True, slots=True)
class SourceParts:
    """Which pieces of one source a task gets: its own brick's box, and received regions."""

    own: Box | None
    received: tuple[Region, ...]

    def pieces(self, values: Sequence[Any], at: int) -> tuple[list[Piece], int]:
        """Pieces made of the values from ``at`` on, and the position behind them."""
        found = []
        if self.own is not None:
            found.append(own_piece(self.own, values[at]))
            at += 1
        for region in self.received:
            found.append(Piece(region, values[at].reshape(region_shape(region))))
            at += 1
        return found, at


@dataclass(frozen=True, slots=True)
class BlockPartials:
    """How the states of blocks become partials of one group of reductions.

    Parameters
    ----------
    folds
        Numbers of the group's folds in the program.
    reductions
        The group's reductions.
    order
        Reduced axes in merge order.
    blocks
        Number of blocks per iteration axis.
    nodes
        Positions of the group's results, which answer for faults.
    """

    folds: tuple[int, ...]
    reductions: tuple[Reduction, ...]
    order: tuple[int, ...]
    blocks: tuple[int, ...]
    nodes: tuple[int, ...]

    def merged(self, partials: Partials, backend: Backend) -> Partials:
        """Partials with all neighbours combined.

        If there were faults, each reduction is merged again alone to find whose they are.
        """
        faults, xp = backend.faults, backend.xp
        faults.at = UNSURE
        found = merge(partials, self.order, self.blocks, self.reductions, xp)
        if faults.doubtful():
            for k, (node, reduction) in enumerate(zip(self.nodes, self.reductions, strict=True)):
                faults.at = node
                alone = {key: [states[k]] for key, states in partials.items()}
                merge(alone, self.order, self.blocks, (reduction,), xp)
        faults.at = NOBODY
        return found

    def of(self, keys: Sequence[Key], found: list[Found] | Totals, backend: Backend) -> Partials:
        """Partials of a run of blocks."""
        if isinstance(found, Totals):
            raw = self._of_totals(keys, found.values, backend)
        else:
            raw = {k: [f.states[i] for i in self.folds] for k, f in zip(keys, found, strict=True)}
        return self.merged(raw, backend)

    def _of_totals(self, keys: Sequence[Key], values: Any, backend: Backend) -> Partials:
        """Numbers of neighbours along the first axis, combined by pairs where that is the turn."""
        first, *rest = keys[0]
        nodes: list[tuple[Node, list[Any]]]
        if all(self.blocks[a] == 1 for a in self.order if a):
            backend.faults.at = self.nodes[0]
            nodes = merge_numbers(first, [values], self.reductions, backend.xp)
        else:
            nodes = [(key[0], [values[k : k + 1]]) for k, key in enumerate(keys)]
        shape = (1,) * len(keys[0])
        return {(node, *rest): [(v.reshape(shape),) for v in x] for node, x in nodes}


@dataclass(frozen=True, slots=True)
class RunBlocks:
    """The task of a pass: a run of neighbouring blocks of one brick.

    Parameters
    ----------
    program
        What to compute.
    blocks, keys
        Boxes and block numbers.
    origin
        First index of the iteration brick.
    outputs
        Number of output bricks.
    sources
        Parts of each source at hand.
    groups
        Reductions that share axes.

    Notes
    -----
    Called with the backend, the arguments, the output bricks, the collectors and the pieces of
    the sources in order; further values only order tasks. Returns a tuple: partials per group,
    then per filter the number of kept elements of each block.
    """

    program: Program
    blocks: tuple[Box, ...]
    keys: tuple[Key, ...]
    origin: tuple[int, ...]
    outputs: int
    sources: tuple[SourceParts, ...]
    groups: tuple[BlockPartials, ...]

    def __call__(self, backend: Backend, args: Sequence[Any], *values: Any) -> tuple[Any, ...]:
        """Compute the blocks."""
        filters = len(self.program.filters)
        at, sources = self.outputs + filters, []
        collectors = values[self.outputs : at]
        for parts in self.sources:
            pieces, at = parts.pieces(values, at)
            sources.append(pieces)
        outputs = values[: self.outputs]
        frame = Frame(sources, args, outputs, collectors, self.origin, backend)
        found = run_blocks(self.program, frame, self.blocks)
        backend.faults.at = NOBODY
        partials = [group.of(self.keys, found, backend) for group in self.groups]
        if isinstance(found, Totals):
            return tuple(partials)
        kept = [
            {key: f.kept[k] for key, f in zip(self.keys, found, strict=True)}
            for k in range(filters)
        ]
        return (*partials, *kept)


@dataclass(frozen=True, slots=True)
class MergeRuns:
    """Union of the partials of one group from all tasks, neighbours combined."""

    group: BlockPartials
    number: int

    def __call__(self, backend: Backend, *runs: tuple[Any, ...]) -> Partials:
        """Merge."""
        partials: Partials = {}
        for run in runs:
            partials.update(run[self.number])
        return self.group.merged(partials, backend)


@dataclass(frozen=True, slots=True)
class Finish:
    """Results of a group: one brick per reduction, from the states of its kept blocks.

    Parameters
    ----------
    boxes
        Per kept block its key and its box within the result brick, reduced axes as length 1.
    shape
        Shape of the result brick, reduced axes dropped.
    """

    group: BlockPartials
    boxes: tuple[tuple[Key, Box], ...]
    shape: tuple[int, ...]

    def __call__(self, backend: Backend, partials: Partials) -> tuple[Any, ...]:
        """Give the bricks."""
        bricks = tuple(self._brick(backend, partials, k) for k in range(len(self.group.reductions)))
        backend.faults.at = NOBODY
        return bricks

    def _brick(self, backend: Backend, partials: Partials, k: int) -> Any:
        reduction = self.group.reductions[k]
        backend.faults.at = self.group.nodes[k]
        if len(self.boxes) == 1:
            ((key, _),) = self.boxes
            return reduction.finish(backend.xp, partials[key][k]).reshape(self.shape)
        brick = backend.empty(self.shape, reduction.dtype)
        axes = self.group.order
        for key, box in self.boxes:
            where = tuple(slice(lo, hi) for a, (lo, hi) in enumerate(box) if a not in axes)
            part = reduction.finish(backend.xp, partials[key][k])
            brick[where] = part.reshape(brick[where].shape)
        return brick


@dataclass(frozen=True, slots=True)
class Nth:
    """One of the bricks of a group."""

    number: int

    def __call__(self, values: Sequence[Any]) -> Any:
        """Give it."""
        return values[self.number]


def pack_bricks(backend: Backend, *bricks: Any) -> Any:
    """Bricks of a group as bytes, to be broadcast."""
    return backend.xp.concatenate([b.reshape(-1).view("u1") for b in bricks])


@dataclass(frozen=True, slots=True)
class UnpackBricks:
    """Bricks of a group from bytes."""

    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[np.dtype, ...]

    def __call__(self, buffer: Any) -> tuple[Any, ...]:
        """Give the bricks."""
        found, at = [], 0
        for shape, dtype in zip(self.shapes, self.dtypes, strict=True):
            end = at + prod(shape) * dtype.itemsize
            found.append(buffer[at:end].copy().view(dtype).reshape(shape))
            at = end
        return tuple(found)


def block_boxes(bounds: Sequence[np.ndarray], first: Sequence[int]) -> list[tuple[Key, Box]]:
    """Blocks of a brick in C order: keys from the first block number per axis, and boxes."""
    found: list[tuple[Key, Box]] = [((), ())]
    for b, start in zip(bounds, first, strict=True):
        edges = b.tolist()
        spans = list(pairwise(edges))
        found = [
            ((*key, (0, start + k)), (*box, span))
            for key, box in found
            for k, span in enumerate(spans)
        ]
    return found
