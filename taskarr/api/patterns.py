"""Making arrays from a rule: ranges, diagonals, indices."""

import operator
from collections.abc import Callable
from typing import Any, Unpack

import numpy as np

from taskarr.api.creation import Placed, asarray, new, placement
from taskarr.arrays import Array, node_of
from taskarr.expr import Expr, moved_to
from taskarr.geometry.view import broadcast
from taskarr.ops import patterns, ranges, views
from taskarr.ops.elementwise import copied

__all__ = [
    "arange",
    "diag",
    "eye",
    "fromfunction",
    "geomspace",
    "identity",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
    "tri",
    "vander",
]


def arange(
    *bounds: Any,
    start: Any = None,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    **layout: Unpack[Placed],
) -> Array:
    """Evenly spaced values: ``arange([start,] stop[, step])``; layout arguments as `asarray`.

    Raises
    ------
    TypeError, ValueError, ZeroDivisionError
        As `numpy.arange`.
    """
    given = dict(zip(("start", "stop", "step", "dtype"), bounds, strict=False))
    if len(bounds) > 4:
        raise TypeError(f"arange() takes from 1 to 4 positional arguments, got {len(bounds)}")
    named = {"start": start, "stop": stop, "step": step, "dtype": dtype}
    for name, value in named.items():
        if value is not None:
            if name in given and (name, len(bounds)) != ("start", 1):
                raise TypeError(f"arange() got {name} twice")
            if name == "start" and name in given:  # arange(stop, start=...)
                given = {"stop": given["start"]}
            given[name] = value
    values = {name: _host(value) for name, value in given.items()}
    first, last = values.get("start"), values.get("stop")
    if first is None and last is None:
        raise TypeError("arange() requires stop to be specified.")
    if first is None:
        if len(bounds) > 1:
            raise TypeError(f"arange() from None to {last!r}: expected a number to start from")
        first, last = last, None
    by = values.get("step")
    place = placement(layout)
    return new(ranges.arange(first, last, 1 if by is None else by, values.get("dtype"), place))


def _host(x: Any) -> Any:
    """A distributed value of zero dimensions as NumPy's; anything else as it is."""
    return x.numpy()[()] if isinstance(x, Array) and not x.shape else x


def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    **layout: Unpack[Placed],
) -> Any:
    """Evenly spaced values between two ends, to the bit those of `numpy.linspace`.

    Layout arguments as `asarray`.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.linspace(0, 1, 5))
    [0.   0.25 0.5  0.75 1.  ]
    """
    ends = (node_of(start), node_of(stop))
    node, step = ranges.linspace(*ends, num, endpoint, dtype, axis, placement(layout))
    if not retstep:
        return new(node)
    if isinstance(step, Expr):
        return new(node), Array._of(step)
    return new(node), asarray(step) if np.ndim(step) else step


def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
    **layout: Unpack[Placed],
) -> Array:
    """Values evenly spaced on a logarithmic scale; see `numpy.logspace`."""
    ends = (node_of(start), node_of(stop))
    place = placement(layout)
    return new(ranges.logspace(*ends, num, endpoint, node_of(base), dtype, axis, place))


def geomspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    dtype: Any = None,
    axis: int = 0,
    **layout: Unpack[Placed],
) -> Array:
    """Values of a geometric sequence between two ends; see `numpy.geomspace`."""
    ends = (node_of(start), node_of(stop))
    return new(ranges.geomspace(*ends, num, endpoint, dtype, axis, placement(layout)))


def eye(
    N: Any,  # noqa: N803 - NumPy's name
    M: Any = None,  # noqa: N803
    k: Any = 0,
    dtype: Any = float,
    order: Any = "C",
    **layout: Unpack[Placed],
) -> Array:
    """Matrix with ones on diagonal ``k``; see `numpy.eye`."""
    return new(patterns.eye(N, M, k, dtype, placement(layout)))


