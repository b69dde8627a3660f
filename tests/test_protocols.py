"""NumPy's functions and ufuncs called on distributed arrays."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from taskarr.api import comparing, elementwise, selections
from tests.ops.test_elementwise import data
from tests.oracle import Check, verify

A, M = data("d"), data("?", seed=2)
OF_TWO = ("isclose", "allclose", "array_equal", "array_equiv")
CALLS = {
    "clip": lambda f, a: f(a, 0, 1),
    "astype": lambda f, a: f(a, "f4"),
    "select": lambda f, a: f([a > 0], [a]),
    "piecewise": lambda f, a: f(a, [a > 0], [1]),
    "where": lambda f, a: f(a > 0, a, 0),
    **{name: lambda f, a: f(a, a) for name in OF_TWO},
}
DISPATCHED = sorted(
    {*elementwise.__all__, *comparing.__all__, *selections.__all__}
    | {"sinc", "i0", "fix", "isreal", "iscomplex", "isposinf", "isneginf"}
)


@pytest.mark.parametrize("name", DISPATCHED)
def test_functions_are_dispatched(name):
    """What ``numpy.f(a)`` gives is what ``taskarr.f(a)`` gives, distributed or a Python value."""
    call = CALLS.get(name, lambda f, a: f(a))
    a = taskarr.arange(5.0)
    ours, numpys = call(getattr(taskarr, name), a), call(getattr(np, name), a)
    expected = call(getattr(np, name), np.arange(5.0))
    for found in (ours, numpys):
        assert isinstance(found, taskarr.Array) == isinstance(expected, np.ndarray)
        assert np.array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("name", DISPATCHED)
def test_functions_of_numpy_arrays_give_distributed_ones(name):
    call = CALLS.get(name, lambda f, a: f(a))
    found = call(getattr(taskarr, name), np.arange(5.0))
    expected = call(getattr(np, name), np.arange(5.0))
    assert isinstance(found, taskarr.Array) == isinstance(expected, np.ndarray)


def test_ufuncs_of_numbers_and_lists():
    assert taskarr.add(1, 2).item() == 3
    assert taskarr.sqrt([4.0, 9.0]).numpy().tolist() == [2, 3]
    into = taskarr.zeros(2)
    assert taskarr.add([1, 2], 1, out=into) is into
    assert np.add(np.arange(2), 5, out=into) is into
    assert np.add(2, 5, out=into) is into
    assert into.numpy().tolist() == [7, 7]
    mask = taskarr.asarray([True, False])
    assert taskarr.add([1, 2], 1, where=mask).numpy().tolist() == [2, 0]


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("unwrap", lambda a: np.unwrap(a)),
        ("linalg.trace", lambda a: np.linalg.trace(a)),
        ("fft.fft", lambda a: np.fft.fft(a)),
        ("apply_along_axis", lambda a: np.apply_along_axis(sum, 0, a)),
    ],
)
def test_unknown_functions_name_the_way_out(name, call):
    module, _, _ = name.rpartition(".")
    with pytest.raises(TypeError, match=rf"numpy\.{module or name}.*numpy\(\)"):
        call(taskarr.ones((3, 3)))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("matmul", lambda a: np.matmul(a, a)),
    ],
)
def test_methods_that_are_missing_name_the_way_out(name, call):
    with pytest.raises(NotImplementedError, match=rf"numpy\.{name}.*numpy\(\)"):
        call(taskarr.arange(5))


def test_reduce():
    checks = [
        Check("first axis", lambda xp, a, m: np.maximum.reduce(a), (A, M)),
        Check("all axes", lambda xp, a, m: np.logical_or.reduce(a, axis=None), (A, M)),
        Check("keepdims", lambda xp, a, m: np.fmin.reduce(a, axis=1, keepdims=True), (A, M)),
        Check("where", lambda xp, a, m: np.multiply.reduce(a[1:], 0, where=m[1:]), (A, M)),
        Check("out", lambda xp, a, m: np.minimum.reduce(a, out=a[0]), (A, M)),
        Check("not of two", lambda xp, a, m: np.sqrt.reduce(a), (A, M)),
    ]
    verify(checks, ranks=(1, 3), flow=False)


class Foreign:
    """Array-like that handles ufuncs itself."""

    def __array_ufunc__(self, ufunc, method, *operands, **options):
        return f"{ufunc.__name__} by Foreign"


def test_other_classes_are_asked():
    a = taskarr.arange(3)
    assert np.add(a, Foreign()) == "add by Foreign"
    assert np.divmod(a, Foreign()) == "divmod by Foreign"
    with pytest.raises(TypeError):
        np.add(a, object())
    with pytest.raises(TypeError):
        divmod(a, object())


def test_numpy_operands_on_the_left():
    def act(xp, a):
        found = np.arange(5) - a
        q, r = divmod(np.arange(5) + 10, xp.where(a == 0, 1, a))
        return found + q * 2 + r + np.float32(2) ** xp.minimum(a, 3)

    verify([Check("left", act, (np.nan_to_num(A, posinf=2, neginf=3),))], ranks=(1, 3))


def test_masked_operands_are_refused():
    a, masked = taskarr.ones(2), np.ma.array([1.0, 2], mask=[0, 1])
    for act in (lambda: a * masked, lambda: np.add(a, masked), lambda: a == masked):
        with pytest.raises(TypeError, match=r"filled\(value\)"):
            act()
