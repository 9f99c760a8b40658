"""Architectures that a source is compiled for. Takes nvcc's options and devices, gives targets."""

from __future__ import annotations

import re
from collections.abc import Iterable

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
