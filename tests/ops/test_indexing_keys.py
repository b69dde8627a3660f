"""``a.flat``, ``a.oindex`` and ``a.vindex``, read and written."""

from __future__ import annotations

import warnings
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
CUBE = np.arange(60.0).reshape(3, 4, 5)
MASK = np.arange(35) % 4 == 1


def in_turns(checks: list[Check], placings: tuple[Placing, ...] = LAYOUTS[:5]) -> list[Any]:
    """Checks with a layout each, one after the other."""
    return list(zip(checks, cycle(placings), strict=False))


def placed(xp: Any, key: Any, split: bool) -> Any:
    """Key whose arrays are distributed for taskarr."""
    if xp is np or not split:
        return key
    if isinstance(key, tuple):
        return tuple(placed(xp, entry, split) for entry in key)
    return ROWS.place(key) if isinstance(key, np.ndarray) else key


# ---------------------------------------------------------------------- flat

FLAT: dict[str, Any] = {
    "one": 3,
    "last": -1,
    "numpy integer": np.uint8(7),
    "zero dimensions": np.array(4),
    "all": slice(None),
    "dots": ...,
    "part": slice(3, 20),
    "steps": slice(1, None, 4),
    "backwards": slice(30, 2, -3),
    "all backwards": slice(None, None, -1),
    "nothing": slice(5, 5),
    "list": [3, 0, -1, 3],
    "array": np.array([[3, 0], [-1, 7]]),
    "unsigned": np.array([3, 1], "u2"),
    "empty list": [],
    "mask": MASK,
    "no mask": MASK & False,
    "tuple": (3,),
    "tuple of a list": ([3, 4],),
    "too far": 35,
    "too far below": -36,
    "too far in a list": [1, 35],
    "too far in an array": np.array([1, -36]),
    "two": (1, 2),
    "none": None,
    "text": "x",
    "floats": np.array([1.0]),
    "short mask": MASK[:9],
    "mask of two axes": MASK.reshape(7, 5),
    "list of bools": [True] * 35,
}
VALUES = {"one": 9, "several": np.array([-1.5, -2.5, -3.5]), "many": np.arange(99.0), "none": []}


def read_flat(key: Any, split: bool) -> Any:
    return lambda xp, a: a.flat[placed(xp, key, split)]


def write_flat(key: Any, value: Any, split: bool) -> Any:
    def act(xp: Any, a: Any) -> Any:
        a.flat[placed(xp, key, split)] = placed(xp, value, split)
        return a

    return act


@pytest.mark.parametrize("split", [False, True], ids=["host", "distributed"])
def test_flat(split):
    checks = [Check(name, read_flat(key, split), (X,)) for name, key in FLAT.items()]
    checks += [Check("empty tuple", read_flat((), split), (X,))]
    verify(in_turns(checks, CUT if split else LAYOUTS[:5]), ranks=(1, 2, 5), flow=False)


@pytest.mark.parametrize("split", [False, True], ids=["host", "distributed"])
def test_writing_flat(split):
    checks = [
        Check(f"{name} = {kind}", write_flat(key, value, split), (X,))
        for name, key in {**FLAT, "empty tuple": ()}.items()
        for kind, value in VALUES.items()
    ]
    verify(in_turns(checks, CUT if split else LAYOUTS[:5]), ranks=(1, 3), flow=False)


def test_flat_of_views():
    views = {
        "part": lambda a: a[1:6, ::-2],
        "turned": lambda a: a.T,
        "row": lambda a: a[2],
        "element": lambda a: a[2:3, 1:2],
    }

    def writing(view: Any, key: Any) -> Any:
        def act(xp: Any, a: Any) -> Any:
            view(a).flat[key] = [-1, -2]
            return a

        return act

    checks = []
    for name, view in views.items():
        for key in (0, slice(None, None, 2), [0, -1]):
            checks.append(Check(f"{name} {key}", lambda xp, a, v=view, k=key: v(a).flat[k], (X,)))
            checks.append(Check(f"{name} {key} written", writing(view, key), (X,)))
    verify(in_turns(checks), ranks=(1, 3), flow=False)


