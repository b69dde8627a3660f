"""Tests that say something of the processor only, by the end of their names, and why."""

from __future__ import annotations

from typing import Any

import pytest

from tests.device.install import DEVICE

ONLY_CPU = {
    "test_redistribute.py::test_any_transport[pull]": "messages stand in for pulling",
    "test_arrays.py::test_local_bricks_tile_the_array": "devices have no read-only arrays",
    "test_reductions_composed.py::test_reductions_of_the_users_own": "written with NumPy",
    "test_reductions_composed.py::test_two_of_the_users_own_in_one_world_differ": "with NumPy",
    "test_reshape.py::test_rows_stay_where_they_are": "looks at NumPy memory",
    "test_store.py::test_columns_are_read_by_their_owners": "looks at NumPy memory",
    "test_write.py::test_what_can_fail_on_data_fails_before_the_write": "text, among others",
}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    """Skip them where the suite runs on a device."""
    if DEVICE == "cpu":
        return
    for item in items:
        for name, why in ONLY_CPU.items():
            if item.nodeid.endswith(name) or f"{name}[" in item.nodeid:
                item.add_marker(pytest.mark.skip(reason=f"of the processor: {why}"))
