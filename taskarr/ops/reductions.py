"""Reductions: a row each, and the node that applies one to an array."""

import math
from collections.abc import Sequence
from functools import lru_cache
from functools import partial as bound
from types import ModuleType
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from taskarr.expr import Expr, Reduce, moved_to, view_of
from taskarr.geometry.grid import block_bytes
from taskarr.geometry.layout import Layout
from taskarr.geometry.owners import on_root, replicated
from taskarr.geometry.view import NEW, Affine
from taskarr.kernel.reduction import FieldSpec, Reduction, Row, State
from taskarr.kernel.segments import minus, reduced
from taskarr.ops.operands import checked_dtype, from_host, layout_for, settled
from taskarr.runtime import runtime

WIDER = {"e": "d", "f": "d", "F": "D"}
"""Dtypes in which the partial results of narrow floats are merged."""


def _wide(dtype: np.dtype) -> np.dtype:
    return np.dtype(WIDER.get(dtype.char, dtype))


@lru_cache(256)
def _loop_of(source: np.dtype, wide: np.dtype) -> np.dtype:
    """Dtype in which a segment is summed: its own if that is merged so, half floats as single."""
    if _wide(source) != wide:
        return wide
    return np.dtype("f4") if source.char == "e" else source


# ---------------------------------------------------------------------- sums and products


def _one_wide(source: np.dtype, result: np.dtype) -> tuple[FieldSpec, ...]:
    return (FieldSpec(_wide(result)),)


def _one(source: np.dtype, result: np.dtype) -> tuple[FieldSpec, ...]:
    return (FieldSpec(result),)


def _accumulate(
    name: str, xp: ModuleType, x: Any, axes: tuple[int, ...], fields: tuple[FieldSpec, ...]
) -> State:
    wide = fields[0].dtype
    loop = _loop_of(x.dtype, wide)
    other = None if loop == x.dtype else loop  # a ufunc takes no dtype with a time unit
    found = reduced(getattr(xp, name), x, axes, other)
    return (found if found.dtype == wide else found.astype(wide),)


def _extreme(
    name: str, xp: ModuleType, x: Any, axes: tuple[int, ...], fields: tuple[FieldSpec, ...]
) -> State:
    return (reduced(getattr(xp, name), x, axes),)


def _combine(name: str, xp: ModuleType, a: State, b: State) -> State:
    return (getattr(xp, name)(a[0], b[0]),)


