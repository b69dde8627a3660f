"""Lenses: how a view reads the array it shows, and how it writes through.

A lens is a chain of steps. Each gives what it shows of a node, and a node's new version when what
it shows is written. `Affine` views are steps too; neighbouring ones are one. Steps also follow the
strides that NumPy's view would have, which decide what a further view may be.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from taskarr.expr import Expr, view_of
from taskarr.geometry.strides import Strides, viewed
from taskarr.geometry.view import Affine, identity
from taskarr.kernel.parts import PARTS, bits, field, joined, pieces
from taskarr.ops.elementwise import combined
from taskarr.ops.reshape import reshaped, squeezed
from taskarr.ops.write import put


class Step(Protocol):
    """One step of a lens that is not affine."""

    def get(self, x: Expr) -> Expr:
        """Node of what is shown of ``x``."""

    def put(self, x: Expr, value: Expr) -> Expr:
        """Node of ``x`` in which ``value`` is shown."""

    def form(self, shape: tuple[int, ...], dtype: np.dtype) -> tuple[tuple[int, ...], np.dtype]:
        """Shape and dtype of what is shown."""

    def strides(self, before: Strides) -> Strides:
        """Strides of what is shown, from those of the whole."""


Lens = tuple[Step | Affine, ...]


@dataclass(frozen=True, slots=True)
class Shaped:
    """The elements in C order in another shape; ``into`` are the strides that NumPy finds."""

    shape: tuple[int, ...]
    into: Strides

    def get(self, x: Expr) -> Expr:
        """Node in the new shape."""
        return reshaped(x, self.shape)

    def put(self, x: Expr, value: Expr) -> Expr:
        """Node in the old shape."""
        return reshaped(value, x.shape)

    def form(self, shape: tuple[int, ...], dtype: np.dtype) -> tuple[tuple[int, ...], np.dtype]:
        """The new shape."""
        return self.shape, dtype

    def strides(self, before: Strides) -> Strides:
        """The strides found."""
        return self.into


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a structured dtype, or several."""

    names: str | tuple[str, ...]
    dtype: np.dtype

    def get(self, x: Expr) -> Expr:
        """Node of the field."""
        return combined(field(self.names)[0], [x], self.dtype)

    def put(self, x: Expr, value: Expr) -> Expr:
        """Node with the field written."""
        return combined(field(self.names)[1], [x, value], x.dtype)

    def form(self, shape: tuple[int, ...], dtype: np.dtype) -> tuple[tuple[int, ...], np.dtype]:
        """The field's dtype."""
        return shape, self.dtype

    def strides(self, before: Strides) -> Strides:
        """Those of the whole."""
        return before


@dataclass(frozen=True, slots=True)
class Part:
    """The real or the imaginary part of complex numbers."""

    name: str

    def get(self, x: Expr) -> Expr:
        """Node of the part."""
        return combined(PARTS[self.name][0], [x], _real_of(x.dtype))

    def put(self, x: Expr, value: Expr) -> Expr:
        """Node with the part written."""
        return combined(PARTS[self.name][1], [x, value], x.dtype)

    def form(self, shape: tuple[int, ...], dtype: np.dtype) -> tuple[tuple[int, ...], np.dtype]:
        """The dtype of the part."""
        return shape, _real_of(dtype)

    def strides(self, before: Strides) -> Strides:
        """Those of the whole."""
        return before


def _real_of(dtype: np.dtype) -> np.dtype:
    return np.empty(0, dtype).real.dtype


@dataclass(frozen=True, slots=True)
class Diagonal:
    """The diagonal of the first two axes, as the last one; it is read only."""

    offset: int

    def get(self, x: Expr) -> Expr:
        """Node of the diagonal: every ``m + 1``-th of the rows of ``m``."""
        n, m, *rest = x.shape
        rows = reshaped(x, (n * m, *rest))
        shape, _ = self.form(x.shape, x.dtype)
        first = max(-self.offset, 0) * m + max(self.offset, 0) if shape[-1] else 0
        start = (first, *(0,) * len(rest))
        axes = (*range(1, len(rest) + 1), 0)
        steps = (*(1,) * len(rest), m + 1)
        return view_of(rows, Affine(shape, axes, start, steps, rows.shape))

    def put(self, x: Expr, value: Expr) -> Expr:
        """Never: arrays that show a diagonal can't be written."""
        raise AssertionError("a diagonal is read only")

    def form(self, shape: tuple[int, ...], dtype: np.dtype) -> tuple[tuple[int, ...], np.dtype]:
        """The other axes, then the diagonal."""
        n, m, *rest = shape
        length = min(n + min(self.offset, 0), m - max(self.offset, 0))
        return (*rest, max(0, length)), dtype

    def strides(self, before: Strides) -> Strides:
        """One step along both axes."""
        return (*before[2:], before[0] + before[1])


