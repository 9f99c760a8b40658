"""CUDA's headers in one file: most of what a preprocessor takes is to find a hundred of them.

Takes nvcc and options, gives a folder with `flat.h`, which `left_out.h` includes. Where that knows
the kind of pass, it holds what the headers come to, token for token, with all that they define.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cutune.toolchain.nvcc import Nvcc, host_pass_flags, target_flags

#: Compute capabilities that many tests compile for; none: the pass of the host.
ARCHITECTURES = ("", "75", "80", "90")
#: Under what else the headers say something different.
_OTHERWISE = (
    *("__OPTIMIZE__", "NDEBUG", "_OPENMP", "_FORTIFY_SOURCE", "__CUDACC_RDC__", "__CUDACC_DEBUG__"),
    *("__CUDACC_EXTENDED_LAMBDA__", "CUDA_API_PER_THREAD_DEFAULT_STREAM"),
    *("__CUDA_ARCH_SPECIFIC__", "__CUDA_ARCH_FAMILY_SPECIFIC__", "__CUDA_ARCH_FEAT_SM90_ALL"),
)
_STANDARD = "__cplusplus == 201402L && defined __STRICT_ANSI__ && defined __EXCEPTIONS"
_MARKER = re.compile(r'# \d+ "([^"]*)"')
#: What comes from elsewhere comes in any case: from the command, and the header that includes ours.
_INCLUDER = "/left_out.h"
_DEFINED_ANYWAY = (_INCLUDER, "<built-in>", "<command-line>", "empty.cu")


def write_flat_headers(nvcc: Nvcc, flags: Sequence[str], folder: Path) -> None:
    """Write `flat.h` and its parts."""
    empty = folder / "empty.cu"
    empty.touch()
    known = " && ".join([_STANDARD, *(f"!defined {name}" for name in _OTHERWISE)])
    lines = [f"#if {known}"]
    for architecture in ARCHITECTURES:
        options = target_flags(flags, architecture) if architecture else host_pass_flags(flags)
        text = nvcc.preprocess(empty, flags, [*options, "-E", "-Xcompiler", "-dD"])
        part = folder / f"flat_{architecture or 'host'}.h"
        part.write_text("\n".join(["#define __FLAT_HEADERS__", *_flat(text)]) + "\n")
        asked = f"__CUDA_ARCH__ == {architecture}0" if architecture else "!defined __CUDA_ARCH__"
        lines += [f"#if {asked}", f'#include "{part.name}"', "#endif"]
    (folder / "flat.h").write_text("\n".join([*lines, "#endif"]) + "\n")


def _flat(text: str) -> Iterator[str]:
    """The lines that headers have preprocessed to; of their places only the names of files."""
    file = named = ""
    has_begun = False
    for line in filter(str.strip, text.split("\n")):
        if (marker := _MARKER.match(line)) is not None:
            file = marker[1]
            has_begun |= file.endswith(_INCLUDER)
        elif has_begun and not file.endswith(_DEFINED_ANYWAY):
            if file != named:
                yield f'# 1 "{file}" 3'
                named = file
            yield line
