"""Functions that pick elements by index and by condition, against NumPy."""

from __future__ import annotations

from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taskarr
from tests.layouts import CUT, LAYOUTS, RANKS, Placing, on_ranks
from tests.oracle import Check, outcome, verify

ROWS = Placing("rows", split=0)
X = np.arange(35.0).reshape(7, 5)
CUBE = np.arange(24).reshape(2, 3, 4)
INDEX = np.array([[3, 0], [-1, 4]])


def spread(xp: Any, x: Any) -> Any:
    """Host data as it is for NumPy, distributed for taskarr."""
    return x if xp is np else ROWS.place(np.asarray(x))


def here(xp: Any, x: Any) -> Any:
    """The same host data for both."""
    return x


def called(name: str, *args: Any, put: Any = here, first: bool = True, **options: Any) -> Any:
    """Function of ``(xp, a)`` that calls another one; arrays among its arguments are placed."""

    def act(xp: Any, a: Any) -> Any:
        rest = [put(xp, v) if isinstance(v, np.ndarray) else v for v in args]
        given = [a, *rest] if first else [rest[0], a, *rest[1:]]
        return getattr(xp, name)(*given, **options)

    return act


TAKES = {
    "flat": called("take", [34, 0, -35, 3, 3]),
    "flat of an array": called("take", INDEX),
    "one": called("take", 7),
    "one row": called("take", -1, axis=0),
    "rows": called("take", INDEX, 0),
    "columns": called("take", INDEX, 1),
    "columns from behind": called("take", INDEX, axis=-1),
    "wrapped": called("take", [9, -9, 70], axis=1, mode="wrap"),
    "clipped": called("take", [9, -9, 70], axis=1, mode="clip"),
    "clipped flat": called("take", np.array([99, -99]), mode="clip"),
    "wrapped flat": called("take", np.array([99, -99]), mode="wrap"),
    "clipped by number": called("take", np.array([99, -99]), mode=0),
    "none": called("take", []),
    "no rows": called("take", np.zeros((2, 0), int), axis=0),
    "unsigned": called("take", np.array([1, 2], "u8")),
    "bools": called("take", np.array([True, False])),
    "floats in a list": called("take", [1.5]),
}
WRONG_TAKES = {
    "too far": called("take", [35]),
    "too far below": called("take", np.array([-36])),
    "too far along": called("take", np.array([5]), 1),
    "floats": called("take", np.array([1.0])),
    "text": called("take", "x"),
    "axis": called("take", [0], 2),
    "mode": called("take", [0], mode="x"),
    "mode number": called("take", [0], mode=7),
    "bool as axis": called("take", [0], True),
    "bool of NumPy as axis": called("take", [0], np.False_),
}


def checks_of(acts: dict[str, Any], x: np.ndarray = X) -> list[Check]:
    return [Check(name, act, (x,)) for name, act in acts.items()]


def in_turns(checks: list[Check], placings: tuple[Placing, ...] = LAYOUTS[:5]) -> list[Any]:
    """Checks with a layout each, one after the other."""
    return list(zip(checks, cycle(placings), strict=False))


def distributed(acts: dict[str, Any]) -> dict[str, Any]:
    """The same calls with distributed arguments."""
    found = {}
    for name, act in acts.items():
        cells = dict(zip(act.__code__.co_freevars, act.__closure__, strict=True))
        args, options = cells["args"].cell_contents, cells["options"].cell_contents
        first = cells["first"].cell_contents
        found[name + ", distributed"] = called(
            cells["name"].cell_contents, *args, put=spread, first=first, **options
        )
    return found


def test_take():
    verify(in_turns(checks_of(TAKES), LAYOUTS[:4]))
    verify(in_turns(checks_of(distributed(TAKES)), CUT), ranks=(1, 3, 7))


def test_take_of_what_is_not_there():
    acts = {**WRONG_TAKES, **distributed(WRONG_TAKES)}
    verify(checks_of(acts), ranks=(1, 3), flow=False)


