"""Where joining parts of a running sum or product is not what one running value would have given.

A part of a scan is accumulated by itself and then joined to what stands before it. Numbers of
limited range lose something by that: in ``0, 1e200, 1e200`` the running product is 0, but the last
two alone are infinite, and ``0 * inf`` is NaN. So each part is looked at, and one that may be
spoiled is accumulated again, from the value before it.
"""

from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class Risk(NamedTuple):
    """What happened in a part: numbers were ``lost`` as too small, or ``grew`` beyond all."""

    lost: bool
    grew: bool


SAFE = Risk(False, False)


def is_at_risk(name: str, dtype: np.dtype) -> bool:
    """Whether parts have to be looked at: sums and products of floating-point numbers."""
    return name in ("add", "multiply") and dtype.kind in "fc"


def risk_of(name: str, xp: ModuleType, x: Any, y: Any) -> Risk:
    """Risk of a part, of shape (lead, n, inner): elements ``x`` that were accumulated to ``y``."""
    grew = not bool(xp.isfinite(y[:, -1]).all())
    if name == "add":
        return Risk(False, grew) if grew else SAFE
    small = xp.absolute(y) < np.finfo(y.dtype).tiny
    lost = bool(small.any())
    if lost:  # what a zero among the elements made zero is right
        zeros = xp.logical_or.accumulate(x == 0, axis=1)
        lost = bool((small & ~zeros).any())
    return Risk(lost, grew)


def spoils(name: str, xp: ModuleType, before: Any, risk: Risk) -> bool:
    """Whether a part must be accumulated again from the values before it."""
    if risk == SAFE:
        return False
    known = ~xp.isnan(before)
    if name == "add":
        return bool(known.any())
    spoilt = xp.zeros_like(known)
    if risk.lost:
        spoilt = spoilt | (before != 0)
    if risk.grew:
        spoilt = spoilt | ~xp.isinf(before)
    return bool((spoilt & known).any())
