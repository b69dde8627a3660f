"""Operands: what may stand beside an array, and the iteration space of several."""

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from scheduler import SPMDError, World
from scheduler.comm.where import user_line
from taskarr.expr import Expr, held, view_of
from taskarr.geometry.grid import MOST_BLOCKS
from taskarr.geometry.layout import Layout
from taskarr.geometry.owners import WORST_BALANCE, balance, new_layout, redealt
from taskarr.geometry.region import slices
from taskarr.geometry.strides import order_of
from taskarr.geometry.view import broadcast
from taskarr.ops.views import expand_dims
from taskarr.runtime import agree, runtime

SCALARS = (bool, int, float, complex)
LARGEST_BLOCK = 64 << 20
"""Bytes over which an inherited block is cut anew, as after broadcasting a small operand."""


def checked_dtype(dtype: np.dtype) -> np.dtype:
    """The dtype, if blocks can hold it.

    Raises
    ------
    TypeError
        For object dtypes.
    """
    if dtype.hasobject:
        raise TypeError(
            f"dtype {dtype} holds Python objects, which taskarr cannot cut into blocks; "
            "give the array a numeric, bool, datetime or fixed-width string dtype first"
        )
    return dtype


def layout_for(
    world: World,
    shape: tuple[int, ...],
    dtype: np.dtype,
    split: Any = "auto",
    chunks: Any = None,
    mesh: Any = None,
) -> Layout:
    """Layout of a new array under the settings of its world."""
    settings = runtime(world).settings
    return new_layout(
        shape,
        max(1, dtype.itemsize),
        world.size,
        split=split,
        chunks=chunks,
        mesh=mesh,
        block=settings.block,
        replicate=settings.replicate,
    )


def from_host(x: np.ndarray, layout: Layout, world: World) -> Expr:
    """Node of a NumPy array that is the same on all ranks; each keeps a copy of its brick.

    Raises
    ------
    SPMDError
        Under ``TASKARR_DEBUG``, when the array differs between ranks.
    """
    if runtime(world).settings.debug:
        _same_everywhere(x, world)
    box, node = layout.brick(world.rank), held(None, x.dtype, layout, world)
    node.order = order_of(x.shape, x.strides)
    if box is None:
        return node
    brick = runtime(world).backend.empty(tuple(hi - lo for lo, hi in box), x.dtype)
    brick[...] = x[slices(tuple(range(lo, hi) for lo, hi in box), (0,) * len(box))]
    node.value = brick
    return node


def _same_everywhere(x: np.ndarray, world: World) -> None:
    text = hashlib.blake2b(np.ascontiguousarray(x).tobytes(), digest_size=8)
    text.update(repr((x.shape, x.dtype)).encode())
    agree(world, "comparing an operand")
    every = world.allgather(text.hexdigest(), "comparing an operand")
    for rank, other in enumerate(every):
        if other != every[0]:
            raise SPMDError(
                f"a NumPy operand of shape {x.shape} at {user_line()} differs between rank 0 and "
                f"rank {rank}; every rank must pass the same array"
            )


def replicated_host(x: np.ndarray, world: World) -> Expr:
    """Node of a small NumPy operand that every rank keeps whole."""
    checked_dtype(x.dtype)
    return from_host(x, layout_for(world, x.shape, x.dtype, split=None), world)


def strong(x: Any) -> Any:
    """Operand whose dtype counts, as that of an array of zero dimensions does."""
    return x if isinstance(x, Expr) else np.asarray(x)[()]


def expanded(x: Any, axis: Any) -> Any:
    """A node, or an array of NumPy, with axes of length one put in."""
    if isinstance(x, Expr):
        return view_of(x, expand_dims(x.shape, axis))
    return np.expand_dims(x, axis)


def iteration_layout(
    operands: Sequence[Expr], shape: tuple[int, ...], itemsize: int, world: World
) -> Layout:
    """Layout of an elementwise result: that of the largest distributed operand, ties leftmost.

    A result whose blocks would be too many or too large, or whose owners would be too uneven,
    is cut anew; so is one that is broadcast from replicated operands and no longer small.
    """
    cut = [x for x in operands if not x.layout.replicated]
    chosen = max(cut or operands, key=lambda x: math.prod(x.shape))
    layout = chosen.layout
    if chosen.shape != shape:
        layout = layout.viewed(broadcast(chosen.shape, shape))
    if layout.replicated:
        largest = max(math.prod(x.shape) for x in operands)
        small = math.prod(shape) <= largest or math.prod(shape) * itemsize <= LARGEST_BLOCK // 4
        return layout if small else layout_for(world, shape, np.dtype(f"V{itemsize}"))
    return settled(layout, itemsize, world)


def settled(layout: Layout, itemsize: int, world: World) -> Layout:
    """The layout, or a better one: a new grid if the blocks got too large or too many.

    When only the owners are out of balance, the grid stays and is dealt out anew.
    """
    bounds = [axis.bounds for axis in layout.axes]
    blocks = math.prod(len(b) - 1 for b in bounds)
    largest = math.prod(int(np.diff(b).max()) for b in bounds) * itemsize
    if blocks > MOST_BLOCKS or largest > LARGEST_BLOCK:
        return layout_for(
            world, layout.shape, np.dtype(f"V{itemsize}"), split=layout.split or "auto"
        )
    if balance(layout) > WORST_BALANCE and blocks >= world.size > 1:
        return redealt(layout)
    return layout
