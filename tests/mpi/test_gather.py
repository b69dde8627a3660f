"""Gathers and scatters on real MPI ranks, by each transport."""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from tests.layouts import CUT, TINY, quiet
from tests.ops.test_gather import ROW, case, reading, values_of, writing
from tests.oracle import difference, on_these_ranks

pytestmark = pytest.mark.ranks(2, 3)


@pytest.mark.parametrize("shuffle", ["auto", "alltoallv", "pairwise", "pull"])
def test_rows_on_mpi_ranks(world, shuffle):
    checks = []
    for number, (shape, index, leading) in enumerate([((40, 3), (99,), 1), ((6, 8), (7, 5), 2)]):
        x, indices = case(number, shape, index, leading)
        v = values_of("each", x, indices)
        checks += [reading(x, indices), reading(x, indices, CUT[2])]
        checks += [writing(x, v, indices, (ROW, CUT[1]), f) for f in (None, np.add)]
    pairs = [(check, placing) for check in checks for placing in CUT[:2]]
    with quiet(), taskarr.settings(**TINY, shuffle=shuffle):
        found = on_these_ranks(world, *zip(*pairs, strict=True))
    wrong = [
        f"{check.label} [{placing}]: {fault}"
        for (check, placing), result in zip(pairs, found, strict=True)
        if (fault := difference(check, check.by_numpy(), result))
    ]
    assert not wrong, "\n".join(wrong)
    assert world.counters["alltoallv_bytes"] + world.counters["pairwise"] > 0
