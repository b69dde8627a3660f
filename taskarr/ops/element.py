"""One element of a held array, on every rank: no plan, and no more than one reduction."""

import hashlib
from typing import Any

import numpy as np

from scheduler.agreement import open_run
from scheduler.comm.where import user_line
from taskarr.expr import Expr, Held, Viewed, spelled
from taskarr.runtime import runtime

LARGEST = 256
"""Bytes of an element that fits the reduction."""


def held_element(node: Expr, call: str) -> np.ndarray | None:
    """Array of zero dimensions with what a node shows, None unless that is held; collective.

    The bits of the element travel in the agreement that opens any run, from its owner to all.

    Parameters
    ----------
    node
        Any node.
    call
        What the user called, for messages.
    """
    if node.shape or type(node.op) is not Viewed:
        return None
    (source,), dtype, world = node.inputs, node.dtype, node.world
    if type(source.op) is not Held or dtype.itemsize > LARGEST:
        return None
    start, layout = node.op.view.start, source.layout
    if layout.replicated or world.size == 1:
        return _element(source, start)
    bits, nbytes = 0, dtype.itemsize
    if world.rank == node.layout.base:
        bits = int.from_bytes(_element(source, start).tobytes(), "little")
    text = repr((start, spelled(dtype), layout.digest)).encode()
    digest = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") >> 1
    found = open_run(world, digest, bits, 8 * nbytes, lambda: (call, user_line(), [_named(node)]))
    return np.frombuffer(found.to_bytes(nbytes, "little"), dtype).reshape(()).copy()


def _element(source: Expr, index: tuple[int, ...]) -> np.ndarray:
    """An element of this rank's brick, copied to the processor's memory."""
    box = source.layout.brick(source.world.rank)
    assert box is not None
    at = tuple([i - lo for i, (lo, _) in zip(index, box, strict=True)])
    backend: Any = runtime(source.world).backend_on(source.device)
    return np.array(backend.host(source.value[(*at, ...)]))


def _named(node: Expr) -> str:
    return f"{node.describe()}, element {node.op.token[1].start}"
