"""Random numbers hold to their distributions, and streams know nothing of each other.

Seeds are fixed, so nothing here depends on luck; limits are about four and a half standard
deviations, or one chance in 100,000.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import taskarr
from taskarr.kernel.random import Streams, shuffled
from taskarr.ops.distributions import DISTRIBUTIONS
from tests.layouts import TINY

N = 60_000
ARGUMENTS = {
    "random": (),
    "uniform": (-2, 5),
    "normal": (3, 2),
    "standard_normal": (),
    "lognormal": (0.5, 0.3),
    "standard_exponential": (),
    "exponential": (2.5,),
    "standard_gamma": (0.7,),
    "gamma": (2.5, 3),
    "beta": (0.5, 2),
    "binomial": (20, 0.3),
    "poisson": (4.5,),
    "geometric": (0.2,),
    "chisquare": (3,),
    "laplace": (1, 2),
    "logistic": (1, 2),
    "gumbel": (1, 2),
    "rayleigh": (2,),
    "weibull": (1.5,),
    "pareto": (3,),
    "power": (2,),
    "triangular": (0, 1, 4),
    "vonmises": (1, 2),
    "wald": (1, 2),
    "zipf": (3,),
    "standard_t": (4,),
    "standard_cauchy": (),
    "f": (4, 7),
    "logseries": (0.6,),
    "negative_binomial": (3, 0.4),
    "hypergeometric": (10, 15, 8),
    "noncentral_chisquare": (3, 1.5),
    "noncentral_f": (4, 7, 1.5),
    "integers": (-3, 9),
}
MOMENTS = {  # mean and variance
    "random": (0.5, 1 / 12),
    "uniform": (1.5, 49 / 12),
    "normal": (3, 4),
    "standard_normal": (0, 1),
    "exponential": (2.5, 6.25),
    "gamma": (7.5, 22.5),
    "beta": (0.2, 0.16 / 3.5),
    "binomial": (6, 4.2),
    "poisson": (4.5, 4.5),
    "geometric": (5, 20),
    "chisquare": (3, 6),
    "laplace": (1, 8),
    "integers": (2.5, 143 / 12),
}


def split_distance(a: np.ndarray, b: np.ndarray) -> float:
    """Kolmogorov and Smirnov's statistic of two samples, times the root of their mean size."""
    points = np.unique(np.concatenate((a, b)))
    below = [np.searchsorted(np.sort(x), points, "right") / x.size for x in (a, b)]
    return float(abs(below[0] - below[1]).max()) * math.sqrt(a.size * b.size / (a.size + b.size))


def chi_square(counts: np.ndarray, expected: np.ndarray | float) -> float:
    """Standard deviations by which Pearson's statistic exceeds its mean."""
    counts = np.asarray(counts, float)
    freedom = counts.size - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / math.sqrt(2 * freedom))


def blocks_of(call: int, blocks: int, length: int, key: int = 9) -> np.ndarray:
    """Uniform numbers of the first tiles of neighbouring blocks."""
    streams = Streams(key)
    first = (streams.begin(streams.beginnings(call, block, 1)[0]) for block in range(blocks))
    return np.array([generator.random(length) for generator in first])


def test_all_distributions_are_tested():
    assert set(ARGUMENTS) == set(DISTRIBUTIONS)


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_distribution_is_numpys(name):
    rng = taskarr.random.default_rng(11)
    with taskarr.settings(**{**TINY, "block": 32 << 10}):
        found = getattr(rng, name)(*ARGUMENTS[name], size=N).numpy()
    expected = getattr(np.random.default_rng(12), name)(*ARGUMENTS[name], size=N)
    assert found.dtype == expected.dtype
    assert split_distance(found, expected) < 2.5  # one chance in 130,000


@pytest.mark.parametrize("name", sorted(MOMENTS))
def test_mean_and_variance(name):
    mean, variance = MOMENTS[name]
    x = getattr(taskarr.random.default_rng(5), name)(*ARGUMENTS[name], size=N).numpy()
    assert abs(x.mean() - mean) < 4.5 * math.sqrt(variance / N)
    spread = math.sqrt(((x - mean) ** 4).mean() - variance**2)
    assert abs(((x - mean) ** 2).mean() - variance) < 4.5 * spread / math.sqrt(N)


def test_normal_of_narrow_floats_and_of_array_parameters():
    rng = taskarr.random.default_rng(3)
    loc, scale = np.array([[0.0], [10.0]]), np.array([1.0, 2.0, 5.0])
    x = (rng.normal(loc, scale, size=(20_000, 2, 3)).numpy() - loc) / scale
    assert (abs(x.mean(0)) < 4.5 / math.sqrt(20_000)).all()
    assert (abs(x.std(0) - 1) < 4.5 / math.sqrt(40_000)).all()
    narrow = rng.standard_normal(N, dtype="f4").numpy().astype(float)
    assert split_distance(narrow, np.random.default_rng(1).standard_normal(N)) < 2.5


def test_normal_against_its_integral():
    x = np.sort(taskarr.random.default_rng(8).normal(size=N).numpy())
    exact = np.array([0.5 * (1 + math.erf(v / math.sqrt(2))) for v in x])
    steps = np.arange(N + 1) / N
    assert max((exact - steps[:-1]).max(), (steps[1:] - exact).max()) * math.sqrt(N) < 2.5


def test_neighbouring_blocks_do_not_correlate():
    x = blocks_of(0, 160, 4000)
    matrix = np.corrcoef(x)[np.triu_indices(160, 1)] * math.sqrt(4000)
    assert abs(matrix).max() < 5.3
    assert abs((matrix**2).sum() - matrix.size) < 4.5 * math.sqrt(2 * matrix.size)


