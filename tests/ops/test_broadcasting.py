"""Broadcasting between distributed arrays of any layouts, hosts' arrays and scalars."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import taskarr
from tests.layouts import LAYOUTS, Placing, on_ranks
from tests.oracle import Check, verify

SHAPES = [
    ((7, 5), (7, 5)),
    ((7, 5), (5,)),
    ((7, 5), (7, 1)),
    ((7, 5), (1, 5)),
    ((7, 5), (1, 1)),
    ((7, 5), ()),
    ((7, 1), (1, 5)),
    ((7, 1), (5,)),
    ((1,), (7,)),
    ((3, 1, 5), (7, 1)),
    ((2, 3, 4), (3, 4)),
    ((2, 3, 4), (2, 1, 4)),
    ((1, 3, 1), (2, 1, 4)),
    ((0, 5), (5,)),
    ((0, 5), (1, 5)),
    ((7, 0), (7, 1)),
    ((1, 0), (7, 1)),
    ((7, 5), (0, 5)),
    ((7, 5), (4, 5)),
    ((7, 5), (7,)),
]
OTHER = (Placing("split 0"), Placing("split 1", split=1), Placing("replicated", split=None))


def numbers(shape: tuple[int, ...], start: int = 1) -> np.ndarray:
    return np.arange(start, start + np.prod(shape, dtype=int)).reshape(shape) / 2


def mixed(placing: Placing):
    """Function that lays out its second operand in another way than the first."""

    def act(xp, a, b):
        if xp is taskarr:
            b = placing.place(b)
        return a - b, b - a, b * b + a

    return act


@pytest.mark.parametrize("layout", LAYOUTS[:5], ids=str)
def test_shapes_and_layouts(layout):
    def part(k, act):
        return lambda xp, a, b: act(xp, a, b)[k]

    checks = [
        Check(f"{a} {b} {other}", part(k % 3, mixed(other)), (numbers(a),), fixed=(numbers(b, 3),))
        for k, ((a, b), other) in enumerate(product(SHAPES, OTHER))
    ]
    verify(checks, placings=[layout])


def test_operands_of_the_host():
    a = numbers((7, 5))
    operands = (
        np.arange(5),
        np.arange(7)[:, None],
        np.float32(3),
        np.array(3),
        [1, 2, 3, 4, 5],
        (1, 2, 3, 4, 5),
        range(5),
        np.ones((7, 5), order="F"),
        np.arange(10)[::-2],
        np.broadcast_to(np.float64(2), (7, 5)),
        np.ones((2, 7, 5)),
    )
    checks = []
    for host in operands:
        checks.append(Check(f"a + {host!r}", lambda xp, a, h: a + h, (a,), fixed=(host,)))
        checks.append(Check(f"{host!r} - a", lambda xp, a, h: h - a, (a,), fixed=(host,)))
        checks.append(Check(f"{host!r} < a", lambda xp, a, h: h < a, (a,), fixed=(host,)))
    verify(checks, ranks=(1, 3), placings=LAYOUTS[:5])


def test_host_operands_are_copied_when_given():
    def job(world):
        host = np.ones(7)
        total = taskarr.asarray(np.arange(7.0)) + host
        host[:] = 100
        return total.numpy()

    for n in (1, 3):
        np.testing.assert_array_equal(on_ranks(n, job).value, np.arange(7.0) + 1)


def test_a_small_operand_broadcast_to_a_large_result():
    """Neither operand is cut, the result is."""

    def job(world):
        wide = taskarr.asarray(np.arange(64.0), split=None)[:, None] + np.arange(64.0)
        return wide.sum(axis=0).numpy(), len(wide.chunks[0])

    with np.errstate(all="ignore"):
        expected = (np.arange(64.0)[:, None] + np.arange(64.0)).sum(axis=0)
    for n in (1, 2, 3):
        np.testing.assert_array_equal(on_ranks(n, job).value[0], expected)


def test_result_inherits_the_layout_of_the_largest_operand():
    def job(world):
        tall = taskarr.ones((12, 3), split=0)
        row = taskarr.ones(3, split=0)
        wide = taskarr.ones((12, 3), split=1)
        assert (tall + row).layout == (row + tall).layout == tall.layout
        assert (tall + wide).layout == tall.layout
        assert (wide + tall).layout == wide.layout
        assert (tall + np.ones((12, 3))).layout == tall.layout
        assert (taskarr.asarray(np.ones((12, 3)), split=None) + tall).layout == tall.layout

    for n in (2, 3):
        on_ranks(n, job)


def test_neighbours_exchange_their_edges_only():
    """``u[1:] + u[:-1]`` moves one row of 64 bytes from each owner to the one before it."""

    def job(world):
        u = taskarr.asarray(np.arange(96.0).reshape(12, 8), split=0, chunks=(1, 8)).persist()
        before = world.counters.copy()
        v = (u[1:] + u[:-1]).persist()
        sent = world.counters - before
        return sent["send_bytes"] + sent["alltoallv_bytes"], v.local.shape

    for n in (2, 3, 5, 7):
        found = on_ranks(n, job, alike=False).values
        assert sum(nbytes for nbytes, _ in found) == 64 * (n - 1)
        assert sum(shape[0] for _, shape in found) == 11
