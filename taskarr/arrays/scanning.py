"""Calling scans on arrays: an output is written, results are wrapped."""

from typing import Any, Self

from taskarr.arrays.calling import Wrap, finished, outputs
from taskarr.arrays.handle import Handle, node_of
from taskarr.ops import scan


def scanned(wrap: Wrap, name: str, array: Handle, given: dict[str, Any]) -> Any:
    """Result of one of `ops.scan.CUMULATIVE`.

    Parameters
    ----------
    wrap
        Makes an array of a node.
    array
        What is accumulated.
    given
        Arguments by name.
    """
    outs = outputs(name, given.get("out"))
    nodes = {key: node_of(value) for key, value in given.items()}
    return finished(wrap, (scan.cumulative(name, array._expr, nodes),), outs)[0]


class Scanning(Handle):
    """Running sums and products."""

    __slots__ = ()

    def cumsum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Self:
        """Running sum along an axis, or of all elements in C order; see `numpy.cumsum`."""
        given = {"axis": axis, "dtype": dtype, "out": out}
        return scanned(self._of, "cumsum", self, given)

    def cumprod(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Self:
        """Running product along an axis, or of all elements in C order; see `numpy.cumprod`."""
        given = {"axis": axis, "dtype": dtype, "out": out}
        return scanned(self._of, "cumprod", self, given)
