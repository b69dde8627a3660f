"""Single values written into arrays of other dtypes, by each kind of key and by functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import taskarr
from tests.device.install import held_here
from tests.layouts import LAYOUTS
from tests.oracle import Check, verify

MASK = np.arange(7) % 3 == 0
SQUARE = (3, 3)

WRITES: dict[str, Any] = {
    "slice": lambda xp, a, v: a.__setitem__(slice(2, 5), v),
    "element": lambda xp, a, v: a.__setitem__(-2, v),
    "list": lambda xp, a, v: a.__setitem__([1, 2], v),
    "index array": lambda xp, a, v: a.__setitem__(xp.asarray(np.array([5, 0])), v),
    "mask": lambda xp, a, v: a.__setitem__(xp.asarray(MASK), v),
    "mask of rows": lambda xp, a, v: a[:, None].__setitem__(xp.asarray(MASK), v),
    "true": lambda xp, a, v: a.__setitem__(True, v),
    "array and slice": lambda xp, a, v: a[None].__setitem__((slice(None), [3]), v),
    "fill": lambda xp, a, v: a.fill(v),
    "put": lambda xp, a, v: xp.put(a, [0, 3], v),
    "put_along_axis": lambda xp, a, v: xp.put_along_axis(a, np.array([1, 4]), v, 0),
    "copyto": lambda xp, a, v: xp.copyto(a, v, where=xp.asarray(MASK), casting="unsafe"),
    "flat slice": lambda xp, a, v: a.flat.__setitem__(slice(1, 6, 2), v),
    "flat index": lambda xp, a, v: a.flat.__setitem__([1, 5], v),
    "flat element": lambda xp, a, v: a.flat.__setitem__(4, v),
}
MAKES: dict[str, Any] = {
    "insert": lambda xp, a, v: xp.insert(a, 2, v),
    "insert several": lambda xp, a, v: xp.insert(a, [1, 4], v),
    "piecewise": lambda xp, a, v: xp.piecewise(a, [xp.asarray(MASK)], [v]),
}
TARGETS = held_here(("i1", "i8", "u1", "f4", "?", "M8[s]", "m8[s]", "m8[M]", "U6", "U30"))
EVERY = {
    "large": np.array([300]),
    "larger": np.array([2**63], "u8"),
    "fraction": np.array([2.75]),
    "complex": np.array([3 + 0.5j]),
    "seconds": np.array([5], "m8[s]"),
    "months": np.array([5], "m8[M]"),
    "no time": np.array(["NaT"], "m8[M]"),
    "day": np.array(["2020-01-01"], "M8[D]"),
    "digits": np.array(["12"]),
    "accent": np.array(["é"]),
    "one field": np.array([(3,)], [("a", "i4")]),
    "two fields": np.array([(3, 4)], [("a", "i4"), ("b", "f8")]),
}
VALUES = {label: value for label, value in EVERY.items() if held_here([value.dtype])}


def writes(name: str, value: np.ndarray, scalar: bool) -> Any:
    """Function for `Check`: a write of an element of a distributed array, or of NumPy's scalar."""

    def act(xp: Any, a: Any) -> Any:
        given = value[0] if scalar else xp.asarray(value)[0]
        if name in MAKES:
            return MAKES[name](xp, a, given)
        WRITES[name](xp, a, given)
        return a

    return act


@pytest.mark.parametrize("target", TARGETS)
def test_every_value(target):
    x = np.arange(7).astype(target)
    checks = [
        Check(f"{target} {name} = {label} {scalar}", writes(name, value, scalar), (x,))
        for label, value in VALUES.items()
        for name in (*WRITES, *MAKES)
        for scalar in (False, True)
    ]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[1:2], flow=False)


