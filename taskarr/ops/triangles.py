"""Triangles of matrices, and the indices of triangles and diagonals."""

from typing import Any

import numpy as np

from taskarr.expr import Expr, view_of
from taskarr.geometry.view import broadcast
from taskarr.ops.creation import Placement
from taskarr.ops.elementwise import apply, select
from taskarr.ops.nonzero import nonzero
from taskarr.ops.patterns import edge, index_along, offset_of, tri


def triangle(x: Expr, k: Any, upper: bool) -> Expr:
    """Node with zeros outside a triangle of the last two axes; as `numpy.tril` and `triu`."""
    if not x.shape:
        raise TypeError("a value of zero dimensions has no triangle")
    if len(x.shape) == 1:
        x = view_of(x, broadcast(x.shape, x.shape * 2))
    place, ndim = Placement(x.world), len(x.shape)
    rows, k = index_along(ndim - 2, x.layout, place), offset_of(k) - upper
    below = apply("greater_equal", [rows, edge(ndim - 1, x.layout, k, place)])
    dtype = x.dtype.newbyteorder("=")
    zero = np.zeros((), dtype)[()]
    return select(below, zero, x, dtype) if upper else select(below, x, zero, dtype)


def triangle_indices(n: Any, k: Any, m: Any, upper: bool, place: Placement) -> tuple[Expr, ...]:
    """Indices of the elements of a triangle; as `numpy.tril_indices` and `triu_indices`."""
    below = tri(n, m, offset_of(k) - upper, np.bool_, place)
    return nonzero(apply("logical_not", [below]) if upper else below)
