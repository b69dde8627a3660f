"""Random chains of reads and writes by keys, as data, and the strategy that draws them.

A chain is drawn with NumPy at hand, so that keys and values fit the arrays that they are for, or
just don't. Its steps run with NumPy or taskarr alike.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from taskarr.ops.keys import as_tuple
from tests.device.install import DEVICE
from tests.layouts import quiet, uneven

NUMBERS = ("f8", "i8", "?", "f4", "c16", "u1", "i2")
OTHERS = ("M8[s]", "m8[ms]", "U3", "S4", [("a", "i2"), ("b", "f8")], "u8", "f2")
DTYPES = (*NUMBERS, *(OTHERS if DEVICE == "cpu" else ()))
INTEGERS = ("i8", "i8", "i4", "i1", "u1", "u2", "u8", "i2", "u4")
SPLITS = ("auto", 0, 1, (0, 1), None, 2)
IN_PLACE = ("iadd", "isub", "imul", "ior")
AT = ("add", "multiply", "maximum", "negative")


@dataclass(frozen=True)
class Spread:
    """An array that taskarr gets distributed: pending, or held.

    Parameters
    ----------
    array
        Its elements.
    split, uneven
        How it is cut.
    held
        Whether its blocks are at hand.
    """

    array: np.ndarray
    split: Any
    uneven: bool
    held: bool

    def of(self, xp: Any) -> Any:
        """The array, of NumPy or distributed."""
        if xp is np:
            return self.array.copy()
        split = self.split
        if isinstance(split, tuple):
            split = tuple(a for a in split if a < self.array.ndim) or "auto"
        elif isinstance(split, int) and split >= self.array.ndim:
            split = "auto"
        sizes = self.array.shape
        chunks = tuple(map(uneven, sizes)) if self.uneven and sizes else None
        found = xp.asarray(self.array, split=split, chunks=chunks)
        if self.array.ndim and self.array.dtype.kind in "biufc":
            found = np.positive(found) if self.array.dtype.kind != "b" else ~~found
        return found.persist() if self.held else found


@dataclass(frozen=True)
class Part:
    """What a key shows of a variable, as a value."""

    variable: int
    key: Any

    def of(self, xp: Any, env: Sequence[Any]) -> Any:
        return env[self.variable][key_for(self.key, xp)]


def key_for(key: Any, xp: Any) -> Any:
    """The key with arrays of NumPy, or distributed ones."""
    if isinstance(key, tuple):
        return tuple(key_for(entry, xp) for entry in key)
    return key.of(xp) if isinstance(key, Spread) else key


def value_for(value: Any, xp: Any, env: Sequence[Any]) -> Any:
    """A value: as it is, distributed, or a part of a variable."""
    if isinstance(value, Part):
        return value.of(xp, env)
    return value.of(xp) if isinstance(value, Spread) else value


@dataclass(frozen=True)
class Read:
    variable: int
    key: Any

    def run(self, xp: Any, env: list[Any]) -> Any:
        return env[self.variable][key_for(self.key, xp)]


@dataclass(frozen=True)
class Write:
    variable: int
    key: Any
    value: Any

    def run(self, xp: Any, env: list[Any]) -> None:
        value = value_for(self.value, xp, env)
        env[self.variable][key_for(self.key, xp)] = value


@dataclass(frozen=True)
class Augment:
    """``a[key] op= value``."""

    name: str
    variable: int
    key: Any
    value: Any

    def run(self, xp: Any, env: list[Any]) -> None:
        key, value = key_for(self.key, xp), value_for(self.value, xp, env)
        a = env[self.variable]
        a[key] = getattr(operator, self.name)(a[key], value)


@dataclass(frozen=True)
class At:
    """``function.at(a, key, value)``."""

    name: str
    variable: int
    key: Any
    value: Any

    def run(self, xp: Any, env: list[Any]) -> None:
        key, value = key_for(self.key, xp), value_for(self.value, xp, env)
        operands = () if self.name == "negative" else (value,)
        getattr(np, self.name).at(env[self.variable], key, *operands)


Step = Read | Write | Augment | At


def play(xp: Any, first: Spread, steps: Sequence[Step]) -> tuple[list[Any], list[str]]:
    """All that was read, and what each step raised."""
    env, shown, raised = [first.of(xp)], [], []
    for step in steps:
        found, name = attempt(step, xp, env)
        raised.append(name)
        if found is not None:
            shown.append(found)
            if has_memory(found):
                env.append(found)
    return [*env, *shown], raised


def attempt(step: Step, xp: Any, env: list[Any]) -> tuple[Any, str]:
    """What a step gives, and the name of the exception if it raises one."""
    try:
        return step.run(xp, env), ""
    except Exception as error:
        plain = (c for c in type(error).__mro__ if c.__module__ == "builtins")
        return None, next(plain).__name__


def has_memory(x: Any) -> bool:
    """Whether a result is an array that can be written to."""
    return x.ndim > 0


# ---------------------------------------------------------------------- drawing


@lru_cache(None)
def _below(n: int) -> Any:
    return st.integers(0, n - 1)


class Draw:
    """Choices of a chain."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw

    def number(self, least: int, most: int) -> int:
        return least + self._draw(_below(most - least + 1))

    def one(self, options: Sequence[Any]) -> Any:
        return options[self._draw(_below(len(options)))]

    def chance(self, percent: int) -> bool:
        return percent > 0 and self._draw(_below(100)) >= 100 - percent

    def generator(self) -> np.random.Generator:
        return np.random.default_rng(self.number(0, 999))


