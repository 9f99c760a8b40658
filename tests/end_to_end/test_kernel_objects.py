"""Kernels as objects, on the emulated device, by scripts that run there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cutune.cli.main import main
from cutune.core.codes import Code
from tests.support.short_headers import with_short_headers

pytestmark = pytest.mark.nvcc
ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "corpus" / "python" / "kernel_objects.py"


@pytest.mark.long
def test_a_kernel_chooses_and_another_keeps_its_block(tmp_path: Path) -> None:
    # A text that nothing is known of yet.
    text = f"// {tmp_path}\n{SCRIPT.with_suffix('.cu').read_text()}"
    (tmp_path / "kernel_objects.cu").write_text(text)
    script = shutil.copy(SCRIPT, tmp_path)
    variables = {"PYTHONPATH": str(ROOT), "CUTUNE": "verbose"}
    command = [sys.executable, "-m", "cutune", "run", sys.executable, script]
    with with_short_headers():
        done = subprocess.run(
            command, env={**os.environ, **variables}, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    shown, wrong, refused, kept, warps = done.stdout.splitlines()
    assert shown.startswith("<kernel space::saxpy(n: int32, a: float32, x: array of float32,")
    assert wrong.endswith("and this one of float64; give x.astype('float32')")
    assert Code.BLOCK_NEEDED.number in refused and "threadIdx.x in a stored value" in refused
    assert kept.count(Code.KERNEL_KEPT.number) == 1
    assert Code.BLOCK_NEEDED.number in warps and "threads of a warp work together" in warps
    assert "cutune: saxpy, 100003 x 1 x 1 threads: block 256x1x1 -> " in done.stderr
    assert "space::saxpy: 1 launch, " in done.stderr
    assert "ranks: 2 launches, grid 4x1x1, block 32x1x1" in done.stderr


def test_a_script_is_not_inspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text("x = (1")
    assert main(["inspect", str(script)]) == 1
    assert Code.SCRIPT_UNSEEN.number in capsys.readouterr().err
