"""NumPy's functions on a device: what the stand-in has not is made of what it has."""

from __future__ import annotations

import numpy as np
import pytest

from taskarr.device.functions import DeviceFunctions
from tests.device import strict

XP = DeviceFunctions(strict, "strict")  # type: ignore[arg-type]
X = np.array([[3.0, -1.0, 4.0, 1.0], [-5.0, 9.0, 2.0, 6.0]])


def there(x):
    return XP.asarray(x)


def host(x):
    return strict.asnumpy(x)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), ()])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["add", "multiply", "minimum", "maximum", "fmin", "fmax"])
def test_reduce(name, axis, keepdims):
    found = getattr(XP, name).reduce(there(X), axis=axis, keepdims=keepdims)
    expected = np.asarray(getattr(np, name).reduce(X, axis=axis, keepdims=keepdims))
    assert np.array_equal(host(found), expected) and found.dtype == expected.dtype


@pytest.mark.parametrize("dtype", ["?", "i4", "F"])
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_reduce_to_truth(name, dtype):
    x = (X > 0).astype(dtype) * np.ones((), dtype)
    for axis in (0, 1, (0, 1), ()):
        found = getattr(XP, name).reduce(there(x), axis=axis)
        expected = np.asarray(getattr(np, name).reduce(x, axis=axis))
        assert found.dtype == np.bool_
        assert np.array_equal(host(found), expected)


@pytest.mark.parametrize("length", range(1, 8))
@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_xor", "gcd", "lcm"])
def test_reduce_by_folding(name, length):
    x = np.arange(1, 2 * length + 1).reshape(2, length)
    for axis in (0, 1, -1, (0, 1)):
        found = getattr(XP, name).reduce(there(x), axis=axis)
        expected = getattr(np, name).reduce(
            x.reshape(-1) if axis == (0, 1) else x, axis=0 if axis == (0, 1) else axis
        )
        assert np.array_equal(host(found), expected)


def test_reduce_with_options():
    mask = X > 0
    found = XP.add.reduce(there(X), axis=0, dtype="f4", where=there(mask), initial=1)
    assert np.array_equal(host(found), np.add.reduce(X, axis=0, dtype="f4", where=mask, initial=1))
    found = XP.minimum.reduce(there(X), axis=None, where=there(mask), initial=7.0)
    assert float(found) == 1.0
    out = strict.empty(4)
    assert XP.add.reduce(there(X), axis=0, out=out) is out
    assert np.array_equal(host(out), X.sum(axis=0))
    with pytest.raises(NotImplementedError, match="to_device"):
        XP.arctan2.reduce(there(X))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "fmin", "hypot", "subtract"])
def test_accumulate(name, axis):
    expected = getattr(np, name).accumulate(X, axis=axis)
    found = getattr(XP, name).accumulate(there(X), axis=axis)
    np.testing.assert_allclose(host(found), expected, rtol=1e-15)
    out = strict.empty(X.shape)
    assert getattr(XP, name).accumulate(there(X), axis=axis, out=out) is out
    np.testing.assert_allclose(host(out), expected, rtol=1e-15)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "fmin", "logical_and", "subtract"])
def test_reduceat(name, axis):
    x = np.random.default_rng(1).normal(size=(23, 23))
    starts = np.array([0, 0, 1, 4, 4, 4, 5, 11, 22])
    found = getattr(XP, name).reduceat(there(x), starts, axis)
    np.testing.assert_allclose(host(found), getattr(np, name).reduceat(x, starts, axis), rtol=1e-12)


def test_calls_with_a_mask():
    out = strict.zeros((2, 4))
    assert XP.sqrt(there(X), out=out, where=there(X > 0)) is out
    assert np.array_equal(host(out), np.sqrt(X, out=np.zeros((2, 4)), where=X > 0))


def test_one_of_several_outputs():
    out = strict.empty((2, 4))
    XP.divmod(there(X), 2, out=(None, out))
    assert np.array_equal(host(out), X % 2)
    whole, rest = XP.modf(there(X / 4))
    assert np.array_equal(host(whole), np.modf(X / 4)[0])
    assert np.array_equal(host(rest), np.modf(X / 4)[1])


def test_powers_of_integers():
    a, b = np.array([2, 3, -1]), np.array([2, -1, 3])
    assert host(XP.power(there(a), 2)).tolist() == [4, 9, 1]
    for exponent in (there(b), -1, np.int8(-2)):
        with pytest.raises(ValueError, match="negative integer powers"):
            XP.power(there(a), exponent)
    out = strict.zeros(3, "i8")
    XP.power(there(a), there(b), out=out, where=there(b > 0))
    assert host(out).tolist() == [4, 0, -1]
    assert host(XP.power(there(a * 1.0), -1)).tolist() == [0.5, 1 / 3, -1]


def test_truth_of_complex_numbers():
    z = there(np.array([0, 1j, 2]))
    assert host(XP.logical_not(z)).tolist() == [True, False, False]
    assert host(XP.logical_and(z, np.complex64(1j))).tolist() == [False, True, True]
    assert XP.logical_not(z).dtype == np.bool_


def test_outputs_behind_the_inputs():
    out = strict.empty((2, 4), "f4")
    XP.add(there(X.astype("f4")), np.float32(1), out)
    assert np.array_equal(host(out), X.astype("f4") + 1)


def test_copyto():
    out = strict.zeros(3)
    XP.copyto(out, there(np.array([1 + 2j, 3, 4])), casting="unsafe")
    assert host(out).tolist() == [1, 3, 4]
    truth = strict.zeros(3, "?")
    XP.copyto(truth, there(np.array([2j, 0, 1])), casting="unsafe")
    assert host(truth).tolist() == [True, False, True]
    XP.copyto(out, 5.0, where=False)
    assert host(out).tolist() == [1, 3, 4]
    XP.copyto(out, 5.0, where=np.True_)
    assert host(out).tolist() == [5, 5, 5]


def test_take_and_contiguous():
    into = strict.empty((2, 2))
    XP.take(there(X), there(np.array([3, 0])), axis=1, out=into, mode="clip")
    assert np.array_equal(host(into), X[:, [3, 0]])
    assert XP.ascontiguousarray(np.float64(3)).shape == ()
    assert XP.ascontiguousarray(there(X).T).flags.c_contiguous


def test_host_memory_may_be_used_again_at_once():
    x = np.arange(3)
    a = XP.asarray(x, "f4")
    x[:] = 7
    assert a.dtype == np.float32 and host(a).tolist() == [0, 1, 2]
    assert XP.asarray(np.array(2.5)).shape == ()


def test_what_is_not_there_names_the_way_out():
    with pytest.raises(NotImplementedError, match=r"to_device\(x, 'cpu'\)"):
        XP.spacing(there(X))
    with pytest.raises(TypeError):
        XP.add(there(X), X)
