"""Plans of scans: the same steps on all ranks, a message to the next owner, and no more."""

from __future__ import annotations

import numpy as np
import pytest

from taskarr.plan.carries import Alone, Carry
from tests.plan.ghost import plan_for, plans_for

SIZES = (1, 2, 3, 5, 7, 20)


def scanning(split, axis, how=lambda x: x, shape=(16, 9, 4)):
    """Program that accumulates a computed array."""

    def program(make):
        return np.add.accumulate(how(make(shape, split=split)) * 2, axis=axis)

    return program


def verbs(plan):
    """What tasks do to blocks, in order."""
    return [
        task.run.verb if isinstance(task.run, Carry) else "alone"
        for task in plan.tasks
        if isinstance(task.run, Carry | Alone)
    ]


@pytest.mark.parametrize("split", (0, 1, (0, 1), (0, 1, 2), None))
@pytest.mark.parametrize("axis", (0, 1, 2))
def test_all_ranks_record_the_same_steps(split, axis):
    for size in SIZES:
        plans_for(scanning(split, axis), size)
        plans_for(scanning(split, axis, lambda x: x[::-1].T), size)


def test_the_first_owner_is_done_at_once_and_the_last_sends_nothing():
    plans = plans_for(scanning(0, 0), 3)
    assert list(map(verbs, plans)) == [["through"], ["alone", "total", "join"], ["alone", "join"]]
    assert [[s.dest for s in plan.sends] for plan in plans] == [[1], [2], []]
    assert all(s.nbytes == 9 * 4 * 8 for plan in plans for s in plan.sends)


def test_owners_are_met_in_the_order_of_elements():
    plans = plans_for(scanning(0, 0, lambda x: x[::-1]), 3)
    assert [[s.dest for s in plan.sends] for plan in plans] == [[], [0], [1]]


def test_meshes_have_a_chain_for_each_column():
    plans = plans_for(scanning((0, 1), 0), 4)
    assert [[s.dest for s in plan.sends] for plan in plans] == [[2], [3], [], []]


@pytest.mark.parametrize(("split", "axis"), [(0, 1), (1, 0), (None, 0)])
def test_nothing_is_sent_along_an_axis_that_is_whole(split, axis):
    for rank in range(3):
        plan = plan_for(scanning(split, axis), rank, 3)
        assert not plan.sends and not plan.stages
        assert verbs(plan) == ["through"]


def test_what_a_rank_does_does_not_grow_with_the_ranks():
    program = scanning(0, 0, shape=(4000, 2))
    few, many = (plan_for(program, size // 2, size, block=16) for size in (20, 1000))
    assert len(many.sends) == len(few.sends) == 1
    assert len(many.tasks) <= len(few.tasks)


def test_large_bricks_are_several_tasks():
    plan = plan_for(scanning(0, 0, shape=(1 << 24,)), 0, 1, block=1 << 22)
    assert verbs(plan) == ["through"] * 4
    plan = plan_for(scanning(0, 1, shape=(1 << 18, 64)), 0, 1, block=1 << 22)
    assert verbs(plan) == ["through"] * 4
