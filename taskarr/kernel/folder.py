"""Folding the segments of a block into the states of its reductions."""

from functools import lru_cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from taskarr.geometry.region import Box, box_shape
from taskarr.kernel.reduction import Reduction, State
from taskarr.kernel.tiles import tiles


class Places(NamedTuple):
    """Where the segments of a block lie in its result.

    ``boxes`` are the distinct places, ``at`` says which is that of each segment, ``forms`` are the
    segments' shapes.
    """

    boxes: tuple[Box, ...]
    at: tuple[int, ...]
    forms: tuple[tuple[int, ...], ...]


@lru_cache(1024)
def places(shape: tuple[int, ...], axes: tuple[int, ...]) -> Places:
    """Places of the segments of a block of this shape, reduced over ``axes``."""
    found: dict[Box, int] = {}
    at = []
    for tile in tiles(shape):
        kept = tuple((0, 1) if a in axes else span for a, span in enumerate(tile))
        at.append(found.setdefault(kept, len(found)))
    return Places(tuple(found), tuple(at), tuple(map(box_shape, tiles(shape))))


class Folder:
    """Folds segments of one value, block after block.

    State: the shape of the block at hand, where its segments lie, the states so far by place.
    """

    def __init__(self, reduction: Reduction, xp: ModuleType) -> None:
        self.reduction, self.xp = reduction, xp
        self.fields = reduction.fields
        self.shape: tuple[int, ...] = ()
        self.places = Places((), (), ())
        self.states: list[Any] = []

    def begin(self, shape: tuple[int, ...]) -> None:
        """Start a block."""
        if shape != self.shape or not self.states:
            self.shape, self.places = shape, places(shape, self.reduction.axes)
        self.states = [None] * len(self.places.boxes)

    def segment(self, values: Any, shape: tuple[int, ...], place: Box) -> State:
        """State of one segment of this shape, to which the values broadcast, at its place."""
        xp, reduction = self.xp, self.reduction
        if values.shape != shape:
            values = xp.broadcast_to(values, shape)
        if not values.flags.c_contiguous:
            values = xp.ascontiguousarray(values)
        more = (([lo for lo, _ in place], reduction.options),) if reduction.row.located else ()
        return reduction.row.partial(xp, values, reduction.axes, self.fields, *more)

    def totals(self, values: Any, starts: np.ndarray) -> Any:
        """Results of segments that begin at ``starts``, as one array; None if not at one go."""
        together = self.reduction.row.together
        if together is None:
            return None
        return together(self.xp, values.reshape(-1), starts, self.fields)

    def add(self, values: Any, number: int, place: Box) -> None:
        """Fold in the values of a segment of the block, in C order."""
        _, at, forms = self.places
        state = self.segment(values, forms[number], place)
        k = at[number]
        before = self.states[k]
        if before is not None:
            state = self.reduction.row.combine(self.xp, before, state)
        self.states[k] = state

    def state(self) -> State:
        """State of the whole block."""
        if len(self.states) == 1:
            return self.states[0]
        axes = self.reduction.axes
        shape = tuple(1 if a in axes else n for a, n in enumerate(self.shape))
        whole = []
        for k, spec in enumerate(self.fields):
            if spec.unit:
                whole.append(self.states[0][k])
                continue
            values = self.xp.empty(shape, spec.dtype)
            for box, state in zip(self.places.boxes, self.states, strict=True):
                values[tuple([slice(lo, hi) for lo, hi in box])] = state[k]
            whole.append(values)
        return tuple(whole)
