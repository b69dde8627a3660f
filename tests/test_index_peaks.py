"""Memory of keys, per rank, in fresh processes: shares of operands and result, bounded buffers."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.test_peaks import MEASURED

MIB = 1 << 20
ROWS = 400_000
"""Of a rank; a row has 64 bytes, so that an array takes 24 MiB of each rank."""

SHARE = ROWS * 64
INDEX = ROWS * 8

ENVIRONMENT = {"TASKARR_MEMORY": str(1 << 30), "MALLOC_MMAP_THRESHOLD_": str(1 << 16)}
"""Memory that is freed goes back to the system, so that what comes next is seen."""

BUFFERS = 32 * MIB
"""What a rank sends and gets at a time by ``Alltoallv``: 16 MiB each."""

PROGRAM = """
from taskarr.runtime import runtime

rows = {rows}
n = rows * ranks
pool = runtime(current()).backend.pool
rng = np.random.default_rng(1)
numbers = rng.integers(0, n, n)
a = (taskarr.arange(8.0 * n, split=0) * 1.0).reshape(n, 8).persist()
b = taskarr.zeros((n, 8), split=0).persist()
index = taskarr.asarray(numbers, split=0).persist()
row_zero = taskarr.zeros(n, dtype=int, split=0).persist()
row_mask = taskarr.asarray(numbers % 2 == 0, split=0, chunks=a.chunks[:1]).persist()
mask = (a % 3 == 0).persist()
del numbers


def write(a, key, values):
    a[key] = values
    return a.persist()


JOBS = {{
    "full mask": lambda: a[mask],
    "mask of rows": lambda: a[row_mask],
    "mask of rows beside a slice": lambda: a[row_mask, :7],
    "write by a mask": lambda: write(b, mask, 7.5),
    "gather": lambda: a[index].persist(),
    "sorted gather": lambda: a[index // 2].persist(),
    "skewed gather": lambda: a[row_zero].persist(),
    "scatter": lambda: write(b, index, a),
    "skewed scatter": lambda: write(b, row_zero, a),
}}
found = {{}}
for name, job in JOBS.items():
    job()
    pool.shrink(0)
    before = status("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    result = job()
    size = max(result.nbytes // ranks, result.local.nbytes if hasattr(result, "local") else 0)
    peak = status("VmHWM") - before
    del result
    found[name] = [peak, size]
every = current().allgather(found, "the measurement")
if taskarr.rank == 0:
    print(json.dumps(every))
"""


@pytest.fixture(scope="module", params=[1, 2, 4])
def measured(request, tmp_path_factory):
    """Number of ranks; for each of them and each job, its peak and the bytes of its result."""
    ranks = request.param
    folder = tmp_path_factory.mktemp("peaks")
    (folder / "job.py").write_text(MEASURED + PROGRAM.format(rows=ROWS))
    command = [sys.executable, "-m", "taskarr.run", *(["-n", str(ranks)] if ranks > 1 else [])]
    done = subprocess.run(
        [*command, "job.py"],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    every = json.loads(done.stdout)
    assert len(every) == ranks
    return ranks, every


def extra(measured, name: str) -> int:
    """Most bytes of a rank above its result."""
    return max(rank[name][0] - rank[name][1] for rank in measured[1])


@pytest.mark.parametrize("name", ["full mask", "mask of rows", "mask of rows beside a slice"])
def test_a_mask_takes_its_result(measured, name):
    for rank in measured[1]:
        peak, size = rank[name]
        assert 4 * MIB < size < SHARE
        assert peak <= 1.2 * size


def test_writing_by_a_mask_takes_a_copy(measured):
    assert extra(measured, "write by a mask") <= 4 * MIB


@pytest.mark.parametrize("name", ["gather", "sorted gather"])
def test_a_gather_takes_its_result_the_rows_of_others_and_numbers(measured, name):
    ranks, _ = measured
    others = SHARE * (ranks - 1) // ranks
    assert extra(measured, name) <= others + 3 * INDEX + BUFFERS * (ranks > 1) + 4 * MIB


def test_a_scatter_takes_a_copy_what_others_send_and_numbers(measured):
    ranks, _ = measured
    others = SHARE * (ranks - 1) // ranks
    assert extra(measured, "scatter") <= others + 4 * INDEX + BUFFERS * (ranks > 1) + 4 * MIB


@pytest.mark.parametrize("name", ["skewed gather", "skewed scatter"])
def test_a_crowd_around_one_row_costs_its_owner_nothing(measured, name):
    assert extra(measured, name) <= 4 * INDEX + BUFFERS
