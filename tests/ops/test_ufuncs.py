"""Calls of ufuncs with outputs, masks, dtypes and casting, and operands of every kind."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import taskarr
from taskarr.ops import ufuncs
from taskarr.ops.elementwise import SPELLINGS, UFUNCS
from tests.layouts import CUT, LAYOUTS, RANKS, on_ranks, quiet
from tests.ops.test_elementwise import EXACT, data, function, outputs
from tests.oracle import Check, attempt, verify

LOOPS = [(name, loop) for name, f in UFUNCS.items() for loop in f.types if "O" not in loop]
A, B, M = data("d"), data("d", seed=1), data("?", seed=2)
INTS, MORE = data("i"), data("i", seed=1)


def values(char: str, seed: int) -> np.ndarray:
    """Operand of a loop's type."""
    if char in "mM":
        found = data("l", seed=seed).astype(f"{char}8[s]")
        found[1, 2] = "NaT"
        return found
    return data(char, seed=seed)


def test_the_table_is_numpys():
    ours = {f for f in vars(np).values() if isinstance(f, np.ufunc) and not f.signature}
    assert set(UFUNCS.values()) == ours
    assert all(callable(getattr(taskarr, name)) for name in SPELLINGS)
    assert {"abs", "conj", "mod", "true_divide", "pow", "atan2", "bitwise_not"} <= set(SPELLINGS)


def test_every_loop():
    """Loops whose operands differ in type, and those of wide floats, dates and durations."""
    checks = []
    for k, (name, loop) in enumerate(LOOPS):
        kinds, _ = loop.split("->")
        if len(set(kinds)) == 1 and not set(kinds) & set("gGmM"):
            continue
        operands = tuple(values(c, seed) for seed, c in enumerate(kinds))
        for number in outputs(name):
            act = function(name, number)
            check = Check(f"{name} {loop} {number}", act, operands, exact=name in EXACT)
            checks.append((check, CUT[k % len(CUT)]))
    assert len(checks) > 100
    verify(checks, ranks=(3,))


def into(name, *outs, **options):
    """Call with ``out=``: gives the outputs, which must be what the call gave."""

    def act(xp, *arrays):
        ufunc = getattr(np if outs else xp, name)
        operands, targets = arrays[: ufunc.nin], arrays[ufunc.nin :]
        spare = iter(targets)
        out = tuple(next(spare) if used else None for used in outs)
        found = ufunc(*operands, out=out if len(out) > 1 else out[0], **options)
        found = found if isinstance(found, tuple) else (found,)
        for got, target in zip(found, out, strict=True):
            assert target is None or got is target
        return found[-1]

    return act


OUT = {
    "same dtype": (into("add", True), (A, B, np.zeros((7, 5)))),
    "narrower": (into("add", True), (A, B, np.zeros((7, 5), "f"))),
    "wider": (into("add", True), (INTS, MORE, np.zeros((7, 5), "D"))),
    "other kind": (into("add", True), (A, B, np.zeros((7, 5), "i"))),
    "comparison into floats": (into("less", True), (A, B, np.zeros((7, 5)))),
    "broadcast into more rows": (into("add", True), (A[0], B[1], np.zeros((7, 5)))),
    "broadcast into one row": (into("add", True), (A, B, np.zeros(5))),
    "wrong shape": (into("add", True), (A, B, np.zeros((7, 3)))),
    "divmod": (into("divmod", True, True), (INTS, MORE, np.zeros((7, 5), "l"), np.zeros((7, 5)))),
    "divmod, one": (into("divmod", None, True), (INTS, MORE, np.zeros((7, 5)))),
    "modf, one": (into("modf", True, None), (A, np.zeros((7, 5)))),
    "frexp": (into("frexp", True, True), (A, np.zeros((7, 5)), np.zeros((7, 5), "i"))),
    "frexp, other kind": (into("frexp", None, True), (A, np.zeros((7, 5), "B"))),
    "one of two has more rows": (into("modf", True, None), (A[0], np.zeros((7, 5)))),
    "two of different shapes": (into("modf", True, True), (A[0], np.zeros(5), np.zeros((7, 5)))),
    "unsafe": (
        into("add", True, casting="unsafe"),
        (np.full((7, 5), 3.5), np.ones(5), np.zeros((7, 5), "i")),
    ),
    "safe": (into("add", True, casting="safe"), (A, B, np.zeros((7, 5), "f"))),
    "dtype": (into("add", True, dtype="f"), (A, B, np.zeros((7, 5)))),
}


