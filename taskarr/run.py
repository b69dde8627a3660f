"""The runner: ``mpiexec -n N python -m taskarr.run [options] job.py [arguments]``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from taskarr.launch import ending, environment, output, script
from taskarr.launch.threads import one_blas_thread

if TYPE_CHECKING:
    from scheduler.comm.world import World

__all__ = ["main"]

_BAD_USE = 2


class _Parser(argparse.ArgumentParser):
    """A parser whose complaint is one line, printed by rank 0."""

    def error(self, message: str) -> NoReturn:
        _refuse(message.removesuffix(", ..."))

    def print_help(self, file=None) -> None:
        if environment.told_rank() == 0:
            super().print_help(file)


def _complain(message: str) -> None:
    if environment.told_rank() == 0:
        os.write(2, f"taskarr.run: {message}\n".encode())


def _refuse(message: str) -> NoReturn:
    """End with status 2 and one line on rank 0."""
    _complain(message)
    sys.exit(_BAD_USE)


def _refuse_launcher(message: str) -> NoReturn:
    """End without the ordinary way, which would look for the other ranks."""
    _complain(message)
    os._exit(_BAD_USE)


def _positive(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"must be positive, not {text}")
    return number


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {text}")
    return number


def _parser() -> _Parser:
    parser = _Parser(
        prog="python -m taskarr.run",
        description="Run a script on every rank of an MPI job.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "-n", type=_count, metavar="N", help="start N ranks with this environment's mpiexec"
    )
    parser.add_argument(
        "--stdout",
        choices=("root", "all", "prefix"),
        default="root",
        help="whose standard output is shown: rank 0's (default), all ranks', or all with the "
        "rank in front of each line",
    )
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="write what every rank did: a page if FILE ends in .html, else Chrome's trace JSON",
    )
    parser.add_argument(
        "--timeout",
        type=_positive,
        metavar="S",
        help="seconds after which a wait for another rank is reported (TASKARR_TIMEOUT)",
    )
    parser.add_argument("script", metavar="job.py")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="...")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job that the command line asks for and return its exit status."""
    options = _parser().parse_args(argv)
    if trouble := script.check(options.script):
        _refuse(trouble)
    if options.n is not None:
        _start_ranks(options)
    if options.timeout is not None:
        os.environ["TASKARR_TIMEOUT"] = repr(options.timeout)
    if options.trace is not None and not Path(options.trace).absolute().parent.is_dir():
        _refuse(f"argument --trace: no folder for {options.trace!r}")
    one_blas_thread()
    world = _join()
    if options.timeout is not None:
        world.state["timeout"] = options.timeout
    output.redirect(world.rank, options.stdout)
    if options.trace is None:
        return _run(world, options)
    return _run_traced(world, options)


def _start_ranks(options: argparse.Namespace) -> NoReturn:
    """Replace this process by the launcher of ``options.n`` runners."""
    if environment.launched():
        _refuse("-n starts ranks, but mpiexec has started them already: leave one of the two out")
    launcher = environment.find_launcher()
    if launcher is None:
        _refuse(
            'found no mpiexec: install an MPI library, for example pip install "taskarr[mpich]"'
        )
    command = [launcher, "-n", str(options.n), sys.executable, "-m", "taskarr.run"]
    command += ["--stdout", options.stdout]
    if options.trace is not None:
        command += ["--trace", options.trace]
    if options.timeout is not None:
        command += ["--timeout", repr(options.timeout)]
    command += [options.script, *options.arguments]
    os.execve(launcher, command, environment.launcher_environment(os.environ))


def _join() -> World:
    """Return the world of all ranks, after a check that the launcher has made one."""
    from scheduler.comm import default_world

    if trouble := environment.check_launcher():
        _refuse_launcher(trouble)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "suspicious MPI", RuntimeWarning)  # said better below
        world = default_world()
    if trouble := environment.check_world(world.size):
        _refuse_launcher(trouble)
    return world


def _run(world: World, options: argparse.Namespace) -> int:
    code: object = None
    try:
        script.run(options.script, options.arguments)
    except SystemExit as stop:
        code = stop.code
    except BaseException as error:
        return ending.fail(world, error)
    return ending.leave(world, code)


def _run_traced(world: World, options: argparse.Namespace) -> int:
    """Run and, if all ranks have ended well, write what they did."""
    from scheduler.trace import Trace

    trace = Trace()
    world.observers.append(trace)
    status = _run(world, options)
    world.observers.remove(trace)
    if status == 0:
        whole = trace.gather(world)
        if world.rank == 0:
            write = whole.to_html if options.trace.endswith(".html") else whole.to_chrome
            write(options.trace)
    return status


if __name__ == "__main__":
    sys.exit(main())
