"""Scanners: blocks in parts, with the same bits whether a carry is known before or after."""

from __future__ import annotations

import numpy as np
import pytest

from taskarr.backend import Backend, Pool
from taskarr.kernel.functions import named
from taskarr.kernel.hazards import SAFE, Risk, risk_of, spoils
from taskarr.kernel.scan import TILE, WIDE, Accumulation, Scanner, tiles

SHAPES = ((1, 150_000, 1), (3, 40_000, 2), (200, 50, 1), (2, 300, 700), (1, 7, 5000), (1, 1, 1))


def scanner(name, dtype="d", joins=True):
    what = Accumulation(name, named(name), np.dtype(dtype), joins)
    return Scanner(what, Backend(np, Pool(0)), 0)


def numbers(shape, dtype="d"):
    rng = np.random.default_rng(1)
    found = rng.normal(1, 1e-3, shape)
    return (found + 1e-3j if np.dtype(dtype).kind == "c" else found).astype(dtype)


@pytest.mark.parametrize("joins", (True, False))
@pytest.mark.parametrize("shape", SHAPES)
def test_tiles_cover_a_block_in_order(shape, joins):
    seen, last = np.zeros(shape, np.int8), {}
    for tile in tiles(shape, joins):
        seen[tile] += 1
        lead, rows, inner = tile
        place = (lead.start, inner.start)
        assert rows.start == last.get(place, 0)
        last[place] = rows.stop
        assert seen[tile].size <= TILE or not joins or shape[2] >= WIDE
        assert joins or rows == slice(0, shape[1])
    assert (seen == 1).all()
    assert all(stop == shape[1] for stop in last.values())


@pytest.mark.parametrize("dtype", ("d", "D"))
@pytest.mark.parametrize("name", ("add", "multiply"))
@pytest.mark.parametrize("shape", SHAPES)
def test_a_carry_may_come_later(shape, name, dtype):
    x = numbers(shape, dtype)
    blocks = [x[:, : shape[1] // 2 + 1], x[:, shape[1] // 2 + 1 :]]
    blocks = [np.ascontiguousarray(b) for b in blocks if b.size]
    work, carry, first, totals = scanner(name, dtype), None, [], []
    for block in blocks:
        y = np.empty_like(block)
        carry = work.through(block, y, carry)
        first.append(y)
        totals.append(carry)
    want = getattr(np, name).accumulate(x, axis=1)
    np.testing.assert_allclose(np.concatenate(first, axis=1), want, rtol=1e-10)
    for block, y, before, total in zip(blocks[1:], first[1:], totals, totals[1:], strict=False):
        again = np.empty_like(block)
        risks = work.alone(block, again)
        assert work.total(block, again, before, risks).tobytes() == total.tobytes()
        assert work.join(block, again, before, risks).tobytes() == total.tobytes()
        assert again.tobytes() == y.tobytes()


def test_the_first_part_is_numpys():
    x = numbers((1, TILE + 5, 1))
    y = np.empty_like(x)
    scanner("add").through(x, y, None)
    want = x.cumsum(axis=1)
    assert y[:, :TILE].tobytes() == want[:, :TILE].tobytes()
    np.testing.assert_array_equal(y[0, TILE:, 0], want[0, TILE - 1, 0] + x[0, TILE:, 0].cumsum())


def test_elements_are_converted_part_by_part():
    for shape in ((1, 100, 3), (2, 4, 600)):
        x = (numbers(shape) * 90).astype("i1")
        y = np.empty(shape, np.int64)
        scanner("add", "i8").through(x, y, None)
        np.testing.assert_array_equal(y, x.cumsum(axis=1))


@pytest.mark.parametrize("shape", ((2, 90_000, 2), (2, 30, 600)))
def test_what_does_not_join_is_one_part(shape):
    x = numbers(shape)
    y = np.empty_like(x)
    scanner("subtract", joins=False).through(x, y, None)
    np.testing.assert_array_equal(y, np.subtract.accumulate(x, axis=1))


def part(*values):
    return np.array(values, "d").reshape(1, -1, 1)


@pytest.mark.parametrize(
    ("name", "x", "risk"),
    [
        ("add", (1, 2), SAFE),
        ("add", (1e308, 1e308), Risk(False, True)),
        ("add", (np.nan, 1), Risk(False, True)),
        ("multiply", (1, 2), SAFE),
        ("multiply", (1, 0, 2), SAFE),
        ("multiply", (1e200, 1e200), Risk(False, True)),
        ("multiply", (1e-200, 1e-200), Risk(True, False)),
        ("multiply", (1e-200, 1e-110, 1e200), Risk(True, False)),
        ("multiply", (1e-200, 1e-200, 0), Risk(True, False)),
        ("multiply", (1e-200, 1e-200, 0, np.inf), Risk(True, True)),
    ],
)
def test_risks(name, x, risk):
    with np.errstate(all="ignore"):
        y = getattr(np, name).accumulate(part(*x), axis=1)
        assert risk_of(name, np, part(*x), y) == risk


@pytest.mark.parametrize(
    ("name", "before", "risk", "spoilt"),
    [
        ("add", 1.0, SAFE, False),
        ("add", 1.0, Risk(False, True), True),
        ("add", np.inf, Risk(False, True), True),
        ("add", np.nan, Risk(False, True), False),
        ("multiply", 0.0, Risk(False, True), True),
        ("multiply", 0.0, Risk(True, False), False),
        ("multiply", np.inf, Risk(False, True), False),
        ("multiply", np.inf, Risk(True, False), True),
        ("multiply", 2.0, Risk(True, False), True),
        ("multiply", np.nan, Risk(True, True), False),
    ],
)
def test_what_is_spoilt_depends_on_the_value_before(name, before, risk, spoilt):
    assert spoils(name, np, part(before), risk) is spoilt
