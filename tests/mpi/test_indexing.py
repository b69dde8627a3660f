"""Random chains of keys on real MPI ranks, by each transport; many more run on virtual ranks."""

from __future__ import annotations

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import taskarr
from tests.indexing import chains, play
from tests.layouts import TINY, quiet
from tests.test_indexing import fault, job

pytestmark = pytest.mark.ranks(2, 3)

EXAMPLES = int(os.environ.get("TASKARR_FUZZ_MPI", "150"))


@pytest.mark.parametrize("shuffle", ["auto", "pairwise"])
def test_chains_of_keys(world, shuffle):
    before = moved(world)

    @settings(max_examples=EXAMPLES // 2, suppress_health_check=list(HealthCheck))
    @given(chain=chains())
    def hold(chain):
        with quiet():
            expected, errors = play(np, *chain)
            with taskarr.settings(**TINY, shuffle=shuffle):
                found, raised = job(world, *chain)
        assert raised == errors
        for number, (x, y) in enumerate(zip(found, expected, strict=True)):
            assert not (text := fault(x, y)), f"array {number}: {text}"

    hold()
    assert moved(world) > before


def moved(world):
    """Messages and bytes that this rank has sent."""
    return sum(world.counters[name] for name in ("sends", "alltoallv_bytes", "pairwise"))
