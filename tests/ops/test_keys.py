"""Basic keys: slices, integers, ellipses and new axes; views of views; transposes; wrong keys."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import taskarr
from taskarr.ops.keys import is_basic, view_of_key
from tests.layouts import LAYOUTS, RANKS, on_ranks
from tests.oracle import Check, verify

KEYS = [
    0, 6, -1, -7, np.int8(3), np.uint64(2), np.array(4),
    slice(None), slice(2, 5), slice(5, 2), slice(-3, None), slice(None, -3), slice(None, 100),
    slice(-100, 3), slice(None, None, 2), slice(1, None, 3), slice(None, None, -1),
    slice(5, 1, -2), slice(-1, -100, -3), slice(6, None), slice(7, None), slice(np.int64(1), 4),
    ..., None, (), (...,), (None, ...), (..., None), (None, 0), (0, None), (3, 4), (-1, -1),
    (slice(None), 2), (slice(1, 6, 2), slice(None, None, -2)), (slice(None), None, slice(2, 4)),
    (2, slice(1, 4)), (..., 0), (0, ...), (slice(2, 3), slice(0, 0)), (None, 2, None, 3, None),
    (..., slice(None, None, -1)), (slice(4, None), ..., slice(None, 2)), (slice(None), slice(None)),
]  # fmt: skip
DEEP = [
    1, (1, 2), (..., 1), (slice(None), 1), (slice(None), slice(None), 0), (0, ..., 1),
    (slice(None, None, -1), 2, slice(1, 3)), (None, slice(1, 3), None, ..., 2), (1, None, 1, 1),
]  # fmt: skip
WRONG = [
    7, -8, (0, 5), (0, 0, 0), (..., ...), "text", 1.5, (0, 1.5), 2j, {}, np.float64(1),
    slice(0, 3, 0),
    slice("a", None), slice(1.5, None), (None, 7), 10**30, np.array(1.5), object(), {1: 2}, b"a",
]  # fmt: skip


def numbers(shape):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape)


@pytest.mark.parametrize("layout", LAYOUTS[:5], ids=str)
def test_every_key(layout):
    checks = [Check(f"{k}", lambda xp, a, k=k: a[k], (numbers((7, 5)),)) for k in KEYS]
    checks += [Check(f"{k}", lambda xp, a, k=k: a[k] + 1, (numbers((7, 5)),)) for k in KEYS]
    checks += [Check(f"{k}", lambda xp, a, k=k: a[k], (numbers((4, 3, 2)),)) for k in DEEP]
    verify(checks, placings=[layout], flow=layout.split is not None)


def test_keys_of_short_and_empty_arrays():
    shapes = ((), (1,), (0,), (0, 5), (2, 5), (3, 0, 2))
    keys = (..., None, (), slice(None), slice(None, None, -1), slice(1, None), 0, (..., 0))
    checks = [
        Check(f"{shape}[{key}]", lambda xp, a, k=key: a[k], (numbers(shape),))
        for shape, key in product(shapes, keys)
    ]
    verify(checks, placings=LAYOUTS[1:3])


def test_views_of_views():
    acts = {
        "slice of slice": lambda xp, a: a[1:6][1:4],
        "steps": lambda xp, a: a[::2][::-1][1:],
        "row of columns": lambda xp, a: a[:, 1:4][2],
        "element of row": lambda xp, a: a[3][2],
        "new axis, then dropped": lambda xp, a: a[None][0, 2:4],
        "new axis sliced": lambda xp, a: a[:, None][1:3, :, ::-1],
        "empty of empty": lambda xp, a: a[:0][:0],
        "transposed": lambda xp, a: a.T,
        "transposed twice": lambda xp, a: a.T.T,
        "slice of transposed": lambda xp, a: a.T[1:3, ::-2],
        "transpose of slice": lambda xp, a: a[::2, 1:].T,
        "column": lambda xp, a: a.T[2],
        "transpose(1, 0)": lambda xp, a: a.transpose(1, 0),
        "transpose((0, 1))": lambda xp, a: a.transpose((0, 1)),
        "transpose(-1, 0)": lambda xp, a: a.transpose(-1, np.int64(0)),
        "transpose(None)": lambda xp, a: a.transpose(None),
        "three axes": lambda xp, a: (a[:, None, :] + np.zeros((1, 3, 1))).transpose(2, 0, 1),
        "of an expression": lambda xp, a: (a * 2 + a[0])[1:5, ::2].T[::-1],
        "sum of two views": lambda xp, a: a[1:] - a[:-1],
        "stencil": lambda xp, a: a[1:-1, 1:-1] * 4 - a[:-2, 1:-1] - a[2:, 1:-1] - a[1:-1, :-2],
        "opposite ends": lambda xp, a: a + a[::-1, ::-1],
        "transpose and itself": lambda xp, a: a[:5] + a[:5].T,
        "iteration": lambda xp, a: sum(row.sum() for row in a),
        "unpacking": lambda xp, a: (lambda x, y, *rest: x - y)(*a),
    }
    checks = [Check(name, act, (numbers((7, 5)),)) for name, act in acts.items()]
    verify(checks, ranks=(1, 2, 5), placings=LAYOUTS[:5])


def test_wrong_keys_raise_as_in_numpy():
    checks = [Check(f"{k!r}", lambda xp, a, k=k: a[k], (numbers((7, 5)),)) for k in WRONG]
    checks += [
        Check("key of 0-d", lambda xp, a: a[0, 0][0], (numbers((7, 5)),)),
        Check("transpose of too many", lambda xp, a: a.transpose(0, 1, 2), (numbers((7, 5)),)),
        Check("transpose twice 0", lambda xp, a: a.transpose(0, 0), (numbers((7, 5)),)),
        Check("transpose out of range", lambda xp, a: a.transpose(0, 2), (numbers((7, 5)),)),
        Check("transpose of text", lambda xp, a: a.transpose("ab"), (numbers((7, 5)),)),
        Check("iteration of 0-d", lambda xp, a: list(a[0, 0]), (numbers((7, 5)),)),
    ]
    verify(checks, ranks=(1, 2), flow=False)


def test_views_move_nothing():
    def job(world):
        a = taskarr.asarray(numbers((7, 5)), split=0).persist()
        before = world.counters.copy()
        views = [a[::-1], a.T, a[:, None], a[3], a[:, ::2], a[1:, 2]]
        for view in views:
            (view * 2).persist()
        moved = world.counters - before
        return [moved[k] for k in ("sends", "alltoallv_bytes", "pairwise")]

    for n in RANKS:
        assert on_ranks(n, job).value == [0, 0, 0]


def test_keys_are_normalised_as_python_does():
    assert is_basic((1, slice(2), None, ...))
    assert not is_basic((1, True))
    assert not is_basic([1])
    view = view_of_key((7, 5), (slice(None, None, -2), 3))
    assert (view.shape, view.start, view.step, view.axes) == ((4,), (6, 3), (-2,), (0,))


@pytest.mark.parametrize("step", [2**63, -(2**64), 2**63 - 1, 10**30])
def test_steps_longer_than_any_axis(step):
    x = np.arange(20).reshape(5, 4)
    a = taskarr.asarray(x)
    np.testing.assert_array_equal(a[::step, ::step].numpy(), x[::step, ::step])
    np.testing.assert_array_equal(a[:0][::step].numpy(), x[:0][::step])
    a[::step], x[::step] = 7, 7
    np.testing.assert_array_equal(a.numpy(), x)


def test_a_type_is_no_key():
    a = taskarr.arange(5)
    with pytest.raises(IndexError):
        a[int]
    with pytest.raises(IndexError):
        a[int] = 3
