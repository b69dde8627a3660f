"""Text of arrays: a summary that communicates nothing, and NumPy's text of the shown edges."""

from itertools import product
from math import prod
from typing import Any

import numpy as np

from taskarr import fetch
from taskarr.expr import Expr, view_of
from taskarr.geometry.layout import Layout
from taskarr.geometry.view import Affine


def summary(shape: tuple[int, ...], dtype: np.dtype, layout: Layout) -> str:
    """What ``repr`` shows: shape, dtype, how it is cut; no values."""
    return f"<taskarr.Array shape={shape} dtype={dtype} {layout.text}>"


def text(node: Expr) -> str:
    """What ``str`` shows: as NumPy prints the array, by fetching only the elements shown."""
    options = np.get_printoptions()
    edge = int(options["edgeitems"])
    if prod(node.shape) <= options["threshold"] or not any(n > 2 * edge for n in node.shape):
        (found,) = fetch.whole([node], "str()")
        return str(found if found.ndim else found[()])
    return np.array2string(_edges(node, edge), threshold=0)


def _edges(node: Expr, edge: int) -> np.ndarray:
    """Array that prints as the node does: its edges, and one hidden index in the middle."""
    small = tuple(min(n, 2 * edge + 1) for n in node.shape)
    spans: list[list[tuple[int, int]]] = [
        [(0, n)] if n <= 2 * edge else [(0, edge), (n - edge, n)] for n in node.shape
    ]
    corners = list(product(*spans))
    found = fetch.whole([view_of(node, _corner(node, corner)) for corner in corners], "str()")
    whole: Any = np.empty(small, node.dtype)
    whole[...] = found[0].reshape(-1)[0] if found[0].size else 0
    for corner, part in zip(corners, found, strict=True):
        where = tuple(
            slice(lo, hi) if lo == 0 else slice(m - (hi - lo), m)
            for (lo, hi), m in zip(corner, small, strict=True)
        )
        whole[where] = part
    return whole


def _corner(node: Expr, corner: tuple[tuple[int, int], ...]) -> Affine:
    n = len(corner)
    return Affine(
        tuple(hi - lo for lo, hi in corner),
        tuple(range(n)),
        tuple(lo for lo, _ in corner),
        (1,) * n,
        node.shape,
    )
