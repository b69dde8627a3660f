"""Random programs, run by NumPy and by taskarr on a random number of ranks.

``TASKARR_FUZZ=20000 pytest tests/test_fuzz.py`` runs that many; ``TASKARR_FUZZ_SEED=7`` others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import taskarr
from scheduler.plan import Plan, check_together
from taskarr import evaluate
from tests.layouts import on_ranks, quiet
from tests.programs import Make, makes, pick, splits, steps

EXAMPLES = int(os.environ.get("TASKARR_FUZZ", "600"))
SEED = int(os.environ.get("TASKARR_FUZZ_SEED", "0"))

flowed: list[bool] = []
"""Whether data moved between ranks, per program."""


def play(xp: Any, program: Any) -> tuple[list[Any], list[str]]:
    """Values of all variables in the end, and the exceptions met, step by step."""
    env: list[Any] = []
    raised = []
    for step in program:
        try:
            found = step.run(xp, env)
        except Exception as error:
            plain = (c for c in type(error).__mro__ if c.__module__ == "builtins")
            several = len(getattr(step, "options", ())) > 1  # and which is seen first may differ
            raised.append("refused" if several else next(plain).__name__)
        else:
            raised.append("")
            if found is not None:
                env.append(found)
    return env, raised


def job(world: Any, program: Any) -> tuple[list[np.ndarray], list[str]]:
    env, raised = play(taskarr, program)
    return list(taskarr.compute(*env)), raised


def scale_of(values: list[Any]) -> float:
    """Largest finite magnitude among values."""
    most = 1.0
    for x in values:
        if x.dtype.kind in "fc" and x.size:
            size = abs(x[np.isfinite(x)])
            most = max(most, float(size.max(initial=1)))
    return most


@contextmanager
def recorded(size: int) -> Iterator[list[list[Plan]]]:
    """Plans of all runs, in order, per rank."""
    made: list[list[Plan]] = [[] for _ in range(size)]
    real = evaluate.execute

    def execute(world: Any, plan: Plan, *args: Any, **options: Any) -> Any:
        made[world.rank].append(plan)
        return real(world, plan, *args, **options)

    with patch.object(evaluate, "execute", execute):
        yield made


def grain_of(values: list[Any]) -> float:
    """Rounding unit of the narrowest numbers among values."""
    return max([float(np.finfo(x.dtype).eps) for x in values if x.dtype.kind in "fc"], default=0)


def close(found: np.ndarray, expected: np.ndarray, scale: float, error: float) -> bool:
    if found.dtype.kind == expected.dtype.kind in "SU" and not expected.ndim:
        expected = expected.astype(found.dtype)  # a scalar of text does not keep its width
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return False
    if found.dtype.kind not in "fc":
        return np.array_equal(found, expected, equal_nan=found.dtype.kind in "mM")
    found, expected = (x.astype(np.result_type(x.dtype, "f8")) for x in (found, expected))
    return np.allclose(found, expected, rtol=error, atol=error * scale, equal_nan=True)


def hold(program: list[Any], ranks: int, order: int, grains: int = 64, **options: Any) -> None:
    """Hold a program's variables, exceptions and plans to what they should be.

    ``grains`` is how many rounding units floats may differ by.
    """
    with quiet():
        expected, errors = play(np, program)
    expected = [np.asarray(x) for x in expected]
    with recorded(ranks) as plans:
        ran = on_ranks(ranks, job, program, seed=order, **options)
    found, raised = ran.value
    assert raised == errors
    for together in zip(*plans, strict=True):
        check_together(together)
    scale, error = scale_of(expected), grain_of(expected) * grains
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert close(x, y, scale, error), f"variable {number}: {x!r}, NumPy {y!r}"
    flowed.append(ran.flowed)


@pytest.mark.limit(60 + EXAMPLES)
@seed(SEED)
@settings(
    max_examples=EXAMPLES,
    derandomize=not SEED,
    suppress_health_check=list(HealthCheck),
)
@given(
    first=st.lists(makes, min_size=1, max_size=2),
    rest=st.lists(steps, min_size=2, max_size=6),
    ranks=st.integers(1, 7),
    order=st.integers(0, 3),
)
def test_programs(first, rest, ranks, order):
    hold([*first, *rest], ranks, order)


large = st.builds(
    Make,
    pick((3000, 7), (50, 400), (20000,), (7, 3000), (20, 30, 40), (1, 9000), (5000, 1)),
    pick("i8", "f4", "f8"),
    st.integers(0, 6),
    splits,
    st.just(False),
)


@pytest.mark.limit(60 + EXAMPLES)
@seed(SEED)
@settings(
    max_examples=EXAMPLES // 10, derandomize=not SEED, suppress_health_check=list(HealthCheck)
)
@given(
    first=st.lists(large, min_size=1, max_size=2),
    rest=st.lists(steps, min_size=2, max_size=6),
    ranks=st.integers(1, 4),
    block=pick(1 << 12, 1 << 16, None),
)
def test_programs_of_larger_arrays(first, rest, ranks, block):
    """Blocks of many tiles, bricks of many blocks, and the default settings.

    Under a mask NumPy adds up one by one: its variance of 20,000 numbers is off by 100 units.
    """
    rest = [step for step in rest if getattr(step, "name", "") not in ("prod", "nanprod")]
    hold([*first, *rest], ranks, 0, 512, block=block, replicate=block is None)


def test_messages_flowed():
    assert sum(flowed) > len(flowed) / 4
