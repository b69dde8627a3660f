"""The job's script: run as Python itself would run it."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

__all__ = ["check", "run"]


def check(script: str) -> str | None:
    """Return what is wrong with the path `script`, or None."""
    path = Path(script)
    if path.is_dir():
        return f"{script!r} is a folder, not a script"
    if not path.exists():
        return f"no script {script!r}"
    try:
        path.open("rb").close()
    except OSError as error:
        return f"cannot read {script!r}: {error.strerror}"
    return None


def run(script: str, arguments: Sequence[str]) -> None:
    """Run the file `script` as the module ``__main__``.

    The module stands in ``sys.modules``, so that objects of its classes can be pickled.
    ``sys.argv`` and the first entry of ``sys.path`` become the script's own.
    """
    path = str(Path(script).absolute())
    main = ModuleType("__main__")
    main.__dict__.update(
        __file__=path,
        __loader__=SourceFileLoader("__main__", path),
        __builtins__=builtins,
        __cached__=None,
    )
    sys.modules["__main__"] = main
    sys.argv[:] = [script, *arguments]
    if not sys.flags.safe_path:
        sys.path[0] = str(Path(path).resolve().parent)
    with io.open_code(path) as file:
        source = file.read()
    exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)
