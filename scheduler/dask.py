"""Dask's graphs on the ranks of an SPMD program: ``dask.compute(x, scheduler=scheduler.get)``.

Every rank calls it with the graph that it has built. The graphs are compared by position in
depth-first order; the text of the keys doesn't matter. If they differ all the same (unseeded random
numbers, names from uuids inside of fused tasks), that of rank 0 is sent to all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from scheduler import agreement, fingerprint
from scheduler.comm.default import current
from scheduler.comm.where import user_line
from scheduler.comm.world import World
from scheduler.graph import Job, order, run_jobs

__all__ = ["get"]


def get(dsk: Any, keys: Any, *, world: World | None = None, **kwargs: Any) -> Any:
    """Compute keys of a Dask graph on all ranks; the values are returned on every rank.

    Parameters
    ----------
    dsk : mapping
        A graph of Dask: task objects or tuples, or something that has such a graph.
    keys : key or nested lists of keys
        What to compute.
    kwargs
        Options of other schedulers of Dask, without effect.

    Returns
    -------
    value or nested tuples of values
        In the shape of `keys`.

    Raises
    ------
    SPMDError
        The ranks ask for different numbers of keys.
    BaseException
        What the first failing task raised, on every rank.

    Examples
    --------
    >>> from operator import add
    >>> get({"x": 1, "y": (add, "x", 2), "z": (sum, ["x", "y"])}, ["y", ["z"]])
    (3, (4,))
    """
    world = current() if world is None else world
    where = f"scheduler.get at {user_line()}"
    flat = list(_flat(keys))
    jobs, wanted = _jobs(_nodes(dsk), flat)
    if world.size > 1:
        jobs, wanted = _agree(world, jobs, wanted, where)
    else:
        agreement.open_run(world, 0, 0, len(jobs), lambda: where)
    values = run_jobs(world, jobs, wanted, where)
    return _shaped(keys, iter(values))


def _nodes(dsk: Any) -> dict[Any, Any]:
    """Return a graph as Dask's task objects."""
    from dask._task_spec import convert_legacy_graph

    if not isinstance(dsk, Mapping):
        dsk = dsk.__dask_graph__()
    return convert_legacy_graph(dsk)


def _jobs(nodes: Mapping[Any, Any], keys: list[Any]) -> tuple[list[Job], list[int]]:
    """Return the jobs that the keys need, depth first, and the positions of the keys.

    Data in the graph are no jobs, unless they are wanted: every rank has them.
    """
    from dask._task_spec import DataNode

    missing = [key for key in keys if key not in nodes]
    if missing:
        raise KeyError(f"the graph has no key {missing[0]!r}")
    reads = {key: list(_reads(node)) for key, node in nodes.items()}
    positions: dict[Any, int] = {}
    jobs: list[Job] = []
    for key in order(reads, keys):
        data = [read for read in reads[key] if isinstance(nodes[read], DataNode)]
        inputs = [read for read in reads[key] if not isinstance(nodes[read], DataNode)]
        if isinstance(nodes[key], DataNode) and key not in keys:
            continue
        call = _Call(nodes[key], inputs, {read: nodes[read].value for read in data})
        positions[key] = len(jobs)
        jobs.append(Job(_name(key), call, tuple(positions[read] for read in inputs)))
    return jobs, [positions[key] for key in keys]


class _Call:
    """A Dask task; its inputs are named by keys."""

    __slots__ = ("data", "keys", "node")

    def __init__(self, node: Any, keys: list[Any], data: dict[Any, Any]) -> None:
        self.node = node
        self.keys = keys
        self.data = data

    def __call__(self, *values: Any) -> Any:
        try:
            return self.node({**self.data, **dict(zip(self.keys, values, strict=True))})
        except BaseException as error:
            error.add_note(f"in the task {self.node.key!r} of a Dask graph")
            raise

    def parts(self) -> Any:
        """Return what tells this task from others, without the text of its keys."""
        names = {key: f"input {place}" for place, key in enumerate(self.keys)}
        return _anonymous(self.node, {**names, **self.data})


def _reads(node: Any) -> Iterator[Any]:
    """Keys that a task reads, each once, in the order of its arguments."""
    seen = dict.fromkeys(_references(node))
    yield from seen
    yield from sorted((key for key in node.dependencies if key not in seen), key=str)


def _references(value: Any) -> Iterator[Any]:
    from dask._task_spec import Alias, Task, TaskRef

    if isinstance(value, TaskRef):
        yield value.key
    elif isinstance(value, Alias):
        yield value.target
    elif isinstance(value, Task):
        for part in (*value.args, *value.kwargs.values()):
            yield from _references(part)


def _anonymous(value: Any, names: Mapping[Any, Any]) -> Any:
    from dask._task_spec import Alias, DataNode, Task, TaskRef

    if isinstance(value, TaskRef):
        return names[value.key]
    if isinstance(value, Alias):
        return ("alias", names[value.target])
    if isinstance(value, DataNode):
        return ("data", value.value)
    if isinstance(value, Task):
        kwargs = {key: _anonymous(part, names) for key, part in value.kwargs.items()}
        return (value.func, [_anonymous(part, names) for part in value.args], kwargs)
    return value


def _agree(
    world: World, jobs: list[Job], wanted: list[int], where: str
) -> tuple[list[Job], list[int]]:
    """Return the graph of all ranks, or that of rank 0 if they differ."""
    agreement.open_run(world, fingerprint.digest(["scheduler.get", len(wanted)]), 0, 0,
                       lambda: f"scheduler.get of {len(wanted)} keys")  # fmt: skip
    own = fingerprint.digest(_parts(jobs, wanted), strict=True)
    words = np.array([own, own ^ 0xFFFF_FFFF_FFFF_FFFF], np.uint64)
    both = world.allreduce(words, "or", where)
    if not both[0] & both[1]:
        return jobs, wanted
    return world.bcast((jobs, wanted), 0, where)


def _parts(jobs: list[Job], wanted: list[int]) -> Iterator[Any]:
    for job in jobs:
        yield job.inputs
        yield job.run.parts()  # type: ignore[attr-defined]
    yield wanted


def _name(key: Any) -> str:
    return str(key[0] if isinstance(key, tuple) and key else key)


def _flat(keys: Any) -> Iterator[Any]:
    if isinstance(keys, list):
        for part in keys:
            yield from _flat(part)
    else:
        yield keys


def _shaped(keys: Any, values: Iterator[Any]) -> Any:
    if isinstance(keys, list):
        return tuple(_shaped(part, values) for part in keys)
    return next(values)
