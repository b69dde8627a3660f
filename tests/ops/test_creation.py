"""Creation: from NumPy data, from one value, from a range; layouts and bad arguments."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from tests.layouts import CUT, RANKS, on_ranks
from tests.oracle import Check, verify

DATA = [
    np.arange(35).reshape(7, 5),
    np.arange(35.0).reshape(7, 5).T,
    np.arange(24, dtype="f2").reshape(2, 3, 4)[:, ::-1],
    np.array(3),
    np.zeros((0, 3), "i1"),
    np.zeros((3, 0, 2)),
    np.array([True, False, True]),
    np.array(["a", "bcd", ""]),
    np.array([b"a", b"bcd", b""]),
    np.array(["2013-01-01", "NaT"], "M8[D]"),
    np.arange(5).astype(">i4"),
    np.array([(1, 2.5), (3, 4.5), (0, 0)], [("a", "i1"), ("b", "f8")]),
    np.arange(3) + 1j,
]
LISTS = [
    5,
    2.5,
    True,
    1j,
    "text",
    [1, 2, 3],
    [[1.5, 2], [3, 4]],
    [],
    [[], []],
    (1, 2),
    range(4),
    np.float32(2),
]


def test_data_come_back():
    verify(
        [Check(f"{x.dtype}{x.shape}", lambda xp, x: xp.asarray(x), fixed=(x,)) for x in DATA]
        + [Check(f"{x!r}", lambda xp, x: xp.asarray(x), fixed=(x,)) for x in LISTS]
        + [
            Check(f"{x!r} as {t}", lambda xp, x, t: xp.asarray(x, t), fixed=(x, t))
            for x in (5, [1, 2.5], [[True]], ["1", "2"])
            for t in ("f4", "i8", "c8", "U3", bool)
        ]
    )


def test_data_come_back_from_every_layout():
    checks = [Check(f"{x.dtype}{x.shape}", lambda xp, x: x * 1, (x,)) for x in DATA[:6]]
    checks += [Check(f"{x.dtype}{x.shape}", lambda xp, x: x.copy(), (x,)) for x in DATA]
    verify(checks, placings=CUT)


def test_constants():
    checks = []
    for shape in ((), 5, (7, 5), [2, 3], (0,), (3, 0), (2, 3, 4), np.int8(3), (np.int64(2), 1)):
        checks += [
            Check(f"zeros({shape})", lambda xp, s: xp.zeros(s), fixed=(shape,)),
            Check(f"ones({shape}, i2)", lambda xp, s: xp.ones(s, "i2"), fixed=(shape,)),
            Check(f"full({shape}, 3)", lambda xp, s: xp.full(s, 3), fixed=(shape,)),
            Check(f"full({shape}, 3, f4)", lambda xp, s: xp.full(s, 3, dtype="f4"), fixed=(shape,)),
        ]
    for value in (2.5, 1j, True, "text", b"text", np.float16(2), np.datetime64("2013-01-01"), -1):
        checks.append(Check(f"full(3, {value!r})", lambda xp, v: xp.full(3, v), fixed=(value,)))
    for dtype in ("?", "u1", "f2", "c8", "U3", "M8[s]"):
        checks.append(Check(f"zeros {dtype}", lambda xp, t: xp.zeros(3, t), fixed=(dtype,)))
    checks.append(Check("ones c8", lambda xp: xp.ones((2, 2), dtype=np.complex64)))
    verify(checks)


def test_like_another():
    a = np.arange(35, dtype="i2").reshape(7, 5)
    checks = []
    for name in ("zeros_like", "ones_like"):
        checks.append(Check(name, lambda xp, a, n=name: getattr(xp, n)(a), (a,)))
        checks.append(Check(f"{name} f4", lambda xp, a, n=name: getattr(xp, n)(a, "f4"), (a,)))
        checks.append(Check(f"{name} view", lambda xp, a, n=name: getattr(xp, n)(a[1::2, 0]), (a,)))
        checks.append(Check(f"{name} list", lambda xp, a, n=name: getattr(xp, n)([1, 2]), (a,)))
    checks.append(Check("full_like", lambda xp, a: xp.full_like(a, 3), (a,)))
    checks.append(Check("full_like 2.7", lambda xp, a: xp.full_like(a, 2.7), (a,)))
    checks.append(Check("full_like 1e9", lambda xp, a: xp.full_like(a, 10**9), (a,)))
    checks.append(Check("full_like f8", lambda xp, a: xp.full_like(a, 2.7, dtype="f8"), (a,)))
    verify(checks, placings=CUT)


def test_like_another_keeps_the_layout():
    def job(world):
        a = taskarr.zeros((7, 5), split=1)
        assert taskarr.ones_like(a).layout == a.layout
        assert taskarr.full_like(a, 2, split=0).split == (0,)

    for n in RANKS:
        on_ranks(n, job)


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


WRONG = {
    "negative shape": lambda xp: xp.zeros(-1),
    "negative in shape": lambda xp: xp.zeros((3, -2)),
    "fraction in shape": lambda xp: xp.zeros(2.5),
    "text in shape": lambda xp: xp.ones("ab"),
    "no shape": lambda xp: xp.zeros(None),
    "no dtype": lambda xp: xp.zeros(3, "float99"),
    "overflow": lambda xp: xp.full(3, 300, "u1"),
    "text as number": lambda xp: xp.full(3, "text", "i4"),
    "no number": lambda xp: xp.asarray(["a"], "f8"),
    "ragged": lambda xp: xp.asarray([[1, 2], [3]]),
    "step of zero": lambda xp: xp.arange(0, 3, 0),
    "no bounds": lambda xp: xp.arange(),
    "four bounds": lambda xp: xp.arange(1, 2, 3, 4, 5),
    "text range": lambda xp: xp.arange("a"),
    "range of lists": lambda xp: xp.arange([1, 2]),
    "infinite range": lambda xp: xp.arange(0, np.inf),
    "range of NaN": lambda xp: xp.arange(0, np.nan),
    "complex range": lambda xp: xp.arange(3, dtype="U5"),
    "bool range": lambda xp: xp.arange(5, dtype=bool),
    "small range": lambda xp: xp.arange(300, dtype="u1"),
}


def test_wrong_arguments_raise_as_in_numpy():
    checks = [Check(label, act) for label, act in WRONG.items()]
    verify(checks, ranks=(1, 3), flow=False)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"split": 2}, "split=2"),
        ({"split": -3}, "split=-3"),
        ({"split": (0, 0)}, "twice"),
        ({"split": "rows"}, "rows"),
        ({"split": 1.5}, "1.5"),
        ({"chunks": (3, 3, 3)}, "chunks"),
        ({"chunks": ((3, 3), (5,))}, "chunks"),
        ({"chunks": -2}, "chunks"),
        ({"chunks": "many"}, "chunks"),
        ({"split": 0, "mesh": (50,)}, "mesh"),
        ({"split": (0, 1), "mesh": (2,)}, "mesh"),
        ({"split": 0, "mesh": (0,)}, "mesh"),
        ({"split": 0, "mesh": "ab"}, "mesh"),
    ],
)
def test_layouts_that_do_not_fit(arguments, text):
    for make in (
        lambda: taskarr.zeros((7, 5), **arguments),
        lambda: taskarr.asarray(np.ones((7, 5)), **arguments),
        lambda: taskarr.zeros((7, 5)).redistribute(**arguments),
    ):
        with pytest.raises((ValueError, TypeError), match=text):
            make()


def test_other_devices_are_refused():
    with pytest.raises(NotImplementedError, match="tpu"):
        taskarr.zeros(3, device="tpu")
