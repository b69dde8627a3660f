"""Calling ufuncs on arrays: outputs are written, results are wrapped."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taskarr import protocols
from taskarr.arrays.handle import Handle, node_of, with_nodes
from taskarr.expr import Expr
from taskarr.ops import advanced, reductions, scan, ufuncs
from taskarr.ops.elementwise import cast
from taskarr.ops.keys import is_basic, view_of_key
from taskarr.ops.operands import strong

Wrap = Callable[[Expr], Handle]


def outputs(name: str, given: Any) -> tuple[Any, ...]:
    """Outputs of a call as a tuple of arrays and None.

    Raises
    ------
    TypeError
        For an output that is no distributed array, or a value that never changes.
    ValueError
        For one that can't be written to.
    """
    outs = given if isinstance(given, tuple) else (given,)
    for out in outs:
        if out is None:
            continue
        if not isinstance(out, Handle):
            raise TypeError(
                f"numpy.{name} can't put a distributed result into {_described(out)}; "
                "use the result's numpy()"
            )
        if out._fixed:
            raise TypeError(
                f"numpy.{name} can't put its result into a value of zero dimensions that a "
                "reduction or an index gave, which never changes"
            )
        out._check_writable()
    return outs


def _described(out: Any) -> str:
    return "a NumPy array" if isinstance(out, np.ndarray) else f"{type(out).__name__} {out!r}"


def mask_of(where: Any) -> Any:
    """Mask as a node: a value of any dtype is true or false, arrays must be boolean."""
    node = node_of(where)
    is_value = isinstance(where, Handle) and where._fixed
    return cast(node, np.bool_) if is_value else node


def called(
    wrap: Wrap, function: ufuncs.Caller, operands: Sequence[Any], options: dict[str, Any]
) -> Any:
    """Result of a ufunc's call, or a tuple of its results; outputs that were given are written.

    Parameters
    ----------
    wrap
        Makes an array of a node.
    function
        What is called.
    operands, options
        Of the call, as ``__array_ufunc__`` gets them.
    """
    nodes = [node_of(x) for x in operands]
    if not options and function.nout == 1:
        return wrap(ufuncs.call(function, nodes)[0])
    outs = outputs(function.__name__, options.pop("out", (None,) * function.nout))
    where = mask_of(options.pop("where", True))
    found = ufuncs.call(function, nodes, [node_of(out) for out in outs], where, options)
    results = finished(wrap, found, outs)
    return results if function.nout > 1 else results[0]


def finished(wrap: Wrap, found: Sequence[Expr], outs: Sequence[Any]) -> tuple[Any, ...]:
    """Nodes as arrays: in the outputs that were given, else in new ones."""
    pairs = zip(found, outs, strict=True)
    return tuple(wrap(x) if out is None else out._become(x) for x, out in pairs)


def _outer(wrap: Wrap, function: np.ufunc, operands: Sequence[Any], options: Any) -> Any:
    nodes = ufuncs.outer_operands(function, [node_of(x) for x in operands])
    return called(wrap, function, nodes, options)


def _reduce(wrap: Wrap, function: np.ufunc, operands: Sequence[Any], options: Any) -> Any:
    outs = outputs(f"{function.__name__}.reduce", options.pop("out", None))
    convert = {"where": mask_of}
    given = {key: convert.get(key, node_of)(value) for key, value in options.items()}
    reduce = (
        reductions.ufunc_reduce if reductions.is_associative(function) else scan.reduce_in_order
    )
    found = reduce(function, node_of(operands[0]), out=node_of(outs[0]), **given)
    return finished(wrap, (found,), outs)[0]


def _accumulate(wrap: Wrap, function: np.ufunc, operands: Sequence[Any], options: Any) -> Any:
    outs = outputs(f"{function.__name__}.accumulate", options.pop("out", None))
    found = scan.accumulate(function, node_of(operands[0]), out=node_of(outs[0]), **options)
    return finished(wrap, (found,), outs)[0]


def _reduceat(wrap: Wrap, function: np.ufunc, operands: Sequence[Any], options: Any) -> Any:
    outs = outputs(f"{function.__name__}.reduceat", options.pop("out", None))
    array, indices = map(node_of, operands)
    found = scan.reduceat(function, array, indices, out=node_of(outs[0]), **options)
    return finished(wrap, (found,), outs)[0]


def _at(wrap: Wrap, function: np.ufunc, operands: Sequence[Any], options: Any) -> None:
    """Apply a ufunc at the elements that a key selects, once for each time they are selected."""
    target, key, *values = operands
    (target,) = outputs(f"{function.__name__}.at", target)
    nodes = [strong(node_of(value)) for value in values]
    if is_basic(key):
        part = target._viewed(view_of_key(target.shape, key))
        called(wrap, function, [part, *nodes], {"out": part, "casting": "unsafe"})
        return
    target._become(advanced.accumulated(function, target._expr, with_nodes(key), *nodes))


_METHODS: dict[str, Callable[..., Any]] = {
    "__call__": called,
    "outer": _outer,
    "reduce": _reduce,
    "accumulate": _accumulate,
    "reduceat": _reduceat,
    "at": _at,
}


def dispatched(
    wrap: Wrap, function: np.ufunc, method: str, operands: Sequence[Any], options: dict[str, Any]
) -> Any:
    """What ``__array_ufunc__`` gives.

    Raises
    ------
    NotImplementedError
        For other methods, and for ufuncs of whole rows and matrices.
    """
    found = _METHODS.get(method)
    if found is None or function.signature is not None:
        call = function.__name__ if method == "__call__" else f"{function.__name__}.{method}"
        raise protocols.refused(call)
    return found(wrap, function, operands, options)
