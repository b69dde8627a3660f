"""Arguments of reductions: in NumPy's order, by NumPy's names, and which function takes them."""

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from typing import Any

import numpy as np

from scheduler import World
from taskarr.expr import Expr, moved_to
from taskarr.ops.elementwise import cast
from taskarr.ops.operands import replicated_host
from taskarr.ops.reductions import composed, folds
from taskarr.ops.reductions.asked import Given

FAMILIES: dict[Callable[..., Expr], tuple[str, ...]] = {
    folds.fold: ("sum", "prod", "min", "max", "amin", "amax", "any", "all"),
    folds.count_nonzero: ("count_nonzero",),
    folds.locate: ("argmin", "argmax"),
    folds.range_of: ("ptp",),
    composed.mean: ("mean",),
    composed.variance: ("var", "std"),
    composed.nan_sum: ("nansum", "nanprod"),
    composed.nan_extreme: ("nanmin", "nanmax"),
    composed.nan_mean: ("nanmean",),
    composed.nan_variance: ("nanvar", "nanstd"),
    composed.nan_locate: ("nanargmin", "nanargmax"),
}
"""Functions of ``(name, NumPy's function, array, options)``, and the reductions that each makes."""

ROW_NAMES = {"amin": "min", "amax": "max"}
"""Rows that have another name than NumPy's function."""

NAMES = {name: family for family, names in FAMILIES.items() for name in names}
"""Reductions by NumPy's name, and who makes each."""


def _order(name: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Names of the arguments behind the array: of the positional ones, and of all."""
    params = list(signature(getattr(np, name)).parameters.values())[1:]
    free = tuple(p.name for p in params if p.kind is not Parameter.KEYWORD_ONLY)
    return free, frozenset(p.name for p in params)


ORDER = {name: _order(name) for name in NAMES}


def bound(
    name: str, args: Sequence[Any], options: dict[str, Any], method: bool = False
) -> dict[str, Any]:
    """Arguments of a call by name; those not given are left out.

    Raises
    ------
    TypeError
        For arguments that NumPy's function, or method, does not take either.
    """
    order, names = ORDER[name]
    if len(args) > len(order):
        raise TypeError(
            f"{name}() takes at most {len(order)} positional arguments besides the array, "
            f"got {len(args)}"
        )
    given = dict(zip(order, args, strict=False))
    for key, value in options.items():
        if key in given:
            raise TypeError(f"{name}() got multiple values for argument {key!r}")
        if key not in names or (method and key == "correction"):
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
        given[key] = value
    return given


def cleaned(given: Given, world: World) -> Given:
    """Options that say something, arrays as expressions."""
    found = {key: value for key, value in given.items() if value is not np._NoValue}
    if found.get("out") is None:
        found.pop("out", None)
    if found.get("where", True) is True:
        found.pop("where", None)
    if "correction" in found:
        if found.get("ddof", 0) != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        found["ddof"] = found.pop("correction")
    for key, kind in (("where", np.bool_), ("mean", None)):
        value = found.get(key)
        if value is not None and not isinstance(value, Expr | np.generic):
            host = value if isinstance(value, np.ndarray) else np.asarray(value, kind)
            found[key] = replicated_host(host, world)
    return found


def call(name: str, x: Expr, given: Given) -> Expr:
    """Node of a reduction called as NumPy's function of this name is.

    Parameters
    ----------
    name
        One of `NAMES`.
    x
        What is reduced.
    given
        Arguments as `bound` gives them, arrays as expressions.
    """
    given = cleaned(given, x.world)
    row = ROW_NAMES.get(name, name)
    found = NAMES[name](row, getattr(np, name), x, given)
    return into(found, given.get("out"))


def into(found: Expr, out: Expr | None) -> Expr:
    """Node that replaces an output: its dtype and layout.

    Raises
    ------
    ValueError
        When it has another shape.
    """
    if out is None:
        return found
    if found.shape != out.shape:
        raise ValueError(
            f"output of shape {out.shape} does not match the result, whose shape is {found.shape}"
        )
    return moved_to(cast(found, out.dtype), out.layout)


def reduce(name: str, x: Expr, axis: Any = None, **given: Any) -> Expr:
    """Node of NumPy's reduction of this name, for other operations."""
    return call(name, x, {"axis": axis, **given})
