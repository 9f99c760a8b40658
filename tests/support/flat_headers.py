"""CUDA's headers in one file: most of what a preprocessor takes is to find a hundred of them.

Takes nvcc and options, gives a folder with `flat.h`, which `left_out.h` includes. Where that knows
the kind of pass, it holds what the headers come to, token for token, with all that they define;
unless they are to be whole, without declarations that few programs need.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, Nvcc, host_pass_flags, target_flags
from tests.support.needed_declarations import needed_lines

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
_FILE_OF_C = re.compile(r'^# \d+ "([^"]*/cstdlib)"', re.MULTILINE)
#: What comes from elsewhere comes in any case: from the command, and the header that includes ours.
_INCLUDER = "/left_out.h"
_DEFINED_ANYWAY = (_INCLUDER, "<built-in>", "<command-line>", "empty.cu")
#: Where they are.
_INTRINSICS = "/crt/device_functions.h"
_ROOT = Path(__file__).parents[2]
#: Whose programs have the declarations that they name.
_PROGRAMS = (_ROOT / "samples", _ROOT / "cutune" / "passes", INCLUDE_DIRECTORY)
#: What several tests name besides; few others are worth what each program pays for a declaration.
#: A program that has "undefined" names for want of one asks for `all_declarations`.
_NAMED = re.compile(
    r"atomic\w+|__(?:shfl_xor|shfl_down|ballot|activemask|sync|threadfence)\w*|__(?:popc|ffs|clz|brev)"
    r"|(?:make_)?(?:float|double|u?int)[24]"
    r"|__(?:float|u?int)_as_(?:float|u?int)|__u?mul(?:24|hi)"
    r"|cuda(?:GetErrorName|Memcpy(?:To|From)Symbol)"
    # What compilers look for by themselves.
    r"|__cuda\w+|\w+_t|_Float\w+|_IS\w+"
)


def write_flat_headers(nvcc: Nvcc, flags: Sequence[str], folder: Path, is_whole: bool) -> None:
    """Write `flat.h`, `intrinsics.h`, which mathematics asks for, and their parts."""
    empty = folder / "empty.cu"
    empty.touch()
    words = _words_of_all(nvcc)
    for architecture in ARCHITECTURES:
        options = target_flags(flags, architecture) if architecture else host_pass_flags(flags)
        text = nvcc.preprocess(empty, flags, [*options, "-E", "-Xcompiler", "-dD"])
        flat = [*_flat(text)]
        kept: Iterable[str] = flat
        if not is_whole:
            kept = needed_lines(flat, _asked(words | _of_namespace(text)), _is_trimmed)
        parts = {"flat": ["#define __FLAT_HEADERS__", *kept], "intrinsics": _intrinsics(flat)}
        for name, lines in parts.items():
            part = folder / f"{name}_{architecture or 'host'}.h"
            part.write_text("\n".join(lines) + "\n")
    kinds = " && ".join([_STANDARD, *(f"!defined {name}" for name in _OTHERWISE)])
    for name in ("flat", "intrinsics"):
        lines = [f"#if {kinds}"]
        for one in ARCHITECTURES:
            asked = f"__CUDA_ARCH__ == {one}0" if one else "!defined __CUDA_ARCH__"
            lines += [f"#if {asked}", f'#include "{name}_{one or "host"}.h"', "#endif"]
        (folder / f"{name}.h").write_text("\n".join([*lines, "#endif"]) + "\n")


def _intrinsics(flat: Iterable[str]) -> list[str]:
    """The declarations of functions that CUDA's mathematics calls: once more, as some were left."""
    lines: list[str] = []
    is_there = False
    for line in flat:
        if line.startswith("# "):
            if "{" in lines:
                break
            lines, is_there = [], _INTRINSICS in line
        elif is_there and not line.startswith("#"):
            lines.append(line)
    return lines


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


def _is_trimmed(file: str) -> bool:
    """Is a header one of CUDA, or of C? Others have few declarations that nobody needs."""
    return "/c++/" not in file and "/gcc/" not in file


def _asked(words: frozenset[str]) -> Callable[[str], bool]:
    """Is a declaration of a name needed, whatever the others are?"""
    return lambda name: name in words or bool(_NAMED.fullmatch(name))


def _words_of_all(nvcc: Nvcc) -> frozenset[str]:
    """What programs name, and what nvcc adds to them."""
    own = (path for folder in _PROGRAMS for path in folder.rglob("*.*") if path.is_file())
    stubs = (folder / "crt" / "host_runtime.h" for folder in nvcc.include_directories)
    return frozenset(word for path in (*own, *filter(Path.exists, stubs)) for word in _words(path))


def _of_namespace(text: str) -> frozenset[str]:
    """What the C++ library's headers, such as <cstdlib>, take from those of C into `std`."""
    folders = {Path(file).parent for file in _FILE_OF_C.findall(text)}
    headers = (path for folder in folders for path in folder.glob("c*") if path.is_file())
    return frozenset(word for path in headers for word in _words(path))


def _words(path: Path) -> list[str]:
    return re.findall(r"\w+", path.read_text(encoding="latin-1"))
