"""Values as header and buffers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler import wire


def there_and_back(value):
    header, buffers = wire.encode(value)
    copies = wire.allocate(header)
    assert wire.sizes(header) == tuple(buffer.nbytes for buffer in buffers)
    for copy, buffer in zip(copies, buffers, strict=True):
        copy[:] = buffer
    return wire.decode(header, copies)


@given(
    st.recursive(
        st.none() | st.integers() | st.text() | st.binary() | st.floats(allow_nan=False),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_plain_values(value):
    assert there_and_back(value) == value
    assert wire.loads(wire.dumps(value)) == value


@pytest.mark.parametrize("through", [there_and_back, lambda value: wire.loads(wire.dumps(value))])
@pytest.mark.parametrize(
    "array",
    [
        np.arange(10),
        np.arange(10_000.0),
        np.arange(10_000.0).reshape(100, 100).T,
        np.arange(20_000.0)[::2],
        np.zeros((0, 5)),
        np.array(3),
        np.array(["a", None], object),
        np.zeros(3000, "M8[s]"),
        np.ma.masked_greater(np.arange(9000), 5),
    ],
)
def test_arrays(array, through):
    copy = through(array)
    assert copy.dtype == array.dtype
    np.testing.assert_array_equal(copy, array)
    assert copy.flags.writeable
    assert not np.shares_memory(copy, array) or array.dtype == object


def test_large_buffers_are_not_copied():
    array = np.zeros(100_000)
    header, (buffer,) = wire.encode([array, array])
    assert np.shares_memory(buffer, array)
    assert len(header) < 1000


def test_small_and_empty_buffers_stay_in_the_header():
    _, buffers = wire.encode([np.zeros(0), np.zeros(wire.INLINE - 1, np.uint8)])
    assert buffers == []


def test_read_only_arrays():
    array = np.zeros(10_000)
    array.flags.writeable = False
    np.testing.assert_array_equal(there_and_back(array), array)


def test_what_plain_pickle_refuses():
    offset = np.arange(5000)
    added = there_and_back(lambda x: x + offset)
    np.testing.assert_array_equal(added(1), offset + 1)


def test_what_cannot_be_pickled_at_all():
    with pytest.raises(TypeError, match="generator"):
        wire.encode(i for i in range(3))


def test_the_wrong_number_of_buffers():
    header, _ = wire.encode(np.zeros(10_000))
    with pytest.raises(ValueError, match="1 buffers, got 0"):
        wire.decode(header, [])