def test_calls_and_seeds_do_not_correlate():
    calls = np.array([blocks_of(call, 1, 4000)[0] for call in range(60)])
    seeds = [taskarr.random.default_rng(s).random(4000).numpy() for s in range(60)]
    for x in (calls, np.array(seeds)):
        matrix = np.corrcoef(x)[np.triu_indices(60, 1)] * math.sqrt(4000)
        assert abs((matrix**2).sum() - matrix.size) < 4.5 * math.sqrt(2 * matrix.size)


def test_first_numbers_of_streams_are_uniform():
    across_blocks = blocks_of(0, 4096, 3)
    tiles = Streams(9)
    words = tiles.beginnings(0, 0, 4096)
    across_tiles = np.array([tiles.begin(w).random(3) for w in words])
    for x in (across_blocks, across_tiles):
        for column in x.T:
            assert abs(chi_square(np.histogram(column, 64, (0, 1))[0], 64)) < 4.5
        assert abs(np.corrcoef(x.T)[np.triu_indices(3, 1)]).max() < 4.5 / 64
        assert abs(np.corrcoef(x[1:, 0], x[:-1, 0])[0, 1]) < 4.5 / 64


def test_lags_across_blocks_do_not_correlate():
    with taskarr.settings(**{**TINY, "block": 800}):  # 100 numbers
        x = taskarr.random.default_rng(2).normal(size=100_000).numpy()
    lags = [*range(1, 30), 99, 100, 101, 200, 1000]
    found = [float((x[lag:] * x[:-lag]).mean()) * math.sqrt(x.size - lag) for lag in lags]
    assert max(map(abs, found)) < 4.5


def test_bits_of_integers():
    x = taskarr.random.default_rng(4).integers(0, 2**64, N, np.uint64, endpoint=False).numpy()
    ones = [int((x >> np.uint64(bit) & np.uint64(1)).sum()) for bit in range(64)]
    assert max(abs(n - N / 2) for n in ones) < 4.5 * math.sqrt(N / 4)
    y = taskarr.random.default_rng(4).integers(0, 6, N).numpy()
    assert abs(chi_square(np.bincount(y), N / 6)) < 4.5


@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("feistel", [False, True])
def test_small_permutations_are_equally_likely(n, feistel):
    draws = 1200 if n == 3 else 2400
    if feistel:
        at = np.arange(n, dtype="u8")
        orders = [tuple(shuffled(1, call, n)(at, np).tolist()) for call in range(draws)]
    else:
        rng = taskarr.random.default_rng(6)
        orders = [tuple(rng.permutation(n).numpy().tolist()) for _ in range(draws)]
    counts = [orders.count(p) for p in itertools.permutations(range(n))]
    assert sum(counts) == draws
    assert abs(chi_square(np.array(counts), draws / len(counts))) < 4.5


def test_large_permutations_look_random():
    n, at = 97, np.arange(97, dtype="u8")
    orders = np.array([shuffled(3, call, n)(at, np) for call in range(3000)]).astype(int)
    table = np.zeros((n, n), int)
    for position in range(n):
        table[position] = np.bincount(orders[:, position], minlength=n)
    assert abs(chi_square(table.reshape(-1), 3000 / n)) < 4.5
    pairs = np.zeros((n, n), int)
    np.add.at(pairs, (orders[:, 10], orders[:, 11]), 1)
    np.add.at(pairs, (orders[:, 50], orders[:, 90]), 1)
    off = ~np.eye(n, dtype=bool)
    assert pairs[~off].sum() == 0
    assert abs(chi_square(pairs[off], 6000 / (n * (n - 1)))) < 4.5
    fixed = (orders == np.arange(n)).sum(1)
    assert abs(fixed.mean() - 1) < 4.5 / math.sqrt(3000)


@pytest.mark.parametrize("n", [65_537, 130_000])
def test_permutations_of_arrays_mix(n):
    x = taskarr.random.default_rng(21).permutation(n).numpy().astype(float)
    assert np.array_equal(np.sort(x), np.arange(n))
    uniform = x / n
    moved = abs(uniform - np.arange(n) / n)
    assert abs(moved.mean() - 1 / 3) < 4.5 * math.sqrt(1 / 18 / n)
    assert abs((uniform[1:] > uniform[:-1]).mean() - 0.5) < 4.5 * math.sqrt(1 / 12 / n)
    steps = np.diff(uniform)
    assert abs(chi_square(np.histogram(steps % 1, 50, (0, 1))[0], (n - 1) / 50)) < 4.5
    for lag in (1, 2, 64, 256, 4096):
        r = np.corrcoef(uniform[lag:], uniform[:-lag])[0, 1]
        assert abs(r) * math.sqrt(n) < 4.5


def test_choice_follows_its_weights():
    p = np.array([0.1, 0.0, 0.4, 0.25, 0.25])
    rng = taskarr.random.default_rng(31)
    x = rng.choice(5, N, p=p).numpy()
    counts = np.bincount(x, minlength=5)
    assert counts[1] == 0
    assert abs(chi_square(counts[p > 0], N * p[p > 0])) < 4.5
    few = [tuple(sorted(rng.choice(4, 2, replace=False).numpy().tolist())) for _ in range(900)]
    pairs = [few.count(pair) for pair in itertools.combinations(range(4), 2)]
    assert abs(chi_square(np.array(pairs), 150)) < 4.5
    assert np.array_equal(np.sort(rng.choice(10, 10, replace=False).numpy()), np.arange(10))
