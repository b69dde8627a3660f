"""Ufuncs, operators, casts and selections, over all layouts and dtypes."""

from __future__ import annotations

import decimal
import fractions
import operator

import numpy as np
import pytest

import taskarr
from taskarr.ops.elementwise import UFUNCS
from tests.layouts import CUT, LAYOUTS
from tests.oracle import Check, verify

RANKS_OF = {"d": (1, 2, 3), "f": (1, 5), "D": (1, 7)}
DTYPES = ["?", "b", "B", "h", "H", "i", "I", "l", "L", "e", "f", "d", "F", "D"]
EXACT = {
    "add",
    "subtract",
    "multiply",
    "bitwise_count",
    "divide",
    "divmod",
    "floor_divide",
    "frexp",
    "ldexp",
    "modf",
    "remainder",
    "fmod",
    "negative",
    "positive",
    "absolute",
    "fabs",
    "sign",
    "square",
    "sqrt",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "copysign",
    "nextafter",
    "spacing",
    "heaviside",
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
    "gcd",
    "lcm",
    "isfinite",
    "isinf",
    "isnan",
    "isnat",
    "signbit",
    "conjugate",
}
OPERATORS = [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "and_",
    "or_",
    "xor",
    "lshift",
    "rshift",
]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


def data(dtype: str, shape: tuple[int, ...] = (7, 5), seed: int = 0) -> np.ndarray:
    """Values of any kind: negative ones, zeros, fractions, and what is not finite."""
    rng = np.random.default_rng([seed, *shape])
    values = rng.integers(-4, 9, shape)
    kind = np.dtype(dtype).kind
    if kind == "f":
        values = values / 4
        values.reshape(-1)[3:6] = (np.nan, np.inf, -np.inf)[: max(0, values.size - 3)]
    if kind == "c":
        values = values / 4 + 1j * rng.integers(-4, 9, shape)
    if kind == "u":
        values = abs(values)
    return values.astype(dtype)


def function(name: str, output: int | None = None):
    """Function of ``(xp, *operands)`` that calls a ufunc, and takes one of several outputs."""
    if output is None:
        return lambda xp, *operands: getattr(xp, name)(*operands)
    return lambda xp, *operands: getattr(xp, name)(*operands)[output]


def outputs(name: str) -> tuple[int | None, ...]:
    count = getattr(np, name).nout
    return tuple(range(count)) if count > 1 else (None,)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_ufunc(dtype):
    a, b = data(dtype), data(dtype, seed=1)
    verify(
        (
            (
                Check(
                    f"{name} {output}",
                    function(name, output),
                    (a, b)[: getattr(np, name).nin],
                    exact=name in EXACT,
                ),
                CUT[k % len(CUT)],
            )
            for k, name in enumerate(UFUNCS)
            for output in outputs(name)
        ),
        ranks=RANKS_OF.get(dtype, (3,)),
    )


@pytest.mark.parametrize("placing", LAYOUTS, ids=str)
def test_ufuncs_in_every_layout(placing):
    a, b = data("d", placing.shape), data("d", placing.shape, 1)
    checks = [Check(n, function(n), (a, b)) for n in ("add", "maximum", "less", "divide")]
    checks += [Check(n, function(n), (a,)) for n in ("sqrt", "negative", "isnan")]
    verify(checks, placings=[placing], flow=0 not in placing.shape and placing.split is not None)


