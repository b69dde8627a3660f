"""Peaks of whole programs, each in a process of its own: resident high water, pool included.

Where one rank runs, the allocation trace is looked at too; it counts what was never touched.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

MIB = 1 << 20
BUDGET = 32 * MIB
"""Memory of a rank in the loops, whose bricks of 1.3 MB are large enough for the pool."""

MEASURED = """
import json, sys, tracemalloc
import numpy as np
import taskarr
from scheduler import current


def status(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(name))


def measured(job, traced=False):
    '''Job run once to warm up; then how much its high water is above what there was before.'''
    before = status("VmRSS")
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    if traced:
        tracemalloc.start()
    value = job()
    mine = {"resident": status("VmHWM") - before}
    if traced:
        mine["traced"] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    every = current().allgather(mine, "the measurement")
    if taskarr.rank == 0:
        print(json.dumps([value, every]))


taskarr.arange(100.0).sum().numpy()
ranks = taskarr.size
"""


def peaks(folder, code, ranks=1, **environment):
    """What a program's job gave, each rank's peaks in bytes, and what went to stderr."""
    (folder / "job.py").write_text(MEASURED + code)
    command = [sys.executable, "-m", "taskarr.run", *(["-n", str(ranks)] if ranks > 1 else [])]
    done = subprocess.run(
        [*command, "job.py"],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    value, every = json.loads(done.stdout)
    assert len(every) == ranks
    return value, every, done.stderr


LOOPS = {
    "losses": "x = x * 0.5 + 1; losses.append(x.mean())",
    "losses of kept arrays": "x = (x * 0.5 + 1).persist(); losses.append(x.mean())",
    "distances": "x = x * 0.5 + 1; losses.append(((x - y) ** 2).mean() * 2)",
    "distances of kept arrays": (
        "x = (x * 0.5 + 1).persist(); losses.append(((x - y) ** 2).mean() * 2)"
    ),
    "new arrays": "x = taskarr.full(n, float(k)).persist(); losses.append(x.mean())",
    "arrays of the program": "losses.append(taskarr.asarray(np.full(n, float(k))).mean())",
    "in place": "x *= 0.5; x += 1",
    "out": "np.multiply(x, 0.5, out=x)",
    "views": "x[1:-1] = x[2:] * 0.5",
    "views and losses": "x[1:-1] = x[2:] * 0.5; losses.append(x.max())",
}
LOOP = """
n = 160_000 * ranks
x, y = (taskarr.full(n, v, split=0).persist() for v in (3.0, 5.0))


def turns(count):
    global x
    losses = []
    for k in range(count):
        {turn}
    return [float(loss) for loss in losses], float(x.sum())


turns(50)
measured(lambda: turns({turns}))
"""
CASES = [(1, name, 2000 if name in list(LOOPS)[:4] else 600) for name in LOOPS]
CASES += [(2, name, 200) for name in ("losses", "distances of kept arrays", "views and losses")]


@pytest.mark.parametrize(("ranks", "name", "turns"), CASES)
def test_loops_run_in_constant_memory(tmp_path, ranks, name, turns):
    code = LOOP.format(turn=LOOPS[name], turns=turns)
    (losses, _), every, errors = peaks(tmp_path, code, ranks, TASKARR_MEMORY=str(BUDGET))
    assert errors == ""
    assert len(losses) == ("losses" in LOOPS[name]) * turns
    assert max(rank["resident"] for rank in every) <= 12 * MIB


FILE = """
f = taskarr.load("large.npy")
limit = {rows} * 0.99


def job():
    found = [float(v) for v in taskarr.compute(f.mean(), f.std(), f.max())]
    rows = f[(f > limit).any(axis=1)]
    found += [len(rows), float(rows.min())]
    double = f * 2
    found += [float(double.sum()), float(double.min()), float((double + f).max())]
    return found


