"""Balance: whether owners have about equal parts, and dealing blocks out anew."""

from taskarr.expr import Expr, moved_to
from taskarr.geometry.layout import Layout
from taskarr.geometry.owners import WORST_BALANCE, balance, dealt
from taskarr.ops.operands import layout_for


def is_balanced(x: Expr) -> bool:
    """Whether the fullest rank has at most 1.5 times the mean, or as little as blocks allow."""
    layout = x.layout
    return balance(layout) <= WORST_BALANCE or balance(_better(x)) >= balance(layout)


def rebalanced(x: Expr) -> Expr:
    """Node with the elements dealt out evenly: the same blocks, unless they are too large."""
    return x if is_balanced(x) else moved_to(x, _better(x))


def _better(x: Expr) -> Layout:
    layout, world = x.layout, x.world
    split = tuple(k for k, axis in enumerate(layout.axes) if len(axis.bounds) > 2)[:1] or (0,)
    again = dealt(tuple(axis.bounds for axis in layout.axes), split, None, world.size)
    if balance(again) <= WORST_BALANCE:
        return again
    fresh = layout_for(world, x.shape, x.dtype, split=layout.split or "auto")
    return min(layout, again, fresh, key=balance)
