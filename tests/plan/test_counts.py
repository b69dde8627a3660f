"""Messages, bytes, tasks and passes of a dozen expressions on four ranks, planned and run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod

import numpy as np
import pytest

import taskarr as ta
from taskarr.evaluate import run
from tests.layouts import on_ranks
from tests.plan import test_passes as programs
from tests.plan.ghost import Planned, Program, plans_for, targets_of

RANKS = 4
ROWS = (16, 5)
ROW = 5 * 8
"""Bytes of a row, and of a block: every rank has four rows."""


@dataclass(frozen=True)
class Count:
    """What a program costs.

    Parameters
    ----------
    passes
        Sweeps over data, plain copies among them.
    sweeps
        Block tasks per rank; a rank's blocks that read the same pieces are one task.
    sends, nbytes
        Messages and bytes from each rank.
    shuffled
        Bytes from each rank in all-to-all exchanges.
    """

    program: Program
    passes: int
    sweeps: tuple[int, ...]
    sends: tuple[int, ...] = (0,) * RANKS
    nbytes: tuple[int, ...] = (0,) * RANKS
    shuffled: tuple[int, ...] = (0,) * RANKS

    def __str__(self) -> str:
        return self.program.__name__


def two_rows(make):
    u = make(ROWS)
    return u[1:-1] + u[:-2]


def three_rows(make):
    u = make(ROWS)
    return u[2:] + u[1:-1] + u[:-2]


def square_stencil(make):
    u = make((16, 16), split=(0, 1), chunks=(4, 4), mesh=(2, 2))
    return u[1:-1, 1:-1] + u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]


def columns_mean(make):
    return make(ROWS).mean(axis=0)


def rows_sum(make):
    return make(ROWS).sum(axis=1)


def turned(make):
    return make(ROWS)[::-1] + 1


def without_a_row(make):
    a = make(ROWS)
    return a - a[5]


def written_across(make):
    u, v = make(ROWS), make(ROWS)
    u[3:7] = v[1:5]
    return u


def to_columns(make):
    return make((16, 16), split=0).redistribute(split=1)


def plus_transposed(make):
    return make((16, 16), split=0) + make((16, 16), split=0).T


def everywhere(make):
    return make(ROWS).redistribute(split=None)


def on_mesh(make):
    return make((16, 16), split=(0, 1), chunks=(4, 4), mesh=(2, 2)).sum()


ONE, NONE = (1,) * RANKS, (0,) * RANKS
UP_AND_DOWN = (2, 2, 1, 1)
"""Messages of a reduction whose result is everywhere: up to 0, and down from 0 and 1."""


def bytes_of(up: int, down: int) -> tuple[int, ...]:
    """Bytes of such a reduction: of the states that go up, and of the results that go down."""
    return 2 * down, up + down, up, up


COUNTS = [
    Count(programs.norm, 1, ONE),
    Count(two_rows, 1, (1, 2, 2, 2), (1, 1, 1, 0), (ROW, ROW, ROW, 0)),
    Count(three_rows, 1, (1, 2, 2, 2), (1, 1, 1, 0), (2 * ROW, 2 * ROW, 2 * ROW, 0)),
    Count(square_stencil, 1, (4,) * 4, (2,) * 4, (2 * 7 * 8,) * 4),
    Count(programs.squares, 1, ONE, UP_AND_DOWN, bytes_of(8, 8)),
    Count(programs.statistics, 1, ONE, UP_AND_DOWN, bytes_of(8 + 24 + 8 + 8, 4 * 8)),
    Count(programs.standardised, 2, (2,) * 4, UP_AND_DOWN, bytes_of(8 + 24, 2 * 8)),
    Count(columns_mean, 1, ONE, UP_AND_DOWN, bytes_of(ROW, ROW)),
    Count(rows_sum, 1, ONE),
    Count(programs.rare_rows, 1, ONE),
    Count(turned, 1, ONE),
    Count(without_a_row, 1, ONE, (0, 3, 0, 0), (0, 3 * ROW, 0, 0)),
    Count(programs.shifted, 2, (2, 3, 3, 3), (1, 1, 1, 0), (ROW, ROW, ROW, 0)),
    Count(written_across, 2, (1, 2, 0, 0), (1, 0, 0, 0), (2 * ROW, 0, 0, 0)),
    Count(to_columns, 1, NONE, shuffled=(3 * 16 * 8,) * 4),
    Count(plus_transposed, 1, ONE, shuffled=(3 * 16 * 8,) * 4),
    Count(everywhere, 1, NONE, shuffled=(3 * 4 * ROW,) * 4),
    Count(on_mesh, 1, ONE, UP_AND_DOWN, (2 * 8, 2 * 8 + 8, 8, 2 * 8)),
]


def planned_counts(count: Count, plans: list[Planned]) -> Count:
    return Count(
        count.program,
        len(plans[0].passes),
        tuple(len(p.sweeps) for p in plans),
        tuple(len(p.sends) for p in plans),
        tuple(sum(m.nbytes for m in p.sends) for p in plans),
        tuple(
            sum(prod(map(len, r)) * d.dtype.itemsize for d in p.dense for _, r in d.outgoing)
            for p in plans
        ),
    )


@pytest.mark.parametrize("count", COUNTS, ids=str)
def test_planned(count):
    assert planned_counts(count, plans_for(count.program, RANKS, ROW)) == count


def measured(world, program: Program) -> Counter:
    """What a run of a program adds to the world's counters."""

    def make(shape, **layout):
        return ta.asarray(np.sin(np.arange(prod(shape) * 1.0)).reshape(shape), **layout)

    targets, alive = targets_of(program(make))
    before = world.counters.copy()
    run(targets, "measured")
    del alive
    return Counter({name: n - before[name] for name, n in world.counters.items()})


@pytest.mark.parametrize("count", COUNTS, ids=str)
def test_run(count):
    spent = on_ranks(RANKS, measured, count.program, alike=False, block=ROW).values
    assert tuple(s["sends"] for s in spent) == count.sends
    assert tuple(s["send_bytes"] for s in spent) == count.nbytes
    assert tuple(s["recvs"] for s in spent) == received(count)
    assert all((s["alltoallv"] + s["pairwise"] > 0) == any(count.shuffled) for s in spent)


def received(count: Count) -> tuple[int, ...]:
    plans = plans_for(count.program, RANKS, ROW)
    found = tuple(len(p.recvs) for p in plans)
    assert sum(found) == sum(count.sends)
    return found
