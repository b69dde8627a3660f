"""Patterns: diagonals, triangles, indices, powers, grids."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import taskarr
from tests.layouts import CUT, MESSAGES, RANKS, on_ranks
from tests.oracle import Check, verify


def called(name, arguments, exact=True):
    """Checks of a function of plain arguments."""
    return [
        Check(f"{name}{b} {k}", lambda xp, b, k: getattr(xp, name)(*b, **k), (), exact, (b, k))
        for b, k in arguments
    ]


DIAGONALS = [
    ((3,), {}),
    ((3, 5), {}),
    ((3, 5, 1), {}),
    ((5, 3, -2), {}),
    ((5, 3, -7), {}),
    ((4, 4, 9), {}),
    ((0,), {}),
    ((3, 0), {}),
    ((3,), {"dtype": bool}),
    ((3,), {"dtype": "i2"}),
]
EYES = [
    *DIAGONALS,
    ((3, None, -1), {"dtype": "c8"}),
    ((3,), {"dtype": "U3"}),
    ((3,), {"dtype": [("a", "i4")]}),
    ((np.int8(3),), {}),
    ((-1,), {}),
    ((2.5,), {}),
    ((3,), {"k": 1.0}),
]
TRIANGLES = [*DIAGONALS, ((3,), {"k": 1.5}), ((2.5,), {}), ((-1,), {}), (("a",), {})]


def test_diagonals_and_triangles():
    checks = called("eye", EYES) + called("tri", TRIANGLES)
    checks += called("identity", [((4,), {}), ((4, "i2"), {})])
    verify(checks, ranks=(1, 2, 5))


INDICES = [
    (((3, 4),), {}),
    (((3, 4),), {"dtype": "f4"}),
    (((3, 4),), {"sparse": True}),
    (((3,),), {}),
    (((),), {}),
    (((2, 3, 4),), {}),
    (((0, 3),), {}),
    (((2, 2),), {"dtype": bool}),
    (((3, 3),), {"dtype": bool}),
    (((2, 2),), {"dtype": "U3"}),
    ((3,), {}),
    (((3, -1),), {}),
]


def test_indices():
    verify(called("indices", [c for c in INDICES if not c[1].get("sparse")]))

    def job(world):
        return [[x.numpy() for x in taskarr.indices(s, sparse=True)] for s in ((3, 4), (2,), ())]

    for n in RANKS:
        for found, shape in zip(on_ranks(n, job).value, ((3, 4), (2,), ()), strict=True):
            for x, wanted in zip(found, np.indices(shape, sparse=True), strict=True):
                np.testing.assert_array_equal(x, wanted)


def written(i, j):
    i[0] = 7
    return i + j


def test_functions_of_indices():
    calls = [
        ((lambda i, j: i * 10 + j, (3, 4)), {}),
        ((lambda i, j: i == j, (3, 3)), {"dtype": int}),
        ((lambda i: i, (3,)), {"dtype": "c8"}),
        ((lambda i, j, factor: i * factor + j, (3, 4)), {"factor": 5}),
        ((lambda i, j: 3, (3, 4)), {}),
        ((lambda: 3, ()), {}),
        ((written, (3, 4)), {}),
        ((lambda i: i, 3), {}),
        ((lambda i: i, (3, 4)), {}),
    ]
    verify(called("fromfunction", calls))
    count = []
    taskarr.fromfunction(lambda i: count.append(i), (3,))
    assert len(count) == 1


def test_patterns_are_made_in_place():
    """Each rank makes its own part: nothing is sent, whatever is computed with it."""

    def job(world):
        before = [world.counters[name] for name in MESSAGES]
        for a in (
            taskarr.eye(9, 7, 1, split=0),
            taskarr.tri(9, split=0),
            taskarr.indices((9, 7), split=1)[1],
            taskarr.fromfunction(lambda i, j: i * j, (9, 7), split=0),
            taskarr.linspace(0, 1, 33),
            taskarr.full((9, 7), 2, split=0) * taskarr.eye(9, 7, split=0),
        ):
            assert a.split == (0,)
            a.persist()
        assert [world.counters[name] for name in MESSAGES] == before

    for n in RANKS:
        on_ranks(n, job)


def test_powers():
    arrays = [
        np.array([1, 2, 3]),
        np.array([1.5, -2, 0]),
        np.array([1, 2, 3], "i1"),
        np.array([True, False]),
        np.array([1j, 2]),
        np.array([], float),
        np.array([1, 2], "f4"),
        np.array([2**40, -3]),
    ]
    checks = []
    for x in arrays:
        for n, increasing in ((None, False), (4, True), (1, False), (0, True)):
            label = f"vander {x!r} {n} {increasing}"
            act = lambda xp, a, n, inc: xp.vander(a, n, inc)  # noqa: E731
            checks.append(Check(label, act, (x,), x.dtype.kind in "ib", (n, increasing)))
    checks.append(Check("two axes", lambda xp, a: xp.vander(a), (np.ones((2, 2)),)))
    checks.append(Check("list", lambda xp: xp.vander([1, 2])))
    verify(checks, ranks=(1, 2, 5))


def test_matrices_of_a_diagonal():
    checks = []
    arrays = (np.arange(7), np.arange(3) + 1j, np.array([], "f4"), np.array(["a", "bc"]))
    for x, k in product(arrays, (0, 1, -3)):
        act = lambda xp, a, k: xp.diag(a, k)  # noqa: E731
        checks.append(Check(f"diag {x!r} {k}", act, (x,), fixed=(k,)))
    checks += [
        Check("list", lambda xp: xp.diag([1, 2])),
        Check("view", lambda xp, a: xp.diag(a[::-2]), (np.arange(7),)),
        Check("of a matrix", lambda xp, a: xp.diag(a, 1), (np.arange(35).reshape(7, 5),)),
        Check("no axes", lambda xp: xp.diag(5)),
        Check("three axes", lambda xp: xp.diag(np.ones((2, 2, 2)))),
    ]
    verify(checks, ranks=(1, 2, 5), placings=CUT[:1])


GRIDS = [
    {},
    {"indexing": "ij"},
    {"sparse": True},
    {"sparse": True, "indexing": "ij"},
    {"copy": False},
    {"sparse": True, "copy": False},
]


@pytest.mark.parametrize("options", GRIDS, ids=str)
def test_grids(options):
    lines = [np.arange(7), np.arange(5.0), np.arange(2) * 1j, np.array(3), np.ones((2, 2))]

    def job(world):
        given = [taskarr.asarray(x) for x in lines]
        return [
            [g.numpy() for g in taskarr.meshgrid(*given[:k], **options)] for k in (0, 1, 2, 3, 5)
        ]

    for n in (1, 2, 5):
        for k, found in zip((0, 1, 2, 3, 5), on_ranks(n, job).value, strict=True):
            for grid, wanted in zip(found, np.meshgrid(*lines[:k], **options), strict=True):
                np.testing.assert_array_equal(grid, wanted)
                assert grid.dtype == wanted.dtype


def test_grids_are_copies_unless_told():
    def job(world):
        x = taskarr.arange(7)
        copied, _ = taskarr.meshgrid(x, [1, 2], indexing="ij")
        shown, _ = taskarr.meshgrid(x, [1, 2], sparse=True, copy=False)
        copied[0] = 9
        x[1] = 5
        placed, _ = taskarr.meshgrid(x, x, split=1)
        assert placed.split == (1,)
        return x.numpy(), copied.numpy(), shown.numpy()

    for n in (1, 3):
        x, copied, shown = on_ranks(n, job).value
        assert x.tolist() == [0, 5, 2, 3, 4, 5, 6]
        assert copied[:, 1].tolist() == [9, 1, 2, 3, 4, 5, 6]
        assert shown.tolist() == [x.tolist()]
    with pytest.raises(ValueError, match="indexing"):
        taskarr.meshgrid([1], indexing="z")
