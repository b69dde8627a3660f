"""Elementwise functions that are no ufuncs, and choosing by conditions, against NumPy."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import taskarr
from tests.device.install import DEVICE
from tests.layouts import LAYOUTS, on_ranks, quiet
from tests.ops.test_elementwise import data
from tests.oracle import Check, outcome, verify

A, B, M = data("d"), data("d", seed=1), data("?", seed=2)
K, Z = data("i"), data("D")
SPECIAL = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-320, 2.5, -2.5, 1e300, 7.999, 8.0])
ALL = ["?", "b", "B", "i", "L", "e", "f", "d", "g", "F", "D"]


@pytest.mark.parametrize("dtype", ALL)
def test_functions_of_one_array(dtype):
    """The same bits as NumPy's."""
    x = data(dtype, (9, 5), seed=3)
    checks = [
        Check(name, lambda xp, a, n=name: getattr(xp, n)(a), (x,))
        for name in ("sinc", "i0", "fix", "isposinf", "isneginf", "isreal", "iscomplex")
    ]
    checks += [
        Check("angle", lambda xp, a: xp.angle(a), (x,)),
        Check("angle in degrees", lambda xp, a: xp.angle(a, deg=True), (x,)),
        Check("real", lambda xp, a: np.real(a), (x,)),
        Check("imag", lambda xp, a: xp.imag(a), (x,)),
        Check("nan_to_num", lambda xp, a: xp.nan_to_num(a), (x,)),
        Check("with numbers", lambda xp, a: np.nan_to_num(a, nan=3, neginf=-1e4), (x,)),
        Check("with arrays", lambda xp, a: np.nan_to_num(a, posinf=abs(a[0].real)), (x,)),
        Check("conj", lambda xp, a: a.conj(), (x,)),
        Check("conjugate", lambda xp, a: np.conj(a), (x,)),
        Check("iscomplexobj", lambda xp, a: (np.iscomplexobj(a), np.isrealobj(a)) == 1, (x,)),
    ]
    bytes_count = dtype != "g"  # whose padding may hold anything
    verify(checks, ranks=(1, 3) if bytes_count else (3,), placings=LAYOUTS[2:3])


def test_special_values():
    with quiet():
        narrow = SPECIAL.astype("f")
    checks = [
        Check(name, lambda xp, a, n=name: getattr(xp, n)(a), (x,))
        for name in ("sinc", "i0", "fix", "isposinf", "nan_to_num", "round", "isreal")
        for x in (narrow, SPECIAL)
    ]
    verify(checks, ranks=(2,))


@pytest.mark.parametrize("dtype", ALL)
def test_round(dtype):
    x = data(dtype, (9, 5), seed=3)
    if np.dtype(dtype).kind in "fc":
        x[1:] = x[1:] / 7
    checks = [
        Check(f"{decimals}", lambda xp, a, d=decimals: xp.round(a, d), (x,))
        for decimals in (0, 1, 3, 12, -1, -2, np.int8(2))
    ]
    checks += [
        Check("method", lambda xp, a: a.round(1), (x,)),
        Check("around", lambda xp, a: np.around(a, decimals=2), (x,)),
        Check("not an integer", lambda xp, a: a.round(1.5), (x,)),
    ]
    checks += [
        Check(
            f"{decimals} into {kind}",
            lambda xp, a, o, d=decimals: np.round(a, d, out=o),
            (x, np.zeros((9, 5), kind)),
        )
        for kind in ("f", "d", "i", "D")
        for decimals in (0, 2, -1)
    ]
    verify(checks, ranks=(3,))


def test_round_in_place():
    def act(xp, a):
        assert a.round(1, out=a) is a
        np.round(a[1:], 0, out=a[:-1])
        return a

    verify([Check("in place", act, (A / 7,))], ranks=(1, 2, 5))


