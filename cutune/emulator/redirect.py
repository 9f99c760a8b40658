"""The library that redirects NVIDIA's static runtime, and NVRTC, to the emulated device.

Takes an nvcc, gives the variables by which the dynamic linker loads it beside a program. What it
does stands in native/redirect.cpp.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.progress import Progress, silent
from cutune.emulator import build, link
from cutune.toolchain.nvcc import Nvcc

LIBRARY = "cutune_redirect"
#: It writes instructions of this processor.
PROCESSOR = "x86_64"
#: It lies beside every program that the user's starts, and brings no C++ library into them.
_FLAGS = ("-fno-exceptions", "-fno-rtti")
_LINKING = ("-Wl,--as-needed,-z,nodelete",)


def redirecting_environment(nvcc: Nvcc, progress: Progress = silent) -> dict[str, str]:
    """Variables by which static runtimes of NVIDIA's are redirected. Raises CT007, CT450."""
    if platform.machine() != PROCESSOR:
        return {}
    library = build.built_in_library(LIBRARY, nvcc.version)
    if library is None:
        library = build_redirect_library(nvcc, progress=progress)
    audited = [str(library), *filter(None, [os.environ.get("LD_AUDIT")])]
    runtime = link.runtime_library(nvcc, progress)
    libraries = str(link.alias_folder(nvcc))
    return {
        "LD_AUDIT": ":".join(audited),
        "CUTUNE_CUDART": str(runtime),
        "CUTUNE_LIBRARIES": libraries,
    }


def build_redirect_library(
    nvcc: Nvcc, processor: Sequence[str] = build.MACHINE_FLAGS, progress: Progress = silent
) -> Path:
    """Build it for runtimes of this nvcc's CUDA."""
    major = nvcc.version.split(".")[0]
    found, offered = "the runtime of CUDA %d", f"that of CUDA {major}"
    said = Diagnostic.at(Code.OTHER_CUDART, path="%s", found=found, offered=offered)
    texts = {"other_runtime_text": said.render().removeprefix("cutune: ")}
    sources = (build.NATIVE / "redirect.cpp", link.constants("redirect_texts.cpp", texts))
    flags = (*_FLAGS, f"-DCUTUNE_CUDA={major}")
    return build.build_library(LIBRARY, sources, flags, _LINKING, processor, progress)