def test_all_of_flat():
    def whole(value: Any) -> Any:
        def act(xp: Any, a: Any) -> Any:
            a.flat = value
            return a

        return act

    checks = [Check(f"= {v!r}", whole(v), (X,)) for v in (5, [1, 2, 3], X * 2, [], np.float32(2))]
    checks += [
        Check("sum", lambda xp, a: sum(a[:2].flat), (X,)),
        Check("copy", lambda xp, a: a.T.flat.copy(), (X,)),
    ]
    verify(checks, ranks=(1, 3), placings=CUT[:3], flow=False)


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (1,)])
def test_flat_of_short_arrays(shape):
    acts = {
        f"{key}": read_flat(key, False) for key in (0, 1, slice(None), [0], [], ..., slice(0, 0))
    }
    acts |= {f"{k} = 5": write_flat(k, 5, False) for k in (0, slice(None), [0], [])}
    verify([Check(n, act, (np.ones(shape),)) for n, act in acts.items()], (1, 3), flow=False)


def test_flat_as_an_iterator():
    def job(world):
        a = ROWS.place(X[:2])
        flat = a.flat
        first = float(next(flat))
        rest = [float(x) for x in flat]
        assert flat.base is a
        return len(flat), [first, *rest], np.asarray(a.flat)

    count, elements, host = on_ranks(2, job).value
    assert count == 10
    assert elements == list(X[:2].flat)
    np.testing.assert_array_equal(host, X[:2].reshape(-1))


ODD: dict[str, Any] = {
    "fraction": 1.7,
    "fractions": [1.7, 2],
    "fraction too far": 99.0,
    "number of NumPy": np.float64(2.5),
    "times": np.timedelta64(3),
    "digits": "4",
    "list of digits": ["4", "0"],
    "complex": 1j,
    "true": True,
    "false": False,
    "true array": np.array(True),
    "numpy bool": np.True_,
    "tuple of true": (True,),
    "list of bools": [True] * 35,
    "text": "x",
    "object": object(),
    "set": {1},
    "range": range(3),
    "memory": memoryview(np.array([3, 1])),
    "bytes": bytearray(b"\x01\x02"),
    "array of floats": np.array([1.0]),
    "2**63": 2**63,
    "unsigned": np.uint64(2**63),
    "large": -(2**70),
    "list of large ones": [2**64],
}


def warned(act: Any) -> Any:
    """What a function gives, and what it warned of, as text."""

    def told(xp: Any, a: Any) -> Any:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = act(xp, a)
            found = found.numpy() if isinstance(found, taskarr.Array) else found
        return repr(np.asarray(found)), [str(each.message) for each in caught]

    return told


@pytest.mark.parametrize("split", [False, True], ids=["host", "distributed"])
def test_odd_keys_of_flat(split):
    acts = {name: read_flat(key, False) for name, key in ODD.items()}
    acts |= {f"{name} = 9": write_flat(key, 9, False) for name, key in ODD.items()}
    checks = [Check(name, warned(act), (X,)) for name, act in acts.items()]
    verify(checks, ranks=(1, 3), placings=CUT[:1] if split else LAYOUTS[:1], flow=False)


@pytest.mark.filterwarnings("ignore:Invalid non-array")
def test_elements_as_keys_of_flat():
    acts = {
        "element": lambda xp, a: a.flat[a[0, 2]],
        "true element": lambda xp, a: a.flat[a[0, 2] > 0],
        "number": lambda xp, a: a.flat[(a > 3).sum()],
        "write": lambda xp, a: write_flat(a[0, 2], 9, False)(xp, a),
    }
    verify([Check(name, act, (X,)) for name, act in acts.items()], ranks=(1, 3), flow=False)


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3), (2, 0), (3, 2, 2)])
def test_position_of_flat(shape):
    def act(xp: Any, a: Any) -> Any:
        flat, found = a.flat, []
        for step in (0, 1, 1, 3, 99):
            for _ in range(step):
                next(flat, None)
            found.append((flat.index, tuple(map(int, flat.coords))))
        flat[:1]
        found.append((flat.index, flat.coords))
        next(flat, None)
        flat[...]
        found.append((flat.index, flat.coords))
        flat[:] = 1
        return [*found, (flat.index, flat.coords)]

    verify([Check(f"{shape}", act, (np.zeros(shape),))], (1, 3), LAYOUTS[1:2], flow=False)


def test_values_of_one_element():
    for value in ("x", [1], np.ones(1), 1j):
        for xp in (np, taskarr):
            a = xp.zeros((2, 3))
            with pytest.raises(ValueError, match="single item"):
                a.flat[1] = value
    a = taskarr.zeros((2, 3))
    a.flat[4] = a.sum() + 7
    assert a.tolist() == [[0, 0, 0], [0, 7, 0]]
    with pytest.raises(TypeError):
        a[0, 0].flat[0] = 1
    with pytest.raises(IndexError):
        a.flat[np.False_]


