"""Boolean masks: reading the selected elements or rows, writing a value where one is true."""

import math
from typing import Any

import numpy as np

from taskarr.evaluate import run
from taskarr.expr import Expr, Filtered, moved_to, view_of
from taskarr.geometry.layout import Layout, single
from taskarr.geometry.owners import WORST_BALANCE, balance, dealt
from taskarr.ops.elementwise import select
from taskarr.ops.operands import from_host, layout_for, replicated_host
from taskarr.ops.write import converted, element
from taskarr.optimize import leading
from taskarr.runtime import runtime

FILTER = Filtered()


def as_mask(key: Any, x: Expr) -> Expr | None:
    """Mask over the leading axes of an array, if the key is one.

    Raises
    ------
    IndexError
        When its shape does not fit.
    """
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    if isinstance(key, list) and key and all(isinstance(k, bool | np.bool_) for k in key):
        key = np.asarray(key)
    if isinstance(key, Expr):
        mask = key if key.dtype == np.bool_ else None
    elif isinstance(key, np.ndarray) and key.dtype == np.bool_:
        mask = replicated_host(key, x.world)
    else:
        mask = None
    if mask is None or not mask.shape:
        return None
    if len(mask.shape) > len(x.shape):
        raise IndexError(
            f"too many indices for array: array is {len(x.shape)}-dimensional, "
            f"but {len(mask.shape)} were indexed"
        )
    if 0 in mask.shape:
        _nothing(x, mask)
        return mask
    for axis, (n, m) in enumerate(zip(x.shape, mask.shape, strict=False)):
        if n != m:
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis}; "
                f"size of axis is {n} but size of corresponding boolean axis is {m}"
            )
    return mask


def read(x: Expr, mask: Expr) -> Expr:
    """Selected elements in C order; runs at once, since their number depends on data."""
    if 0 in mask.shape:
        found = _nothing(x, mask)
        return from_host(found, layout_for(x.world, found.shape, x.dtype), x.world)
    data = _in_rows(x)
    rest = data.layout.axes[len(mask.shape) :]
    shape = Layout((single(0), *rest), x.world.size, 0, True)
    node = Expr(FILTER, (data, mask), x.dtype, shape, x.world)
    run([node], "reading by a mask")
    return _balanced(node)


def _nothing(x: Expr, mask: Expr) -> np.ndarray:
    """What NumPy gives for a mask without elements, which may differ in shape, or its error."""
    return np.broadcast_to(np.empty((), x.dtype), x.shape)[np.zeros(mask.shape, np.bool_)]


def _in_rows(x: Expr) -> Expr:
    """The array, cut into blocks along its first axis only."""
    if all(len(axis.bounds) == 2 for axis in x.layout.axes[1:]):
        return x
    split = None if x.layout.replicated else 0
    return moved_to(x, layout_for(x.world, x.shape, x.dtype, split=split))


def _balanced(node: Expr) -> Expr:
    """The rows dealt out anew when one rank has far too many of them."""
    layout, world = node.layout, node.world
    block = runtime(world).settings.block or 1 << 20
    nbytes = node.dtype.itemsize * int(np.prod(node.shape, dtype=np.int64))
    if balance(layout) <= WORST_BALANCE or nbytes <= block * world.size:
        return node
    again = dealt(tuple(a.bounds for a in layout.axes), (0,), None, world.size)
    if balance(again) >= balance(layout):
        return node
    moved = moved_to(node, again)
    run([moved], "balancing the rows that a mask kept")
    return moved


def written(x: Expr, mask: Expr, value: Any) -> Expr:
    """The array with a value where the mask is true, the same in every selected element or row.

    Raises
    ------
    NotImplementedError
        For a value of as many elements or rows as are selected, which comes later.
    """
    if 0 in mask.shape and mask.shape != x.shape[: len(mask.shape)]:
        return x
    wide = view_of(mask, leading(mask.shape, x.shape))
    shape = value.shape if isinstance(value, Expr) else np.shape(value)
    if not shape and not isinstance(value, Expr):
        return select(wide, element(value, x.dtype), x, x.dtype)
    rest = x.shape[len(mask.shape) :]
    if not rest and len(shape) > 1:
        raise TypeError(
            f"boolean array indexing assignment requires a 0 or 1-dimensional input, "
            f"this one has {len(shape)} dimensions"
        )
    if len(shape) > len(rest) and math.prod(shape[: len(shape) - len(rest)]) != 1:
        raise NotImplementedError(
            f"writing values of shape {shape} by a mask: this version writes one element or row "
            "everywhere; use a[...] = taskarr.where(mask, values, a) with values of a's shape"
        )
    return select(wide, converted(value, x, rest), x, x.dtype)