@pytest.mark.parametrize("label", OUT)
def test_outputs(label):
    act, operands = OUT[label]
    verify([Check(label, act, operands)], placings=LAYOUTS[:5], ranks=(1, 3), flow=False)


def test_outputs_in_other_layouts():
    def act(xp, a, b, o):
        if xp is taskarr:
            a, b, o = a, b.redistribute(1), o.redistribute(split=(0, 1))
        found = np.multiply(a, b, out=o)
        assert found is o
        return o

    verify([Check("layouts", act, (A, B, np.zeros((7, 5))))])


def views(xp, a, b):
    return {
        "rows": lambda: np.add(a[1:], a[:-1], out=a[:-1]),
        "rows, other way": lambda: np.add(a[1:], a[:-1], out=a[1:]),
        "turned": lambda: np.multiply(a, 2, out=a[::-1]),
        "columns": lambda: np.sqrt(abs(b[:, ::2]), out=a[:, ::2]),
        "transposed": lambda: np.add(a.T, b.T, out=b.T),
        "both outputs are one array": lambda: np.divmod(a[:3], b[:3], out=(a[3:6], a[:3])),
        "operands are outputs": lambda: np.divmod(a, b, out=(b, a)),
        "positional": lambda: np.add(a, b, a),
        "masked": lambda: np.negative(a[1:], out=a[:-1], where=a[1:] > 0),
    }


@pytest.mark.parametrize("label", views(None, None, None))
def test_outputs_that_alias(label):
    def act(xp, a, b):
        views(xp, a, b)[label]()
        return xp.where(xp.isfinite(a), a, 7) + xp.where(xp.isfinite(b), b, 3) * 1000

    verify([Check(label, act, (A, B))], placings=LAYOUTS[1:5], ranks=(1, 2, 5))


@pytest.mark.parametrize("mask", ["mask", "scalar", "host", "column", "list", "nothing"])
def test_masks(mask):
    def act(xp, a, b, m, o, name="divide", **options):
        where = {
            "mask": m,
            "scalar": np.False_,
            "host": M,
            "column": m[:, :1],
            "list": [True, False, True, True, False],
            "nothing": True,
        }[mask]
        return getattr(xp, name)(a, b, out=o, where=where, **options)

    def fresh(xp, a, b, m):
        return act(xp, a, b, m, np.zeros((7, 5)) if xp is np else None)

    def both(xp, a, b, m, o):
        act(xp, a, b, m, (None, o), name="divmod")
        return o

    def narrow(xp, a, b, m, o):
        return act(xp, a, b, m, o, dtype="f", casting="same_kind")

    checks = [
        Check("in an output", act, (A, B, M, np.full((7, 5), 9.0))),
        Check("in a narrower one", act, (A, B, M, np.full((7, 5), 9, "f"))),
        Check("in one of another kind", act, (A, B, M, np.full((7, 5), 9))),
        Check("zero without", fresh, (A, B, M)),
        Check("second of two", both, (A, B, M, np.full((7, 5), 9.0))),
        Check("with a dtype", narrow, (A, B, M, np.full((7, 5), 9.0))),
    ]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[:3], flow=False)


def test_masks_of_any_shape():
    def act(xp, a, b, m, **options):
        options = {"out": np.zeros((7, 5))} if xp is np else {}
        return xp.add(a, b, where=m, **options)

    wide = Check("mask widens the result", act, (A[0], B[1], M))
    verify([wide], ranks=(1, 2))
    wrong = [
        Check(f"{m.dtype} mask", lambda xp, a, m, o: np.add(a, 1, out=o, where=m), (A, m, A))
        for m in (INTS, A, M[:, :3])
    ]
    verify(wrong, ranks=(1, 2), flow=False)


