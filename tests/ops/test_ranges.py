"""Ranges: by a step, between two ends, of datetimes; errors."""

from __future__ import annotations

from datetime import date, datetime, timedelta

import numpy as np
import pytest

import taskarr
from taskarr.kernel.tiles import TILE
from tests.layouts import CUT, RANKS, on_ranks
from tests.oracle import Check, verify

DATE, SPAN = np.datetime64, np.timedelta64

RANGES = [
    (5,),
    (0,),
    (-3,),
    (2, 9),
    (9, 2),
    (2, 9, 3),
    (9, 2, -2),
    (2, 9, -1),
    (0, 1, 0.1),
    (1, 2, 0.25),
    (5.0,),
    (0.5, 4.5),
    (-1, 1, 0.5),
    (10, 0, -2.5),
    (0, 10**12, 10**11),
    (np.int8(3),),
    (np.float32(3),),
    (0, 1, 1 / 3),
    (2**62, 2**62 + 3),
    (True,),
    (3, 3.2, 0.1),
    (1, 1.3, 0.1),
]


def test_ranges():
    checks = [Check(f"arange{b}", lambda xp, b: xp.arange(*b), fixed=(b,)) for b in RANGES]
    checks += [
        Check(f"arange{b} {t}", lambda xp, b, t: xp.arange(*b, dtype=t), fixed=(b, t))
        for b in ((5,), (2, 9, 3), (9, 2, -2))
        for t in ("i1", "u2", "f4", "f2", "f8", "c8", "M8[D]", "m8[s]")
    ]
    verify(checks)


def test_ranges_are_made_in_place():
    def job(world):
        a = taskarr.arange(1000)
        b = a[::-3] * 2
        before = world.counters["alltoallv_bytes"] + world.counters["send_bytes"]
        b.persist()
        after = world.counters["alltoallv_bytes"] + world.counters["send_bytes"]
        assert before == after
        return b.numpy()

    for n in RANKS:
        np.testing.assert_array_equal(on_ranks(n, job).value, np.arange(1000)[::-3] * 2)


OF_TIMES = [
    ((DATE("2000-01-01"), DATE("2000-01-05")), {}),
    ((DATE("2000-01-01"), 5), {}),
    ((DATE("2000-01-01"), SPAN(5, "D")), {}),
    ((DATE("2000-01"), SPAN(65, "D")), {"dtype": "M8[D]"}),
    (("2005-02", "2005-03"), {"dtype": "M8[D]"}),
    (("2005-02", "2005-03", 3), {"dtype": "M8[D]"}),
    (("2000", "2003"), {"dtype": "M8"}),
    ((DATE("2000-01-01"), DATE("2000-01-05"), SPAN(36, "h")), {}),
    ((DATE("2000-01-01"), DATE("2000-02-05"), SPAN(1, "W")), {}),
    ((DATE("2000-01-05"), DATE("2000-01-01"), -1), {}),
    ((SPAN(5, "D"),), {}),
    ((SPAN(5, "D"), SPAN(300, "h"), SPAN(7, "h")), {}),
    ((1, SPAN(5, "s")), {}),
    ((5,), {"dtype": "m8[s]"}),
    ((5, 9, 2), {"dtype": "M8[s]"}),
    ((3,), {"dtype": "m8"}),
    ((DATE("2000-01-01"), DATE("2000-01-05"), SPAN(1, "M")), {}),
    ((DATE("2000"),), {}),
    ((3,), {"dtype": "M8"}),
    ((DATE("NaT"), DATE("2000")), {}),
    ((DATE("2000"), DATE("2001"), 0), {}),
    ((DATE("2000"), DATE("2001"), 0.5), {}),
    ((2.5,), {"dtype": "m8[s]"}),
    ((SPAN(1, "D"), DATE("2000-01-05")), {}),
    ((0, 10, SPAN(3, "s")), {}),
    ((10,), {"step": SPAN(3, "s")}),
    ((date(2020, 1, 1), date(2020, 1, 4)), {}),
    ((date(2020, 1, 1), 3), {}),
    ((date(2020, 1, 1), DATE("2020-01-04"), timedelta(hours=30)), {}),
    ((datetime(2020, 1, 1), datetime(2020, 1, 4), timedelta(days=1)), {}),
    ((timedelta(days=1), timedelta(days=4), timedelta(days=1)), {}),
    ((date(2020, 1, 1),), {}),
]
OTHERS = [
    ((5,), {"dtype": complex}),
    ((0, 3 + 1j), {}),
    ((0, 3 + 7j, 1 + 1j), {}),
    ((1j, 5, 1 + 0.5j), {}),
    ((2,), {"dtype": bool}),
    ((1, 3), {"dtype": bool}),
    ((0, 1, 0.7), {"dtype": bool}),
    ((3,), {"dtype": bool}),
    ((True, False), {}),
    ((np.array(5),), {}),
    ((0, 2**63, 2**62), {}),
    ((0.5, 3), {"dtype": int}),
    ((), {"stop": 3}),
    ((2,), {"stop": 5, "step": 2}),
    ((), {"start": 2, "stop": 5}),
    ((2, None), {}),
    ((2, 5, None), {}),
    ((0, 5, 2, "f4"), {}),
    ((), {}),
    ((1, 2, 3, 4, 5), {}),
    ((1, 2), {"stop": 5}),
    ((0, 3, 0), {}),
    ((0, 1j, 0), {}),
    (("a",), {}),
    (([1, 2],), {}),
    ((0, np.inf), {}),
    ((0, np.nan), {}),
    ((3,), {"dtype": "U5"}),
    ((300,), {"dtype": "u1"}),
    ((254, 258), {"dtype": "u1"}),
    ((300, 302), {"dtype": "u1"}),
    ((300, 301), {"dtype": "i1"}),
    ((300, 300), {"dtype": "u1"}),
    ((-1, 2), {"dtype": "u1"}),
    ((-2.5, 2), {"dtype": "u1"}),
    ((1e10, 1e10 + 2), {"dtype": "i4"}),
    ((2, -1, -1), {"dtype": "u1"}),
    ((0, 600, 300), {"dtype": "u1"}),
    ((1e30,), {}),
    ((np.nan, 3), {}),
    ((0, 3, np.inf), {}),
    ((0, 3, -np.inf), {}),
    ((0, 3, np.nan), {}),
    ((3,), {"like": None}),
]