def test_take_of_short_arrays():
    shapes = ((), (0,), (0, 3), (1,), (0, 1), (0, 0), (2, 0), (2, 0, 3))
    acts = {
        "first": called("take", [0]),
        "none": called("take", []),
        "clipped": called("take", [0], mode="clip"),
        "wrapped": called("take", [1], mode="wrap"),
        "along": called("take", [0], axis=0),
        "along the last": called("take", np.array([0]), axis=-1),
        "along another": called("take", [0], axis=1),
        "too far": called("take", [-3]),
        "too far along": called("take", [-3], axis=0),
        "too far along another": called("take", np.array([9]), axis=1),
    }
    checks = [Check(f"{n} {s}", act, (np.ones(s),)) for n, act in acts.items() for s in shapes]
    verify(checks, ranks=(1, 3), flow=False)


def out_of(name: str, *args: Any, shape: Any, dtype: str = "f8", **options: Any) -> Any:
    """Function that gives what a call wrote to its output, or what it raised."""

    def act(xp: Any, a: Any) -> Any:
        out = np.full(shape, -7).astype(dtype)
        out = out if xp is np else ROWS.place(out)
        given = getattr(xp, name)(*args[:1], a, *args[1:], out=out, **options)
        assert given is out
        return out

    return act


def test_outputs():
    acts = {
        "compress": out_of("compress", [1, 0, 1], 0, shape=(2, 5)),
        "compress, another dtype": out_of("compress", [1, 0, 1], 0, shape=(2, 5), dtype="i4"),
        "compress, another shape": out_of("compress", [1, 0, 1], 0, shape=(2, 4)),
        "take": lambda xp, a: _take_into(xp, a, (2, 2), "f8"),
        "take, another dtype": lambda xp, a: _take_into(xp, a, (2, 2), "f4"),
        "take, another shape": lambda xp, a: _take_into(xp, a, (2,), "f8"),
        "take, a dtype that holds more": lambda xp, a: _take_into(xp, a, (2, 2), "c16"),
        "choose": lambda xp, a: _choose_into(xp, a, (7, 5), "f8"),
        "choose, integers": lambda xp, a: _choose_into(xp, a, (7, 5), "i8"),
        "choose, another shape": lambda xp, a: _choose_into(xp, a, (1, 7, 5), "f8"),
    }
    verify(checks_of(acts), ranks=(1, 3), placings=CUT[:2])


def _take_into(xp: Any, a: Any, shape: tuple, dtype: str) -> Any:
    out = spread(xp, np.zeros(shape, dtype))
    assert xp.take(a, INDEX, out=out) is out
    return out


def _choose_into(xp: Any, a: Any, shape: tuple, dtype: str) -> Any:
    out = spread(xp, np.zeros(shape, dtype))
    assert xp.choose((a % 2).astype(int), [a, 1.5], out=out) is out
    return out


def test_outputs_that_are_no_arrays_of_ours():
    with pytest.raises(TypeError, match=r"numpy\(\)"):
        taskarr.take(taskarr.arange(3), [0], out=np.zeros(1))


ALONG = {
    "rows": called("take_along_axis", np.array([[3, 0, -1, 2, 2], [0, 0, 6, 1, -7]]), 0),
    "columns": called("take_along_axis", np.arange(21).reshape(7, 3) % 5, 1),
    "last": called("take_along_axis", np.arange(21).reshape(7, 3) % 5, axis=-1),
    "one row for all": called("take_along_axis", np.array([[1, 0, 3]]), 1),
    "flat": called("take_along_axis", np.array([3, 34, -1]), None),
    "none": called("take_along_axis", np.zeros((7, 0), int), 1),
}
WRONG_ALONG = {
    "range": called("take_along_axis", np.array([[1, 0, 5]]), 1),
    "floats": called("take_along_axis", np.array([[1.0]]), 1),
    "axes": called("take_along_axis", np.array([1]), 1),
    "flat of two": called("take_along_axis", np.array([[1]]), None),
    "axis": called("take_along_axis", np.array([[1]]), 2),
    "bools": called("take_along_axis", np.array([[True]]), 1),
}


def test_take_along_axis():
    verify(checks_of(ALONG), ranks=(1, 2), placings=LAYOUTS[:4])
    verify(in_turns(checks_of(distributed(ALONG)), CUT), ranks=(1, 5))
    wrong = {**WRONG_ALONG, **distributed(WRONG_ALONG)}
    verify(checks_of(wrong), ranks=(1, 3), flow=False)


