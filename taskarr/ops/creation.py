"""Creation: arrays from NumPy data, from one value, and from a range."""

import math
from typing import Any

import numpy as np

import scheduler
from scheduler import World
from taskarr.expr import Expr, Generate
from taskarr.ops.operands import checked_dtype, from_host, layout_for

FILL = Generate("fill")
ARANGE = Generate("arange")


def world_of(comm: Any) -> World:
    """World of an mpi4py communicator, a world as it is, or this program's for None.

    Raises
    ------
    TypeError
        For anything else.
    """
    if comm is None:
        return scheduler.current()
    return comm if isinstance(comm, World) else scheduler.from_mpi(comm)


def check_device(device: Any) -> None:
    """Raise NotImplementedError for a device other than the processor's memory."""
    if device not in (None, "cpu"):
        raise NotImplementedError(f"device={device!r}: blocks live on 'cpu' in this version")


def asarray(
    x: Any,
    dtype: Any = None,
    *,
    split: Any = "auto",
    chunks: Any = None,
    mesh: Any = None,
    world: World,
) -> Expr:
    """Node of anything NumPy makes an array of, the same on all ranks."""
    data = np.asarray(x, dtype)
    checked_dtype(data.dtype)
    return from_host(data, layout_for(world, data.shape, data.dtype, split, chunks, mesh), world)


def full(
    shape: Any,
    value: Any,
    dtype: Any = None,
    *,
    split: Any = "auto",
    chunks: Any = None,
    mesh: Any = None,
    world: World,
) -> Expr:
    """Node filled with one value, which NumPy could broadcast from zero dimensions."""
    sizes = shape_of(shape)
    fill = np.asarray(value)
    if fill.ndim:
        raise NotImplementedError(
            f"full() with a value of shape {fill.shape}: broadcast it with zeros(shape) + value"
        )
    kind = checked_dtype(np.dtype(dtype) if dtype is not None else fill.dtype)
    typed = np.full((), value, kind)[()]
    layout = layout_for(world, sizes, kind, split, chunks, mesh)
    return Expr(FILL, (), kind, layout, world, (typed,))


def arange(
    *bounds: Any,
    dtype: Any = None,
    split: Any = "auto",
    chunks: Any = None,
    mesh: Any = None,
    world: World,
) -> Expr:
    """Node of ``numpy.arange``: start, stop, step."""
    if not 1 <= len(bounds) <= 3:
        raise TypeError(f"arange() takes from 1 to 3 positional arguments, got {len(bounds)}")
    kind = _range_dtype(bounds, dtype)
    if kind.kind not in "iuf":
        whole = np.arange(*bounds, dtype=dtype)
        return asarray(whole, split=split, chunks=chunks, mesh=mesh, world=world)
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    layout = layout_for(world, (_length(start, stop, step),), kind, split, chunks, mesh)
    first = np.asarray(start).astype(kind)[()]
    delta = np.asarray(start + step).astype(kind)[()] - first
    return Expr(ARANGE, (), kind, layout, world, (first, delta))


def _range_dtype(bounds: tuple[Any, ...], dtype: Any) -> np.dtype:
    """Dtype of a range, found by asking NumPy for one without elements."""
    if not all(isinstance(b, int | float | np.integer | np.floating | np.bool_) for b in bounds):
        return checked_dtype(np.arange(*bounds, dtype=dtype).dtype)
    none = [type(b)(0) for b in bounds[:2]] + [type(b)(1) for b in bounds[2:]]
    return checked_dtype(np.arange(*none, dtype=dtype).dtype)


def _length(start: Any, stop: Any, step: Any) -> int:
    if not step:
        raise ZeroDivisionError(f"arange() with step {step!r}")
    try:
        return max(0, math.ceil((stop - start) / step))
    except OverflowError:
        raise ValueError(f"arange() from {start!r} to {stop!r} by {step!r} has no end") from None


def shape_of(shape: Any) -> tuple[int, ...]:
    """Shape from an integer or a sequence of integers.

    Raises
    ------
    TypeError
        For an entry that is no integer.
    ValueError
        For a negative one, or one that is too large for an index.
    """
    sizes = tuple(shape) if np.iterable(shape) else (shape,)
    if not all(hasattr(n, "__index__") for n in sizes):
        raise TypeError(f"shape {shape!r} holds something that is not an integer")
    found = tuple(n.__index__() for n in sizes)
    if min(found, default=0) < 0:
        raise ValueError(f"negative dimensions are not allowed: shape {shape!r}")
    if max(found, default=0) > np.iinfo(np.intp).max:
        raise ValueError(f"Maximum allowed dimension exceeded: shape {shape!r}")
    return found
