"""The device that the suite runs on: the processor, or what ``TASKARR_TEST_DEVICE`` names.

``TASKARR_TEST_DEVICE=strict pytest`` runs all tests that use `tests.layouts.on_ranks` on the
stand-in for CuPy. What no device holds, dates, text and records, is refused there with a text of
its own, and such tests, or parts of them, are skipped.
"""

from __future__ import annotations

import os

from taskarr.device.choosing import DEVICES
from taskarr.device.memory import Device
from tests.device import strict
from tests.device.signatures import ABSENT

STRICT = Device("strict", lambda: (strict, strict.empty_pinned))  # type: ignore[arg-type,return-value]
DEVICES.setdefault(STRICT.name, STRICT)

DEVICE = os.environ.get("TASKARR_TEST_DEVICE", "cpu")


def is_refused(name: str, text: str) -> bool:
    """Whether an error is a device's refusal of a dtype or function, not a wrong result."""
    absent = any(f"numpy.{function} is not available on device" in text for function in ABSENT)
    return (
        DEVICE != "cpu"
        and name in ("TypeError", "NotImplementedError")
        and ("can't live on device" in text or absent)
    )
