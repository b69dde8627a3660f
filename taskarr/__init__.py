"""NumPy arrays larger and faster than one process: a task scheduler over MPI, and no scheduler.

Importing the package imports neither NumPy nor MPI; the first use of a name does.
"""

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from sys import modules as _modules
from typing import TYPE_CHECKING, Any

from taskarr.launch import begin as _begin

__version__ = "0.1.0"

_begin()

if TYPE_CHECKING:
    from taskarr import random as random
    from taskarr.api.comparing import *  # noqa: F403
    from taskarr.api.creation import *  # noqa: F403
    from taskarr.api.devices import *  # noqa: F403
    from taskarr.api.elementwise import *  # noqa: F403
    from taskarr.api.files import *  # noqa: F403
    from taskarr.api.indexing import *  # noqa: F403
    from taskarr.api.local import *  # noqa: F403
    from taskarr.api.patterns import *  # noqa: F403
    from taskarr.api.reductions import *  # noqa: F403
    from taskarr.api.scans import *  # noqa: F403
    from taskarr.api.selections import *  # noqa: F403
    from taskarr.api.values import *  # noqa: F403
    from taskarr.api.views import *  # noqa: F403
    from taskarr.arrays import Array as Array
    from taskarr.runtime import settings as settings

    rank: int
    size: int


def __getattr__(name: str) -> Any:
    if name in ("rank", "size"):
        return getattr(_import_module("scheduler").current(), name)
    if name in _PUBLIC_MODULES:
        return _import_module(f"taskarr.{name}")
    if name.startswith("__") or _is_module(name):
        raise AttributeError(f"module 'taskarr' has no attribute {name!r}")
    public = _import_module("taskarr.api").PUBLIC
    if name in public:
        return public[name]
    numpy, protocols = _import_module("numpy"), _import_module("taskarr.protocols")
    if name in protocols.SHARED:
        return getattr(numpy, name)
    raise protocols.missing(name, numpy, "taskarr")


_PUBLIC_MODULES = ("random",)
"""Submodules that ``taskarr.name`` gives without an import of their own."""


def _is_module(name: str) -> bool:
    """Whether a submodule is asked for, by an import that loads it next."""
    return "taskarr.api" not in _modules and _find_spec(f"taskarr.{name}") is not None


def __dir__() -> list[str]:
    public = _import_module("taskarr.api").PUBLIC
    return sorted({*globals(), *public, *_PUBLIC_MODULES, "rank", "size"})