def test_other_ranges():
    checks = [
        Check(f"arange{b} {k}", lambda xp, b, k: xp.arange(*b, **k), fixed=(b, k))
        for b, k in OF_TIMES + OTHERS
    ]
    verify(checks)


@pytest.mark.processor("a block is one tile on a device")
def test_no_rank_makes_a_whole_range(monkeypatch):
    """Bounds of any kind go to the kernel as two numbers."""
    longest: list[int] = []
    arange = np.arange

    def watched(*args, **options):
        found = arange(*args, **options)
        longest.append(len(found))
        return found

    monkeypatch.setattr(np, "arange", watched)
    with taskarr.settings(block=64, replicate=False):
        for found in (
            taskarr.arange(200_000),
            taskarr.arange(200_000, dtype=complex),
            taskarr.arange(DATE("2000-01-01T00:00"), DATE("2000-06-01T00:00")),
            taskarr.linspace(0, 1, 200_000),
        ):
            found[9000:9004].numpy()
    assert max(longest) <= TILE


def test_a_range_up_to_a_distributed_value():
    x = np.arange(7)
    verify([Check("arange", lambda xp, a: xp.arange(a.sum(), step=a[2]), (x,))], placings=CUT[:1])


LINES = [
    ((0, 1), {}),
    ((0, 1, 7), {}),
    ((0, 1, 7, False), {}),
    ((0, 1, 0), {}),
    ((0, 1, 1), {}),
    ((0, 1, 1, False), {}),
    ((5, -3, 9), {}),
    ((0.1, 0.7, 33), {}),
    ((0, 10, 5), {"dtype": int}),
    ((0, -10, 7), {"dtype": int}),
    ((0, 1, 5), {"dtype": "f4"}),
    ((0, 1, 5), {"dtype": "c8"}),
    ((3, 9, 5), {"dtype": bool}),
    ((0, 1j, 5), {}),
    ((np.float32(0), np.float32(1), 5), {}),
    ((0, np.float32(1), 11), {}),
    ((np.float16(0), np.float16(1), 11), {}),
    ((2, 2, 4), {}),
    ((-0.0, 0.0, 4), {}),
    ((0, 5e-324, 5), {}),
    ((2**60, 2**61, 5), {"dtype": int}),
    ((0, 1, np.int8(5)), {}),
    ((0, 1, -1), {}),
    ((0, 1, 2.5), {}),
    ((0, 1, 5), {"axis": 1}),
    (("a", 1, 5), {}),
    ((DATE("2000"), DATE("2001"), 3), {}),
]
ENDS = [
    (np.array([0, 1]), np.array([5, 7]), 6, 0),
    (np.array([0, 1]), np.array(7.5), 6, -1),
    (np.array([[0.0, 1], [2, 2]]), np.array([1, 2]), 5, 1),
    (np.array([0, 1]), np.array([5, 1]), 6, 0),
    (np.arange(7.0), np.arange(7.0) * 3 + 1, 4, 0),
]


