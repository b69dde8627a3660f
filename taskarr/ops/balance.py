"""Balance: whether owners have about equal parts, and dealing blocks out anew."""

from taskarr.expr import Expr, moved_to
from taskarr.geometry.layout import Layout
from taskarr.geometry.owners import WORST_BALANCE, balance, redealt
from taskarr.ops.operands import layout_for


def is_balanced(x: Expr) -> bool:
    """Whether the fullest rank has at most 1.5 times the mean, or as little as blocks allow."""
    layout = x.layout
    return balance(layout) <= WORST_BALANCE or balance(_better(x)) >= balance(layout)


def rebalanced(x: Expr) -> Expr:
    """Node with the elements dealt out evenly: the same blocks, unless they are too large."""
    return x if is_balanced(x) else moved_to(x, _better(x))


def _better(x: Expr) -> Layout:
    again = redealt(x.layout)
    if balance(again) <= WORST_BALANCE:
        return again
    fresh = layout_for(x.world, x.shape, x.dtype, split=x.layout.split or "auto")
    return min(again, fresh, key=balance)
