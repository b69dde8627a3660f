"""Values of zero dimensions as numbers of Python: hashes, JSON, text; the page on them."""

from __future__ import annotations

import doctest
import fractions
import json
import math
import operator
import pathlib

import numpy as np
import pytest

import taskarr
from scheduler import SPMDError
from tests.device.install import DEVICE
from tests.layouts import CUT, RANKS, on_ranks
from tests.oracle import Check, outcome, verify

X = np.arange(35.0).reshape(7, 5)
PAGE = pathlib.Path(__file__).parents[1] / "docs" / "scalars.md"


def test_the_page_is_true():
    found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 20
    assert not found.failed


class Encoder(json.JSONEncoder):
    def default(self, o):
        return "other" if isinstance(o, complex) else super().default(o)


USES = {
    "hash": lambda xp, a: hash(a.sum()),
    "hash of element": lambda xp, a: hash(a[1, 2]),
    "hash of integer": lambda xp, a: hash(a.astype("i4").max()),
    "hash of bool": lambda xp, a: hash(a.any()),
    "set": lambda xp, a: len({a[1, 1], a[1, 1] + 0, a[1, 2]}),
    "dictionary": lambda xp, a: {a[0, 1]: "one"}[1.0],
    "in": lambda xp, a: a[0, 1] in {1.0, 2.0},
    "json": lambda xp, a: json.dumps([a.sum(), {"x": a.mean()}]),
    "json of complex": lambda xp, a: json.dumps([a.sum(), 1j], cls=Encoder, indent=2),
    "json of parts": lambda xp, a: "".join(Encoder().iterencode({"x": a[3, 3]})),
    "%": lambda xp, a: "%d %.3f %s %x" % (a[1, 2], a.mean(), a.max(), a.astype(int)[3, 3]),  # noqa: UP031
    "format": lambda xp, a: f"{a.sum():>10.1e}|{a.astype(int)[1, 1]:05d}|{a.any()}",
    "format of text": lambda xp, a: f"{a.astype('U5')[1, 1]:>8}",
    "trunc": lambda xp, a: math.trunc(a[1, 1] / 4),
    "floor": lambda xp, a: (math.floor(a[1, 1] / 4), math.ceil(a[1, 1] / 4)),
    "round": lambda xp, a: (round(a.mean() / 3), round(a.mean() / 3, 2)),
    "int of large": lambda xp, a: int(a.astype("i8")[0, 1] * 0 + (2**62 + 1)),
    "float of complex": lambda xp, a: (float(a[1, 1] * 1j), int(a[1, 1] * 1j + 2)),
    "of an array": lambda xp, a: (float(a[1, 1, ...]), int(a[1, 1, ...]), bool(a[1, 1, ...])),
    "isclose": lambda xp, a: math.isclose(a.sum(), 595),
    "shift": lambda xp, a: 1 << a.astype(int)[0, 3].item(),
    "repeat": lambda xp, a: "ab" * operator.index(a.astype(int)[0, 3]),
    "slice": lambda xp, a: "abcdef"[: a.astype(int)[0, 3]],
    "largest": lambda xp, a: float(max(a[0, 0], a[3, 3], 7)),
    "sorted": lambda xp, a: [float(v) for v in sorted([a[3, 3], a[0, 0], a[1, 1]])],
    "tolist": lambda xp, a: (a.sum().tolist(), a[:2].tolist(), a[:0].tolist()),
    "tobytes": lambda xp, a: (a.sum().tobytes(), a.T.tobytes(), a.tobytes("F")),
    "array of objects": lambda xp, a: np.asarray([a.sum(), a.mean()]).tolist(),
}


def test_values_are_numbers():
    uses = {k: v for k, v in USES.items() if DEVICE == "cpu" or k != "format of text"}
    checks = [Check(name, act, (X,)) for name, act in uses.items()]
    verify(checks, ranks=(1, 3), placings=CUT[:2])


WRONG = {
    "hash of array": lambda xp, a: hash(a),
    "hash of array without axes": lambda xp, a: hash(xp.asarray(np.array(3.0))),
    "json of array": lambda xp, a: json.dumps(a),
    "json of others": lambda xp, a: json.dumps(object()),
    "json of set": lambda xp, a: json.dumps({1, 2}),
    "written": lambda xp, a: operator.setitem(a.sum(), Ellipsis, 3),
    "index of fraction": lambda xp, a: "abc"[a[0, 1]],
    "complex of many": lambda xp, a: complex(a),
    "complex of text": lambda xp, a: complex(a.astype("U3")),
    "float of a complex array": lambda xp, a: float(xp.asarray(np.array(1j))),
    "int of a complex array": lambda xp, a: int(xp.asarray(np.array(1j))),
    "trunc of complex": lambda xp, a: math.trunc(a[0, 1] * 1j),
    "trunc of NaN": lambda xp, a: math.trunc(a[0, 1] * np.nan),
}


def test_what_is_wrong_raises_as_in_numpy():
    checks = [Check(name, act, (X,)) for name, act in WRONG.items()]
    verify(checks, ranks=(1, 3), placings=CUT[:1], flow=False)