def test_nothing_is_computed_where_a_mask_is_false():
    """A power of integers by a negative number raises, and a mask keeps it from that."""

    def act(xp, a, b, o):
        return xp.power(a, b, out=o, where=b >= 0)

    base, exponent = np.arange(35).reshape(7, 5) % 4 - 1, np.arange(35).reshape(7, 5) % 3 - 1
    verify([Check("power", act, (base, exponent, base.copy()))])


@pytest.mark.parametrize("kind", ["f", "d", "D", "i", "?", "g"])
def test_dtypes(kind):
    checks = [
        Check(
            f"{name} {casting} of {x.dtype}",
            lambda xp, a, b, n=name, c=casting: getattr(xp, n)(a, b, dtype=kind, casting=c),
            (x, y),
            exact=name != "power",
        )
        for name in ("add", "divide", "less", "power", "logical_and")
        for casting in ("same_kind", "unsafe", "no")
        for x, y in ((A, B), (INTS, MORE), (data("e"), data("f", seed=1)))
        if not (kind in "i?" and casting == "unsafe" and name in ("power", "add"))
    ]
    checks += [
        Check("scalar", lambda xp, a: xp.add(a, 1.5, dtype=kind), (INTS,)),
        Check("sqrt", lambda xp, a: xp.sqrt(abs(a), dtype=kind), (INTS,)),
        Check("signature", lambda xp, a: xp.add(a, 1, signature=f"{kind}{kind}->{kind}"), (INTS,)),
        Check("sig", lambda xp, a: xp.add(a, 1, sig=(None, None, kind)), (INTS,)),
        Check("order, subok", lambda xp, a: xp.add(a, 1, order="F", subok=False), (INTS,)),
    ]
    verify(checks, ranks=(1,) if kind in "ig" else (3,), flow=False)


WRONG = {
    "no such keyword": lambda xp, a, h: np.add(a, 1, axis=0),
    "no such order": lambda xp, a, h: np.add(a, 1, order="Z"),
    "no such casting": lambda xp, a, h: np.add(a, 1, casting="gentle"),
    "too many outputs": lambda xp, a, h: np.add(a, 1, out=(a, a)),
    "too few outputs": lambda xp, a, h: np.modf(a, out=(a,)),
    "an output is a number": lambda xp, a, h: np.add(a, 1, out=3),
    "an output is a value of zero dimensions": lambda xp, a, h: np.add(a[0, 0], 1, out=a[0, 0]),
    "an output is read-only": lambda xp, a, h: np.add(a, 1, out=np.broadcast_to(a[0], (7, 5))),
    "an output twice": lambda xp, a, h: np.add(a, 1, a, out=a),
    "dtype and signature": lambda xp, a, h: np.add(a, 1, dtype="f", signature="dd->d"),
    "in place, floats into ints": lambda xp, a, h: operator.iadd(a.astype("i"), 1.5),
    "outer of one": lambda xp, a, h: np.sqrt.outer(a, a),
}


@pytest.mark.parametrize("label", WRONG)
def test_wrong_calls_raise_as_in_numpy(label):
    check = Check(label, WRONG[label], (A,), fixed=(A.copy(),))
    if label == "an output is a value of zero dimensions":
        with pytest.raises(TypeError):
            np.add(A[0, 0], 1, out=A[0, 0])
    verify([check], ranks=(1, 2), flow=False)


def test_numpy_outputs_are_refused():
    a, host = taskarr.arange(5.0), np.zeros(5)
    for act in (
        lambda: np.add(a, 1, out=host),
        lambda: np.modf(a, out=(None, host)),
        lambda: operator.iadd(host, a),
        lambda: np.clip(a, 1, 2, out=host),
        lambda: a.round(out=host),
    ):
        with pytest.raises(TypeError, match=r"numpy\(\)"):
            act()
    assert not host.any()