CLIPS = {
    "numbers": lambda xp, a, b, o: xp.clip(a, -1, 3),
    "numbers of another kind": lambda xp, a, b, o: a.clip(-1.5, 2.5),
    "method": lambda xp, a, b, o: a.clip(0),
    "method, no bound": lambda xp, a, b, o: a.clip(),
    "no lower bound": lambda xp, a, b, o: np.clip(a, None, 2),
    "no upper bound": lambda xp, a, b, o: np.clip(a, 2, None),
    "no bound": lambda xp, a, b, o: xp.clip(a, None, None),
    "by name": lambda xp, a, b, o: np.clip(a, min=1, max=2),
    "one by name": lambda xp, a, b, o: xp.clip(a, max=2),
    "arrays": lambda xp, a, b, o: np.clip(a, b, b[1] + 2),
    "NumPy's arrays": lambda xp, a, b, o: np.clip(a, np.arange(5), np.arange(7)[:, None]),
    "of a number": lambda xp, a, b, o: np.clip(2, b, a),
    "bounds out of range": lambda xp, a, b, o: np.clip(a, -(2**70), 2**70),
    "bounds on the wrong side": lambda xp, a, b, o: np.clip(a, 2**70, 2**71),
    "wider": lambda xp, a, b, o: np.clip(a[0], b, 4),
    "into": lambda xp, a, b, o: np.clip(a, 1, 2, out=o),
    "into, positional": lambda xp, a, b, o: np.clip(a, 1, 2, o),
    "into, method": lambda xp, a, b, o: a.clip(1, 2, out=o),
    "itself": lambda xp, a, b, o: np.clip(a, 1, 2, out=a),
    "where": lambda xp, a, b, o: np.clip(a, 1, 2, out=o, where=b > 0),
    "dtype": lambda xp, a, b, o: np.clip(a, 1, 2, dtype="f8"),
    "casting": lambda xp, a, b, o: np.clip(a, 1.5, 2, out=o, casting="unsafe"),
    "complex bound": lambda xp, a, b, o: np.clip(a, 1j, 2),
    "both names": lambda xp, a, b, o: np.clip(a, 1, 2, min=3),
    "half a name": lambda xp, a, b, o: np.clip(a, a_min=1),
    "wrong shapes": lambda xp, a, b, o: np.clip(a, b[:, :3], 2),
}


@pytest.mark.parametrize("dtype", ["b", "B", "i", "f", "d", "D", "?"])
def test_clip(dtype):
    operands = data(dtype), data(dtype, seed=1), np.zeros((7, 5), dtype)
    checks = [Check(label, act, operands) for label, act in CLIPS.items()]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[1:2], flow=False)


def test_clip_of_dates():
    t = np.datetime64("2020-01-01") + np.arange(7)
    verify([Check("clip", lambda xp, t: np.clip(t, t[2], t[4]), (t,))], ranks=(1, 2), flow=False)


CLOSE = {
    "arrays": lambda xp, a, b: xp.isclose(a, b),
    "tolerances": lambda xp, a, b: np.isclose(a, b, rtol=0.5, atol=0.25),
    "tolerances are arrays": lambda xp, a, b: np.isclose(a, b, rtol=abs(b[0]) * 0 + 1, atol=b),
    "NaN": lambda xp, a, b: np.isclose(a, a, equal_nan=True),
    "number": lambda xp, a, b: np.isclose(a, 1),
    "of a number": lambda xp, a, b: np.isclose(1.0, a),
    "NumPy's": lambda xp, a, b: np.isclose(np.arange(5), a),
    "wrong shapes": lambda xp, a, b: np.isclose(a, b[:, :2]),
    "text": lambda xp, a, b: np.isclose(a, "x"),
}


@pytest.mark.parametrize("dtype", ["?", "i", "B", "e", "f", "d", "D"])
def test_isclose(dtype):
    operands = data(dtype), np.nan_to_num(data(dtype, seed=1))
    verify([Check(label, act, operands) for label, act in CLOSE.items()], ranks=(3,))


