"""One BLAS thread a rank, since every core has a rank of its own."""

from __future__ import annotations

import importlib.util
import os
import sys

__all__ = ["VARIABLES", "one_blas_thread"]

VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
"""What the BLAS libraries read when they are loaded; the first counts for all of them."""


def one_blas_thread() -> None:
    """Limit BLAS to one thread, unless the user set a number of threads.

    Before NumPy is loaded this sets `VARIABLES`; afterwards it needs the package
    ``threadpoolctl`` and does nothing without it. The user's ``OMP_NUM_THREADS`` counts for
    all libraries, the other variables for their own.
    """
    if VARIABLES[0] in os.environ:
        return
    chosen = [name for name in VARIABLES if name in os.environ]
    for name in VARIABLES:
        os.environ.setdefault(name, "1")
    if "numpy" in sys.modules and not chosen and importlib.util.find_spec("threadpoolctl"):
        from threadpoolctl import threadpool_limits

        threadpool_limits(1, user_api="blas")
