"""Where the command `cutune` starts: `cutune nvcc` without the imports of the other verbs."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one verb; the status for the shell."""
    if sys.argv[1:2] == ["nvcc"]:
        from cutune.nvcc.driver import main_nvcc

        return main_nvcc(sys.argv[2:])
    from cutune.cli import main as main_verbs

    return main_verbs()
