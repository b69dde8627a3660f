from __future__ import annotations

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskarr.geometry.grid import bounds_of
from taskarr.geometry.owners import balance, cut_among, factors, mesh_for, new_layout, on_root
from tests.geometry.strategies import layouts, owned, shapes, sizes

blocks = st.lists(st.integers(1, 9), min_size=1, max_size=30)


@given(blocks, st.integers(1, 12))
def test_cuts_are_the_boundaries_nearest_to_equal_shares(lengths, owners):
    bounds = bounds_of(lengths)
    cut = cut_among(bounds, owners)
    assert len(cut) == owners + 1
    assert (cut[0], cut[-1]) == (0, bounds[-1])
    for j, at in enumerate(cut.tolist()):
        target = j * int(bounds[-1]) // owners
        assert abs(at - target) == np.abs(bounds - target).min()


@given(st.integers(1, 40), st.integers(1, 3))
def test_factors(size, count):
    found = list(factors(size, count))
    assert len(set(found)) == len(found)
    assert all(len(f) == count and prod(f) == size for f in found)
    assert {f[0] for f in found} == {p for p in range(1, size + 1) if size % p == 0} or count == 1


@given(st.integers(1, 64), st.lists(st.integers(1, 50), min_size=1, max_size=3).map(tuple))
def test_meshes_have_most_owners_and_are_square(size, counts):
    def owners(mesh):
        return prod(map(min, mesh, counts))

    mesh = mesh_for(size, counts)
    assert prod(mesh) == size
    best = max(owners(m) for m in factors(size, len(counts)))
    assert owners(mesh) == best
    assert max(mesh) == min(max(m) for m in factors(size, len(counts)) if owners(m) == best)


@given(shapes, sizes, st.data())
def test_ranks_beyond_the_mesh_own_nothing(shape, size, data):
    layout = data.draw(layouts(shape, size))
    assert layout.size == size
    for rank in range(size):
        if layout.coordinates(rank) is None and not layout.replicated:
            assert owned(layout, rank).size == 0


@given(shapes, sizes, st.data())
def test_balance_is_the_fullest_brick_over_the_mean(shape, size, data):
    layout = data.draw(layouts(shape, size))
    fullest = max(owned(layout, rank).size for rank in range(size))
    if layout.replicated or not prod(shape):
        assert balance(layout) == 1
    else:
        assert balance(layout) == pytest.approx(fullest * size / prod(shape))


@given(st.integers(1, 200), sizes)
def test_rows_are_dealt_evenly(rows, size):
    layout = new_layout((rows,), 8, size, split=0, block=8)
    counts = [owned(layout, rank).size for rank in range(size)]
    assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_the_grid_does_not_depend_on_the_number_of_ranks(size):
    for options in ({}, {"split": (0, 1)}, {"chunks": 7}, {"split": None}):
        one = new_layout((90, 80), 8, 1, block=400, **options)
        assert new_layout((90, 80), 8, size, block=400, **options).chunks == one.chunks


@pytest.mark.parametrize(
    ("options", "split"),
    [
        ({}, None),
        ({"replicate": False}, (0,)),
        ({"split": 0}, (0,)),
        ({"split": -1}, (1,)),
        ({"split": (1, 0)}, (0, 1)),
        ({"split": None}, None),
        ({"chunks": (-1, 2)}, (1,)),
        ({"chunks": (4, 2)}, (0,)),
        ({"chunks": -1}, (0,)),
        ({"mesh": (2,)}, (0,)),
        ({"split": None, "chunks": 3}, None),
        ({"block": 80}, (0,)),
        ({"block": 64}, (0, 1)),
    ],
)
def test_what_is_cut(options, split):
    layout = new_layout((8, 9), 8, 3, **options)
    assert (None if layout.replicated else layout.split) == split


def test_zero_dimensions_are_replicated():
    assert new_layout((), 8, 3, replicate=False).replicated
    assert new_layout((), 8, 3, split=None).replicated


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "rows"}, "split='rows'"),
        ({"split": 2}, "split=2"),
        ({"split": (0, -2)}, "names an axis twice"),
        ({"split": 1.5}, r"split=1\.5"),
        ({"split": 0, "mesh": (2, 2)}, r"mesh=\(2, 2\)"),
        ({"split": 0, "mesh": (0,)}, r"mesh=\(0,\)"),
        ({"split": (0, 1), "mesh": (2, 2)}, "needs 4 ranks, this job has 3"),
        ({"chunks": (4, 4, 4)}, "one entry per axis"),
    ],
)
def test_wrong_layouts_are_refused_by_value(options, message):
    with pytest.raises(ValueError, match=message):
        new_layout((8, 9), 8, 3, **options)


@pytest.mark.parametrize("root", [0, 2])
def test_all_on_one_rank(root):
    layout = on_root((3, 4), root, 3)
    assert [layout.brick(r) for r in range(3)] == [
        ((0, 3), (0, 4)) if r == root else None for r in range(3)
    ]
    assert list(layout.owners_of(layout.whole)) == [root]


def test_ranks_of_a_mesh_without_blocks_are_not_skipped():
    layout = new_layout((9, 2), 8, 6, split=(0, 1), mesh=(2, 3), chunks=(1, -1))
    assert [layout.brick(rank) is not None for rank in range(6)] == [True] * 2 + [False] * 4