def test_isclose_looks_at_shapes_when_numpy_does():
    spans, numbers = data("l").astype("m8[s]"), data("d")
    operands = (spans, numbers, spans[0], numbers[:3], spans[:, :2], spans[0, :1])
    checks = [
        Check(f"{call} {i} {k}", lambda xp, a, b, c=call: getattr(xp, c)(a, b), (first, second))
        for call in ("isclose", "allclose")
        for i, first in enumerate(operands)
        for k, second in enumerate(operands)
        if "m" in (first.dtype.kind, second.dtype.kind)
    ]
    odd = np.ones(2, "m8[s]")
    checks.append(Check("rtol", lambda xp, a: xp.isclose(a, a, rtol=odd), (numbers[0],)))
    verify(checks, ranks=(2,), flow=False)


def whole(xp, a, b, z, t):
    """Calls that give one Python bool."""
    return {
        "close": xp.allclose(a, a + 1e-9),
        "not close": xp.allclose(a, b),
        "close but for NaN": xp.allclose(a, a, equal_nan=True),
        "close to a number": np.allclose(a * 0, 0),
        "equal": np.array_equal(b, b),
        "equal to itself, with NaN": np.array_equal(a, a),
        "equal NaN": xp.array_equal(a, a, equal_nan=True),
        "equal NaN, differing": xp.array_equal(a, b, equal_nan=True),
        "complex NaN": xp.array_equal(z * a, z * a, equal_nan=True),
        "integers with equal_nan": np.array_equal(b.astype(int), b.astype(int), equal_nan=True),
        "other shapes": np.array_equal(a, a[0]),
        "broadcast": np.array_equiv(b, b[:1]),
        "equivalent": xp.array_equiv(xp.ones((7, 5)), xp.ones(5)),
        "not to be broadcast": np.array_equiv(a, a[:, :3]),
        "text": np.array_equal(b, np.full((7, 5), "x" if DEVICE == "cpu" else 0)),
        "NumPy's": np.array_equal(np.arange(5), b[0]),
        "number": xp.array_equal(1, 1),
        "NaT": xp.array_equal(t, t, equal_nan=True),
        "dates": xp.array_equal(t, t),
        "nothing": np.allclose(a[:0], b[:0]),
        "no array": xp.array_equal(b, [[1], [1, 2]]),
    }


def test_whole_comparisons_give_python_bools():
    t = np.array(["2020-01-01", "NaT"], "M8[D]") if DEVICE == "cpu" else np.array([1, np.nan])
    operands = (A, np.nan_to_num(B, posinf=1, neginf=2), Z, t)

    def placed(world, placing):
        return whole(taskarr, *map(placing.place, operands))

    with quiet():
        expected = whole(np, *operands)
    for placing in LAYOUTS[:3]:
        found = on_ranks(3, placed, placing).value
        assert found == expected
        assert {type(x) for x in found.values()} == {bool}


CHOICES = {
    "two": lambda xp, a, b, m: xp.select([a > 1, a < 0], [a, b]),
    "default": lambda xp, a, b, m: np.select([m, a > b], [a, -b], default=b * 2),
    "numbers": lambda xp, a, b, m: np.select([m, a > b], [1, 2.5], 7),
    "rows and columns": lambda xp, a, b, m: np.select([m[0], m[:, :1]], [a[1], b[:, 2:3]]),
    "host conditions": lambda xp, a, b, m: np.select([M, ~M], [a, 1]),
    "host choices": lambda xp, a, b, m: np.select([m], [np.arange(5)], np.arange(7)[:, None]),
    "only the default": lambda xp, a, b, m: np.select([M], [1], a),
    "no bools": lambda xp, a, b, m: np.select([a], [b]),
    "lengths": lambda xp, a, b, m: np.select([m], [a, b]),
    "nothing": lambda xp, a, b, m: xp.select([], []),
    "no common dtype": lambda xp, a, b, m: np.select([m], [a], np.datetime64("2020-01-01")),
    "wrong shapes": lambda xp, a, b, m: np.select([m], [a[:, :2]]),
    "scalar condition": lambda xp, a, b, m: np.select([m, True], [a, b]),
}


