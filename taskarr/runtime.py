"""What taskarr keeps for one world: settings, memory, and the plans made so far."""

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import scheduler
from scheduler import World
from scheduler.agreement import open_run
from scheduler.comm.where import user_line
from scheduler.plan import Plan
from taskarr.backend import Backend, numpy_backend
from taskarr.config import Settings, changed, memory_share, shared_settings

MOST_PLANS = 512


@dataclass
class PlanCache:
    """Plans by structure of the graph, oldest forgotten first.

    State: per structure its digest, and per structure and kept nodes the plan.
    """

    digests: dict[Any, int] = field(default_factory=dict)
    plans: dict[Any, Plan] = field(default_factory=dict)

    def put(self, key: Any, plan: Plan) -> None:
        """Remember a plan."""
        while len(self.plans) >= MOST_PLANS:
            del self.plans[next(iter(self.plans))]
        self.plans[key] = plan

    def put_digest(self, key: Any, digest: int) -> None:
        """Remember a structure's digest."""
        while len(self.digests) >= MOST_PLANS:
            del self.digests[next(iter(self.digests))]
        self.digests[key] = digest


@dataclass
class Runtime:
    """State of one world: its settings, array memory and plans."""

    world: World
    settings: Settings
    backend: Backend
    cache: PlanCache

    def apply(self, settings: Settings) -> None:
        """Make settings hold from now on, for the scheduler too."""
        self.settings = settings
        self.world.state.update(
            timeout=settings.timeout, debug=settings.debug, shuffle=settings.shuffle
        )


def runtime(world: World | None = None) -> Runtime:
    """Runtime of a world, made at its first use; collective then."""
    world = scheduler.current() if world is None else world
    found = world.state.get("taskarr")
    if found is None:
        agree(world, "the first array")
        settings = shared_settings(world)
        backend = numpy_backend(memory_share(settings, world) // 4)
        found = world.state["taskarr"] = Runtime(world, settings, backend, PlanCache())
        found.apply(settings)
        logging.getLogger("taskarr").setLevel(settings.log.upper())
    return found


def agree(world: World, call: str) -> None:
    """Meet all ranks before a collective that is no run, so that a missing one is named."""
    if world.size > 1:
        line = user_line()
        digest = int.from_bytes(hashlib.blake2b(call.encode(), digest_size=8).digest(), "little")
        open_run(world, digest >> 1, 0, 0, lambda: (call, line, ()))


@contextmanager
def settings(**values: Any) -> Iterator[Settings]:
    """Change settings of this world within a ``with`` block, on all ranks alike.

    Parameters
    ----------
    **values
        Names of settings in lower case without ``TASKARR_``: ``block=1 << 20``,
        ``shuffle="pairwise"``.

    Raises
    ------
    TypeError
        For an unknown name.
    ValueError
        For a value that does not fit.

    Examples
    --------
    >>> import taskarr
    >>> with taskarr.settings(block=64, replicate=False):
    ...     taskarr.arange(16).chunks
    ((8, 8),)
    """
    current = runtime()
    before = current.settings
    current.apply(changed(before, **values))
    try:
        yield current.settings
    finally:
        current.apply(before)
