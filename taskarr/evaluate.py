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
from taskarr import faults
from taskarr.backend import CPU, Backend
from taskarr.expr import Expr, Filtered, Generate, Held, Move, Viewed, same_world, spelled
from taskarr.geometry.layout import Axis, Layout
from taskarr.memory import MARKS, Wish, free_bytes, in_words, mark, over_budget
from taskarr.optimize import Node
from taskarr.pending import forget, joining, overdue, settle
from taskarr.plan.build import build
from taskarr.plan.recorder import ARGS, BACKEND, brick_key, counts_key
from taskarr.runtime import Pending, Runtime, runtime

Signature = tuple[Any, ...]

log = logging.getLogger("taskarr")

UNASKED = "pending operations"
"""Call of a run that nobody asked for."""

BY_PART = "saving a part"
"""Call of a run that computes rows which no other run computes again."""


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
        parts.append((node.op.token, inputs, spelled(node.dtype), node.layout, len(node.args)))
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

    Collective. Afterwards the targets are held, and of these nodes what the memory budget has
    room for; when the run fails, everything is as it was.

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
    devices = list(dict.fromkeys([x.device for x in targets if x.device is not None]))
    if len(devices) > 1:
        same_world(targets)
        for each in devices:
            run([x for x in targets if (x.device or devices[0]) == each], call)
        return
    nodes = collect(targets)
    device = devices[0] if devices else next((x.world.state.get("device") for x in targets), None)
    if device is not None and device != CPU:
        _bring(nodes, device)
    if not nodes or all(type(node.op) is Held for node in targets):
        return
    here = runtime(same_world(nodes))
    backend = here.backend_on(device)
    caller = (call, user_line())
    try:
        joined = joining(here, nodes, backend.device, caller)
        if joined:
            _run_with(here, backend, targets, joined, caller)
        if any(type(node.op) is not Held for node in targets):
            _run(here, backend, nodes, targets, caller)
    except SPMDError:  # what the ranks have watched since they parted may differ
        here.pending = Pending()
        raise


def relieve(here: Runtime) -> None:
    """Compute the pending reductions that can wait no longer; collective."""
    caller = (UNASKED, user_line())
    due = overdue(here, caller)
    for device in dict.fromkeys([node.device for node in due]):
        mine = [node for node in due if node.device == device]
        _run_with(here, here.backend_on(device), (), mine, caller)


def _run_with(
    here: Runtime,
    backend: Backend,
    targets: Sequence[Expr],
    joined: Sequence[Expr],
    caller: tuple[str, str],
) -> None:
    """Compute the targets together with what nobody asked for; nothing if one of them fails.

    The error of a reduction that joined comes again where its value is asked for.
    """
    every = [*targets, *joined]
    nodes = collect(every)
    if backend.device != CPU:
        _bring(nodes, backend.device)
    try:
        _run(here, backend, nodes, every, caller)
    except SPMDError:
        raise
    except Exception:
        if all(type(node.op) is Held for node in every):
            raise
        forget(here, joined)


def _run(
    here: Runtime,
    backend: Backend,
    nodes: Sequence[Expr],
    targets: Sequence[Expr],
    caller: tuple[str, str],
) -> None:
    world, (call, line) = here.world, caller
    signature, args = structure(nodes)
    wanted, large = _agreed(here, backend, nodes, targets, signature, caller)
    plan = _planned(here, nodes, (signature, wanted, large, backend.device != CPU))
    if here.settings.debug:
        _compare(world, args, call)
    log.debug("%s at %s: %d nodes, %d steps", call, line, len(nodes), len(plan.steps))
    values: dict[Any, Any] = {BACKEND: backend, ARGS: args}
    for k, node in enumerate(nodes):
        if node.value is not None:
            values[brick_key(k)] = node.value
    recorder = backend.faults
    with recorder.recording([node.policy for node in nodes]):
        found = execute(world, plan, values, f"{call} at {line}", flag=recorder)
    seen = faults.agreed(world, recorder, nodes)
    for k, node in enumerate(nodes):
        if wanted >> k & 1 and type(node.op) is not Held:
            node.settle(backend.device)
            _commit(node, k, found)
    settle(here)
    faults.tell(seen, world.rank)


