"""What the readings say: minima, ratios, pass or fail, and the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.case import COPY_LIMITS, Case, Target

COLUMNS = (
    "case",
    "computes",
    "n",
    "NumPy",
    "copy limit",
    "taskarr",
    "cold",
    "/ NumPy",
    "/ copy limit",
    "target",
    "verdict",
)

Readings = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Result:
    """One row: a case on some ranks. Times are seconds for one unit; None: was not measured.

    Parameters
    ----------
    numpy, taskarr
        Minima over the rounds after the cold one.
    copy
        The copy limit of the round in which taskarr had its minimum.
    cold
        taskarr's first round.
    peers
        Minima of the peers.
    """

    case: Case
    ranks: int
    numpy: float | None
    copy: float | None
    taskarr: float
    cold: float
    peers: dict[str, float]

    @property
    def to_numpy(self) -> float | None:
        """taskarr's time over NumPy's."""
        return self.taskarr / self.numpy if self.numpy else None

    @property
    def to_copy(self) -> float | None:
        """taskarr's time over the copy limit."""
        return self.taskarr / self.copy if self.copy else None

    @property
    def target(self) -> Target | None:
        """What this row should reach."""
        return self.case.targets.get(self.ranks)

    @property
    def verdict(self) -> str:
        """ "pass", "pass (copy limit)", "fail", or nothing without a target."""
        target = self.target
        if target is None:
            return ""
        reached = {"numpy": self.to_numpy, "copy": self.to_copy, "seconds": self.taskarr}
        value = reached[target.over]
        if value is not None and value <= target.most:
            return "pass"
        near = target.over == "numpy" and self.to_copy is not None and self.to_copy <= COPY_LIMITS
        return "pass (copy limit)" if near else "fail"

    def as_data(self) -> dict[str, Any]:
        """Return the row as plain data for JSON."""
        return {
            "case": self.case.name,
            "computes": self.case.title,
            "n": self.ranks,
            "numpy": self.numpy,
            "copy_limit": self.copy,
            "taskarr": self.taskarr,
            "cold": self.cold,
            "to_numpy": self.to_numpy,
            "to_copy_limit": self.to_copy,
            "target": target_text(self.target),
            "verdict": self.verdict,
            "peers": self.peers,
        }


def result_of(case: Case, ranks: int, seconds: Readings) -> Result:
    """Return the row of a job's readings, of which each list starts with the cold round."""
    cold, *warm = seconds["taskarr"]
    best = min(range(len(warm)), key=warm.__getitem__)
    minima = {name: min(times[1:]) for name, times in seconds.items()}
    return Result(
        case,
        ranks,
        minima.pop("numpy", None),
        seconds["copy"][1 + best] if minima.pop("copy", None) is not None else None,
        minima.pop("taskarr"),
        cold,
        minima,
    )


def time_text(seconds: float | None) -> str:
    """Return a time with three digits and its unit.

    >>> time_text(0.01234), time_text(2.5e-6), time_text(None)
    ('12.3 ms', '2.50 us', '')
    """
    if seconds is None:
        return ""
    scale, unit = next(
        ((scale, unit) for scale, unit in ((1.0, "s"), (1e-3, "ms")) if seconds >= 0.9995 * scale),
        (1e-6, "us"),
    )
    return f"{seconds / scale:#.3g} {unit}".replace(". ", " ")


def ratio_text(ratio: float | None) -> str:
    """Return a ratio with two decimals."""
    return "" if ratio is None else f"{ratio:.2f}"


def target_text(target: Target | None) -> str:
    """Return a target in the words of the table."""
    if target is None:
        return ""
    if target.over == "seconds":
        return f"<= {time_text(target.most)}"
    return f"<= {target.most} x {'NumPy' if target.over == 'numpy' else 'copy'}"


def cells(result: Result, peers: Sequence[str]) -> list[str]:
    """Return the texts of one row."""
    return [
        result.case.name,
        result.case.title,
        str(result.ranks),
        time_text(result.numpy),
        time_text(result.copy),
        time_text(result.taskarr),
        time_text(result.cold),
        ratio_text(result.to_numpy),
        ratio_text(result.to_copy),
        target_text(result.target),
        result.verdict,
        *(time_text(result.peers.get(peer)) for peer in peers),
    ]


def table(results: Sequence[Result], peers: Sequence[str]) -> str:
    """Return the results as an aligned Markdown table with a column for each peer."""
    rows = [[*COLUMNS, *peers], *(cells(result, peers) for result in results)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([lines[0], rule, *lines[1:]])
