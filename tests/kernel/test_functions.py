"""Functions as kernels call them: their names, which must differ when they do, and their calls."""

from __future__ import annotations

import numpy as np
import pytest

from taskarr.kernel.functions import CAST, SELECT, computed, named, ufunc, variant

X = np.array([4.0, -1.0, 9.0])


def ran(function, *args, dtype="d"):
    out = np.full(3, 77, dtype)
    function.bind(np)(*args, out)
    return out.tolist()


def test_names_tell_functions_apart():
    options = [None, {"dtype": np.dtype("f")}, {"dtype": np.dtype("d")}, {"casting": "unsafe"}]
    made = [
        ufunc("add"),
        ufunc("maximum"),
        CAST,
        SELECT,
        computed("sinc", {}),
        computed("angle", {"deg": True}),
        computed("angle", {"deg": False}),
        computed("nan_to_num", {}, ("nan",)),
        computed("nan_to_num", {}, ("posinf",)),
        *[variant("add", named("add"), masked=m, options=o) for m in (0, 1) for o in options],
        *[variant("modf", named("modf"), (k, 2), masked=m) for k in (0, 1) for m in (0, 1)],
    ]
    assert len({f.name for f in made}) == len(made)


@pytest.mark.parametrize(("number", "expected"), [(0, [0.5, -0.5, 0.5625]), (1, [3, 1, 4])])
def test_one_of_several_outputs(number, expected):
    assert ran(variant("frexp", named("frexp"), (number, 2)), X) == expected


def test_nothing_is_computed_where_a_mask_is_false():
    root = variant("sqrt", named("sqrt"), masked=True)
    with np.errstate(all="raise"):
        assert ran(root, X, X > 0, -X) == [2, 1, 3]
        assert ran(root, X, np.False_, np.float64(5)) == [5, 5, 5]
    with pytest.raises(FloatingPointError), np.errstate(all="raise"):
        ran(root, X, True, X)
    assert not root.in_place


def test_keywords():
    whole = variant("add", named("add"), options={"casting": "unsafe", "dtype": np.dtype("f")})
    assert ran(whole, X, 0.75, dtype="i") == [4, 0, 9]
    assert ran(computed("nan_to_num", {}, ("nan",)), X * np.nan, 3) == [3, 3, 3]
    assert ran(computed("angle", {"deg": True}), X) == [0, 180, 0]
