"""Bringing values to the user: everywhere, to one rank, this rank's brick, one scalar."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from taskarr.evaluate import UNASKED, collect, relieve, run
from taskarr.expr import Expr, Reshaped, view_of
from taskarr.ops.element import held_element
from taskarr.ops.elementwise import copied
from taskarr.ops.keys import view_of_key
from taskarr.ops.known import everywhere
from taskarr.ops.redistribute import on_one
from taskarr.runtime import runtime


def whole(nodes: Sequence[Expr], call: str) -> list[np.ndarray]:
    """All elements of each node, on every rank, as arrays of the caller's own; one run."""
    if len(nodes) == 1 and (found := held_element(nodes[0], call)) is not None:
        return [found]
    targets = [_of_its_own(everywhere(node)) for node in nodes]
    run(targets, call)
    return [_given(target) for target in targets]


def _of_its_own(node: Expr) -> Expr:
    """Node whose bricks are no other node's memory."""
    return copied(node) if isinstance(node.op, Reshaped) else node


def _given(target: Expr) -> np.ndarray:
    """NumPy array of the caller's own, of a node of which this rank has all."""
    value = target.value
    if not isinstance(value, np.ndarray):
        return runtime(target.world).backend.host(value)
    return value.copy() if target.holders else value


def on_root(node: Expr, root: int) -> np.ndarray | None:
    """All elements on one rank, None on the others."""
    target = _of_its_own(on_one(node, root))
    run([target], f"gather(root={root})")
    if node.world.rank != root:
        return None
    if 0 in node.shape:
        return np.empty(node.shape, node.dtype)
    return _given(target)


def persist(nodes: Sequence[Expr]) -> None:
    """Compute and keep the blocks."""
    run(nodes, "persist()")


MOST_PENDING = 512
"""Pending operations on one way through a graph, above which it is run at once."""


def bound_pending(node: Expr) -> None:
    """Compute a node whose pending graph has grown too deep, and reductions that are too many."""
    if node.depth > MOST_PENDING:
        run([node], UNASKED)
        return
    here = runtime(node.world)
    if here.pending.watched and here.pending.are_crowded(here.budget):
        relieve(here)


def raise_now(node: Expr) -> None:
    """Compute a node at once if an operation in it may raise under ``errstate(...="raise")``."""
    if any(x.policy.raises and x.can_fault for x in collect([node])):
        run([node], 'an operation under errstate(...="raise")')


def local(node: Expr) -> np.ndarray:
    """This rank's brick, read-only; without elements where it owns nothing."""
    run([node], "local")
    if node.value is None:
        memory = runtime(node.world).backend_on(node.device)
        brick = memory.empty((0,) * len(node.shape), node.dtype)
    else:
        brick = node.value.view()
    if isinstance(brick, np.ndarray):  # devices know no such thing
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


def single(node: Expr, convert: Callable[[Any], Any], fixed: bool = True) -> Any:
    """The only element, converted as NumPy's scalar, or as an array if it is not fixed.

    An array of another size gets NumPy's error without being fetched.
    """
    if prod(node.shape) != 1:
        small = tuple(min(n, 2) for n in node.shape)
        return convert(np.zeros(small, node.dtype))
    (found,) = whole([node], convert.__name__ + "()")
    return convert(found[()] if fixed and not found.ndim else found)
