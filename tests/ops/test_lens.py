"""Views that are not affine: fields, parts, bytes and diagonals, read and written through."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from tests.layouts import RANKS, on_ranks
from tests.oracle import outcome

PAIR = np.dtype([("a", "i4"), ("b", "f8"), ("c", "S3")])


def pairs(n: int = 7) -> np.ndarray:
    x = np.zeros(n, PAIR)
    x["a"], x["b"], x["c"] = np.arange(n), np.arange(n) / 4, b"xy"
    return x


def number(make):
    return make((np.arange(28.0) + 1j * np.arange(28)[::-1]).reshape(7, 4))


def fields(make):
    a = make(pairs())
    b, two = a["b"], a[["c", "a"]]
    b[::2] = -1
    a["a"] += 10
    a[1]["b"] = 99
    a[2:4]["c"] = b"pq"
    two["a"][5] = 55
    copy = a["a"] * 2
    a["a"][:] = a["b"]
    return a, b, two, copy, a[::-1]["b"]


def parts(make):
    z = number(make)
    re, im = z.real, z.imag
    re[1:, ::2] = 5
    im *= 2
    z.imag[0] = re[-1]
    z[3:].real += im[3:]
    z.T.real = 8.5
    z.real[2] += 1
    return z, re, im, z.conj().imag, re.T


def lone_parts(make):
    x = make(np.arange(6.0))
    x.real[2] = 7
    return x, x.real, x.imag


def bytes_of(make):
    x = make(np.arange(12.0).reshape(3, 4))
    i4, u1, c16, i8 = x.view("i4"), x.view("u1"), x.view("c16"), x.view("i8")
    i4[0, :3] = 3
    u1[1, ::8] = 1
    c16[2].imag = -1
    i8[:, 0] += 1
    return x, i4, u1, c16, i8, x[::-1].view("i4"), x[:, :2].view("c16")


def pairs_of(make):
    x = make(np.arange(12.0).reshape(3, 4))
    pair = x.view([("p", "f4"), ("q", "i4")])
    pair["q"][:, 3] = 7
    return x, pair["p"]


def dates(make):
    x = make(np.arange(5) * 86_400)
    t = x.view("M8[s]")
    t[1] = np.datetime64("2001-02-03")
    return x, t, t.view("i8")


def diagonals(make):
    x = make(np.arange(60).reshape(3, 4, 5))
    d = x.diagonal(), x.diagonal(1, 2, 0), x.diagonal(-2, 0, 1), x.diagonal(9), x[1].diagonal()
    x[0, 0] = 100
    return (*d, x.trace(), x.trace(1, 1, 2), x.diagonal(-1)[1:, ::-1])


PROGRAMS = (fields, parts, lone_parts, bytes_of, pairs_of, dates, diagonals)


def values(found):
    return [x.numpy() if isinstance(x, taskarr.Array) else x for x in found]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_numpy(program):
    expected = program(np.copy)
    for split in (0, -1):
        for n in RANKS:
            ran = on_ranks(n, lambda w, s=split: values(program(lambda x: place(x, s))))
            for got, want in zip(ran.value, expected, strict=True):
                assert (got.dtype, got.shape) == (want.dtype, want.shape)
                np.testing.assert_array_equal(got, want)


def place(x, split):
    return taskarr.asarray(x, split=split)


REFUSED = {
    "no such field": lambda x: x["z"],
    "no such fields": lambda x: x[["a", "z"]],
    "a field of numbers": lambda x: x["b"]["a"],
    "other size of a strided axis": lambda x: x["b"][::2].view("i4"),
    "too short for the dtype": lambda x: x["b"].view("c16"),
    "bytes of one value": lambda x: x["b"][0].view("i4"),
    "imaginary part of a real": lambda x: setattr(x["b"], "imag", 3),
    "writing zeros that are no part": lambda x: x["b"].imag.__setitem__(0, 1),
    "writing a diagonal": lambda x: x["b"].reshape(7, 1).diagonal().__setitem__(0, 1),
    "writing a view of a diagonal": lambda x: x["b"][None].diagonal()[::-1].__setitem__(0, 1),
    "diagonal of a vector": lambda x: x["b"].diagonal(),
    "diagonal of one axis": lambda x: x["b"].reshape(7, 1).diagonal(0, 1, -1),
    "writing a repeated element": lambda x: np.broadcast_to(x["b"], (2, 7)).__setitem__(0, 1),
    "writing through its view": lambda x: np.broadcast_to(x["b"], (2, 7))[0].__setitem__(0, 1),
    "adding to a repeated element": lambda x: np.broadcast_to(x["b"], (2, 7)).__iadd__(1),
    "no copy": lambda x: x["b"][1:].reshape(2, 3).T.reshape(6, copy=False),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_as_numpy(name):
    act = REFUSED[name]
    want = outcome(lambda: act(pairs()))
    got = outcome(lambda: act(taskarr.asarray(pairs())))
    assert isinstance(want, type)
    assert issubclass(got, want)


def test_arrays_within_elements_are_refused():
    x = taskarr.asarray(np.zeros(3, [("v", "f8", 2)]))
    with pytest.raises(NotImplementedError, match=r"\(2,\)"):
        x["v"]


def test_two_structures_of_one_size_are_two_structures():
    for names in (("a", "b"), ("b", "a")):
        x = np.zeros(3, [(names[0], "i4"), (names[1], "f8")])
        x["a"], x["b"] = 1, 2
        a = taskarr.asarray(x)
        assert (a[1:].copy().numpy() == x[1:]).all()
        assert float(a["b"].sum()) == 2 * 3


def test_flags_and_strides_are_numpys():
    x = np.arange(24.0).reshape(2, 3, 4)
    a = taskarr.asarray(x)
    for see in (lambda v: v.T, lambda v: v[:, ::-1], lambda v: v.T + 1, lambda v: v[..., 1:]):
        got, want = see(a), see(x)
        assert got.strides == want.strides
        for flag in ("c_contiguous", "f_contiguous", "writeable"):
            assert getattr(got.flags, flag) == getattr(want.flags, flag)
    assert not np.broadcast_to(a, (2, 2, 3, 4)).flags.writeable
    assert a.diagonal().flags.writeable is False


def test_a_fixed_value_has_values_as_parts():
    z = taskarr.asarray(np.array([1 + 2j, 3 + 4j]))[1]
    assert (float(z.real), float(z.imag)) == (3.0, 4.0)
    assert int(taskarr.asarray(pairs())[3]["a"]) == 3
