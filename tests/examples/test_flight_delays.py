"""The flight example on 1 to 4 ranks against a plain NumPy version of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "flight_delays.py"
DATA = EXAMPLE.parent / "data" / "flights.npy"
MONTH, DAY, SCHEDULED, ARRIVAL, DISTANCE = 0, 1, 2, 4, 6
ROOM = 64 << 20
"""Bytes that a rank may need besides its share."""

# Runs the example and prints, for each rank, what it did.
MEASURED = """
import json, runpy, sys
import scheduler, taskarr, taskarr.evaluate

def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))

class Tasks(scheduler.Observer):
    count = 0
    def task(self, rank, name, start, end, step):
        self.count += 1

planned = 0
execute = taskarr.evaluate.execute

def counted(world, plan, *args, **options):
    global planned
    planned += sum(len(step.tasks) for step in plan.steps if hasattr(step, "tasks"))
    return execute(world, plan, *args, **options)

taskarr.evaluate.execute = counted
world, tasks = scheduler.current(), Tasks()
world.observers.append(tasks)
owned = taskarr.load(sys.argv[2]).local.shape[0]
world.counters.clear()
planned = tasks.count = 0
before = status("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
runpy.run_path(sys.argv[1], run_name="__main__")
counters = world.counters
mine = dict(
    owned=owned,
    tasks=tasks.count,
    planned=planned,
    read=counters["file_read_bytes"],
    written=counters["file_written_bytes"],
    received=counters["recv_bytes"],
    peak=status("VmHWM") - before,
)
found = world.allgather(mine, "the measurement")
if world.rank == 0:
    with open("measured.json", "w") as file:
        json.dump(found, file)
"""


def run(folder: Path, ranks: int, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "taskarr.run", "-n", str(ranks), *command],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def numbers(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", text)]


@pytest.fixture(scope="module")
def expected() -> tuple[list[float], np.ndarray]:
    """The numbers that the example prints, in order, and the rows that it saves."""
    table = np.load(DATA).astype(np.float64)
    flights = table[~np.isnan(table).any(axis=1)]
    found: list[float] = [len(flights), len(table)]
    mean, std = flights.mean(axis=0), flights.std(axis=0)
    for column in range(7):
        found += [len(flights), mean[column], std[column]]
    for month in range(1, 13):
        found += [month, flights[flights[:, MONTH] == month, ARRIVAL].mean()]
    limit = mean[ARRIVAL] + 3 * std[ARRIVAL]
    late = flights[flights[:, ARRIVAL] > limit]
    found += [len(late), limit]
    for row in late[np.argsort(-late[:, ARRIVAL], kind="stable")[:10]]:
        found += [2013, -row[MONTH], -row[DAY], row[SCHEDULED], row[ARRIVAL], row[DISTANCE]]
    return found, late


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_prints_and_saves_what_numpy_finds(tmp_path, expected, ranks):
    printed, late = expected
    out = run(tmp_path, ranks, str(EXAMPLE))
    np.testing.assert_allclose(numbers(out), printed, rtol=1e-12, atol=0)
    saved = np.load(tmp_path / "outliers.npy")
    assert saved.dtype == late.dtype
    np.testing.assert_array_equal(saved, late)


def test_prints_the_same_text_on_any_number_of_ranks(tmp_path):
    texts = {run(tmp_path, ranks, str(EXAMPLE)) for ranks in (1, 2, 3)}
    assert len(texts) == 1


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_rank_does_its_share(tmp_path, expected, ranks):
    (tmp_path / "measured.py").write_text(MEASURED)
    run(tmp_path, ranks, "measured.py", str(EXAMPLE), str(DATA))
    found = json.loads((tmp_path / "measured.json").read_text())
    table = np.load(DATA, mmap_mode="r")
    _, late = expected
    share = table.size * 8 / ranks

    assert len(found) == ranks
    assert all(rank["owned"] > 0 for rank in found)
    assert sum(rank["owned"] for rank in found) == len(table)
    assert all(rank["tasks"] == rank["planned"] > 0 for rank in found)
    assert sum(rank["read"] for rank in found) == table.nbytes
    assert max(rank["read"] for rank in found) <= 1.5 * table.nbytes / ranks
    assert sum(rank["written"] for rank in found) >= late.nbytes
    assert max(rank["written"] for rank in found) <= 1.2 * late.nbytes / ranks
    assert all(rank["peak"] <= share + ROOM for rank in found)


def test_the_trace_shows_tasks_on_every_rank(tmp_path):
    run(tmp_path, 4, "--trace", "trace.json", str(EXAMPLE))
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events if event.get("cat") == "task"} == {0, 1, 2, 3}