@pytest.mark.parametrize("name", [*OPERATORS, *COMPARISONS])
def test_operators(name):
    act = getattr(operator, name)
    checks = []
    for dtype in ("?", "B", "i", "f", "d", "D"):
        x, y = data(dtype), data(dtype, seed=1)
        checks.append(
            Check(f"{dtype} {name} same", lambda xp, a, b: act(a, b), (x, y), name != "pow")
        )
        for scalar in (2, 2.5, True, 300, -1, 1j, np.float32(2), np.int8(3)):
            checks += [
                Check(
                    f"{dtype} {name} {scalar!r}",
                    lambda xp, a, s: act(a, s),
                    (x,),
                    name != "pow",
                    (scalar,),
                ),
                Check(
                    f"{scalar!r} {name} {dtype}",
                    lambda xp, a, s: act(s, a),
                    (x,),
                    name != "pow",
                    (scalar,),
                ),
            ]
        checks.append(
            Check(f"{dtype} {name} host", lambda xp, a, s: act(a, s), (x,), name != "pow", (y,))
        )
        checks.append(
            Check(f"host {name} {dtype}", lambda xp, a, s: act(s, a), (x,), name != "pow", (y,))
        )
    verify(checks, ranks=(3,), placings=[CUT[len(name) % 2]])


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_in_place(name):
    act = getattr(operator, f"i{name.rstrip('_')}")

    def into(xp, a, b):
        before = a
        a = act(a, b)
        assert a is before
        return a

    checks = []
    for left in ("?", "B", "i", "f", "d"):
        for right in ("B", "i", "d"):
            operands = data(left), data(right, seed=1)
            checks.append(Check(f"{left} {name}= {right}", into, operands, exact=name != "pow"))
        checks += [
            Check(f"{left} {name}= {scalar}", into, (data(left),), name != "pow", (scalar,))
            for scalar in (2, 2.5, 300, True)
        ]
    verify(checks, ranks=(3,), placings=[CUT[len(name) % 2]])


def test_powers_with_short_cuts():
    checks = [
        Check(f"{dtype} ** {exponent!r}", lambda xp, a, e: a**e, (data(dtype),), False, (exponent,))
        for dtype in ("?", "B", "i", "e", "f", "d", "D")
        for exponent in (-1, 0, 0.5, 1, 2, 3, 2.0, 1.0, -1.0, np.float64(2), np.int8(2), True, 2j)
    ]
    verify(checks, ranks=(1, 2))


def test_unary_operators():
    checks = [
        Check(f"{act.__name__} {dtype}", lambda xp, a, f=act: f(a), (data(dtype),))
        for dtype in DTYPES
        for act in (operator.neg, operator.pos, operator.abs, operator.invert)
    ]
    verify(checks, ranks=(1, 2, 5), placings=CUT[2:3])


def test_casts():
    checks = []
    for source in DTYPES:
        x = np.nan_to_num(data(source), posinf=3, neginf=-3) if source in "efd" else data(source)
        for target in (*DTYPES, "S8", "U12"):
            if np.dtype(source).kind == "c" and np.dtype(target).kind not in "cSU":
                continue
            checks.append(Check(f"{source} to {target}", lambda xp, a, t=target: a.astype(t), (x,)))
        checks += [
            Check(f"{source} to i2, {rule}", lambda xp, a, r=rule: a.astype("i2", casting=r), (x,))
            for rule in ("no", "equiv", "safe", "same_kind")
        ]
    verify(checks, ranks=(1, 3))


def test_cast_of_complex_numbers_warns_as_numpy_does():
    for act in (
        lambda: np.ones(3, "D").astype("d"),
        lambda: taskarr.ones(3, "D").astype("d").numpy(),
    ):
        with pytest.warns(np.exceptions.ComplexWarning):
            act()


