"""A launch that CUDA refuses is made as it was: its error is the program's to see."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.tuning import cutune

PROGRAM = Path(__file__).parent / "programs" / "refused.cu"


@pytest.mark.nvcc
def test_errors_of_invalid_configurations_stay(tmp_path: Path) -> None:
    words = ("--seeds", 2, "--run", "./{program} 5", "--keep", tmp_path)
    done = cutune("shake", PROGRAM, *words, cwd=tmp_path)
    assert done.returncode == 0 and done.stdout.startswith("same"), done.stdout + done.stderr
