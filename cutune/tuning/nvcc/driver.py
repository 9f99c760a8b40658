"""Runs nvcc, perhaps on rewritten sources. Takes the arguments after `cutune nvcc`, gives a status.

Always nvcc's own status and output. With nothing to do it is exactly nvcc: this process becomes it,
with the same argument list. A failure of cutune's own is said once, and what the user asked for is
compiled as it is. This module and what it imports start quickly; `rewriting` is loaded when there
is something to rewrite.

    --cutune-mode=M         tuned (models of the workspace; the default), instrument, shaken,
                            emulated, off;
                            several are separated by commas. Also $CUTUNE_MODE
    --cutune-workspace=DIR  where models are (default: .cutune beside the source or above it,
                            then in the current folder or above it).
                            Also $CUTUNE_WORKSPACE
    --cutune-device=A,B     the GPUs to tune for (this machine's, else h200). Also $CUTUNE_DEVICE
    --cutune-variants=V     all (the default) or none: may launches choose among variants of their
                            kernels, too? Also $CUTUNE_VARIANTS
    --cutune-associative-math  sums of floating-point numbers may be made in any order. Also
                            $CUTUNE_ASSOCIATIVE_MATH=1
    --cutune-nvcc=PATH      the nvcc to run; it may also be the first argument, behind ccache
    --cutune-strict         a failure of cutune's own ends with status 1. Also $CUTUNE_STRICT=1
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

from cutune.toolchain.locate import TRIED, real_nvcc, split_launcher, tried, wheel_libraries
from cutune.tuning.nvcc.command import (
    EMULATED,
    INSTRUMENT,
    LENDS,
    SHAKEN,
    TUNED,
    UNITS,
    Command,
    Item,
    Settings,
    Usage,
    names_of,
    read_settings,
    run_instead,
    unit_key,
    workspaces_of,
)

#: What stands in a source or an object that launches kernels, and in one that was tuned.
_LAUNCHES, _TUNED = (b"<<<", b"cudaLaunchKernel"), b"cutune_select_"
#: A source without these neither launches nor has kernels, nor includes what might.
_MAY_LAUNCH = (b"<<<", b"include", b"__global__")


def main_nvcc(arguments: Sequence[str]) -> int:
    """Run nvcc; only returns where this process does not become nvcc."""
    try:
        settings, words = read_settings(arguments)
    except Usage as error:
        from cutune.core.diagnostics import known_names

        listed = f"; known: {known_names(error.name, error.known)}" if error.known else ""
        _say("WRONG_USAGE", reason=f"nvcc: {error}{listed}", help="cutune help nvcc")
        return 2
    launcher, words = split_launcher(words)
    if not launcher:
        path = real_nvcc(settings.nvcc)
        if path is None:
            _say("MISSING_NVCC")
            return 1
        launcher = [path]
    find_libraries(launcher[-1])
    # An nvcc that has run us has had its sources rewritten.
    passes_on = bool(tried())
    os.environ[TRIED] = os.pathsep.join([*tried(), launcher[-1]])
    around = (os.environ.get(f"NVCC_{place}_FLAGS", "") for place in ("PREPEND", "APPEND"))
    command = Command.parse(words, *around)
    if passes_on or not something_to_do(command, settings):
        # Only to a person: scripts that configure builds read each line of a compiler.
        is_told = not passes_on and settings.modes == {TUNED} and sys.stderr.isatty()
        if is_told and links_untuned(command, settings.workspace):
            name = command.outputs()[0]
            run = name if name.startswith(("/", "./", "../")) else f"./{name}"
            _say("LINKED_UNTUNED", name=name, run=run)
        if command.has(("lib",)) and EMULATED in settings.modes:
            from cutune.tuning.nvcc.rewriting import note_outputs

            note_outputs(command)
        return run_instead(launcher, words)
    from cutune.core.processes import interruptible
    from cutune.tuning.nvcc.rewriting import compile_rewritten

    with interruptible():
        return compile_rewritten(launcher, command, settings)


def find_libraries(nvcc: str) -> None:
    """Let nvcc link where it is one of NVIDIA's wheels, which does not find the libraries there."""
    if wheel_libraries(nvcc) is None:
        return
    from pathlib import Path

    from cutune.toolchain.nvcc import Nvcc

    folders = [flag.removeprefix("-L") for flag in Nvcc(Path(nvcc)).extra_flags]
    before = [os.environ["LIBRARY_PATH"]] if os.environ.get("LIBRARY_PATH") else []
    os.environ["LIBRARY_PATH"] = os.pathsep.join([*before, *folders])


def _say(code: str, **values: Any) -> None:
    from cutune.core.codes import Code
    from cutune.core.diagnostics import Diagnostic, tell

    tell(Diagnostic.at(Code[code], **values))


def links_untuned(command: Command, workspace: str | None) -> bool:
    """Does it link launches, none of which was tuned, and is there no workspace?"""
    paths = [item.value for item in command.inputs]
    known = (place for path in paths for place in workspaces_of(path, workspace))
    if not command.links or any(map(os.path.isdir, known)):
        return False
    parts = [_content(path) for path in paths if path.endswith((".cu", ".o", ".obj"))]
    launches = any(word in part for part in parts for word in _LAUNCHES)
    return launches and not any(_TUNED in part for part in parts)


def something_to_do(command: Command, settings: Settings) -> bool:
    """May this call differ from nvcc's? Looks at files, but opens none that is long."""
    is_made = command.makes_host_code or command.makes_modules or command.links
    if EMULATED in settings.modes and is_made:
        return True
    if not command.makes_host_code or not all(os.path.isfile(s.value) for s in command.sources):
        return False
    if settings.modes & {INSTRUMENT, SHAKEN}:
        texts = (_content(item.value) for item in command.sources)
        return any(word in text for text in texts for word in _MAY_LAUNCH)
    if TUNED in settings.modes:
        return any(has_models(command, item, settings.workspace) for item in command.sources)
    return False


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""  # nvcc says it


def has_models(command: Command, source: Item, workspace: str | None) -> bool:
    """Does a workspace have models of this source, or of others that use its kernels?"""
    for folder in workspaces_of(source.value, workspace):
        keys = (unit_key(command, source, name) for name in names_of(source.value, folder))
        units = [os.path.join(UNITS, key) for key in keys]
        files = ["models.json"]
        files += [os.path.join(unit, file) for unit in units for file in ("models.json", LENDS)]
        if any(os.path.exists(os.path.join(folder, file)) for file in files):
            return True
    return False
