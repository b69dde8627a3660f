"""Keys with integer and boolean arrays, read and written, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import taskarr
from taskarr.api import Array
from taskarr.arrays import node_of
from taskarr.ops import advanced
from tests.layouts import CUT, LAYOUTS, RANKS, Placing, on_ranks
from tests.oracle import Check, verify

ROWS = Placing("rows", split=0)
SHAPE = (7, 5)
X = np.arange(35.0).reshape(SHAPE)
MASK = X % 3 == 0
ROW_MASK = np.array([1, 0, 0, 1, 1, 0, 1], np.bool_)
COLUMN_MASK = np.array([0, 1, 1, 0, 1], np.bool_)
INDEX, OTHER = np.array([6, 0, -1, 3]), np.array([[1], [-2], [4]])

KEYS: dict[str, Any] = {
    "rows": (INDEX,),
    "list": ([3, 1, 1],),
    "nested list": ([[3, 1], [0, -7]],),
    "columns": (slice(None), INDEX % 5),
    "columns by dots": (..., INDEX % 5),
    "both": (INDEX, INDEX % 5),
    "broadcast": (INDEX, OTHER),
    "row and column": (2, INDEX % 5),
    "column of rows": (INDEX, 2),
    "turned": (slice(None, None, -1), INDEX % 5),
    "rows of a part": (slice(1, 6, 2), [4, 0]),
    "new axes": (None, INDEX, None, slice(None, None, -2)),
    "separated": (INDEX, None, OTHER),
    "int apart": (2, None, INDEX % 5),
    "dots": (INDEX, ...),
    "empty": (np.zeros(0, np.intp),),
    "empty list": ([],),
    "unsigned": (np.array([1, 2], "u8"),),
    "bytes": (np.array([1, -2], "i1"), ...),
    "mask": (MASK,),
    "row mask": (ROW_MASK,),
    "row mask and all": (ROW_MASK, slice(None)),
    "row mask and one": (ROW_MASK, 1),
    "column mask": (slice(None), COLUMN_MASK),
    "column mask by dots": (..., COLUMN_MASK),
    "row mask and columns": (ROW_MASK, np.array([0, 1, 2, 3])),
    "two masks": (ROW_MASK, np.array([1, 1, 1, 0, 1], np.bool_)),
    "mask list": ([True, False, False, True, True, False, True],),
    "mask and turned": (ROW_MASK, slice(None, None, -1)),
    "no rows": (np.zeros(7, np.bool_),),
    "true": True,
    "false": (False, ...),
    "true and rows": (True, INDEX),
    "rows and false": ([], False),
    "new axis and true": (None, True, 1),
}

WRONG: dict[str, Any] = {
    "out of range": ([1, 7],),
    "out of range below": (..., [-6, 0]),
    "too many": (INDEX, INDEX, INDEX),
    "mask and too many": (MASK, slice(None)),
    "two dots": (..., INDEX, ...),
    "floats": ([1.0, 2.0],),
    "float array": (np.zeros(2),),
    "text": (["a"],),
    "short mask": (ROW_MASK[:5],),
    "mask of columns on rows": (COLUMN_MASK, INDEX),
    "shapes": ([0, 1], [0, 1, 2]),
    "masks that don't fit": (ROW_MASK, COLUMN_MASK),
    "an int too large": (9, INDEX),
}


@dataclass(frozen=True)
class Keyed:
    """A function of an array and a key, for `Check`; ``spread`` distributes the key's arrays."""

    key: Any
    spread: Placing | None
    value: Any = None

    def entries(self, xp: Any) -> Any:
        if xp is np or self.spread is None:
            return self.key
        parts = self.key if isinstance(self.key, tuple) else (self.key,)
        return tuple(
            node_of(self.spread.place(e)) if isinstance(e, np.ndarray) else e for e in parts
        )

    def read(self, xp: Any, a: Any) -> Any:
        if xp is np:
            return a[self.key]
        return Array._of(advanced.read(node_of(a), self.entries(xp)))

    def write(self, xp: Any, a: Any) -> Any:
        if xp is np:
            a[self.key] = self.value
            return a
        value = self.value
        if self.spread is not None and isinstance(value, np.ndarray):
            value = node_of(self.spread.place(value))
        return Array._of(advanced.written(node_of(a), self.entries(xp), value))


