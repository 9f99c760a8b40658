"""Settings of `cutune nvcc`: its `--cutune-` options and the environment.

Takes the arguments after `cutune nvcc`; gives `Settings` and the words that are nvcc's own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from cutune.toolchain.device.present import default_device

TUNED, INSTRUMENT, EMULATED, OFF = "tuned", "instrument", "emulated", "off"
MODES = (TUNED, INSTRUMENT, EMULATED, OFF)
WORKSPACE = ".cutune"
_PREFIX = "--cutune-"
_SETTINGS = ("mode", "workspace", "device", "nvcc", "strict", "variants")
#: May launches choose among variants of their kernels, too? As `cutune tune --variants`.
ALL, NONE = "all", "none"
#: Variable that says so.
VARIANTS = "CUTUNE_VARIANTS"


class Settings(NamedTuple):
    """The values of the `--cutune-` options and of the environment."""

    modes: frozenset[str]
    workspace: str | None
    devices: tuple[str, ...]
    nvcc: str | None
    strict: bool
    variants: bool


class Usage(Exception):
    """A `--cutune-` option is wrong: what is said, a name that is not known, and those that are."""

    def __init__(self, said: str, name: str = "", known: Sequence[str] = ()) -> None:
        super().__init__(said)
        self.name, self.known = name, known


def read_settings(arguments: Sequence[str]) -> tuple[Settings, list[str]]:
    """The `--cutune-` options, wherever they stand, and the other words.

    Raises:
        Usage: an option, or a value of one, that does not exist.
    """
    words: list[str] = []
    found: dict[str, str] = {}
    for word in arguments:
        if not word.startswith(_PREFIX):
            words.append(word)
            continue
        name, _, value = word[len(_PREFIX) :].partition("=")
        if name not in _SETTINGS:
            known = [_PREFIX + name for name in _SETTINGS]
            raise Usage(f"unknown option '{word}'", word.partition("=")[0], known)
        found[name] = value
    environment = os.environ
    modes = _modes(found["mode"]) if "mode" in found else _modes_of_environment()
    devices = found.get("device") or default_device()
    strict = "strict" in found or environment.get("CUTUNE_STRICT") == "1"
    settings = Settings(
        modes,
        found.get("workspace") or environment.get("CUTUNE_WORKSPACE"),
        tuple(devices.split(",")),
        found.get("nvcc"),
        strict,
        _variants(found["variants"]) if "variants" in found else environment.get(VARIANTS) != NONE,
    )
    return settings, words


def _variants(text: str) -> bool:
    if text not in (ALL, NONE):
        raise Usage(f"unknown value of --cutune-variants '{text}'", text, (ALL, NONE))
    return text == ALL


def _modes(text: str) -> frozenset[str]:
    modes = frozenset(text.split(","))
    if not modes <= set(MODES):
        wrong = next(mode for mode in text.split(",") if mode not in MODES)
        raise Usage(f"unknown mode '{wrong}'", wrong, MODES)
    if OFF in modes:
        return frozenset()
    if {TUNED, INSTRUMENT} <= modes:
        raise Usage("a program is either instrumented or tuned, not both")
    return modes


def _modes_of_environment() -> frozenset[str]:
    """`$CUTUNE_MODE`; words for instrumented programs (sweep, record, …) are skipped."""
    try:
        return _modes(os.environ.get("CUTUNE_MODE") or TUNED)
    except Usage:
        return frozenset([TUNED])


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
