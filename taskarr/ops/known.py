"""What every rank is given: all of an array, small values in the processor's memory."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from taskarr.evaluate import run
from taskarr.expr import Expr, moved_to
from taskarr.ops.operands import LARGEST_BLOCK, layout_for
from taskarr.runtime import runtime

KNOWN = LARGEST_BLOCK
"""Bytes of an index, or of rows, that every rank may get all of."""


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


def known_index(index: Expr, call: str) -> np.ndarray:
    """All of an index, for every rank; runs at once.

    Raises
    ------
    NotImplementedError
        When it has more than `KNOWN` bytes.
    """
    count = prod(index.shape)
    if count * index.dtype.itemsize > KNOWN:
        raise NotImplementedError(
            f"{call} with a distributed index of {count} elements: every rank gets all of it, "
            f"which may have {KNOWN >> 20} MiB; call it in parts"
        )
    return np.array(known([index], call)[0])