def test_choose():
    def chosen(*choices: Any, change: Any = lambda a: (a % 2).astype(int), **options: Any) -> Any:
        def act(xp: Any, a: Any) -> Any:
            given = [c(a) if callable(c) else c for c in choices]
            return xp.choose(change(a), given, **options)

        return act

    acts = {
        "scalars": chosen(1, 2.5),
        "a narrow one": chosen(np.float32(1), 2),
        "rows": chosen(np.arange(5), np.arange(5.0) * 3),
        "itself": chosen(lambda a: a, lambda a: -a),
        "wrapped": chosen(1, 2, 3, change=lambda a: (a - 9).astype(int), mode="wrap"),
        "clipped": chosen(1, 2, 3, change=lambda a: (a - 9).astype(int), mode="clip"),
        "bools": chosen(10, 20, change=lambda a: a > 7),
        "broadcast": chosen(np.arange(2).reshape(2, 1, 1), 5),
        "too large": chosen(1, 2, change=lambda a: a.astype(int)),
        "negative": chosen(1, 2, change=lambda a: (-a).astype(int)),
        "floats": chosen(1, 2, change=lambda a: a),
        "nothing": chosen(),
        "many": chosen(*[1] * 65),
        "shapes": chosen(np.ones((3, 2)), 1),
        "of an array": lambda xp, a: xp.choose(xp.asarray([1, 0, 1, 6, 2]), a),
        "method": lambda xp, a: (a % 2).astype(int).choose([a, 0]),
        "several": lambda xp, a: (a % 2).astype(int).choose(a, -a, mode="clip"),
        "none given": lambda xp, a: (a % 2).astype(int).choose(),
        "by name": lambda xp, a: (a % 2).astype(int).choose(choices=[a, 0]),
        "mapping": lambda xp, a: xp.choose((a % 2).astype(int), {0: a, 1: a}),
        "set": lambda xp, a: xp.choose((a % 2).astype(int), {0, 1}),
        "iterator": lambda xp, a: xp.choose((a % 2).astype(int), iter([0, 1])),
        "number": lambda xp, a: xp.choose((a % 2).astype(int), 5),
    }
    verify(in_turns(checks_of(acts)), ranks=(1, 2, 5))


CONDITIONS = {
    "compress": called("compress", np.array([1, 0, 1, 0, 0, 2, 1]), axis=0, first=False),
    "compress columns": called("compress", np.array([True, False, True]), axis=1, first=False),
    "compress last": called("compress", [0, 1], axis=-1, first=False),
    "compress flat": called("compress", np.arange(30) % 4 == 1, first=False),
    "compress by nothing": called("compress", [], first=False),
    "compress by nothing along": called("compress", [], 1, first=False),
    "longer, but false": called("compress", np.array([1, 1, 0, 0, 0, 0, 0, 0]), 0, first=False),
    "longer": called("compress", np.array([1, 1, 0, 0, 0, 0, 0, 1]), 0, first=False),
    "of two axes": called("compress", [[1, 0]], first=False),
    "of none": called("compress", 1, first=False),
    "compress along another": called("compress", [1], 2, first=False),
    "compress along a bool": called("compress", [1], False, first=False),
    "extract": called("extract", X % 3 == 1, first=False),
    "extract by floats": called("extract", X % 3, first=False),
    "extract by fewer": called("extract", [0, 1, 1], first=False),
    "extract by more": called("extract", np.arange(40) == 39, first=False),
    "extract by a column": called("extract", np.ones((7, 1)), first=False),
    "extract by true": called("extract", True, first=False),
}


def test_compress_and_extract():
    verify(in_turns(checks_of(CONDITIONS)), ranks=(1, 2, 5), flow=False)
    verify(in_turns(checks_of(distributed(CONDITIONS)), CUT), ranks=(1, 3), flow=False)
    for axis in (None, 0, -1, 1, -2):
        act = lambda xp, a, axis=axis: xp.compress([True], a, axis)  # noqa: E731
        verify([Check(f"number {axis}", act, (np.array(3.0),))], ranks=(1, 3), flow=False)
    method = Check("method", lambda xp, a: a.compress([1, 0, 1], axis=0), (X,))
    verify([method, Check("own", lambda xp, a: xp.extract(a > 9, a), (X,))], ranks=(1, 3))


