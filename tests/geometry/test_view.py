from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from taskarr.geometry.view import NEW, broadcast, identity, transpose
from taskarr.ops.keys import view_of_key
from tests.geometry.strategies import boxes, entries, numbered, part, shapes, shown, steps, views


@given(shapes.flatmap(lambda s: st.tuples(st.just(s), st.tuples(*map(entries, s)))))
def test_keys_show_what_numpy_shows(case):
    shape, key = case
    x = numbered(shape)
    for full in (key, (None, *key), (*key[:1], None, ..., *key[1:])):
        assert np.array_equal(shown(view_of_key(shape, full), x), x[full])


@given(shapes, st.data())
def test_transposed_and_broadcast_views(shape, data):
    x = numbered(shape)
    order = tuple(data.draw(st.permutations(range(len(shape)))))
    assert np.array_equal(shown(transpose(shape, order), x), x.transpose(order))
    wide = (2, *(3 if n == 1 else n for n in shape))
    assert np.array_equal(shown(broadcast(shape, wide), x), np.broadcast_to(x, wide))
    assert broadcast(shape, shape) == identity(shape)


@given(shapes, st.data())
def test_a_view_of_a_view_is_one_view(shape, data):
    inner = data.draw(views(shape))
    outer = data.draw(steps(inner.shape))
    x = numbered(shape)
    both = outer.after(inner)
    assert (both.shape, both.base) == (outer.shape, shape)
    assert np.array_equal(shown(both, x), shown(outer, shown(inner, x)))
    assert identity(inner.shape).after(inner) == inner == inner.after(identity(shape))


@given(shapes, st.data())
def test_identity_is_recognised(shape, data):
    view = data.draw(views(shape))
    x = numbered(shape)
    same = view.shape == shape and np.array_equal(shown(view, x), x)
    assert same or not view.is_identity
    assert identity(shape).is_identity


@given(shapes, st.data())
def test_the_image_of_a_box_is_what_it_shows(shape, data):
    view = data.draw(views(shape))
    assume(0 not in view.shape)
    box = data.draw(boxes(view.shape))
    region = view.image(box)
    assert all(r.step > 0 and len(r) for r in region)
    x = numbered(shape)
    assert set(x[np.ix_(*region)].ravel()) == set(part(shown(view, x), box).ravel())


@given(shapes, st.data())
def test_the_preimage_of_a_box_is_where_its_elements_show(shape, data):
    assume(0 not in shape)
    view, box = data.draw(views(shape)), data.draw(boxes(shape))
    x = numbered(shape)
    seen = np.isin(shown(view, x), part(x, box))
    found = view.preimage(box)
    if found is None:
        assert not seen.any()
    else:
        assert part(seen, found).all()
        assert part(seen, found).size == seen.sum() > 0


def test_shapes_that_do_not_broadcast():
    with pytest.raises(ValueError, match="could not be broadcast"):
        broadcast((3, 4), (3, 5))
    with pytest.raises(ValueError, match="more dimensions"):
        broadcast((3, 4), (4,))
    assert broadcast((1, 4), (0, 4)).axes == (NEW, 1)