def test_selection():
    a, b, c = data("i"), data("d", seed=1), data("?", seed=2)
    checks = [
        Check("where", lambda xp, c, a, b: xp.where(c, a, b), (c, a, b)),
        Check("where of numbers", lambda xp, a, b: xp.where(a, a, b), (a, b)),
        Check("where with scalars", lambda xp, c: xp.where(c, 1, 2.5), (c,)),
        Check("where with weak scalar", lambda xp, c, a: xp.where(c, a, 0), (c, data("f"))),
        Check("where with wrapped scalar", lambda xp, c, a: xp.where(c, a, 300), (c, data("b"))),
        Check("where with large scalar", lambda xp, c, a: xp.where(c, a, 2**100), (c, data("f"))),
        Check("where with huge scalar", lambda xp, c, a: xp.where(c, a, 2**100), (c, data("b"))),
        Check("where with row", lambda xp, c, a, b: xp.where(c, a[0], b), (c, a, b)),
        Check("where of comparison", lambda xp, a, b: xp.where(a > b, a, b), (a, b)),
        Check("where, wrong shapes", lambda xp, c, a: xp.where(c, a[:, :2], 0), (c, a)),
    ]
    verify(checks, placings=LAYOUTS[:5])


def test_dates_and_durations():
    t = np.datetime64("2013-01-01", "D") + np.arange(35).reshape(7, 5) * np.timedelta64(1, "D")
    t[2, 2] = np.datetime64("NaT")
    d = np.arange(35).reshape(7, 5).astype("m8[h]")
    checks = [
        Check("date + duration", lambda xp, t, d: t + d, (t, d)),
        Check("date - date", lambda xp, t, d: t - t[::-1], (t, d)),
        Check("date - duration", lambda xp, t, d: t - d, (t, d)),
        Check("date + date", lambda xp, t, d: t + t, (t, d)),
        Check("duration * 2", lambda xp, t, d: d * 2, (t, d)),
        Check("duration * 2.5", lambda xp, t, d: d * 2.5, (t, d)),
        Check("duration / duration", lambda xp, t, d: d / d[::-1], (t, d)),
        Check("-duration", lambda xp, t, d: -d, (t, d)),
        Check("abs(duration)", lambda xp, t, d: abs(d), (t, d)),
        Check("date < date", lambda xp, t, d: t < t[::-1], (t, d)),
        Check("date < scalar", lambda xp, t, d: t < np.datetime64("2013-01-09"), (t, d)),
        Check("date + scalar", lambda xp, t, d: t + np.timedelta64(3, "h"), (t, d)),
        Check("date as seconds", lambda xp, t, d: t.astype("M8[s]"), (t, d)),
        Check("date as int", lambda xp, t, d: t.astype("i8"), (t, d)),
        Check("isnat", lambda xp, t, d: xp.isnat(t), (t, d)),
        Check("date * 2", lambda xp, t, d: t * 2, (t, d)),
        Check("maximum", lambda xp, t, d: xp.maximum(t, t[::-1]), (t, d)),
    ]
    verify(checks, placings=LAYOUTS[1:3])


def test_text_of_fixed_width():
    x = np.array(["delta", "united", "", "jetblue", "a", "b", "c"], "U7")
    b = x.astype("S7")
    checks = [
        Check("equal", lambda xp, x, b: x == x[::-1], (x, b)),
        Check("equal to scalar", lambda xp, x, b: x == "united", (x, b)),
        Check("less", lambda xp, x, b: x < x[::-1], (x, b)),
        Check("bytes", lambda xp, x, b: b >= b[::-1], (x, b)),
        Check("bytes and scalar", lambda xp, x, b: b != b"a", (x, b)),
        Check("copy", lambda xp, x, b: x.copy(), (x, b)),
        Check("narrower", lambda xp, x, b: x.astype("U3"), (x, b)),
        Check("wider", lambda xp, x, b: b.astype("S20"), (x, b)),
        Check("divide", lambda xp, x, b: x / 2, (x, b)),
    ]
    verify(checks, placings=LAYOUTS[1:2])


def test_structures_are_copied_and_cut():
    x = np.zeros(7, [("a", "i2"), ("b", "f8", (2,))])
    x["a"] = range(7)
    x["b"][:, 1] = 0.5
    checks = [
        Check("copy", lambda xp, x: x.copy(), (x,)),
        Check("slice", lambda xp, x: x[5:0:-2], (x,)),
        Check("add", lambda xp, x: x + x, (x,)),
    ]
    verify(checks, placings=LAYOUTS[1:2])


