"""Ctrl-C while a compiler runs that ignores it, as cicc does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cutune.core.processes import awaited, ending_compilers
from cutune.toolchain.compiler_commands import run_command, run_limited

if sys.argv[2] == "limited":
    run_limited(["sh", "-c", f": > {sys.argv[1]}; exec sleep 60"], os.environ, "a.cu")
deaf = f"trap '' INT; : > {sys.argv[1]}; sleep 60"
driver = f'sh -c "{deaf}" {sys.argv[2]}'
with ending_compilers(), ThreadPoolExecutor(1) as pool:
    awaited(pool.submit(run_command, ["sh", "-c", driver], os.environ))
"""


@pytest.mark.parametrize("then", ["; :", "& kill $$", "limited"])
def test_an_interrupt_ends_this_process(tmp_path: Path, then: str) -> None:
    """One ignores it, whose driver waits, as nvcc does, or has ended, as gcc has; or all end."""
    begun = tmp_path / "begun"
    words = [sys.executable, "-c", PROGRAM, str(begun), then]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)  # it would take 60
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in errors
