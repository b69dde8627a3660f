"""Creation: where a new array goes, and arrays from NumPy data and from one value."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import scheduler
from scheduler import World
from taskarr.expr import FILL, Expr, Generate
from taskarr.geometry.layout import Layout
from taskarr.geometry.strides import Order, order_of
from taskarr.ops.operands import checked_dtype, from_host, layout_for

ARANGE = Generate("arange")
ORDERS = ("C", "F", "A", "K", None)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a new array goes.

    Parameters
    ----------
    world
        Ranks that share it.
    split, chunks, mesh
        As the user gives them; see `taskarr.asarray`.
    like
        Layout of another array, which one of the same shape takes over.
    """

    world: World
    split: Any = "auto"
    chunks: Any = None
    mesh: Any = None
    like: Layout | None = None

    def layout(self, shape: tuple[int, ...], dtype: np.dtype) -> Layout:
        """Layout of an array of this shape and dtype."""
        if self.like is not None and self.like.shape == shape:
            return self.like
        return layout_for(self.world, shape, dtype, self.split, self.chunks, self.mesh)


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


def memory_order(order: Any, shape: tuple[int, ...]) -> Order:
    """Order of the axes of a new array, for views; its bricks lie in C order all the same.

    Raises
    ------
    ValueError
        For an order that NumPy does not know.
    """
    if order not in ORDERS:
        raise ValueError(f"order must be one of 'C', 'F', 'A', or 'K' (got {order!r})")
    return tuple(reversed(range(len(shape)))) if order == "F" and len(shape) > 1 else None


def kept_order(order: Any, like: np.ndarray) -> Order:
    """Order of the axes that NumPy gives a copy of an array; errors as `memory_order`."""
    memory_order(order, like.shape)
    if order == "A":
        order = "F" if like.flags.fnc else "C"
    small = np.empty_like(like[(slice(2),) * like.ndim], order=order or "K")
    return order_of(small.shape, small.strides)


def asarray(data: np.ndarray, place: Placement, order: Any = "K") -> Expr:
    """Node of a NumPy array that is the same on all ranks."""
    checked_dtype(data.dtype)
    kept = kept_order(order, data)
    node = from_host(data, place.layout(data.shape, data.dtype), place.world)
    node.order = kept
    return node


def full(shape: Any, value: Any, dtype: Any, place: Placement) -> Expr:
    """Node filled with one value of zero dimensions."""
    sizes = shape_of(shape)
    kind = checked_dtype(np.asarray(value).dtype if dtype is None else np.dtype(dtype))
    if not kind.itemsize:  # text of the width of the value
        kind = np.full(np.shape(value), value, kind).dtype
    typed = np.full((), value, kind)[()]
    return Expr(FILL, (), kind, place.layout(sizes, kind), place.world, (typed,))


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
    if any(isinstance(n, bool | np.bool_) or not hasattr(n, "__index__") for n in sizes):
        raise TypeError(f"shape {shape!r} holds something that is not an integer")
    found = tuple(n.__index__() for n in sizes)
    if min(found, default=0) < 0:
        raise ValueError(f"negative dimensions are not allowed: shape {shape!r}")
    if max(found, default=0) > np.iinfo(np.intp).max:
        raise ValueError(f"Maximum allowed dimension exceeded: shape {shape!r}")
    return found
