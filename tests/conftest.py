"""Set up the suite: the pools of ranks, time limits, hypothesis; subprocesses see the checkout."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import settings

from taskarr.launch.threads import one_blas_thread

pytest_plugins = ["tests.pool.plugin", "tests.device.skips"]

_CHECKOUT = str(Path(__file__).parents[1])

os.environ["PYTHONPATH"] = os.pathsep.join(
    [_CHECKOUT, *filter(None, [os.environ.get("PYTHONPATH")])]
)
os.environ.setdefault("TASKARR_CHECK", "1")
one_blas_thread()

# The same examples on every rank and in every run; no files in the checkout.
settings.register_profile("suite", derandomize=True, database=None, deadline=None)
settings.load_profile("suite")
