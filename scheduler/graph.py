"""Explicit graphs: Python calls that depend on each other, run by all ranks together.

Every rank builds the same graph, takes its own calls by one rule and exchanges values with the
others; no rank directs them. A value goes once to each rank that reads it and is forgotten after
its last use; the values wanted go to all ranks along a binomial tree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler import agreement, fingerprint, placement
from scheduler.comm.default import current
from scheduler.comm.where import user_line
from scheduler.comm.world import World
from scheduler.engine import execute
from scheduler.plan import Plan, RecvObject, SendObject, Step, Task

__all__ = ["Graph", "Job", "Node", "order", "plan_jobs", "run_jobs"]

_NOTHING: Any = object()


@dataclass(frozen=True, slots=True)
class Job:
    """A call in a list of jobs: ``inputs`` are the positions of those that it reads."""

    name: str
    run: Callable[..., Any]
    inputs: tuple[int, ...]
    rank: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """The value of a call that was added to a graph."""

    graph: Graph
    position: int
    name: str

    def __repr__(self) -> str:
        return f"Node({self.position}, {self.name!r})"


class Graph:
    """A graph of calls.

    Examples
    --------
    >>> graph = Graph()
    >>> parts = [graph.add(pow, i, 2) for i in range(5)]
    >>> total = graph.add(sum, parts)
    >>> graph.run(total)
    (30,)
    """

    def __init__(self) -> None:
        self._calls: list[_Call] = []
        self._jobs: list[Job] = []

    def __len__(self) -> int:
        return len(self._jobs)

    def add(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        rank: int | None = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Node:
        """Add the call ``function(*args, **kwargs)`` and return the node of its value.

        Parameters
        ----------
        args, kwargs
            Values, or nodes of this graph, also in lists, tuples and dicts.
        rank : int, optional
            The rank that must make the call; by default one near most of its inputs.
        name : str, optional
            What traces and errors call it; the function's name by default.
        """
        if not callable(function):
            raise TypeError(f"a graph is made of calls; {function!r} cannot be called")
        if rank is not None and rank < 0:
            raise ValueError(f"rank must be 0 or more, not {rank}")
        nodes = dict.fromkeys(_nodes((args, kwargs)))
        for node in nodes:
            self._own(node)
        call = _Call(name or fingerprint.text(function), function, args, kwargs, tuple(nodes))
        node = Node(self, len(self._jobs), call.name)
        self._calls.append(call)
        inputs = tuple(node.position for node in nodes)
        self._jobs.append(Job(call.name, call, inputs, rank))
        return node

    def run(self, *nodes: Node, world: World | None = None) -> tuple[Any, ...]:
        """Run what `nodes` need, on all ranks together, and return their values on every rank.

        Without nodes, everything is run and nothing returned.

        Raises
        ------
        SPMDError
            The ranks have built different graphs.
        BaseException
            What the first failing call raised, on every rank.
        """
        world = current() if world is None else world
        wanted = [self._own(node) for node in nodes]
        reads = {position: job.inputs for position, job in enumerate(self._jobs)}
        positions = order(reads, wanted if nodes else reads)
        jobs = _renumber(self._jobs, positions)
        new = {old: position for position, old in enumerate(positions)}
        line = user_line()
        _check_ranks(jobs, world.size)
        digest = 0
        if world.size > 1:
            parts = [(self._jobs[old].rank, self._calls[old].parts()) for old in positions]
            digest = fingerprint.digest([*parts, [new[position] for position in wanted]])
        agreement.open_run(
            world, digest, 0, len(jobs), lambda: ("Graph.run", line, [str(job) for job in jobs])
        )
        return run_jobs(world, jobs, [new[position] for position in wanted], f"Graph.run at {line}")

    def _own(self, node: Node) -> int:
        if not isinstance(node, Node) or node.graph is not self:
            raise ValueError(f"{node!r} is not a node of this graph")
        return node.position


def order(reads: Mapping[Any, Iterable[Any]], wanted: Iterable[Any]) -> list[Any]:
    """Return the keys that `wanted` need, depth first, each after all that it reads.

    Raises
    ------
    ValueError
        There is a cycle; it is named.

    Examples
    --------
    >>> order({"c": ["a", "b"], "a": [], "b": ["a"], "d": []}, ["c"])
    ['a', 'b', 'c']
    """
    done: dict[Any, None] = {}
    path: dict[Any, Iterator[Any]] = {}
    for root in wanted:
        if root not in done:
            path[root] = iter(reads[root])
        while path:
            key, rest = next(reversed(path.items()))
            child = next((child for child in rest if child not in done), _NOTHING)
            if child is _NOTHING:
                del path[key]
                done[key] = None
            elif child in path:
                cycle = [*list(path)[list(path).index(child) :], child]
                raise ValueError(f"the graph has a cycle: {' -> '.join(map(str, cycle))}")
            else:
                path[child] = iter(reads[child])
    return list(done)


def run_jobs(
    world: World, jobs: Sequence[Job], wanted: Sequence[int], where: str
) -> tuple[Any, ...]:
    """Run jobs that are the same on all ranks; return the values at the positions `wanted`."""
    owners = placement.assign([job.inputs for job in jobs], [job.rank for job in jobs], world.size)
    plan = plan_jobs(jobs, owners, wanted, world.rank, world.size)
    values = execute(world, plan, {}, where)
    return tuple(values[position] for position in wanted)


def plan_jobs(
    jobs: Sequence[Job], owners: Sequence[int], wanted: Iterable[int], rank: int, size: int
) -> Plan:
    """Return the plan of one rank; needs no world."""
    wanted = dict.fromkeys(wanted)
    readers: list[set[int]] = [set() for _ in jobs]
    for job, owner in zip(jobs, owners, strict=True):
        for position in job.inputs:
            readers[position].add(owner)
    tasks, sends, recvs = [], [], []
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    for position, (job, owner) in enumerate(zip(jobs, owners, strict=True)):
        if owner == rank:
            tasks.append(Task(job.name, job.run, job.inputs, position, position))
        if position in wanted:
            source, targets = _tree(rank, owner, size)
        else:
            source = owner if rank != owner and rank in readers[position] else None
            targets = sorted(readers[position] - {owner}) if rank == owner else []
        if source is not None:
            recvs.append(RecvObject(position, source, received[source]))
            received[source] += 1
        for target in targets:
            sends.append(SendObject(position, target, sent[target]))
            sent[target] += 1
    return Plan((Step("graph", tuple(tasks), tuple(sends), tuple(recvs)),), tuple(wanted))


def _tree(rank: int, root: int, size: int) -> tuple[int | None, list[int]]:
    """Return from whom and to whom a rank passes a value of `root` to all, in a binomial tree."""
    place = (rank - root) % size
    parent = None if place == 0 else ((place & (place - 1)) + root) % size
    reach = (place & -place) if place else 1 << size.bit_length()
    children = []
    step = 1
    while step < reach and place + step < size:
        children.append((place + step + root) % size)
        step *= 2
    return parent, children[::-1]


def _renumber(jobs: Sequence[Job], positions: Sequence[int]) -> list[Job]:
    new = {old: position for position, old in enumerate(positions)}
    chosen = [jobs[old] for old in positions]
    return [
        Job(job.name, job.run, tuple([new[old] for old in job.inputs]), job.rank) for job in chosen
    ]


def _check_ranks(jobs: Iterable[Job], size: int) -> None:
    for job in jobs:
        if job.rank is not None and job.rank >= size:
            raise ValueError(f"{job.name} wants rank {job.rank} of only {size}")


class _Call:
    """A function with arguments in which the nodes are filled in when it is called."""

    __slots__ = ("args", "function", "kwargs", "name", "nodes")

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        nodes: tuple[Node, ...],
    ) -> None:
        self.name = name
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.nodes = nodes

    def __call__(self, *values: Any) -> Any:
        filling = dict(zip(self.nodes, values, strict=True))
        args, kwargs = _filled(self.args, filling), _filled(self.kwargs, filling)
        try:
            return self.function(*args, **kwargs)
        except BaseException as error:
            error.add_note(f"in the call {self.name!r} of a graph")
            raise

    def parts(self) -> tuple[Any, ...]:
        """Return what tells this call from others; a node is its place among the inputs."""
        places = {node: f"input {place}" for place, node in enumerate(self.nodes)}
        inputs = [node.position for node in self.nodes]
        return self.function, _filled(self.args, places), _filled(self.kwargs, places), inputs


def _nodes(value: Any) -> Iterator[Node]:
    if isinstance(value, Node):
        yield value
    elif type(value) in (list, tuple):
        for part in value:
            yield from _nodes(part)
    elif type(value) is dict:
        for part in value.values():
            yield from _nodes(part)


def _filled(value: Any, filling: Mapping[Node, Any]) -> Any:
    kind = type(value)
    if kind is Node:
        return filling[value]
    if kind in (list, tuple):
        return kind([_filled(part, filling) for part in value])
    if kind is dict:
        return {key: _filled(part, filling) for key, part in value.items()}
    return value