def test_in_place_on_arrays_of_zero_dimensions_and_views():
    def act(xp, a):
        z = xp.asarray(2.5)
        before, row = z, a[2]
        z += 1
        z *= a[1, 1]
        assert z is before
        row -= z
        a[3] //= 2
        b = a[4:]
        b **= 2
        return a

    verify([Check("in place", act, (np.nan_to_num(A, posinf=3, neginf=-3),))])


def test_outer():
    checks = [
        Check("outer", lambda xp, a, b: np.add.outer(a, b), (A, B[0])),
        Check("with a number", lambda xp, a: np.multiply.outer(a, 3), (A,)),
        Check("of a number", lambda xp, a: np.subtract.outer(3, a), (A,)),
        Check("with NumPy's", lambda xp, a: np.subtract.outer(np.arange(3), a), (A[0],)),
        Check("with a list", lambda xp, a: np.less.outer(a, [1, 2]), (A,)),
        Check("several outputs", lambda xp, a: np.divmod.outer(a, [1, 2])[1], (A,)),
        Check("dtype", lambda xp, a: np.add.outer(a, a, dtype="f"), (A[0],)),
        Check(
            "out and where",
            lambda xp, a, o, m: np.add.outer(a, a, out=o, where=m),
            (A[0], np.ones((5, 5)), M[:5]),
        ),
    ]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[1:3], flow=False)


def test_methods_count_numbers_as_arrays():
    """``outer`` and ``at`` make arrays of their operands, so that a number's dtype counts."""
    small, narrow = np.arange(7, dtype="u1"), np.arange(7, dtype="f")
    checks = [
        Check("more than fits", lambda xp, a: np.add.outer(a, 300), (small,)),
        Check("one that fits", lambda xp, a: np.add.outer(a, 0), (small,)),
        Check("on the left", lambda xp, a: np.subtract.outer(-300, a), (small,)),
        Check("wide float", lambda xp, a: np.multiply.outer(a, 1.0), (narrow,)),
        Check("quotients", lambda xp, a: np.divmod.outer(a, 300)[1], (small,)),
        Check("value", lambda xp, a: np.add.outer(a[3], 300) + a[:1], (small,)),
        *(
            Check(f"at {key} {value}", at(key, value), (small,))
            for key in (2, slice(1, 5), [1, 1, 6])
            for value in (3, 300, -3, 2.5)
        ),
    ]
    verify(checks, ranks=(1, 3), flow=False)


def at(key, value):
    """Add a value at a key of a copy."""

    def act(xp, a):
        np.add.at(a, key, value)
        return a

    return act


def test_other_peoples_ufuncs():
    """Ufuncs that are not in NumPy's namespace."""

    text = np.array(["delta", "a1", "", "xyz", "q", "12", "r"])
    checks = [
        Check("str_len", lambda xp, a: np.strings.str_len(a), (text,)),
        Check("isalpha", lambda xp, a: np.strings.isalpha(a), (text,)),
        Check("out", lambda xp, a, o: np.strings.str_len(a, out=o), (text, np.zeros(7, "h"))),
        Check("add", lambda xp, a: np.add(a, a), (text,)),
        Check("find", lambda xp, a: np.strings.find(a, "e"), (text,)),
    ]
    verify(checks, ranks=(1, 3))


def test_ufuncs_of_one_name_are_told_apart():
    first, second = (np.frompyfunc(abs, 1, 1) for _ in range(2))
    assert first.__name__ == second.__name__

    def job(world):
        return [ufuncs.known_as(f, world)[0] for f in (second, first, second, np.add)]

    names = on_ranks(2, job).value
    assert names[0] == names[2] != names[1]
    assert names[3] == "add"


@pytest.mark.parametrize("name", ["matmul", "vecdot", "matvec", "vecmat"])
def test_ufuncs_of_rows_and_matrices_are_refused(name):
    if hasattr(np, name):
        a = taskarr.ones((3, 3))
        with pytest.raises(NotImplementedError, match=rf"{name}.*numpy\(\)"):
            getattr(np, name)(a, a)


