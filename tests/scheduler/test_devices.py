"""Whether an MPI library takes memory of a GPU: what it says, in either of two ways."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scheduler.comm import VirtualWorld
from scheduler.comm.devices import loaded_library, says_so


@pytest.mark.parametrize(
    ("kinds", "expected"),
    [
        ("", False),
        ("mpi,system", False),
        ("mpi,system,cuda", True),
        ("mpi,system,cuda:device,cuda:managed", True),
        ("mpi,rocm", True),
        ("mpi,barracuda", False),
    ],
)
def test_by_the_standard(kinds, expected):
    assert says_so(kinds, None) is expected


def test_by_functions_of_the_library():
    def library(**answers):
        return SimpleNamespace(**{name: lambda x=x: x for name, x in answers.items()})

    assert says_so("mpi,system", library(MPIX_Query_cuda_support=1))
    assert says_so("", library(MPIX_Query_cuda_support=0, MPIX_Query_rocm_support=1))
    assert not says_so("", library(MPIX_Query_cuda_support=0))
    assert not says_so("", library())


def test_virtual_ranks_do_not():
    assert not VirtualWorld().reads_device_memory()


@pytest.mark.ranks(2)
def test_the_library_here_answers(world):
    if isinstance(world, VirtualWorld):
        pytest.skip("no MPI")
    assert loaded_library() is not None
    assert world.reads_device_memory() in (True, False)