def test_times_without_a_unit():
    x = np.arange(7).astype("m8")
    checks = [
        Check(f"{name} = {label}", writes(name, VALUES[label], scalar), (x,))
        for name in ("slice", "element", "list", "mask", "fill", "copyto")
        for label in ("seconds", "no time", "large", "digits")
        if label in VALUES
        for scalar in (False, True)
    ]
    verify(checks, ranks=(1, 3), flow=False)


def test_values_that_are_no_numbers_into_integers():
    x = np.zeros(7, "i4")
    value = np.array([np.nan])
    names = ("list", "mask", "put", "flat index", "insert", "slice", "element", "copyto")
    checks = [Check(n, writes(n, value, s), (x,)) for n in names for s in (False, True)]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[:2], flow=False)


def test_structures_into_raw_bytes():
    x = np.frombuffer(b"abcdefghijklmn", "V2")
    values = (np.array([(1, 2)], "i1,i1"), np.array([(3, 4.5)], "i4,f8"), np.array([b"xyz"], "V3"))
    checks = [
        Check(f"{name} {value.dtype}", writes(name, value, scalar), (x,))
        for name in ("slice", "list", "mask")
        for value in values
        for scalar in (False, True)
    ]
    verify(checks, ranks=(1, 3), flow=False)


def test_fill_diagonal():
    def fill(value: np.ndarray, scalar: bool) -> Any:
        def act(xp: Any, a: Any) -> Any:
            xp.fill_diagonal(a, value[0] if scalar else xp.asarray(value)[0])
            return a

        return act

    checks = [
        Check(f"{dtype} {label}", fill(VALUES[label], scalar), (np.zeros(SQUARE, dtype),))
        for dtype in held_here(("i1", "m8[s]", "M8[s]"))
        for label in ("large", "larger", "months", "accent")
        if label in VALUES
        for scalar in (False, True)
    ]
    verify(checks, ranks=(1, 3), flow=False)


def test_arrays_of_objects():
    def put(key: Any, value: Any) -> Any:
        def act(xp: Any, a: Any) -> Any:
            a[key] = np.array(value, object)
            return a

        return act

    checks = [
        Check(f"{key} {value}", put(key, value), (np.arange(7),))
        for key in (slice(2, 4), [2, 3], MASK)
        for value in (5, [5, 6], ["7", 8.5])
    ]
    verify(checks, ranks=(1, 3), flow=False)


LISTS = {
    "text": (np.array(["q", "r", "s"]), "U3"),
    "bytes": (np.array([b"q", b"r", b"s"]), "S3"),
    "days": (np.array(["2020-01-02", "2021-01-02", "NaT"], "M8[D]"), "M8[D]"),
    "spans": (np.arange(3).astype("m8[s]"), "m8[s]"),
    "numbers": (np.arange(3.0) + 0.5, "i4"),
    "records": (np.array([(1, 2.0), (3, 4.0), (5, 6.0)], "i4,f8"), "i4,f8"),
}


@pytest.mark.parametrize("label", LISTS)
@pytest.mark.parametrize("key", [slice(None), [2, 0, 1]], ids=["all", "rows"])
def test_lists_of_distributed_values_are_written(label, key):
    x, dtype = LISTS[label]
    a, target, expected = taskarr.asarray(x), taskarr.zeros(3, dtype), np.zeros(3, dtype)
    expected[key] = [x[0], x[1], x[2]]
    target[key] = [a[0], a[1], a[2]]
    np.testing.assert_array_equal(target.numpy(), expected)


@pytest.mark.parametrize("key", [..., slice(0, 6), np.ones(6, bool), np.arange(6)], ids=str)
def test_days_do_not_fit_short_text_in_records(key):
    days = np.array(["2020-01-02"] * 6, "M8[D]")
    for value in (days, taskarr.asarray(days, split=0)):
        a = taskarr.zeros(6, [("a", "i4"), ("s", "U4")])
        view = a[1:]
        with pytest.raises(RuntimeError):
            a[key] = value
        assert a.tolist() == [(0, "")] * 6
        assert view.tolist() == [(0, "")] * 5
