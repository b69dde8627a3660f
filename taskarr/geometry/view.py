"""Affine views: which element of a base array each element of a view shows."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from taskarr.geometry.region import Box, Region

NEW = -1


@dataclass(frozen=True, slots=True)
class Affine:
    """Index map ``base[axes[v]] = start[axes[v]] + step[v] * view[v]``.

    Parameters
    ----------
    shape
        Shape of the view.
    axes
        Per view axis the base axis that it walks along, or `NEW` for one that repeats.
    start
        Per base axis the index of the first element; of the only one where no view axis walks.
    step
        Per view axis the stride in base elements; 0 on `NEW` axes.
    base
        Shape of the base array.
    """

    shape: tuple[int, ...]
    axes: tuple[int, ...]
    start: tuple[int, ...]
    step: tuple[int, ...]
    base: tuple[int, ...]

    @property
    def is_identity(self) -> bool:
        """Whether the view shows the base as it is."""
        return (
            self.shape == self.base
            and self.axes == tuple(range(len(self.base)))
            and not any(self.start)
            and all(s == 1 for s in self.step)
        )

    @property
    def text(self) -> str:
        """What is shown of the base, as slices."""
        found = []
        for axis, first in enumerate(self.start):
            walks = [v for v, a in enumerate(self.axes) if a == axis]
            stop = [first + self.step[v] * self.shape[v] for v in walks]
            step = [f":{self.step[v]}" for v in walks if self.step[v] != 1]
            ends = [f":{end}" if end >= 0 else ":" for end in stop]
            found.append("".join([str(first), *ends, *step]))
        return ", ".join(found)

    def after(self, inner: "Affine") -> "Affine":
        """View of ``inner``'s base: this view applied to what ``inner`` shows."""
        return _compose(self, inner)

    def image(self, box: Box) -> Region:
        """Region of the base that a box of the view, not empty, shows."""
        found = [range(s, s + 1) for s in self.start]
        for (lo, hi), axis, step in zip(box, self.axes, self.step, strict=True):
            if axis != NEW:
                first = self.start[axis] + step * lo
                last = self.start[axis] + step * (hi - 1)
                found[axis] = range(min(first, last), max(first, last) + 1, abs(step))
        return tuple(found)

    def preimage(self, box: Box) -> Box | None:
        """Box of the view that shows elements of a base box, or None when none does."""
        walked = set(self.axes)
        for axis, (lo, hi) in enumerate(box):
            if axis not in walked and not lo <= self.start[axis] < hi:
                return None
        found = []
        for n, axis, step in zip(self.shape, self.axes, self.step, strict=True):
            lo, hi = (0, n) if axis == NEW else _between(box[axis], self.start[axis], step, n)
            if lo >= hi:
                return None
            found.append((lo, hi))
        return tuple(found)


def _between(span: tuple[int, int], start: int, step: int, length: int) -> tuple[int, int]:
    lo, hi = span[0] - start, span[1] - start
    if step < 0:
        lo, hi, step = 1 - hi, 1 - lo, -step
    return max(0, -(-lo // step)), min(length, -(-hi // step))


@lru_cache(4096)
def _compose(outer: Affine, inner: Affine) -> Affine:
    start = list(inner.start)
    for v, (axis, step) in enumerate(zip(inner.axes, inner.step, strict=True)):
        if axis != NEW:
            start[axis] += step * outer.start[v]
    axes, steps = [], []
    for axis, step in zip(outer.axes, outer.step, strict=True):
        if axis == NEW or inner.axes[axis] == NEW:
            axes.append(NEW)
            steps.append(0)
        else:
            axes.append(inner.axes[axis])
            steps.append(inner.step[axis] * step)
    return Affine(outer.shape, tuple(axes), tuple(start), tuple(steps), inner.base)


@lru_cache(4096)
def identity(shape: tuple[int, ...]) -> Affine:
    """View that shows an array of this shape as it is."""
    n = len(shape)
    return Affine(shape, tuple(range(n)), (0,) * n, (1,) * n, shape)


@lru_cache(4096)
def broadcast(base: tuple[int, ...], shape: tuple[int, ...]) -> Affine:
    """View of ``base`` repeated to ``shape`` by NumPy's rule.

    Raises
    ------
    ValueError
        When the shapes do not broadcast.
    """
    lead = len(shape) - len(base)
    if lead < 0:
        raise ValueError(f"input operand has more dimensions than allowed: {base} to {shape}")
    axes, steps = [NEW] * lead, [0] * lead
    for axis, (n, m) in enumerate(zip(base, shape[lead:], strict=True)):
        if n != m and n != 1:
            raise ValueError(
                f"operands could not be broadcast together: remapped shape {base} to {shape}"
            )
        axes.append(axis if n == m else NEW)
        steps.append(1 if n == m else 0)
    return Affine(shape, tuple(axes), (0,) * len(base), tuple(steps), base)


def transpose(shape: tuple[int, ...], order: tuple[int, ...]) -> Affine:
    """View whose axis ``k`` walks along base axis ``order[k]``."""
    n = len(shape)
    return Affine(tuple(shape[a] for a in order), order, (0,) * n, (1,) * n, shape)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Shape that several are broadcast to; `numpy.broadcast_shapes` knows 32 axes at most.

    Raises
    ------
    ValueError
        When they don't broadcast.
    """
    ndim = max(map(len, shapes), default=0)
    if ndim <= 32:
        return np.broadcast_shapes(*shapes)
    padded = [(1,) * (ndim - len(shape)) + shape for shape in shapes]
    lengths = [set(sizes) - {1} or {1} for sizes in zip(*padded, strict=True)]
    if any(len(several) > 1 for several in lengths):
        raise ValueError(f"shape mismatch: {shapes} can't be broadcast to a single shape")
    return tuple(n for several in lengths for n in several)
