"""Redistribution: the same elements in any other layout, and nothing that need not move."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import taskarr
from scheduler.shuffle import TRANSPORTS
from tests.device.install import DEVICE
from tests.layouts import LAYOUTS, RANKS, on_ranks
from tests.oracle import Check, verify

TARGETS = (
    {"split": 0},
    {"split": 1},
    {"split": (0, 1)},
    {"split": None},
    {"split": "auto"},
    {"split": 0, "chunks": ((2, 2, 3), (5,))},
    {"split": 1, "chunks": (3, 2)},
    {"split": (1, 0), "chunks": 2},
    {"split": -1},
    {"split": 0, "mesh": (1,)},
)


def numbers(shape=(7, 5), dtype="f8"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def moved(*targets):
    """Function that lays an array out in one way after the other."""

    def act(xp, a):
        for target in targets:
            a = a.copy() if xp is np else a.redistribute(**target)
        return a

    return act


@pytest.mark.parametrize("layout", LAYOUTS[:6], ids=str)
def test_every_pair_of_layouts(layout):
    shape = layout.shape
    targets = TARGETS if shape == (7, 5) else TARGETS[:5]
    checks = [Check(f"to {target}", moved(target), (numbers(shape),)) for target in targets]
    verify(checks, placings=[layout])


def test_several_moves_in_a_row():
    checks = [
        Check(f"{a} {b}", moved(a, b), (numbers(dtype="c16"),))
        for a, b in permutations(TARGETS[:5], 2)
    ]
    verify(checks, ranks=(1, 3, 5))


@pytest.mark.parametrize("dtype", ["?", "u1", "f2", "i8", "M8[s]", "S3", "U2"])
def test_every_dtype(dtype):
    x = numbers().astype("i8").astype(dtype)
    verify([Check("to columns", moved({"split": 1}), (x,))], ranks=(2, 3))


def test_structures():
    x = np.zeros(9, [("a", "i1"), ("b", "f8", (2,))])
    x["a"] = range(9)
    checks = [Check("chunks", moved({"split": 0, "chunks": ((8, 1),)}), (x,))]
    verify(checks, ranks=(2, 3, 5), flow=False)


def test_views_and_expressions():
    acts = {
        "view": lambda a: a[::-2, 1:].T,
        "broadcast": lambda a: a[:, :1] + a[0],
        "reduction": lambda a: a.sum(axis=0),
        "filtered": lambda a: a[a > 10],
        "three axes": lambda a: a[:, None] * a[:2, :, None][:1],
    }

    def act(f):
        return lambda xp, a: f(a) * 1 if xp is np else f(a).redistribute(split=0) * 1

    checks = [Check(name, act(f), (numbers(),)) for name, f in acts.items() if name != "three axes"]
    verify(checks, placings=LAYOUTS[:5])


def test_three_axes():
    x = numbers((4, 3, 5))
    targets = ({"split": 2}, {"split": (0, 2)}, {"split": (0, 1, 2)}, {"split": 1}, {"split": None})
    checks = [Check(f"{a} {b}", moved(a, b), (x,)) for a, b in permutations(targets, 2)]
    verify(checks, ranks=(1, 3, 7))


def test_empty_arrays():
    checks = [
        Check(f"{shape} {target}", moved(target), (np.zeros(shape),))
        for shape in ((0, 5), (5, 0), (0, 0))
        for target in TARGETS[:5]
    ]
    verify(checks, flow=False)


def test_layout_is_what_was_asked_for():
    def job(world):
        a = taskarr.asarray(numbers((12, 10)), split=0)
        b = a.redistribute(split=1, chunks=(12, 2)).persist()
        assert b.split == (1,)
        assert b.chunks == ((12,), (2, 2, 2, 2, 2))
        assert b.layout.mesh == (1, min(world.size, 5))
        c = b.redistribute(split=(0, 1), mesh=(world.size, 1))
        assert c.layout.mesh[0] == world.size
        assert a.redistribute(split=None).local.shape == (12, 10)
        assert a.split == (0,)

    for n in RANKS:
        on_ranks(n, job)


def moved_bytes(world):
    return world.counters["send_bytes"] + world.counters["alltoallv_bytes"]


def test_only_what_changes_owner_moves():
    def job(world):
        a = taskarr.asarray(numbers((12, 8)), split=0, chunks=(1, 8)).persist()
        before = moved_bytes(world)
        a.redistribute(split=0, chunks=(2, 8)).persist()
        same = moved_bytes(world) - before
        a.redistribute(split=1, chunks=(12, 1)).persist()
        return same, moved_bytes(world) - before - same

    for n in (2, 3, 6):
        found = on_ranks(n, job, alike=False).values
        if n != 6:  # 12 rows in blocks of 2 are cut at the same places
            assert sum(same for same, _ in found) <= 8 * 8 * n
        columns = [len(range(8 * k // n, 8 * (k + 1) // n)) for k in range(n)]
        apart = sum(12 // n * (8 - width) * 8 for width in columns)
        assert sum(turned for _, turned in found) == apart


@pytest.mark.parametrize("shuffle", ["auto", "alltoallv", "pairwise", "pull"])
def test_any_transport(monkeypatch, shuffle):
    monkeypatch.setattr("scheduler.shuffle.SHORTEST_RUN", 1)

    def job(world):
        a = taskarr.asarray(numbers((21, 20)), split=0)
        b = a.redistribute(split=1)
        return (b * 2).numpy(), b.T.redistribute(split=1).numpy()

    for n in RANKS:
        ran = on_ranks(n, job, shuffle=shuffle)
        np.testing.assert_array_equal(ran.value[0], numbers((21, 20)) * 2)
        np.testing.assert_array_equal(ran.value[1], numbers((21, 20)).T)
        wanted = "alltoallv" if shuffle == "auto" else shuffle
        if DEVICE != "cpu" and shuffle == "pull":
            wanted = "pairwise"  # other ranks can't read a device's memory
        used = {t for t in TRANSPORTS if ran.total(t)}
        assert used == ({wanted} if n > 1 else set())