def test_long_expression_in_one_pass():
    a, b = data("d"), data("d", seed=1)

    def act(xp, a, b):
        return xp.sqrt(abs(a * a - b / 3)) + (a - b) ** 2 * xp.where(a > b, a, 1.5) - a[0]

    verify([Check("expression", act, (a, b))], placings=LAYOUTS[:5])


WRONG = {
    "overflow of a Python int": lambda xp, a: a.astype("u1") + 300,
    "negative Python int": lambda xp, a: a.astype("u1") + -1,
    "shift of floats": lambda xp, a: a << 1,
    "invert of floats": lambda xp, a: ~a,
    "and of floats": lambda xp, a: a & a,
    "minus of bools": lambda xp, a: -(a > 0),
    "difference of bools": lambda xp, a: (a > 0) - (a > 1),
    "negative power": lambda xp, a: a.astype("i8") ** -1,
    "shapes": lambda xp, a: a + a[:, :3],
    "more shapes": lambda xp, a: a + np.ones((2, 2)),
    "text": lambda xp, a: xp.sqrt(a.astype("U5")),
    "in place, other kind": lambda xp, a: operator.iadd(a.astype("i4"), 1.5),
    "in place, wider shape": lambda xp, a: operator.iadd(a[0], a),
    "in place, divide": lambda xp, a: operator.itruediv(a.astype("i4"), 2),
    "unsafe cast": lambda xp, a: a.astype("i4", casting="safe"),
    "object": lambda xp, a: a + {},
    "no dtype": lambda xp, a: a.astype("float99"),
    "gcd of floats": lambda xp, a: xp.gcd(a, a),
    "too few operands": lambda xp, a: xp.add(a),
    "too many operands": lambda xp, a: xp.sqrt(a, a, a),
    "truth of many": lambda xp, a: bool(a),
    "float of many": lambda xp, a: float(a),
    "int of many": lambda xp, a: int(a),
    "truth of none": lambda xp, a: bool(a[:0]),
    "float of complex": lambda xp, a: float(a[0, 0] * 1j),
    "index of float": lambda xp, a: [1, 2, 3][a[0, 0]],
    "hash": lambda xp, a: hash(a),
}


def test_wrong_calls_raise_as_in_numpy():
    verify(
        [Check(label, act, (data("d"),)) for label, act in WRONG.items()], ranks=(1, 3), flow=False
    )


OBJECTS = (
    *(None, object(), {1}, {}, frozenset(), int, list, ..., NotImplemented, slice(3)),
    *(lambda x: x, (k for k in ())),
)


def test_objects_are_not_equal_to_elements():
    checks = [
        Check(f"{name} {other}", lambda xp, a, o, c=compare: c(a, o), (x,), fixed=(other,))
        for name, compare in (
            ("==", operator.eq),
            ("!=", operator.ne),
            ("reflected", lambda a, other: other == a),
            ("value", lambda a, other: a[0, 0] == other),
            ("in", lambda a, other: other in a),
        )
        for other in OBJECTS
        for x in (data("d"),)
    ]
    verify(checks, ranks=(1, 3), flow=False)


def test_objects_that_may_equal_elements_are_refused():
    a = taskarr.arange(3)
    for other in (decimal.Decimal(1), fractions.Fraction(1), np.dtype("i4"), memoryview(b"abc")):
        for compare in (operator.eq, operator.ne, operator.lt):
            with pytest.raises(TypeError, match="compares with"):
                compare(a, other)


def test_object_dtypes_are_refused():
    for act in (
        lambda: taskarr.asarray(["a", None]),
        lambda: taskarr.arange(3).astype(object),
        lambda: taskarr.arange(3) + np.array([1, None, 3]),
        lambda: taskarr.zeros(3, object),
    ):
        with pytest.raises(TypeError, match="object"):
            act()
