"""Where a mask is true: indices along each of its axes, or flat ones, in C order."""

from collections.abc import Callable, Sequence

from taskarr.evaluate import run
from taskarr.expr import Expr
from taskarr.geometry.layout import Layout, single
from taskarr.ops.creation import Placement
from taskarr.ops.masks import FILTER, in_rows
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
    mask = in_rows(mask)
    unknown = Layout((single(0),), mask.world.size, 0, True)
    found = [Expr(FILTER, (n, mask), INDEX, unknown, mask.world) for n in numbers(mask.layout)]
    run(found, "finding what a mask selects")
    return tuple(found)
