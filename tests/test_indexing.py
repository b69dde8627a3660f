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
