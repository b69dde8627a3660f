"""NumPy as the oracle: the same function of the same operands, by NumPy and on ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import taskarr
from tests.device.install import is_absent, is_held, is_refused
from tests.layouts import LAYOUTS, RANKS, Placing, on_ranks, quiet

BATCH = 24
"""Results that are computed in one run."""

WIDE = {"e": "d", "f": "d", "F": "D"}


@dataclass(frozen=True)
class Check:
    """A function of ``(xp, *operands)`` whose result must be NumPy's.

    Parameters
    ----------
    label
        For messages.
    act
        Called with `numpy` and arrays of NumPy, then with `taskarr` and its arrays.
    operands
        NumPy arrays to be distributed.
    exact
        Whether values must be equal, or as near as rounding lets them be.
    fixed
        Operands that the function gets as they are.
    """

    label: str
    act: Callable[..., Any]
    operands: tuple[np.ndarray, ...] = ()
    exact: bool = True
    fixed: tuple[Any, ...] = ()

    def by_numpy(self) -> Any:
        """Result or exception of NumPy."""
        with quiet():
            return attempt(lambda: self.act(np, *[x.copy() for x in self.operands], *self.fixed))

    def wide(self) -> Any:
        """What NumPy gives for operands of twice the precision."""
        operands = [x.astype(WIDE.get(x.dtype.char, x.dtype)) for x in self.operands]
        with quiet():
            return self.act(np, *operands, *self.fixed)


@dataclass(frozen=True)
class Raised:
    """An exception on a rank."""

    name: str
    text: str


def attempt(act: Callable[[], Any]) -> Any:
    """What a function gives, or the exception that it raises."""
    try:
        return act()
    except Exception as error:
        return error


def on_these_ranks(world: Any, checks: Sequence[Check], placings: Sequence[Placing]) -> list[Any]:
    """Results of all checks, as arrays or exceptions; part of a job."""
    found = [
        attempt(lambda c=check, p=placing: c.act(taskarr, *map(p.place, c.operands), *c.fixed))
        for check, placing in zip(checks, placings, strict=True)
    ]
    arrays = [k for k, x in enumerate(found) if isinstance(x, taskarr.Array)]
    for first in range(0, len(arrays), BATCH):
        part = arrays[first : first + BATCH]
        facts = [(found[k].shape, found[k].dtype) for k in part]
        values = attempt(lambda p=part: taskarr.compute(*[found[k] for k in p]))
        if isinstance(values, Exception):
            values = [attempt(found[k].numpy) for k in part]
        for k, value, fact in zip(part, values, facts, strict=True):
            if not isinstance(value, Exception) and (value.shape, value.dtype) != fact:
                value = AssertionError(f"{fact} was said, {value.shape}, {value.dtype} came")
            found[k] = value
    return [Raised(type(x).__name__, str(x)) if isinstance(x, Exception) else x for x in found]


def verify(
    checks: Iterable[Check | tuple[Check, Placing]],
    ranks: Sequence[int] = RANKS,
    placings: Sequence[Placing] = LAYOUTS[1:2],
    flow: bool = True,
) -> None:
    """Hold checks against NumPy on each number of ranks; messages must flow between them.

    A check without a placing is run in each of ``placings``.
    """
    pairs: list[tuple[Check, Placing]] = []
    for check in checks:
        pairs += [check] if isinstance(check, tuple) else [(check, p) for p in placings]
    todo, where = zip(*pairs, strict=True)
    expected = {id(check): check.by_numpy() for check in todo}
    wrong: list[str] = []
    first: list[Any] = []
    for n in ranks:
        ran = on_ranks(n, on_these_ranks, todo, where)
        refused = [x for x in ran.value if isinstance(x, Raised) and is_refused(x.name, x.text)]
        if n > 1 and flow and not refused:
            assert ran.flowed, f"no messages on {n} ranks"
        first = first or ran.value
        for check, placing, found, one in zip(todo, where, ran.value, first, strict=True):
            fault = difference(check, expected[id(check)], found)
            if not fault and isinstance(found, np.ndarray) and found.tobytes() != one.tobytes():
                fault = f"other bits than on {ranks[0]} ranks: {found!r}, {one!r}"
            if fault:
                wrong.append(f"{check.label} [{placing}] on {n} ranks: {fault}")
    assert not wrong, f"{len(wrong)} wrong:\n" + "\n".join(wrong[:12])


def difference(check: Check, expected: Any, found: Any) -> str:
    """What is wrong with a result; empty when nothing is."""
    if isinstance(found, Raised) and is_refused(found.name, found.text):
        meant = is_absent(found.text) or beyond_devices(check, expected)
        return "" if meant else f"refused a dtype that nobody gave: {found.text}"
    if isinstance(found, Raised) or isinstance(expected, Exception):
        if isinstance(found, Raised) and isinstance(expected, Exception):
            fits = found.name in (type(expected).__name__, "NotImplementedError")
            return "" if fits else f"raised {found!r}, NumPy {expected!r}"[:400]
        return f"gave {found!r}, NumPy {expected!r}"[:400]
    if not isinstance(found, np.ndarray):
        return "" if type(found) is type(expected) and found == expected else f"gave {found!r}"
    if isinstance(expected, np.generic):  # a scalar keeps neither byte order nor width
        native = found.dtype.newbyteorder("=")
        if expected.dtype == native or expected.dtype.kind == native.kind in "SU":
            expected = np.asarray(expected, found.dtype)
    expected = np.asarray(expected)
    if (found.shape, found.dtype) != (expected.shape, expected.dtype):
        return f"{found.dtype}{found.shape}, NumPy {expected.dtype}{expected.shape}"
    if equal(found, expected):
        return ""
    if check.exact or found.dtype.kind not in "fc" or not near(check, expected, found):
        return f"{found!r}, NumPy {expected!r}"[:400]
    return ""


def beyond_devices(check: Check, expected: Any) -> bool:
    """Whether operands or NumPy's result have a dtype that devices have not, or may have had one.

    What a test makes by itself, or an error of NumPy, is not seen.
    """
    given = (*check.operands, *check.fixed, expected)
    dtypes = [np.dtype(d) for x in given if (d := getattr(x, "dtype", None)) is not None]
    return isinstance(expected, Exception) or not all(map(is_held, dtypes))


def equal(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether all elements are equal, NaN and NaT among them."""
    if a.dtype.kind in "fcmM":
        return bool(np.array_equal(a, b, equal_nan=True))
    return bool(np.array_equal(a, b))


def near(check: Check, expected: np.ndarray, found: np.ndarray) -> bool:
    """Whether a result is as good as NumPy's: to 1e-12 in double precision, else within twice
    NumPy's own error and some units in the last place."""
    if found.dtype.char in "dD":
        return bool(np.allclose(found, expected, rtol=1e-12, atol=1e-300, equal_nan=True))
    truth = np.asarray(check.wide())
    with quiet():
        allowed = 2 * abs(expected - truth) + 4 * np.finfo(found.dtype).eps * abs(truth)
        good = (abs(found - truth) <= allowed) | (found == expected)
    return bool(np.all(good | (np.isnan(found) & np.isnan(expected))))


def outcome(act):
    """What a call gives, or the type of what it raises."""
    try:
        return act()
    except Exception as error:
        return type(error)
