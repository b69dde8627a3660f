"""Layouts: a grid, and which rank owns which rectangle of neighbouring blocks."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import numpy as np

from taskarr.geometry.grid import Bounds, lengths_of
from taskarr.geometry.region import Box
from taskarr.geometry.view import NEW, Affine, broadcast_shapes


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a layout.

    Parameters
    ----------
    bounds
        Block boundaries, int64, from 0 to the length.
    cut
        Owner ``j`` has the elements ``cut[j]`` to ``cut[j + 1]``; each is one of ``bounds``.
    stride
        Distance between the ranks of neighbouring owners; negative after a flip, 0 for an axis
        that is not dealt out.
    """

    bounds: Bounds
    cut: np.ndarray
    stride: int

    @cached_property
    def key(self) -> tuple[bytes, bytes, int]:
        """Value that equal axes share."""
        return self.bounds.tobytes(), self.cut.tobytes(), self.stride

    @property
    def length(self) -> int:
        """Number of elements."""
        return int(self.bounds[-1])

    @property
    def owners(self) -> int:
        """Number of mesh coordinates along the axis."""
        return len(self.cut) - 1

    def span(self, owner: int) -> tuple[int, int]:
        """Elements of one owner."""
        return int(self.cut[owner]), int(self.cut[owner + 1])

    def owners_of(self, lo: int, hi: int) -> range:
        """Owners that have elements in ``[lo, hi)``; empty owners may be among them."""
        first = int(np.searchsorted(self.cut, lo, "right")) - 1
        last = int(np.searchsorted(self.cut, hi, "left"))
        return range(max(first, 0), min(last, self.owners))

    def owner(self, index: np.ndarray) -> np.ndarray:
        """Owners of elements."""
        return np.searchsorted(self.cut, index, "right") - 1

    def __reduce__(self) -> tuple[Any, ...]:
        return Axis, (self.bounds, self.cut, self.stride)

    def blocks(self, lo: int, hi: int) -> np.ndarray:
        """Boundaries of the blocks of a span that starts and ends at boundaries."""
        first, last = np.searchsorted(self.bounds, (lo, hi))
        return self.bounds[first : last + 1]

    def picked(self, start: int, step: int, length: int) -> tuple["Axis", int]:
        """Axis of a slice, and what it adds to the base rank."""

        def moved(cut: np.ndarray) -> np.ndarray:
            if step > 0:
                return np.clip(-((start - cut) // step), 0, length)
            return np.clip((start - cut) // -step + 1, 0, length)[::-1]

        bounds, cut = np.unique(moved(self.bounds)), moved(self.cut).copy()
        if len(bounds) == 1:
            bounds = np.zeros(2, np.int64)
        if step > 0:
            return Axis(bounds, cut, self.stride), 0
        return Axis(bounds, cut, -self.stride), (self.owners - 1) * self.stride


@dataclass(frozen=True, eq=False)
class Layout:
    """Owners of all blocks of an array.

    Parameters
    ----------
    axes
        One `Axis` per array axis.
    size
        Number of ranks of the world.
    base
        Rank of the owner with mesh coordinate 0 on every axis.
    replicated
        Every rank holds all; the axes then say how the array would be cut into blocks.
    """

    axes: tuple[Axis, ...]
    size: int
    base: int = 0
    replicated: bool = False
    _decode: tuple = field(init=False, repr=False)

    def __post_init__(self) -> None:
        base, steps = self.base, []
        for position, axis in enumerate(self.axes):
            if axis.owners > 1:
                if axis.stride < 0:
                    base += (axis.owners - 1) * axis.stride
                steps.append((abs(axis.stride), position, axis.owners, axis.stride < 0))
        object.__setattr__(self, "_decode", (base, tuple(sorted(steps, reverse=True))))

    @cached_property
    def key(self) -> tuple:
        """Value that equal layouts share."""
        return self.size, self.base, self.replicated, *(axis.key for axis in self.axes)

    @cached_property
    def _hash(self) -> int:
        return hash(self.key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Layout) and hash(self) == hash(other) and self.key == other.key

    @property
    def text(self) -> str:
        """How it is cut, for people."""
        if self.replicated:
            return "replicated"
        return f"split={self.split}, blocks={prod(len(axis.bounds) - 1 for axis in self.axes)}"

    @cached_property
    def digest(self) -> str:
        """Text that equal layouts share in every process."""
        return hashlib.blake2b(repr(self.key).encode(), digest_size=8).hexdigest()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(axis.length for axis in self.axes)

    @cached_property
    def fullest(self) -> int:
        """Elements of the largest brick of any rank."""
        if self.replicated:
            return prod(self.shape)
        return prod([int(np.diff(axis.cut).max()) for axis in self.axes])

    @property
    def chunks(self) -> tuple[tuple[int, ...], ...]:
        """Block lengths per axis, in Dask's notation."""
        return tuple(lengths_of(axis.bounds) for axis in self.axes)

    @property
    def split(self) -> tuple[int, ...]:
        """Axes that are dealt out to owners, however few there are."""
        return tuple(k for k, axis in enumerate(self.axes) if axis.stride)

    @property
    def mesh(self) -> tuple[int, ...]:
        """Number of owners per axis."""
        return tuple(axis.owners for axis in self.axes)

    @property
    def whole(self) -> Box:
        """Box of all indices."""
        return tuple((0, axis.length) for axis in self.axes)

    def coordinates(self, rank: int) -> tuple[int, ...] | None:
        """Mesh coordinates of a rank, or None when it owns nothing."""
        base, steps = self._decode
        rest, found = rank - base, [0] * len(self.axes)
        if rest < 0:
            return None
        for stride, position, owners, flipped in steps:
            c, rest = divmod(rest, stride)
            if c >= owners:
                return None
            found[position] = owners - 1 - c if flipped else c
        return tuple(found) if rest == 0 else None

    def brick(self, rank: int) -> Box | None:
        """Box of indices that a rank holds, or None when it holds none."""
        if self.replicated:
            return self.whole
        coordinates = self.coordinates(rank)
        if coordinates is None:
            return None
        box = tuple(a.span(c) for a, c in zip(self.axes, coordinates, strict=True))
        return box if all(lo < hi for lo, hi in box) else None

    def owners_of(self, box: Box) -> Iterator[int]:
        """Ranks that hold elements of a box, in C order of their bricks."""
        if self.replicated:
            yield from range(self.size)
            return
        spans = []
        for axis, (lo, hi) in zip(self.axes, box, strict=True):
            cut = axis.cut
            spans.append([j * axis.stride for j in axis.owners_of(lo, hi) if cut[j] < cut[j + 1]])
        for offsets in product(*spans):
            yield self.base + sum(offsets)

    def owners(self, indices: Any) -> np.ndarray:
        """Ranks that own elements; rank 0 stands for all where every rank holds all.

        Parameters
        ----------
        indices
            Integers along the first axis, or a tuple of them for the leading axes, which
            broadcast; negative ones count from the end. Axes that are cut among ranks need one.

        Raises
        ------
        IndexError
            For indices out of bounds or that are no integers, and for too many or too few axes.

        Examples
        --------
        >>> import taskarr
        >>> taskarr.arange(6, split=0).layout.owners([0, -1])
        array([0, 0])
        """
        given = indices if isinstance(indices, tuple) else (indices,)
        if len(given) > len(self.axes) or any(a.owners > 1 for a in self.axes[len(given) :]):
            raise IndexError(
                f"{len(given)} indices for an array of {len(self.axes)} axes, which is cut among "
                f"ranks along {self.split}"
            )
        found = np.full(broadcast_shapes(*map(np.shape, given)), self.base, np.int64)
        for number, (index, axis) in enumerate(zip(given, self.axes, strict=False)):
            within = _checked(np.asarray(index), axis.length, number)
            if not self.replicated:
                found += axis.owner(within) * axis.stride
        return np.zeros_like(found) if self.replicated else found

    def local_index(self, rank: int, index: Any) -> tuple[int, ...] | None:
        """Where an element, or a row, lies in a rank's brick; None when it is not there.

        Raises
        ------
        IndexError
            As `owners`.
        """
        given = index if isinstance(index, tuple) else (index,)
        if len(given) > len(self.axes):
            raise IndexError(f"{len(given)} indices for an array of {len(self.axes)} axes")
        pairs = enumerate(zip(given, self.axes, strict=False))
        found = [int(_checked(np.asarray(i), axis.length, k)) for k, (i, axis) in pairs]
        box = self.brick(rank)
        if box is None or not all(lo <= i < hi for i, (lo, hi) in zip(found, box, strict=False)):
            return None
        return tuple(i - lo for i, (lo, _) in zip(found, box, strict=False))

    def __reduce__(self) -> tuple[Any, ...]:
        return Layout, (self.axes, self.size, self.base, self.replicated)

    def blocks(self, box: Box) -> tuple[np.ndarray, ...]:
        """Block boundaries inside a box of whole blocks, per axis."""
        return tuple(a.blocks(lo, hi) for a, (lo, hi) in zip(self.axes, box, strict=True))

    def viewed(self, view: Affine) -> "Layout":
        """Layout in which every rank holds what the view shows of its brick."""
        return _viewed(self, view)


def _checked(index: np.ndarray, length: int, axis: int) -> np.ndarray:
    """Indices counted from the beginning."""
    if index.dtype.kind not in "iu":
        raise IndexError(f"indices of axis {axis} must be integers, not {index.dtype}")
    outside = (index < -length) | (index >= length)
    if outside.any():
        first = index[outside].flat[0]
        raise IndexError(f"index {first} is out of bounds for axis {axis} with size {length}")
    return np.where(index < 0, index + length, index).astype(np.int64)


def _viewed(layout: Layout, view: Affine) -> Layout:
    if view.is_identity:
        return layout
    base, axes = layout.base, []
    for n, axis, step in zip(view.shape, view.axes, view.step, strict=True):
        if axis == NEW:
            axes.append(single(n))
        else:
            picked, offset = layout.axes[axis].picked(view.start[axis], step, n)
            axes.append(picked)
            base += offset
    for axis in set(range(len(layout.axes))) - set(view.axes):
        at = view.start[axis]
        cut = layout.axes[axis].cut
        owner = int(np.searchsorted(cut, at, "right")) - 1
        base += min(owner, layout.axes[axis].owners - 1) * layout.axes[axis].stride
    return Layout(tuple(axes), layout.size, base, layout.replicated)


def single(length: int) -> Axis:
    """Axis of one block with one owner."""
    bounds = np.array([0, length], np.int64)
    return Axis(bounds, bounds, 0)
