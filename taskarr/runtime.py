"""What taskarr keeps for one world: settings, memory, and the plans made so far."""

import hashlib
import logging
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import scheduler
from scheduler import World
from scheduler.agreement import open_run
from scheduler.comm.where import user_line
from scheduler.plan import Plan
from taskarr.backend import CPU, Backend, numpy_backend
from taskarr.config import Settings, changed, memory_share, shared_settings
from taskarr.device.choosing import check_device, opened
from taskarr.device.memory import DeviceBackend

MOST_PLANS = 512
MOST_WATCHED = 64
"""Pending reductions above which they are run at once, as when they take an eighth of the budget
as scratch."""

LOOK = 16
"""New pending reductions after which is looked whether they keep too much in memory."""


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


@dataclass(slots=True)
class Watched:
    """A pending reduction: the node, while it lives; bytes of the segment that a pass holds for it.

    State: how many runs passed it by.
    """

    node: Callable[[], Any]
    scratch: int
    passed: int = 0


@dataclass
class Pending:
    """Small reductions that nobody has asked for yet.

    State: them by number, which is the same on all ranks, in the order in which they were made;
    the sum of their scratch; the next number; and that at the last look at how much they keep.
    """

    watched: dict[int, Watched] = field(default_factory=dict)
    scratch: int = 0
    made: int = 0
    looked: int = 0

    def add(self, node: Any, scratch: int) -> None:
        """Watch a reduction from now on."""
        self.watched[self.made] = Watched(weakref.ref(node), scratch)
        self.scratch += scratch
        self.made += 1

    def drop(self, number: int) -> None:
        """Watch a reduction no longer."""
        self.scratch -= self.watched.pop(number).scratch

    def are_many(self, budget: int) -> bool:
        """Whether one run should compute no more."""
        count = len(self.watched)
        return count > MOST_WATCHED or (count > 1 and self.scratch > budget // 8)

    def are_crowded(self, budget: int) -> bool:
        """Whether it is time to look at how much they keep in memory."""
        look = len(self.watched) >= LOOK and self.made - self.looked >= LOOK
        return look or self.are_many(budget)


@dataclass
class Runtime:
    """State of one world: settings, array memory, plans, memory on devices, pending reductions.

    ``share`` is the memory budget without a setting, ``budget`` the one that holds, both the same
    on all ranks; ``hinted`` are lines whose arrays were over it.
    """

    world: World
    settings: Settings
    backend: Backend
    cache: PlanCache
    devices: dict[str, DeviceBackend] = field(default_factory=dict)
    share: int = sys.maxsize
    budget: int = sys.maxsize
    pending: Pending = field(default_factory=Pending)
    hinted: set[str] = field(default_factory=set)

    def apply(self, settings: Settings) -> None:
        """Make settings hold from now on, for the scheduler too."""
        self.settings = settings
        self._limit(settings.memory or self.share)
        self.world.state.update(
            timeout=settings.timeout, debug=settings.debug, shuffle=settings.shuffle
        )
        self.backend_on(settings.device)
        self.world.state["device"] = settings.device

    def _limit(self, budget: int) -> None:
        if budget != self.budget:
            self.budget = budget
            self.backend.pool.resize(budget)

    def budget_on(self, device: str | None) -> int:
        """Memory budget of a rank on a device, the present one for None."""
        found = self.devices.get(device or self.world.state.get("device", CPU))
        return self.budget if found is None or self.settings.memory else found.share

    def backend_on(self, device: str | None) -> Backend:
        """Array memory on a device, the present one for None; collective at a device's first use.

        Raises
        ------
        ValueError, ImportError, RuntimeError
            When a rank has no such device, on all ranks.
        """
        device = device or self.world.state.get("device", CPU)
        if device == CPU:
            return self.backend
        if device not in self.devices:
            agree(self.world, f"the first array on {device}")
            self.devices[device] = opened(device, self.world, self.backend)
        return self.devices[device]


def runtime(world: World | None = None) -> Runtime:
    """Runtime of a world, made at its first use; collective then."""
    world = scheduler.current() if world is None else world
    found = world.state.get("taskarr")
    if found is None:
        agree(world, "the first array")
        settings = shared_settings(world)
        share = memory_share(world)
        backend = numpy_backend(share)
        found = Runtime(world, settings, backend, PlanCache(), share=share, budget=share)
        found.apply(settings)
        world.state["taskarr"] = found
        logging.getLogger("taskarr").setLevel(settings.log.upper())
    return found


def agree(world: World, call: str) -> None:
    """Meet all ranks before a collective that is no run, so that a missing one is named."""
    if world.size > 1:
        line = user_line()
        digest = int.from_bytes(hashlib.blake2b(call.encode(), digest_size=8).digest(), "little")
        open_run(world, digest >> 1, 0, 0, lambda: (call, line, ()))


@contextmanager
def present(world: World, device: str) -> Iterator[None]:
    """Make new arrays on a device within a ``with`` block.

    Raises
    ------
    ValueError, ImportError, RuntimeError
        When there is no such device, on all ranks.
    """
    here = runtime(world)
    here.backend_on(check_device(device))
    before = world.state.get("device")
    world.state["device"] = device
    try:
        yield
    finally:
        world.state["device"] = before


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
