"""Boolean masks: reading the selected elements or rows, writing a value where one is true."""

from typing import Any

import numpy as np

from taskarr.evaluate import run
from taskarr.expr import Expr, Filtered, blank, moved_to, view_of
from taskarr.geometry.layout import Layout, single
from taskarr.geometry.owners import WORST_BALANCE, balance, redealt
from taskarr.ops.elementwise import select
from taskarr.ops.known import known
from taskarr.ops.operands import layout_for
from taskarr.ops.reductions import reduce
from taskarr.ops.write import converted
from taskarr.optimize import leading
from taskarr.runtime import runtime

FILTER = Filtered()


def read(x: Expr, mask: Expr) -> Expr:
    """Selected elements in C order; runs at once, since their number depends on data.

    Parameters
    ----------
    mask
        Over the leading axes; without elements it may be of other lengths.

    Raises
    ------
    IndexError
        As NumPy, for a mask without elements.
    """
    if 0 in mask.shape:
        return _blank(x, _nothing(x, mask).shape)
    if 0 in x.shape:
        (count,) = known([reduce("sum", mask)], "counting what a mask selects")
        return _blank(x, (int(count), *x.shape[len(mask.shape) :]))
    data = in_rows(x)
    rest = data.layout.axes[len(mask.shape) :]
    shape = Layout((single(0), *rest), x.world.size, 0, True)
    node = Expr(FILTER, (data, mask), x.dtype, shape, x.world)
    run([node], "reading by a mask")
    return balanced(node)


def _nothing(x: Expr, mask: Expr) -> np.ndarray:
    """What NumPy gives for a mask without elements, which may differ in shape, or its error."""
    return np.broadcast_to(np.empty((), x.dtype), x.shape)[np.zeros(mask.shape, np.bool_)]


def _blank(x: Expr, shape: tuple[int, ...]) -> Expr:
    """Node without elements."""
    return blank(x.dtype, layout_for(x.world, shape, x.dtype), x.world)


def in_rows(x: Expr) -> Expr:
    """The array, cut into blocks along its first axis only."""
    if all(len(axis.bounds) == 2 for axis in x.layout.axes[1:]):
        return x
    split = None if x.layout.replicated else 0
    return moved_to(x, layout_for(x.world, x.shape, x.dtype, split=split))


def balanced(node: Expr) -> Expr:
    """The rows dealt out anew when one rank has far too many of them."""
    layout, world = node.layout, node.world
    block = runtime(world).settings.block or 1 << 20
    nbytes = node.dtype.itemsize * int(np.prod(node.shape, dtype=np.int64))
    if balance(layout) <= WORST_BALANCE or nbytes <= block * world.size:
        return node
    moved = moved_to(node, redealt(layout))
    if moved is not node:
        run([moved], "balancing the rows that a mask kept")
    return moved


def written(x: Expr, mask: Expr, value: Any) -> Expr:
    """The array with a value where the mask is true, the same in every selected element or row.

    Parameters
    ----------
    mask
        As in `read`.
    value
        Expression, or array of NumPy of the array's dtype; of no more axes than a row has.
    """
    if 0 in mask.shape and mask.shape != x.shape[: len(mask.shape)]:
        _nothing(x, mask)
        return x
    wide = view_of(mask, leading(mask.shape, x.shape))
    if isinstance(value, np.ndarray) and not value.ndim:
        return select(wide, value[()], x, x.dtype)
    return select(wide, converted(value, x, x.shape[len(mask.shape) :]), x, x.dtype)
