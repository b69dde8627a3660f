"""The distributions of NumPy's generator: parameters, and which of them may be arrays and how."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from taskarr.expr import Expr
from taskarr.ops.elementwise import apply

REQUIRED = object()
"""Default value of a parameter that has none."""


@dataclass(frozen=True, slots=True)
class Form:
    """How values of a distribution come from standard ones.

    Parameters
    ----------
    standard
        Method that draws the standard values.
    make
        From these, and the parameters behind those of the standard, to the values.
    spread
        From these parameters to what NumPy wants to be positive.
    """

    standard: str
    make: Callable[..., Any]
    spread: Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Distribution:
    """A distribution that NumPy's generator has a method for.

    Parameters
    ----------
    name
        Of the method.
    parameters
        Names and default values, `REQUIRED` for none.
    form
        Where some parameters may be arrays: how.
    options
        Names and default values of what stands behind ``size``.
    """

    name: str
    parameters: Mapping[str, Any]
    form: Form | None = None
    options: Mapping[str, Any] | None = None


def _add(x: Expr, y: Any) -> Expr:
    return x if _is(y, 0) else apply("add", [x, y])


def _times(x: Expr, y: Any) -> Expr:
    return x if _is(y, 1) else apply("multiply", [x, y])


def _minus(x: Any, y: Any) -> Any:
    if isinstance(x, Expr) or isinstance(y, Expr):
        return apply("subtract", [x, y])
    return np.subtract(x, y)[()]


def _is(x: Any, value: int) -> bool:
    return not isinstance(x, Expr | np.ndarray) and bool(x == value)


def _affine(standard: str) -> Form:
    return Form(standard, lambda z, loc, scale: _add(_times(z, scale), loc), lambda _, scale: scale)


def _scaled(standard: str) -> Form:
    return Form(standard, _times, lambda scale: scale)


def _exponent(z: Expr, mean: Any, sigma: Any) -> Expr:
    return apply("exp", [_add(_times(z, sigma), mean)])


UNIFORM = Form(
    "random",
    lambda z, low, high: _add(_times(z, _minus(high, low)), low),
    lambda low, high: _minus(high, low),
)
LOGNORMAL = Form("standard_normal", _exponent, lambda _, sigma: sigma)
TYPED = {"dtype": np.float64, "out": None}
LOCATED = {"loc": 0.0, "scale": 1.0}
SCALED = {"scale": 1.0}


def _needed(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, REQUIRED)


_ROWS = (
    Distribution("random", {}, None, TYPED),
    Distribution("standard_normal", {}, None, TYPED),
    Distribution(
        "standard_exponential", {}, None, {"dtype": np.float64, "method": "zig", "out": None}
    ),
    Distribution("standard_gamma", _needed("shape"), None, TYPED),
    Distribution("standard_cauchy", {}),
    Distribution("standard_t", _needed("df")),
    Distribution("uniform", {"low": 0.0, "high": 1.0}, UNIFORM),
    Distribution("normal", LOCATED, _affine("standard_normal")),
    Distribution("lognormal", {"mean": 0.0, "sigma": 1.0}, LOGNORMAL),
    Distribution("exponential", SCALED, _scaled("standard_exponential")),
    Distribution("gamma", {"shape": REQUIRED, "scale": 1.0}, _scaled("standard_gamma")),
    Distribution("laplace", LOCATED, _affine("laplace")),
    Distribution("logistic", LOCATED, _affine("logistic")),
    Distribution("gumbel", LOCATED, _affine("gumbel")),
    Distribution("rayleigh", SCALED, _scaled("rayleigh")),
    Distribution("beta", _needed("a", "b")),
    Distribution("binomial", _needed("n", "p")),
    Distribution("chisquare", _needed("df")),
    Distribution("f", _needed("dfnum", "dfden")),
    Distribution("geometric", _needed("p")),
    Distribution("hypergeometric", _needed("ngood", "nbad", "nsample")),
    Distribution("logseries", _needed("p")),
    Distribution("negative_binomial", _needed("n", "p")),
    Distribution("noncentral_chisquare", _needed("df", "nonc")),
    Distribution("noncentral_f", _needed("dfnum", "dfden", "nonc")),
    Distribution("pareto", _needed("a")),
    Distribution("poisson", {"lam": 1.0}),
    Distribution("power", _needed("a")),
    Distribution("triangular", _needed("left", "mode", "right")),
    Distribution("vonmises", _needed("mu", "kappa")),
    Distribution("wald", _needed("mean", "scale")),
    Distribution("weibull", _needed("a")),
    Distribution("zipf", _needed("a")),
    Distribution(
        "integers",
        {"low": REQUIRED, "high": None},
        None,
        {"dtype": np.int64, "endpoint": False},
    ),
)

DISTRIBUTIONS: dict[str, Distribution] = {row.name: row for row in _ROWS}
"""Distributions by the name of the method."""
