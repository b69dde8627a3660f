"""Keys that are neither lists nor arrays, integers beyond NumPy's, and very many axes."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
import pytest

import taskarr
from tests.layouts import LAYOUTS
from tests.oracle import Check, verify

X = np.arange(35.0).reshape(7, 5)
OBJECTS: dict[str, Any] = {
    "range": range(1, 4),
    "empty range": range(0),
    "array": array.array("i", [4, -1, 4]),
    "empty array of floats": array.array("d"),
    "array of floats": array.array("d", [1.0]),
    "bytes to be written": bytearray(b"\x01\x02"),
    "bytes": b"\x01\x02",
    "memory": memoryview(np.array([3, 0])),
    "memory of a mask": memoryview(np.arange(5) > 2),
    "memory of floats": memoryview(np.array([3.0])),
    "memory of one": memoryview(np.array(3)),
    "list of no bools": [np.zeros(0, bool)],
    "set": {1},
    "iterator": iter([1]),
    "text": "a",
}
LARGE = {
    "unsigned": np.uint64(2**63),
    "unsigned array": np.array(2**63, "u8"),
    "largest unsigned": 2**64 - 1,
    "larger": 2**64,
    "smaller": -(2**63) - 1,
    "least": -(2**63),
    "list": [2**63],
    "list of larger ones": [2**64],
}
ONES = (1,) * 61
AXES: dict[str, Any] = {
    "62 axes": (np.zeros((1,) * 62, int), 0),
    "62 axes and a slice": (np.zeros((1,) * 62, int), slice(1, 3)),
    "64 axes": (np.zeros((1,) * 64, int), 0),
    "64 and another": np.zeros((1,) * 64, int),
    "broadcast": (np.full((*ONES, 2), 3), np.zeros((2, *ONES), int)),
    "not to be broadcast": (np.zeros((*ONES, 2), int), np.zeros((*ONES, 3), int)),
    "out of range": (np.full((1,) * 62, 9), 0),
    "new axes": (None,) * 62,
    "too many new axes": (None,) * 63,
    "far too many": (None,) * 140,
    "new axes and an index": ((None,) * 62 + ([0], 1)),
    "too many and an index": ((None,) * 63 + ([0],)),
}


def read(key: Any) -> Any:
    return lambda xp, a: a[key]


def write(key: Any) -> Any:
    def act(xp: Any, a: Any) -> Any:
        a[key] = -1
        return a

    return act


@pytest.mark.parametrize("name", OBJECTS)
def test_any_object(name):
    key = OBJECTS[name]
    acts = [
        make(k) for make in (read, write) for k in (key, (slice(1, 3), key), (key, 2), (0, key))
    ]
    checks = [Check(f"{name} {k}", act, (X[:5],)) for k, act in enumerate(acts)]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[:3], flow=False)


def test_objects_by_axis():
    names = ("range", "array", "memory", "bytes to be written")

    def outer(xp: Any, a: Any, key: Any) -> Any:
        return a[key][:, [0, 2]] if xp is np else a.oindex[key, range(0, 3, 2)]

    def points(xp: Any, a: Any, key: Any) -> Any:
        return a[key, key] if xp is np else a.vindex[key, key]

    def added(xp: Any, a: Any, key: Any) -> Any:
        np.add.at(a, key, 1)
        return a

    checks = [
        Check(f"{f.__name__} {n}", lambda xp, a, f=f, n=n: f(xp, a, OBJECTS[n]), (X,))
        for f in (outer, points, added)
        for n in names
    ]
    verify(checks, ranks=(1, 3), flow=False)


def test_integers_beyond_numpys():
    acts = [
        (name, make(k))
        for name, key in LARGE.items()
        for make in (read, write)
        for k in (key, (0, key), ([0], key))
    ]
    checks = [Check(f"{name} {k}", act, (X,)) for k, (name, act) in enumerate(acts)]
    checks.append(
        Check("distributed", lambda xp, a: a[xp.asarray(np.array([2**63], "u8"))[0]], (X,))
    )
    checks.append(Check("at", lambda xp, a: np.add.at(a, np.uint64(2**63), 1), (X,)))
    checks.append(Check("delete", lambda xp, a: xp.delete(a, 2**63), (X,)))
    verify(checks, ranks=(1, 3), flow=False)


def test_very_many_axes():
    checks = [
        Check(f"{make.__name__} {name}", make(key), (X,))
        for name, key in AXES.items()
        for make in (read, write)
    ]
    index = np.zeros((1,) * 62, int)
    checks += [
        Check("distributed", lambda xp, a: a[xp.asarray(index), 0], (X,)),
        Check("take", lambda xp, a: xp.take(a, index), (X,)),
        Check("sum", lambda xp, a: (xp.asarray(index) + xp.asarray(index + 2)).sum(), (X,)),
    ]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[:2], flow=False)


def test_empty_masks_select_nothing_orthogonally():
    x, nothing = np.arange(20).reshape(5, 4), np.zeros(0, bool)
    a = taskarr.asarray(x)
    for mask in (nothing, taskarr.asarray(nothing)):
        assert a.oindex[mask].shape == (0, 4)
        assert a.oindex[mask, [1, 2]].shape == (0, 2)
        a.oindex[mask, [1, 2]] = 7
        np.testing.assert_array_equal(a.numpy(), x)
    with pytest.raises(IndexError, match="mask of shape"):
        a.oindex[np.zeros(3, bool)]
