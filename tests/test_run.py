"""The runner, as a user starts it: output, exceptions, exit statuses, threads."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scheduler.comm.default import LAUNCHERS
from taskarr.launch import environment
from taskarr.launch.threads import VARIABLES

ENDS = 10.0
"""Seconds in which all ranks must have ended after one has failed."""


def start(command: list[str], folder: Path, **variables: str) -> subprocess.Popen[str]:
    clean = {k: v for k, v in os.environ.items() if k not in (*VARIABLES, *LAUNCHERS)}
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env=clean | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def said(text: str) -> list[str]:
    """Return the lines that are not the launcher's own."""
    lines = [line.strip("\0") for line in text.splitlines()]
    return [line for line in lines if line.startswith(("[rank", "taskarr"))]


def python(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    with start(command, folder, **variables) as process:
        try:
            out, err = process.communicate(timeout=60)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def run(folder: Path, source: str, *options: str, arguments=(), **variables: str):
    """Run a job of the given source by the runner with these options."""
    (folder / "job.py").write_text(source)
    return python(["-m", "taskarr.run", *options, "job.py", *arguments], folder, **variables)


def launcher_version() -> str:
    command = [str(environment.find_launcher()), "--version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=20).stdout


def mpiexec(folder: Path, source: str, ranks: int):
    """Run a job of the given source by ``mpiexec python job.py``."""
    (folder / "job.py").write_text(source)
    launch = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
    launcher = environment.find_launcher()
    assert launcher is not None
    return python(
        ["-c", launch, launcher, "-n", str(ranks), sys.executable, "job.py"],
        folder,
        **environment.launcher_environment({}),
    )


JOB = """
from scheduler import default_world
world = default_world()
"""

WAIT = (
    JOB
    + """
import numpy as np
from scheduler.agreement import open_run
def compute():
    open_run(world, 17, 0, 1, lambda: ("sum", "job.py:7", ["sum"]))
"""
)


class TestScript:
    def test_is_main_with_its_own_arguments_and_path(self, tmp_path):
        (tmp_path / "beside.py").write_text("value = 5\n")
        source = """
import pickle, sys
from beside import value
class Point:
    pass
assert type(pickle.loads(pickle.dumps(Point()))) is Point
print(__name__, value, sys.argv, __file__, sys.modules["__main__"].Point is Point)
"""
        done = run(tmp_path, source, arguments=["a", "--stdout=all", "-n"])
        assert done.returncode == 0, done.stderr
        assert done.stdout.split(maxsplit=2)[:2] == ["__main__", "5"]
        assert "['job.py', 'a', '--stdout=all', '-n']" in done.stdout
        assert str(tmp_path / "job.py") in done.stdout
        assert done.stdout.endswith("True\n")

    def test_one_rank_needs_no_mpi(self, tmp_path):
        source = JOB + "import sys; print(world.size, 'mpi4py' in sys.modules)"
        assert run(tmp_path, source).stdout == "1 False\n"

    def test_n_starts_the_ranks(self, tmp_path):
        assert run(tmp_path, JOB + "print(world.size)", "-n", "3").stdout == "3\n"


class TestOutput:
    SOURCE = (
        JOB
        + """
import sys
world.allgather(0, "the job")
print("first")
sys.stdout.write("par"); sys.stdout.write("tial\\n")
sys.stdout.flush()
sys.stdout.buffer.write(b"bytes\\n")
print("trouble", file=sys.stderr)
assert sys.stdout.isatty() in (True, False) and sys.stdout.fileno() == 1
"""
    )

    def test_shows_rank_0_by_default(self, tmp_path):
        done = run(tmp_path, self.SOURCE, "-n", "2")
        assert done.stdout == "first\npartial\nbytes\n"
        assert sorted(said(done.stderr)) == ["[rank 0] trouble", "[rank 1] trouble"]

    def test_all(self, tmp_path):
        done = run(tmp_path, self.SOURCE, "-n", "2", "--stdout=all")
        assert sorted(done.stdout.splitlines()) == sorted(["first", "partial", "bytes"] * 2)

    def test_prefix(self, tmp_path):
        done = run(tmp_path, self.SOURCE, "-n", "2", "--stdout", "prefix")
        lines = [f"[rank {k}] {x}" for k in (0, 1) for x in ("first", "partial", "bytes")]
        assert sorted(done.stdout.splitlines()) == sorted(lines)

    def test_lines_of_different_ranks_do_not_mix(self, tmp_path):
        source = "import sys\nfor i in range(500): print(f'line {i}', 'x' * 200, file=sys.stderr)"
        done = run(tmp_path, source, "-n", "3")
        lines = done.stderr.splitlines()
        assert len(lines) == 1500
        assert all(re.fullmatch(r"\[rank [012]\] line \d+ x{200}", line) for line in lines)


class TestExceptions:
    @pytest.mark.parametrize("others", ["compute()", "while True: pass"], ids=["wait", "work"])
    def test_of_one_rank_ends_all(self, tmp_path, others):
        source = (
            WAIT
            + f"""
def inner():
    error = ValueError("apples")
    error.add_note("and pears")
    raise error from KeyError("cause")
if world.rank == 1:
    inner()
{others}
"""
        )
        begin = time.monotonic()
        done = run(tmp_path, source, "-n", "3")
        assert time.monotonic() - begin < ENDS
        assert done.returncode == 1
        lines = [x.removeprefix("[rank 1] ") for x in done.stderr.splitlines() if "[rank 1]" in x]
        assert "ValueError: apples" in lines
        assert "and pears" in lines
        assert "KeyError: 'cause'" in lines
        files = [line for line in lines if line.startswith("  File")]
        assert [line.split(", ", 1)[1] for line in files] == [
            "line 15, in <module>",
            "line 13, in inner",
        ]

    def test_of_all_ranks_is_shown_once(self, tmp_path):
        done = run(tmp_path, JOB + "import numpy\nnumpy.zeros(3).sum(axis=7)", "-n", "3")
        assert done.returncode == 1
        assert done.stderr.count("Traceback") == 1
        assert "[rank 0] (the same on all 3 ranks)" in done.stderr
        assert "runpy" not in done.stderr and "taskarr/" not in done.stderr

    def test_that_differ_are_all_shown(self, tmp_path):
        done = run(tmp_path, JOB + "raise ValueError(world.rank)", "-n", "3")
        assert done.returncode == 1
        for rank in range(3):
            assert f"[rank {rank}] ValueError: {rank}" in done.stderr

    def test_of_one_rank_alone(self, tmp_path):
        done = run(tmp_path, "1 / 0")
        assert done.returncode == 1
        assert done.stderr.splitlines()[-1] == "[rank 0] ZeroDivisionError: division by zero"

    def test_in_the_syntax(self, tmp_path):
        done = run(tmp_path, "x = (1", "-n", "2")
        assert done.returncode == 1
        assert done.stderr.count("SyntaxError: '(' was never closed") == 1

    def test_output_before_is_not_lost(self, tmp_path):
        source = WAIT + "print('before', end='')\nif world.rank == 0: 1 / 0\ncompute()"
        assert run(tmp_path, source, "-n", "2").stdout == "before"


class TestEnds:
    @pytest.mark.parametrize(
        ("call", "status"), [("sys.exit(4)", 4), ("sys.exit()", 0), ("sys.exit('words')", 1)]
    )
    @pytest.mark.parametrize("ranks", [1, 2])
    def test_status_of_all_ranks(self, tmp_path, call, status, ranks):
        done = run(tmp_path, f"import sys\n{call}", "-n", str(ranks))
        assert done.returncode == status
        assert said(done.stderr) == (["[rank 0] words"] if "words" in call else [])

    def test_status_of_one_rank_ends_all(self, tmp_path):
        source = WAIT + "import sys\nif world.rank == 1: sys.exit(5)\ncompute()"
        begin = time.monotonic()
        done = run(tmp_path, source, "-n", "2")
        assert done.returncode == 5
        assert time.monotonic() - begin < ENDS
        assert "[rank 1] ends the job with status 5" in done.stderr

    def test_a_rank_that_ends_early_is_named(self, tmp_path):
        begin = time.monotonic()
        done = run(tmp_path, WAIT + "if world.rank != 1: compute()", "-n", "3")
        assert done.returncode == 1
        assert time.monotonic() - begin < ENDS
        assert "rank 1 has ended (job.py finished)" in done.stderr
        assert "ranks 0, 2 wait in sum at job.py:7" in done.stderr

    def test_a_rank_that_ends_before_its_first_array_is_named(self, tmp_path):
        source = (
            "import taskarr as ta\nif ta.rank != 1:\n    ta.arange(1000.0, split=0).sum().numpy()\n"
        )
        for done in (run(tmp_path, source, "-n", "3"), mpiexec(tmp_path, source, 3)):
            assert done.returncode == 1
            assert "rank 1 has ended (job.py finished)" in done.stderr
            assert "ranks 0, 2 wait in the first array at job.py:3" in done.stderr

    @pytest.fixture
    def heard(self):
        """Interrupts are heard by processes started here, even if they are ignored by this one."""
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        yield
        signal.signal(signal.SIGINT, before)

    @pytest.mark.usefixtures("heard")
    @pytest.mark.parametrize("options", [(), ("-n", "2")], ids=["1 rank", "2 ranks"])
    def test_interrupt(self, tmp_path, options):
        (tmp_path / "job.py").write_text("import time\nprint('up', flush=True)\ntime.sleep(60)")
        with start(["-m", "taskarr.run", *options, "job.py"], tmp_path) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            time.sleep(0.3)
            os.killpg(process.pid, signal.SIGINT)
            _, err = process.communicate(timeout=ENDS)
        if options and "Open MPI" in launcher_version():
            assert process.returncode != 0  # Open MPI kills the ranks and has its own status
            return
        assert process.returncode == 130
        assert err.count("[rank 0] KeyboardInterrupt") == 1

    def test_a_killed_rank_ends_all(self, tmp_path):
        source = WAIT + "import os\nif world.rank == 1: os.kill(os.getpid(), 9)\ncompute()"
        begin = time.monotonic()
        assert run(tmp_path, source, "-n", "2").returncode != 0
        assert time.monotonic() - begin < ENDS


class TestWithoutTheRunner:
    """``mpiexec python job.py``: the hooks that ``import taskarr`` installs."""

    SOURCE = """
import sys
import taskarr
def compute():
    return float(taskarr.arange(10).sum())
assert compute() == 45
rank = taskarr.rank
"""

    def test_exception_of_one_rank(self, tmp_path):
        begin = time.monotonic()
        done = mpiexec(tmp_path, self.SOURCE + "if rank == 1: {}['key']\ncompute()", 3)
        assert done.returncode == 1
        assert time.monotonic() - begin < ENDS
        assert "[rank 1] KeyError: 'key'" in done.stderr

    def test_exception_before_mpi_has_started(self, tmp_path):
        first = """
import taskarr
from taskarr.launch.environment import told_rank
if told_rank() == 1:
    1 / 0
"""
        done = mpiexec(tmp_path, first + self.SOURCE, 2)
        assert done.returncode == 1
        assert "[rank 1] ZeroDivisionError" in done.stderr

    def test_status_of_one_rank(self, tmp_path):
        done = mpiexec(tmp_path, self.SOURCE + "if rank == 1: sys.exit(3)\ncompute()", 2)
        assert done.returncode == 3

    def test_status_of_all_ranks(self, tmp_path):
        assert mpiexec(tmp_path, self.SOURCE + "sys.exit(4)", 2).returncode == 4

    def test_a_rank_that_ends_early_is_named(self, tmp_path):
        done = mpiexec(tmp_path, self.SOURCE + "if rank == 1: compute()", 2)
        assert done.returncode == 1
        assert "rank 0 has ended (job.py finished) while rank 1 waits in" in done.stderr

    def test_a_good_end(self, tmp_path):
        done = mpiexec(tmp_path, self.SOURCE + "print('done')", 2)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.count("done") == 2


class TestBadUse:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ([], "job.py"),
            (["none.py"], "no script 'none.py'"),
            (["."], "'.' is a folder"),
            (["--fast", "job.py"], "unrecognized arguments: --fast"),
            (["--stdout=half", "job.py"], "invalid choice: 'half'"),
            (["-n", "0", "job.py"], "must be at least 1, not 0"),
            (["--timeout", "-2", "job.py"], "must be positive, not -2"),
        ],
    )
    def test_one_line_and_status_2(self, tmp_path, arguments, words):
        (tmp_path / "job.py").write_text("print('ran')")
        done = python(["-m", "taskarr.run", *arguments], tmp_path)
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert words in done.stderr

    def test_only_rank_0_complains(self, tmp_path):
        launcher = environment.find_launcher()
        launch = "import os, sys; os.execv(sys.argv[1], sys.argv[1:])"
        command = ["-c", launch, str(launcher), "-n", "3", sys.executable, "-m", "taskarr.run"]
        done = python([*command, "none.py"], tmp_path, **environment.launcher_environment({}))
        assert done.returncode == 2
        assert said(done.stderr) == ["taskarr.run: no script 'none.py'"]

    def test_a_launcher_of_another_mpi_is_explained(self, tmp_path):
        # What such a launcher does: it says "rank 0 of 4", and the library finds itself alone.
        done = run(tmp_path, "print('ran')", PMI_RANK="0", PMI_SIZE="4")
        assert done.returncode == 2
        assert done.stdout == ""
        assert len(done.stderr.splitlines()) == 1
        assert "4 processes" in done.stderr and str(environment.find_launcher()) in done.stderr


