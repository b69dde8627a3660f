"""A part of the suite on the stand-in for CuPy; ``TASKARR_TEST_DEVICE=strict pytest`` runs all."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.device.install import DEVICE, STRICT

ROOT = Path(__file__).parents[2]

FILES = [
    "device/test_arrays.py",
    "ops/test_functions.py",
    "ops/test_gather.py",
    "ops/test_lens.py",
    "ops/test_local.py",
    "ops/test_redistribute.py",
    "ops/test_scan.py",
    "ops/test_store.py",
    "ops/test_ufuncs.py",
    "test_arrays.py",
    "test_doctests.py",
    "test_pickle.py",
]
"""Files that use most kinds of steps and kernels, and take seconds."""


@pytest.mark.limit(400)
@pytest.mark.skipif(DEVICE != "cpu", reason="the whole suite runs on a device already")
def test_on_the_stand_in():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    done = subprocess.run(
        [*command, *[f"tests/{name}" for name in FILES]],
        cwd=ROOT,
        env={**os.environ, "TASKARR_TEST_DEVICE": STRICT.name},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    count = {word: int(n) for n, word in re.findall(r"(\d+) (passed|skipped)", done.stdout)}
    assert count.get("skipped", 0) * 20 < count["passed"], "devices do not lack so much"
