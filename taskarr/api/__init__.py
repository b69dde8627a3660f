"""Public functions, as NumPy names them."""

from typing import Any

from taskarr import protocols
from taskarr.api import creation, elementwise, files, reductions, values, views
from taskarr.api.creation import (
    arange,
    asarray,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from taskarr.api.elementwise import where
from taskarr.api.files import load, save
from taskarr.api.values import compute
from taskarr.arrays import Array
from taskarr.runtime import settings

__all__ = [
    "Array",
    "arange",
    "asarray",
    "compute",
    "full",
    "full_like",
    "load",
    "ones",
    "ones_like",
    "save",
    "settings",
    "where",
    "zeros",
    "zeros_like",
]

ROOMS = (creation, elementwise, files, reductions, values, views)

PUBLIC: dict[str, Any] = {"Array": Array, "settings": settings}
"""Everything that ``taskarr.name`` gives; generated functions are not names of this module,
where ``sum`` and ``any`` mean Python's."""
for _room in ROOMS:
    PUBLIC.update(_room.PUBLIC)

protocols.FUNCTIONS.update(PUBLIC)
protocols.FUNCTIONS.update(
    shape=lambda a: a.shape,
    ndim=lambda a: a.ndim,
    size=lambda a, axis=None: a.size if axis is None else a.shape[axis],
)
