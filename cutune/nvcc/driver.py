"""Runs nvcc, perhaps on rewritten sources. Takes the arguments after `cutune nvcc`, gives a status.

Always nvcc's own status and output. With nothing to do it is exactly nvcc: this process becomes it,
with the same argument list. A failure of cutune's own is said once, and what the user asked for is
compiled as it is. This module and what it imports start quickly; `rewriting` is loaded when there
is something to rewrite.

    --cutune-mode=M         tuned (models of the workspace; the default), instrument, emulated, off;
                            several are separated by commas. Also $CUTUNE_MODE
    --cutune-workspace=DIR  where models are (default: .cutune beside the source or above it,
                            then in the current folder or above it).
                            Also $CUTUNE_WORKSPACE
    --cutune-device=A,B     the GPUs to tune for (h200). Also $CUTUNE_DEVICE
    --cutune-nvcc=PATH      the nvcc to run; it may also be the first argument, behind ccache
    --cutune-strict         a failure of cutune's own ends with status 1. Also $CUTUNE_STRICT=1
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from cutune.nvcc.command import Command, Item
from cutune.nvcc.locate import TRIED, real_nvcc, split_launcher, tried
from cutune.nvcc.unit_key import LENDS, UNITS, unit_key

TUNED, INSTRUMENT, EMULATED, OFF = "tuned", "instrument", "emulated", "off"
MODES = (TUNED, INSTRUMENT, EMULATED, OFF)
WORKSPACE = ".cutune"
DEFAULT_DEVICE = "h200"
_PREFIX = "--cutune-"
_SETTINGS = ("mode", "workspace", "device", "nvcc", "strict")


class Settings(NamedTuple):
    """What the `--cutune-` options and the environment say."""

    modes: frozenset[str]
    workspace: str | None
    devices: tuple[str, ...]
    nvcc: str | None
    strict: bool


class Usage(Exception):
    """A `--cutune-` option is wrong."""


def main_nvcc(arguments: Sequence[str]) -> int:
    """Run nvcc; only returns where this process does not become nvcc."""
    try:
        settings, words = read_settings(arguments)
    except Usage as error:
        print(f"cutune nvcc: {error}", file=sys.stderr)
        return 2
    launcher, words = split_launcher(words)
    if not launcher:
        path = real_nvcc(settings.nvcc)
        if path is None:
            from cutune.diagnostics import Code, Diagnostic

            print(Diagnostic.at(Code.MISSING_NVCC, None).render(), file=sys.stderr)
            return 1
        launcher = [path]
    # An nvcc that has run us has had its sources rewritten.
    passes_on = bool(tried())
    os.environ[TRIED] = os.pathsep.join([*tried(), launcher[-1]])
    environment = os.environ
    command = Command.parse(
        words, environment.get("NVCC_PREPEND_FLAGS", ""), environment.get("NVCC_APPEND_FLAGS", "")
    )
    if passes_on or not something_to_do(command, settings):
        return run_instead(launcher, words)
    from cutune.nvcc.rewriting import compile_rewritten

    return compile_rewritten(launcher, command, settings)


def run_instead(launcher: Sequence[str], words: Sequence[str]) -> int:
    """Become nvcc."""
    sys.stdout.flush()
    sys.stderr.flush()
    try:
        os.execvp(launcher[0], [*launcher, *words])
    except OSError as error:
        print(f"cutune nvcc: cannot run {launcher[0]}: {error.strerror}", file=sys.stderr)
        return 127


def read_settings(arguments: Sequence[str]) -> tuple[Settings, list[str]]:
    """The `--cutune-` options, wherever they stand, and the other words.

    Raises:
        Usage: an option or mode that does not exist.
    """
    words: list[str] = []
    found: dict[str, str] = {}
    for word in arguments:
        if not word.startswith(_PREFIX):
            words.append(word)
            continue
        name, _, value = word[len(_PREFIX) :].partition("=")
        if name not in _SETTINGS:
            known = ", ".join(_PREFIX + name for name in _SETTINGS)
            raise Usage(f"unknown option '{word}'; known: {known}")
        found[name] = value
    environment = os.environ
    modes = _modes(found["mode"]) if "mode" in found else _modes_of_environment()
    devices = found.get("device") or environment.get("CUTUNE_DEVICE") or DEFAULT_DEVICE
    strict = "strict" in found or environment.get("CUTUNE_STRICT") == "1"
    settings = Settings(
        modes,
        found.get("workspace") or environment.get("CUTUNE_WORKSPACE"),
        tuple(devices.split(",")),
        found.get("nvcc"),
        strict,
    )
    return settings, words


def _modes(text: str) -> frozenset[str]:
    modes = frozenset(text.split(","))
    if not modes <= set(MODES):
        raise Usage(f"unknown mode '{text}'; known: {', '.join(MODES)}")
    if OFF in modes:
        return frozenset()
    if {TUNED, INSTRUMENT} <= modes:
        raise Usage("a program is either instrumented or tuned, not both")
    return modes


def _modes_of_environment() -> frozenset[str]:
    """`$CUTUNE_MODE`; what instrumented programs read there (sweep, record, …) is none of ours."""
    try:
        return _modes(os.environ.get("CUTUNE_MODE") or TUNED)
    except Usage:
        return frozenset([TUNED])


def something_to_do(command: Command, settings: Settings) -> bool:
    """May this call differ from nvcc's? Looks at files, but opens none that is long."""
    if EMULATED in settings.modes and (command.makes_host_code or command.links):
        return True
    if not command.makes_host_code:
        return False
    if INSTRUMENT in settings.modes:
        return any(_may_launch(item.value) for item in command.sources)
    if TUNED in settings.modes:
        return any(has_models(command, item, settings.workspace) for item in command.sources)
    return False


def _may_launch(path: str) -> bool:
    """Holds the file a launch or a kernel, or includes it something that might?"""
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return False  # nvcc says it
    return any(word in text for word in (b"<<<", b"include", b"__global__"))


def has_models(command: Command, source: Item, workspace: str | None) -> bool:
    """Is there a workspace with models that may be of this source, or of others by its kernels?"""
    folders = workspaces_of(source.value, workspace)
    if not folders:
        return False
    places = [os.path.join(UNITS, unit_key(command, source)), ""]
    files = [*(os.path.join(place, "models.json") for place in places)]
    files.append(os.path.join(places[0], LENDS))
    return any(os.path.exists(os.path.join(folder, file)) for folder in folders for file in files)


def workspaces_of(path: str, workspace: str | None) -> list[str]:
    """The workspaces of a source: the one asked for, or all beside it and above it.

    Behind these, those in the current folder and above it, where `cutune tune` may have been called
    for sources that lie elsewhere.
    """
    if workspace:
        return [workspace]
    own = os.path.dirname(os.path.abspath(path))
    try:
        current = os.getcwd()
    except OSError:  # it has been deleted
        current = own
    places = [os.path.join(folder, WORKSPACE) for folder in (*_upwards(own), *_upwards(current))]
    return [place for place in dict.fromkeys(places) if os.path.isdir(place)]


def _upwards(folder: str) -> list[str]:
    """A folder and all above it."""
    found = [folder]
    while (above := os.path.dirname(folder)) != folder:
        found.append(folder := above)
    return found
