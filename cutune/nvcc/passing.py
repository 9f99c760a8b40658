"""This process becomes nvcc. Takes its command line; returns only a failure's status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def run_instead(launcher: Sequence[str], words: Sequence[str]) -> int:
    """Become nvcc."""
    # Where nothing was to be done, nothing was imported.
    if temporary := sys.modules.get("cutune.core.temporary"):
        temporary.discard()
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(launcher[0], [*launcher, *words])
    except OSError as error:
        print(f"cutune nvcc: cannot run {launcher[0]}: {error.strerror}", file=sys.stderr)
        return 127
