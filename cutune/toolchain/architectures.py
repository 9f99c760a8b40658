"""Architectures that a source is compiled for. Takes nvcc's options and devices, gives targets.

Loads little, so that nvcc may be at work while what reads its output is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from cutune.toolchain.device_code import ptx
from cutune.toolchain.nvcc import Nvcc

#: What the emulated device runs, whatever GPU is modelled.
EMULATED = "sm_80"
_TARGET = re.compile(r"\b(?:compute|sm|lto)_(\d+[af]?)\b")


def targets(flags: Iterable[str], devices: Iterable[str], nvcc: Nvcc) -> tuple[str, ...]:
    """Architectures to prove for: those of the flags, and of devices (`sm_90`).

    Without any in the flags, nvcc's own default; it is named by an empty text.
    """
    words = [word for flag in flags if "_" in flag for word in _TARGET.findall(flag)]
    named = words or [""]
    if any("=all" in flag or flag in ("all", "all-major") for flag in flags):
        named = [str(code) for code in nvcc.architectures]
    known = [nvcc.architecture(device).removeprefix("sm_") for device in devices]
    return tuple(dict.fromkeys((*named, *known)))


@dataclass(frozen=True)
class Begun:
    """nvcc at work on a source: it is `expanded` for the host, and compiled for architectures."""

    path: str
    flags: tuple[str, ...]
    expanded: Future[str]
    texts: Mapping[str, Future[str]]

    @staticmethod
    def at(nvcc: Nvcc, path: str, flags: Sequence[str], devices: Iterable[str]) -> Begun:
        """Begin."""
        known = targets(flags, devices, nvcc)
        pool = ThreadPoolExecutor(1 + len(known))
        expanded = pool.submit(nvcc.preprocess, path, flags)
        texts = {one: pool.submit(ptx, nvcc, path, flags, one) for one in known}
        pool.shutdown(wait=False)
        return Begun(path, tuple(flags), expanded, texts)

    def is_of(self, path: str, flags: Sequence[str]) -> bool:
        """Is it what somebody wants now?"""
        return (path, tuple(flags)) == (self.path, self.flags)

    def wait(self) -> None:
        """Until all of it has ended, well or not."""
        for future in (self.expanded, *self.texts.values()):
            future.exception()
