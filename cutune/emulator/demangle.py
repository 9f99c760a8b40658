"""Kernel names: takes them as they are in PTX, gives them as written in the source."""

from __future__ import annotations

import shutil
import subprocess


def demangled(names: list[str]) -> list[str]:
    """Without c++filt at hand, the names as they are."""
    tool = shutil.which("c++filt")
    if tool is None or not names:
        return names
    done = subprocess.run(
        [tool, "-p"], input="\n".join(names), capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    return lines if done.returncode == 0 and len(lines) == len(names) else names
