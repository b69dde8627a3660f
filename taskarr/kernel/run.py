"""Running a program over blocks: the one loop in which array elements are computed."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from operator import add, itemgetter
from typing import Any

import numpy as np

from taskarr.backend import Backend
from taskarr.faults import NOBODY
from taskarr.geometry.region import Box, box_shape, box_size
from taskarr.geometry.view import NEW
from taskarr.kernel.collect import Collector
from taskarr.kernel.folder import Folder
from taskarr.kernel.functions import CAST
from taskarr.kernel.leaves import Piece, reader, window
from taskarr.kernel.program import Leaf, Program, Ref
from taskarr.kernel.reduction import State
from taskarr.kernel.tiles import SEGMENT, TILE, squares, tiles

WHOLE = 1 << 62
"""Elements of a tile that is a block, however large."""


@dataclass(slots=True)
class Frame:
    """What one task's program works on.

    Parameters
    ----------
    sources
        Pieces at hand of each source array.
    args
        Kernel arguments: Python scalars, open files.
    outputs
        Bricks that are filled.
    collectors
        Where filters put what they keep.
    origin
        Iteration index of the bricks' first element.
    backend
        Array module and memory.
    """

    sources: Sequence[Sequence[Piece]]
    args: Sequence[Any]
    outputs: Sequence[Any]
    collectors: Sequence[Collector]
    origin: tuple[int, ...]
    backend: Backend


@dataclass(slots=True)
class Found:
    """What a block gave besides its outputs: a state per fold, how many each filter kept."""

    states: list[State]
    kept: list[int]


@dataclass(slots=True)
class Totals:
    """What blocks one behind the other along the first axis gave: a number each, of one fold."""

    values: Any


def run_blocks(program: Program, frame: Frame, blocks: Sequence[Box]) -> list[Found] | Totals:
    """Run the program over whole blocks, tile by tile.

    Parameters
    ----------
    blocks
        Boxes of the iteration space, each one block of its grid.

    Returns
    -------
    list of Found, or Totals
        One entry per block.
    """
    step = _Stepper(program, frame)
    if _is_free(program, frame.backend):
        around = _around(blocks)
        if box_size(around) == sum(map(box_size, blocks)):
            step.block(around)
            return [Found([], []) for _ in blocks]
    found = step.together(blocks) if len(blocks) > 1 else None
    return found or [step.block(box) for box in blocks]


def _is_free(program: Program, backend: Backend) -> bool:
    """Whether neighbouring blocks may be computed as one: in one launch, or copied in good tiles.

    Other functions may give other last bits in the last elements of a tile, so their tiles
    must not depend on which blocks a rank has.
    """
    if program.folds or program.filters:
        return False
    return backend.whole_blocks or all(call.function is CAST for call in program.calls)


def _around(boxes: Sequence[Box]) -> Box:
    """Smallest box around some boxes."""
    return tuple(
        (min(lo for lo, _ in spans), max(hi for _, hi in spans))
        for spans in zip(*boxes, strict=True)
    )


class _Stepper:
    """Runs tiles.

    State: the leaves' readers; the calls with the places of their operands and the node that
    answers for them, which the recorder of faults is told before; scratch buffers, and views of
    them by tile shape. The values of a tile are one list: leaves, temporaries, outputs, arguments.
    """

    def __init__(self, program: Program, frame: Frame) -> None:
        self.program, self.frame, self.xp = program, frame, frame.backend.xp
        self.faults = frame.backend.faults
        self.reads = [
            reader(
                leaf,
                frame.sources[leaf.source] if leaf.kind == "array" else (),
                frame.args,
                self.xp,
            )
            for leaf in program.leaves
        ]
        shift = [-o for o in frame.origin]
        self.writes = [window(out, shift) for out in frame.outputs]
        leaves, temps, outs = map(len, (program.leaves, program.temps, program.outputs))
        first = {"leaf": 0, "temp": leaves, "out": leaves + temps, "arg": leaves + temps + outs}

        def place(ref: Ref) -> int:
            return first[ref[0]] + ref[1]

        self.calls = [
            (c.node, c.function.bind(self.xp), itemgetter(*map(place, c.args), place(c.target)))
            for c in program.calls
        ]
        self.folders = [
            (f.node, Folder(f.reduction, self.xp), place(f.value)) for f in program.folds
        ]
        self.filters = [(f.mask_ndim, place(f.value), place(f.mask)) for f in program.filters]
        self.args = list(frame.args)
        self.most = SEGMENT if program.folds or not program.calls else TILE
        turned = any(_is_turned(leaf) for leaf in program.leaves)
        self.cut = squares if turned and not program.folds and not program.filters else tiles
        self.room = self.most
        if frame.backend.whole_blocks:
            self.most, self.room, self.cut = WHOLE, 0, tiles
        self.memory: dict[int, Any] = {}
        self.scratch: dict[tuple[int, ...], list[Any]] = {}

    def together(self, blocks: Sequence[Box]) -> list[Found] | Totals | None:
        """Totals of blocks that lie one behind the other in memory, by one call for all.

        None where blocks are no single segments, or something else is to be computed.
        """
        program, first = self.program, blocks[0]
        if program.calls or program.filters or not len(program.folds) == len(program.leaves) == 1:
            return None
        (leaf,) = program.leaves
        if leaf.kind != "array" or len(self.frame.sources[leaf.source]) != 1 or not first:
            return None
        ((node, folder, at),) = self.folders
        if len(folder.reduction.axes) < len(first) or any(b[1:] != first[1:] for b in blocks):
            return None
        bounds, row = np.array([box[0] for box in blocks]), box_size(first[1:])
        lows, highs = bounds[:, 0], bounds[:, 1]
        if np.any(lows[1:] != highs[:-1]) or (highs - lows).max() * row > self.most:
            return None
        self.faults.at = NOBODY
        around = ((int(lows[0]), int(highs[-1])), *first[1:])
        values = self.reads[at](around)
        if values.shape != box_shape(around) or not values.flags.c_contiguous:
            return None
        self.faults.at = node
        if folder.reduction.row.located:
            return [Found([folder.segment(values, values.shape, around)], [])] * len(blocks)
        found = folder.totals(values, (lows - lows[0]) * row)
        return None if found is None else Totals(found)

    def block(self, box: Box) -> Found:
        """Compute one block."""
        shape = tuple([hi - lo for lo, hi in box])
        cut = self.cut(shape, self.most)
        if len(cut) == 1:
            values = self.tile(box)
            return Found(self._states(values, shape, box), self._kept(values, cut[0]))
        for _, folder, _ in self.folders:
            folder.begin(shape)
        kept = [0] * len(self.filters)
        for number, tile in enumerate(cut):
            place = tuple([(lo + o, hi + o) for (lo, hi), (o, _) in zip(tile, box, strict=True)])
            values = self.tile(place)
            for node, folder, at in self.folders:
                self.faults.at = node
                folder.add(values[at], number, place)
            if self.filters:
                kept = list(map(add, kept, self._kept(values, tile)))
        return Found([folder.state() for _, folder, _ in self.folders], kept)

    def _states(self, values: list[Any], shape: tuple[int, ...], box: Box) -> list[State]:
        """States of a block that is one segment."""
        states = []
        for node, folder, at in self.folders:
            self.faults.at = node
            states.append(folder.segment(values[at], shape, box))
        return states

    def _kept(self, values: list[Any], tile: Box) -> list[int]:
        """How many elements of a tile each filter keeps, once they are collected."""
        return [
            self._collect(k, ndim, values[data], values[mask], tile)
            for k, (ndim, data, mask) in enumerate(self.filters)
        ]

    def _collect(self, k: int, ndim: int, data: Any, mask: Any, tile: Box) -> int:
        shape = box_shape(tile)
        mask = mask.reshape(mask.shape[:ndim])
        if mask.shape != shape[:ndim]:
            mask = self.xp.broadcast_to(mask, shape[:ndim])
        if data.shape != shape:
            data = self.xp.broadcast_to(data, shape)
        return self.frame.collectors[k].add(self.frame.backend, data, mask, tile[ndim:])

    def tile(self, tile: Box) -> list[Any]:
        """Run the calls of one tile, and give all its values."""
        self.faults.at = NOBODY
        values = [read(tile) for read in self.reads]
        if not self.calls:
            return values + self.args
        shape = tuple([hi - lo for lo, hi in tile])
        temps = self.scratch.get(shape)
        values += self._scratch(shape) if temps is None else temps
        outs = [write(tile) for write in self.writes]
        if len(shape) > 1 and shape[-1] == 1:
            return self._column(values, outs)
        return self._called(values + outs + self.args)

    def _called(self, values: list[Any]) -> list[Any]:
        faults = self.faults
        for node, run, operands in self.calls:
            faults.at = node
            run(*operands(values))
        return values

    def _column(self, values: list[Any], outs: list[Any]) -> list[Any]:
        """Run the calls where a tile is one column of wider bricks: on contiguous copies.

        Its elements lie as far apart as this rank's bricks are wide, and bits must not depend
        on that.
        """
        leaves = len(self.reads)
        values[:leaves] = [self.xp.ascontiguousarray(v) for v in values[:leaves]]
        spare = [self.xp.empty(out.shape, out.dtype) for out in outs]
        found = self._called(values + spare + self.args)
        for out, kept in zip(outs, spare, strict=True):
            self.xp.copyto(out, kept)
        return found

    def _scratch(self, shape: tuple[int, ...]) -> list[Any]:
        found: list[Any] = []
        for temp in self.program.temps:
            if temp.buffer < 0:
                found.append(None)
                continue
            form = tuple(n if full else 1 for n, full in zip(shape, temp.axes, strict=True))
            size = prod(form)
            memory = self.memory.get(temp.buffer)
            if memory is None or memory.size < size:
                room = max(size, self.room) if all(temp.axes) else size
                memory = self.memory[temp.buffer] = self.xp.empty(room, temp.dtype)
            found.append(memory[:size].reshape(form))
        self.scratch[shape] = found
        return found


def _is_turned(leaf: Leaf) -> bool:
    """Whether a leaf's rows are columns, or the like, of the array that it reads."""
    walked = [axis for axis in leaf.view.axes if axis != NEW]
    return leaf.kind == "array" and walked != sorted(walked)
