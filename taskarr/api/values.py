"""Getting the values of several arrays."""

from typing import Any

import numpy as np

from taskarr import fetch
from taskarr.api.creation import asarray

__all__ = ["compute"]


def compute(*arrays: Any) -> tuple[np.ndarray, ...]:
    """Several arrays as NumPy arrays on every rank, computed in one run. Collective.

    Examples
    --------
    >>> import taskarr
    >>> a = taskarr.arange(5)
    >>> taskarr.compute(a.min(), a.max())
    (array(0), array(4))
    """
    nodes = [asarray(a)._expr for a in arrays]
    return tuple(fetch.whole(nodes, "compute()")) if nodes else ()


PUBLIC: dict[str, Any] = {name: globals()[name] for name in __all__}
"""Functions of this module by name."""