def test_encoders_are_as_they_were_for_others():
    assert json.dumps({"a": [1, 2.5, None, "x"]}) == '{"a": [1, 2.5, null, "x"]}'
    assert json.loads(json.dumps({"a": taskarr.ones(3).sum()})) == {"a": 3.0}
    assert outcome(lambda: json.dumps(fractions.Fraction(1, 2))) is TypeError
    assert json.dumps(fractions.Fraction(1, 2), default=str) == '"1/2"'


def test_json_under_one_rank_is_told():
    def job(world):
        total = (taskarr.arange(7, split=0) * 2).sum()
        with pytest.raises(SPMDError):
            if world.rank == 0:
                json.dumps(total)
            else:
                float(total * 2)

    on_ranks(3, job)


_METHODS = "transpose squeeze ravel flatten copy conj round sum cumsum mean view argmax any"
_FUNCTIONS = """
i0 sinc nan_to_num real imag angle around fix copy transpose squeeze ravel iscomplex isreal square
abs sqrt array zeros_like ones_like atleast_1d flip sum ptp average nansum isposinf signbit cumsum
conj sign rint
"""
KINDS = {
    **{f"{m}()": lambda xp, x, m=m: getattr(x, m)() for m in _METHODS.split()},
    **{f: lambda xp, x, f=f: getattr(xp, f)(x) for f in _FUNCTIONS.split()},
    "T": lambda xp, x: x.T,
    "real part": lambda xp, x: x.real,
    "reshape": lambda xp, x: x.reshape(()),
    "astype": lambda xp, x: x.astype("f4"),
    "take": lambda xp, x: x.take(0),
    "[()]": lambda xp, x: x[()],
    "[...]": lambda xp, x: x[...],
    "where": lambda xp, x: xp.where(x > 1, x, 0.0),
    "select": lambda xp, x: xp.select([x > 1], [x]),
    "piecewise": lambda xp, x: xp.piecewise(x, [x > 1], [1, 2]),
    "clip": lambda xp, x: xp.clip(x, 0, 1),
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, ()),
    "isclose": lambda xp, x: xp.isclose(x, 2.0),
    "full_like": lambda xp, x: xp.full_like(x, 3),
}


def test_what_numpy_gives_as_a_scalar_never_changes():
    def of(xp):
        return {
            (k, name): getattr(found, "_fixed", not isinstance(found, np.ndarray))
            for k, x in enumerate((xp.asarray(np.array(2.0)), xp.asarray(np.array([2.0, 3]))[0]))
            for name, act in KINDS.items()
            if not isinstance(found := act(xp, x), tuple)
        }

    assert of(taskarr) == of(np)


PEOPLE = np.array([(3, 0.5), (1, 2.5), (2, 1.5)], [("age", "i4"), ("share", "f8")])


def renumbered(xp, a):
    b = xp.copy(a)
    b[1][0] = 7
    b[2][-1] += b[0][1]
    return b


RECORDS = {
    "by number": lambda xp, a: [float(v) for v in (a[1][0], a[-1][1], a[0][np.int8(-2)])],
    "unpacked": lambda xp, a: [float(age * share) for age, share in a],
    "length": lambda xp, a: len(a[2]),
    "hash": lambda xp, a: {a[0][1]: "half"}[0.5],
    "written": renumbered,
    "a bool is no number": lambda xp, a: a[1][True].shape,
    "number too large": lambda xp, a: a[0][2],
    "number too small": lambda xp, a: a[0][-3],
    "written too far": lambda xp, a: operator.setitem(xp.copy(a)[0], 2, 1),
    "two numbers": lambda xp, a: a[0][0, 1],
}


@pytest.mark.skipif(DEVICE != "cpu", reason="a GPU has no structured arrays")
def test_fields_of_an_element_have_numbers():
    checks = [Check(name, act, (PEOPLE,)) for name, act in RECORDS.items()]
    verify(checks, ranks=(1, 2, 3), placings=CUT[:1], flow=False)


def test_fill():
    def job(world):
        a = taskarr.asarray(X, split=0)
        a[1:3].fill(7.9)
        a[4].fill(a[6, 0])
        b = taskarr.zeros(5, "i2")
        b.fill(3.7)
        for wrong in (([1, 2],), (np.ones(2),), ("text",), (a,)):
            with pytest.raises((ValueError, TypeError)):
                b.fill(*wrong)
        with pytest.raises(TypeError):
            a.sum().fill(3)
        return a.numpy(), b.numpy()

    wanted = X.copy()
    wanted[1:3], wanted[4] = 7.9, 30
    for n in RANKS:
        a, b = on_ranks(n, job).value
        np.testing.assert_array_equal(a, wanted)
        assert b.tolist() == [3] * 5


@pytest.mark.skipif(DEVICE != "cpu", reason="the stand-in for a GPU has no DLPack")
def test_dlpack_of_the_local_brick():
    def job(world):
        a = taskarr.asarray(X, split=0) * 2
        mine = np.from_dlpack(a)
        np.testing.assert_array_equal(mine, a.local)
        assert np.shares_memory(mine, a.local) or not mine.size
        assert not mine.flags.writeable or not mine.size
        before = world.counters.copy()
        assert a.__dlpack_device__() == (1, 0)
        assert world.counters == before
        with pytest.raises(BufferError, match="copy"):
            a.__dlpack__(copy=False)
        assert a.__dlpack__() is not None
        return a.numpy()

    for n in (1, 3, 7):
        np.testing.assert_array_equal(on_ranks(n, job).value, X * 2)
