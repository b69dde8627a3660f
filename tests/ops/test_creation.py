"""Creation: from NumPy data and from one value; layouts and bad arguments."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from taskarr.api.devices import LIKE
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
    verify(checks, placings=CUT, ranks=(1, 2, 5))


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
    verify(checks, placings=CUT, ranks=(1, 2, 5))


def test_constants_that_broadcast():
    row, column = np.arange(5.0) / 2, np.arange(7)[:, None]
    checks = [
        Check("row", lambda xp, v: xp.full((7, 5), v), (row,)),
        Check("row of list", lambda xp: xp.full((7, 5), list(row))),
        Check("row as int", lambda xp, v: xp.full((7, 5), v, int), (row,)),
        Check("column", lambda xp, v: xp.full((3, 7, 5), v, "f4"), (column,)),
        Check("leading axes", lambda xp, v: xp.full(5, v[None, None]), (row,)),
        Check("element", lambda xp, v: xp.full((7, 5), v[3]), (row,)),
        Check("like", lambda xp, v: xp.full_like(xp.asarray(np.ones((7, 5), "i4")), v), (row,)),
    ]
    verify(checks, placings=CUT[:2], ranks=(1, 3))


def test_like_another_of_another_shape():
    a = np.arange(35, dtype="i2").reshape(7, 5)
    checks = [
        Check(f"{name} {shape}", lambda xp, a, n=name, s=shape: getattr(xp, n)(a, shape=s), (a,))
        for name in ("zeros_like", "ones_like")
        for shape in ((7, 5), (5, 7), 4, (), (2, 3, 4))
    ]
    checks.append(Check("full_like", lambda xp, a: xp.full_like(a, 3, "f4", "C", True, 9), (a,)))
    verify(checks, ranks=(1, 3))


def test_empty_arrays_have_shape_and_dtype():
    def job(world):
        a = taskarr.empty((7, 5), "i2", split=0)
        b = taskarr.empty_like(a, "f4")
        assert b.layout == a.layout
        a[...] = 3
        b[...] = a / 2
        return a.numpy(), b.numpy()

    for n in RANKS:
        a, b = on_ranks(n, job).value
        np.testing.assert_array_equal(a, np.full((7, 5), 3, "i2"))
        np.testing.assert_array_equal(b, np.full((7, 5), 1.5, "f4"))


def test_array():
    a = np.arange(35, dtype="i2").reshape(7, 5)
    checks = [
        Check("copy", lambda xp, a: xp.array(a), (a,)),
        Check("dtype", lambda xp, a: xp.array(a, "f4"), (a,)),
        Check("ndmin", lambda xp, a: xp.array(a, ndmin=4), (a,)),
        Check("ndmin of list", lambda xp: xp.array([1, 2], ndmin=3)),
        Check("ndmin of number", lambda xp: xp.array(5.5, ndmin=1)),
        Check("elements", lambda xp, a: xp.array([a.sum(), 4, [a[1, 1]][0]]), (a,)),
        Check("any", lambda xp, a: xp.asanyarray(a, "f8"), (a,)),
        Check("contiguous", lambda xp, a: xp.ascontiguousarray(a[3, 3]), (a,)),
    ]
    verify(checks, placings=CUT, ranks=(1, 3))


def test_what_is_copied():
    def changed(make):
        def act(xp, a):
            b = make(xp, a)
            b[0] = -1
            return xp.asarray(a)

        return act

    acts = {
        "array": lambda xp, a: xp.array(a),
        "array, dtype": lambda xp, a: xp.array(a, "f8", copy=None),
        "array, no copy": lambda xp, a: xp.array(a, copy=None),
        "array, ndmin": lambda xp, a: xp.array(a, copy=None, ndmin=2),
        "array, never": lambda xp, a: xp.array(a, copy=False),
        "asarray": lambda xp, a: xp.asarray(a),
        "asarray, copy": lambda xp, a: xp.asarray(a, copy=True),
        "asarray, F": lambda xp, a: xp.asarray(a, order="F"),
        "asarray, C": lambda xp, a: xp.asarray(a, order="C"),
        "asarray of F": lambda xp, a: xp.asarray(a.T, order="F"),
        "contiguous": lambda xp, a: xp.ascontiguousarray(a),
        "contiguous of F": lambda xp, a: xp.ascontiguousarray(a.T),
        "Fortran": lambda xp, a: xp.asfortranarray(a.T),
    }
    x = np.arange(35.0).reshape(7, 5)
    verify([Check(name, changed(make), (x,)) for name, make in acts.items()], (1, 3), CUT[:2])
    for wrong in ({"dtype": "f4"}, {"order": "F"}, {"split": 1}):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            taskarr.asarray(taskarr.asarray(x, split=0), copy=False, **wrong)


def test_order_decides_what_can_be_a_view():
    def job(xp):
        x = np.asfortranarray(np.arange(12.0).reshape(3, 4))
        makers = (
            lambda: xp.zeros((3, 4), order="F"),
            lambda: xp.ones((3, 4), int, "C"),
            lambda: xp.array(x),
            lambda: xp.array(x, order="C"),
            lambda: xp.array(x.T, order="A"),
            lambda: xp.zeros_like(xp.array(x)),
            lambda: xp.zeros_like(xp.array(x), order="C"),
            lambda: xp.ones_like(xp.array(x).T, shape=(5, 2)),
            lambda: xp.full_like(xp.array(x), 2, shape=(5, 2, 3)),
        )
        return [make().strides for make in makers]

    assert job(taskarr) == job(np)


def test_lists_of_distributed_arrays_are_stacked():
    a, b = np.arange(7.0), np.arange(7)
    acts = {
        "two": lambda xp, a, b: xp.array([a, b]),
        "nested": lambda xp, a, b: xp.asarray([[a, b], (b, a)]),
        "beside lists": lambda xp, a, b: xp.array([a[:2], [1, 2.5], b[:2]]),
        "beside values": lambda xp, a, b: xp.array([a[:2], [a.sum(), 1]]),
        "dtype": lambda xp, a, b: xp.array([b, b], "f4", ndmin=3),
        "none": lambda xp, a, b: xp.array([a[:0], b[:0]]),
        "each as integers": lambda xp, a, b: xp.array([a / 2, [0.5] * 7], "i8"),
        "other lengths": lambda xp, a, b: xp.array([a, b[:3]]),
        "other depths": lambda xp, a, b: xp.array([a, [a]]),
    }
    verify([(Check(k, f, (a, b)), p) for k, f in acts.items() for p in CUT[:2]], (1, 3), flow=False)


def test_lists_of_distributed_values_are_fetched_in_one_run():
    def job(world):
        a = taskarr.asarray(np.arange(7.0), split=0).persist()
        runs = world.runs
        values = taskarr.array([[a.sum(), 1], [a[3], 2]])
        assert world.runs - runs <= 1
        return values.numpy()

    for n in (1, 3):
        assert on_ranks(n, job).value.tolist() == [[21, 1], [3, 2]]


def test_records_of_distributed_values_are_fetched_in_one_run():
    def job(world):
        a = taskarr.asarray(np.arange(7.0), split=0).persist()
        runs = world.runs
        records = taskarr.array([(a.max(), 3), (1, 2)], [("a", "f4"), ("b", "i2")])
        assert world.runs - runs <= 1
        return records.numpy()

    for n in (1, 3):
        assert on_ranks(n, job).value.tolist() == [(6, 3), (1, 2)]


def test_like_another_keeps_the_layout():
    def job(world):
        a = taskarr.zeros((7, 5), split=1)
        assert taskarr.ones_like(a).layout == a.layout
        assert taskarr.full_like(a, 2, split=0).split == (0,)

    for n in RANKS:
        on_ranks(n, job)


def test_like_none_is_like_nothing():
    first = {"full": (2, 3), "fromfunction": (lambda i: i + 1, (3,))}
    checks = [
        Check(name, lambda xp, name, a: getattr(xp, name)(*a, like=None), fixed=(name, a))
        for name in LIKE
        for a in (first.get(name, (3,)),)
        if name != "empty"
    ]
    verify(checks, ranks=(1, 3), flow=False)


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
    "no such order": lambda xp: xp.zeros(3, int, "X"),
    "no such order like": lambda xp: xp.zeros_like([1, 2], order="X"),
    "values that don't broadcast": lambda xp: xp.full((3, 2), [1, 2, 3]),
    "values of too many axes": lambda xp: xp.full((), [1, 2]),
    "no copy of data": lambda xp: xp.array([1, 2], copy=False),
    "layout that is none": lambda xp: xp.zeros(3, splt=0),
    "ragged": lambda xp: xp.asarray([[1, 2], [3]]),
    "like what it has not": lambda xp: xp.zeros_like([1, 2], like=None),
    "like what is no array": lambda xp: xp.zeros(3, like=3),
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
    with pytest.raises(ValueError, match="tpu"):
        taskarr.zeros(3, device="tpu")
