"""Elementwise functions: NumPy's ufuncs, rounding, bounds, parts of complex numbers, copies."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taskarr.api.creation import asarray
from taskarr.arrays import Array, node_of
from taskarr.arrays.calling import called, finished, mask_of, outputs
from taskarr.arrays.operators import known
from taskarr.ops import elementwise, functions

__all__ = [
    "angle",
    "around",
    "astype",
    "clip",
    "copy",
    "imag",
    "iscomplexobj",
    "isrealobj",
    "nan_to_num",
    "real",
    "real_if_close",
    "result_type",
    "round",
]


def clip(
    a: Any,
    a_min: Any = np._NoValue,
    a_max: Any = np._NoValue,
    out: Any = None,
    *,
    min: Any = np._NoValue,
    max: Any = np._NoValue,
    where: Any = True,
    **options: Any,
) -> Array:
    """Elements no smaller and no larger than bounds.

    Parameters
    ----------
    a
        Array.
    a_min, a_max
        Numbers or arrays that are broadcast, None for no bound; ``min`` and ``max`` are other
        names for them.
    out
        Array that is written and returned.
    where, **options
        As for ufuncs.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.clip(taskarr.arange(6), 1, 4))
    [1 1 2 3 4 4]
    """
    given = {"a_min": a_min, "a_max": a_max, "min": min, "max": max}
    given = {key: value for key, value in given.items() if value is not np._NoValue}
    check: Any = np.clip  # knows which of them go together
    check(0, **{key: None if value is None else 0 for key, value in given.items()})
    low, high = (given.get(f"a_{end}", given.get(end)) for end in ("min", "max"))
    outs = outputs("clip", out)
    x, low, high = _nodes(a, low, high)
    found = functions.clipped(x, low, high, node_of(outs[0]), mask_of(where), options)
    return finished(_array, (found,), outs)[0]


def round(a: Any, decimals: int = 0, out: Any = None) -> Array:
    """Elements rounded to so many decimals, halves to even."""
    return asarray(a).round(decimals, out)


around = round


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Array:
    """Numbers in place of NaN and infinities, as `numpy.nan_to_num`; in ``x`` if not ``copy``."""
    array = asarray(x)
    numbers = {"nan": nan, "posinf": posinf, "neginf": neginf}
    given = {key: node_of(value) for key, value in numbers.items() if value is not None}
    if array.dtype.kind not in "fc":
        return _array(elementwise.copied(array._expr)) if copy else array
    found = functions.applied("nan_to_num", [array._expr], given)
    if found.shape != array.shape:
        raise ValueError(
            f"could not broadcast the numbers that replace others from {found.shape} into the "
            f"array's shape {array.shape}"
        )
    return _array(found) if copy else array._become(found)


def real(val: Any) -> Array:
    """Real parts: a view of an array."""
    return asarray(val).real


def imag(val: Any) -> Array:
    """Imaginary parts: a view of a complex array."""
    return asarray(val).imag


def angle(z: Any, deg: bool = False) -> Array:
    """Angles of complex numbers, in radians or degrees."""
    return _array(functions.applied("angle", [asarray(z)._expr], deg=bool(deg)))


def real_if_close(a: Any, tol: float = 100) -> Array:
    """The real part if all imaginary parts are as small as rounding errors, else the array.

    Collective for complex arrays.
    """
    array = asarray(a)
    if array.dtype.kind != "c":
        return array
    near = float(np.finfo(array.dtype).eps) * tol if tol > 1 else tol
    parts: Any = array.imag
    return array.real if bool((abs(parts) < near).all()) else array


def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(asarray(x).dtype.kind == "c")


def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def result_type(*arrays_and_dtypes: Any) -> np.dtype:
    """Dtype that an operation on arrays, numbers and dtypes gives."""
    return np.result_type(
        *[elementwise.empty_like(x._expr) if isinstance(x, Array) else x for x in arrays_and_dtypes]
    )


def copy(a: Any, order: str = "K", subok: bool = False) -> Array:
    """Array of its own with the same elements."""
    found = asarray(a).copy(order)
    return Array._of(found._expr, fixed=False) if found._fixed else found


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """Elements as another dtype."""
    if device not in (None, "cpu"):
        raise ValueError(f"device={device!r}: only 'cpu' is known to numpy.astype")
    return asarray(x).astype(dtype, copy=copy)


def _array(node: Any) -> Array:
    return Array._of(node)


def _nodes(*operands: Any) -> list[Any]:
    """Operands as nodes; the first becomes one if no other is."""
    nodes = [node_of(x) for x in operands]
    if not any(isinstance(x, Array) for x in operands):
        nodes[0] = asarray(operands[0])._expr
    return nodes


def _of_one(name: str) -> Callable[[Any], Array]:
    """Public function of one array and nothing else."""

    def function(x: Any) -> Array:
        found = functions.applied(name, [asarray(x)._expr])
        return Array._of(found, fixed=name != "i0")  # which gives an array in NumPy, too

    return _documented(function, name)


def _into(name: str) -> Callable[..., Array]:
    """Public function of one array that takes an output."""

    def function(x: Any, out: Any = None) -> Array:
        outs = outputs(name, out)
        found = functions.applied(name, [asarray(x)._expr], out=node_of(outs[0]))
        return finished(_array, (found,), outs)[0]

    return _documented(function, name)


def _documented(function: Callable[..., Any], name: str, more: str = "") -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Elementwise ``{name}``; see `numpy.{name}`.{more}"
    return function


def _are_ours(operands: Sequence[Any]) -> bool:
    """Whether operands are arrays and what they compute with, so that NumPy need not be asked."""
    return any(isinstance(x, Array) for x in operands) and all(map(known, operands))


_WHERE = """

    Where ``where=`` is false, ``out`` keeps what it had; without ``out`` the result is zero there.
    """


def _ufunc(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    """Public function of a ufunc: NumPy's, of distributed arrays."""

    def function(*operands: Any, **options: Any) -> Any:
        if not options and len(operands) == ufunc.nin and _are_ours(operands):
            return called(Array._of, ufunc, operands, options)
        out = options.get("out")
        given = (*operands, *(out if isinstance(out, tuple) else (out,)))
        if operands and not any(isinstance(x, Array) for x in given):
            operands = (asarray(operands[0]), *operands[1:])
        return ufunc(*operands, **options)

    for method in ("reduce", "accumulate", "reduceat", "outer", "at"):
        setattr(function, method, _method(ufunc, method))
    return _documented(function, name, _WHERE)


def _method(ufunc: np.ufunc, method: str) -> Callable[..., Any]:
    """Method of a ufunc as NumPy's, of distributed arrays."""

    def call(a: Any, *args: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(asarray(a), *args, **options)

    return call


PUBLIC: dict[str, Any] = {
    **{name: globals()[name] for name in __all__},
    **{name: _of_one(name) for name in functions.OF_ONE},
    **{name: _into(name) for name in functions.INTO},
    **{name: _ufunc(name, ufunc) for name, ufunc in elementwise.SPELLINGS.items()},
}
"""Functions of this module by name."""
