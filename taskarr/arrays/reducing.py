"""Calling reductions on arrays: an output is written, results are wrapped."""

from collections.abc import Callable, Sequence
from typing import Any

from taskarr import fetch
from taskarr.arrays.calling import Wrap, finished, mask_of, outputs
from taskarr.arrays.handle import Handle, node_of
from taskarr.ops import reductions


def reduced(
    wrap: Wrap,
    name: str,
    array: Handle,
    args: Sequence[Any],
    options: dict[str, Any],
    method: bool = False,
) -> Any:
    """Result of a reduction called as NumPy's function, or method, of this name.

    Parameters
    ----------
    wrap
        Makes an array of a node.
    array
        What is reduced.
    args, options
        Of the call, behind the array.
    """
    given = reductions.bound(name, args, options, method)
    outs = outputs(name, given.get("out"))
    nodes = {key: ARRAYS.get(key, _number)(value) for key, value in given.items()}
    return finished(wrap, (reductions.call(name, array._expr, nodes),), outs)[0]


ARRAYS = {**dict.fromkeys(("out", "initial", "mean", "weights"), node_of), "where": mask_of}
"""Arguments that may be arrays, and how they become nodes; in others a value of zero dimensions
stands for its number."""


def _number(value: Any) -> Any:
    if not isinstance(value, Handle) or value.shape:
        return value
    return fetch.single(value._expr, lambda x: x.item())


def method_of(name: str) -> Callable[..., Any]:
    """Method of an array that is NumPy's reduction of this name."""

    def method(self: Handle, *args: Any, **options: Any) -> Any:
        return reduced(self._of, name, self, args, options, method=True)

    method.__name__ = name
    method.__doc__ = f"Reduction ``{name}`` over all axes, one axis or several; as `numpy.{name}`."
    return method
