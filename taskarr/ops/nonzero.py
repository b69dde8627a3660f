"""Where a mask is true: indices along each of its axes, or flat ones, in C order."""

from collections.abc import Callable, Sequence

from taskarr.evaluate import run
from taskarr.expr import Expr, moved_to
from taskarr.geometry.layout import Layout, single
from taskarr.ops.creation import Placement
from taskarr.ops.masks import FILTER
from taskarr.ops.operands import layout_for
from taskarr.ops.patterns import INDEX, index_along

Numbers = Callable[[Layout], Sequence[Expr]]


def nonzero(mask: Expr) -> tuple[Expr, ...]:
    """Indices of the elements that are true, int64, one array for each axis; runs at once.

    Parameters
    ----------
    mask
        Boolean, of at least one axis.
    """
    place = Placement(mask.world)
    axes = range(len(mask.shape))
    return numbered(mask, lambda layout: [index_along(axis, layout, place) for axis in axes])


def numbered(mask: Expr, numbers: Numbers) -> tuple[Expr, ...]:
    """Numbers, int64, of the elements that are true; runs at once.

    Parameters
    ----------
    mask
        Boolean, of at least one axis.
    numbers
        Gives nodes of every element's numbers, in the layout it is called with.
    """
    layout, world = mask.layout, mask.world
    if any(len(axis.bounds) > 2 for axis in layout.axes[1:]):
        split = None if layout.replicated else 0
        layout = layout_for(world, mask.shape, mask.dtype, split=split)
        mask = moved_to(mask, layout)
    unknown = Layout((single(0),), world.size, 0, True)
    found = tuple(Expr(FILTER, (n, mask), INDEX, unknown, world) for n in numbers(layout))
    run(found, "finding what a mask selects")
    return found
