"""Steps of random programs, as data, and the strategies that draw them.

A step runs with NumPy or taskarr on a list of variables and gives a new one, or None.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.device.install import DEVICE
from tests.layouts import uneven

DTYPES = ("?", "i1", "u2", "i8", "f4", "f8", "c16")
RARE = ("u8", "f2", "c8", "i4") + (("M8[s]", "m8[ms]", "S3") if DEVICE == "cpu" else ())
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "lt", "eq", "and_", "or_", "xor")
IN_PLACE = ("iadd", "isub", "imul", "itruediv", "ior")
UNARY = ("negative", "absolute", "sqrt", "square", "isfinite", "floor", "logical_not")
REDUCTIONS = ("sum", "prod", "min", "max", "mean", "var", "std", "any", "all")
LOCATING = ("argmin", "argmax", "count_nonzero", "ptp", "nanargmax", "nanargmin", "average")
NAN = ("nansum", "nanprod", "nanmin", "nanmax", "nanmean", "nanvar", "nanstd")
UFUNCS = (
    "add",
    "multiply",
    "divide",
    "maximum",
    "floor_divide",
    "less",
    "hypot",
    "arctan2",
    "power",
)
ONE = ("sqrt", "exp", "negative", "log1p", "sign", "rint", "conjugate", "isnan", "reciprocal")
PLAIN = ("nan_to_num", "angle", "real", "imag", "i0", "sinc", "fix", "isreal", "copy", "ravel")


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
        values = np.asarray(abs(values) if self.dtype[0] in "?u" else values)
        values = values.astype(self.dtype)
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
class Option:
    """A keyword of a call: a value, or a number of a variable to be made into one."""

    name: str
    value: Any

    def of(self, xp: Any, env: list[Any]) -> Any:
        if self.name == "out":
            return env[self.value % len(env)]
        if self.name == "where" and not isinstance(self.value, bool):
            return env[self.value % len(env)] != 1
        return self.value


@contextmanager
def untouched(out: Any) -> Iterator[None]:
    """What NumPy had written into an output before it raised is taken back."""
    before = out.copy() if isinstance(out, np.ndarray) else None
    try:
        yield
    except Exception:
        if before is not None and out.flags.writeable:
            out[...] = before
        raise


@dataclass(frozen=True)
class Called:
    """A function with keywords, some of them variables; ``where`` of a ufunc needs ``out``."""

    name: str
    first: int
    second: int | None = None
    scalar: Any = None
    options: tuple[Option, ...] = ()

    def run(self, xp: Any, env: list[Any]) -> Any:
        operands = [env[self.first % len(env)]]
        if self.second is not None:
            operands.append(env[self.second % len(env)])
        elif self.scalar is not None:
            operands.append(self.scalar)
        given = {o.name: o.of(xp, env) for o in self.options}
        if self.name in UFUNCS + ONE and "out" not in given:
            given.pop("where", None)
        with untouched(given.get("out")):
            found = getattr(xp, self.name)(*operands, **given)
        if "out" in given:
            assert xp is np or found is given["out"], "the output is another object"
            return None
        if isinstance(found, tuple):
            env.extend(found)
            return None
        return found


@dataclass(frozen=True)
class Seen:
    """A view that has a name."""

    first: int
    name: str
    args: tuple[Any, ...] = ()

    def run(self, xp: Any, env: list[Any]) -> Any:
        a = env[self.first % len(env)]
        pairs = self.args == ("c16",) and a.dtype == np.float64
        if self.name == "view" and a.dtype.kind in "fc" and not pairs:
            return None  # bits of numbers that are right but for rounding
        found = getattr(a, self.name)
        return found(*self.args) if callable(found) else found


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
rare = st.builds(Make, shapes, pick(*RARE), st.integers(0, 6), splits, st.booleans())
outs = st.builds(Option, st.just("out"), variable)
masks = st.builds(Option, st.just("where"), variable | st.booleans())
dtypes = st.builds(Option, st.just("dtype"), pick("f8", "f4", "i8", "c16"))
castings = st.builds(Option, st.just("casting"), pick("unsafe", "same_kind", "safe"))
axis = st.builds(Option, st.just("axis"), axes)
keeps = st.builds(Option, st.just("keepdims"), st.booleans())
initials = st.builds(Option, st.just("initial"), pick(0, 1, -3, 2.5))
ddofs = st.builds(Option, st.just("ddof"), pick(0, 1))


def some(*choices):
    """Keywords, each at most once."""
    return st.lists(st.one_of(*choices), max_size=3, unique_by=lambda o: o.name).map(tuple)


called = st.one_of(
    st.builds(Called, pick(*UFUNCS), variable, maybe, scalars, some(outs, masks, dtypes, castings)),
    st.builds(Called, pick(*ONE), variable, options=some(outs, masks, dtypes, castings)),
    st.builds(Called, pick("divmod"), variable, maybe, pick(2, 1.5)),
    st.builds(Called, pick("modf", "frexp", *PLAIN), variable),
    st.builds(Called, pick("round"), variable, scalar=st.integers(-1, 2)),
    st.builds(
        Called, pick(*REDUCTIONS[:4]), variable, options=some(axis, keeps, initials, masks, outs)
    ),
    st.builds(
        Called, pick("mean", "sum"), variable, options=some(axis, keeps, dtypes, masks, outs)
    ),
    st.builds(Called, pick("var", "std"), variable, options=some(axis, keeps, ddofs, masks)),
    st.builds(Called, pick("any", "all"), variable, options=some(axis, keeps, masks, outs)),
    st.builds(Called, pick(*LOCATING), variable, options=some(axis, keeps)),
    st.builds(Called, pick(*NAN), variable, options=some(axis, keeps)),
)
shapings = pick((-1,), (2, -1), (-1, 3), (5, -1), (3, 2, -1), ())
seen = st.one_of(
    st.builds(Seen, variable, pick("real", "imag", "T", "ravel", "flatten", "squeeze")),
    st.builds(Seen, variable, st.just("reshape"), shapings),
    st.builds(Seen, variable, st.just("view"), pick(("i4",), ("u1",), ("f8",), ("c16",), ("i8",))),
    st.builds(Seen, variable, st.just("diagonal"), pick((), (1,), (-1, 1, 0))),
    st.builds(Seen, variable, st.just("clip"), pick((0, 2), (None, 1), (-1, None))),
    st.builds(Seen, variable, st.just("trace")),
)
steps = st.one_of(
    called,
    called,
    called,
    seen,
    seen,
    rare,
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