# ---------------------------------------------------------------------- orthogonal

OUTER: dict[str, Any] = {
    "two lists": ([2, 0], [3, 1, 1]),
    "three": ([2, 0], np.array([3, -1]), [0]),
    "separated": (np.array([2, 0, 0]), slice(None), [1, 4]),
    "mask and list": (np.array([True, False, True]), [3, 0]),
    "list and mask": ([1], slice(None), np.array([True, False, True, True, False])),
    "two masks": (np.array([True, False, True]), np.array([False] * 4)),
    "int between": ([2, 0], 1, [3, 4]),
    "slice and list": (slice(None, None, -2), [3, 0]),
    "dots": (..., [4, 0]),
    "one": [2, 1],
    "empty": ([], [1, 2]),
    "empty array": (slice(1, 3), np.zeros(0, int), [2]),
    "basic": (slice(1, 3), 2),
    "an element": (1, 2, 3),
    "matrix": (np.array([[0, 1], [2, 0]]), slice(None), [1, 2]),
    "mask of two axes": (CUBE[:, :, 0] % 2 == 0, [1, 2]),
    "new axis": (None, [1, 2], None, [3, 0]),
}


def expected_outer(x: np.ndarray, key: Any) -> Any:
    """Key of NumPy's with the same meaning for the flat positions of an array."""
    found, axis = np.arange(x.size).reshape(x.shape), 0
    for entry in key if isinstance(key, tuple) else (key,):
        entry = np.asarray(entry) if isinstance(entry, list) else entry
        if isinstance(entry, np.ndarray) and not entry.size and entry.dtype != bool:
            entry = entry.astype(int)
        lead = (slice(None),) * axis
        if entry is Ellipsis:
            axis = found.ndim - 1
            continue
        before = found.ndim
        found = found[(*lead, entry)]
        if isinstance(entry, np.ndarray) and entry.dtype != bool:
            axis += found.ndim - before
        axis += 0 if isinstance(entry, int) else 1
    return found


class Keyed:
    """What a way of indexing means, by the positions it selects."""

    def __init__(self, name: str, positions: np.ndarray, key: Any, split: bool) -> None:
        self.name, self.positions, self.key, self.split = name, positions, key, split

    def read(self, xp: Any, a: Any) -> Any:
        if xp is np:
            return a.reshape(-1)[self.positions]
        return getattr(a, self.name)[placed(xp, self.key, self.split)]

    def write(self, value: Any) -> Any:
        def act(xp: Any, a: Any) -> Any:
            if xp is np:
                a.reshape(-1)[self.positions] = value
            else:
                getattr(a, self.name)[placed(xp, self.key, self.split)] = placed(
                    xp, value, self.split
                )
            return a

        return act


def checks_for(name: str, keys: dict[str, Any], meaning: Any, split: bool) -> list[Check]:
    checks = []
    for label, key in keys.items():
        positions = meaning(CUBE, key)
        keyed = Keyed(name, positions, key, split)
        values = np.random.default_rng(5).random(positions.shape).round(3)
        checks.append(Check(label, keyed.read, (CUBE,)))
        checks.append(Check(f"{label} = each", keyed.write(values), (CUBE,)))
        checks.append(Check(f"{label} = one", keyed.write(-1.5), (CUBE,)))
        if positions.ndim > 1 and len(positions):
            checks.append(Check(f"{label} = row", keyed.write(values[0]), (CUBE,)))
    return checks


@pytest.mark.parametrize("split", [False, True], ids=["host", "distributed"])
def test_orthogonal(split):
    checks = checks_for("oindex", OUTER, expected_outer, split)
    turns = in_turns(checks, CUT if split else LAYOUTS[:5])
    verify(turns, ranks=(5,) if split else (1, 3), flow=False)


# ---------------------------------------------------------------------- points

POINTS: dict[str, Any] = {
    "all axes": ([2, 0, 1], [3, 1, 1], [0, 4, -1]),
    "two axes": ([2, 0, 1], [3, 1, 1]),
    "apart": ([2, 0], slice(None), [1, 4]),
    "behind a slice": (slice(None, None, -1), [2, 0], [1, 4]),
    "behind": (slice(1, 3), slice(None), [1, 4]),
    "broadcast": (np.array([[2], [0]]), np.array([3, 1, 0])),
    "with an int": ([2, 0], 1, [3, 4]),
    "mask": CUBE % 3 == 0,
    "mask of one axis": (slice(None), np.array([True, False, True, True])),
    "empty": ([], slice(None), []),
    "basic": (slice(1, 3), 2),
    "an element": (1, 2, 3),
}


