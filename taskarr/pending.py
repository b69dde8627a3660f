"""Pending small reductions: runs that deal with their data compute them too.

A list of ``x.mean()`` would else keep a thousand old arrays. Which of them join a run follows from
the graph, but whether one is still wanted does not: Python may collect a reference cycle on one
rank only. So the ranks agree on that, in a reduction of its own, when there is any that the run
does not contain already.
"""

import hashlib
from collections.abc import Sequence

from scheduler.agreement import open_run
from taskarr.backend import POOLED
from taskarr.expr import Expr
from taskarr.memory import MARKS, free_bytes, mark
from taskarr.runtime import Runtime

PATIENCE = 64
"""Runs that may pass a pending reduction by; then it is left to whoever asks for it."""

TOUCHED, LOOSE = 1, 2


def joining(
    here: Runtime, nodes: Sequence[Expr], device: str, caller: tuple[str, str]
) -> list[Expr]:
    """Pending reductions that a run on a device computes too; collective if it has not all of them.

    Those whose data the run makes or reads, if it is not to sweep more than it does anyway, and
    those that alone keep an array in memory.
    """
    present = {id(node) for node in nodes}
    others = {n: w.node() for n, w in here.pending.watched.items() if id(w.node()) not in present}
    if not others:
        return []
    known = dict.fromkeys(present, TOUCHED)
    alive = _agreed(here, others, known, caller)
    largest = max(node.layout.fullest for node in nodes)
    found = []
    for number, node, how in alive:
        fits = how & LOOSE or (how & TOUCHED and node.inputs[0].layout.fullest <= largest)
        if fits and node.device in (None, device):
            found.append(node)
        else:
            _pass_by(here, number)
    return found


def overdue(here: Runtime, caller: tuple[str, str]) -> list[Expr]:
    """Pending reductions that can wait no longer: too many, or memory is half full; collective."""
    pending = here.pending
    pending.looked = pending.made
    marks = 0
    for backend in (here.backend, *here.devices.values()):
        marks |= mark(backend.live, here.budget_on(backend.device))
    if here.world.size > 1:
        marks = _open(here, (), marks, MARKS, caller)
    full = free_bytes(marks, here.budget) < here.budget // 2
    many = pending.are_many(here.budget)
    if not (full or many):
        return []
    others = {number: watched.node() for number, watched in pending.watched.items()}
    alive = _agreed(here, others, {}, caller)
    return [node for _, node, how in alive if how & LOOSE or many]


def settle(here: Runtime) -> None:
    """Watch computed reductions no longer; the caller still refers to all nodes of the run."""
    watched = here.pending.watched.items()
    for number in [n for n, w in watched if (node := w.node()) is not None and node.held]:
        here.pending.drop(number)


def forget(here: Runtime, nodes: Sequence[Expr]) -> None:
    """Leave reductions to whoever asks for them."""
    gone = {id(node) for node in nodes}
    for number in [n for n, w in here.pending.watched.items() if id(w.node()) in gone]:
        here.pending.drop(number)


def _pass_by(here: Runtime, number: int) -> None:
    watched = here.pending.watched[number]
    watched.passed += 1
    if watched.passed > PATIENCE:
        here.pending.drop(number)


def _agreed(
    here: Runtime, others: dict[int, Expr | None], known: dict[int, int], caller: tuple[str, str]
) -> list[tuple[int, Expr, int]]:
    """Those that live on all ranks, with their number and what they read; forget the others."""
    reads = [0 if node is None else _reads(node, known) for node in others.values()]
    dead = sum(1 << k for k, node in enumerate(others.values()) if node is None)
    tied = sum(1 << k for k, how in enumerate(reads) if not how & LOOSE)
    if here.world.size > 1:
        count = len(others)
        bits = _open(here, tuple(others), dead | tied << count, 2 * count, caller)
        dead, tied = bits & ((1 << count) - 1), bits >> count
    found = []
    for k, (number, node) in enumerate(others.items()):
        if dead >> k & 1 or node is None:
            here.pending.drop(number)
        else:
            found.append((number, node, reads[k] & ~LOOSE if tied >> k & 1 else reads[k]))
    return found


def _open(
    here: Runtime, numbers: tuple[int, ...], bits: int, count: int, caller: tuple[str, str]
) -> int:
    """OR of the ranks' bits about the pending reductions of these numbers."""
    text = hashlib.blake2b(repr(("pending", numbers)).encode(), digest_size=8).digest()
    digest = int.from_bytes(text, "little") >> 1
    return open_run(here.world, digest, bits, count, lambda: (*caller, ["pending reductions"]))


def _reads(node: Expr, known: dict[int, int]) -> int:
    """Whether a graph touches a known one, and whether it reads what no variable shows.

    ``known`` has the answer for each node that was seen, so that all graphs take one walk.
    """
    todo = [node]
    while todo:
        node = todo[-1]
        missing = () if id(node) in known else [x for x in node.inputs if id(x) not in known]
        if missing:
            todo += missing
            continue
        todo.pop()
        if id(node) not in known:
            found = LOOSE if _is_loose(node) else 0
            for x in node.inputs:
                found |= known[id(x)]
            known[id(node)] = found
    return known[id(node)]


def _is_loose(node: Expr) -> bool:
    """Whether only pending operations keep a brick that is large enough to matter."""
    large = node.dtype.itemsize * node.layout.fullest >= POOLED
    return node.held and not node.holders and large
