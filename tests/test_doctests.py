"""The examples in docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import scheduler
import taskarr
from tests.device.install import DEVICE


def modules() -> list[str]:
    """Names of all modules of both packages but the one that imports MPI."""
    found = ["scheduler", "taskarr"]
    for package in (scheduler, taskarr):
        inner = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        found += [module.name for module in inner if module.name != "scheduler.comm.mpi"]
    return found


@pytest.mark.parametrize("name", modules())
def test_examples(name):
    if DEVICE != "cpu" and name == "taskarr.api.reductions":
        pytest.skip("users' functions call NumPy's, which the stand-in refuses")
    with taskarr.settings(device=DEVICE):
        failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert not failed


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [
        test
        for name in modules()
        for test in finder.find(importlib.import_module(name))
        if test.examples
    ]
    assert len(examples) >= 20
