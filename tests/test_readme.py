"""The program of the README prints what the README says."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()


@pytest.mark.parametrize("ranks", [1, 4])
def test_the_program_prints_the_output_shown(tmp_path, ranks):
    program = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    output = re.search(r"\$ mpiexec .* parabola.py\n(.*?)\n\n", README, re.DOTALL)
    assert program is not None and output is not None
    (tmp_path / "parabola.py").write_text(program[1])
    done = subprocess.run(
        [sys.executable, "-m", "taskarr.run", "-n", str(ranks), "parabola.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout == textwrap.dedent(output[1]) + "\n"