@dataclass(frozen=True)
class Accumulated:
    """``function.at`` with a key, for `Check`."""

    function: np.ufunc
    keyed: Keyed

    def act(self, xp: Any, a: Any) -> Any:
        key, value = self.keyed.key, self.keyed.value
        if xp is np:
            self.function.at(a, key, *([] if value is None else [value]))
            return a
        spread = self.keyed.spread
        if spread is not None and isinstance(value, np.ndarray):
            value = node_of(spread.place(value))
        entries = self.keyed.entries(xp)
        return Array._of(advanced.accumulated(self.function, node_of(a), entries, value))


def check(label: str, act: Callable, x: np.ndarray = X) -> Check:
    return Check(label, act, (x,))


def value_for(key: Any, x: np.ndarray, kind: str) -> Any:
    shape = x[key].shape
    if kind == "scalar":
        return -1.5
    if kind == "row":
        shape = shape[-1:]
    return np.random.default_rng(3).random(shape).round(3)


@pytest.mark.parametrize("spread", [None, ROWS, CUT[3]], ids=str)
def test_reads(spread):
    checks = [check(name, Keyed(key, spread).read) for name, key in KEYS.items()]
    verify(checks, ranks=(1, 2, 3, 7), placings=LAYOUTS[:4] if spread is None else CUT[:2])


@pytest.mark.parametrize("kind", ["scalar", "row", "each"])
@pytest.mark.parametrize("spread", [None, ROWS], ids=str)
def test_writes(spread, kind):
    checks = [
        check(name, Keyed(key, spread, value_for(key, X, kind)).write) for name, key in KEYS.items()
    ]
    verify(checks, ranks=(1, 3), placings=LAYOUTS[:4] if spread is None else CUT[:2])


@pytest.mark.parametrize("spread", [None, ROWS], ids=str)
def test_accumulating(spread):
    checks = []
    for name, key in KEYS.items():
        for function in (np.add, np.multiply, np.negative):
            value = None if function is np.negative else value_for(key, X, "each")
            act = Accumulated(function, Keyed(key, spread, value)).act
            checks.append(check(f"{function.__name__} {name}", act))
    checks.append(check("text", Accumulated(np.add, Keyed((INDEX,), None, "text")).act))
    verify(checks, ranks=(1, 3), placings=CUT[:1])


@pytest.mark.parametrize("spread", [None, ROWS], ids=str)
def test_errors(spread):
    acts = [
        (n, getattr(Keyed(k, spread, 1.0), a)) for n, k in WRONG.items() for a in ("read", "write")
    ]
    verify([check(name, act) for name, act in acts], ranks=(1, 3), flow=False)


@pytest.mark.parametrize("name", ["out of range", "out of range below", "short mask", "floats"])
def test_messages_are_those_of_numpy(name):
    with pytest.raises(IndexError) as expected:
        X[WRONG[name]]

    def job(world):
        with pytest.raises(IndexError) as found:
            advanced.read(node_of(ROWS.place(X)), WRONG[name])
        return str(found.value)

    assert on_ranks(2, job).value == str(expected.value)


OUTSIDE = np.array([3, 50, -99, 4, 40])
FIRST: dict[str, Any] = {
    "read": lambda xp, a, k: a[k],
    "write": lambda xp, a, k: a.__setitem__(k, 0),
    "columns": lambda xp, a, k: a[:, k],
    "two": lambda xp, a, k: a[k, k],
    "at": lambda xp, a, k: np.add.at(a, k, 1),
    "take": lambda xp, a, k: xp.take(a, k),
    "take rows": lambda xp, a, k: xp.take(a, k, 0),
    "put": lambda xp, a, k: xp.put(a, k, 1),
    "take_along_axis": lambda xp, a, k: xp.take_along_axis(a, k[None], 1),
    "delete": lambda xp, a, k: xp.delete(a, k, 0),
    "unravel_index": lambda xp, a, k: xp.unravel_index(k, (5, 2)),
    "unravel_index, negative": lambda xp, a, k: xp.unravel_index(-k, (5, 2)),
    "compress": lambda xp, a, k: xp.compress(k > 2, a[:2], 0),
    "full mask": lambda xp, a, k: a.__setitem__(a > 1, np.arange(11.0)),
    "full mask, distributed": lambda xp, a, k: a.__setitem__(a > 1, k),
    "full mask, no values": lambda xp, a, k: a.__setitem__(a > 1, []),
}