WHERE = {
    "nonzero": lambda xp, a: xp.nonzero(a % 3 == 0),
    "of numbers": lambda xp, a: xp.nonzero(a),
    "method": lambda xp, a: (a % 2).nonzero(),
    "where": lambda xp, a: xp.where(a > 3),
    "all": lambda xp, a: xp.nonzero(a > -1),
    "none": lambda xp, a: xp.nonzero(a > 99),
    "turned": lambda xp, a: xp.nonzero(a.T[::-1] % 3),
}


def parts(act: Any, count: int) -> list[Any]:
    """A function for each array of a tuple that another function gives."""
    return [lambda xp, a, k=k: act(xp, a)[k] for k in range(count)]


def test_nonzero():
    checks = [
        Check(f"{name} {k}", part, (X,))
        for name, act in WHERE.items()
        for k, part in enumerate(parts(act, 2))
    ]
    rows = {
        "argwhere": lambda xp, a: xp.argwhere(a % 3 == 0),
        "flatnonzero": lambda xp, a: xp.flatnonzero(a % 3),
        "turned": lambda xp, a: xp.flatnonzero(a.T[::-1] % 3),
        "used as key": lambda xp, a: a[xp.nonzero(a % 3 == 0)],
    }
    verify(in_turns([*checks, *checks_of(rows)]), ranks=(1, 2, 3, 5))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3, 4), (5,)])
def test_nonzero_of_every_shape(shape):
    x = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 3
    acts = {name: called(name) for name in ("argwhere", "flatnonzero")}
    checks = checks_of(acts, x)
    checks += [Check("nonzero", lambda xp, a: xp.nonzero(a)[-1], (x,))]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[:3], flow=False)


@pytest.mark.parametrize(
    "x",
    [
        np.array(["a", "", " ", "0"]),
        np.array([b"a", b"", b" "]),
        np.array([(0, 1), (0, 0), (1, 0)], "i4,f4"),
        np.array(["NaT", "1970-01-01", "2000-01-01"], "M8[D]"),
        np.array([0, 5, 0], "m8[s]"),
        np.array([np.nan, 0, 1j]),
    ],
    ids=lambda x: str(x.dtype),
)
def test_what_counts_as_true(x):
    verify(checks_of({"flatnonzero": called("flatnonzero")}, x), ranks=(1, 3), flow=False)


def test_nonzero_as_one_array():
    def job(world):
        a = ROWS.place(X % 2)
        return [a.nonzero(as_tuple=False).numpy(), taskarr.nonzero(a, as_tuple=False).numpy()]

    for n in RANKS:
        for found in on_ranks(n, job).value:
            np.testing.assert_array_equal(found, np.argwhere(X % 2))


DTYPES = {
    "text": np.array(["a", "bc", "d", "e", "", "f"]),
    "bytes": np.array([b"a", b"bc", b"d", b"e", b"", b"f"]),
    "times": np.arange("2000", "2006", dtype="M8[Y]"),
    "structures": np.array([(k, k / 2) for k in range(6)], "i4,f8"),
    "complex": np.arange(6) * 1j,
    "big-endian": np.arange(6).astype(">i2"),
}


@pytest.mark.parametrize("name", DTYPES)
def test_every_dtype(name):
    acts = {
        "take": called("take", [3, 0, 3]),
        "take_along_axis": called("take_along_axis", np.array([3, 0]), 0),
        "compress": called("compress", [1, 0, 1], first=False),
        "tuple": lambda xp, a: xp.extract(xp.asarray([True, False] * 3), a),
    }
    if name != "structures":
        acts["choose"] = lambda xp, a: xp.choose(xp.asarray([0, 1, 0, 1, 1, 0]), [a, a[::-1]])
    verify(checks_of(acts, DTYPES[name]), ranks=(1, 3), flow=False)


def test_numpy_finds_the_functions():
    def job(world):
        a = ROWS.place(X)
        found = [
            np.take(a, [1]),
            np.take_along_axis(a, np.array([[1]]), 0),
            np.choose((a % 2).astype(int), [a, 0]),
            np.compress([1, 0], a, axis=1),
            np.extract(a > 3, a),
            *np.nonzero(a),
            *np.where(a > 3),
            np.flatnonzero(a),
            np.argwhere(a),
        ]
        assert all(isinstance(x, taskarr.Array) for x in found)
        return len(found)

    assert on_ranks(2, job).value == 11