def values(pick: Draw, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """Array of some dtype."""
    dtype = np.dtype(dtype)
    numbers = pick.generator().integers(0, 9, shape)
    if dtype.names:
        found = np.zeros(shape, dtype)
        found["a"], found["b"] = numbers, numbers / 4
        return found
    if dtype.kind in "mM":
        return numbers.astype("i8").astype(dtype)
    if dtype.kind in "fc":
        return (numbers - 4).astype(dtype) / dtype.type(2)
    return numbers.astype(dtype)


def spread(pick: Draw, array: np.ndarray) -> Spread:
    return Spread(array, pick.one(SPLITS), pick.chance(20), pick.chance(50))


def draw_array(pick: Draw) -> np.ndarray:
    ndim = pick.one((1, 2, 2, 3, 3, 4, 5))
    most = 6 if ndim < 3 else 4 if ndim < 5 else 3
    shape = [pick.number(0, most) if pick.chance(25) else pick.number(2, most) for _ in range(ndim)]
    return values(pick, shape, pick.one(DTYPES))


def draw_slice(pick: Draw, n: int) -> slice:
    ends = [None if pick.chance(40) else pick.number(-n - 2, n + 2) for _ in range(2)]
    return slice(*ends, pick.one((None, 1, 2, -1, -2, 3, -3, 1)))


def draw_int(pick: Draw, n: int) -> Any:
    at = pick.number(-n, n - 1) if n and not pick.chance(4) else pick.number(-n - 2, n + 1)
    kind = pick.one((int, int, int, np.int64, np.int8, np.array, Spread))
    if kind is Spread:
        return spread(pick, np.array(at))
    return kind(at)


def draw_index(pick: Draw, n: int, shape: Sequence[int]) -> Any:
    """Integers for an axis."""
    ndim = pick.number(0, len(shape))
    part = [1 if pick.chance(15) else m for m in shape[len(shape) - ndim :]]
    dtype = np.dtype(pick.one(INTEGERS))
    low = 0 if dtype.kind == "u" else -n
    if n == 0:
        part = part if 0 in part else [0, *part[1:]] if part else [0]
    found = pick.generator().integers(low, max(low + 1, n), part).astype(dtype)
    if found.size and pick.chance(3):
        found.reshape(-1)[-1] = n + 1
    kind = pick.one(("array", "array", "list", "spread", "spread", "spread"))
    if kind == "list" and found.ndim:
        return found.tolist()
    return spread(pick, found) if kind == "spread" else found


def draw_mask(pick: Draw, shape: Sequence[int]) -> Any:
    """Booleans over some axes."""
    sizes = list(shape)
    if sizes and pick.chance(4):
        sizes[pick.number(0, len(sizes) - 1)] += pick.one((1, -1, 1))
        sizes = [max(0, n) for n in sizes]
    found = pick.generator().random(sizes) < pick.one((0.5, 0.5, 0.2, 0.9, 0.0, 1.0))
    kind = pick.one(("array", "spread", "spread", "list"))
    if kind == "list" and found.size and found.ndim:
        return found.tolist()
    return spread(pick, np.asarray(found)) if kind == "spread" else np.asarray(found)


KINDS = ("slice", "slice", "int", "index", "index", "mask", "none", "whole", "dots", "stop")


def draw_entries(pick: Draw, shape: Sequence[int]) -> list[Any]:
    """Entries of a key, nearly always of one that fits."""
    together = [pick.number(0, 3) if pick.chance(20) else 2 for _ in range(pick.number(0, 2))]
    entries: list[Any] = []
    axis, dots, masks = 0, False, pick.chance(25)
    while axis < len(shape):
        kind = pick.one(KINDS)
        if kind == "stop" or len(entries) > 7:
            break
        if kind == "none":
            entries.append(None)
        elif kind == "dots":
            if not dots:
                entries.append(Ellipsis)
                axis = pick.number(axis, len(shape))
            dots = True
        elif kind == "mask" and (masks or not entries):
            ndim = pick.number(0 if pick.chance(10) else 1, len(shape) - axis)
            found = draw_mask(pick, shape[axis : axis + ndim])
            entries.append(found)
            axis, masks = axis + ndim, pick.chance(25)
        else:
            entries.append(draw_entry(pick, kind, shape[axis], together))
            axis += 1
    return entries


def draw_entry(pick: Draw, kind: str, n: int, together: Sequence[int]) -> Any:
    """Entry for one axis."""
    if kind == "int":
        return draw_int(pick, n)
    if kind == "index":
        return draw_index(pick, n, together)
    return slice(None) if kind == "whole" else draw_slice(pick, n)


WRONG = (1.5, "a", ..., 99, -99, [0.5], np.zeros(2), [[0], [1, 2]], {}, 1j, np.float32(1), object())
BOOLEANS = (True, False, np.True_, np.False_, np.array(True), np.array(False))


def draw_key(pick: Draw, shape: Sequence[int]) -> Any:
    """A key for an array."""
    if pick.chance(12):
        found = draw_mask(pick, shape[: pick.number(1, max(1, len(shape)))])
        return found if pick.chance(70) else (found,)
    entries = draw_entries(pick, shape)
    if pick.chance(4):
        entries.insert(pick.number(0, len(entries)), pick.one(WRONG))
    if pick.chance(5):
        entries.insert(pick.number(0, len(entries)), pick.one(BOOLEANS))
    if len(entries) == 1 and pick.chance(60):
        return entries[0]
    return tuple(entries)


def draw_value(pick: Draw, env: Sequence[np.ndarray], variable: int, key: Any) -> Any:
    """A value for what a key shows, of any kind, nearly always one that fits."""
    x = env[variable]
    try:
        shape = list(np.shape(x[key_for(key, np)]))
    except Exception:
        shape = [2]
    if x.dtype.kind in "biufc":
        dtype = x.dtype if pick.chance(60) else np.dtype(pick.one(NUMBERS))
    else:
        dtype = x.dtype
    kind = pick.one(("scalar", "array", "array", "spread", "spread", "spread", "part", "list"))
    if kind == "scalar" or not shape:
        found = values(pick, (), dtype)
        return found[()] if pick.chance(50) or x.dtype.kind in "VmM" else found.tolist()
    if kind == "part" and len(shape) > 1 and not is_whole_mask(x, key):
        return Part(variable, key) if pick.chance(30) else draw_part(pick, env, shape)
    shape = shape[pick.number(0, len(shape)) if pick.chance(30) else 0 :]
    shape = [1 if pick.chance(10) else n for n in shape]
    if pick.chance(4):
        shape = [n + 1 for n in shape]
    if pick.chance(4):
        shape = [1, *shape]
    if kind == "list" and x.dtype.kind in "biuf":
        return values(pick, shape, "c16" if pick.chance(5) else x.dtype).tolist()
    found = values(pick, shape, dtype)
    return spread(pick, found) if kind == "spread" else found


def is_whole_mask(x: np.ndarray, key: Any) -> bool:
    """Whether NumPy writes by a key with no regard to values that overlap the array."""
    (first, *others) = as_tuple(key_for(key, np)) or (None,)
    return not others and (isinstance(first, list) or getattr(first, "ndim", 0) == x.ndim)


def draw_part(pick: Draw, env: Sequence[np.ndarray], shape: Sequence[int]) -> Part:
    """A slice of a variable, of the wanted shape where the variable is large enough."""
    other = pick.number(0, len(env) - 1)
    key = []
    for n, m in zip(env[other].shape, shape, strict=False):
        first = pick.number(0, max(0, n - m))
        down = slice(first + m - 1, first - 1 if first else None, -1)
        key.append(down if pick.chance(30) and m else slice(first, first + m))
    return Part(other, tuple(key))


def draw_step(pick: Draw, env: Sequence[np.ndarray]) -> Step:
    variable = pick.number(0, len(env) - 1)
    x = env[variable]
    kind = pick.one(("read", "read", "write", "write", "write", "augment", "at"))
    key = draw_key(pick, x.shape)
    if kind == "read":
        return Read(variable, key)
    value = draw_value(pick, env, variable, key)
    if kind == "write" or x.dtype.kind not in "biufcm":
        return Write(variable, key, value)
    if kind == "augment":
        return Augment(pick.one(IN_PLACE), variable, key, value)
    if is_safe(x, key):
        return At(pick.one(AT), variable, key, value)
    return Write(variable, key, value)


def is_safe(x: np.ndarray, key: Any) -> bool:
    """Whether NumPy's ``ufunc.at`` may get a key: it crashes on some that are no index arrays."""
    key = key_for(key, np)
    try:
        found = x[key]
    except Exception:
        return False
    arrays = any(np.ndim(e) > 0 for e in as_tuple(key) if not isinstance(e, slice))
    return found.size > 0 and arrays


def draw_chain(pick: Draw) -> tuple[Spread, list[Step]]:
    """An array, and steps that read and write it and its views."""
    first = spread(pick, draw_array(pick))
    env = [first.of(np)]
    steps = []
    with quiet():
        for _ in range(pick.number(1, 5)):
            step = draw_step(pick, env)
            steps.append(step)
            found, _ = attempt(step, np, env)
            if found is not None and has_memory(found):
                env.append(found)
    return first, steps


@st.composite
def chains(draw: Any) -> tuple[Spread, list[Step]]:
    """Random chains."""
    return draw_chain(Draw(draw))