def test_messages_name_the_first_index_that_is_wrong():
    expected = {}
    for name, act in FIRST.items():
        with pytest.raises((IndexError, ValueError)) as error:
            act(np, X.copy(), OUTSIDE)
        expected[name] = str(error.value)

    def job(world: Any, placing: Any) -> dict[str, str]:
        found = {}
        for name, act in FIRST.items():
            with pytest.raises((IndexError, ValueError)) as error:
                act(taskarr, placing.place(X), placing.place(OUTSIDE))
            found[name] = str(error.value)
        return found

    for n in (1, 3):
        for placing in LAYOUTS[:2]:
            assert on_ranks(n, job, placing).value == expected


@pytest.mark.parametrize("shape", [(3,), (2, 4, 5), (1, 1, 4, 5), (4, 1), (5,)])
def test_values_that_may_not_fit(shape):
    verify([check(f"{shape}", Keyed((INDEX,), None, np.ones(shape)).write)], (1, 3), flow=False)


def test_values_that_are_no_numbers():
    verify([check("text", Keyed((INDEX,), None, "text").write)], (1, 3), flow=False)


@st.composite
def arrays(draw):
    ndim = draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(st.integers(0, 4), min_size=ndim, max_size=ndim)))
    return np.arange(float(np.prod(shape))).reshape(shape)


@st.composite
def keys(draw, shape):
    """A key, nearly always a valid one."""
    count = draw(st.integers(1, 2))
    index_shape = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    entries: list[Any] = []
    axis = 0
    while axis < len(shape):
        n = shape[axis]
        kind = draw(st.sampled_from(["slice", "int", "array", "mask", "none", "stop"]))
        if kind == "stop":
            break
        if kind == "none":
            entries.append(None)
            continue
        if kind == "array" and n and count:
            part = index_shape[draw(st.integers(0, len(index_shape))) :]
            seed = draw(st.integers(0, 99))
            entries.append(np.random.default_rng(seed).integers(-n, n, part))
        elif kind == "mask" and count:
            ndim = draw(st.integers(1, len(shape) - axis))
            seed = draw(st.integers(0, 99))
            chosen = np.random.default_rng(seed).random(shape[axis : axis + ndim]) < 0.5
            entries.append(chosen)
            axis += ndim - 1
            count = 0
        elif kind == "int" and n:
            entries.append(draw(st.integers(-n, n - 1)))
        else:
            ends = st.one_of(st.none(), st.integers(-5, 5))
            step = draw(st.sampled_from([None, 1, 2, -1, -3]))
            entries.append(slice(draw(ends), draw(ends), step))
        axis += 1
    if draw(st.booleans()):
        entries.append(Ellipsis)
    return tuple(entries)


def is_advanced(key: tuple) -> bool:
    return any(isinstance(e, np.ndarray) and (e.ndim or e.dtype == bool) for e in key)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_any_key(data):
    x = data.draw(arrays())
    key = data.draw(keys(x.shape).filter(is_advanced))
    spread = data.draw(st.sampled_from([None, ROWS, *CUT[1:3]]))
    placing = data.draw(st.sampled_from(LAYOUTS[:5]))
    checks = [check(f"{key}", Keyed(key, spread).read, x)]
    try:
        value = value_for(key, x, data.draw(st.sampled_from(["scalar", "each"])))
    except IndexError:
        value = 1.0
    checks.append(check(f"{key} = {value}", Keyed(key, spread, value).write, x))
    pairs = [(c, placing) for c in checks]
    verify(pairs, ranks=(data.draw(st.sampled_from(RANKS)),), flow=False)


@pytest.mark.parametrize("key", ["rows", "columns", "column mask"])
def test_columns_and_known_keys_are_cheap(key):
    def job(world):
        a = node_of(taskarr.asarray(X, split=0))
        before = world.stages, world.counters["sends"]
        Array._of(advanced.read(a, KEYS[key])).persist()
        return world.stages - before[0], world.counters["sends"] - before[1]

    stages, sends = on_ranks(3, job).value
    assert stages == (1 if key == "rows" else 0)
    assert sends == 0


def test_values_are_converted_before_indices_are_broadcast():
    x, mask = np.zeros((4, 2)), np.array([False, True, True, True])
    keys = {
        "that don't fit": (mask, np.array([1, 0])),
        "out of range": (mask, np.array([1, 0, 7])),
        "too many": (slice(None), 1, [0]),
    }
    checks = [
        Check(f"{value!r} at indices {name}", written_at, (x,), fixed=(key, value))
        for name, key in keys.items()
        for value in (1.5 + 0j, "q", [1j], np.complex128(1), 3)
    ]
    verify([(c, CUT[0]) for c in checks], (1, 3), flow=False)


def written_at(xp, x, key, value):
    x[key] = value
    return x
