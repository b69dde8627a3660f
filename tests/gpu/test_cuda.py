"""Arrays on a real GPU against NumPy; skipped where there is none.

Nothing here has run yet; ``docs/gpu.md`` says what that leaves open.
"""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from taskarr.device.functions import DeviceFunctions
from taskarr.ops.ufuncs import UFUNCS
from taskarr.runtime import runtime
from tests.layouts import on_ranks

cupy = pytest.importorskip("cupy", exc_type=ImportError)


def _devices() -> int:
    try:
        return int(cupy.cuda.runtime.getDeviceCount())
    except cupy.cuda.runtime.CUDARuntimeError:
        return 0


pytestmark = pytest.mark.skipif(not _devices(), reason="no GPU")

X = np.random.default_rng(1).normal(size=(700, 51))
DTYPES = "?bhilBHILefdFD"
BIG = {"block": 1 << 14, "device": "cuda"}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ranks", [1, 3])
def test_there_and_back(dtype, ranks):
    x = (X * 10).astype(dtype)

    def job(world):
        a = taskarr.asarray(x, split=0)
        assert isinstance(a.persist().local, cupy.ndarray)
        return a.numpy(), a.redistribute(split=1).numpy(), a[::-2, 1:].numpy()

    for found, expected in zip(on_ranks(ranks, job, **BIG).value, (x, x, x[::-2, 1:]), strict=True):
        assert found.dtype == expected.dtype and np.array_equal(found, expected)


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_ufuncs(name):
    """Results are NumPy's, to a few units in the last place."""
    ufunc = getattr(np, name)
    if not hasattr(cupy, name) or ufunc.nout > 1:
        pytest.skip("not on a GPU")
    for dtype in "?bHlefdFD":
        operands = [np.abs(X[:, k]).astype(dtype) + np.ones((), dtype) for k in range(ufunc.nin)]
        try:
            with np.errstate(all="ignore"):
                expected = ufunc(*operands)
        except TypeError:
            continue

        def job(world, operands=operands):
            return getattr(taskarr, name)(*map(taskarr.asarray, operands)).numpy()

        found = on_ranks(1, job, **BIG).value
        assert found.dtype == expected.dtype
        eps = np.finfo(found.dtype).eps * 16 if found.dtype.kind in "fc" else 0
        assert np.allclose(found, expected, rtol=eps, atol=eps, equal_nan=True), dtype


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "mean", "var", "std", "any", "all"])
def test_reductions(name, axis):
    def job(world):
        return getattr(taskarr.asarray(X, split=0), name)(axis=axis).numpy()

    found = [on_ranks(n, job, **BIG).value for n in (1, 2, 5)]
    expected = getattr(np, name)(X, axis=axis)
    assert np.allclose(found[0], expected, rtol=1e-10)
    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_masks_and_writes():
    def job(world):
        a = taskarr.asarray(X, split=0)
        kept = a[a > 1]
        a[2:5] = -1.0
        a[a > 2] = 0.0
        return kept.numpy(), a.numpy()

    expected = X.copy()
    expected[2:5] = -1.0
    expected[expected > 2] = 0.0
    for found, want in zip(on_ranks(3, job, **BIG).value, (X[X > 1], expected), strict=True):
        assert np.array_equal(found, want)


def test_reduce_of_every_ufunc():
    xp = DeviceFunctions(cupy, "cuda")
    x = (np.abs(X[:8]) * 10 + 1).astype("i8")
    for name in ("add", "multiply", "minimum", "maximum", "logical_and", "bitwise_xor", "gcd"):
        for axis in (0, 1, (0, 1), ()):
            if name == "bitwise_xor" and axis == (0, 1):
                continue
            found = getattr(xp, name).reduce(xp.asarray(x), axis=axis)
            model = getattr(np, name)
            expected = (
                (model.reduce(x.reshape(-1)) if axis == (0, 1) else model.reduce(x, axis=axis))
                if axis != ()
                else model.reduce(x, axis=())
            )
            assert np.array_equal(cupy.asnumpy(found), expected), (name, axis)


def test_pinned_memory_goes_out_filled():
    def job(world):
        memory = runtime(world).backend_on("cuda")
        x = cupy.arange(1 << 22, dtype="f8")
        for _ in range(20):
            x = x * 1.0000001
        sent = memory.outgoing(x)
        return np.array_equal(np.asarray(sent), cupy.asnumpy(x))

    assert on_ranks(1, job, **BIG).value
