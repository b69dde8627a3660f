from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.placement import assign, depths


@st.composite
def graphs(draw):
    count = draw(st.integers(0, 30))
    reads = [
        draw(st.lists(st.integers(0, task - 1), max_size=4, unique=True)) if task else []
        for task in range(count)
    ]
    return reads, draw(st.lists(st.none() | st.integers(0, 2), min_size=count, max_size=count))


@given(graphs(), st.integers(3, 9))
def test_every_task_gets_a_rank_and_pins_are_kept(graph, size):
    reads, pinned = graph
    owners = assign(reads, pinned, size)
    assert all(0 <= owner < size for owner in owners)
    assert all(pin in (None, owner) for pin, owner in zip(pinned, owners, strict=True))
    assert owners == assign(reads, pinned, size)


@given(graphs(), st.integers(2, 7))
def test_the_tasks_of_a_depth_are_balanced(graph, size):
    reads, _ = graph
    owners = assign(reads, [None] * len(reads), size)
    depth = depths(reads)
    width = Counter(depth)
    for (level, _), count in Counter(zip(depth, owners, strict=True)).items():
        assert count <= max(-(-width[level] // size), 1.25 * width[level] / size)


def test_chains_stay_on_their_ranks():
    reads = [(), (), (), ()] + [(task,) for task in range(40)]
    owners = assign(reads, [None] * 44, 4)
    assert owners == [0, 1, 2, 3] * 11


def test_a_tree_sends_one_value_per_rank_and_level():
    reads: list = [()] * 16
    level = list(range(16))
    while len(level) > 1:
        pairs = list(zip(level[::2], level[1::2], strict=True))
        level = list(range(len(reads), len(reads) + len(pairs)))
        reads += pairs
    owners = assign(reads, [None] * len(reads), 4)
    sent = [(i, t) for t, read in enumerate(reads) for i in read if owners[i] != owners[t]]
    assert len(sent) == 3


@pytest.mark.parametrize("size", [2, 3, 8])
def test_one_source_feeds_all_ranks(size):
    owners = assign([(), *[(0,)] * 64], [None] * 65, size)
    counts = Counter(owners)
    assert set(counts) == set(range(size))
    assert max(counts.values()) <= 1.25 * 64 / size + 1