class TestThreads:
    SOURCE = """
import os, sys
import numpy
from threadpoolctl import threadpool_info
pools = {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
print(pools, os.environ.get("OMP_NUM_THREADS"))
"""

    def test_one_by_default(self, tmp_path):
        assert run(tmp_path, self.SOURCE).stdout == "{1} 1\n"

    @pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two cores")
    @pytest.mark.parametrize("name", VARIABLES[:2])
    def test_the_users_number_stays(self, tmp_path, name):
        assert run(tmp_path, self.SOURCE, **{name: "2"}).stdout.startswith("{2}")

    @pytest.mark.parametrize("first", ["import taskarr", "import numpy, taskarr"])
    def test_one_under_mpiexec(self, tmp_path, first):
        done = mpiexec(tmp_path, first + self.SOURCE, 2)
        assert done.stdout.count("{1}") == 2

    def test_importing_taskarr_imports_neither_numpy_nor_mpi(self, tmp_path):
        check = "import sys, taskarr; print({'numpy', 'mpi4py'} & set(sys.modules))"
        assert python(["-c", check], tmp_path).stdout == "set()\n"


def test_the_trace_is_written(tmp_path):
    import json

    done = run(tmp_path, JOB, "-n", "2", "--trace", "trace.json")
    assert done.returncode == 0, done.stderr
    assert "traceEvents" in json.loads((tmp_path / "trace.json").read_text())
