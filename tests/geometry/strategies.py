"""Shapes, layouts and views for hypothesis, and what NumPy says of them."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from taskarr.geometry.layout import Layout
from taskarr.geometry.owners import new_layout, on_root
from taskarr.geometry.region import Box
from taskarr.geometry.view import Affine, broadcast, identity, transpose
from taskarr.ops.keys import view_of_key

lengths = st.sampled_from((0, 1, 2, 3, 7, 8, 9, 11))
shapes = st.lists(lengths, min_size=1, max_size=3).map(tuple)
sizes = st.integers(1, 9)


@st.composite
def boxes(draw: Any, shape: tuple[int, ...]) -> Box:
    """Boxes with at least one element, where the shape has any."""
    spans = []
    for n in shape:
        lo = draw(st.integers(0, max(0, n - 1)))
        spans.append((lo, draw(st.integers(min(lo + 1, n), n))))
    return tuple(spans)


@st.composite
def chunks(draw: Any, length: int) -> Any:
    """Blocks of one axis in Dask's notation."""
    kind = draw(st.sampled_from(("whole", "even", "uneven")))
    if kind == "whole" or not length:
        return None
    if kind == "even":
        return draw(st.integers(1, length))
    found = []
    while sum(found) < length:
        found.append(draw(st.integers(1, length - sum(found))))
    return tuple(found)


@st.composite
def meshes(draw: Any, axes: int, size: int) -> tuple[int, ...]:
    """Process grids of at most ``size`` ranks."""
    mesh: list[int] = []
    for _ in range(axes):
        mesh.append(draw(st.integers(1, size // prod(mesh))))
    return tuple(mesh)


@st.composite
def layouts(draw: Any, shape: tuple[int, ...], size: int) -> Layout:
    """Layouts as users make them: any split, chunks, mesh and block size, and all on one rank."""
    kind = draw(st.sampled_from(("new", "new", "new", "new", "root", "replicated")))
    if kind == "root":
        return on_root(shape, draw(st.integers(0, size - 1)), size)
    given = draw(st.booleans())
    split: Any = None
    if kind == "new":
        split = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1).map(sorted).map(tuple))
    return new_layout(
        shape,
        8,
        size,
        split=split,
        chunks=tuple(draw(chunks(n)) for n in shape) if given else None,
        mesh=draw(meshes(len(split), size)) if split and draw(st.booleans()) else None,
        block=draw(st.sampled_from((8, 16, 40, 100))),
    )


@st.composite
def entries(draw: Any, length: int) -> Any:
    """Entries of a basic key for one axis."""
    if length and draw(st.integers(0, 4)) == 0:
        return draw(st.integers(-length, length - 1))
    bound = st.none() | st.integers(-length - 2, length + 2)
    step = draw(st.sampled_from((None, 1, 1, 2, 3, -1, -1, -2, -5)))
    return slice(draw(bound), draw(bound), step)


@st.composite
def steps(draw: Any, shape: tuple[int, ...]) -> Affine:
    """One view: a basic key, a transpose or a broadcast."""
    kind = draw(st.sampled_from(("key", "key", "transpose", "broadcast")))
    if kind == "transpose":
        return transpose(shape, tuple(draw(st.permutations(range(len(shape))))))
    if kind == "broadcast" and len(shape) < 4:
        wide = [draw(st.integers(1, 3)) if n == 1 else n for n in shape]
        lead = draw(st.lists(st.integers(1, 3), max_size=1))
        return broadcast(shape, (*lead, *wide))
    key = [draw(entries(n)) for n in shape]
    if len(shape) < 4 and draw(st.booleans()):
        key.insert(draw(st.integers(0, len(key))), None)
    return view_of_key(shape, tuple(key))


@st.composite
def views(draw: Any, shape: tuple[int, ...], longest: int = 3) -> Affine:
    """Chains of views as one."""
    found = identity(shape)
    for _ in range(draw(st.integers(0, longest))):
        found = draw(steps(found.shape)).after(found)
    return found


def shown(view: Affine, base: np.ndarray) -> np.ndarray:
    """What a view shows of a base, by the definition of `Affine`, one element after the other."""
    found = np.empty(view.shape, base.dtype)
    for index in product(*map(range, view.shape)):
        at = list(view.start)
        for i, axis, step in zip(index, view.axes, view.step, strict=True):
            if axis >= 0:
                at[axis] += step * i
        assert min(at, default=0) >= 0
        found[index] = base[tuple(at)]
    return found


def numbered(shape: tuple[int, ...]) -> np.ndarray:
    """Array whose elements are their flat positions."""
    return np.arange(prod(shape)).reshape(shape)


def part(x: np.ndarray, box: Box) -> np.ndarray:
    """Elements of a box."""
    return x[(*(slice(lo, hi) for lo, hi in box), ...)]


def owned(layout: Layout, rank: int) -> np.ndarray:
    """Flat positions of the elements that a rank holds."""
    box = layout.brick(rank)
    whole = numbered(layout.shape)
    return np.empty(0, int) if box is None else part(whole, box).ravel()
