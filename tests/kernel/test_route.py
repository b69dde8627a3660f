"""Rows by address: order, names, and where they go."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taskarr.kernel import route
from taskarr.kernel.route import (
    Target,
    as_rows,
    entries_of,
    far_from,
    heads_of,
    last_of_each,
    near_of,
    row_dtype,
    take,
    tiles,
    wanted_of,
)

ADDRESSES = st.lists(st.integers(0, 12), max_size=40).map(lambda x: np.array(x, np.int64))
WIDE = 1 << 62
"""An address that leaves no room for positions beside it."""


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(route, "TILE", 4)


@pytest.mark.parametrize("most", [12, WIDE])
@given(ADDRESSES)
def test_entries_are_by_address_then_position(most, addresses):
    entries = entries_of(addresses, None, len(addresses), most)
    every = slice(None)
    order = np.argsort(addresses, kind="stable")
    assert entries.positions(every).tolist() == order.tolist()
    assert entries.addresses(every).tolist() == addresses[order].tolist()
    assert (entries.bits == 0) == (most == WIDE)


@pytest.mark.parametrize("most", [12, WIDE])
@given(ADDRESSES)
def test_heads_and_last_ones(most, addresses):
    entries = entries_of(addresses, None, len(addresses), most)
    unique, first = np.unique(np.sort(addresses), return_index=True)
    assert heads_of(entries).tolist() == first.tolist()
    last = last_of_each(entries)
    if last is None:
        assert len(unique) == len(addresses)
        return
    expected = [int(np.flatnonzero(addresses == u)[-1]) for u in unique]
    assert entries.positions(last).tolist() == expected


@given(ADDRESSES, st.data())
def test_who_asks_for_a_span_of_rows(addresses, data):
    wanted = wanted_of(entries_of(addresses, None, len(addresses), 12))
    assert wanted.rows.tolist() == np.unique(addresses).tolist()
    if not len(addresses):
        return
    first = data.draw(st.integers(0, len(wanted.rows) - 1))
    last = data.draw(st.integers(first + 1, len(wanted.rows)))
    positions, rows = wanted.asking(first, last)
    inside = np.isin(addresses, wanted.rows[first:last])
    assert sorted(positions.tolist()) == np.flatnonzero(inside).tolist()
    assert wanted.rows[rows].tolist() == addresses[positions].tolist()


@given(ADDRESSES, st.integers(0, 12), st.integers(0, 12))
def test_near_and_far_are_all(addresses, a, b):
    owned = (min(a, b), max(a, b))
    far = far_from(addresses, owned)
    near = list(near_of(addresses, owned))
    positions = [p for ps, _ in near for p in ps.tolist()]
    assert sorted([*far.tolist(), *positions]) == list(range(len(addresses)))
    numbers = [n for _, ns in near for n in ns.tolist()]
    assert numbers == [int(addresses[p]) - owned[0] for p in positions]
    assert all(0 <= n < owned[1] - owned[0] for n in numbers)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8, 12, 16, 64])
def test_rows_are_elements_of_their_bytes(size):
    data = np.arange(5 * size, dtype="u1").reshape(5, size)
    rows = as_rows(data, size)
    assert rows.shape == (5,)
    assert rows.dtype == row_dtype(size) and rows.itemsize == size
    assert np.shares_memory(rows, data)
    out = np.empty(3, rows.dtype)
    take(rows, np.array([4, 0, 4]), out)
    assert out.tobytes() == data[[4, 0, 4]].tobytes()


def test_tiles_cover_a_span():
    assert list(tiles(3, 10, 4)) == [(3, 7), (7, 10)]
    assert list(tiles(3, 3, 4)) == []


@pytest.mark.parametrize("rest", [(), (3,)])
def test_values_are_written_or_combined(rest):
    rng = np.random.default_rng(1)
    x, v = rng.random((6, *rest)), rng.random((4, *rest))
    numbers = np.array([5, 0, 2, 1])
    brick = x.copy()
    Target(brick, rest, None, v.dtype).write(numbers, v)
    expected = x.copy()
    expected[numbers] = v
    assert brick.tobytes() == expected.tobytes()
    twice = np.array([2, 2, 0, 2])
    Target(brick, rest, np.add, v.dtype).write(twice, v)
    np.add.at(expected, twice, v)
    assert brick.tobytes() == expected.tobytes()
    Target(brick, rest, np.add, v.dtype).write(twice, v[:1])
    np.add.at(expected, twice, v[:1])
    assert brick.tobytes() == expected.tobytes()
    Target(brick, rest, np.negative, v.dtype).write(twice, None)
    np.negative.at(expected, twice)
    assert brick.tobytes() == expected.tobytes()
