"""Random programs on real MPI ranks; `tests/test_fuzz.py` runs many more on virtual ones."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import taskarr
from tests.layouts import TINY, quiet
from tests.programs import makes, steps
from tests.test_fuzz import close, grain_of, job, play, scale_of

pytestmark = pytest.mark.ranks(2, 3)

EXAMPLES = int(os.environ.get("TASKARR_FUZZ_MPI", "150"))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(
    first=st.lists(makes, min_size=1, max_size=2),
    rest=st.lists(steps, min_size=2, max_size=6),
)
def test_programs(world, first, rest):
    program = [*first, *rest]
    with quiet():
        expected, errors = play(np, program)
        with taskarr.settings(**TINY):
            found, raised = job(world, program)
    assert raised == errors
    expected = [np.asarray(x) for x in expected]
    scale, eps = scale_of(expected), grain_of(expected)
    for number, (x, y) in enumerate(zip(found, expected, strict=True)):
        assert close(x, y, scale, eps), f"variable {number}: {x!r}, NumPy {y!r}"


def test_data_moved(world):
    assert world.counters["sends"] + world.counters["alltoallv_bytes"] > 0
