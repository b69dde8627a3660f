"""What every rank is given: all of an array, small values in the processor's memory."""

from collections.abc import Sequence
from typing import Any

from taskarr.evaluate import run
from taskarr.expr import Expr, moved_to
from taskarr.ops.operands import layout_for
from taskarr.runtime import runtime


def everywhere(x: Expr) -> Expr:
    """Node of which every rank has all."""
    if x.layout.replicated:
        return x
    return moved_to(x, layout_for(x.world, x.shape, x.dtype, split=None))


def known(nodes: Sequence[Expr], call: str, beside: Sequence[Expr] = ()) -> list[Any]:
    """Values of nodes in the processor's memory, not to be written; runs at once.

    Parameters
    ----------
    nodes
        At least one.
    call
        What the run is for, for messages.
    beside
        Nodes that the same run computes.
    """
    targets = [everywhere(node) for node in nodes]
    run([*beside, *targets], call)
    host = runtime(targets[0].world).backend.host
    return [host(target.value) for target in targets]
