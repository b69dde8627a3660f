"""Redistribution: the same elements in another layout."""

from typing import Any

import numpy as np

from scheduler import World
from taskarr.expr import Expr, moved_to
from taskarr.geometry.owners import on_root
from taskarr.ops.operands import layout_for


def redistribute(x: Expr, split: Any = "auto", chunks: Any = None, mesh: Any = None) -> Expr:
    """Node with the layout that a new array with these arguments would have."""
    return moved_to(x, layout_for(x.world, x.shape, x.dtype, split, chunks, mesh))


def check_root(root: Any, world: World) -> None:
    """Raise TypeError or ValueError unless ``root`` is a rank."""
    if isinstance(root, bool) or not isinstance(root, int | np.integer):
        raise TypeError(f"root={root!r} is not a rank")
    if not 0 <= root < world.size:
        raise ValueError(f"root={root!r} is not a rank of {world.size}")


def on_one(x: Expr, root: int) -> Expr:
    """Node of which one rank has all."""
    check_root(root, x.world)
    return moved_to(x, on_root(x.shape, root, x.world.size))
