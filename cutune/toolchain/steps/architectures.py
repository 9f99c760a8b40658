"""Architectures that a source is compiled for. Takes nvcc's options and devices, gives targets.

Loads little, so that nvcc may be at work while what reads its output is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from cutune.toolchain.nvcc import Nvcc
from cutune.toolchain.steps.device_code import DeviceCode, compiled
from cutune.toolchain.steps.preprocessed import host_pass

#: What the emulated device runs, whatever GPU is modelled.
EMULATED = "sm_80"
_TARGET = re.compile(r"\b(?:compute|sm|lto)_(\d+[af]?)\b")


def targets(flags: Iterable[str], devices: Iterable[str], nvcc: Nvcc) -> tuple[str, ...]:
    """Return the architectures to prove for: those of the flags, and of devices (`sm_90`).

    Without any in the flags, nvcc's own default; it is named by an empty text.
    """
    words = [word for flag in flags if "_" in flag for word in _TARGET.findall(flag)]
    named = words or [""]
    if any("=all" in flag or flag in ("all", "all-major") for flag in flags):
        named = [str(code) for code in nvcc.architectures]
    of_devices = [nvcc.architecture(device).removeprefix("sm_") for device in devices]
    return tuple(dict.fromkeys((*named, *of_devices)))


def code_for(
    architecture: str,
    nvcc: Nvcc,
    path: str,
    flags: Sequence[str],
    tell: Callable[[str], None] = lambda text: None,
) -> DeviceCode:
    """Compile as `compiled` does; code that the emulated device runs is for programs, too."""
    return compiled(nvcc, path, flags, architecture, f"sm_{architecture}" == EMULATED, tell)


@dataclass(frozen=True)
class Begun:
    """nvcc at work on a source: it is `expanded` for the host, and compiled for architectures.

    `passes`: the preprocessor's output for each of these, once it is there.
    """

    path: str
    flags: tuple[str, ...]
    expanded: Future[str]
    codes: Mapping[str, Future[DeviceCode]]
    passes: Mapping[str, Future[str]]

    @staticmethod
    def at(nvcc: Nvcc, path: str, flags: Sequence[str], devices: Iterable[str]) -> Begun:
        architectures = targets(flags, devices, nvcc)
        pool = ThreadPoolExecutor(1 + len(architectures))
        expanded = pool.submit(host_pass, nvcc, path, flags)
        passes: dict[str, Future[str]] = {one: Future() for one in architectures}
        codes = {}
        for one, told in passes.items():
            codes[one] = pool.submit(code_for, one, nvcc, path, flags, told.set_result)
            codes[one].add_done_callback(partial(_end, told))
        pool.shutdown(wait=False)
        return Begun(path, tuple(flags), expanded, codes, passes)

    def is_of(self, path: str, flags: Sequence[str]) -> bool:
        """Was it begun for this source and these flags?"""
        return (path, tuple(flags)) == (self.path, self.flags)

    def wait(self) -> None:
        """Wait until all of it has ended, well or not."""
        self.expanded.exception()
        for code in self.codes.values():
            code.exception()

    def device_pass(self, architecture: str) -> str | None:
        """The preprocessor's output for an architecture; None where it is not known."""
        told = self.passes.get(architecture)
        return None if told is None or told.exception() is not None else told.result()


def _end(told: Future[str], code: Future[DeviceCode]) -> None:
    """End the waiting for output that was not told."""
    if not told.done():
        told.set_exception(LookupError())
