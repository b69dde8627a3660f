"""Strides: what NumPy's arrays and views have."""

from __future__ import annotations

import numpy as np
import pytest

from taskarr.geometry.strides import kept_order, order_of, ordered, stand_in, viewed
from taskarr.geometry.view import Affine, broadcast, transpose

X = np.zeros((3, 4, 5))
VIEWS = {
    "C": X,
    "F": np.asfortranarray(X),
    "middle": X.transpose(1, 0, 2).copy().transpose(1, 0, 2),
    "T of": X.transpose(0, 2, 1).copy().transpose(0, 2, 1),
    "flipped": X[::-1, :, ::-1],
    "broadcast": np.broadcast_to(X[:, :1], X.shape),
    "row": np.broadcast_to(X[:1], X.shape),
}


@pytest.mark.parametrize("second", VIEWS)
@pytest.mark.parametrize("first", VIEWS)
def test_order_of_a_result(first, second):
    a, b = VIEWS[first], VIEWS[second]
    order = kept_order(((a.shape, a.strides), (b.shape, b.strides)), X.shape)
    assert ordered(X.shape, 8, order) == (a + b).strides


@pytest.mark.parametrize("name", ("C", "F", "middle", "T of"))
def test_order_of_memory(name):
    x = VIEWS[name]
    assert ordered(x.shape, 8, order_of(x.shape, x.strides)) == x.strides


def test_views():
    strides = ordered((3, 4, 5), 8, None)
    assert viewed(strides, transpose((3, 4, 5), (2, 0, 1))) == X.transpose(2, 0, 1).strides
    every = Affine((2, 5), (0, 2), (0, 3, 4), (2, -1), (3, 4, 5))
    assert viewed(strides, every) == X[::2, 3, ::-1].strides
    assert viewed((8,), broadcast((4,), (3, 4))) == (0, 8)


def test_a_stand_in_has_no_memory():
    like = stand_in((10**6, 10**6), np.dtype("f8"), (8 * 10**6, 8))
    assert like.reshape(-1, copy=False).shape == (10**12,)
    assert like.view("i4").shape == (10**6, 2 * 10**6)
