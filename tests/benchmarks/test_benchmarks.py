"""The benchmarks: one tiny case as a user starts it, what the cases compute, the verdicts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import parse
from benchmarks.case import Case, Target
from benchmarks.cases import BY_NAME, CASES
from benchmarks.libraries import NUMPY, PEERS, TASKARR
from benchmarks.report import COLUMNS, result_of, table, time_text
from scheduler import run_virtual
from scheduler.comm.default import LAUNCHERS

CHECKOUT = Path(__file__).parents[2]
TINY = 0.0001

DASK = next(peer for peer in PEERS if peer.name == "dask")
COMPUTING = [case for case in CASES if case.run is not None]
BY_DASK = [case for case in COMPUTING if case.run_of("dask") is not None]


def cells(line: str) -> list[str]:
    return [text.strip() for text in line.strip().strip("|").split("|")]


def close(found, expected):
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(x), y, rtol=1e-11, atol=1e-11)


class TestCommand:
    def test_prints_a_row_for_each_rank_count(self, tmp_path):
        file = tmp_path / "found.json"
        command = [sys.executable, "-m", "benchmarks", "sum", "--ranks", "1", "2"]
        options = ["--rounds", "2", "--scale", "0.001", "--peers", "--json", str(file)]
        process = subprocess.run(
            command + options,
            cwd=CHECKOUT,
            env={k: v for k, v in os.environ.items() if k not in LAUNCHERS},
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert process.returncode == 0, process.stderr
        header, rule, *rows = process.stdout.splitlines()[:4]
        assert cells(header) == list(COLUMNS)
        assert set(rule) == {"|", "-"}
        assert [cells(row)[:3] for row in rows] == [
            ["sum", "a.sum(), (1 M, 50)", "1"],
            ["sum", "a.sum(), (1 M, 50)", "2"],
        ]
        assert all(all(cells(row)) for row in rows)
        readings = json.loads(file.read_text())["readings"]
        assert [found["ranks"] for found in readings] == [1, 2]
        for found in readings:
            assert {name: len(times) for name, times in found["seconds"].items()} == {
                "numpy": 3,
                "copy": 3,
                "taskarr": 3,
            }

    @pytest.mark.parametrize(
        "arguments", [["apples"], ["--ranks", "0"], ["--rounds", "-1"], ["--scale", "0"]]
    )
    def test_a_wrong_argument_is_named(self, arguments, capsys):
        with pytest.raises(SystemExit) as ended:
            parse(arguments)
        assert ended.value.code == 2
        assert arguments[-1] in capsys.readouterr().err


class TestCases:
    def test_names_differ(self):
        assert len(BY_NAME) == len(CASES)

    @pytest.mark.parametrize("ranks", [1, 3])
    @pytest.mark.parametrize("case", COMPUTING, ids=lambda case: case.name)
    def test_taskarr_computes_what_numpy_does(self, case, ranks):
        arrays = case.make(TINY)
        own = [x.copy() for x in arrays]
        expected = NUMPY.prepared(case, own, 1)()

        def job(world):
            import taskarr

            with taskarr.settings(block=256, replicate=False):
                close(TASKARR.prepared(case, arrays, ranks)(), expected)
            return world.counters["sends"] + world.counters["alltoallv"]

        assert sum(run_virtual(ranks, job)) or ranks == 1 or case.name == "element"

    @pytest.mark.parametrize("case", BY_DASK, ids=lambda case: case.name)
    def test_dask_computes_what_numpy_does(self, case):
        dask = pytest.importorskip("dask")
        arrays = case.make(TINY)
        with dask.config.set(scheduler="threads", num_workers=1):  # restored afterwards
            found = DASK.prepared(case, arrays, 1)()
            close(dask.compute(*found), NUMPY.prepared(case, arrays, 1)())

    def test_redistribution_cuts_the_columns(self):
        case = BY_NAME["redistribute"]
        (a,) = case.make(TINY)

        def job(world):
            import taskarr

            with taskarr.settings(block=256, replicate=False):
                (found,) = TASKARR.prepared(case, (a,), 2)()
                assert found.split == (1,)
                np.testing.assert_array_equal(found.numpy(), a)

        run_virtual(2, job)

    def test_a_library_without_a_way_is_left_out(self):
        assert NUMPY.prepared(BY_NAME["redistribute"], (), 1) is None

    def test_traffic_counts_each_array_once(self):
        a, b = (np.ones((100, 4)) for _ in range(2))
        assert BY_NAME["sqrt"].traffic(a, b) == 3 * 3200
        assert BY_NAME["square-sum"].traffic(a, b) == 2 * 3200
        a[7, 2] = 4
        assert BY_NAME["filter"].traffic(a) == 3200 + 32


def result(target, ranks=1, **seconds):
    case = Case("x", "x", lambda scale: (), None, None, {1: target})
    return result_of(case, ranks, seconds)


class TestReport:
    def test_the_cold_round_stands_apart(self):
        row = result(Target("numpy", 0.6), numpy=[9, 4, 2], copy=[9, 1, 1], taskarr=[8, 1, 3])
        assert (row.numpy, row.taskarr, row.cold) == (2, 1, 8)
        assert row.to_numpy == 0.5
        assert row.verdict == "pass"

    def test_the_copy_limit_is_that_of_the_best_round(self):
        row = result(Target("numpy", 0.1), numpy=[9, 1, 1], copy=[9, 2, 1.5], taskarr=[9, 2.4, 3])
        assert (row.copy, row.to_copy) == (2, 1.2)
        assert row.verdict == "pass (copy limit)"

    @pytest.mark.parametrize(
        ("target", "verdict"),
        [
            (Target("numpy", 0.5), "fail"),
            (Target("copy", 1.6), "pass"),
            (Target("copy", 1.2), "fail"),
            (Target("seconds", 3.0), "pass"),
            (Target("seconds", 2.9), "fail"),
        ],
    )
    def test_verdicts(self, target, verdict):
        assert result(target, numpy=[1, 2], copy=[1, 2], taskarr=[1, 3]).verdict == verdict

    def test_no_target_for_these_ranks(self):
        row = result(Target("numpy", 0.5), ranks=5, numpy=[1, 2], taskarr=[1, 3])
        assert (row.verdict, row.copy, row.to_copy) == ("", None, None)

    def test_a_column_for_each_peer(self):
        row = result(Target("numpy", 0.5), numpy=[1, 2], taskarr=[1, 3], dask=[1, 4])
        header, _, line = table([row], ["dask", "heat"]).splitlines()
        assert cells(header) == [*COLUMNS, "dask", "heat"]
        assert cells(line)[-2:] == ["4.00 s", ""]

    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(None, ""), (1.5, "1.50 s"), (0.2, "200 ms"), (0.9999e-3, "1.00 ms"), (2e-7, "0.200 us")],
    )
    def test_times(self, seconds, text):
        assert time_text(seconds) == text