def _agreed(
    here: Runtime,
    backend: Backend,
    nodes: Sequence[Expr],
    targets: Sequence[Expr],
    signature: Signature,
    caller: tuple[str, str],
) -> tuple[int, int]:
    """Bits of the nodes that are to be kept: the targets, and what some rank holds, if it fits.

    With them the bits of those too large to be stored on the way.
    """
    goal = {id(node) for node in targets}
    must = bits = 0
    for k, node in enumerate(nodes):
        if id(node) in goal:
            must |= 1 << k
        elif node.holders and type(node.op) is not Held:
            bits |= 1 << k
    live, budget, count = backend.live, here.budget_on(backend.device), len(nodes)
    if here.world.size == 1:
        return _within(here, nodes, must, bits, (budget - live, budget), caller[0])
    digest = here.cache.digests.get(signature)
    if digest is None:
        digest = digest_of(signature)
        here.cache.put_digest(signature, digest)

    def describe() -> Description:
        return *caller, [node.described() for node in nodes]

    bits |= must | mark(live, budget) << count
    found = open_run(here.world, digest, bits, count + MARKS, describe)
    bits = found & ((1 << count) - 1) & ~must
    free = free_bytes(found >> count, budget)
    return _within(here, nodes, must, bits, (free, budget), caller[0])


def _within(
    here: Runtime, nodes: Sequence[Expr], must: int, bits: int, room: tuple[int, int], call: str
) -> tuple[int, int]:
    """Bits of the nodes that are kept, and of those that don't fit into what is free then.

    ``room`` is what is free now, of which budget.

    A hint names what is held, does not fit and will be computed again; not within a statement, some
    of whose temporaries still look as if they were held.
    """
    sizes = {
        k: node.dtype.itemsize * node.layout.fullest
        for k, node in enumerate(nodes)
        if type(node.op) is not Held
    }
    free, budget = room
    free -= sum([nbytes for k, nbytes in sizes.items() if must >> k & 1])
    if bits:
        wishes = [Wish(k, sizes[k], _is_costly(nodes[k])) for k in sizes if bits >> k & 1]
        for wish in over_budget(wishes, free):
            bits &= ~(1 << wish.position)
            if wish.costly and call not in (UNASKED, BY_PART):
                _hint(here, nodes[wish.position], wish.nbytes)
        free -= sum([wish.nbytes for wish in wishes if bits >> wish.position & 1])
    most = max(free, budget // STORABLE)
    return must | bits, sum([1 << k for k, nbytes in sizes.items() if nbytes > most])


STORABLE = 64
"""Part of the budget that may always be stored on the way."""


def _is_costly(node: Expr) -> bool:
    """Whether it is more than a generator of values, such as a file, or a view of one."""
    while isinstance(node.op, Viewed | Move):
        (node,) = node.inputs
    return not isinstance(node.op, Generate) or node.op.costly


def _hint(here: Runtime, node: Expr, nbytes: int) -> None:
    """Say once per line, and on one rank, that an array is computed again and again."""
    if node.line not in here.hinted and here.world.rank == 0:
        log.warning(
            "%s takes %s on the fullest rank and is not kept: too little is free of the memory "
            "budget of %s, so it is computed again whenever it is needed. Raise TASKARR_MEMORY, "
            "use more ranks, or keep it all the same with persist()",
            node.describe(),
            in_words(nbytes),
            in_words(here.budget_on(node.device)),
        )
    here.hinted.add(node.line)


def digest_of(signature: Signature) -> int:
    """Number of 63 bits that equal structures share in every process."""
    text = hashlib.blake2b(digest_size=8)
    for token, inputs, dtype, layout, args in signature:
        text.update(repr((token, inputs, dtype, layout.digest, args)).encode())
    return int.from_bytes(text.digest(), "little") >> 1


def _bring(nodes: Sequence[Expr], device: str) -> None:
    """Bring bricks of NumPy operands, and of arrays made of NumPy's, to a device."""
    for node in nodes:
        if node.device in (device, None) and isinstance(node.value, np.ndarray):
            node.settle(device)
            node.value = runtime(node.world).backend_on(device).here(node.value)


def _planned(here: Runtime, nodes: Sequence[Expr], key: tuple[Signature, int, int, bool]) -> Plan:
    plan = here.cache.plans.get(key)
    if plan is None:
        _, wanted, large, staged = key
        kept, again = (
            frozenset(k for k in range(len(nodes)) if bits >> k & 1) for bits in (wanted, large)
        )
        world = here.world
        plan = build(graph_of(nodes), kept, world.rank, world.size, staged, again)
        if here.settings.check:
            check(plan)
        here.cache.put(key, plan)
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
