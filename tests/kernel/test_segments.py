"""Segments reduced in long loops give what NumPy's plain loops give, and as exactly."""

from __future__ import annotations

import numpy as np
import pytest

from taskarr.kernel.segments import reduced, row_sums


@pytest.mark.parametrize("width", [1, 2, 3, 50, 128, 129])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sums_of_short_rows_are_as_exact_as_numpys(width, dtype):
    x = (np.random.default_rng(0).standard_normal((999, width)) + 0.5).astype(dtype)
    found = row_sums(np, x, (1,))
    if width in (1, 129):
        assert found is None
        return
    truth = x.astype(np.longdouble).sum(axis=1, keepdims=True)
    mine, numpys = (abs(y - truth) for y in (found, x.sum(axis=1, keepdims=True)))
    assert found.shape == (999, 1)
    assert found.dtype == dtype
    assert mine.max() <= 1.5 * numpys.max() + np.finfo(dtype).eps * abs(truth).max() / 2
    assert mine.mean() <= 1.3 * numpys.mean() + 1e-16


def test_sums_of_short_rows_do_not_depend_on_the_other_rows():
    x = np.random.default_rng(1).standard_normal((64, 37))
    whole = row_sums(np, x, (1,))
    for rows in (1, 3, 63):
        assert row_sums(np, x[:rows].copy(), (1,)).tobytes() == whole[:rows].tobytes()
    shifted = np.empty(64 * 37 + 1)[1:].reshape(64, 37)
    shifted[...] = x
    assert row_sums(np, shifted, (1,)).tobytes() == whole.tobytes()


def test_sums_of_rows_of_several_axes():
    x = np.arange(4 * 3 * 5.0).reshape(4, 3, 5)
    np.testing.assert_array_equal(row_sums(np, x, (1, 2)), x.sum(axis=(1, 2), keepdims=True))
    for axes in ((0,), (1,), (0, 1, 2), (0, 2)):
        assert row_sums(np, x, axes) is None
    assert row_sums(np, x.astype("i4"), (2,)) is None


@pytest.mark.parametrize("shape", [(200, 3), (1000, 7), (64, 512), (5, 3), (129, 2, 4)])
def test_leading_axes_are_reduced_in_wide_rows(shape):
    x = np.arange(float(np.prod(shape))).reshape(shape)
    for function in (np.add, np.maximum):
        np.testing.assert_array_equal(
            reduced(function, x, (0,)), function.reduce(x, axis=0, keepdims=True)
        )
