"""Public functions, as NumPy names them."""

from typing import Any

from taskarr import protocols
from taskarr.api import (
    comparing,
    creation,
    devices,
    elementwise,
    files,
    local,
    patterns,
    reductions,
    selections,
    values,
    views,
)
from taskarr.api.comparing import allclose, array_equal, array_equiv, isclose
from taskarr.api.creation import (
    array,
    asanyarray,
    asarray,
    ascontiguousarray,
    asfortranarray,
    empty,
    empty_like,
    full,
    full_like,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from taskarr.api.devices import to_device
from taskarr.api.elementwise import (
    angle,
    around,
    astype,
    clip,
    copy,
    imag,
    iscomplexobj,
    isrealobj,
    nan_to_num,
    real,
    real_if_close,
    result_type,
    round,
)
from taskarr.api.files import load, save
from taskarr.api.local import from_array, from_local, scatter
from taskarr.api.patterns import (
    arange,
    diag,
    eye,
    fromfunction,
    geomspace,
    identity,
    indices,
    linspace,
    logspace,
    meshgrid,
    tri,
    vander,
)
from taskarr.api.selections import piecewise, select, where
from taskarr.api.values import compute
from taskarr.arrays import Array
from taskarr.runtime import settings

__all__ = [
    "Array",
    "allclose",
    "angle",
    "arange",
    "around",
    "array",
    "array_equal",
    "array_equiv",
    "asanyarray",
    "asarray",
    "ascontiguousarray",
    "asfortranarray",
    "astype",
    "clip",
    "compute",
    "copy",
    "diag",
    "empty",
    "empty_like",
    "eye",
    "from_array",
    "from_local",
    "fromfunction",
    "full",
    "full_like",
    "geomspace",
    "identity",
    "imag",
    "indices",
    "isclose",
    "iscomplexobj",
    "isrealobj",
    "linspace",
    "load",
    "logspace",
    "meshgrid",
    "nan_to_num",
    "ones",
    "ones_like",
    "piecewise",
    "real",
    "real_if_close",
    "result_type",
    "round",
    "save",
    "scatter",
    "select",
    "settings",
    "to_device",
    "tri",
    "vander",
    "where",
    "zeros",
    "zeros_like",
]

ROOMS = (
    comparing,
    creation,
    devices,
    elementwise,
    files,
    local,
    patterns,
    reductions,
    selections,
    values,
    views,
)

MAKERS = (creation, local, patterns)
"""Modules whose functions take ``device=``; so does `load`."""

PUBLIC: dict[str, Any] = {"Array": Array, "settings": settings}
"""Everything that ``taskarr.name`` gives; generated functions are not names of this module,
where ``sum`` and ``any`` mean Python's."""
for _room in ROOMS:
    PUBLIC.update(_room.PUBLIC)
for _room in MAKERS:
    PUBLIC.update((name, devices.on_device(made)) for name, made in _room.PUBLIC.items())
PUBLIC["load"] = devices.on_device(load)

protocols.FUNCTIONS.update(PUBLIC)
protocols.FUNCTIONS.update(
    shape=lambda a: a.shape,
    ndim=lambda a: a.ndim,
    size=lambda a, axis=None: a.size if axis is None else a.shape[axis],
)
