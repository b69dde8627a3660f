"""Whether an MPI library takes pointers to the memory of a GPU: asked, never tried.

The standard's way is the info key ``mpi_memory_alloc_kinds`` (MPI 4.1, section 11.4.3); before it
Open MPI and MPICH had functions of their own.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

__all__ = ["loaded_library", "says_so"]

_KINDS = ("cuda", "rocm", "level_zero")
_QUERIES = ("MPIX_Query_cuda_support", "MPIX_Query_rocm_support", "MPIX_Query_hip_support")
_MAPS = Path("/proc/self/maps")


def says_so(kinds: str, library: Any) -> bool:
    """Return whether a library has support for GPUs, and it is on.

    Parameters
    ----------
    kinds : str
        Value of ``mpi_memory_alloc_kinds``: ``"mpi,system,cuda:device"``, for example.
    library : ctypes.CDLL or None
        The library, to be asked if `kinds` does not tell.

    Examples
    --------
    >>> says_so("mpi,system", None), says_so("mpi,system,cuda:device", None)
    (False, True)
    """
    named = [kind.partition(":")[0].strip() for kind in kinds.split(",")]
    if any(kind in _KINDS for kind in named):
        return True
    return any(bool(getattr(library, name)()) for name in _QUERIES if hasattr(library, name))


def loaded_library() -> ctypes.CDLL | None:
    """Return the MPI library of this process, which mpi4py loads out of sight, or None."""
    if not _MAPS.exists():
        return None
    paths = re.findall(r"(/\S*/libmpi(?:ch|_cray\w*)?\.so\S*)", _MAPS.read_text())
    return ctypes.CDLL(paths[0]) if paths else None
