"""How a job starts and ends: what the launcher says, threads, output, uncaught exceptions."""

from taskarr.launch import environment, hooks, threads

__all__ = ["begin"]


def begin() -> None:
    """Prepare a process that a launcher started as one of several ranks; others are left alone.

    ``import taskarr`` calls this. It imports neither NumPy nor MPI.
    """
    if environment.one_of_several():
        threads.one_blas_thread()
        hooks.install()
