"""Running a graph: agreement, planning, execution, commit."""

import hashlib
import logging
from collections.abc import Sequence
from typing import Any

import numpy as np

from scheduler import SPMDError, World
from scheduler.agreement import Description, open_run
from scheduler.comm.where import user_line
from scheduler.engine import execute
from scheduler.plan import Plan, check
from taskarr.expr import Expr, Filtered, Held, same_world
from taskarr.geometry.layout import Axis, Layout
from taskarr.optimize import Node
from taskarr.plan.build import build
from taskarr.plan.recorder import ARGS, BACKEND, brick_key, counts_key
from taskarr.runtime import Runtime, runtime

Signature = tuple[Any, ...]

log = logging.getLogger("taskarr")


def collect(targets: Sequence[Expr]) -> list[Expr]:
    """Nodes that the targets need, each once, inputs first; held nodes end the search."""
    order: list[Expr] = []
    seen: set[int] = set()
    todo = [(node, False) for node in reversed(targets)]
    while todo:
        node, entered = todo.pop()
        if entered:
            order.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            todo.append((node, True))
            todo.extend((child, False) for child in reversed(node.inputs))
    return order


def structure(nodes: Sequence[Expr]) -> tuple[Signature, list[Any]]:
    """Structure of a graph, equal for equal computations, and its kernel arguments in order."""
    at = {id(node): k for k, node in enumerate(nodes)}
    parts: list[Any] = []
    args: list[Any] = []
    for node in nodes:
        inputs = tuple([at[id(child)] for child in node.inputs])
        parts.append((node.op.token, inputs, node.dtype.str, node.layout, len(node.args)))
        args.extend(node.args)
    return tuple(parts), args


def graph_of(nodes: Sequence[Expr]) -> list[Node]:
    """Structure of expressions for the planner: positions instead of references, no data."""
    at = {id(node): k for k, node in enumerate(nodes)}
    graph, first = [], 0
    for node in nodes:
        inputs = tuple(at[id(child)] for child in node.inputs)
        graph.append(Node(node.op, inputs, node.dtype, node.layout, first))
        first += len(node.args)
    return graph


def run(targets: Sequence[Expr], call: str) -> None:
    """Compute the targets, and with them every node of their graph that somebody holds.

    Collective. Afterwards the targets and these nodes are held; when the run fails, everything
    is as it was.

    Parameters
    ----------
    targets
        Nodes of one world.
    call
        What the user called, for messages.

    Raises
    ------
    scheduler.SPMDError
        When the ranks don't run the same thing.
    Exception
        What a task raised on any rank, on every rank.
    """
    nodes = collect(targets)
    if not nodes or all(type(node.op) is Held for node in targets):
        return
    world = same_world(nodes)
    here = runtime(world)
    signature, args = structure(nodes)
    line = user_line()
    wanted = _agreed(here, nodes, targets, signature, (call, line))
    plan = _planned(here, nodes, signature, wanted)
    if here.settings.debug:
        _compare(world, args, call)
    log.debug("%s at %s: %d nodes, %d steps", call, line, len(nodes), len(plan.steps))
    values: dict[Any, Any] = {BACKEND: here.backend, ARGS: args}
    for k, node in enumerate(nodes):
        if node.value is not None:
            values[brick_key(k)] = node.value
    found = execute(world, plan, values, f"{call} at {line}")
    for k, node in enumerate(nodes):
        if wanted >> k & 1 and type(node.op) is not Held:
            _commit(node, k, found)


def _agreed(
    here: Runtime,
    nodes: Sequence[Expr],
    targets: Sequence[Expr],
    signature: Signature,
    caller: tuple[str, str],
) -> int:
    """Bits of the nodes that some rank holds or wants."""
    goal = {id(node) for node in targets}
    bits = 0
    for k, node in enumerate(nodes):
        if node.holders or id(node) in goal:
            bits |= 1 << k
    if here.world.size == 1:
        return bits
    digest = here.cache.digests.get(signature)
    if digest is None:
        digest = digest_of(signature)
        here.cache.put_digest(signature, digest)

    def describe() -> Description:
        return *caller, [node.describe() for node in nodes]

    return open_run(here.world, digest, bits, len(nodes), describe)


def digest_of(signature: Signature) -> int:
    """Number of 63 bits that equal structures share in every process."""
    text = hashlib.blake2b(digest_size=8)
    for token, inputs, dtype, layout, args in signature:
        text.update(repr((token, inputs, dtype, layout.digest, args)).encode())
    return int.from_bytes(text.digest(), "little") >> 1


def _planned(here: Runtime, nodes: Sequence[Expr], signature: Signature, wanted: int) -> Plan:
    plan = here.cache.plans.get((signature, wanted))
    if plan is None:
        kept = frozenset(k for k in range(len(nodes)) if wanted >> k & 1)
        plan = build(graph_of(nodes), kept, here.world.rank, here.world.size)
        if here.settings.check:
            check(plan)
        here.cache.put((signature, wanted), plan)
    return plan


def _compare(world: World, args: Sequence[Any], call: str) -> None:
    """Raise SPMDError when kernel arguments differ between ranks; only under debug."""
    known = [repr(x) for x in args if isinstance(x, bool | int | float | complex | np.generic)]
    every = world.allgather(known, f"comparing the arguments of {call}")
    for rank, other in enumerate(every):
        if other != every[0]:
            differing = next(
                pair for pair in zip(every[0], other, strict=False) if len(set(pair)) > 1
            )
            raise SPMDError(
                f"{call}: an argument is {differing[0]} on rank 0 and {differing[1]} on rank {rank}"
            )


def _commit(node: Expr, position: int, found: dict[Any, Any]) -> None:
    if type(node.op) is Filtered:
        data, mask = node.inputs
        counts = found[counts_key(position)]
        node.layout = filtered_layout(data.layout, len(mask.shape), counts)
        node.shape = node.layout.shape
    node.commit(found.get(brick_key(position)))


def filtered_layout(layout: Layout, mask_ndim: int, counts: np.ndarray) -> Layout:
    """Layout in which every rank keeps what it selected: the counts are the new blocks."""
    ends = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts, dtype=np.int64)))
    axis = layout.axes[0]
    bounds = np.unique(ends)
    if len(bounds) == 1:
        bounds = np.zeros(2, np.int64)
    cut = ends[np.searchsorted(axis.bounds, axis.cut)]
    first = Axis(bounds, cut, axis.stride)
    base = layout.base + sum(_only_owner(a) * a.stride for a in layout.axes[1:mask_ndim])
    return Layout((first, *layout.axes[mask_ndim:]), layout.size, base, layout.replicated)


def _only_owner(axis: Axis) -> int:
    """Mesh coordinate of the owner of an axis of one block."""
    return int(np.flatnonzero(axis.cut[:-1] < axis.cut[1:])[0]) if axis.length else 0
