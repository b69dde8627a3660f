"""Random programs, run by NumPy and by taskarr on a random number of ranks.

``TASKARR_FUZZ=20000 pytest tests/test_fuzz.py`` runs that many; ``TASKARR_FUZZ_SEED=7`` others.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

import taskarr
from scheduler.plan import Plan, check_together
from taskarr import evaluate
from tests.layouts import on_ranks, quiet, uneven

EXAMPLES = int(os.environ.get("TASKARR_FUZZ", "600"))
SEED = int(os.environ.get("TASKARR_FUZZ_SEED", "0"))

DTYPES = ("?", "i1", "u2", "i8", "f4", "f8", "c16")
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "eq", "and_", "or_", "xor")
IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ior")
UNARY = ("negative", "absolute", "sqrt", "square", "isfinite", "floor", "logical_not")
REDUCTIONS = ("sum", "prod", "min", "max", "mean", "var", "std", "any", "all")


@dataclass(frozen=True)
class Make:
    """New array."""

    shape: tuple[int, ...]
    dtype: str
    start: int
    split: Any
    uneven: bool

    def run(self, xp: Any, env: list[Any]) -> Any:
        size = int(np.prod(self.shape, dtype=int))
        values = (np.arange(self.start, self.start + size) * 5 % 7 - 2).reshape(self.shape)
        values = np.asarray(abs(values) if self.dtype in "?u2" else values, self.dtype)
        if xp is np:
            return values
        split = self.split
        if isinstance(split, tuple):
            split = tuple(a for a in split if a < len(self.shape)) or "auto"
        chunks = tuple(map(uneven, self.shape)) if self.uneven and self.shape else None
        return xp.asarray(values, split=split, chunks=chunks)


@dataclass(frozen=True)
class Apply:
    """Function of one or two values, or of a value and a scalar."""

    name: str
    first: int
    second: int | None = None
    scalar: Any = None

    def run(self, xp: Any, env: list[Any]) -> Any:
        a = env[self.first % len(env)]
        if self.name in UNARY:
            return getattr(xp, self.name)(a)
        b = self.scalar if self.second is None else env[self.second % len(env)]
        return getattr(operator, self.name)(a, b)


@dataclass(frozen=True)
class InPlace:
    """``a op= b``, perhaps through a view."""

    name: str
    first: int
    second: int | None
    scalar: Any

    def run(self, xp: Any, env: list[Any]) -> Any:
        at = self.first % len(env)
        b = self.scalar if self.second is None else env[self.second % len(env)]
        env[at] = getattr(operator, self.name)(env[at], b)


@dataclass(frozen=True)
class Reduce:
    name: str
    first: int
    axis: Any
    keepdims: bool

    def run(self, xp: Any, env: list[Any]) -> Any:
        a = env[self.first % len(env)]
        return getattr(xp, self.name)(a, axis=self.axis, keepdims=self.keepdims)


@dataclass(frozen=True)
class View:
    first: int
    key: Any

    def run(self, xp: Any, env: list[Any]) -> Any:
        a = env[self.first % len(env)]
        if self.key == "T":
            return a.T
        return a[self.key] if self.key != "copy" else a.copy()


@dataclass(frozen=True)
class Write:
    first: int
    key: Any
    second: int | None
    scalar: Any

    def run(self, xp: Any, env: list[Any]) -> Any:
        value = self.scalar if self.second is None else env[self.second % len(env)]
        env[self.first % len(env)][self.key] = value


@dataclass(frozen=True)
class Mask:
    """Read or write by a mask over all axes or the first one."""

    first: int
    limit: int
    rows: bool
    value: Any

    def run(self, xp: Any, env: list[Any]) -> Any:
        a = env[self.first % len(env)]
        if not a.ndim:
            return None
        mask = a != self.limit
        if self.rows:
            mask = mask.any(axis=tuple(range(1, a.ndim)))
        if self.value is None:
            return a[mask]
        a[mask] = self.value
        return None


@dataclass(frozen=True)
class Where:
    first: int
    second: int
    scalar: Any

    def run(self, xp: Any, env: list[Any]) -> Any:
        a, b = env[self.first % len(env)], env[self.second % len(env)]
        return xp.where(a != 0, b, self.scalar)


@dataclass(frozen=True)
class Cast:
    first: int
    dtype: str

    def run(self, xp: Any, env: list[Any]) -> Any:
        a = env[self.first % len(env)]
        return a.astype(self.dtype) if a.dtype.kind != "c" else a + 0


@dataclass(frozen=True)
class Lay:
    """What changes no value: another layout, computing now, fetching."""

    first: int
    split: Any

    def run(self, xp: Any, env: list[Any]) -> Any:
        a = env[self.first % len(env)]
        if xp is np:
            return a if self.split in ("persist", "numpy") or not a.ndim else a.copy()
        if self.split == "persist":
            return a.persist()
        if self.split == "numpy":
            a.numpy()
            return a
        if not a.ndim:
            return a
        if isinstance(self.split, tuple):
            return a.copy().redistribute(tuple(s for s in self.split if s < a.ndim) or "auto")
        return a.copy().redistribute(self.split)


flowed: list[bool] = []
"""Whether data moved between ranks, per program."""


def pick(*values):
    return st.sampled_from(values)


variable = st.integers(0, 5)
shapes = st.lists(st.integers(0, 5), max_size=3).map(tuple) | pick((7,), (6, 5), (3, 4, 5), (1, 9))
splits = pick("auto", None, (0,), (1,), (0, 1), (1, 2), (2,))
bound = st.none() | st.integers(-6, 6)
slices = st.builds(slice, bound, bound, pick(None, 1, 2, 3, -1, -2))
entries = slices | slices | st.integers(-3, 3) | pick(None, ...)
keys = entries | st.lists(entries, max_size=4).map(tuple)
scalars = pick(2, -1, 0, 1.5, True, 300, 2j, np.float32(3), np.int8(2))
axes = st.none() | st.integers(-3, 2) | st.lists(st.integers(-2, 2), max_size=3).map(tuple)
maybe = st.none() | variable

makes = st.builds(Make, shapes, pick(*DTYPES), st.integers(0, 6), splits, st.booleans())
steps = st.one_of(
    makes,
    st.builds(Apply, pick(*BINARY), variable, maybe, scalars),
    st.builds(Apply, pick(*BINARY), variable, variable, scalars),
    st.builds(Apply, pick(*UNARY), variable),
    st.builds(InPlace, pick(*IN_PLACE), variable, maybe, scalars),
    st.builds(Reduce, pick(*REDUCTIONS), variable, axes, st.booleans()),
    st.builds(View, variable, keys | pick("T", "copy")),
    st.builds(View, variable, keys),
    st.builds(Write, variable, keys, maybe, scalars),
    st.builds(Write, variable, keys, maybe, scalars),
    st.builds(Mask, variable, st.integers(-2, 3), st.booleans(), st.none() | scalars),
    st.builds(Where, variable, variable, scalars),
    st.builds(Cast, variable, pick(*DTYPES[:-1])),
    st.builds(Lay, variable, splits | pick("persist", "numpy")),
)


def play(xp: Any, program: Any) -> tuple[list[Any], list[str]]:
    """Values of all variables in the end, and the exceptions met, step by step."""
    env: list[Any] = []
    raised = []
    for step in program:
        try:
            found = step.run(xp, env)
        except Exception as error:
            raised.append(type(error).__name__.lstrip("_"))
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

    def execute(world: Any, plan: Plan, values: Any, where: str) -> Any:
        made[world.rank].append(plan)
        return real(world, plan, values, where)

    with patch.object(evaluate, "execute", execute):
        yield made


def close(found: np.ndarray, expected: np.ndarray, scale: float) -> bool:
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return False
    if found.dtype.kind not in "fc":
        return np.array_equal(found, expected)
    eps = float(np.finfo(found.dtype).eps)
    return np.allclose(found, expected, rtol=64 * eps, atol=64 * eps * scale, equal_nan=True)


def hold(program: list[Any], ranks: int, order: int, **options: Any) -> None:
    """Hold a program's variables, exceptions and plans to what they should be."""
    with quiet():
        expected, errors = play(np, program)
    expected = [np.asarray(x) for x in expected]
    with recorded(ranks) as plans:
        ran = on_ranks(ranks, job, program, seed=order, **options)
    found, raised = ran.value
    assert raised == errors
    for together in zip(*plans, strict=True):
        check_together(together)
    scale = scale_of(expected)
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert close(x, y, scale), f"variable {number}: {x!r}, NumPy {y!r}"
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
    """Blocks of many tiles, bricks of many blocks, and the default settings."""
    rest = [step for step in rest if getattr(step, "name", "") != "prod"]
    hold([*first, *rest], ranks, 0, block=block, replicate=block is None)


def test_messages_flowed():
    assert sum(flowed) > len(flowed) / 4
