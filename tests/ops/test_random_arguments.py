"""Arguments of random functions: NumPy's errors, shapes and dtypes; sizes that lie on the ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import taskarr
from tests.oracle import Check, outcome, verify

N = np.array([2, 3])


def rng():
    return taskarr.random.default_rng(1)


WRONG = [
    ("normal", (0, -1, 3), {}),
    ("normal", (0, -1), {}),
    ("normal", ("a",), {}),
    ("normal", (0, 1, 3, 4), {}),
    ("normal", (), {"dtype": "f4"}),
    ("normal", (0, 1, -1), {}),
    ("normal", (0, 1, 2.5), {}),
    ("normal", (0, [1, -1]), {}),
    ("normal", ([1, 2], 1, 3), {}),
    ("normal", ([1j, 2],), {}),
    ("uniform", (1, 0, 3), {}),
    ("uniform", ([1, 2], [3, 1]), {}),
    ("uniform", (0, np.inf, 3), {}),
    ("exponential", (-1, 2), {}),
    ("gamma", (-1.0, 1, 2), {}),
    ("beta", (0, 1, 2), {}),
    ("binomial", (3, 1.5, 2), {}),
    ("poisson", (-1, 2), {}),
    ("poisson", (), {"lam": 1, "size": 2, "axis": 1}),
    ("geometric", (0, 2), {}),
    ("gamma", (), {"size": 3}),
    ("integers", (5, 5, 2), {}),
    ("integers", (0, 257), {"dtype": "u1", "size": 3}),
    ("integers", (0, 5), {"dtype": "f8", "size": 3}),
    ("integers", (), {}),
    ("random", (3, "f2"), {}),
    ("choice", (0, 3), {}),
    ("choice", (3, 4, False), {}),
    ("choice", (3, -1), {}),
    ("choice", (2.5, 1), {}),
    ("choice", (3, 2), {"p": [0.5, 0.5]}),
    ("choice", (2, 2), {"p": [0.5, 0.6]}),
    ("choice", (2, 2), {"p": [1.5, -0.5]}),
    ("choice", ([], 2), {}),
    ("choice", ([1, 2], 2), {"axis": 1}),
    ("permutation", (2.5,), {}),
    ("permutation", ([1, 2],), {"axis": 1}),
    ("shuffle", (np.array(3),), {}),
    ("normal", (1j,), {}),
    ("normal", (1j, 1, 3), {}),
    ("uniform", (0, 1j), {}),
    ("exponential", (1j, 3), {}),
    ("poisson", (1j, 3), {}),
    ("binomial", (1j, 0.5), {}),
    ("choice", ([1, 2], 2), {"axis": -2}),
]
FINE = [
    ("normal", (0, 0, 3), {}),
    ("normal", (0, np.nan, 3), {}),
    ("normal", ([0, 1], 1, (3, 2)), {}),
    ("normal", ([[0], [1]], [1, 2]), {}),
    ("uniform", (2, 2, 3), {}),
    ("integers", (5,), {"size": (2, 2)}),
    ("integers", (0, 255), {"dtype": "u1", "size": 3, "endpoint": True}),
    ("integers", (0, 2), {"dtype": bool, "size": 3}),
    ("random", (3, "f4"), {}),
    ("standard_normal", (3, np.float32), {}),
    ("standard_gamma", (2, 3, "f4"), {}),
    ("standard_exponential", (3, "f8", "inv"), {}),
    ("choice", (0, 0), {}),
    ("choice", (5, (2, 3)), {}),
    ("choice", (["a", "bc"], 3), {}),
    ("choice", ([1.5, 2.5], 3), {"p": [0, 1]}),
    ("choice", (5, (2, 2), False), {"p": [0.1, 0.2, 0.3, 0.2, 0.2]}),
    ("permutation", (4,), {}),
    ("permutation", (-1,), {}),
    ("permutation", (True,), {}),
    ("permutation", ([3, 1, 2],), {}),
]


@pytest.mark.parametrize(("name", "args", "kwargs"), WRONG)
def test_errors_are_numpys(name, args, kwargs):
    ours = outcome(lambda: getattr(rng(), name)(*args, **kwargs))
    theirs = outcome(lambda: getattr(np.random.default_rng(), name)(*args, **kwargs))
    assert isinstance(ours, type)
    assert ours is theirs


@pytest.mark.parametrize(("name", "args", "kwargs"), FINE)
def test_shapes_and_dtypes_are_numpys(name, args, kwargs):
    ours = getattr(rng(), name)(*args, **kwargs).numpy()
    theirs = getattr(np.random.default_rng(), name)(*args, **kwargs)
    assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)


SIZED: dict[str, Any] = {
    "value": lambda g, n: g.normal(0, 1, n[0]),
    "by name": lambda g, n: g.normal(size=n[0]),
    "array": lambda g, n: g.normal(size=n),
    "random": lambda g, n: g.random(n),
    "integers": lambda g, n: g.integers(0, 5, n[1]),
    "exponential": lambda g, n: g.exponential(1.0, n),
    "tuple": lambda g, n: g.uniform(size=(n[0], 4)),
    "parameter": lambda g, n: g.binomial(n[0], 0.5, n[1]),
    "with arrays": lambda g, n: g.normal([1.0, 2, 3], size=n),
    "choice": lambda g, n: g.choice(5, n),
    "choice without replacement": lambda g, n: g.choice(n[1], n[0], replace=False),
    "permutation": lambda g, n: g.permutation(n[1]),
    "two axes": lambda g, n: g.normal(size=n.reshape(1, 2)),
    "fractions": lambda g, n: g.normal(size=n * 1.0),
    "fraction": lambda g, n: g.random(n[0] * 1.0),
    "negative": lambda g, n: g.random(-n[0]),
    "order of a value's array": lambda g, n: g.permutation(n[1:].reshape(())),
    "choice along no axis": lambda g, n: g.choice(n, axis=1),
    "shuffled value": lambda g, n: g.shuffle(n[0]),
    "shuffled array without axes": lambda g, n: g.shuffle(n[1:].reshape(())),
}


def test_sizes_may_be_distributed_values():
    checks = [
        Check(name, lambda xp, n, act: act(xp.random.default_rng(1), n).shape, (N,), fixed=(act,))
        for name, act in SIZED.items()
    ]
    verify(checks, ranks=(1, 3), flow=False)


def test_errors_of_distributed_parameters():
    scale = taskarr.asarray([1.0, -1.0, 2.0], split=0)
    with pytest.raises(ValueError, match="scale < 0"):
        rng().normal(0, scale)
    with pytest.raises(NotImplementedError, match=r"poisson.*lam"):
        rng().poisson(scale)
    with pytest.raises(NotImplementedError, match="scalar"):
        rng().integers([1, 2])
    with pytest.raises(TypeError, match="unexpected"):
        rng().permutation(3, axes=1)


@pytest.mark.parametrize("seed", [2**32, -1, [1, 2**32], [], [[1, 2]], 1.5, "a", np.float64(3)])
def test_shared_seeds_are_checked_as_numpys(seed):
    theirs = outcome(lambda: np.random.seed(seed))
    assert isinstance(theirs, type)
    assert outcome(lambda: taskarr.random.seed(seed)) is theirs


def test_legacy_functions_have_no_other_arguments():
    for random in (np.random, taskarr.random):
        for call in (
            lambda r: r.rand(3, dtype="f4"),
            lambda r: r.randn(3, dtype="f4"),
            lambda r: r.randint(1, 5, endpoint=True),
        ):
            with pytest.raises(TypeError):
                call(random)