def test_object_dtypes_are_refused():
    a = taskarr.arange(3)
    for act in (
        lambda: np.add(a, 1, dtype=object),
        lambda: np.frompyfunc(abs, 1, 1)(a),
        lambda: np.equal(a, np.array([1, None, 2])),
    ):
        with pytest.raises(TypeError, match="object"):
            act()


def test_a_part_of_the_array_is_no_operand():
    def job(world):
        a = taskarr.asarray(A, split=0)
        mine = np.zeros(a.local.shape)
        with pytest.raises(ValueError, match="from_local"):
            a + mine
        with pytest.raises(ValueError, match="from_local"):
            np.add(mine, a, out=a)
        with pytest.raises(ValueError, match="could not be broadcast"):
            a + np.zeros((4, 4))
        return a.numpy()

    assert np.array_equal(on_ranks(3, job).value, A, equal_nan=True)


def test_operands_are_copied_when_given():
    def job(world):
        a, host = taskarr.ones((7, 5), split=0), np.ones((7, 5))
        mask, row = np.ones((7, 5), bool), np.ones(5)
        found = np.add(a, host, where=mask, out=a.copy()), a * row
        host[:], mask[:], row[:] = 7, False, 9
        return [x.numpy() for x in found]

    total, product = on_ranks(2, job).value
    assert (total == 2).all()
    assert (product == 1).all()


