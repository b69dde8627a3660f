"""Run tasks on the ranks of an SPMD program: worlds, messages, stages, agreement.

Knows nothing of arrays; MPI is loaded only when a launcher has started the program.
"""

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