FLAT = {
    "unravel": lambda xp, a: xp.unravel_index(a, (3, 5, 7))[1],
    "unravel F": lambda xp, a: xp.unravel_index(a, (3, 5, 7), order="F")[1],
    "unravel, last": lambda xp, a: xp.unravel_index(a, (3, 5, 7))[2],
    "one axis": lambda xp, a: xp.unravel_index(a, 40)[0],
    "unravel out of range": lambda xp, a: xp.unravel_index(a, (3, 5)),
    "unravel negative": lambda xp, a: xp.unravel_index(a - 1, (3, 50)),
    "unravel floats": lambda xp, a: xp.unravel_index(a * 1.0, (3, 50)),
    "unravel by a wrong order": lambda xp, a: xp.unravel_index(a, (3, 50), order="X"),
    "ravel": lambda xp, a: xp.ravel_multi_index((a % 3, a % 5), (3, 5)),
    "ravel F": lambda xp, a: xp.ravel_multi_index((a % 3, a % 5), (3, 5), order="F"),
    "ravel of one and a number": lambda xp, a: xp.ravel_multi_index((a % 3, 4), (3, 5)),
    "ravel of an array": lambda xp, a: xp.ravel_multi_index(a[:2] % 3, (3, 5)),
    "ravel out of range": lambda xp, a: xp.ravel_multi_index((a, a), (3, 5)),
    "ravel wrapped": lambda xp, a: xp.ravel_multi_index((a - 9, a), (3, 5), mode="wrap"),
    "ravel clipped": lambda xp, a: xp.ravel_multi_index((a - 9, a), (3, 5), mode="clip"),
    "ravel by modes": lambda xp, a: xp.ravel_multi_index((a, a), (40, 5), ("raise", "wrap")),
    "ravel of floats": lambda xp, a: xp.ravel_multi_index((a * 1.0, a), (40, 5)),
    "ravel of too few": lambda xp, a: xp.ravel_multi_index((a,), (40, 5)),
    "ravel by a wrong mode": lambda xp, a: xp.ravel_multi_index((a, a), (40, 50), mode="x"),
    "ravel of too many": lambda xp, a: xp.ravel_multi_index((a, a), (2**40, 2**40)),
    "argmax": lambda xp, a: xp.unravel_index(a.argmax(), a.shape)[1],
    "host": lambda xp, a: xp.unravel_index([3, 4], (2, 3))[1] + a[:2, 0],
}


def test_flat_indices():
    verify(in_turns(checks_of(FLAT, X.astype(int))), ranks=(1, 2, 5), flow=False)


@st.composite
def takes(draw):
    """An array, an index along one of its axes, and a mode."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    axis = draw(st.integers(-len(shape), len(shape) - 1))
    mode = draw(st.sampled_from(["raise", "wrap", "clip"]))
    n = shape[axis]
    ends = (-n, n - 1) if mode == "raise" else (-9, 9)
    size = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    seed = draw(st.integers(0, 99))
    index = np.random.default_rng(seed).integers(*ends, size, endpoint=True)
    return np.arange(float(np.prod(shape))).reshape(shape), np.asarray(index), axis, mode


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_any_take(data):
    x, index, axis, mode = data.draw(takes())
    put = data.draw(st.sampled_from([here, spread]))
    act = called("take", index, axis, mode=mode, put=put)
    placing = data.draw(st.sampled_from(LAYOUTS[:5]))
    verify(
        [(Check(f"{index} {axis} {mode}", act, (x,)), placing)],
        ranks=(data.draw(st.sampled_from(RANKS)),),
        flow=False,
    )


def test_errors_are_the_same_on_all_ranks():
    def job(world):
        a = ROWS.place(X)
        return [
            outcome(partial(taskarr.take, a, ROWS.place(np.array([1, 2, 35])))),
            outcome(partial(taskarr.take, a, [0], axis=5)),
        ]

    assert on_ranks(3, job).value == [IndexError, np.exceptions.AxisError]