def identity(n: Any, dtype: Any = None, **layout: Unpack[Placed]) -> Array:
    """Square matrix with ones on its diagonal."""
    return eye(n, None, 0, dtype, **layout)


def tri(
    N: Any,  # noqa: N803
    M: Any = None,  # noqa: N803
    k: Any = 0,
    dtype: Any = float,
    **layout: Unpack[Placed],
) -> Array:
    """Matrix with ones at and below diagonal ``k``; see `numpy.tri`."""
    return new(patterns.tri(N, M, k, dtype, placement(layout)))


def indices(
    dimensions: Any, dtype: Any = int, sparse: bool = False, **layout: Unpack[Placed]
) -> Any:
    """Indices along every axis of a shape; see `numpy.indices`."""
    place = placement(layout)
    if sparse:
        return tuple(map(new, patterns.open_indices(dimensions, dtype, place)))
    return new(patterns.indices(dimensions, dtype, place))


def fromfunction(
    function: Callable[..., Any],
    shape: Any,
    *,
    dtype: Any = float,
    split: Any = "auto",
    chunks: Any = None,
    mesh: Any = None,
    comm: Any = None,
    device: Any = None,
    **kwargs: Any,
) -> Any:
    """What a function gives for the distributed arrays of indices; it is called once.

    Further keyword arguments are the function's; layout arguments as `asarray`.

    Examples
    --------
    >>> import taskarr
    >>> print(taskarr.fromfunction(lambda i, j: i + j, (2, 3), dtype=int))
    [[0 1 2]
     [1 2 3]]
    """
    layout = Placed(split=split, chunks=chunks, mesh=mesh, comm=comm, device=device)
    found = patterns.full_indices(shape, dtype, placement(layout))
    return function(*map(new, found), **kwargs)


def vander(
    x: Any,
    N: Any = None,  # noqa: N803
    increasing: bool = False,
    **layout: Unpack[Placed],
) -> Array:
    """Matrix of the powers of ``x``; see `numpy.vander`."""
    node = asarray(x)._expr
    return new(patterns.vander(node, N, increasing, placement(layout, asarray(x))))


def diag(v: Any, k: Any = 0, **layout: Unpack[Placed]) -> Array:
    """Matrix with ``v`` on diagonal ``k``; of a matrix, that diagonal.

    Raises
    ------
    ValueError
        When ``v`` has neither one axis nor two.
    """
    array = asarray(v)
    if array.ndim == 2:
        return array.diagonal(operator.index(k))
    if array.ndim != 1:
        raise ValueError(f"Input must be 1- or 2-d: diag() of shape {array.shape}")
    return new(patterns.diag(array._expr, k, placement(layout, array)))


def meshgrid(
    *xi: Any,
    copy: bool = True,
    sparse: bool = False,
    indexing: str = "xy",
    **layout: Unpack[Placed],
) -> tuple[Array, ...]:
    """Coordinate arrays of a grid; see `numpy.meshgrid`.

    Raises
    ------
    ValueError
        For an ``indexing`` other than ``"xy"`` and ``"ij"``.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    lines = [_line(asarray(x)) for x in xi]
    order = list(range(len(lines)))
    if indexing == "xy" and len(lines) > 1:
        order[:2] = [1, 0]
    grids = []
    for axis, line in zip(order, lines, strict=True):
        others = tuple(k for k in order if k != axis)
        grids.append(line._viewed(views.expand_dims(line.shape, others)))
    if not sparse:
        shape = np.broadcast_shapes(*[g.shape for g in grids])
        grids = [g._viewed(broadcast(g.shape, shape)) for g in grids]
    if not copy:
        return tuple(grids)
    found = []
    for grid in grids:
        place = placement(layout, grid if sparse else None)
        found.append(new(moved_to(copied(grid._expr), place.layout(grid.shape, grid.dtype))))
    return tuple(found)


def _line(x: Array) -> Array:
    if x.ndim == 1:
        return x
    return x._viewed(views.expand_dims((), 0)) if x.ndim == 0 else x.reshape(-1)


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
