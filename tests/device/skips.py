"""Tests of what only the processor has: ``@pytest.mark.processor("why")``, skipped on a device."""

from __future__ import annotations

from typing import Any

import pytest

from tests.device.install import DEVICE


def pytest_configure(config: Any) -> None:
    config.addinivalue_line("markers", "processor(why): skipped where the suite runs on a device")


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Skip them where the suite runs on a device."""
    if DEVICE == "cpu":
        return
    for item in items:
        mark = item.get_closest_marker("processor")
        if mark is not None:
            item.add_marker(pytest.mark.skip(reason=f"of the processor: {mark.args[0]}"))
