"""Reductions: the table of rows, the node that applies one, and what is composed of several."""

from taskarr.ops.reductions.arguments import NAMES, bound, call, reduce
from taskarr.ops.reductions.composed import average
from taskarr.ops.reductions.custom import Custom
from taskarr.ops.reductions.rows import ROWS
from taskarr.ops.reductions.ufuncs import is_associative, ufunc_reduce

__all__ = [
    "NAMES",
    "ROWS",
    "Custom",
    "average",
    "bound",
    "call",
    "is_associative",
    "reduce",
    "ufunc_reduce",
]
