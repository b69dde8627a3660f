"""Functions that write elements, leave some out or put some in, against NumPy."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taskarr
from tests.layouts import CUT, LAYOUTS, RANKS, Placing, on_ranks
from tests.oracle import Check, verify

ROWS = Placing("rows", split=0)
X = np.arange(35.0).reshape(7, 5)
MASK = X % 3 == 1


def same(x: Any) -> Any:
    """A view that shows everything as it is."""
    return x


VIEWS = {
    "whole": same,
    "part": lambda a: a[1:6, ::-2],
    "turned": lambda a: a.T[::-1],
    "row": lambda a: a[3],
    "reshaped": lambda a: a.reshape(5, 7)[1:],
}


def written(name: str, *args: Any, view: Any = same, split: bool = False, **options: Any) -> Any:
    """Function that writes into a view of an array by another function and gives the array."""

    def act(xp: Any, a: Any) -> Any:
        rest = [_placed(xp, v) if split and isinstance(v, np.ndarray) else v for v in args]
        assert getattr(xp, name)(view(a), *rest, **options) is None
        return a

    return act


def _placed(xp: Any, x: np.ndarray) -> Any:
    return x if xp is np else ROWS.place(x)


def checks_of(acts: dict[str, Any], x: np.ndarray = X) -> list[Check]:
    return [Check(name, act, (x,)) for name, act in acts.items()]


def in_turns(checks: list[Check], placings: tuple[Placing, ...] = LAYOUTS[:5]) -> list[Any]:
    """Checks with a layout each, one after the other."""
    return list(zip(checks, cycle(placings), strict=False))


Call = tuple[tuple[Any, ...], dict[str, Any]]

PUTS: dict[str, Call] = {
    "one": (([3], -1), {}),
    "several": (([3, 0, -1], [7, 8, 9]), {}),
    "in turns": ((np.arange(9) * 2, np.array([-1.0, -2.0])), {}),
    "more values": (([1, 2], np.arange(9.0)), {}),
    "repeated": ((np.array([4, 4, 5, 4, 5]), np.array([1.5, 2, 3, 4, 5])), {}),
    "of two axes": ((np.array([[0, 1], [2, 3]]), np.array([[9, 8], [7, 6]])), {}),
    "nothing": (([], 1), {}),
    "no values": (([1], []), {}),
    "wrapped": (([40, -40], [1, 2]), {"mode": "wrap"}),
    "clipped": (([40, -40], [1, 2]), {"mode": "clip"}),
    "too far": (([1, 35], 1), {}),
    "too far below": ((np.array([1, -36]), 1), {}),
    "unsigned": ((np.array([1], "u8"), 1), {}),
    "floats": ((np.array([1.0]), 1), {}),
    "text": (([1], "text"), {}),
    "bools": ((np.array([True, False]), [5, 6]), {}),
    "mode": (([1], 1), {"mode": "x"}),
}
MASKS: dict[str, Call] = {
    "one": ((MASK, -1), {}),
    "each": ((MASK, X * 2), {}),
    "row": ((MASK, np.arange(5.0)), {}),
    "in turns": ((MASK, np.array([7.0, 8, 9])), {}),
    "more": ((MASK, np.arange(99.0)), {}),
    "flat mask": ((MASK.reshape(-1), [1, 2]), {}),
    "numbers": ((X % 3, [1.5]), {}),
    "none": ((X > 99, [1.5]), {}),
    "no values": ((MASK, []), {}),
    "no values for none": ((X > 99, []), {}),
    "wrong size": ((MASK[:3], 1), {}),
    "text": ((MASK, "text"), {}),
    "complex": ((MASK, np.array([1j])), {}),
}
COPIES: dict[str, Call] = {
    "one": ((5,), {}),
    "each": ((-X,), {}),
    "row": ((np.arange(5),), {}),
    "where": ((-X,), {"where": MASK}),
    "where row": ((-X,), {"where": MASK[0]}),
    "where list": ((1,), {"where": [True, False, True, True, False]}),
    "where false": ((1,), {"where": False}),
    "where numbers": ((1,), {"where": np.array([1, 0, 1, 0, 1])}),
    "where of another shape": ((1,), {"where": [True, False]}),
    "leading": ((X[None],), {}),
    "another shape": ((np.arange(4),), {}),
    "complex": ((1j,), {}),
    "unsafe": ((np.arange(5) * 1j,), {"casting": "unsafe"}),
    "text": (("3",), {}),
    "casting": ((1,), {"casting": "x"}),
    "safe": ((np.arange(5),), {"casting": "no"}),
}
DIAGONALS: dict[str, Call] = {
    "one": ((-1,), {}),
    "several": (([7, 8],), {}),
    "more": ((np.arange(99.0),), {}),
    "wrapped": ((-1, True), {}),
    "several wrapped": (([7, 8], True), {}),
    "none": (([],), {}),
    "text": (("text",), {}),
}
CALLS = {
    "put": PUTS,
    "putmask": MASKS,
    "place": MASKS,
    "copyto": COPIES,
    "fill_diagonal": DIAGONALS,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("split", [False, True], ids=["host", "distributed"])
def test_writes(name, split):
    acts = {
        key: written(name, *args, split=split, **options)
        for key, (args, options) in CALLS[name].items()
    }
    turns = in_turns(checks_of(acts), CUT if split else LAYOUTS[:5])
    verify(turns, (1, 3) if split else (1, 2, 5), flow=False)


@pytest.mark.parametrize("name", VIEWS)
def test_writes_through_views(name):
    view = VIEWS[name]
    mask = view(X) % 3 == 1
    values = np.array([-7.0, -8, -9])
    acts = {
        "put": written("put", [0, 2, -1], values, view=view),
        "putmask": written("putmask", mask, values, view=view),
        "place": written("place", mask, values, view=view),
        "copyto": written("copyto", values[0], view=view, where=mask),
        "itself": lambda xp, a: xp.copyto(view(a), -view(a)[::-1]) or a,
        "flat": lambda xp, a: _set_flat(view(a), slice(1, None, 2), values) or a,
        "along": written("put_along_axis", np.array([[1], [0]][: view(X).ndim]), 5, 0, view=view),
    }
    if name != "row":
        acts["diagonal"] = written("fill_diagonal", -1, view=view)
        acts["diagonal of several"] = written("fill_diagonal", values, view=view)
    verify(checks_of(acts), ranks=(1, 3), placings=LAYOUTS[1:3], flow=False)


def _set_flat(a: Any, key: Any, value: Any) -> None:
    a.flat[key] = value


def test_diagonals_of_other_shapes():
    checks = []
    for shape in ((3, 3, 3), (2, 9), (9, 2), (0, 3), (2, 2, 2, 2), (1, 1), (3,), (2, 3, 3)):
        x = np.zeros(shape)
        for wrap in (False, True):
            for value in (5, [1.5, 2.5, 3.5]):
                act = written("fill_diagonal", value, wrap)
                checks.append(Check(f"{shape} {value} {wrap}", act, (x,)))
    verify(in_turns(checks), ranks=(1, 3), flow=False)


def test_writes_to_short_arrays():
    acts = {
        "put": written("put", [0], 1),
        "put clipped": written("put", [0], 1, mode="clip"),
        "put nothing": written("put", [], 1),
        "put no values": written("put", [0], []),
        "put no values clipped": written("put", [0], [], mode="clip"),
        "put nothing of no values": written("put", [], []),
        "putmask": lambda xp, a: xp.putmask(a, a > -1, 9) or a,
        "putmask of a value": lambda xp, a: xp.putmask(a, a > -1, xp.ones(3).mean() * 2.5) or a,
        "place of a value": lambda xp, a: xp.place(a, a > -1, xp.ones(3).mean() * 2.5) or a,
        "place": lambda xp, a: xp.place(a, a > -1, [9, 8]) or a,
        "copyto": written("copyto", 7),
    }
    shapes = ((), (0,), (0, 3), (1,))
    checks = [Check(f"{n} {s}", act, (np.ones(s),)) for n, act in acts.items() for s in shapes]
    verify(checks, ranks=(1, 3), flow=False)


def test_dtypes_of_written_values():
    checks = []
    values = (1.7, [1.7, 2.7], np.array([1.7]), np.array([1]), 1j, 300, "5", np.float32(2.5))
    values = (*values, [1j], np.nan, -1, None, np.array(-1), np.array(1j))
    for dtype in ("i8", "u1", "f4"):
        x = X.astype(dtype)
        for value in values:
            acts = {
                "put": written("put", [1, 2, 3], value),
                "putmask": written("putmask", MASK, value),
                "place": written("place", MASK, value),
                "fill_diagonal": written("fill_diagonal", value),
            }
            if np.size(value) == 1:
                acts["copyto"] = written("copyto", value)
                acts["unsafe"] = written("copyto", value, casting="unsafe")
                acts["masked"] = written("copyto", value, where=MASK, casting="unsafe")
            checks += [Check(f"{n} {dtype} {value!r}", act, (x,)) for n, act in acts.items()]
    verify(checks, ranks=(2,), flow=False)


OTHERS = {
    "text": np.array(["a", "bc", "d", "e"]),
    "times": np.arange("2000", "2004", dtype="M8[Y]"),
    "structures": np.array([(k, k / 2) for k in range(4)], "i4,f8"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_dtype(name):
    x = OTHERS[name]
    acts = {
        "put": written("put", [0, 3], x[1:3]),
        "putmask": written("putmask", [1, 0, 1, 1], x[::-1].copy()),
        "place": written("place", [1, 0, 1, 1], x[:2]),
        "copyto": written("copyto", x[::-1].copy(), where=[True, False, True, False]),
        "delete": lambda xp, a: xp.delete(a, [1, 2]),
        "insert": lambda xp, a: xp.insert(a, [1, 2], x[:2]),
        "insert one": lambda xp, a: xp.insert(a, 1, x[3]),
        "flat": lambda xp, a: _set_flat(a, [3, 0], x[:2]) or a,
    }
    verify(checks_of(acts, x), ranks=(1, 3), flow=False)


ALONG = {
    "rows": (np.array([[3, 0, -1, 2, 2], [0, 0, 6, 1, -7]]), 9.5, 0),
    "columns": (np.arange(21).reshape(7, 3) % 5, np.arange(21.0).reshape(7, 3), 1),
    "repeated": (np.array([[1, 1]]), np.array([[5.0, 6.0]]), 1),
    "one for each row": (np.array([[0]]), np.arange(7.0)[:, None], 1),
    "flat": (np.array([3, 34, -1]), np.array([7, 8, 9]), None),
    "range": (np.array([[1, 0, 5]]), 1, 1),
    "values that don't fit": (np.array([[1, 0]]), np.ones(3), 1),
    "floats": (np.array([[1.0]]), 1, 1),
    "axes": (np.array([1]), 1, 1),
}


@pytest.mark.parametrize("split", [False, True], ids=["host", "distributed"])
def test_put_along_axis(split):
    acts = {n: written("put_along_axis", *args, split=split) for n, args in ALONG.items()}
    verify(in_turns(checks_of(acts)), ranks=(1, 3, 5), flow=False)


DELETES: dict[str, tuple[Any, ...]] = {
    "one": (3,),
    "last": (-1,),
    "row": (3, 0),
    "column": (np.int64(-2), 1),
    "slice": (slice(1, 20, 3),),
    "slice backwards": (slice(None, None, -2), 1),
    "empty slice": (slice(3, 3), 0),
    "empty slice of all": (slice(3, 3),),
    "list": ([1, 5, 1, -1], 0),
    "flat list": ([1, 5, 1, -1],),
    "array": (np.array([0, 3]), -1),
    "array of two axes": (np.array([[0, 3], [4, 5]]),),
    "array of one": (np.array([2]), 0),
    "mask": (np.arange(7) % 2 == 0, 0),
    "flat mask": (np.arange(35) % 4 == 0,),
    "nothing": ([], 0),
    "everything": (slice(None), 0),
    "bool": (True,),
    "short mask": ([True, False], 0),
    "too far": (35,),
    "too far along": ([1, 5], 1),
    "floats": ([1.0, 2.0],),
    "empty floats": (np.zeros(0),),
    "text": ("x",),
    "axis": (1, 2),
}
INSERTS: dict[str, tuple[Any, ...]] = {
    "one": (1, 9),
    "before the end": (-1, 9),
    "at the end": (35, 9),
    "row": (1, [1, 2, 3, 4, 5], 0),
    "row of one": (1, 7, 0),
    "column": (1, np.arange(7.0), 1),
    "columns": (1, np.arange(14.0).reshape(2, 7), 1),
    "columns by a list": ([1], np.arange(14.0).reshape(7, 2), 1),
    "rows": ([0, 3, 3], np.arange(15.0).reshape(3, 5), 0),
    "flat": ([5, 1, 5, -1], [1, 2, 3, 4]),
    "one value for several": ([5, 1, 5, -1], 6),
    "slice": (slice(0, 20, 9), [1, 2, 3]),
    "mask": (np.arange(35) % 9 == 0, 8),
    "nothing": ([], []),
    "an array of zero dimensions": (np.array(2), 9),
    "list of bools": ([True, False], 9),
    "bool": (True, 9, 0),
    "bool of NumPy": (np.True_, 9),
    "too far": (36, 9),
    "too far of several": ([1, 99], 9),
    "floats": ([1.5, 2.0], 9),
    "empty floats": (np.zeros(0), 9),
    "a float": (1.5, 9),
    "two axes": ([[1, 2]], 9),
    "values that don't fit": (1, np.ones((2, 2)), 0),
    "too many values": ([0, 2], [1, 2, 3]),
    "columns that don't fit": (1, [1, 2, 3], 1),
    "text": (0, "text"),
    "axis": (0, 1, 2),
}


@pytest.mark.parametrize("name", ["delete", "insert"])
@pytest.mark.parametrize("split", [False, True], ids=["host", "distributed"])
def test_other_lengths(name, split):
    def calling(*args: Any) -> Any:
        def act(xp: Any, a: Any) -> Any:
            rest = [_placed(xp, v) if split and isinstance(v, np.ndarray) else v for v in args]
            return getattr(xp, name)(a, *rest)

        return act

    acts = {n: calling(*args) for n, args in {"delete": DELETES, "insert": INSERTS}[name].items()}
    turns = in_turns(checks_of(acts), CUT if split else LAYOUTS[:5])
    verify(turns, (1, 7) if split else (1, 3), flow=False)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,)])
def test_other_lengths_of_short_arrays(shape):
    acts = {
        "delete": lambda xp, a: xp.delete(a, 0),
        "delete nothing": lambda xp, a: xp.delete(a, []),
        "delete along": lambda xp, a: xp.delete(a, [0], axis=-1),
        "insert": lambda xp, a: xp.insert(a, 0, 5),
        "insert along": lambda xp, a: xp.insert(a, 0, 5, axis=0),
        "insert several": lambda xp, a: xp.insert(a, [0, 0], 5, axis=-1),
    }
    verify(checks_of(acts, np.ones(shape)), ranks=(1, 3), flow=False)


def test_deleting_rows_moves_none():
    def job(world):
        a = ROWS.place(np.arange(400.0).reshape(100, 4)).persist()
        before = world.counters.copy()
        found = taskarr.delete(a, slice(5, 60, 2), axis=0)
        moved = world.counters - before
        return found.shape, sum(moved[k] for k in ("send_bytes", "alltoallv_bytes"))

    for n in (2, 3):
        for shape, nbytes in on_ranks(n, job, alike=False).values:
            assert shape == (72, 4)
            assert nbytes <= 1000  # counts per block, no rows


def test_writing_is_refused_where_numpy_refuses():
    def job(world):
        a = ROWS.place(X)
        found = []
        for target in (a.diagonal(), a[0, 0], np.zeros(3), [1, 2], None):
            for name, *args in (
                ("put", [0], 1),
                ("putmask", True, 1),
                ("place", True, 1),
                ("copyto", a),
                ("fill_diagonal", 1),
                ("put_along_axis", np.array([0]), 1, 0),
            ):
                with pytest.raises((TypeError, ValueError)):
                    getattr(taskarr, name)(target, *args)
                found.append(name)
        return len(found), a.numpy()

    count, after = on_ranks(2, job).value
    assert count == 30
    np.testing.assert_array_equal(after, X)


def test_a_write_that_fails_leaves_the_array():
    def job(world):
        a = ROWS.place(X)
        with pytest.raises(IndexError):
            taskarr.put(a, ROWS.place(np.array([1, 2, 99])), -1)
        with pytest.raises(ValueError, match="empty"):
            taskarr.place(a, a > 3, [])
        return a.numpy()

    for n in (1, 3):
        np.testing.assert_array_equal(on_ranks(n, job).value, X)


def test_numpy_finds_the_functions():
    def job(world):
        a = ROWS.place(X)
        np.put(a, [1], 9)
        np.putmask(a, a > 30, 0)
        np.place(a, a > 20, [1, 2])
        np.copyto(a, 5, where=a == 3)
        np.fill_diagonal(a, -1)
        np.put_along_axis(a, np.array([[1]]), 7, 0)
        assert isinstance(np.delete(a, 0), taskarr.Array)
        assert isinstance(np.insert(a, 0, 1), taskarr.Array)
        return a.numpy()

    want = X.copy()
    np.put(want, [1], 9)
    np.putmask(want, want > 30, 0)
    np.place(want, want > 20, [1, 2])
    np.copyto(want, 5, where=want == 3)
    np.fill_diagonal(want, -1)
    np.put_along_axis(want, np.array([[1]]), 7, 0)
    np.testing.assert_array_equal(on_ranks(2, job).value, want)


@st.composite
def writes(draw):
    """A function that writes, and its arguments for an array of some shape."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    x = np.arange(float(np.prod(shape))).reshape(shape)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    name = draw(st.sampled_from(["put", "putmask", "place", "copyto"]))
    values = rng.random(draw(st.integers(0, 2 * x.size))).round(2)
    if name == "put":
        count = draw(st.integers(0, 9))
        return x, name, (rng.integers(-x.size, x.size, count), values), {}
    if name == "copyto":
        return x, name, (rng.random(shape).round(2),), {"where": rng.random(shape) < 0.5}
    return x, name, (rng.random(shape) < 0.5, values), {}


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_write(data):
    x, name, args, options = data.draw(writes())
    split = data.draw(st.booleans())
    act = written(name, *args, split=split, **options)
    placing = data.draw(st.sampled_from(LAYOUTS[:5]))
    check = Check(f"{name}{args}{options}", act, (x,))
    verify([(check, placing)], ranks=(data.draw(st.sampled_from(RANKS)),), flow=False)


def test_an_empty_mask_of_flat():
    for xp in (np, taskarr):
        a = xp.arange(6).reshape(2, 3)
        for mask in (np.zeros(0, bool), xp.zeros(0, bool)):
            found = a.flat[mask]
            assert (found.shape, found.dtype) == ((0,), a.dtype)
            a.flat[mask] = 9
        assert a.tolist() == [[0, 1, 2], [3, 4, 5]]
        with pytest.raises(IndexError):
            a.flat[np.zeros(1, bool)]
