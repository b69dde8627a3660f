"""Writes by basic keys, in place and through views, with NumPy's aliasing."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import taskarr
from tests.device.install import DEVICE
from tests.layouts import CUT, LAYOUTS, RANKS, on_ranks
from tests.oracle import Check, verify

KEYS = [
    0, -1, 3, slice(None), slice(2, 5), slice(None, None, -1), slice(1, None, 3), ..., (), None,
    (3, 4), (slice(None), 2), (slice(1, 6, 2), slice(None, None, -2)), (..., 0), (2, ...),
    (None, 2), slice(4, 4), (slice(None), None, slice(2, 4)), slice(5, 2, -1),
]  # fmt: skip


def numbers(shape=(7, 5), dtype="i8"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


def put(key, value):
    def act(xp, a):
        a[key] = value
        return a

    return act


@pytest.mark.parametrize("layout", LAYOUTS[:5], ids=str)
def test_every_key(layout):
    checks = [Check(f"[{k}] = -1", put(k, -1), (numbers(),)) for k in KEYS]
    for key in KEYS:
        shape = numbers()[key].shape
        checks.append(Check(f"[{key}] = host", put(key, -numbers(shape)), (numbers(),)))
        checks.append(Check(f"[{key}] = host f4", put(key, numbers(shape, "f4") / 2), (numbers(),)))
    verify(checks, placings=[layout], flow=layout.split is not None)


def test_values_are_broadcast():
    values = (
        np.arange(5), np.arange(7)[:, None], np.arange(1), np.ones((1, 1)),
        np.arange(5)[None, None], [1, 2, 3, 4, 5], 2.9, np.float32(2.5), True, np.array(7),
        [[1], [2], [3], [4], [5], [6], [7]],
    )  # fmt: skip
    checks = [Check(f"= {v!r}", put(slice(None), v), (numbers(),)) for v in values]
    checks += [Check(f"row = {v!r}", put(3, v), (numbers(),)) for v in (np.arange(5), [2], 3)]
    verify(checks, placings=LAYOUTS[:5])


@pytest.mark.parametrize("layout", LAYOUTS[:5], ids=str)
def test_distributed_values_of_other_layouts(layout):
    def with_value(make):
        def act(xp, a):
            a[1:6] = make(xp, a)
            return a

        return act

    makes = {
        "replicated": lambda xp, a: xp.asarray(-numbers((5, 5))),
        "columns": lambda xp, a: placed(xp, -numbers((5, 5)), 1),
        "rows": lambda xp, a: placed(xp, -numbers((5, 5)), 0),
        "a row": lambda xp, a: placed(xp, -numbers((5,)), 0),
        "its own row": lambda xp, a: a[6],
        "its own column": lambda xp, a: a[1:6, :1],
        "itself shifted": lambda xp, a: a[2:],
        "itself turned": lambda xp, a: a[5:0:-1],
        "itself transposed": lambda xp, a: a[2:].T,
        "an expression": lambda xp, a: a[:5] * 2 + a[2:],
        "a reduction": lambda xp, a: a.sum(axis=0),
        "fractions": lambda xp, a: a[1:6] / 4,
    }

    def placed(xp, x, split):
        return xp.asarray(x, split=split) if xp is taskarr else x

    verify([Check(n, with_value(m), (numbers(),)) for n, m in makes.items()], placings=[layout])


def views(xp, a):
    """A view sees writes to its base and the other way round."""
    row, back, turned = a[2], a[::-1], a.T
    a[2] = 100
    back[0] = -7
    turned[0] += 1000
    row[1:3] *= 3
    return row, back, turned, a


def chains(xp, a):
    b = a[1:]
    c = b[:, 1:]
    c += 1
    b[0] = 0
    a[:, 2] = c[0, 0]
    return a, b, c


def swap(xp, a):
    t = a[0, 0]
    a[0, 0] = a[1, 1]
    a[1, 1] = t
    return a, t


def swap_rows(xp, a):
    t = a[0].copy()
    a[0] = a[1]
    a[1] = t
    return a, t


def no_swap_of_views(xp, a):
    t = a[0]
    a[0] = a[1]
    a[1] = t
    return a, t


def copies(xp, a):
    b = a.copy()
    c = a + 0
    d = a.astype("i8")
    e = a.astype("i8", copy=False)
    a[0] = -1
    b[1] = -2
    e[3] = -4
    return a, b, c, d, e


def scalars(xp, a):
    total = a.sum()
    before = total
    total += 5
    first = a[0, 0]
    a[0, 0] += 9
    first += 0.5
    return total, before, first, a


def zero_dimensional_views(xp, a):
    v = a[..., 2, 2]
    v[...] = 77
    v += 1
    w = v[()]
    v -= 70
    return a, v, w


def old_values(xp, a):
    """Expressions see the values of when they were written down."""
    b = a * 2
    c = a[1:] + 0
    a[...] = 0
    return b, c, a


def overlapping(xp, a):
    a[1:] = a[:-1]
    a[:, :-1] += a[:, 1:]
    a[::-1] -= a
    return a, a[0]


def own_operand(xp, a):
    a += a
    a *= a.T[:1].T
    a -= a[0]
    return a, a[1]


def alias(xp, a):
    b = a
    b += 1
    b[0] = 5
    return a, b


def in_place_dtypes(xp, a):
    x = a.astype("f4")
    x += 1e10
    x[1:] /= 3
    x **= 2
    y = a.astype("u1")
    y[...] -= 1
    y <<= 1
    return x, y


def made_by_reading(xp, a):
    b = a[a > 5]
    b[:3] = 0
    c = xp.zeros((3, 2))
    c[1] = 2
    d = xp.zeros(())
    d[...] = 4
    return b, c, d


def iterated(xp, a):
    for k, row in enumerate(a):
        row[...] = row[::-1] + k
    return a, a[0]


def repeated(xp, a):
    for k in range(5):
        a[1:-1] = (a[:-2] + a[2:]) // 2
        a[0] = k
    return a, a[3]


PROGRAMS = (
    views, chains, swap, swap_rows, no_swap_of_views, copies, scalars, zero_dimensional_views,
    old_values, overlapping, own_operand, alias, in_place_dtypes, made_by_reading, iterated,
    repeated,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_aliasing(program):
    def result(k, computed):
        def act(xp, a):
            if computed and xp is taskarr:
                a = (a + 0).persist()
            return program(xp, a)[k]

        return act

    count = len(program(np, numbers()))
    checks = [
        Check(
            f"{program.__name__}[{k}] {c}",
            result(k, c),
            (numbers(),),
            exact=program is not in_place_dtypes,
        )
        for k in range(count)
        for c in (False, True)
    ]
    verify(checks, ranks=(1, 2, 5), placings=LAYOUTS[:5])


def test_casts_of_values():
    checks = []
    for dtype, value in (
        ("u1", 300), ("u1", -1), ("u1", np.int64(300)), ("i4", 2.9), ("?", 7), ("f4", 1e300),
        ("i8", 1j), ("f8", 1 + 1j), ("i4", "12"), ("i4", "text"), ("U2", "long"), ("S4", 12),
        ("i4", None), ("f8", None), ("i4", np.nan), ("M8[D]", "2013-01-01"), ("M8[D]", 5),
        ("i4", np.datetime64("2013-01-01")), ("i4", object()), ("i4", {}), ("i8", 2**63),
        ("f8", np.ones(5) * 1j), ("u1", np.full(5, 300)), ("i4", ["1"] * 5),
    ):  # fmt: skip
        x = np.zeros((7, 5), dtype)
        checks.append(Check(f"{dtype} = {value!r}", put(slice(1, 3), value), (x,)))
    verify(checks, ranks=(1, 3), flow=False)


NESTED = np.dtype([("a", "i4"), ("b", [("c", "f8"), ("d", "u1")]), ("e", "f4", (2,))])


def put_flat(key, value):
    """Write through the flat array."""

    def act(xp, a):
        a.flat[key] = value
        return a

    return act


def test_records_of_records_are_written_from_tuples():
    record, row = (1, (2.5, 3), [4, 5]), np.zeros(7, NESTED)
    values = [record, (1, (2.5, 3), 4), [record], [1, 2, 3], (1, (2.5, 300), 4), (1, (2, "x"), 4)]
    values += [(1, 2), (), None, 1, np.array(record, NESTED), np.array([record], NESTED)]
    checks = [
        Check(f"{act.__name__} {key} {value}", act(key, value), (row,))
        for value in values
        for act, key in ((put, 3), (put, slice(2, 5)), (put, [1, 6]), (put_flat, 3))
    ]
    alone = np.zeros((), NESTED)
    checks += [Check(f"alone {key}", put(key, record), (alone,)) for key in ((), ...)]
    checks.append(Check("field", lambda xp, a: put(2, (2.5, 3))(xp, a["b"]), (row,)))
    verify(checks, ranks=(1, 3), flow=False)


@pytest.mark.parametrize("part", ["real", "imag"])
def test_parts_lose_what_they_cannot_hold(part):
    """NumPy makes an array of what is set, and casts it as ``astype`` does."""

    def act(xp, a, value):
        setattr(a, part, value)
        return a

    values = [-1, 300, 2.5, 2 + 1j, np.nan, "3", "x", None, [300] * 7, [1j] * 7, [[1] * 7]]
    values += [[1, 2], np.full(7, 1j), np.complex64(1 + 2j)]
    checks = [
        Check(f"{dtype} {value}", act, (np.zeros(7, dtype),), fixed=(value,))
        for dtype in ("u1", "i8", "f8", "c16")
        for value in values
    ]
    own = Check("own", lambda xp, a: act(xp, a, a[::-1] * 1j), (np.arange(7.0) * 1j,))
    verify([*checks, own], ranks=(1, 3), flow=False)


WRONG = {
    "too long": put(slice(None), np.zeros(4)),
    "too many rows": put(slice(0, 2), np.zeros((3, 5))),
    "too many axes": put(0, np.zeros((2, 5))),
    "column as row": put(slice(None), np.zeros(7)),
    "row out of bounds": put(7, 0),
    "too many keys": put((0, 0, 0), 0),
    "text as key": put("a", 0),
    "fraction as key": put(1.5, 0),
    "sequence into element": put((0, 0), [1, 2]),
    "array into element": lambda xp, a: put((0, 0), a)(xp, a),
    "array into complex element": lambda xp, a: put((0, 0), a)(xp, a.astype("c16")),
    "array into 0-d view": lambda xp, a: put((..., 0, 0), a)(xp, a.astype("c16")),
    "list into 0-d array": lambda xp, a: put(..., [1, 2])(xp, xp.zeros(())),
    "nothing into element": lambda xp, a: put((0, 0), a[:0])(xp, a),
    "ragged": put(0, [[1, 2], [3]]),
    "into a scalar": lambda xp, a: put((), 1)(xp, a[0, 0]),
    "into a sum": lambda xp, a: put(..., 1)(xp, a.sum()),
    "into empty": put(slice(0, 0), np.zeros((2, 5))),
}


def test_wrong_writes_raise_and_change_nothing():
    def guarded(act):
        def unchanged(xp, a):
            before = a.copy()
            try:
                act(xp, a)
            except Exception as error:
                caught = error
            else:
                caught = None
            assert (a == before).all()
            if caught is not None:
                raise caught
            return a

        return unchanged

    checks = [Check(name, guarded(act), (numbers(),)) for name, act in WRONG.items()]
    verify(checks, ranks=(1, 3), placings=CUT[:2], flow=False)


def test_deletion_is_refused():
    checks = [
        Check("element", lambda xp, a: operator.delitem(a, 0), (numbers(),)),
        Check("list", lambda xp, a: operator.delitem(a, [0]), (numbers(),)),
        Check("out of range", lambda xp, a: operator.delitem(a, 99), (numbers(),)),
        Check("of a number", lambda xp, a: operator.delitem(a[0, 0], ()), (numbers(),)),
        Check("flat", lambda xp, a: operator.delitem(a.flat, 0), (numbers(),)),
    ]
    verify(checks, ranks=(1, 3), flow=False)


@pytest.mark.parametrize("n", RANKS)
def test_what_can_fail_on_data_fails_before_the_write(n):
    x = np.arange(10)
    negative, text = np.full(8, -1), np.array(["1", "x"] * 4)
    writes = {
        "power": lambda a, p, make: a.__setitem__(np.s_[2:], p[2:] ** make(negative)),
        "in place": lambda a, p, make: a.__ipow__(make(np.full(10, -2))),
        "scalar": lambda a, p, make: p**-1,
        "text": lambda a, p, make: a.__setitem__(np.s_[2:], make(text).astype(float)),
        "single": lambda a, p, make: a.__setitem__(0, a[:1]),
        "nested": lambda a, p, make: a.__setitem__(0, [[1]]),
        "power at": lambda a, p, make: np.power.at(a, [1, 2], -2),
        "powers at": lambda a, p, make: np.power.at(a, [1, 2], make(negative[:2])),
    }
    if DEVICE != "cpu":  # which hold no text
        del writes["text"]

    def outcomes(make):
        found, a = {}, make(x)
        for name, write in writes.items():
            try:
                write(a, make(x + 1), make)
            except Exception as error:
                found[name] = type(error)
        a[1:3] = 7
        return found, np.asarray(a)

    wanted, after = outcomes(np.array)
    found, values = on_ranks(n, lambda world: outcomes(taskarr.asarray)).value
    assert found == wanted
    assert set(wanted) == set(writes)
    np.testing.assert_array_equal(values, after)


PAIR = np.dtype([("x", "f8"), ("n", "i8")])
UNFIT = {
    "field": (np.zeros(3, PAIR), np.array([(1.0, "q")] * 2, [("x", "f8"), ("n", "U4")])),
    "dates as short text": (np.array(["a", "bb", "ccc"]), np.array(["2020-01-01"] * 2, "M8[D]")),
    "text as bytes": (np.array([b"a", b"b", b"c"]), np.array(["x", "\xe9"])),
    "bytes as text": (np.array(["a", "b", "c"]), np.array([b"x", b"\xe9"])),
    "void as numbers": (np.zeros(3), np.array([b"zz", b"yy"]).view("V2")),
}
WRITES = {
    "slice": lambda xp, a, v: operator.setitem(a, slice(None, 2), v),
    "index": lambda xp, a, v: operator.setitem(a, [0, 1], v),
    "mask": lambda xp, a, v: operator.setitem(a, np.array([True, True, False]), v),
    "copyto": lambda xp, a, v: xp.copyto(a[:2], v, casting="unsafe"),
    "put": lambda xp, a, v: xp.put(a, [0, 1], v),
    "flat": lambda xp, a, v: operator.setitem(a.flat, [0, 1], v),
}


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU has no text")
@pytest.mark.parametrize("name", WRITES)
def test_values_that_cannot_be_cast_are_refused_by_the_write(name):
    for a, v in UNFIT.values():
        with pytest.raises((ValueError, RuntimeError)) as refused:
            WRITES[name](np, a.copy(), v)
        wanted = refused.type
        for n in (1, 3):

            def job(world, a=a, v=v, wanted=wanted):
                b = taskarr.asarray(a, split=0)
                with pytest.raises(wanted):
                    WRITES[name](taskarr, b, taskarr.asarray(v, split=0))
                return b.numpy()

            np.testing.assert_array_equal(on_ranks(n, job).value, a)
