"""Plans of gathers and scatters: the same steps on all ranks, and as few as the layouts allow."""

from __future__ import annotations

import numpy as np
import pytest

from scheduler.plan import Stage, Task
from taskarr.api import Array
from taskarr.arrays import node_of
from taskarr.ops.gather import gather, scatter
from taskarr.plan.route import AskForRows, SendKnownRows, TakeRows
from taskarr.plan.spread import SendToOwners, WriteRows
from tests.plan.ghost import plan_for, plans_for

SIZES = (1, 2, 3, 5, 7, 20)


def reading(split, index, axis=0):
    """Program that gathers; of a computed array and a computed index."""

    def program(make):
        x = make((16, 9, 2), split=split)
        indices = [node_of(make((30,), "i8", split=index)[::-1])] * (1 if axis else 2)
        return Array._of(gather(node_of(x + 1), indices, axis))

    return program


def writing(split, index, value, function=None):
    """Program that scatters."""

    def program(make):
        x, i = make((16, 9), split=split), make((30,), "i8", split=index)
        v = make((30, 9) if value == 0 else (9,), split=value)
        return Array._of(scatter(node_of(x), [node_of(i)], node_of(v), function))

    return program


def kinds(plan):
    """What the stages and tasks of rows run."""
    wanted = AskForRows | SendKnownRows | TakeRows | SendToOwners | WriteRows
    return [type(s.run) for s in (*plan.stages, *plan.tasks) if isinstance(s.run, wanted)]


@pytest.mark.parametrize("split", [0, 1, (0, 1), None])
@pytest.mark.parametrize("index", [0, None])
def test_all_ranks_record_the_same_steps(split, index):
    for size in SIZES:
        plans_for(reading(split, index), size)
        plans_for(reading(split, index, 1), size)
        for value in (0, None):
            plans_for(writing(split, index, value), size)
            plans_for(writing(split, index, value, np.add), size)


@pytest.mark.parametrize(
    ("program", "run"),
    [
        (reading(0, 0), AskForRows),
        (reading(0, None), SendKnownRows),
        (reading(None, 0), TakeRows),
        (reading(2, None), TakeRows),
        (reading(0, 0, 1), TakeRows),
        (reading(1, 0, 1), AskForRows),
        (writing(0, 0, 0), SendToOwners),
        (writing(0, 0, None), SendToOwners),
        (writing(0, None, None), WriteRows),
        (writing(1, 0, 0), WriteRows),
        (writing(None, None, None), WriteRows),
    ],
)
def test_rows_move_as_little_as_they_can(program, run):
    assert kinds(plan_for(program, 0, 3)) == [run]


@pytest.mark.parametrize("program", [reading(0, 0), writing(0, 0, 0)])
def test_one_rank_needs_no_stage(program):
    assert not plan_for(program, 0, 1).stages


def test_a_chain_of_writes_shares_a_copy():
    def program(make):
        x, i = node_of(make((16, 9), split=0)), node_of(make((30,), "i8", split=0))
        v = node_of(make((9,), split=None))
        for _ in range(3):
            x = scatter(x, [i], v)
        return Array._of(x)

    steps = plan_for(program, 0, 3).plan.steps
    assert sum(isinstance(step, Stage) for step in steps) == 3
    copies = [s for s in steps if not isinstance(s, Stage) and s.name.startswith("copy")]
    assert len(copies) == 1
    assert all(isinstance(task, Task) for task in copies[0].tasks)