measured(job)
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_file_ten_times_the_budget_is_reduced_and_filtered_within_it(tmp_path, ranks):
    budget, rows = 20 * MIB // ranks, 10 * 20 * MIB // 64
    x = np.arange(float(rows))[:, None] + np.zeros(8)
    np.save(tmp_path / "large.npy", x)
    code = FILE.format(rows=rows)
    found, every, errors = peaks(tmp_path, code, ranks, TASKARR_MEMORY=str(budget))
    kept = x[x[:, 0] > rows * 0.99]
    expected = [x.mean(), x.std(), rows - 1, len(kept), kept.min(), 2 * x.sum(), 0, 3 * (rows - 1)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert max(rank["resident"] for rank in every) <= budget
    (hint,) = errors.splitlines()
    assert "multiply[3276800, 8] float64 at job.py:" in hint
    assert "is not kept" in hint


CONVERTED = """
f = taskarr.load("large.npy")


def scaled(x):
    return (x - x.mean(axis=0)) / x.std(axis=0)


def job():
    x = f.astype("f4") * 2
    found = [float(scaled(x).max()), float((x[1:] - x[:-1]).max())]
    found += [float(v) for v in taskarr.compute(abs(scaled(x)).mean(), (x / x.max()).min())]
    taskarr.save("scaled.npy", scaled(x))
    return found


measured(job)
"""


@pytest.mark.parametrize("ranks", [1, 2])
def test_what_is_made_of_a_large_file_is_made_again_rather_than_stored(tmp_path, ranks):
    budget, rows = 20 * MIB // ranks, 10 * 20 * MIB // 64
    x = np.arange(float(rows))[:, None] + np.zeros(8)
    np.save(tmp_path / "large.npy", x)
    found, every, _ = peaks(tmp_path, CONVERTED, ranks, TASKARR_MEMORY=str(budget))
    x = x[:, 0] * 2
    z = (x - x.mean()) / x.std()
    np.testing.assert_allclose(found, [z.max(), 2, abs(z).mean(), 0], rtol=1e-5)
    saved = np.load(tmp_path / "scaled.npy", mmap_mode="r")
    assert (saved.shape, saved.dtype) == ((rows, 8), np.float32)
    np.testing.assert_allclose(saved[:, 7], z, rtol=1e-4, atol=1e-4)
    assert max(rank["resident"] for rank in every) <= budget


BRICKS = {
    "chain": (1, "global r; r = (taskarr.sqrt(a * a + b * b) * 2 - 1).persist()"),
    "in place": (1, "np.multiply(a, 2, out=a); a.persist()"),
    "operator": (1, "global a; a -= 1; a.persist()"),
    "written": (1, "a[1:-1] = a[2:] * 2; a.persist()"),
    "turned": (1, "global r; r = a[::-1].copy().persist()"),
    "reduced": (0, "global r; r = float(((a - b) ** 2).mean() + (a * b).max())"),
    "filtered": (1.1, "global r; r = a[a > 0.5]"),
    "rarely filtered": (0.1, "global r; r = a[a > 0.99]"),
    "replaced": (
        1,
        "global a; a = (a * 2).persist(); a = (a + 1).persist(); a = (a / 3).persist()",
    ),
}
BRICK = 16_000_000
ONCE = """
n = 2_000_000 * ranks
a = (taskarr.arange(float(n), split=0) * 7919 % 1000 / 1000).persist()
b = taskarr.ones(n, split=0).persist()
taskarr.compute((a[:9] + b[:9]).sum())


def job():
    {code}


measured(job, traced=ranks == 1)
"""


@pytest.mark.parametrize(
    ("ranks", "name"), [*((1, name) for name in BRICKS), (2, "chain"), (2, "in place")]
)
def test_one_operation_takes_its_result_and_little_more(tmp_path, ranks, name):
    bricks, code = BRICKS[name]
    most = int(bricks * BRICK) + 5 * MIB
    reserved = BRICK if "filtered" in name else 0  # a filter's buffer, touched where it is filled
    _, every, errors = peaks(tmp_path, ONCE.format(code=code), ranks)
    assert errors == ""
    for rank in every:
        assert rank["resident"] <= most
        assert rank.get("traced", 0) <= most + reserved
