"""Reductions as functions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taskarr.api.creation import asarray
from taskarr.arrays import Array
from taskarr.arrays.reducing import reduced
from taskarr.ops import reductions

__all__ = ["average", "reduction"]


def average(
    a: Any,
    axis: Any = None,
    weights: Any = None,
    returned: bool = False,
    *,
    keepdims: Any = np._NoValue,
) -> Any:
    """Average of elements, each counted by its weight; see `numpy.average`.

    Parameters
    ----------
    a
        Array.
    axis
        None for all axes, an axis, or a tuple of axes.
    weights
        Of ``a``'s shape, or of that of the axes that are averaged; None for equal ones.
    returned
        Whether to give the sum of the weights too.
    keepdims
        Keep averaged axes with length 1.

    Raises
    ------
    TypeError, ValueError
        For weights that do not fit.
    ZeroDivisionError
        When weights sum to zero; therefore those are summed at once.

    Examples
    --------
    >>> import taskarr
    >>> a = taskarr.arange(6.0).reshape(3, 2)
    >>> taskarr.average(a, axis=0, weights=[3, 1, 0]).numpy()
    array([0.5, 1.5])
    """
    chosen = None if weights is None else asarray(weights)._expr
    given = {} if keepdims is np._NoValue else {"keepdims": keepdims}
    found, total = reductions.average(asarray(a)._expr, axis, chosen, given)
    return (Array._of(found), Array._of(total)) if returned else Array._of(found)


def reduction(
    partial: Callable[[Any, tuple[int, ...]], Any],
    combine: Callable[[Any, Any], Any],
    finish: Callable[[Any], Any] | None = None,
) -> Callable[..., Array]:
    """Make a reduction of your own, which runs as the built-in ones do: part by part, in one pass.

    Parameters
    ----------
    partial
        ``partial(block, axis)`` gives the state of a part of the array: a tuple of arrays in which
        the reduced axes, a tuple, are kept with length 1.
    combine
        ``combine(a, b)`` gives the state of two parts together. It must not matter how parts are
        grouped, nor which of two comes first.
    finish
        ``finish(state)`` makes the result of the state of everything; None if the state is one
        array, the result.

    Returns
    -------
    function
        ``r(x, axis=None, keepdims=False)``. Make it once: each is planned anew.

    Raises
    ------
    TypeError, ValueError
        When the functions give something else than states; they are tried on a few ones.

    Notes
    -----
    The functions may run several times and must not change what they are given. All ranks must
    make and call the same reductions.

    Examples
    --------
    The logarithm of a sum of exponentials, without overflow:

    >>> import numpy as np, taskarr
    >>> def partial(block, axis):
    ...     top = block.max(axis=axis, keepdims=True)
    ...     return top, np.exp(block - top).sum(axis=axis, keepdims=True)
    >>> def combine(a, b):
    ...     top = np.maximum(a[0], b[0])
    ...     return top, a[1] * np.exp(a[0] - top) + b[1] * np.exp(b[0] - top)
    >>> logsumexp = taskarr.reduction(partial, combine, lambda s: s[0] + np.log(s[1]))
    >>> x = taskarr.asarray([[1000.0, 1000.0], [0.0, 1.0]])
    >>> logsumexp(x, axis=1).numpy().round(3)
    array([1000.693,    1.313])
    """
    made = reductions.Custom(partial, combine, finish)

    def function(x: Any, axis: Any = None, keepdims: bool = False) -> Array:
        return Array._of(made.node(asarray(x)._expr, axis, keepdims))

    function.__doc__ = f"Reduction by {getattr(partial, '__name__', partial)!s}()."
    return function


def _reduction(name: str) -> Callable[..., Any]:
    """Public function of a reduction."""

    def function(a: Any, *args: Any, **options: Any) -> Any:
        return reduced(Array._of, name, asarray(a), args, options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Reduction ``{name}``; see `numpy.{name}` for ``axis``, ``keepdims`` and the others."
    )
    return function


PUBLIC: dict[str, Any] = {
    **{name: globals()[name] for name in __all__},
    **{name: _reduction(name) for name in reductions.NAMES},
}
"""Functions of this module by name."""
