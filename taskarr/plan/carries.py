"""What planned scans call: blocks in columns along the axis, and the carries between them."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from taskarr.backend import Backend
from taskarr.geometry.region import Box, box_shape
from taskarr.kernel.hazards import Risk
from taskarr.kernel.scan import Accumulation, Scanner

Column = tuple[Box, ...]
"""Blocks that follow each other along the axis, as boxes within the brick."""

Carries = list[Any]
"""Carry of each column."""

Risks = list[list[list[Risk]]]
"""Risks of the parts of each block of each column."""

Runs = list[tuple[Column, ...]]
"""Columns that are dealt with together, cut along the axis into tasks."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Blocks of a task: a run of each of some columns.

    Parameters
    ----------
    what, axis
        The accumulation, and along which axis.
    position
        Node that answers for faults.
    columns
        Runs of blocks.
    """

    what: Accumulation
    axis: int
    position: int
    columns: tuple[Column, ...]

    def formed(self, backend: Backend, brick: Any, box: Box) -> Any:
        """Block as (lead, n, inner): the brick's memory if it is contiguous there, else a copy."""
        shape = box_shape(box)
        form = prod(shape[: self.axis]), shape[self.axis], prod(shape[self.axis + 1 :])
        return backend.xp.ascontiguousarray(brick[_slices(box)]).reshape(form)

    def each(
        self, backend: Backend, source: Any, target: Any, number: int, writes: bool = True
    ) -> Iterator[tuple[Any, Any]]:
        """Blocks of a column of both bricks; what is done to a copy goes into the brick."""
        for box in self.columns[number]:
            y = self.formed(backend, target, box)
            yield self.formed(backend, source, box), y
            part = target[_slices(box)]
            if writes and not part.flags.c_contiguous:
                part[...] = y.reshape(part.shape)


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple([slice(lo, hi) for lo, hi in box])


@dataclass(frozen=True, slots=True)
class Alone:
    """Accumulate the parts of blocks by themselves."""

    blocks: Columns

    def __call__(self, backend: Backend, source: Any, target: Any) -> Risks:
        """Give the risks of the parts."""
        blocks = self.blocks
        scanner = Scanner(blocks.what, backend, blocks.position)
        return [
            [scanner.alone(x, y) for x, y in blocks.each(backend, source, target, k)]
            for k in range(len(blocks.columns))
        ]


@dataclass(frozen=True, slots=True)
class Carry:
    """Take carries along columns of blocks.

    Parameters
    ----------
    blocks
        The blocks.
    verb
        What the `Scanner` does to each: ``"through"`` if nothing was done to it; else ``"total"``
        or ``"join"``.
    """

    blocks: Columns
    verb: str

    def __call__(
        self,
        backend: Backend,
        source: Any,
        target: Any,
        carries: Carries | None = None,
        risks: Risks | None = None,
    ) -> Carries:
        """Give the next carries; without any the blocks are the first of their columns."""
        blocks, found = self.blocks, []
        act = getattr(Scanner(blocks.what, backend, blocks.position), self.verb)
        for k in range(len(blocks.columns)):
            carry = None if carries is None else carries[k]
            pairs = blocks.each(backend, source, target, k, self.verb != "total")
            for number, (x, y) in enumerate(pairs):
                more = () if risks is None else (risks[k][number],)
                carry = act(x, y, carry, *more)
            found.append(carry)
        return found


def pack_carries(backend: Backend, *groups: Carries) -> Any:
    """Carries of all columns as bytes."""
    xp = backend.xp
    parts = [xp.ascontiguousarray(carry).reshape(-1) for group in groups for carry in group]
    return xp.concatenate(parts).view("u1")


@dataclass(frozen=True, slots=True)
class TakeCarries:
    """Carries of some columns from bytes: shapes, and the offset of the first."""

    shapes: tuple[tuple[int, ...], ...]
    dtype: np.dtype
    at: int

    def __call__(self, buffer: Any) -> Carries:
        """Give them."""
        found, at = [], self.at
        for shape in self.shapes:
            end = at + prod(shape) * self.dtype.itemsize
            found.append(buffer[at:end].copy().view(self.dtype).reshape(shape))
            at = end
        return found
