"""Builds the libraries that come with a wheel: takes this machine's nvcc, fills `emulator/built`.

    python build_device.py

They run on any processor of this kind (x86-64-v3 on Intel's and AMD's). setup.py then names the
platform in the wheel. `--remove` leaves none.
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
from collections.abc import Sequence

from cutune.core.diagnostics import CutuneError
from cutune.emulator.build import (
    ABOUT,
    FOLDER,
    MACHINE,
    build_library,
    digest_of_sources,
    machine_sources,
    minor_version,
)
from cutune.emulator.link import PROCESSOR, build_redirect_library, build_runtime_library
from cutune.toolchain.nvcc import find_nvcc

#: Twice 256 bits at a time do what 512 do.
_PROCESSORS = {"x86_64": ("-march=x86-64-v3", "-mprefer-vector-width=256")}


def build_in(processor: Sequence[str]) -> None:
    """Fill the folder; `processor` are the compiler's flags for it.

    Raises:
        CutuneError: without nvcc or a compiler, or when it fails.
    """
    nvcc = find_nvcc(None)
    machine = build_library(MACHINE, machine_sources(), (), processor=processor)
    runtime = build_runtime_library(nvcc, machine.parent, "$ORIGIN", "", "", processor)
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    libraries = [machine, runtime]
    if platform.machine() == PROCESSOR:
        libraries.append(build_redirect_library(nvcc, processor))
    for library in libraries:
        shutil.copy(library, FOLDER)
    about = {
        "processor": platform.machine(),
        "toolkit": minor_version(nvcc.version),
        "sources": digest_of_sources(),
    }
    (FOLDER / ABOUT).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def main(words: Sequence[str]) -> int:
    """Exit status 1 where it fails, with the reason."""
    if words == ["--remove"]:
        shutil.rmtree(FOLDER, ignore_errors=True)
        return 0
    try:
        build_in(_PROCESSORS.get(platform.machine(), ()))
    except CutuneError as error:
        print(error.diagnostic.render(), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