def expected_points(x: np.ndarray, key: Any) -> Any:
    """Flat positions of points."""
    positions = np.arange(x.size).reshape(x.shape)
    entries = key if isinstance(key, tuple) else (key,)
    arrays = [k for k, e in enumerate(entries) if isinstance(e, list | np.ndarray)]
    if not arrays:
        return positions[key]
    order = [*arrays, *(k for k in range(x.ndim) if k not in arrays)]
    if entries[0] is not Ellipsis and getattr(entries[0], "ndim", 1) == x.ndim:
        return positions[key]
    moved = positions.transpose(order)
    rest = [entries[k] if k < len(entries) else slice(None) for k in order[len(arrays) :]]
    # the basic entries first, so that NumPy has no choice about where axes go
    moved = moved[(*(slice(None),) * len(arrays), *rest)]
    return moved[tuple(np.asarray(entries[k], None if len(entries[k]) else int) for k in arrays)]


@pytest.mark.parametrize("split", [False, True], ids=["host", "distributed"])
def test_points(split):
    checks = checks_for("vindex", POINTS, expected_points, split)
    turns = in_turns(checks, CUT if split else LAYOUTS[:5])
    verify(turns, ranks=(5,) if split else (1, 3), flow=False)


def test_wrong_keys():
    def job(world):
        a = ROWS.place(CUBE)
        keys = ([0, 3], (0, [4]), ([1.0],), "x", True, ([True, False],), (0, 0, 0, 0), (9, [0]))
        for key in keys:
            for index in (a.oindex, a.vindex):
                with pytest.raises(IndexError):
                    index[key]
                with pytest.raises(IndexError):
                    index[key] = 1
        with pytest.raises(ValueError, match="broadcast"):
            a.oindex[[0, 1], [2, 3]] = np.ones((3, 2, 5))
        with pytest.raises(ValueError, match="broadcast"):
            a.vindex[[0, 1], [2, 3]] = np.ones((3, 5))
        with pytest.raises(ValueError, match="read-only"):
            a.diagonal().oindex[[0], [1]] = 1
        return a.numpy()

    np.testing.assert_array_equal(on_ranks(3, job).value, CUBE)


def test_writes_through_views_of_both():
    def job(world):
        a, b = ROWS.place(X), X.copy()
        a[1:, ::-1].oindex[[0, 2], [1, 0]] = [[-1, -2], [-3, -4]]
        b[1:, ::-1][np.ix_([0, 2], [1, 0])] = [[-1, -2], [-3, -4]]
        a.T.vindex[[0, 2], [1, 0]] = [8, 9]
        b.T[[0, 2], [1, 0]] = [8, 9]
        return a.numpy(), b

    for n in (1, 3):
        found, expected = on_ranks(n, job).value
        np.testing.assert_array_equal(found, expected)


@st.composite
def grids(draw):
    """An array and a key with an array, a slice or an integer for some of its axes."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    key: list[Any] = []
    for n in shape[: draw(st.integers(1, len(shape)))]:
        kind = draw(st.sampled_from(["index", "mask", "slice", "int"]))
        if kind == "index":
            key.append(rng.integers(-n, n, draw(st.integers(0, 4))))
        elif kind == "mask":
            key.append(rng.random(n) < 0.5)
        else:
            key.append(slice(None, None, -1) if kind == "slice" else draw(st.integers(0, n - 1)))
    return np.arange(float(np.prod(shape))).reshape(shape), tuple(key)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_any_orthogonal_key(data):
    x, key = data.draw(grids())
    keyed = Keyed("oindex", expected_outer(x, key), key, data.draw(st.booleans()))
    values = np.random.default_rng(5).random(keyed.positions.shape).round(3)
    checks = [Check(f"{key}", keyed.read, (x,)), Check(f"{key} =", keyed.write(values), (x,))]
    placing = data.draw(st.sampled_from(LAYOUTS[:5]))
    ranks = (data.draw(st.sampled_from(RANKS)),)
    verify([(c, placing) for c in checks], ranks=ranks, flow=False)
