"""Ctrl-C while a compiler runs that ignores it, as cicc does."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

PROGRAM = """
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cutune.core.processes import awaited, ending_compilers
from cutune.toolchain.compiler_commands import run_command

deaf = f"trap '' INT; : > {sys.argv[1]}; sleep 60"
with ending_compilers(), ThreadPoolExecutor(1) as pool:
    # The shell of nvcc waits for its parts.
    awaited(pool.submit(run_command, ["sh", "-c", f'sh -c "{deaf}"; :'], os.environ))
"""


def test_a_compiler_that_ignores_an_interrupt_is_ended(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(begun)], stderr=subprocess.PIPE, text=True
    )
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)  # it would take 60
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in errors
