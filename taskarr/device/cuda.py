"""NVIDIA's GPUs by CuPy; the only module that imports it."""

from collections.abc import Callable
from types import ModuleType

import numpy as np

from taskarr.device.memory import Device

OLDEST = 14
"""First version of CuPy whose results have NumPy 2's dtypes."""


def _load() -> tuple[ModuleType, Callable[..., np.ndarray]]:
    """CuPy, and its pinned memory."""
    try:
        import cupy
        import cupyx
    except ImportError as error:
        raise ImportError(
            f"device='cuda' needs CuPy {OLDEST} ({error}): "
            'pip install "taskarr[cuda12]" or "taskarr[cuda13]"'
        ) from error
    if int(cupy.__version__.split(".")[0]) < OLDEST:
        raise ImportError(
            f"device='cuda' needs CuPy {OLDEST}, not {cupy.__version__}: older ones give other "
            "dtypes than NumPy 2"
        )
    return cupy, cupyx.empty_pinned


CUDA = Device("cuda", _load)
"""CUDA devices."""