@pytest.mark.parametrize("dtypes", [("d", "d"), ("i", "f"), ("b", "B")])
def test_select(dtypes):
    operands = data(dtypes[0]), data(dtypes[1], seed=1), M
    checks = [Check(label, act, operands) for label, act in CHOICES.items()]
    verify(checks, ranks=(1, 3), flow=False)


PIECES = {
    "functions": lambda xp, a, m: xp.piecewise(a, [a < 0, a >= 0], [lambda v: -v, lambda v: v * v]),
    "otherwise": lambda xp, a, m: np.piecewise(a, [a < 0, a > 3], [np.negative, 3, abs]),
    "zero elsewhere": lambda xp, a, m: np.piecewise(a, [m], [7]),
    "one condition": lambda xp, a, m: np.piecewise(a, m, [1, lambda v: v + 1]),
    "many rows": lambda xp, a, m: xp.piecewise(a[0], [m[0], m[1]], [1, 2]),
    "arguments": lambda xp, a, m: np.piecewise(a, [m], [lambda v, k, s: v * k + s], 3, s=2),
    "in place": lambda xp, a, m: np.piecewise(a, [m], [turned]),
    "later conditions": lambda xp, a, m: np.piecewise(a, [m, m], [1, lambda v: 2 * v]),
    "host condition": lambda xp, a, m: np.piecewise(a, [M], [lambda v: v / 2]),
    "constant function": lambda xp, a, m: np.piecewise(a, [m], [lambda v: 5]),
    "too many functions": lambda xp, a, m: np.piecewise(a, [m], [1, 2, 3]),
    "rows": lambda xp, a, m: np.piecewise(a, [m[:, 0], m[:, 1]], [1, lambda v: v * 3, 4]),
    "list of one row": lambda xp, a, m: np.piecewise(a[0], m[0], [1, 2]),
    "wrong shape": lambda xp, a, m: np.piecewise(a, [m[:, :2]], [1]),
    "no number": lambda xp, a, m: np.piecewise(a, [m], ["x"]),
}


def turned(v):
    v *= -1
    return v


@pytest.mark.parametrize("dtype", ["d", "i"])
def test_piecewise(dtype):
    checks = [Check(label, act, (data(dtype), M)) for label, act in PIECES.items()]
    verify(checks, ranks=(1, 3), flow=False)


@pytest.mark.parametrize(
    "function",
    [
        lambda v: v - v.mean(),
        lambda v: v[::-1],
        lambda v: v - float(v.max()),
        lambda v: v if v[0, 0] > 0 else -v,
        lambda v: v + taskarr.asarray(K),
        lambda v: np.where(v > v.min(), 1, 0),
    ],
)
def test_pieces_are_computed_element_by_element(function):
    a = taskarr.asarray(data("i"))
    with pytest.raises(NotImplementedError, match="element"):
        taskarr.piecewise(a, [a > 0], [function])


def test_copies_and_casts():
    def act(xp, a):
        same = a.astype(a.dtype, copy=False)
        other = a.astype("f", "K", "same_kind", True, False)
        mine, plain = np.copy(a), a.copy("C")
        a[0] = 99
        return xp.add(same - mine, other * plain)

    checks = [
        Check("copies", act, (A,)),
        Check("np.astype", lambda xp, a: xp.astype(a, "i", copy=True), (K,)),
        Check("np.astype of NumPy's", lambda xp, a: np.astype(a, np.float32), (K,)),
        Check("no such order", lambda xp, a: a.copy("Z"), (A,)),
        Check("order of a cast", lambda xp, a: a.astype("f", order="Z"), (A,)),
    ]
    verify(checks, ranks=(1, 3))


def test_copies_keep_the_order_in_memory_that_numpy_gives_them():
    host = np.zeros((3, 4)).T
    a = taskarr.zeros((3, 4)).T
    for act in (
        lambda x: x.copy(),
        lambda x: x.copy("K"),
        lambda x: np.copy(x),
        lambda x: x.astype("f"),
        lambda x: x.astype("f", order="C"),
        lambda x: copy.copy(x),
        lambda x: np.add(x, 1),
        lambda x: np.add(x, 1, order="C"),
        lambda x: np.add(x.T, 1, order="F"),
        lambda x: x.round(1),
        lambda x: np.divmod(x, 2)[1],
    ):
        assert act(a).flags.f_contiguous == act(host).flags.f_contiguous
        assert act(a).flags.c_contiguous == act(host).flags.c_contiguous


