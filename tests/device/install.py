"""The device that the suite runs on: the processor, or what ``TASKARR_TEST_DEVICE`` names.

``TASKARR_TEST_DEVICE=strict pytest`` runs all tests that use `tests.layouts.on_ranks` on the
stand-in for CuPy. What no device holds, dates, text and records, is refused there with a text of
its own, and such tests, or parts of them, are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from taskarr.device.choosing import DEVICES
from taskarr.device.memory import Device
from tests.device import strict
from tests.device.signatures import ABSENT, DTYPES

STRICT = Device("strict", lambda: (strict, strict.empty_pinned))  # type: ignore[arg-type,return-value]
DEVICES.setdefault(STRICT.name, STRICT)

DEVICE = os.environ.get("TASKARR_TEST_DEVICE", "cpu")


def held_here(dtypes: Iterable[Any]) -> list[Any]:
    """Those of some dtypes that the device under test computes with."""
    return [d for d in dtypes if DEVICE == "cpu" or is_held(np.dtype(d))]


def is_held(dtype: np.dtype) -> bool:
    """Whether devices compute with a dtype."""
    return dtype.char in DTYPES and dtype.isnative


def host(x: Any) -> Any:
    """Array in the processor's memory, of one that may lie on the device under test."""
    return x if isinstance(x, np.ndarray) else x.get()


def shares_memory(a: Any, b: Any) -> bool:
    """Whether two arrays on the device under test have memory in common."""
    if DEVICE in ("cpu", STRICT.name):
        return np.shares_memory(*[getattr(x, "_data", x) for x in (a, b)])
    module, _ = DEVICES[DEVICE].load()
    return bool(module.shares_memory(a, b))


def is_refused(name: str, text: str) -> bool:
    """Whether an error is a device's refusal of a dtype or function, not a wrong result."""
    return (
        DEVICE != "cpu"
        and name in ("TypeError", "NotImplementedError")
        and ("can't live on device" in text or is_absent(text))
    )


def is_absent(text: str) -> bool:
    """Whether an error says that devices have not a function."""
    return any(f"numpy.{function} is not available on device" in text for function in ABSENT)
