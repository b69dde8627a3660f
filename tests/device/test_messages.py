"""Messages of a device's memory on real MPI ranks: as they are, and through pinned memory.

The stand-in's memory is the processor's, so any MPI library can read it; but it is handed over by
``__cuda_array_interface__``, which the stand-in refuses while work on it is pending.
"""

from __future__ import annotations

import numpy as np
import pytest

import taskarr
from taskarr.runtime import runtime
from tests.device import strict
from tests.device.install import STRICT
from tests.layouts import TINY, quiet

pytestmark = pytest.mark.ranks(2)

X = np.arange(35.0).reshape(7, 5)


@pytest.fixture(params=["0", "1"], ids=["pinned", "aware"])
def memory(world, request, monkeypatch):
    """The backend of a device that MPI does not read, and of one that it does."""
    monkeypatch.setenv("TASKARR_GPU_MPI", request.param)
    here = runtime(world)
    here.devices.clear()
    with quiet(), taskarr.settings(**{**TINY, "device": STRICT.name}):
        found = here.backend_on(STRICT.name)
        assert found.aware is (request.param == "1")
        yield found
    here.devices.clear()
    strict.cuda.Device(0).use()


def test_messages_and_exchanges(world, memory):
    a = taskarr.asarray(X, split=0)
    found = taskarr.compute(
        (a[:-2] + a[1:-1] * 2 + a[2:]) / 4,
        a[a > 9],
        a.redistribute(split=1) * 2,
        a.sum(axis=0),
        a.max(),
        a.T.copy(),
    )
    expected = [(X[:-2] + X[1:-1] * 2 + X[2:]) / 4, X[X > 9], X * 2, X.sum(axis=0), X.max(), X.T]
    assert all(map(np.array_equal, found, expected))
    assert world.counters["sends"]


def test_what_is_sent_is_waited_for(memory):
    x = strict.arange(6) * 2
    sent = memory.outgoing(x[1:])
    if memory.aware:
        assert isinstance(sent, strict.ndarray)
        assert sent.__cuda_array_interface__["shape"] == (5,)
    else:
        assert isinstance(sent, np.ndarray)
        assert sent.tolist() == [2, 4, 6, 8, 10]
    room = memory.buffer(40)
    assert isinstance(room, strict.ndarray if memory.aware else np.ndarray)
    assert isinstance(memory.incoming(room), strict.ndarray)
