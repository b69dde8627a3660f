"""Running a program over blocks: the one loop in which array elements are computed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from taskarr.geometry.region import Box, box_shape
from taskarr.kernel.leaves import Piece, reader
from taskarr.kernel.program import Fold, Program, Ref
from taskarr.kernel.reduction import State
from taskarr.kernel.tiles import TILE, moved, tiles


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
    origin
        Iteration index of the bricks' first element.
    xp
        Array module.
    """

    sources: Sequence[Sequence[Piece]]
    args: Sequence[Any]
    outputs: Sequence[Any]
    origin: tuple[int, ...]
    xp: ModuleType


@dataclass(slots=True)
class Found:
    """What a block gave besides its outputs: a state per fold, the kept elements per filter."""

    states: list[State]
    kept: list[Any]


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
    """Runs tiles. State: the leaves' readers, scratch buffers, views of them by tile shape."""

    def __init__(self, program: Program, frame: Frame) -> None:
        self.program, self.frame, self.xp = program, frame, frame.xp
        self.reads = [
            reader(leaf, frame.sources[leaf.source] if leaf.kind == "array" else (), frame.args, self.xp)
            for leaf in program.leaves
        ]
        self.memory: dict[int, Any] = {}
        self.scratch: dict[tuple[int, ...], list[Any]] = {}
        self.calls = [(c.function.run, c.args, c.target) for c in program.calls]

    def block(self, box: Box) -> Found:
        """Compute one block."""
        folds = [_BlockFold(fold, box, self.xp) for fold in self.program.folds]
        kept: list[list[Any]] = [[] for _ in self.program.filters]
        origin = tuple(lo for lo, _ in box)
        for tile in tiles(box_shape(box)):
            place = moved(tile, origin)
            value = self.tile(place)
            for fold in folds:
                fold.add(value(fold.fold.value), tile)
            for chosen, f in zip(kept, self.program.filters, strict=True):
                chosen.append(
                    _compress(self.xp, value(f.value), value(f.mask), f.mask_ndim, box_shape(tile))
                )
        joined = [self.xp.concatenate(parts) for parts in kept]
        return Found([fold.state() for fold in folds], joined)

    def tile(self, tile: Box) -> Callable[[Ref], Any]:
        """Run the calls of one tile, and give access to its values."""
        shape = box_shape(tile)
        temps = self.scratch.get(shape)
        if temps is None:
            temps = self.scratch[shape] = self._scratch(shape)
        leaves = [read(tile) for read in self.reads]
        outs = []
        if self.frame.outputs:
            where = tuple(
                [slice(lo - o, hi - o) for (lo, hi), o in zip(tile, self.frame.origin)]
            )
            outs = [out[where] for out in self.frame.outputs]
        places = {"leaf": leaves, "temp": temps, "out": outs, "arg": self.frame.args}
        xp = self.xp
        for run, args, (kind, k) in self.calls:
            run(xp, places[kind][k], *[places[a][i] for a, i in args])
        return lambda ref: places[ref[0]][ref[1]]

    def _scratch(self, shape: tuple[int, ...]) -> list[Any]:
        found = []
        for temp in self.program.temps:
            if temp.buffer < 0:
                found.append(None)
                continue
            form = tuple(n if full else 1 for n, full in zip(shape, temp.axes, strict=True))
            size = int(np.prod(form, dtype=np.int64))
            memory = self.memory.get(temp.buffer)
            if memory is None or memory.size < size:
                room = max(size, TILE) if all(temp.axes) else size
                memory = self.memory[temp.buffer] = self.xp.empty(room, temp.dtype)
            found.append(memory[:size].reshape(form))
        return found


class _BlockFold:
    """State of one fold over one block, tile by tile in C order."""

    def __init__(self, fold: Fold, box: Box, xp: ModuleType) -> None:
        self.fold, self.xp, self.shape = fold, xp, box_shape(box)
        self.states: dict[Box, State] = {}

    def add(self, values: Any, tile: Box) -> None:
        """Fold in the values of a tile of the block."""
        xp, reduction = self.xp, self.fold.reduction
        shape = box_shape(tile)
        if values.shape != shape:
            values = xp.broadcast_to(values, shape)
        state = reduction.partial(xp, xp.ascontiguousarray(values))
        kept = tuple((0, 1) if a in reduction.axes else span for a, span in enumerate(tile))
        before = self.states.get(kept)
        self.states[kept] = (
            state if before is None else reduction.row.combine(xp, before, state)
        )

    def state(self) -> State:
        """State of the whole block."""
        if len(self.states) == 1:
            return next(iter(self.states.values()))
        axes = self.fold.reduction.axes
        shape = tuple(1 if a in axes else n for a, n in enumerate(self.shape))
        first = next(iter(self.states.values()))
        whole = []
        for k, spec in enumerate(self.fold.reduction.fields):
            if spec.unit:
                whole.append(first[k])
                continue
            values = self.xp.empty(shape, spec.dtype)
            for kept, state in self.states.items():
                values[tuple(slice(lo, hi) for lo, hi in kept)] = state[k]
            whole.append(values)
        return tuple(whole)


def _compress(
    xp: ModuleType, values: Any, mask: Any, mask_ndim: int, shape: tuple[int, ...]
) -> Any:
    lead, rest = shape[:mask_ndim], shape[mask_ndim:]
    mask = xp.broadcast_to(mask.reshape(mask.shape[:mask_ndim]), lead)
    if values.shape != shape:
        values = xp.broadcast_to(values, shape)
    if mask_ndim == 1:
        return xp.compress(mask, values, axis=0)
    del rest
    return values[mask]
