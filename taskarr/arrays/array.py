"""The user's handle: an array is a cell and a view of it. No algorithm lives here."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taskarr import protocols
from taskarr.arrays.handle import node_of
from taskarr.arrays.methods import Methods
from taskarr.arrays.operators import Operators, known
from taskarr.arrays.values import Values
from taskarr.arrays.views import Views


class Array(Operators, Views, Methods, Values):
    """A NumPy array whose blocks lie on the ranks of a job.

    Operations build a graph; values are computed when they are needed. Make arrays with
    `taskarr.asarray`, `taskarr.zeros`, `taskarr.load` and the like, not by calling this class.
    """

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        if not all(known(x) for x in operands):
            return NotImplemented
        nodes = [node_of(x) for x in operands]
        (out,) = options.pop("out", (None,))
        if out is None:
            return self._of(protocols.ufunc_node(ufunc, method, nodes, options))
        if not isinstance(out, Array):
            raise TypeError(
                f"numpy.{ufunc.__name__} can't put a distributed result into a NumPy array; "
                "use the result's numpy()"
            )
        return out._become(protocols.ufunc_into(ufunc, method, out._expr, nodes, options))

    def __getattr__(self, name: str) -> Any:
        raise protocols.missing(name, np.ndarray, "Array")

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        return protocols.function_of(function)(*args, **kwargs)
