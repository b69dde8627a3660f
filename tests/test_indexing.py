"""Random chains of reads and writes by keys, run by NumPy and by taskarr on some ranks.

``TASKARR_FUZZ_KEYS=50000 pytest tests/test_indexing.py`` runs that many; ``TASKARR_FUZZ_SEED=7``
others.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import taskarr
from scheduler.plan import check_together
from tests.indexing import Spread, Step, chains, play
from tests.layouts import on_ranks, quiet
from tests.oracle import outcome
from tests.test_fuzz import recorded

EXAMPLES = int(os.environ.get("TASKARR_FUZZ_KEYS", "2000"))
SEED = int(os.environ.get("TASKARR_FUZZ_SEED", "0"))

flowed: list[bool] = []
"""Whether data moved between ranks, per chain."""


def job(world: Any, first: Spread, steps: list[Step]) -> tuple[list[np.ndarray], list[str]]:
    found, raised = play(taskarr, first, steps)
    facts = [(x.shape, x.dtype) for x in found]
    values = list(taskarr.compute(*found))
    assert [(x.shape, x.dtype) for x in values] == facts
    return values, raised


def fault(found: np.ndarray, expected: Any) -> str:
    """How an array differs from NumPy's; empty if it doesn't."""
    same = np.asarray(expected, found.dtype) if np.ndim(expected) == 0 else expected
    if (found.shape, found.dtype) != (same.shape, same.dtype):
        return f"{found.dtype}{found.shape}, NumPy {expected.dtype}{expected.shape}"
    if found.tobytes() != np.ascontiguousarray(same).tobytes() and not alike(found, same):
        return f"{found!r}, NumPy {expected!r}"
    return ""


def alike(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether arrays are equal where equality has another meaning than equal bytes."""
    if a.dtype.kind in "fcmM":
        return bool(np.array_equal(a, b, equal_nan=True))
    return bool(np.array_equal(a, b))


def hold(chain: tuple[Spread, list[Step]], ranks: int) -> None:
    """Hold all values, exceptions and plans of a chain to what they should be."""
    with quiet():
        expected, errors = play(np, *chain)
    with recorded(ranks) as plans:
        ran = on_ranks(ranks, job, *chain)
    found, raised = ran.value
    assert raised == errors, f"{raised}, NumPy {errors}"
    for together in zip(*plans, strict=True):
        check_together(together)
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert not (text := fault(x, y)), f"array {number}: {text}"
    flowed.append(ran.flowed)


@pytest.mark.limit(60 + EXAMPLES)
@seed(SEED)
@settings(
    max_examples=EXAMPLES,
    derandomize=not SEED,
    suppress_health_check=list(HealthCheck),
)
@given(chain=chains(), ranks=st.sampled_from((3, 2, 1, 5, 4, 7, 6)))
def test_chains_of_keys(chain, ranks):
    hold(chain, ranks)


def test_messages_flowed():
    assert sum(flowed) > len(flowed) / 3


X = np.arange(12.0).reshape(4, 3)


def test_an_array_of_zero_dimensions_in_a_key_gives_a_copy():
    def job(world):
        a = taskarr.asarray(X, split=0)
        for key in ((np.array(1), slice(None)), taskarr.asarray(1), (np.array(0), None)):
            a[key][...] = -1
        a[np.int64(2)][...] = -2
        a[a[0, 1].astype(int)][0] = -3
        return a.numpy()

    expected = X.copy()
    expected[2], expected[1, 0] = -2, -3
    for n in (1, 3):
        np.testing.assert_array_equal(on_ranks(n, job).value, expected)


WRITES = {
    "nothing selected, so nothing is out of range": (([9], np.zeros((0, 1), int)), 1.0, None),
    "a mask of no rows fits any length": (np.zeros((0, 3), bool), 1.0, None),
    "leading axes of no element": (([], slice(None)), np.zeros((5, 0, 3)), None),
    "leading axes of length one": ([0, 1], np.ones((1, 1, 2, 3)), None),
    "leading axes of others": ([0, 1], np.ones((2, 2, 3)), ValueError),
    "a list nested too deep": (slice(0, 1), [[[1.0, 2.0, 3.0]]], ValueError),
    "a list of complex numbers": (slice(0, 1), [1j, 1j, 1j], TypeError),
    "values that do not fit before what is out of range": ([9, 0], np.ones(2), ValueError),
    "a number out of range before values": ((9, [0, 1]), np.ones(3), IndexError),
    "a mask of another shape before values": (np.ones((3, 3), bool), np.ones((2, 2)), IndexError),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes_at_the_edge(name):
    key, value, error = WRITES[name]
    expected = X.copy()
    assert outcome(lambda: expected.__setitem__(key, value)) is error

    def job(world, spread):
        a = taskarr.asarray(X, split=0)
        given = taskarr.asarray(key, split=0) if spread else key
        return outcome(lambda: a.__setitem__(given, value)), a.numpy()

    for n in (1, 3):
        for spread in (False, isinstance(key, np.ndarray)):
            raised, found = on_ranks(n, job, spread).value
            assert raised is error
            np.testing.assert_array_equal(found, expected)
