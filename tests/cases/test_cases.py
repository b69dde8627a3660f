"""Reports of bugs in array libraries, each retold in a line of NumPy: right on real ranks.

``python tests/cases/cases.py taskarr --mpi 3`` prints them one by one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import taskarr
from tests.layouts import TINY

sys.path.insert(0, str(Path(__file__).parent))

import cases
import harness

pytestmark = pytest.mark.ranks(1, 2, 3)

LATER = {
    "B031": "concatenate",
    "B039": "sort",
    "B052": "unique",
    "B053": "median",
    "B054": "histogram",
    "B055": "bincount",
    "B056": "dot",
    "B057": "matmul",
}
"""Cases of functions that are not there yet."""


@pytest.mark.parametrize("number", [number for number, _ in cases.CASES])
def test_case(world, number):
    act = dict(cases.CASES)[number]
    options = cases.OPTIONS[number]
    if options.get("large"):
        pytest.skip("takes gigabytes")
    want = harness.run_one(act, harness.Namespace(np))
    with taskarr.settings(**{**TINY, "block": 32}):
        got = harness.run_one(act, harness.Namespace(taskarr))
        status, why = harness.judge(want, got, options.get("atol", 0.0), options.get("rtol"))
    if number in LATER:
        assert status in ("NOTIMPL", "MISSING"), f"{number} of LATER: {status} {why}"
    else:
        assert status == "PASS", f"{cases.INFO[number]}: {status} {why}"
