"""Where a mask is true: an index for each of its axes, in C order."""

from taskarr.evaluate import run
from taskarr.expr import Expr, moved_to
from taskarr.geometry.layout import Layout, single
from taskarr.ops.creation import Placement
from taskarr.ops.masks import FILTER
from taskarr.ops.operands import layout_for
from taskarr.ops.patterns import INDEX, index_along


def nonzero(mask: Expr) -> tuple[Expr, ...]:
    """Indices of the elements that are true, int64, one array for each axis; runs at once.

    Parameters
    ----------
    mask
        Boolean, of at least one axis.
    """
    layout, world = mask.layout, mask.world
    if any(len(axis.bounds) > 2 for axis in layout.axes[1:]):
        split = None if layout.replicated else 0
        layout = layout_for(world, mask.shape, mask.dtype, split=split)
        mask = moved_to(mask, layout)
    unknown = Layout((single(0),), world.size, 0, True)
    found = tuple(
        Expr(FILTER, (index_along(axis, layout, Placement(world)), mask), INDEX, unknown, world)
        for axis in range(len(mask.shape))
    )
    run(found, "finding what a mask selects")
    return found
