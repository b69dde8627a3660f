"""Which rank runs a task that was not given one, by a rule that every rank computes alike.

Tasks without inputs are dealt in contiguous runs, so that neighbours in depth-first order, which
are mostly read together, share a rank. Another task goes where most of its inputs are, unless
that rank has its share of the tasks at the same depth; tasks of one depth can run at the same
time, so this balances the ranks at each moment and not only in sum.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

__all__ = ["assign", "depths"]

SLACK = 1.25
"""How much more than its even share of the tasks at one depth a rank may get to be near inputs."""


def assign(inputs: Sequence[Sequence[int]], pinned: Sequence[int | None], size: int) -> list[int]:
    """Return the rank of each task.

    Parameters
    ----------
    inputs : sequence of sequences of int
        For each task the positions of the tasks that it reads, all smaller than its own.
    pinned : sequence of int or None
        The rank that was asked for.
    size : int
        Number of ranks.

    Examples
    --------
    >>> assign([(), (), (), (), (0, 1), (2, 3), (4, 5)], [None] * 7, 2)
    [0, 0, 1, 1, 0, 1, 0]
    """
    if size == 1:
        return [0] * len(inputs)
    depth = depths(inputs)
    width = Counter(depth)
    load = {level: Counter[int]() for level in width}
    for level, rank in zip(depth, pinned, strict=True):
        if rank is not None:
            load[level][rank] += 1
    roots = [task for task, (read, rank) in enumerate(zip(inputs, pinned, strict=True))
             if not read and rank is None]  # fmt: skip
    owners = [-1 if rank is None else rank for rank in pinned]
    for number, task in enumerate(roots):
        owners[task] = number * size // len(roots)
        load[0][owners[task]] += 1
    start: Counter[int] = Counter()
    for task, read in enumerate(inputs):
        if owners[task] < 0:
            level = depth[task]
            even = -(-width[level] // size)
            share = max(even, int(SLACK * width[level] / size))
            owner = _nearest([owners[i] for i in read], load[level], share)
            if owner is None:
                owner = start[level] = _free(load[level], even, start[level], size)
            owners[task] = owner
            load[level][owner] += 1
    return owners


def depths(inputs: Sequence[Sequence[int]]) -> list[int]:
    """Return the length of the longest chain of tasks before each task.

    >>> depths([(), (0,), (0, 1)])
    [0, 1, 2]
    """
    depth: list[int] = []
    for read in inputs:
        depth.append(1 + max([depth[i] for i in read]) if read else 0)
    return depth


def _nearest(holders: list[int], load: Counter[int], share: int) -> int | None:
    """Return the rank that holds most inputs and has room, the least busy or lowest if several."""
    count = Counter(rank for rank in holders if load[rank] < share)
    if not count:
        return None
    return min(count, key=lambda rank: (-count[rank], load[rank], rank))


def _free(load: Counter[int], share: int, start: int, size: int) -> int:
    """Return the next rank with room, going round."""
    around = [(start + step) % size for step in range(size)]
    return next((rank for rank in around if load[rank] < share), start)
