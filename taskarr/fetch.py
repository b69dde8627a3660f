"""Bringing values to the user: everywhere, to one rank, this rank's brick, one scalar."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from taskarr.evaluate import run
from taskarr.expr import Expr, view_of
from taskarr.ops.keys import view_of_key
from taskarr.ops.redistribute import everywhere, on_one


def whole(nodes: Sequence[Expr], call: str) -> list[np.ndarray]:
    """All elements of each node, on every rank, as arrays of the caller's own; one run."""
    targets = [everywhere(node) for node in nodes]
    run(targets, call)
    return [target.value.copy() if target.holders else target.value for target in targets]


def on_root(node: Expr, root: int) -> np.ndarray | None:
    """All elements on one rank, None on the others."""
    target = on_one(node, root)
    run([target], f"gather(root={root})")
    if node.world.rank != root:
        return None
    if 0 in node.shape:
        return np.empty(node.shape, node.dtype)
    return target.value.copy() if target.holders else target.value


def persist(nodes: Sequence[Expr]) -> None:
    """Compute and keep the blocks."""
    run(nodes, "persist()")


MOST_PENDING = 512
"""Pending operations on one way through a graph, above which it is run at once."""


def bound_pending(node: Expr) -> None:
    """Compute a node whose pending graph has grown too deep."""
    if node.depth > MOST_PENDING:
        run([node], "pending operations")


def local(node: Expr) -> np.ndarray:
    """This rank's brick, read-only; without elements where it owns nothing."""
    run([node], "local")
    nothing = node.value is None
    brick = np.empty((0,) * len(node.shape), node.dtype) if nothing else node.value.view()
    brick.flags.writeable = False
    return brick


def element(node: Expr, index: Sequence[Any]) -> Any:
    """The element of an index, a flat index, or the only one, as a Python scalar.

    Raises
    ------
    IndexError, ValueError, TypeError
        As `numpy.ndarray.item`.
    """
    proxy = np.broadcast_to(np.empty((), node.dtype), node.shape)
    proxy.item(*index)
    at = index[0] if len(index) == 1 and isinstance(index[0], tuple) else index
    if len(at) == 1 and len(node.shape) != 1:
        at = np.unravel_index(range(prod(node.shape))[at[0]], node.shape)
    key = tuple(int(i) for i in at) if at else (0,) * len(node.shape)
    (found,) = whole([view_of(node, view_of_key(node.shape, key))], "item()")
    return found.item()


def single(node: Expr, convert: Callable[[Any], Any]) -> Any:
    """The only element; an array of another size gets NumPy's error without being fetched."""
    if np.prod(node.shape, dtype=np.int64) != 1:
        small = tuple(min(n, 2) for n in node.shape)
        return convert(np.zeros(small, node.dtype))
    (found,) = whole([node], convert.__name__ + "()")
    return convert(found[()] if found.ndim == 0 else found)
