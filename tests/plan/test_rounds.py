"""Rounds of a scatter: all is taken once, in order, and never more than fits."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from taskarr.plan.rounds import BINS, bin_edges, schedule


@given(
    st.integers(1, 5).flatmap(
        lambda ranks: st.tuples(
            st.lists(
                st.lists(st.integers(0, 9), min_size=ranks, max_size=ranks), min_size=1, max_size=6
            ),
            st.integers(0, ranks - 1),
        )
    ),
    st.integers(1, 12),
)
def test_all_is_taken_in_order_and_fits(case, most):
    spans, own = case
    counts = np.array(spans, np.int64).T
    takes = schedule(counts, own, most)
    assert takes.sum(axis=0).tolist() == counts.sum(axis=1).tolist()
    others = takes.sum(axis=1) - takes[:, own]
    assert (others <= most).all()
    assert (takes.sum(axis=1) > 0).all()
    # what each span has from one rank is there before what a later rank has for it
    ends = takes.cumsum(axis=0)
    spans_end = counts.cumsum(axis=1)
    for span in range(counts.shape[1]):
        done = [
            int(np.searchsorted(ends[:, r], spans_end[r, span])) if counts[r, span] else -1
            for r in range(len(counts))
        ]
        begun = [
            int(np.searchsorted(ends[:, r], spans_end[r, span] - counts[r, span], "right"))
            for r in range(len(counts))
        ]
        for first in range(len(counts)):
            for later in range(first + 1, len(counts)):
                if counts[first, span] and counts[later, span]:
                    assert done[first] <= begun[later]


def test_what_fits_is_one_round():
    assert schedule(np.ones((3, 4), np.int64), 1, 8).tolist() == [[4, 4, 4]]


def test_nothing_is_no_round():
    assert schedule(np.zeros((3, 4), np.int64), 1, 8).shape == (0, 3)


def test_edges_of_spans_lie_within_each_owner():
    edges = bin_edges(np.array([0, 1000, 1000, 1007]))
    assert edges.shape == (3, BINS + 1)
    assert edges[:, 0].tolist() == [0, 1000, 1000]
    assert edges[:, -1].tolist() == [1000, 1000, 1007]
    assert (np.diff(edges, axis=1) >= 0).all()
