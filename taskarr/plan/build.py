"""Building a rank's plan: for each pass an exchange, block tasks, trees and broadcasts."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from scheduler.plan import Plan, Recv, Send, Stage, Step, Task
from taskarr.geometry.layout import Layout
from taskarr.geometry.region import Box, Region, box_shape, intersect, region_shape, slices
from taskarr.geometry.view import Affine
from taskarr.kernel.program import Program
from taskarr.kernel.reduction import Key, Reduction, top
from taskarr.expr import Put
from taskarr.optimize import Graph, Pass, passes, reused
from taskarr.plan import exchange, tree
from taskarr.plan.compile import Compiled, compiled
from taskarr.plan.stages import CountRows, DenseExchange
from taskarr.plan.tasks import (
    Allocate,
    BlockPartials,
    Collect,
    Copy,
    Finish,
    Make,
    MergeRuns,
    Nth,
    PackBricks,
    RunBlocks,
    SourceParts,
    UnpackBricks,
    ViewBrick,
    block_boxes,
    elements,
    first_of,
    lies_contiguous,
    pack,
)

RUN = 1 << 20
"""Elements of a task: neighbouring blocks are run together up to this size."""

BACKEND = ("backend",)
ARGS = ("args",)


def brick_key(position: int) -> Any:
    """Key of a node's brick; a filter's is followed by its counts under ``counts_key``."""
    return "brick", position


def counts_key(position: int) -> Any:
    """Key of the counts per block that a filter kept."""
    return "counts", position


def build(graph: Graph, wanted: frozenset[int], rank: int, size: int) -> Plan:
    """This rank's plan for a graph.

    Parameters
    ----------
    graph
        Nodes in an order in which inputs come first.
    wanted
        Positions whose bricks the run keeps.
    rank, size
        This rank and the number of ranks.

    Returns
    -------
    Plan
        Needs `BACKEND`, `ARGS` and the bricks of held nodes; gives the wanted bricks.
    """
    graph = reused(graph, set(wanted))
    work = passes(graph, set(wanted))
    return _Builder(graph, wanted, work, rank).plan()


@dataclass(slots=True)
class _Part:
    """One source of a pass: its position, geometry, and the pieces that come to this rank."""

    position: int
    source: exchange.Source
    own: Box | None
    received: list[tuple[Any, Region]]

    def parts_for(self, box: Box | None) -> tuple[SourceParts, list[Any]]:
        """Pieces that an iteration box reads (all for None), and their keys in order."""
        keys: list[Any] = [] if self.own is None else [brick_key(self.position)]
        found = [(key, r) for key, r in self.received if box is None or self._reads(box, r)]
        keys += [key for key, _ in found]
        return SourceParts(self.own, tuple(r for _, r in found)), keys

    def _reads(self, box: Box, region: Region) -> bool:
        spans = tuple((r.start, r[-1] + 1) for r in region)
        return any(intersect(view.image(box), spans) is not None for view in self.source.views)


class _Builder:
    """State: steps so far, the next tag per pair and direction, the numbers of the pass at work."""

    def __init__(self, graph: Graph, wanted: frozenset[int], work: list[Pass], rank: int) -> None:
        self.graph, self.wanted, self.work, self.rank = graph, wanted, work, rank
        self.steps: list[Step | Stage] = []
        self.send_tags: dict[int, int] = defaultdict(int)
        self.recv_tags: dict[int, int] = defaultdict(int)
        self.stored = frozenset(root for w in work for root in w.roots)

    def plan(self) -> Plan:
        """Plan all passes in order."""
        for number, work in enumerate(self.work):
            self._pass(number, work, compiled(self.graph, work, self.stored))
        outputs: list[Any] = []
        for root in sorted(self.wanted & self.stored):
            if self._has_brick(root):
                outputs.append(brick_key(root))
            if self.graph[root].op.token[0] == "filter":
                outputs.append(counts_key(root))
        return Plan(tuple(self.steps), tuple(outputs))

    def _has_brick(self, root: int) -> bool:
        node = self.graph[root]
        return node.op.token[0] == "filter" or node.layout.brick(self.rank) is not None

    def _add(
        self,
        name: str,
        tasks: Sequence[Task] = (),
        sends: Sequence[Send] = (),
        recvs: Sequence[Recv] = (),
    ) -> None:
        if tasks or sends or recvs:
            self.steps.append(Step(name, tuple(tasks), tuple(sends), tuple(recvs)))

    def _task(self, name: str, run: Callable[..., Any], inputs: Sequence[Any], output: Any) -> Task:
        return Task(name, run, tuple(inputs), output, len(self.steps))

    def _pass(self, number: int, work: Pass, made: Compiled) -> None:
        box = work.space.brick(self.rank)
        parts = [self._part(position, source, work) for position, source in _sources(self.graph, made)]
        name = _name(self.graph, work)
        if box is not None:
            self._allocate(name, made, box)
        direct = (
            made.program.is_copy
            and parts[0].source.views[0].is_identity
            and not isinstance(self.graph[made.outputs[0]].op, Put)
        )
        for k, part in enumerate(parts):
            self._exchange((number, k), part, work.space, direct, made)
        if direct:
            if box is not None:
                self._copy(name, box, parts[0], made.outputs[0])
            return
        runs: list[Any] = []
        if box is not None:
            runs = self._runs(number, name, work, made, box, parts)
        self._store(name, made, box, runs)
        for k, group in enumerate(_groups(work.space, made.program)):
            self._reduce((number, k), name, work.space, group, made, runs)
        for k, root in enumerate(made.filters):
            at = len(_groups(work.space, made.program)) + k
            self._count(name, root, at, work.space, runs)

    def _part(self, position: int, source: exchange.Source, work: Pass) -> _Part:
        return _Part(position, source, source.layout.brick(self.rank), [])

    def _allocate(self, name: str, made: Compiled, box: Box) -> None:
        tasks = []
        for root in made.outputs:
            node = self.graph[root]
            if isinstance(node.op, Put):
                brick = node.layout.brick(self.rank)
                assert brick is not None
                run: Callable[..., Any] = ViewBrick(brick, node.op.view, box)
                inputs = brick_key(node.inputs[0])
            else:
                run, inputs = Allocate(box_shape(box), node.dtype), BACKEND
            tasks.append(self._task(f"allocate {name}", run, (inputs,), ("raw", root)))
        for root, chosen in zip(made.filters, made.program.filters, strict=True):
            shape = box_shape(box)
            room = (prod(shape[: chosen.mask_ndim]), *shape[chosen.mask_ndim :])
            collect = Collect(room, self.graph[root].dtype)
            tasks.append(self._task(f"collect {name}", collect, (BACKEND,), ("raw", root)))
        self._add(f"allocate {name}", tasks)

    def _store(self, name: str, made: Compiled, box: Box | None, runs: list[Any]) -> None:
        """Give the output bricks their names once all tasks have filled them."""
        tasks = []
        for root in made.outputs:
            node = self.graph[root]
            if isinstance(node.op, Put) and node.layout.brick(self.rank) is not None:
                whole = brick_key(node.inputs[0])
            elif box is not None:
                whole = ("raw", root)
            else:
                continue
            tasks.append(self._task(f"store {name}", first_of, (whole, *runs), brick_key(root)))
        self._add(f"store {name}", tasks)

    # ------------------------------------------------------------------ exchange

    def _exchange(
        self, tag: tuple[int, int], part: _Part, space: Layout, direct: bool, made: Compiled
    ) -> None:
        source, rank = part.source, self.rank
        outgoing = [
            (peer, region)
            for peer in exchange.takers(source, space, rank)
            for region in exchange.pieces(source, space, rank, peer)
        ]
        incoming = [
            (peer, region)
            for peer in exchange.givers(source, space, rank)
            for region in exchange.pieces(source, space, peer, rank)
        ]
        part.received = [(("piece", *tag, k), region) for k, (_, region) in enumerate(incoming)]
        if exchange.is_dense((source,), space):
            self._dense(tag, part, space, outgoing, incoming, direct, made)
        else:
            self._pairs(tag, part, space, outgoing, incoming, direct, made)

    def _pairs(
        self,
        tag: tuple[int, int],
        part: _Part,
        space: Layout,
        outgoing: list[tuple[int, Region]],
        incoming: list[tuple[int, Region]],
        direct: bool,
        made: Compiled,
    ) -> None:
        dtype = self.graph[part.position].dtype
        sends = []
        for peer, region in outgoing:
            assert part.own is not None
            sends.append(
                Send(
                    brick_key(part.position),
                    peer,
                    pack(region, part.own),
                    prod(region_shape(region)) * dtype.itemsize,
                    self._tag(self.send_tags, peer),
                    not lies_contiguous(region, part.own),
                )
            )
        recvs = []
        for (key, region), (peer, _) in zip(part.received, incoming, strict=True):
            shape = region_shape(region)
            make: Callable[..., Any] = Make(shape, dtype)
            inputs: tuple[Any, ...] = ()
            if direct:
                box = space.brick(self.rank)
                assert box is not None
                if lies_contiguous(region, box):
                    make, inputs = pack(region, box), (("raw", made.outputs[0]),)
            nbytes = prod(shape) * dtype.itemsize
            recvs.append(Recv(key, peer, make, inputs, nbytes, self._tag(self.recv_tags, peer)))
        self._add("exchange", (), sends, recvs)

    def _dense(
        self,
        tag: tuple[int, int],
        part: _Part,
        space: Layout,
        outgoing: list[tuple[int, Region]],
        incoming: list[tuple[int, Region]],
        direct: bool,
        made: Compiled,
    ) -> None:
        box = space.brick(self.rank) if direct else None
        inputs: list[Any] = [] if part.own is None else [brick_key(part.position)]
        if box is not None:
            inputs.append(("raw", made.outputs[0]))
            outputs: list[Any] = [("filled", *tag)]
            part.received = [(outputs[0], ())]
        else:
            outputs = [key for key, _ in part.received]
        stage = DenseExchange(
            part.own,
            tuple(outgoing),
            tuple(incoming),
            self.graph[part.position].dtype,
            box,
            f"exchange {_label(self.graph, part.position)}",
        )
        self.steps.append(Stage("exchange", stage, tuple(inputs), tuple(outputs)))

    def _tag(self, tags: dict[int, int], peer: int) -> int:
        tags[peer] += 1
        return tags[peer] - 1

    def _copy(self, name: str, box: Box, part: _Part, root: int) -> None:
        """Finish a plain copy: the own part, and received pieces that could not lie in place."""
        raw, tasks, done = ("raw", root), [], []
        origin = [lo for lo, _ in box]
        own = part.own
        mine = None if own is None else intersect(tuple(range(lo, hi) for lo, hi in box), own)
        if mine is not None and own is not None:
            done.append(("copied", root, -1))
            copy = Copy(slices(mine, origin), slices(mine, (lo for lo, _ in own)))
            tasks.append(self._task(f"copy {name}", copy, (raw, brick_key(part.position)), done[-1]))
        for k, (key, region) in enumerate(part.received):
            if key[0] == "filled" or lies_contiguous(region, box):
                done.append(key)
                continue
            done.append(("copied", root, k))
            whole = tuple(slice(0, n) for n in region_shape(region))
            tasks.append(
                self._task(f"place {name}", Copy(slices(region, origin), whole), (raw, key), done[-1])
            )
        tasks.append(self._task(f"store {name}", first_of, (raw, *done), brick_key(root)))
        self._add(f"copy {name}", tasks)

    # ------------------------------------------------------------------ block tasks

    def _runs(
        self, number: int, name: str, work: Pass, made: Compiled, box: Box, parts: list[_Part]
    ) -> list[Any]:
        groups = tuple(_groups(work.space, made.program))
        raws = [("raw", root) for root in (*made.outputs, *made.filters)]
        tasks: list[Task] = []
        tokens: list[Any] = []
        for blocks, chosen in _run_lists(work.space, box, parts):
            inputs: list[Any] = [BACKEND, ARGS, *raws]
            for _, keys in chosen:
                inputs += keys
            if made.filters:
                inputs += tokens[-1:]
            run = RunBlocks(
                made.program,
                tuple(b for _, b in blocks),
                tuple(k for k, _ in blocks),
                tuple(lo for lo, _ in box),
                len(made.outputs),
                tuple(p for p, _ in chosen),
                groups,
            )
            tokens.append(("ran", number, len(tokens)))
            tasks.append(self._task(name, run, inputs, tokens[-1]))
        self._add(name, tasks)
        return tokens

    # ------------------------------------------------------------------ reductions

    def _reduce(
        self,
        tag: tuple[int, int],
        name: str,
        space: Layout,
        group: BlockPartials,
        made: Compiled,
        runs: list[Any],
    ) -> None:
        roots = [made.folds[k] for k in group.folds]
        if runs:
            key: Any = ("merged", *tag, 0)
            merge = MergeRuns(group, tag[1])
            self._add(f"merge {name}", [self._task(f"merge {name}", merge, (BACKEND, *runs), key)])
            key = self._hops(tag, name, space, group, key)
            if space.replicated or tree.is_root(space, group.order, self.rank):
                self._finish(tag, name, space, group, roots, key)
        if self.graph[roots[0]].layout.replicated and not space.replicated:
            self._broadcast(tag, name, space, group, roots)

    def _hops(
        self, tag: tuple[int, int], name: str, space: Layout, group: BlockPartials, key: Any
    ) -> Any:
        for k, hop in enumerate(tree.hops(space, group, self.rank)):
            if hop.sends:
                packed = ("packed", *tag, k)
                task = self._task(f"pack {name}", tree.PackStates(hop.keys), (key,), packed)
                send = Send(packed, hop.peer, None, hop.nbytes, self._tag(self.send_tags, hop.peer))
                self._add(f"tree {name}", [task], [send])
            else:
                piece, merged = ("states", *tag, k), ("merged", *tag, k + 1)
                make = Make((hop.nbytes,), np.dtype("u1"))
                number = self._tag(self.recv_tags, hop.peer)
                recv = Recv(piece, hop.peer, make, (), hop.nbytes, number)
                run = tree.MergeHop(group, hop.keys, hop.shapes)
                task = self._task(f"tree {name}", run, (BACKEND, key, piece), merged)
                self._add(f"tree {name}", [task], [], [recv])
                key = merged
        return key

    def _finish(
        self,
        tag: tuple[int, int],
        name: str,
        space: Layout,
        group: BlockPartials,
        roots: list[int],
        key: Any,
    ) -> None:
        box = space.brick(self.rank)
        assert box is not None
        kept = [a for a in range(len(box)) if a not in group.order]
        first = [int(np.searchsorted(a.bounds, lo)) for a, (lo, _) in zip(space.axes, box, strict=True)]
        bounds = [
            np.array([0, 1]) if a in group.order else edges - edges[0]
            for a, edges in enumerate(space.blocks(box))
        ]
        boxes = tuple(
            (
                tuple(
                    (top(group.blocks[a]), 0) if a in group.order else node
                    for a, node in enumerate(block)
                ),
                where,
            )
            for block, where in block_boxes(bounds, first)
        )
        shape = tuple(box[a][1] - box[a][0] for a in kept)
        finish = Finish(group, boxes, shape)
        results = ("results", *tag)
        tasks = [self._task(f"finish {name}", finish, (BACKEND, key), results)]
        tasks += self._spread(name, roots, results)
        self._add(f"finish {name}", tasks)

    def _spread(self, name: str, roots: list[int], results: Any) -> list[Task]:
        return [
            self._task(f"store {name}", Nth(k), (results,), brick_key(root))
            for k, root in enumerate(roots)
        ]

    def _broadcast(
        self,
        tag: tuple[int, int],
        name: str,
        space: Layout,
        group: BlockPartials,
        roots: list[int],
    ) -> None:
        root = next(space.owners_of(tuple((0, 1) for _ in space.axes)))
        parent, children = tree.broadcast_peers(root, self.rank, space.size)
        shapes = tuple(self.graph[r].shape for r in roots)
        dtypes = tuple(self.graph[r].dtype for r in roots)
        nbytes = sum(prod(s) * d.itemsize for s, d in zip(shapes, dtypes, strict=True))
        packed, results = ("broadcast", *tag), ("results", *tag)
        tasks, recvs = [], []
        if parent is None:
            tasks.append(self._task(f"pack {name}", PackBricks(), (results,), packed))
        else:
            make = Make((nbytes,), np.dtype("u1"))
            number = self._tag(self.recv_tags, parent)
            recvs.append(Recv(packed, parent, make, (), nbytes, number))
            unpack = UnpackBricks(shapes, dtypes)
            tasks.append(self._task(f"unpack {name}", unpack, (packed,), results))
            tasks += self._spread(name, roots, results)
        sends = [
            Send(packed, peer, None, nbytes, self._tag(self.send_tags, peer)) for peer in children
        ]
        self._add(f"broadcast {name}", tasks, sends, recvs)

    def _count(self, name: str, root: int, at: int, space: Layout, runs: list[Any]) -> None:
        stage = CountRows(
            at,
            len(space.axes[0].bounds) - 1,
            space.replicated,
            f"count {_label(self.graph, root)}",
        )
        outputs = (counts_key(root), brick_key(root))
        inputs = (BACKEND, ("raw", root), *runs) if runs else (BACKEND,)
        self.steps.append(Stage(f"count {name}", stage, inputs, outputs))


def _sources(graph: Graph, made: Compiled) -> list[tuple[int, exchange.Source]]:
    views: list[dict[Affine, None]] = [{} for _ in made.sources]
    for leaf in made.program.leaves:
        if leaf.kind == "array":
            views[leaf.source][leaf.view] = None
    return [
        (p, exchange.Source(graph[p].layout, tuple(v), graph[p].dtype.itemsize))
        for p, v in zip(made.sources, views, strict=True)
    ]


def _groups(space: Layout, program: Program) -> list[BlockPartials]:
    """Folds that share axes, in the order of the first of each."""
    by_axes: dict[tuple[int, ...], list[tuple[int, Reduction]]] = {}
    for k, fold in enumerate(program.folds):
        by_axes.setdefault(fold.reduction.axes, []).append((k, fold.reduction))
    blocks = tuple(len(axis.bounds) - 1 for axis in space.axes)
    return [
        BlockPartials(
            tuple(k for k, _ in members), tuple(r for _, r in members), axes[::-1], blocks
        )
        for axes, members in by_axes.items()
    ]


def _run_lists(
    space: Layout, box: Box, parts: list[_Part]
) -> list[tuple[list[tuple[Key, Box]], list[tuple[SourceParts, list[Any]]]]]:
    """Blocks of a brick in tasks: neighbours that read the same pieces, up to `RUN` elements."""
    first = [int(np.searchsorted(a.bounds, lo)) for a, (lo, _) in zip(space.axes, box, strict=True)]
    blocks = block_boxes(space.blocks(box), first)
    far = any(part.received for part in parts)
    found: list[Any] = []
    size = 0
    for key, block in blocks:
        chosen = [part.parts_for(block if far else None) for part in parts]
        size += elements(block)
        if found and size <= RUN and found[-1][1] == chosen:
            found[-1][0].append((key, block))
        else:
            found.append(([(key, block)], chosen))
            size = elements(block)
    return found


def _label(graph: Graph, position: int) -> str:
    node = graph[position]
    return f"{node.op.token[0]}{list(node.shape)}"


def _name(graph: Graph, work: Pass) -> str:
    """What a pass computes, for traces: its roots' operations."""
    return "+".join(dict.fromkeys(str(graph[root].op.token[0]) for root in work.roots))