def test_conjugates_of_real_arrays_are_the_array():
    a = taskarr.arange(3.0)
    assert a.conj() is a
    assert a.conjugate() is a
    assert np.conj(a) is not a
    assert a.conj(taskarr.zeros(3)).numpy().tolist() == [0, 1, 2]
    for x in (np.array(["a"]), np.zeros(3, "M8[D]")):
        assert outcome(taskarr.asarray(x).conj) is outcome(x.conj) is TypeError


def test_nan_to_num_in_place():
    a, k = taskarr.asarray(SPECIAL), taskarr.arange(3)
    assert np.nan_to_num(a[::2], copy=False, nan=5).numpy().tolist()[1] == 5
    assert a[2].item() == 5
    assert taskarr.nan_to_num(k, copy=False) is k
    assert taskarr.nan_to_num(k) is not k
    with pytest.raises(ValueError, match="broadcast"):
        taskarr.nan_to_num(a, nan=np.zeros((2, len(SPECIAL))))


def test_real_if_close():
    near, far = np.array([1, 2 + 1e-14j]), np.array([1, 2 + 1j])
    for x in (near, far, np.arange(3.0)):
        found = np.real_if_close(taskarr.asarray(x))
        assert found.dtype == np.real_if_close(x).dtype
        assert np.array_equal(found.numpy(), np.real_if_close(x))
    assert taskarr.real_if_close(taskarr.asarray(far), tol=1e17).dtype.kind == "f"


def test_result_type():
    a = taskarr.arange(3, dtype="i1")
    assert np.result_type(a, 300.0) == np.float64
    assert taskarr.result_type(a, np.int32) == np.int32
    assert taskarr.result_type(a, 3) == np.int8


def test_where():
    checks = [
        Check("half a choice", lambda xp, a, m: xp.where(m, a), (A, M)),
        Check("no condition", lambda xp, a, m: xp.where(), (A, M)),
        Check("only numbers", lambda xp, a, m: xp.where(True, 1, 2), (A, M)),
    ]
    verify(checks, ranks=(1, 2), flow=False)


def masked_by(mask):
    """Calls with a mask made of an array."""
    return {
        "ufunc": lambda xp, a, o: np.divide(a, 2, out=o, where=mask(a)),
        "numbers": lambda xp, a, o: xp.divide(1, 2, out=o, where=mask(a)),
        "clip": lambda xp, a, o: xp.clip(a, -1, 1, out=o, where=mask(a)),
        "method": lambda xp, a, o: a.clip(-1, 1, out=o, where=mask(a)),
        "copyto": lambda xp, a, o: xp.copyto(o, a, where=mask(a)) or o,
    }


MASKS = {
    "value": lambda a: a[1, 1],
    "zero": lambda a: a[1, 1] * 0,
    "complex value": lambda a: a[1, 1] * 1j,
    "array without axes": lambda a: a[1, 1, ...],
    "array": lambda a: a,
    "list": lambda a: [1, 0, 0.5, 0, 2],
}


def test_masks_of_other_dtypes():
    """NumPy casts its scalars and lists, and refuses arrays."""
    checks = [
        Check(f"{call} {name}", act, (A, np.zeros((7, 5))))
        for name, mask in MASKS.items()
        for call, act in masked_by(mask).items()
    ]
    verify(checks, ranks=(1, 3), flow=False)


def test_select_gives_c_order():
    x = np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1)
    a = taskarr.asarray(np.arange(24.0)).reshape(2, 3, 4).transpose(2, 0, 1)
    found, expected = np.select([a > 3], [a]), np.select([x > 3], [x])
    assert found.strides == expected.strides
    np.testing.assert_array_equal(found.numpy(), expected)