@dataclass(frozen=True, slots=True)
class Bytes:
    """The bytes of elements of one dtype as elements of another.

    Smaller elements lie along the last axis, as many as fill one of the larger.
    """

    source: np.dtype
    target: np.dtype

    def get(self, x: Expr) -> Expr:
        """Node of the other dtype."""
        return recast(x, self.target)

    def put(self, x: Expr, value: Expr) -> Expr:
        """Node of the dtype it was."""
        return recast(value, self.source)

    def form(self, shape: tuple[int, ...], dtype: np.dtype) -> tuple[tuple[int, ...], np.dtype]:
        """Another last length, and the dtype."""
        small, large = self.target.itemsize, self.source.itemsize
        if small == large:
            return shape, self.target
        return (*shape[:-1], shape[-1] * large // small), self.target

    def strides(self, before: Strides) -> Strides:
        """Another last stride."""
        if self.target.itemsize == self.source.itemsize:
            return before
        return (*before[:-1], self.target.itemsize)


def recast(x: Expr, dtype: np.dtype) -> Expr:
    """Node of the bytes of ``x`` as elements of a dtype that fits."""
    small, large = sorted((x.dtype.itemsize, dtype.itemsize))
    if small == large:
        return combined(bits(x.dtype, dtype), [x], dtype)
    if large % small:
        return recast(recast(x, np.dtype("u1")), dtype)
    count = large // small
    if x.dtype.itemsize == large:
        numbers = np.arange(count)
        found = combined(pieces(x.dtype, dtype), [_with_axis(x), numbers], dtype)
        return reshaped(found, (*x.shape[:-1], x.shape[-1] * count))
    apart = reshaped(x, (*x.shape[:-1], x.shape[-1] // count, count))
    parts = [_last(apart, k) for k in range(count)]
    return combined(joined(x.dtype, dtype), parts, dtype)


def _with_axis(x: Expr) -> Expr:
    view = squeezed(x.shape, (*x.shape, 1))
    assert view is not None
    return view_of(x, view)


def _last(x: Expr, k: int) -> Expr:
    whole = identity(x.shape)
    start = (*whole.start[:-1], k)
    return view_of(x, Affine(x.shape[:-1], whole.axes[:-1], start, whole.step[:-1], x.shape))


# ---------------------------------------------------------------------- chains


def then(lens: Lens, step: Step | Affine) -> Lens:
    """Lens of a view of what a lens shows."""
    if isinstance(step, Affine):
        last = lens[-1] if lens else None
        if isinstance(last, Affine):
            lens, step = lens[:-1], step.after(last)
        return lens if step.is_identity else (*lens, step)
    return (*lens, step)


def seen(x: Expr, lens: Lens) -> Expr:
    """Node of what a lens shows of ``x``."""
    for step in lens:
        x = view_of(x, step) if isinstance(step, Affine) else step.get(x)
    return x


def written(x: Expr, lens: Lens, value: Expr) -> Expr:
    """Node of ``x`` in which a lens shows ``value``, which has the shape and dtype it shows."""
    if not lens:
        return put(x, identity(x.shape), value)
    step, rest = lens[0], lens[1:]
    if isinstance(step, Affine):
        inner = written(view_of(x, step), rest, value) if rest else value
        return put(x, step, inner)
    inner = written(step.get(x), rest, value) if rest else value
    return step.put(x, inner)


def form(lens: Lens, shape: tuple[int, ...], dtype: np.dtype) -> tuple[tuple[int, ...], np.dtype]:
    """Shape and dtype of what a lens shows of an array."""
    for step in lens:
        if isinstance(step, Affine):
            shape = step.shape
        else:
            shape, dtype = step.form(shape, dtype)
    return shape, dtype


def strides(lens: Lens, before: Strides) -> Strides:
    """Strides that NumPy's view would have, from those of the whole."""
    for step in lens:
        before = viewed(before, step) if isinstance(step, Affine) else step.strides(before)
    return before
