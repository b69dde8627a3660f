"""Planning for a thousand ranks by a pure call: a rank's plan does not grow with their number."""

from __future__ import annotations

import pytest

import taskarr as ta
from taskarr.geometry.region import box_size
from tests.plan.ghost import plan_for

MANY = 1024
PER_RANK = 4
"""Rows, and blocks, of a rank."""
ROW = 5 * 8


def rows(size: int) -> tuple[int, int]:
    return PER_RANK * size, 5


def norm(size):
    return lambda make: ta.sqrt(make(rows(size)) ** 2 + make(rows(size)) ** 2) * 2 - 1


def stencil(size):
    def program(make):
        u = make(rows(size))
        return u[2:] + u[1:-1] + u[:-2]

    return program


def square_stencil(size):
    side = int(size**0.5)

    def program(make):
        shape = (PER_RANK * side, PER_RANK * side)
        u = make(shape, split=(0, 1), chunks=(2, 2), mesh=(side, side))
        return u[1:-1, 1:-1] + u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]

    return program


def turned_and_rows(size):
    return lambda make: make(rows(size))[:, ::-1].sum(axis=1)


def written(size):
    def program(make):
        u, v = make(rows(size)), make(rows(size))
        u[1:] = v[:-1] * 2
        return u

    return program


NEIGHBOURS = [norm, stencil, square_stencil, turned_and_rows, written]


def size_of_plan(planned):
    return (
        len(planned.plan.steps),
        len(planned.tasks),
        sum(len(s.blocks) for s in planned.sweeps),
        sorted(m.nbytes for m in planned.sends),
        sorted(m.nbytes for m in planned.recvs),
    )


@pytest.mark.parametrize("pattern", NEIGHBOURS, ids=lambda p: p.__name__)
def test_a_neighbour_pattern_does_not_grow(pattern):
    few, many = plan_for(pattern(16), 5, 16), plan_for(pattern(MANY), 5 + 32 * 10, MANY)
    assert size_of_plan(few) == size_of_plan(many)
    near = {m.dest for m in many.sends} | {m.source for m in many.recvs}
    assert len(near) <= 4


@pytest.mark.parametrize("rank", [0, 1, 511, 512, 1023])
def test_only_this_ranks_blocks_are_planned(rank):
    planned = plan_for(stencil(MANY), rank, MANY)
    (space,) = [w.space for w in planned.passes]
    box = space.brick(rank)
    assert sum(box_size(b) for s in planned.sweeps for b in s.blocks) == box_size(box)
    assert all(
        b[0][0] >= box[0][0] and b[0][1] <= box[0][1] for s in planned.sweeps for b in s.blocks
    )


@pytest.mark.parametrize("size", [16, 1000, MANY])
def test_trees_have_logarithmic_depth(size):
    depth = (size - 1).bit_length()
    for rank in (0, 1, size // 2, size - 1):
        planned = plan_for(lambda make: make(rows(size)).mean(axis=0), rank, size)
        up = [m for m in planned.sends if m.dest < rank]
        assert len(planned.recvs) <= depth + 1
        assert len(planned.sends) <= depth + 1
        assert len(up) == (rank > 0)
        assert len(planned.plan.steps) <= 2 * depth + 8
        assert len(planned.tasks) <= 2 * depth + 8


def test_the_first_rank_waits_for_ten_messages_of_a_thousand():
    planned = plan_for(lambda make: make(rows(MANY)).sum(), 0, MANY)
    assert [m.source for m in planned.recvs] == [1 << k for k in range(10)]
    assert {m.nbytes for m in planned.recvs} == {8}
    assert sorted(m.dest for m in planned.sends) == [1 << k for k in range(10)]


def test_a_row_pattern_over_a_mesh():
    def program(make):
        a = make((128, 128), split=(0, 1), chunks=(4, 4), mesh=(32, 32))
        return a.sum(axis=0)

    planned = plan_for(program, 0, MANY)
    assert [m.source for m in planned.recvs][:5] == [32, 64, 128, 256, 512]


def test_boundary_rows_are_all_that_moves():
    planned = plan_for(stencil(MANY), 700, MANY)
    assert [(m.dest, m.nbytes) for m in planned.sends] == [(701, 2 * ROW)]
    assert [(m.source, m.nbytes) for m in planned.recvs] == [(699, 2 * ROW)]
    assert not planned.stages
