"""Run tasks on the ranks of an SPMD program: worlds, messages, stages, agreement.

Knows nothing of arrays. A name is imported at its first use, and MPI is loaded only when a
launcher has started the program.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scheduler.comm import World, current, default_world, from_mpi, run_virtual, use
    from scheduler.dask import get
    from scheduler.errors import Failure, Hang, PeerFailed, SPMDError
    from scheduler.events import Observer
    from scheduler.graph import Graph
    from scheduler.progress import Progress
    from scheduler.trace import Trace

__all__ = [
    "Failure",
    "Graph",
    "Hang",
    "Observer",
    "PeerFailed",
    "Progress",
    "SPMDError",
    "Trace",
    "World",
    "current",
    "default_world",
    "from_mpi",
    "get",
    "run_virtual",
    "use",
]

_HOMES = {
    "comm": ("World", "current", "default_world", "from_mpi", "run_virtual", "use"),
    "dask": ("get",),
    "errors": ("Failure", "Hang", "PeerFailed", "SPMDError"),
    "events": ("Observer",),
    "graph": ("Graph",),
    "progress": ("Progress",),
    "trace": ("Trace",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            found = globals()[name] = getattr(_import_module(f"scheduler.{module}"), name)
            return found
    raise AttributeError(f"module 'scheduler' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