def test_text_and_dates():
    t = np.array(["2020-01-01", "NaT", "2020-02-29", "1969-12-31", "2021-03-04"], "M8[D]")
    d = np.array([1, 2, "NaT", -7, 90], "m8[h]")
    s = np.array(["x", "yy", "", "zzz", "w"])
    checks = [
        Check("units meet", lambda xp, t, d, s: t + d, (t, d, s)),
        Check("days from hours", lambda xp, t, d, s: t - d, (t, d, s)),
        Check("scalar unit", lambda xp, t, d, s: d + np.timedelta64(5, "m"), (t, d, s)),
        Check("times", lambda xp, t, d, s: np.arange(5) * d, (t, d, s)),
        Check("quotient", lambda xp, t, d, s: d // np.timedelta64(3, "h"), (t, d, s)),
        Check("divmod", lambda xp, t, d, s: divmod(d, np.timedelta64(3, "h"))[1], (t, d, s)),
        Check("into days", lambda xp, t, d, s: np.add(t, d, out=t), (t, d, s)),
        Check("isnat", lambda xp, t, d, s: xp.isnat(t) | xp.isnat(d), (t, d, s)),
        Check("isfinite", lambda xp, t, d, s: xp.isfinite(t), (t, d, s)),
        Check("fmax", lambda xp, t, d, s: xp.fmax(t, t[::-1]), (t, d, s)),
        Check("less", lambda xp, t, d, s: t <= t[::-1], (t, d, s)),
        Check("int and date", lambda xp, t, d, s: t + 1, (t, d, s)),
        Check("float and date", lambda xp, t, d, s: t + 1.5, (t, d, s)),
        Check("date times", lambda xp, t, d, s: t * 2, (t, d, s)),
        Check("where", lambda xp, t, d, s: np.add(t, 1, out=t, where=xp.isnat(d)), (t, d, s)),
        Check("joined", lambda xp, t, d, s: s + "!", (t, d, s)),
        Check("joined twice", lambda xp, t, d, s: xp.add(s, s[::-1]), (t, d, s)),
        Check("text and number", lambda xp, t, d, s: s + 1, (t, d, s)),
        Check("text equals number", lambda xp, t, d, s: s == 1, (t, d, s)),
        Check("greater", lambda xp, t, d, s: s > "x", (t, d, s)),
    ]
    verify(checks, ranks=(1, 3))


SHAPES = [(), (1,), (5,), (7, 5), (7, 1), (1, 5), (1, 1), (3, 7, 5), (2, 1), (0, 5), (0,)]


def test_repeated_text():
    def in_place(key: Any, number: Any) -> Any:
        def act(xp: Any, a: Any) -> Any:
            given = number if isinstance(number, int) else xp.asarray(np.array(number))
            if key is None:
                a *= given
            else:
                a[key] *= given
            return a

        return act

    def call(**options: Any) -> Any:
        def act(xp: Any, a: Any) -> Any:
            given = {k: xp.asarray(np.array(v)) for k, v in options.items()}
            return np.multiply(a, 2, out=a, **given)

        return act

    x = np.array(["a", "bbbb", "", "cc", "d"], "U6")
    mask = np.arange(5) % 2 == 0
    keys = (None, slice(1, 3), [0, 3], mask, 1, ...)
    acts = {f"{k} {n}": in_place(k, n) for k in keys for n in (2, -1, True)}
    acts |= {
        "numbers": in_place(None, [0, 1, 2, 3, 4]),
        "floats": in_place(None, [0.5] * 5),
        "too many axes": in_place(None, [[1] * 5]),
        "where": call(where=mask),
        "element": lambda xp, a: str(a[1] * 2),
        "reflected": lambda xp, a: str(3 * a[0]),
        "NumPy's number": lambda xp, a: a[0] * np.int64(2),
        "no width": lambda xp, a: a * 2,
        "no width, ufunc": lambda xp, a: np.multiply(a, 2),
        "at": lambda xp, a: np.multiply.at(a, [0], 2),
        "narrower": lambda xp, a: np.multiply(a, 2, out=xp.zeros(5, "U2")),
    }
    checks = [
        Check(f"{name} {kind}", act, (x.astype(kind),))
        for name, act in acts.items()
        for kind in ("U6", "S6")
    ]
    verify(checks, ranks=(1, 3), flow=False)


@st.composite
def operand(draw):
    """Operand of any kind: what it is, and its value in NumPy."""
    kind = draw(st.sampled_from(["python", "numpy scalar", "host", "list", *["array"] * 5]))
    dtype = draw(st.sampled_from("?bBhIlLefdFD"))
    if kind == "python":
        return kind, draw(st.sampled_from([True, 2, -1, 300, 2.5, 1j, 2**40])), None
    x = data(dtype, draw(st.sampled_from(SHAPES)), seed=draw(st.integers(0, 5)))
    if kind == "numpy scalar":
        return kind, data(dtype, (8,))[7], None
    if kind == "list":
        return kind, x.tolist(), None
    return kind, x, draw(st.sampled_from(CUT))


@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(
    st.lists(operand(), min_size=2, max_size=2),
    st.sampled_from(["add", "multiply", "subtract", "maximum", "less", "copysign", "divmod"]),
    st.sampled_from(RANKS[1:]),
)
def test_operands_of_every_kind(operands, name, ranks):
    if all(kind != "array" for kind, _, _ in operands):
        operands[0] = ("array", np.asarray(operands[0][1]), CUT[0])

    def job(world=None):
        given = [p.place(x) if p and k == "array" and world else x for k, x, p in operands]
        found = attempt(lambda: getattr(np, name)(*given))
        found = found if isinstance(found, tuple | Exception) else (found,)
        if isinstance(found, Exception):
            return type(found).__name__
        return [x.numpy() if isinstance(x, taskarr.Array) else np.asarray(x) for x in found]

    with quiet():
        expected = job()
    found = on_ranks(ranks, job).value
    if isinstance(expected, str):
        assert found == expected
        return
    for x, y in zip(found, expected, strict=True):
        assert (x.shape, x.dtype) == (y.shape, y.dtype)
        assert np.array_equal(x, y, equal_nan=x.dtype.kind in "fc")


@pytest.mark.parametrize("other", [None, {}, object()], ids=["none", "dict", "object"])
def test_nothing_equals_an_object(other):
    a = taskarr.arange(3)
    for operands in ((a, other), (other, a)):
        assert np.equal(*operands).tolist() == [False] * 3
        assert np.not_equal(*operands).tolist() == [True] * 3
    with pytest.raises(TypeError):
        np.greater(a, other)
