"""GPUs by their names. Takes what the driver lists and what may be seen of it, gives names."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import run_to_end

VISIBLE = "CUDA_VISIBLE_DEVICES"
#: So long the driver is asked for its GPUs.
_ASKED_SECONDS = 60.0
#: `GPU 0: NVIDIA H200 (UUID: GPU-0123)`.
_LISTED = re.compile(r"GPU \d+: (.*?)(?: \(UUID: (.*)\))?$")


def gpus_here() -> list[tuple[str, str]]:
    """Return name and UUID of each GPU of this machine; none where they are not known."""
    if shutil.which("nvidia-smi") is None:
        return []
    ended = run_to_end(["nvidia-smi", "-L"], os.environ, _ASKED_SECONDS)
    matches = map(_LISTED.match, ended.output_text.splitlines())
    return [(match[1], match[2] or "") for match in matches if match is not None]


def gpu_names() -> list[str]:
    """Return the names of the GPUs of this machine; none where they are not known."""
    return [name for name, _ in gpus_here()]


def visible_gpus(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return the names of those that this process may use; a part of a GPU has its name."""
    listed = gpus_here()
    words = [word for word in environment.get(VISIBLE, "").split(",") if word]
    named = [name for word in words if (name := _named(word, listed)) is not None]
    return named if words and len(named) == len(words) else [name for name, _ in listed]


def _named(word: str, listed: Sequence[tuple[str, str]]) -> str | None:
    if word.isascii() and word.isdigit():
        return listed[int(word)][0] if int(word) < len(listed) else None
    return next((name for name, uuid in listed if uuid.startswith(word)), None)


def check_gpus(words: Sequence[str]) -> None:
    """Check that the GPUs of `--gpus` are there.

    Raises:
        CutuneError: CT421 without any, CT838 for one that is not there.
    """
    listed = gpu_names()
    if not listed:
        raise CutuneError(Diagnostic.at(Code.REGIONS_NEED_GPU, None))
    for word in words:
        if word.isdigit() and int(word) >= len(listed):
            names = ", ".join(f"{number} ({name})" for number, name in enumerate(listed))
            raise CutuneError(Diagnostic.at(Code.NO_SUCH_GPU, None, number=word, known=names))
