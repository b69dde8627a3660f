"""Settings: the ``TASKARR_*`` variables, read on rank 0 and alike on all ranks of a world.

``docs/settings.md`` lists them with their defaults.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from scheduler import World
from scheduler.shuffle import TRANSPORTS
from taskarr.backend import CPU
from taskarr.device.choosing import DEVICES

SHUFFLES = ("auto", *TRANSPORTS)
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class Settings:
    """Values of all settings.

    Parameters
    ----------
    block
        Bytes of a block, or None for the rule by array size.
    replicate
        Whether arrays that fit one block are replicated.
    memory
        Bytes of arrays that a rank keeps, or None for a share of the node's memory.
    shuffle
        Transport of all-to-all exchanges: auto, alltoallv, pairwise or pull.
    timeout
        Seconds after which a wait is reported.
    debug
        Compare host data and arguments on all ranks.
    check
        Check plans against their specification.
    device
        Where new arrays live: ``"cpu"`` or ``"cuda"``.
    log
        Least level of messages on stderr.
    """

    block: int | None = None
    replicate: bool = True
    memory: int | None = None
    shuffle: str = "auto"
    timeout: float = 60.0
    debug: bool = False
    check: bool = False
    device: str = "cpu"
    log: str = "warning"

    def __post_init__(self) -> None:
        for name in ("block", "memory"):
            value = getattr(self, name)
            _require(
                value is None or _is_number(value, int), name, value, "a whole number of bytes"
            )
        for name in ("replicate", "debug", "check"):
            value = getattr(self, name)
            _require(
                isinstance(value, bool), name, value, "True or False, in the environment 1 or 0"
            )
        _require(_is_number(self.timeout, int | float), "timeout", self.timeout, "seconds")
        _require(self.block is None or self.block > 0, "block", self.block, "a positive number")
        _require(self.memory is None or self.memory > 0, "memory", self.memory, "positive bytes")
        _require(self.shuffle in SHUFFLES, "shuffle", self.shuffle, " or ".join(SHUFFLES))
        _require(self.timeout > 0, "timeout", self.timeout, "positive seconds")
        _require(
            self.device in (CPU, *DEVICES), "device", self.device, " or ".join((CPU, *DEVICES))
        )
        _require(self.log in LEVELS, "log", self.log, " or ".join(LEVELS))


def _is_number(value: object, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _require(ok: bool, name: str, value: object, wanted: str) -> None:
    if not ok:
        raise ValueError(f"TASKARR_{name.upper()}={value!r}: expected {wanted}")


def from_environment(environment: Mapping[str, str]) -> Settings:
    """Settings from ``TASKARR_*`` variables.

    Raises
    ------
    ValueError
        When a value does not fit its setting; the message names the variable.
    """
    found: dict[str, Any] = {}
    for field in fields(Settings):
        text = environment.get(f"TASKARR_{field.name.upper()}")
        if text is not None and text.strip():
            found[field.name] = _parsed(field.name, text.strip())
    return Settings(**found)


def _parsed(name: str, text: str) -> Any:
    try:
        if name in ("block", "memory"):
            return int(text)
        if name == "timeout":
            return float(text)
        if name in ("replicate", "debug", "check"):
            return {"0": False, "1": True, "false": False, "true": True}[text.lower()]
    except (ValueError, KeyError):
        raise ValueError(f"TASKARR_{name.upper()}={text!r} is not understood") from None
    return text


def shared_settings(world: World) -> Settings:
    """Rank 0's settings on every rank; collective."""
    found: Any = None
    if world.rank == 0:
        try:
            found = from_environment(os.environ)
        except ValueError as error:
            found = error
    found = world.bcast(found, 0, "reading the settings")
    if isinstance(found, ValueError):
        raise found
    return found


def changed(settings: Settings, **values: Any) -> Settings:
    """Settings with other values; an unknown name raises TypeError."""
    known = [field.name for field in fields(Settings)]
    for name in values:
        if name not in known:
            raise TypeError(f"there is no setting {name!r}; there are {', '.join(known)}")
    return replace(settings, **values)


def memory_share(world: World) -> int:
    """Bytes of a rank's memory budget unless set, the least of all ranks; collective.

    It is half of the node's memory over its ranks.
    """
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    ranks = world.size if world.nodes_shared else (os.cpu_count() or 1)
    mine = np.array([total // 2 // max(1, ranks)], np.int64)
    return int(world.allreduce(mine, "min", "agreeing on the memory budget")[0])
