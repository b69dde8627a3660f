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
    last_entries,
    last_of_each,
    near_of,
    numbered,
    room_beside,
    row_dtype,
    spanning,
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


@given(ADDRESSES)
def test_numbers_by_a_table(addresses):
    found = numbered(addresses)
    if found is None:
        assert not len(addresses) or np.ptp(addresses) >= 4 * len(addresses)
        return
    rows, numbers = found
    assert rows.tolist() == np.unique(addresses).tolist()
    assert rows[numbers].tolist() == addresses.tolist()
    wanted = wanted_of(entries_of(addresses, None, len(addresses), 12))
    assert wanted.numbers().tolist() == numbers.tolist()


@given(ADDRESSES, st.booleans())
def test_last_entries_by_a_table(addresses, shifted):
    positions = np.arange(len(addresses)) * 3 + 1 if shifted else None
    found = last_entries(addresses, positions)
    if found is None:
        return
    every = slice(None)
    last = [int(np.flatnonzero(addresses == a)[-1]) for a in np.unique(addresses)]
    assert found.addresses(every).tolist() == np.unique(addresses).tolist()
    assert found.positions(every).tolist() == [3 * k + 1 if shifted else k for k in last]


@pytest.mark.parametrize("addresses", [[], [0, 1 << 40], [5, 5, 70]])
def test_tables_are_for_what_is_dense(addresses):
    addresses = np.array(addresses, np.int64)
    assert numbered(addresses) is None
    assert last_entries(addresses, None) is None


@pytest.mark.parametrize("row_bytes", [1, 4, 8, 12, 16, 24])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_one_array_over_two_reads_both(row_bytes, order):
    memory = np.random.default_rng(1).integers(0, 255, 3 * 4096).astype("u1")
    first, second, third = (memory[4096 * k + 8 * k : 4096 * k + 2048] for k in order)
    near = as_rows(first[: 7 * row_bytes], row_bytes)
    kept = room_beside(near, second[: 6 * row_bytes], row_bytes)
    assert len(kept) == 5
    out = as_rows(third[: 12 * row_bytes], row_bytes)
    expected = np.concatenate((near, kept)).tobytes()
    both = spanning(near, kept, out)
    assert both.clear == (order[2] != 1)
    both.take(np.concatenate((np.arange(7) + both.near, np.arange(5) + both.kept)), out)
    assert out.tobytes() == expected


@pytest.mark.parametrize("row_bytes", [32, 64, 96])
@pytest.mark.parametrize("rows", ["near", "random", "descending", "out of range", "none"])
def test_rows_are_taken_by_number(row_bytes, rows):
    random = np.random.default_rng(5)
    count = 300
    source = random.integers(0, 255, count * row_bytes, np.uint8).reshape(count, row_bytes)
    numbers = random.integers(0, count, 2 * count)
    if rows == "near":
        numbers = np.sort(numbers)
    elif rows == "descending":
        numbers = np.sort(numbers)[::-1]
    elif rows == "out of range":
        numbers = np.arange(-5, count + 5)
    elif rows == "none":
        numbers = numbers[:0]
    out = np.zeros((len(numbers), row_bytes), np.uint8)
    take(as_rows(source, row_bytes), numbers, as_rows(out, row_bytes))
    here = (numbers >= 0) & (numbers < count)
    assert np.array_equal(out[here], source[numbers[here]])
