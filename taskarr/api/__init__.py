"""Public functions, as NumPy names them."""

from typing import Any

from taskarr import protocols
from taskarr.api import (
    comparing,
    creation,
    devices,
    elementwise,
    files,
    indexing,
    local,
    patterns,
    reductions,
    scans,
    selections,
    values,
    views,
)
from taskarr.arrays import Array
from taskarr.runtime import settings

ROOMS = (
    comparing,
    creation,
    devices,
    elementwise,
    files,
    indexing,
    local,
    patterns,
    reductions,
    scans,
    selections,
    values,
    views,
)
"""Modules that list the names they give; type checkers follow the imports of `taskarr` itself."""

MAKERS = (creation, local, patterns)
"""Modules whose functions take ``device=``; so does `load`."""

PUBLIC: dict[str, Any] = {"Array": Array, "settings": settings}
"""Everything that ``taskarr.name`` gives."""
for _room in ROOMS:
    PUBLIC.update(_room.PUBLIC)
for _room in MAKERS:
    PUBLIC.update((name, devices.on_device(made)) for name, made in _room.PUBLIC.items())
PUBLIC["load"] = devices.on_device(files.load)

protocols.FUNCTIONS.update(PUBLIC)
protocols.FUNCTIONS.update(
    shape=lambda a: a.shape,
    ndim=lambda a: a.ndim,
    size=lambda a, axis=None: a.size if axis is None else a.shape[axis],
)
