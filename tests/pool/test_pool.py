"""The pools of ranks, each case in a pytest of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]

CASES = """
    import os, signal, sys, time
    import pytest

    def test_here():
        assert "PMI_RANK" not in os.environ

    @pytest.mark.ranks(1, 2)
    def test_world(world, ranks):
        assert world.size == ranks
        assert world.allgather(world.rank, "the test") == list(range(ranks))

    @pytest.mark.ranks(2)
    def test_skipped(world):
        pytest.skip("not today")

    @pytest.mark.ranks(2)
    @pytest.mark.parametrize("x", ["a", "b"])
    def test_parametrised(world, x, tmp_path):
        assert x in "ab" and tmp_path.exists()
"""


def run(folder: Path, source: str, *options: str, **environment: str):
    """Run pytest on `source` in a folder of its own; return its output and exit status."""
    lines = source.splitlines()
    text = "\n".join(line.removeprefix("    ") for line in lines)
    (folder / "conftest.py").write_text('pytest_plugins = ["tests.pool.plugin"]\n')
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (folder / "test_cases.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *options, str(folder)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(CHECKOUT)} | environment,
        capture_output=True,
        text=True,
        timeout=100,
    )
    return done.stdout + done.stderr, done.returncode


def counts(output: str) -> dict[str, int]:
    last = output.strip().splitlines()[-1]
    return {
        word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped)", last)
    }


def test_marked_tests_run_on_ranks_and_others_here(tmp_path):
    output, status = run(tmp_path, CASES)
    assert status == 0, output
    assert counts(output) == {"passed": 5, "skipped": 1}


def test_the_environment_narrows_the_numbers_of_ranks(tmp_path):
    output, status = run(tmp_path, CASES, "-k", "world", TASKARR_TEST_RANKS="2")
    assert status == 0, output
    assert counts(output) == {"passed": 1}
    assert "test_world[n2]" in output


def test_a_failure_on_one_rank_shows_where_the_others_wait(tmp_path):
    source = """
    import pytest

    @pytest.mark.ranks(3)
    def test_one_fails(world):
        if world.rank == 1:
            assert "apples" == "pears"
        world.allgather(0, "the test")  # the others wait here

    @pytest.mark.ranks(3)
    def test_next(world):
        assert world.allgather(world.rank, "the test") == [0, 1, 2]
    """
    output, status = run(tmp_path, source)
    assert status == 1
    assert counts(output) == {"passed": 1, "failed": 1}
    assert "rank 1 of 3 failed in call" in output
    assert "'apples' == 'pears'" in output
    for rank in (0, 2):
        stack = output.partition(f"rank {rank} of 3 ")[2].partition("----\n")[2]
        assert 'test_cases.py", line 8 in test_one_fails' in stack.partition("\n----")[0]


def test_a_hang_fails_with_the_stack_of_every_rank(tmp_path):
    source = """
    import pytest, time

    @pytest.mark.ranks(2, timeout=1)
    def test_hangs(world):
        while True:
            time.sleep(0.01)
    """
    output, status = run(tmp_path, source)
    assert status == 1
    assert counts(output) == {"failed": 1}
    assert "rank 0, 1 of 2 did not answer" in output
    assert output.count("in test_hangs") >= 2


@pytest.mark.parametrize(
    "end",
    ["os.kill(os.getpid(), signal.SIGKILL)", "MPI.COMM_WORLD.Abort(3)"],
    ids=["kill", "abort"],
)
def test_the_end_of_a_rank_fails_one_test_only(tmp_path, end):
    source = f"""
    import os, signal
    import pytest
    MPI = pytest.importorskip('mpi4py.MPI')

    @pytest.mark.ranks(2)
    def test_dies(world):
        if world.rank == 1:
            {end}
        world.allgather(0, "the test")

    @pytest.mark.ranks(2)
    def test_next(world):
        assert world.allgather(world.rank, "the test") == [0, 1]
    """
    output, status = run(tmp_path, source)
    assert status == 1
    assert counts(output) == {"passed": 1, "failed": 1}
    assert re.search(r"rank [01, ]+ of 2 died", output)


def test_different_outcomes_are_a_failure(tmp_path):
    source = """
    import pytest

    @pytest.mark.ranks(2)
    def test_differs(world):
        if world.rank == 1:
            pytest.skip("only here")
    """
    output, status = run(tmp_path, source)
    assert status == 1
    assert "rank 1 of 2: passed skipped passed" in output


def test_an_unmarked_test_is_limited(tmp_path):
    source = """
    import pytest, time

    @pytest.mark.limit(0.2)
    def test_sleeps():
        time.sleep(50)

    def test_next(): ...
    """
    output, _ = run(tmp_path, source)
    assert counts(output) == {"passed": 1, "failed": 1}
    assert "took longer than 0.2 s" in output


def test_an_unmarked_test_has_no_world(tmp_path):
    output, status = run(tmp_path, "\n    def test_asks(world): ...")
    assert status == 1
    assert "only a test marked with" in output
