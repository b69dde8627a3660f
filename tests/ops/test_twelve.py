"""Array {distributed, replicated} x key {host, distributed} x value {scalar, NumPy, distributed}.

Each of the twelve is a test of its own, for index arrays and for masks, written, augmented, and
read back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import taskarr
from tests.layouts import on_ranks

X = np.arange(45.0).reshape(9, 5)
RANKS = (1, 2, 5)
ROWS = np.array([7, 0, -1, 3, 3, 0, 5])
MASK = X % 7 < 3
KEYS: dict[str, tuple[Any, ...]] = {
    "rows": (ROWS,),
    "rows and columns": (ROWS, np.array([0, 4, 2, 2, 1, -5, 0])),
    "columns": (slice(None, None, -1), np.array([4, 0, 0])),
    "mask": (MASK,),
    "rows of a mask": (MASK[:, 1], slice(1, None, 2)),
}
SPLITS: dict[str, Any] = {"distributed": 0, "replicated": None}


@dataclass(frozen=True)
class Combination:
    """Where the array, the key and the value lie."""

    array: str
    key: str
    value: str

    def key_of(self, key: tuple[Any, ...], split: Any) -> tuple[Any, ...]:
        if self.key == "host":
            return key
        return tuple(
            taskarr.asarray(e, split=min(split, e.ndim - 1)) if isinstance(e, np.ndarray) else e
            for e in key
        )

    def value_of(self, value: np.ndarray, split: Any) -> Any:
        if self.value == "scalar":
            return 7.5
        if self.value == "NumPy":
            return value
        return taskarr.asarray(value, split=min(split, value.ndim - 1))


def job(world: Any, kind: Combination, key: tuple[Any, ...], value: np.ndarray) -> list[np.ndarray]:
    """Arrays after writes and reads, with keys and values cut alike and across."""
    found = []
    for split in (0, 1):
        a, b = (taskarr.asarray(X, split=SPLITS[kind.array]) for _ in range(2))
        k, v = kind.key_of(key, split), kind.value_of(value, 1 - split)
        a[k] = v
        b[k] += v
        found += [a, b, a[k], b[k] * 2]
    return taskarr.compute(*found)


def hold(kind: Combination) -> None:
    for name, key in KEYS.items():
        shape = X[key].shape
        value = np.random.default_rng(1).random(shape)
        given = 7.5 if kind.value == "scalar" else value
        a, b = X.copy(), X.copy()
        a[key] = given
        b[key] += given
        expected = [a, b, a[key], b[key] * 2] * 2
        for n in RANKS:
            found = on_ranks(n, job, kind, key, value).value
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_array_equal(x, y, f"{name} on {n} ranks", strict=True)


def test_distributed_array_host_key_scalar():
    hold(Combination("distributed", "host", "scalar"))


def test_distributed_array_host_key_numpy_value():
    hold(Combination("distributed", "host", "NumPy"))


def test_distributed_array_host_key_distributed_value():
    hold(Combination("distributed", "host", "distributed"))


def test_distributed_array_distributed_key_scalar():
    hold(Combination("distributed", "distributed", "scalar"))


def test_distributed_array_distributed_key_numpy_value():
    hold(Combination("distributed", "distributed", "NumPy"))


def test_distributed_array_distributed_key_distributed_value():
    hold(Combination("distributed", "distributed", "distributed"))


def test_replicated_array_host_key_scalar():
    hold(Combination("replicated", "host", "scalar"))


def test_replicated_array_host_key_numpy_value():
    hold(Combination("replicated", "host", "NumPy"))


def test_replicated_array_host_key_distributed_value():
    hold(Combination("replicated", "host", "distributed"))


def test_replicated_array_distributed_key_scalar():
    hold(Combination("replicated", "distributed", "scalar"))


def test_replicated_array_distributed_key_numpy_value():
    hold(Combination("replicated", "distributed", "NumPy"))


def test_replicated_array_distributed_key_distributed_value():
    hold(Combination("replicated", "distributed", "distributed"))


@pytest.mark.parametrize("split", [0, 1, (0, 1)])
@pytest.mark.parametrize("other", [0, 1, None])
def test_a_value_cut_otherwise_than_what_is_written(split, other):
    value = np.random.default_rng(2).random((len(ROWS), 5))
    expected = X.copy()
    expected[ROWS] = value

    def act(world):
        a = taskarr.asarray(X, split=split)
        a[taskarr.asarray(ROWS, split=0)] = taskarr.asarray(value, split=other)
        return a.numpy()

    for n in RANKS:
        np.testing.assert_array_equal(on_ranks(n, act).value, expected, strict=True)