def _same(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    return state[0]


def _mean(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    return xp.true_divide(state[0], count)


# ---------------------------------------------------------------------- truth

RARE = 16
"""A mask with fewer than one true element in so many is reduced by listing them."""


def _any(xp: ModuleType, x: Any, axes: tuple[int, ...], fields: tuple[FieldSpec, ...]) -> State:
    rows = x.ndim - len(axes)
    inner = math.prod(x.shape[rows:])
    along_rows = x.dtype == np.bool_ and rows and axes == tuple(range(rows, x.ndim))
    if along_rows and int(xp.count_nonzero(x)) * RARE < x.size:
        found = xp.zeros(x.shape[:rows], np.bool_)
        found.reshape(-1)[xp.flatnonzero(x) // inner] = True
        return (found.reshape(x.shape[:rows] + (1,) * len(axes)),)
    return _extreme("logical_or", xp, x, axes, fields)


def _all(xp: ModuleType, x: Any, axes: tuple[int, ...], fields: tuple[FieldSpec, ...]) -> State:
    if x.dtype == np.bool_ and int(xp.count_nonzero(x)) * RARE > x.size * (RARE - 1):
        return (xp.logical_not(_any(xp, xp.logical_not(x), axes, fields)[0]),)
    return _extreme("logical_and", xp, x, axes, fields)


# ---------------------------------------------------------------------- variance


def _moments_fields(source: np.dtype, result: np.dtype) -> tuple[FieldSpec, ...]:
    real = _wide(result)
    mean = np.result_type(real, np.complex64) if source.kind == "c" else real
    return FieldSpec(mean), FieldSpec(real), FieldSpec(np.dtype("f8"), unit=True)


def _moments(xp: ModuleType, x: Any, axes: tuple[int, ...], fields: tuple[FieldSpec, ...]) -> State:
    """Mean, sum of squared deviations, count.

    Deviations are taken from the mean of the first rows, so that memory is read once; where that
    lies too far from the mean of all, they are taken from the latter in a second pass.
    """
    wide, real = fields[0].dtype, fields[1].dtype
    loop = _loop_of(x.dtype, wide)
    count = math.prod([x.shape[a] for a in axes])
    head = x[(*(slice(None),) * axes[0], slice(0, 16))] if axes else x
    mean, squares, around = _around(xp, x, _average(xp, head, axes, loop), axes, wide)
    far = squares * FAR < around
    if far.any():
        again = _around(xp, x, _average(xp, x, axes, loop), axes, wide)
        mean = xp.where(far, again[0], mean)
        squares = xp.where(far, xp.maximum(again[1], 0), squares)
    return mean, squares.astype(real, copy=False), np.float64(count)


FAR = 64
"""How many times the squares around a guess may exceed those around the mean."""


def _average(xp: ModuleType, x: Any, axes: tuple[int, ...], loop: np.dtype) -> Any:
    count = math.prod([x.shape[a] for a in axes])
    return (reduced(xp.add, x, axes, loop) / count).astype(loop, copy=False)


def _around(
    xp: ModuleType, x: Any, center: Any, axes: tuple[int, ...], wide: np.dtype
) -> tuple[Any, Any, Any]:
    """Mean, squares around the mean and around the center, of a segment."""
    count = math.prod([x.shape[a] for a in axes])
    apart = minus(xp, x, center, axes, center.dtype)
    total = reduced(xp.add, apart, axes).astype(wide, copy=False)
    if apart.dtype.kind == "c":
        apart = apart.real**2 + apart.imag**2
    else:
        xp.multiply(apart, apart, out=apart)
    around = reduced(xp.add, apart, axes)
    shift = total / count
    moved = total * shift if wide.kind != "c" else total.real * shift.real + total.imag * shift.imag
    return center + shift, around - moved, around


def _chan(xp: ModuleType, a: State, b: State) -> State:
    """Merge two (mean, M2, count): Chan, Golub and LeVeque, "Updating Formulae", 1979."""
    mean_a, squares_a, count_a = a
    mean_b, squares_b, count_b = b
    count = count_a + count_b
    apart = mean_b - mean_a
    distance = apart.real**2 + apart.imag**2 if apart.dtype.kind == "c" else apart * apart
    mean = mean_a + apart * (count_b / count)
    return mean, squares_a + squares_b + distance * (count_a * count_b / count), count


def _variance(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    (ddof,) = options
    return xp.true_divide(state[1], max(count - ddof, 0))


def _deviation(xp: ModuleType, state: State, count: int, options: tuple[Any, ...]) -> Any:
    return xp.sqrt(_variance(xp, state, count, options))


# ---------------------------------------------------------------------- the table

ROWS = {
    row.name: row
    for row in (
        Row("sum", _one_wide, bound(_accumulate, "add"), bound(_combine, "add"), _same),
        Row("prod", _one_wide, bound(_accumulate, "multiply"), bound(_combine, "multiply"), _same),
        Row("mean", _one_wide, bound(_accumulate, "add"), bound(_combine, "add"), _mean),
        Row("min", _one, bound(_extreme, "minimum"), bound(_combine, "minimum"), _same),
        Row("max", _one, bound(_extreme, "maximum"), bound(_combine, "maximum"), _same),
        Row("any", _one, _any, bound(_combine, "logical_or"), _same),
        Row("all", _one, _all, bound(_combine, "logical_and"), _same),
        Row("var", _moments_fields, _moments, _chan, _variance),
        Row("std", _moments_fields, _moments, _chan, _deviation),
    )
}

TAKES_DTYPE = ("sum", "prod", "mean", "var", "std")
TAKES_DDOF = ("var", "std")


_TAIL = ("out", "keepdims", "initial", "where")
ORDER = {
    "sum": ("axis", "dtype", *_TAIL),
    "prod": ("axis", "dtype", *_TAIL),
    "min": ("axis", *_TAIL),
    "max": ("axis", *_TAIL),
    "any": ("axis", "out", "keepdims", "where"),
    "all": ("axis", "out", "keepdims", "where"),
    "mean": ("axis", "dtype", "out", "keepdims", "where"),
    "var": ("axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction"),
    "std": ("axis", "dtype", "out", "ddof", "keepdims", "where", "mean", "correction"),
}
"""NumPy's order of the arguments behind the array."""

LATER = ("out", "initial", "where", "mean")


def called(name: str, x: Expr, args: Sequence[Any], options: dict[str, Any]) -> Expr:
    """Node of a reduction called as NumPy's function or method of this name is.

    Raises
    ------
    TypeError
        For arguments that NumPy does not take either.
    NotImplementedError
        For those of `LATER`.
    """
    order = ORDER[name]
    if len(args) > len(order):
        raise TypeError(f"{name}() takes at most {len(order)} arguments, got {len(args)}")
    given = dict(zip(order, args, strict=False))
    for key, value in options.items():
        if key not in order or key in given:
            how = "multiple values for" if key in given else "an unexpected keyword"
            raise TypeError(f"{name}() got {how} argument {key!r}")
        given[key] = value
    for key in LATER:
        value = given.pop(key, None)
        if value is not None and value is not np._NoValue:
            raise NotImplementedError(
                f"{name}({key}=...) is not in this version; "
                "select with taskarr.where() first, or reduce a.numpy()"
            )
    if given.get("correction") is not None:
        given["ddof"] = given["correction"]
    given.pop("correction", None)
    return reduce(name, x, **given)


def reduce(
    name: str,
    x: Expr,
    axis: Any = None,
    *,
    keepdims: bool = False,
    dtype: Any = None,
    ddof: float = 0,
) -> Expr:
    """Node of a reduction.

    Parameters
    ----------
    name
        One of `ROWS`.
    axis
        None for all axes, an axis, or a tuple of axes.
    keepdims
        Keep reduced axes with length 1.
    dtype
        Of the sum and the result, for `TAKES_DTYPE`.
    ddof
        Delta degrees of freedom: the divisor is ``count - ddof``.

    Raises
    ------
    numpy.exceptions.AxisError
        For an axis out of range.
    ValueError
        For a repeated axis, or the extreme of nothing.
    TypeError
        For a dtype that NumPy does not reduce so.
    """
    _check_options(name, dtype, ddof)
    options = {"dtype": dtype} if name in TAKES_DTYPE else {}
    if name in TAKES_DDOF:
        options["ddof"] = ddof
    oracle = bound(getattr(np, name), axis=axis, keepdims=keepdims, **options)
    if 0 in x.shape:
        return _of_nothing(x, oracle)
    result = _result_dtype(name, x, oracle)
    axes = tuple(range(len(x.shape))) if axis is None else ()
    if axis is not None and x.shape:
        axes = tuple(sorted(normalize_axis_tuple(axis, len(x.shape))))
    count = math.prod(x.shape[a] for a in axes)
    source = x.dtype if dtype is None else np.result_type(np.dtype(dtype))
    extra = (float(ddof) if ddof != int(ddof) else int(ddof),) if name in TAKES_DDOF else ()
    reduction = Reduction(ROWS[name], source, result, axes, count, extra)
    return _placed(x, reduction, keepdims)


def _check_options(name: str, dtype: Any, ddof: Any) -> None:
    if dtype is not None and name not in TAKES_DTYPE:
        raise TypeError(f"{name}() got an unexpected keyword argument 'dtype'")
    if name not in TAKES_DDOF and ddof != 0:
        raise TypeError(f"{name}() got an unexpected keyword argument 'ddof'")
    if dtype is not None and name in TAKES_DDOF and np.dtype(dtype).kind not in "fc":
        raise NotImplementedError(
            f"{name}(dtype={dtype!r}): take it in floating point, then astype({dtype!r})"
        )


def _result_dtype(name: str, x: Expr, oracle: Any) -> np.dtype:
    with np.errstate(all="ignore"):
        sample = np.zeros((2,) * len(x.shape), x.dtype)
        found = checked_dtype(np.asarray(oracle(sample)).dtype)
    if x.dtype.kind in "mM" and name not in ("min", "max", "sum", "mean", "any", "all"):
        raise NotImplementedError(
            f"{name}() of {x.dtype}: view the integers with astype('i8') and reduce those"
        )
    return found


def _of_nothing(x: Expr, oracle: Any) -> Expr:
    found = np.asarray(oracle(np.empty(x.shape, x.dtype)))
    return from_host(found, layout_for(x.world, found.shape, found.dtype), x.world)


def _placed(x: Expr, reduction: Reduction, keepdims: bool) -> Expr:
    """Node in the layout that the kept axes have; small results are everywhere."""
    kept = tuple(a for a in range(len(x.shape)) if a not in reduction.axes)
    shape = tuple(x.shape[a] for a in kept)
    layout, final = _layouts(x, kept, shape, reduction.dtype)
    node = Expr(Reduce(reduction), (x,), reduction.dtype, layout, x.world)
    node = moved_to(node, final)
    if not keepdims:
        return node
    axes = tuple(kept.index(a) if a in kept else NEW for a in range(len(x.shape)))
    steps = tuple(0 if a == NEW else 1 for a in axes)
    whole = tuple(x.shape[a] if a in kept else 1 for a in range(len(x.shape)))
    return view_of(node, Affine(whole, axes, (0,) * len(kept), steps, shape))


def _layouts(
    x: Expr, kept: tuple[int, ...], shape: tuple[int, ...], dtype: np.dtype
) -> tuple[Layout, Layout]:
    """Layout in which the trees end, and the one that the result gets.

    Its grid depends on the grid of the array, not on the owners.
    """
    world = x.world
    grid = tuple(x.layout.axes[a].bounds for a in kept)
    if x.layout.replicated:
        whole = replicated(grid, world.size)
        return whole, whole
    if any(len(bounds) > 2 for bounds in grid):
        start = (0,) * len(x.shape)
        mine = x.layout.viewed(Affine(shape, kept, start, (1,) * len(kept), x.shape))
        return mine, settled(mine, dtype.itemsize, world)
    nbytes = math.prod(shape) * dtype.itemsize
    if not shape or nbytes <= block_bytes(nbytes, runtime(world).settings.block):
        whole = replicated(grid, world.size)
        return whole, whole
    root = next(x.layout.owners_of(tuple((0, 1) for _ in x.shape)))
    return on_root(shape, root, world.size), layout_for(world, shape, dtype)
