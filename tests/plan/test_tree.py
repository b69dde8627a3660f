from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taskarr.backend import numpy_backend
from taskarr.geometry.layout import Layout
from taskarr.geometry.owners import new_layout
from taskarr.kernel.reduction import Reduction, merge
from taskarr.ops.reductions import ROWS
from taskarr.plan.tasks import BlockPartials, block_boxes
from taskarr.plan.tree import MergeHop, PackStates, broadcast_peers, hops, is_root
from tests.geometry.strategies import layouts, shapes, sizes, views
from tests.kernel.states import leaf, spelling, whole

FLOAT = np.dtype("f8")
SUM = Reduction(ROWS["sum"], FLOAT, FLOAT, (0,), 1)


def group_of(space: Layout, axes: tuple[int, ...], reduction: Reduction) -> BlockPartials:
    blocks = tuple(len(axis.bounds) - 1 for axis in space.axes)
    return BlockPartials((0,), (replace(reduction, axes=axes),), axes[::-1], blocks, (-1,))


@st.composite
def spaces(draw):
    """A layout that is not replicated, with elements, and axes to reduce."""
    shape = draw(shapes)
    layout = draw(layouts(shape, draw(sizes)))
    if draw(st.booleans()):
        layout = layout.viewed(draw(views(shape)))
    assume(layout.shape and 0 not in layout.shape and not layout.replicated)
    axes = draw(st.sets(st.integers(0, len(layout.shape) - 1), min_size=1))
    return layout, tuple(sorted(axes))


def own_partials(space: Layout, group: BlockPartials, rank: int) -> dict:
    """What a rank's own tasks leave: its blocks, neighbours combined."""
    box = space.brick(rank)
    if box is None:
        return {}
    first = [int(np.searchsorted(a.bounds, lo)) for a, (lo, _) in zip(space.axes, box, strict=True)]
    raw = {key: leaf(key) for key, _ in block_boxes(space.blocks(box), first)}
    return merge(raw, group.order, group.blocks, group.reductions, np)


def climb(space: Layout, group: BlockPartials) -> tuple[list[dict], list[list]]:
    """Run the trees by hand: the partials that each rank ends with, and each rank's hops."""
    plans = [list(hops(space, group, rank)) for rank in range(space.size)]
    here = [own_partials(space, group, rank) for rank in range(space.size)]
    at, wire = [0] * space.size, {}
    while any(k < len(p) for k, p in zip(at, plans, strict=True)):
        before = list(at)
        for rank, todo in enumerate(plans):
            if at[rank] == len(todo):
                continue
            hop = todo[at[rank]]
            if hop.sends:
                assert set(hop.keys) == set(here[rank])
                wire[rank, hop.peer] = (hop, here[rank])
                here[rank] = {}
                at[rank] += 1
            elif (hop.peer, rank) in wire:
                other, states = wire.pop((hop.peer, rank))
                assert replace(other, peer=rank, sends=False) == replace(hop, peer=rank)
                both = {**here[rank], **states}
                here[rank] = merge(both, group.order, group.blocks, group.reductions, np)
                at[rank] += 1
        assert at != before, "the trees hang"
    assert not wire
    return here, plans


@given(spaces())
def test_trees_give_one_expression_whoever_owns_the_blocks(case):
    space, axes = case
    group = group_of(space, axes, spelling(axes))
    here, _ = climb(space, group)
    found: dict = {}
    for rank, partials in enumerate(here):
        assert bool(partials) == is_root(space, axes, rank)
        assert not set(partials) & set(found)
        found.update(partials)
    assert found == whole(group.order, group.blocks)


@given(spaces())
def test_trees_are_as_deep_as_the_logarithm_of_the_owners(case):
    space, axes = case
    group = group_of(space, axes, spelling(axes))
    deepest = sum((space.axes[a].owners - 1).bit_length() for a in axes)
    for rank in range(space.size):
        mine = list(hops(space, group, rank))
        assert len(mine) <= deepest
        assert [h.sends for h in mine[:-1]] == [False] * len(mine[:-1])
        assert space.brick(rank) is not None or not mine


@given(spaces())
def test_a_rank_sends_once(case):
    space, axes = case
    group = group_of(space, axes, spelling(axes))
    owners = [rank for rank in range(space.size) if space.brick(rank) is not None]
    sent = [sum(h.sends for h in hops(space, group, rank)) for rank in range(space.size)]
    assert all(sent[r] == (r in owners and not is_root(space, axes, r)) for r in range(space.size))


@pytest.mark.parametrize("owners", [1, 2, 3, 5, 7, 8, 13])
def test_a_row_of_owners(owners):
    space = new_layout((26,), 8, owners, split=0, block=16)
    group = group_of(space, (0,), spelling((0,)))
    here, plans = climb(space, group)
    assert here[0] == whole(group.order, group.blocks)
    assert len(plans[0]) == (owners - 1).bit_length()
    assert [h.peer for h in plans[0]] == [1 << k for k in range(len(plans[0]))]


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("mesh", [(2, 2), (3, 2), (1, 5), (2, 4)])
def test_a_mesh_of_owners(mesh, axes):
    size = mesh[0] * mesh[1]
    space = new_layout((9, 8), 8, size, split=(0, 1), mesh=mesh, chunks=(2, 1))
    group = group_of(space, axes, spelling(axes))
    here, plans = climb(space, group)
    roots = [r for r in range(size) if here[r]]
    assert len(roots) == int(np.prod([mesh[a] for a in (0, 1) if a not in axes]))
    depth = sum((mesh[a] - 1).bit_length() for a in axes)
    assert max(map(len, plans)) == depth


@given(st.integers(0, 12), st.integers(1, 13))
def test_broadcasts_reach_all_through_a_binomial_tree(root, size):
    root %= size
    peers = [broadcast_peers(root, rank, size) for rank in range(size)]
    reached, todo = {root: 0}, [root]
    while todo:
        rank = todo.pop()
        for child in peers[rank][1]:
            assert child not in reached
            assert peers[child][0] == rank
            reached[child] = reached[rank] + 1
            todo.append(child)
    assert sorted(reached) == list(range(size))
    assert peers[root][0] is None
    assert max(reached.values()) <= (size - 1).bit_length()
    assert len(peers[root][1]) == (size - 1).bit_length()


@pytest.mark.parametrize("size", [1000, 1024])
def test_broadcasts_over_many_ranks_are_shallow(size):
    for rank in (0, 1, 511, size - 1):
        steps, parent = 0, rank
        while parent is not None:
            parent, steps = broadcast_peers(0, parent, size)[0], steps + 1
        assert steps - 1 <= 10
        assert len(broadcast_peers(0, rank, size)[1]) <= 10


def test_states_travel_as_bytes():
    space = new_layout((8, 3), 8, 2, split=0, chunks=(1, -1))
    group = group_of(space, (0,), SUM)
    x = np.arange(24.0).reshape(8, 3)
    here = []
    for rank in range(2):
        raw = {
            ((0, 4 * rank + k), (0, 0)): [(x[4 * rank + k : 4 * rank + k + 1],)] for k in range(4)
        }
        here.append(merge(raw, group.order, group.blocks, group.reductions, np))
    (up,), (down,) = hops(space, group, 1), hops(space, group, 0)
    assert (up.sends, down.sends, up.nbytes) == (True, False, 24)
    buffer = PackStates(up.keys)(numpy_backend(0), here[1])
    found = MergeHop(group, down.keys, down.shapes)(numpy_backend(0), here[0], buffer)
    ((state,),) = found.values()
    assert np.array_equal(state[0], x.sum(axis=0, keepdims=True))
