"""cutune in a process of its own that has loaded everything: most of a command is Python's start.

Takes the words of a command, a folder and variables, gives its status. What it prints is in files.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

#: What verbs load when they are needed: once for all commands.
_PRELOADED = (
    *("cutune.cli.inspecting", "cutune.cli.tune_verbs"),
    *("cutune.tuning.stages", "cutune.cli.python"),
    *(
        "cutune.tuning.nvcc.driver",
        "cutune.tuning.nvcc.rewriting",
        "cutune.model.emit.programs",
        __name__,
    ),
)


def run_loaded(
    words: Sequence[str], folder: Path, output: Path, errors: Path, variables: Mapping[str, str]
) -> int:
    """`cutune WORDS`. Where both files are the same one, it has what is printed in its order."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    # Else it would have the variables of when the first one was started.
    process = context.Process(
        target=_cutune, args=(list(words), folder, output, errors, dict(variables))
    )
    process.start()
    process.join()
    return process.exitcode or 0


def _cutune(
    words: list[str], folder: Path, output: Path, errors: Path, variables: Mapping[str, str]
) -> None:
    from cutune.cli.main import main  # noqa: PLC0415

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    for number, path in ((1, output), (2, errors)):
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(file, number)
        os.close(file)
    sys.stdout = os.fdopen(1, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    try:
        sys.exit(main(words))
    finally:
        # As at the end of a process that nobody has forked.
        atexit._run_exitfuncs()
