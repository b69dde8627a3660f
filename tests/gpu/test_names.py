"""The stand-in's names and parameters are CuPy's; needs CuPy, but no GPU."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from tests.device import signatures, strict

cupy = pytest.importorskip("cupy", exc_type=ImportError)


@pytest.mark.parametrize("name", signatures.parameters(signatures.FUNCTIONS))
def test_function(name):
    known = signatures.parameters(signatures.FUNCTIONS)[name]
    function = getattr(cupy, name)
    try:
        found = inspect.signature(function).parameters
    except ValueError:  # a ufunc, or compiled
        return
    assert known == ("*",) or set(known) <= set(found)


@pytest.mark.parametrize("name", signatures.parameters(signatures.METHODS))
def test_method(name):
    known = signatures.parameters(signatures.METHODS)[name]
    text = (getattr(cupy.ndarray, name).__doc__ or "").splitlines()[0]
    assert known == ("*",) or all(parameter in text for parameter in known)


def test_ufuncs():
    for name in dir(np):
        if not isinstance(getattr(np, name), np.ufunc):
            continue
        assert hasattr(cupy, name) is (name not in signatures.ABSENT), name
        found = getattr(cupy, name, None)
        if isinstance(found, cupy.ufunc):
            mine = getattr(strict, name)
            assert (mine.nin, mine.nout) == (found.nin, found.nout), name
    for name in signatures.NOT_COMPLEX:
        assert not any("D->" in t for t in getattr(cupy, name).types)


def test_ufunc_types():
    """What NumPy computes of the dtypes of a device, CuPy computes, by a loop of a wider dtype."""
    for name in dir(np):
        model, found = getattr(np, name), getattr(cupy, name, None)
        if not isinstance(model, np.ufunc) or not isinstance(found, cupy.ufunc):
            continue
        has = {t.split("->")[0].replace("q", "l").replace("Q", "L") for t in found.types}
        for loop in model.types:
            codes = loop.split("->")[0]
            if not set(codes) <= set(signatures.DTYPES) or set(codes) & set("FD"):
                continue
            assert any(
                len(h) == len(codes)
                and all(np.can_cast(c, w) for c, w in zip(codes, h, strict=True))
                for h in has
            ), (name, loop)
