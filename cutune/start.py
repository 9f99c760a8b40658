"""Where the command `cutune` starts: `cutune nvcc` without the imports of the other verbs."""

from __future__ import annotations

import gc
import io
import os
import sys

_OBJECTS_BETWEEN_COLLECTIONS = 500_000


def main() -> int:
    """Run one verb; the status for the shell."""
    from cutune.core.processes import ending_compilers

    try:
        with ending_compilers():
            return _run()
    except KeyboardInterrupt:
        return 130


def _run() -> int:
    collect_seldom()
    open_streams()
    if sys.argv[1:2] == ["nvcc"]:
        from cutune.tuning.nvcc.driver import main_nvcc

        return main_nvcc(sys.argv[2:])
    from cutune.cli.main import main as main_verbs

    write_any_name()
    return main_verbs()


def open_streams() -> None:
    """Open what is closed (`>&-`): no file of ours takes the place of standard output."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nothing = os.open(os.devnull, os.O_RDWR)
            if nothing != number:
                os.dup2(nothing, number)
                os.close(nothing)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


def write_any_name() -> None:
    """Let standard output have names of files that are no text, or no text in its encoding."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        is_unicode = sys.stdout.encoding.lower().startswith("utf")
        sys.stdout.reconfigure(errors="surrogateescape" if is_unicode else "backslashreplace")


def collect_seldom() -> None:
    """Trees and tokens live until the end: looking for cycles among them finds none."""
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
