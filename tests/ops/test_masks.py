"""Boolean masks: reads of elements and rows, writes of scalars, masks that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from tests.layouts import LAYOUTS, RANKS, on_ranks
from tests.oracle import Check, verify

READS = {
    "elements": lambda xp, a: a[a > 3],
    "rows": lambda xp, a: a[(a % 3 == 0).any(axis=1)],
    "rows by a column": lambda xp, a: a[a[:, 2] > 10],
    "none": lambda xp, a: a[a > 1000],
    "no rows": lambda xp, a: a[a[:, 0] > 1000],
    "all": lambda xp, a: a[a > -1],
    "all rows": lambda xp, a: a[a[:, 0] > -1],
    "inverted": lambda xp, a: a[~(a > 3)],
    "of an expression": lambda xp, a: (a * 2.5)[a % 2 == 1],
    "in a tuple": lambda xp, a: a[(a > 3,)],
    "host mask": lambda xp, a: a[np.arange(a.size).reshape(a.shape) % 4 == 1],
    "host rows": lambda xp, a: a[np.arange(len(a)) % 2 == 0],
    "list of bools": lambda xp, a: a[[k % 2 == 0 for k in range(len(a))]] if len(a) else a,
    "of a view": lambda xp, a: a[1::2, ::-1][a[1::2, ::-1] > 5],
    "of a column": lambda xp, a: a[:, 1][a[:, 1] % 2 == 0],
    "of a transposed": lambda xp, a: a.T[a.T > 7],
    "by another array": lambda xp, a: a[(a + a) % 4 == 0],
    "then reduced": lambda xp, a: a[a > 3].sum(),
    "then sliced": lambda xp, a: a[a > 3][::-2],
    "then with itself": lambda xp, a: a[a > 3] * a[a > 3],
    "then with the host": lambda xp, a: a[a % 2 == 0] + np.arange(len(a[a % 2 == 0])),
    "twice": lambda xp, a: a[a > 3][a[a > 3] % 2 == 0],
    "rows, then columns": lambda xp, a: a[a[:, 0] % 2 == 0][:, 1:3].T,
    "a new axis": lambda xp, a: a[:, None][a[:, None] > 3],
    "length": lambda xp, a: len(a[a > 3]) + xp.zeros(1),
}

WRITES = {
    "elements": lambda a: a > 3,
    "rows": lambda a: a[:, 1] % 2 == 0,
    "nothing": lambda a: a > 1000,
    "host": lambda a: np.arange(a.size).reshape(a.shape) % 3 == 0,
    "host rows": lambda a: np.arange(len(a)) % 3 == 0,
    "negated": lambda a: ~(a % 2 == 0),
}


def numbers(shape=(7, 5), dtype="i8"):
    return np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


@pytest.mark.parametrize("placing", LAYOUTS, ids=str)
def test_reads(placing):
    checks = [Check(name, act, (numbers(placing.shape),)) for name, act in READS.items()]
    verify(checks, placings=[placing], flow=0 not in placing.shape and placing.split is not None)


@pytest.mark.parametrize("dtype", ["?", "u1", "f2", "f4", "c16", "M8[D]", "S3", "U3"])
def test_reads_of_every_dtype(dtype):
    x = numbers(dtype=dtype)
    mask = numbers() % 3 == 1
    checks = [
        Check("elements", lambda xp, a, m: a[m], (x, mask)),
        Check("rows", lambda xp, a, m: a[m[:, 0]], (x, mask)),
    ]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[1:3])


def test_reads_of_structures():
    x = np.zeros(7, [("a", "i2"), ("b", "f8")])
    x["a"] = range(7)
    verify([Check("rows", lambda xp, a: a[np.arange(7) % 2 == 0], (x,))], ranks=(1, 2, 3))


def test_three_axes():
    x = numbers((4, 3, 5))
    acts = {
        "one": lambda xp, a: a[a[:, 0, 0] % 2 == 0],
        "two": lambda xp, a: a[a[:, :, 1] % 2 == 0],
        "three": lambda xp, a: a[a % 7 == 0],
    }
    verify([Check(n, act, (x,)) for n, act in acts.items()], placings=LAYOUTS[:5])


def changed(mask, value):
    """Function that writes a value where a mask of the array is true."""

    def act(xp, a):
        a[mask(a)] = value
        return a

    return act


@pytest.mark.parametrize("placing", LAYOUTS, ids=str)
def test_writes(placing):
    checks = [
        Check(f"{name} = {value!r}", changed(mask, value), (numbers(placing.shape),))
        for name, mask in WRITES.items()
        for value in (0, -1, 2.75, True, np.float32(3), np.array(4))
    ]
    verify(checks, placings=[placing], flow=0 not in placing.shape and placing.split is not None)


def test_writes_through_views():
    def through(xp, a):
        view = a[1:6, ::-2]
        view[view % 3 == 0] = -5
        return a

    def rows(xp, a):
        view = a.T[2:]
        view[view[:, 0] > 2] = 0
        return a

    def in_place(xp, a):
        a[a > 20] += 100
        return a

    def by_old_values(xp, a):
        a[a > 10] = 1
        a[a == 1] = 7
        return a

    acts = (through, rows, in_place, by_old_values)
    checks = [Check(act.__name__, act, (numbers(),)) for act in acts[:2] + acts[3:]]
    verify(checks, placings=LAYOUTS[:5])


def test_dtypes_of_written_values():
    checks = []
    for dtype, value in (
        ("u1", 255), ("u1", 300), ("u1", -1), ("i4", 2.7), ("f4", 1e300), ("?", 5), ("i8", 1j),
        ("f8", 1j), ("c16", 2), ("i4", "7"), ("i4", "text"), ("M8[D]", "2013-01-01"),
        ("S3", b"long"),
        ("i4", None), ("f8", None), ("i4", np.nan), ("i4", [1]), ("i4", [[2]]),
    ):  # fmt: skip
        act = changed(lambda a: np.arange(35).reshape(7, 5) % 3 == 0, value)
        checks.append(Check(f"{dtype} = {value!r}", act, (numbers(dtype=dtype),)))
    verify(checks, ranks=(1, 3), flow=False)


WRONG = {
    "wrong length": lambda xp, a: a[np.ones(6, bool)],
    "wrong shape": lambda xp, a: a[np.ones((7, 4), bool)],
    "transposed": lambda xp, a: a[(a > 3).T],
    "too many axes": lambda xp, a: a[np.ones((7, 5, 1), bool)],
    "list too short": lambda xp, a: a[[True, False]],
    "broadcast": lambda xp, a: a[(a > 3)[:, :1]],
    "write, wrong length": lambda xp, a: a.__setitem__(np.ones(6, bool), 1),
    "write, wrong shape": lambda xp, a: a.__setitem__((a > 3).T, 1),
    "write of many": lambda xp, a: a.__setitem__(a > 3, np.arange(3)),
    "of numbers": lambda xp, a: a[a * 1.0],
}


ALONE = {
    "mask": lambda xp, a, v: a.__setitem__(a >= 0, v),
    "true": lambda xp, a, v: a.__setitem__(True, v),
    "false": lambda xp, a, v: a.__setitem__(np.False_, v),
    "in a tuple": lambda xp, a, v: a.__setitem__((a >= 0,), v),
    "beside dots": lambda xp, a, v: a.__setitem__((a >= 0, ...), v),
}


def test_values_of_two_axes_are_for_no_whole_mask():
    """NumPy refuses them where a key is one mask over all axes, none among them."""
    checks = [
        Check(f"{name} {shape} {axes}", lambda xp, a, act, v: act(xp, a, v) or a, (x,), fixed=f)
        for shape in ((), (2,), (2, 2))
        for x in (np.zeros(shape),)
        for name, act in ALONE.items()
        for axes in ((), (1,), (1, 1), (1, 1, 1), (1, x.size), (4, 3))
        for f in ((act, np.ones(axes)),)
    ]
    verify(checks, ranks=(1, 3), flow=False)


def test_masks_that_do_not_fit_raise_as_in_numpy():
    checks = [Check(name, act, (numbers(),)) for name, act in WRONG.items()]
    verify(checks, ranks=(1, 3), flow=False)


def test_writes_of_rows_and_distributed_values():
    row = np.arange(5) * -1.5
    acts = {
        "row": lambda a: row,
        "row of one": lambda a: row[None],
        "distributed row": lambda a: a[6] * 2,
        "column of one": lambda a: [[3]],
        "mean": lambda a: a.mean(),
        "element": lambda a: a[3, 3],
        "too long": lambda a: np.arange(4),
    }

    def write(value):
        def act(xp, a):
            a[a[:, 0] % 2 == 0] = value(a)
            return a

        return act

    checks = [Check(name, write(value), (numbers(),)) for name, value in acts.items()]
    verify(checks, placings=LAYOUTS[:5])


def test_values_for_each_selected_element():
    acts = {
        "elements": lambda a, m: (m, np.arange(m.sum()) * -1.5),
        "rows": lambda a, m: (m[:, 0], np.arange(m[:, 0].sum() * 5).reshape(-1, 5)),
        "distributed": lambda a, m: (a > 20, a[a > 20][::-1]),
    }

    def write(key_and_value):
        def act(xp, a):
            key, value = key_and_value(a, numbers() % 3 == 1)
            a[key] = value
            return a

        return act

    checks = [Check(name, write(given), (numbers(),)) for name, given in acts.items()]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[:4])


def test_masks_beside_axes_of_length_zero():
    """The number of rows is that of true elements though no row has any."""
    x = np.zeros((3, 0, 2))
    masks = (np.array([True, False, True]), np.zeros((3, 0), bool), np.zeros((3, 0, 2), bool))
    checks = [Check(f"{m.shape}", lambda xp, a, m: a[m], (x, m)) for m in masks]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[:4], flow=False)


def test_selected_rows_stay_on_their_ranks():
    """Reading rows moves no data: every rank keeps what it selected."""

    def job(world):
        a = taskarr.asarray(numbers((14, 4)), split=0).persist()
        before = world.counters.copy()
        found = a[a[:, 0] % 8 == 0]
        moved = world.counters - before
        assert found.shape == (7, 4)
        return moved["send_bytes"], found.local.shape[0], found.layout.mesh

    for n in (2, 3, 5):
        ran = on_ranks(n, job, alike=False).values
        assert sum(rows for _, rows, _ in ran) == 7
        assert all(nbytes <= 8 * 14 for nbytes, _, _ in ran)


def test_rows_are_dealt_out_anew_when_one_rank_has_them_all():
    def job(world):
        a = taskarr.asarray(np.arange(700.0), split=0)
        found = a[a < 100]
        return found.numpy(), found.local.size

    for n in RANKS:
        ran = on_ranks(n, job, alike=False).values
        assert all(np.array_equal(values, np.arange(100.0)) for values, _ in ran)
        assert max(size for _, size in ran) <= 1.5 * 100 / n + 2


@pytest.mark.parametrize("split", [0, 1, None])
@pytest.mark.parametrize("n", (1, 3))
def test_masks_without_elements(n, split):
    x = np.arange(9).reshape(3, 3)
    shapes = ((0,), (0, 3), (3, 0), (0, 2), (0, 3, 1))

    def shape_of(a, shape):
        try:
            found = a[np.zeros(shape, bool)]
            a[np.zeros(shape, bool)] = 7
        except IndexError:
            return IndexError
        return found.shape, found.dtype

    def job(world):
        a = taskarr.asarray(x, split=split)
        return [shape_of(a, shape) for shape in shapes], a.numpy()

    found, after = on_ranks(n, job).value
    assert found == [shape_of(x.copy(), shape) for shape in shapes]
    np.testing.assert_array_equal(after, x)


@pytest.mark.parametrize("split", [1, (0, 1), 0])
@pytest.mark.parametrize("n", RANKS)
def test_masks_of_views_that_only_some_ranks_hold(n, split):
    x = np.arange(14.0).reshape(2, 7)
    keys = (np.s_[:, 3:], np.s_[1:, 6:], np.s_[1:, 3:], np.s_[:, :1], np.s_[:, 5:2:-1])

    def job(world):
        a = taskarr.asarray(x, split=split)
        return [
            (a[k][a[k] > 3].numpy(), float(a[k][a[k] > 3].sum()), a[k][a[k][:, 0] > 3].numpy())
            for k in keys
        ]

    for k, (kept, total, rows) in zip(keys, on_ranks(n, job).value, strict=True):
        np.testing.assert_array_equal(kept, x[k][x[k] > 3])
        assert total == x[k][x[k] > 3].sum()
        np.testing.assert_array_equal(rows, x[k][x[k][:, 0] > 3])
