"""Arrays joined end to end along an axis."""

from collections.abc import Sequence

import numpy as np

from taskarr.expr import Expr, blank, same_world
from taskarr.geometry.layout import Axis, Layout
from taskarr.ops.elementwise import cast
from taskarr.ops.keys import view_of_key
from taskarr.ops.operands import checked_dtype, layout_for, settled
from taskarr.ops.write import put


def joined(parts: Sequence[Expr], axis: int) -> Expr:
    """Node of arrays one behind the other along an axis.

    Parameters
    ----------
    parts
        Arrays whose lengths differ along the axis only.
    axis
        Not negative.

    Raises
    ------
    ValueError
        When other lengths differ.
    TypeError
        When there is no common dtype.

    Notes
    -----
    The result lies as the largest part does, the first and the last block being longer by what
    stands before and behind it: only the other parts move.
    """
    world = same_world(parts)
    dtype = checked_dtype(np.concatenate([np.empty(0, x.dtype) for x in parts]).dtype)
    rest = {x.shape[:axis] + x.shape[axis + 1 :] for x in parts}
    if len(rest) > 1 or len({len(x.shape) for x in parts}) > 1:
        raise ValueError(
            "all the input array dimensions except for the concatenation axis must match exactly, "
            f"but the arrays have shapes {', '.join(str(x.shape) for x in parts)}"
        )
    layout = settled(_layout(parts, axis, dtype), dtype.itemsize, world)
    found = blank(checked_dtype(dtype), layout, world)
    at = 0
    for part in parts:
        n = part.shape[axis]
        place = view_of_key(found.shape, (*(slice(None),) * axis, slice(at, at + n)))
        found = put(found, place, cast(part, dtype))
        at += n
    return found


def _layout(parts: Sequence[Expr], axis: int, dtype: np.dtype) -> Layout:
    lengths = [x.shape[axis] for x in parts]
    cut = [k for k, x in enumerate(parts) if not x.layout.replicated]
    most = max(cut or range(len(parts)), key=lambda k: lengths[k])
    layout, total = parts[most].layout, sum(lengths)
    if not lengths[most]:
        shape = (*layout.shape[:axis], total, *layout.shape[axis + 1 :])
        return layout_for(parts[most].world, shape, dtype, layout.split or "auto")
    before = sum(lengths[:most])
    return extended(layout, axis, before, total - before - lengths[most])


def extended(layout: Layout, axis: int, before: int, behind: int) -> Layout:
    """Layout whose first and last blocks along an axis are longer; nobody else owns anything else.

    The axis is not of length zero.
    """
    old = layout.axes[axis]

    def moved(edges: np.ndarray) -> np.ndarray:
        return edges + before * (edges > 0) + behind * (edges == old.length)

    longer = Axis(moved(old.bounds), moved(old.cut), old.stride)
    axes = (*layout.axes[:axis], longer, *layout.axes[axis + 1 :])
    return Layout(axes, layout.size, layout.base, layout.replicated)