def test_lines_have_numpys_bits():
    checks = [
        Check(f"linspace{b} {k}", lambda xp, b, k: xp.linspace(*b, **k), fixed=(b, k))
        for b, k in LINES
    ]
    checks += [
        Check(
            f"linspace of arrays {n}",
            lambda xp, start, stop, n, axis: xp.linspace(start, stop, n, axis=axis),
            (start, stop),
            fixed=(n, axis),
        )
        for start, stop, n, axis in ENDS
    ]
    checks += [
        Check(
            f"linspace of lists {n}",
            lambda xp, start, stop, n, axis: xp.linspace(start, stop, n, axis=axis),
            fixed=(start, stop, n, axis),
        )
        for start, stop, n, axis in ENDS
    ]
    verify(checks, ranks=(1, 2, 5))


def test_the_step_of_a_line():
    def job(world):
        a, step = taskarr.linspace(0, 1, 7, retstep=True)
        b, steps = taskarr.linspace(taskarr.arange(3.0), [4, 5, 7], 5, retstep=True)
        c, other = taskarr.linspace([0, 0], [1, 2], 4, False, True)
        none = taskarr.linspace(0, 1, 1, retstep=True)[1]
        assert np.isnan(none)
        return a.numpy(), step, b.numpy(), steps.numpy(), c.numpy(), other.numpy()

    expected = (
        *np.linspace(0, 1, 7, retstep=True),
        *np.linspace(np.arange(3.0), [4, 5, 7], 5, retstep=True),
        *np.linspace([0, 0], [1, 2], 4, False, True),
    )
    for n in RANKS:
        for found, wanted in zip(on_ranks(n, job).value, expected, strict=True):
            assert type(found) is type(wanted)
            np.testing.assert_array_equal(found, wanted)


LOGS = [
    ((0, 3), {}),
    ((0, 3, 4), {}),
    ((0, 3, 4, False), {}),
    ((0, 3, 4), {"base": 2}),
    ((0, 3, 4), {"base": np.array([2.0, 3])}),
    ((0, 3, 4), {"base": np.array([2.0, 3]), "axis": -1}),
    ((np.array([0, 1]), 3, 4), {"base": 2}),
    ((0, 3, 4), {"dtype": int}),
    ((0, 1j, 4), {}),
    ((0, 3, 0), {}),
]
GEOMETRIC = [
    ((1, 1000), {}),
    ((1, 1000, 4, False), {}),
    ((1000, 1, 4), {}),
    ((-1, -1000, 4), {}),
    ((1j, 1000j, 4), {}),
    ((-1, 1, 5), {"dtype": complex}),
    ((1, 256, 9), {"dtype": int}),
    ((np.array([1, 2]), np.array([100, 300]), 5), {}),
    ((np.array([1, 2]), np.array([100, 300]), 5), {"axis": -1}),
    ((1, 5, 0), {}),
    ((1, 5, 1), {}),
    ((0, 3), {}),
    ((1, 3, -1), {}),
]


def test_logarithmic_ranges():
    checks = [
        Check(f"logspace{b} {k}", lambda xp, b, k: xp.logspace(*b, **k), (), False, (b, k))
        for b, k in LOGS
    ]
    checks += [
        Check(f"geomspace{b} {k}", lambda xp, b, k: xp.geomspace(*b, **k), (), False, (b, k))
        for b, k in GEOMETRIC
    ]
    x = np.arange(1, 8.0)
    checks += [
        Check("logspace of arrays", lambda xp, a: xp.logspace(a, 8, 5), (x,), False),
        Check("bases", lambda xp, a: xp.logspace(0, 2, 5, base=a), (x,), False),
        Check("geomspace of arrays", lambda xp, a: xp.geomspace(a, a * 9, 5, axis=1), (x,), False),
    ]
    verify(checks, ranks=(1, 2, 5))


@pytest.mark.parametrize("name", ["linspace", "logspace", "geomspace"])
def test_layouts(name):
    def job(world):
        a = getattr(taskarr, name)(1, 2, 9, split=0, chunks=2)
        assert a.chunks == ((2, 2, 2, 2, 1),)
        b = getattr(taskarr, name)([1, 2], 5, 9, axis=1, split=1)
        assert b.split == (1,)
        assert not getattr(taskarr, name)(1, 2, 9, split=None).split

    for n in (1, 3):
        on_ranks(n, job)


def test_a_range_from_none_is_refused():
    for xp in (np, taskarr):
        for bounds in ((None, 5), (None, 5, 1), (None,)):
            with pytest.raises(TypeError):
                xp.arange(*bounds)
