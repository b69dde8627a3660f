"""What keys cost: shuffles, messages and bytes, counted on four ranks after a run of each kind."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import taskarr
from taskarr.geometry.rows import rows_of
from tests.layouts import on_ranks

RANKS = 4
X = np.arange(24 * 5.0).reshape(24, 5)
INDEX = np.random.default_rng(3).integers(-24, 24, 200)
MASK = X % 3 == 0
V = np.random.default_rng(4).random((200, 5))


@dataclass(frozen=True)
class Job:
    """Arrays that are at hand before an operation is counted."""

    a: Any
    turned: Any
    index: Any
    mask: Any
    row_mask: Any
    values: Any


def read(key):
    """Reading by what ``key(job)`` gives."""
    return lambda job: job.a[key(job)].persist()


def write(key, value):
    def act(job):
        job.a[key(job)] = value(job)
        job.a.persist()

    return act


def columns(job):
    return job.turned[:, [4, 0, 0, 3]].persist()


SHUFFLES = {
    "slices": (0, lambda j: (j.a[3:-2, ::-2] + 0).persist()),
    "one row": (0, lambda j: (j.a[7] + 0).persist()),
    "new axes": (0, lambda j: (j.a[None, ::-1, ..., None] + 0).persist()),
    "aligned mask": (0, read(lambda j: j.mask)),
    "aligned mask of NumPy": (0, read(lambda j: MASK)),
    "aligned mask of rows": (0, read(lambda j: j.row_mask)),
    "aligned mask and columns": (0, read(lambda j: (j.row_mask, slice(1, 4)))),
    "aligned mask and a column": (0, read(lambda j: (j.row_mask, -1))),
    "index known to all": (1, read(lambda j: INDEX)),
    "indices known to all": (1, read(lambda j: (INDEX, INDEX % 5))),
    "distributed index": (2, read(lambda j: j.index)),
    "distributed indices": (2, read(lambda j: (j.index, j.index % 5))),
    "uncut axis": (0, read(lambda j: (slice(None), [4, 0, 0, 3]))),
    "uncut axis of columns": (0, lambda j: j.turned[[4, 0, 0, 23]].persist()),
    "write a slice": (0, write(lambda j: np.s_[3:-2, ::-2], lambda j: 1.5)),
    "write by a mask": (0, write(lambda j: j.mask, lambda j: 1.5)),
    "write by a mask of NumPy": (0, write(lambda j: MASK, lambda j: 1.5)),
    "write a column by a mask": (0, write(lambda j: (j.row_mask, 2), lambda j: 1.5)),
    "write rows by a mask": (0, write(lambda j: j.row_mask, lambda j: X[0])),
    "write known rows": (0, write(lambda j: INDEX, lambda j: 1.5)),
    "write known rows and values": (0, write(lambda j: INDEX, lambda j: V)),
    "write distributed rows": (1, write(lambda j: j.index, lambda j: 1.5)),
    "write distributed rows and values": (1, write(lambda j: j.index, lambda j: j.values)),
}


def prepared() -> Job:
    index = taskarr.asarray(INDEX, split=0).persist()
    a = taskarr.asarray(X, split=0).persist()
    rows = a.chunks
    return Job(
        a,
        taskarr.asarray(X, split=1).persist(),
        index,
        taskarr.asarray(MASK, split=0, chunks=rows).persist(),
        taskarr.asarray(MASK[:, 0], split=0, chunks=rows[:1]).persist(),
        taskarr.asarray(V, split=0, chunks=(index.chunks[0], 5)).persist(),
    )


def cost_of(act):
    """What each rank sent and took part in."""

    def job(world):
        arrays = prepared()
        before, stages = world.counters.copy(), world.stages
        act(arrays)
        return Counter({**(world.counters - before), "stages": world.stages - stages})

    return on_ranks(RANKS, job, alike=False, block=40).values


@pytest.mark.parametrize("name", SHUFFLES)
def test_shuffles(name):
    stages, act = SHUFFLES[name]
    for cost in cost_of(act):
        assert cost["stages"] == cost["alltoallv"] == stages
        assert cost["pairwise"] == cost["pull"] == 0


@pytest.mark.parametrize("name", [n for n, (stages, _) in SHUFFLES.items() if not stages])
def test_nothing_moves_without_a_shuffle(name):
    act = SHUFFLES[name][1]
    reads_mask = "mask" in name and "write" not in name
    for cost in cost_of(act):
        assert cost["sends"] == cost["alltoallv_bytes"] == 0
        assert cost["allreduce"] == 2 + reads_mask  # agreements, and the numbers of what is kept


def test_a_key_makes_no_message_before_somebody_asks():
    for act in (lambda j: j.a[2:, ::-1], lambda j: j.a[5], lambda j: j.a[INDEX]):
        assert all(not cost.total() for cost in cost_of(act))


@pytest.mark.parametrize("known", [False, True])
def test_random_rows_of_all_ranks_go_by_alltoallv(known):
    """By the default rule; every rank sends to and hears from each other one."""

    def job(world):
        assert world.state["shuffle"] == "auto"
        arrays = prepared()
        before = world.counters.copy()
        arrays.a[INDEX if known else arrays.index].persist()
        return world.counters - before

    for cost in on_ranks(RANKS, job, alike=False, block=40).values:
        assert cost["alltoallv"] == 2 - known
        assert cost["alltoallv_bytes"] > 0


@pytest.mark.parametrize("known", [False, True])
def test_each_distinct_row_travels_once_to_a_rank(known):
    def job(world):
        arrays = prepared()
        before = world.counters["alltoallv_bytes"]
        found = arrays.a[INDEX if known else arrays.index].persist()
        lo, hi = found.layout.brick(world.rank)[0]
        wanted = set((INDEX % 24)[lo:hi].tolist())
        wanted -= set(range(*rows_of(arrays.a.layout, 1).owned(world.rank)))
        return world.counters["alltoallv_bytes"] - before, len(wanted)

    found = on_ranks(RANKS, job, alike=False, block=40).values
    rows = sum(n for _, n in found)
    assert 0 < rows < len(INDEX) / 2
    assert sum(nbytes for nbytes, _ in found) == rows * (40 if known else 48)


def test_only_the_last_value_for_a_row_leaves_a_rank():
    def job(world):
        arrays = prepared()
        lo, hi = arrays.index.layout.brick(world.rank)[0]
        named = set((INDEX % 24)[lo:hi].tolist())
        named -= set(range(*rows_of(arrays.a.layout, 1).owned(world.rank)))
        before = world.counters["alltoallv_bytes"]
        arrays.a[arrays.index] = arrays.values
        arrays.a.persist()
        return world.counters["alltoallv_bytes"] - before, len(named)

    for nbytes, rows in on_ranks(RANKS, job, alike=False, block=40).values:
        assert nbytes == rows * 48


@pytest.mark.parametrize("ranks", [1, 2, RANKS])
def test_one_element_takes_one_reduction(ranks):
    def job(world):
        a = prepared().a
        before = world.counters.copy()
        found = [float(a[i, 3]) for i in (0, 11, 23)]
        return found, world.counters - before

    for found, cost in on_ranks(ranks, job, block=40).values:
        assert found == [X[0, 3], X[11, 3], X[23, 3]]
        assert cost == ({"allreduce": 3} if ranks > 1 else {})
