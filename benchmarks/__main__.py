"""``python -m benchmarks``: start a job for each case and number of ranks, print the table."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.case import Case
from benchmarks.cases import BY_NAME, CASES
from benchmarks.libraries import PEERS, chosen_peers
from benchmarks.report import Result, result_of, table
from taskarr.launch.environment import find_launcher, launched, launcher_environment
from taskarr.launch.threads import VARIABLES

CHECKOUT = Path(__file__).parents[1]

ROUNDS = 9

LIMIT = 1800.0
"""Seconds after which a job is ended."""


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Read the command line; exits with status 2 where it is wrong."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure taskarr against NumPy on one thread and the copy limit.",
        epilog="cases:\n" + "\n".join(f"  {case.name:14}{case.title}" for case in CASES),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("case", nargs="*", help="cases to run (default: all)")
    parser.add_argument("--ranks", type=_count, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument(
        "--rounds", type=_count, default=ROUNDS, help="after the cold one (default: 9)"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="times the elements (default: 1)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all readings to a file")
    parser.add_argument(
        "--peers",
        nargs="*",
        choices=[peer.name for peer in PEERS],
        help="other libraries to measure (default: those installed)",
    )
    found = parser.parse_args(arguments)
    unknown = [name for name in found.case if name not in BY_NAME]
    if unknown:
        parser.error(f"no case {unknown[0]!r}; there are {', '.join(BY_NAME)}")
    if not 0 < found.scale <= 100:
        parser.error(f"--scale {found.scale}: expected more than 0 and at most 100")
    if launched():
        parser.error("start this without mpiexec; it starts its own jobs")
    return found


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is not a positive number")
    return number


def job(case: Case, ranks: int, options: argparse.Namespace, peers: Sequence[str]) -> Any:
    """Run one case on some ranks in a job of its own; its readings, or None when it fails."""
    launcher = find_launcher()
    if launcher is None:
        sys.exit("benchmarks: there is no mpiexec; install an MPI library, as in taskarr[mpich]")
    environment = launcher_environment(os.environ) | dict.fromkeys(VARIABLES, "1")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "found.json"
        worker = [sys.executable, "-m", "benchmarks.worker", case.name]
        values = [str(options.rounds), str(options.scale), str(file), *peers]
        command = [launcher, "-n", str(ranks), *worker, *values]
        status = _finish(
            subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdin=subprocess.DEVNULL)
        )
        return json.loads(file.read_text()) if status == 0 and file.exists() else None


def _finish(process: subprocess.Popen[bytes]) -> int | None:
    """Wait for a job; end it, and through its launcher all ranks, when its time is over."""
    try:
        return process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        print(f"benchmarks: ended a job after {LIMIT:g} s", file=sys.stderr)
        return None
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(30)


def about(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the numbers depend on."""
    return {
        "rounds": options.rounds,
        "scale": options.scale,
        "cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": importlib.metadata.version("numpy"),
        "mpi4py": importlib.metadata.version("mpi4py"),
    }


def main(arguments: Sequence[str]) -> int:
    """Run what the command line asks for; 1 if a job has failed."""
    options = parse(arguments)
    cases = [BY_NAME[name] for name in options.case] or list(CASES)
    peers = [peer.name for peer in chosen_peers(options.peers)]
    results: list[Result] = []
    readings, failed = [], []
    for case in cases:
        for ranks in (n for n in options.ranks if n >= case.least_ranks):
            print(f"{case.name} on {ranks} ...", file=sys.stderr, flush=True)
            found = job(case, ranks, options, peers)
            if found is None:
                failed.append(f"{case.name} on {ranks}")
                continue
            results.append(result_of(case, ranks, found["seconds"]))
            readings.append(found)
    print(table(results, peers))
    for found in readings:
        for peer, reason in found["unable"].items():
            print(f"{found['case']} on {found['ranks']}: {peer} is unable ({reason})")
    if options.scale != 1:
        print(f"Sizes are scaled by {options.scale:g}; the targets are meant for 1.")
    if options.rounds < ROUNDS:
        print(f"{options.rounds} rounds are too few to judge by: take at least {ROUNDS}.")
    for name in failed:
        print(f"{name}: the job failed, see above")
    if options.json:
        data = {
            "about": about(options),
            "results": [result.as_data() for result in results],
            "readings": readings,
        }
        options.json.write_text(json.dumps(data, indent=1))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
