"""Running a program over blocks: the one loop in which array elements are computed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from types import ModuleType
from typing import Any

from taskarr.backend import Backend
from taskarr.geometry.region import Box, box_shape
from taskarr.kernel.collect import Collector
from taskarr.kernel.leaves import Piece, reader
from taskarr.kernel.program import Fold, Program, Ref
from taskarr.kernel.reduction import FieldSpec, State
from taskarr.kernel.tiles import SEGMENT, TILE, moved, tiles


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


def run_blocks(program: Program, frame: Frame, blocks: Sequence[Box]) -> list[Found]:
    """Run the program over whole blocks, tile by tile.

    Parameters
    ----------
    blocks
        Boxes of the iteration space, each one block of its grid.

    Returns
    -------
    list of Found
        One entry per block.
    """
    step = _Stepper(program, frame)
    return [step.block(box) for box in blocks]


class _Stepper:
    """Runs tiles.

    State: the leaves' readers; the calls with the places of their operands; scratch buffers, and
    views of them by tile shape. The values of a tile are one list: leaves, temporaries, outputs,
    arguments.
    """

    def __init__(self, program: Program, frame: Frame) -> None:
        self.program, self.frame, self.xp = program, frame, frame.backend.xp
        self.reads = [
            reader(
                leaf,
                frame.sources[leaf.source] if leaf.kind == "array" else (),
                frame.args,
                self.xp,
            )
            for leaf in program.leaves
        ]
        leaves, temps, outs = map(len, (program.leaves, program.temps, program.outputs))
        first = {"leaf": 0, "temp": leaves, "out": leaves + temps, "arg": leaves + temps + outs}

        def place(ref: Ref) -> int:
            return first[ref[0]] + ref[1]

        self.calls = [
            (c.function.bind(self.xp), [*map(place, c.args), place(c.target)])
            for c in program.calls
        ]
        self.folds = [(f, f.reduction.fields, place(f.value)) for f in program.folds]
        self.filters = [(f.mask_ndim, place(f.value), place(f.mask)) for f in program.filters]
        self.args = list(frame.args)
        self.most = SEGMENT if program.folds or not program.calls else TILE
        self.memory: dict[int, Any] = {}
        self.scratch: dict[tuple[int, ...], list[Any]] = {}

    def block(self, box: Box) -> Found:
        """Compute one block."""
        shape = box_shape(box)
        folds = [(_BlockFold(fold, fields, shape, self.xp), at) for fold, fields, at in self.folds]
        kept = [0] * len(self.filters)
        origin = tuple([lo for lo, _ in box])
        for number, tile in enumerate(tiles(shape, self.most)):
            values = self.tile(moved(tile, origin))
            for fold, at in folds:
                fold.add(values[at], number)
            for k, (ndim, data, mask) in enumerate(self.filters):
                kept[k] += self._collect(k, ndim, values[data], values[mask], tile)
        return Found([fold.state() for fold, _ in folds], kept)

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
        values = [read(tile) for read in self.reads]
        shape = tuple([hi - lo for lo, hi in tile])
        temps = self.scratch.get(shape)
        values += self._scratch(shape) if temps is None else temps
        if self.frame.outputs:
            where = (
                *[
                    slice(lo - o, hi - o)
                    for (lo, hi), o in zip(tile, self.frame.origin, strict=True)
                ],
                ...,
            )
            values += [out[where] for out in self.frame.outputs]
        values += self.args
        for run, places in self.calls:
            run(*[values[k] for k in places])
        return values

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
                room = max(size, self.most) if all(temp.axes) else size
                memory = self.memory[temp.buffer] = self.xp.empty(room, temp.dtype)
            found.append(memory[:size].reshape(form))
        self.scratch[shape] = found
        return found


@lru_cache(1024)
def _kept_spans(
    shape: tuple[int, ...], axes: tuple[int, ...]
) -> tuple[tuple[Box, ...], tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """Places of a block's result that its tiles fill, and for each tile its place and shape."""
    places: dict[Box, int] = {}
    at = []
    for tile in tiles(shape):
        kept = tuple((0, 1) if a in axes else span for a, span in enumerate(tile))
        at.append(places.setdefault(kept, len(places)))
    return tuple(places), tuple(at), tuple(map(box_shape, tiles(shape)))


class _BlockFold:
    """State of one fold over one block, tile by tile in C order."""

    def __init__(
        self, fold: Fold, fields: tuple[FieldSpec, ...], shape: tuple[int, ...], xp: ModuleType
    ) -> None:
        self.reduction, self.fields, self.xp, self.shape = fold.reduction, fields, xp, shape
        self.places, self.at, self.forms = _kept_spans(shape, fold.reduction.axes)
        self.states: list[State | None] = [None] * len(self.places)

    def add(self, values: Any, number: int) -> None:
        """Fold in the values of a tile of the block."""
        xp, row = self.xp, self.reduction.row
        if values.shape != self.forms[number]:
            values = xp.broadcast_to(values, self.forms[number])
        if not values.flags.c_contiguous:
            values = xp.ascontiguousarray(values)
        state = row.partial(xp, values, self.reduction.axes, self.fields)
        at = self.at[number]
        before = self.states[at]
        self.states[at] = state if before is None else row.combine(xp, before, state)

    def state(self) -> State:
        """State of the whole block."""
        states = [state for state in self.states if state is not None]
        if len(states) == 1:
            return states[0]
        axes = self.reduction.axes
        shape = tuple(1 if a in axes else n for a, n in enumerate(self.shape))
        whole = []
        for k, spec in enumerate(self.fields):
            if spec.unit:
                whole.append(states[0][k])
                continue
            values = self.xp.empty(shape, spec.dtype)
            for kept, state in zip(self.places, states, strict=True):
                values[tuple([slice(lo, hi) for lo, hi in kept])] = state[k]
            whole.append(values)
        return tuple(whole)
