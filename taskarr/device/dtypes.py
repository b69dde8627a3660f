"""Which dtypes lie on devices, and on which device the result of an operation lies."""

from typing import Any

import numpy as np

from taskarr.backend import CPU

DTYPES = "?bhilqBHILQefdFD"
"""Codes of the dtypes that devices compute with."""


def check_dtype(dtype: np.dtype, device: str) -> None:
    """Raise TypeError for a dtype that a device does not compute with."""
    if device != CPU and (dtype.char not in DTYPES or not dtype.isnative):
        raise TypeError(
            f"dtype {dtype} can't live on device {device!r}, which holds numbers and bool in this "
            "machine's byte order; keep the array on the processor with device='cpu', or bring it "
            "there with taskarr.to_device(x, 'cpu')"
        )


def common_device(inputs: Any) -> str | None:
    """Device of nodes that meet in an operation; None if none of them is bound to one.

    Raises
    ------
    TypeError
        When they lie on two devices.
    """
    found: str | None = None
    for x in inputs:
        if x.device is None or x.device == found:
            continue
        if found is not None and x.world is inputs[0].world:  # else there is a graver error
            raise TypeError(
                f"arrays on two devices in one expression: {found!r} and {x.device!r} (made at "
                f"{x.line}); bring one to the other with taskarr.to_device(x, {found!r})"
            )
        found = x.device
    return found
