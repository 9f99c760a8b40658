"""CUDA's headers in one file: most of what a preprocessor takes is to find a hundred of them.

Takes nvcc and options, gives a folder with `flat.h`, which `left_out.h` includes. Where that knows
the kind of pass, it holds what the headers come to, token for token, with all that they define, but
for declarations of CUDA's that no program of ours needs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path

from cutune.toolchain.nvcc import INCLUDE_DIRECTORY, Nvcc, host_pass_flags, target_flags
from tests.support.needed_declarations import needed_lines

#: Compute capabilities that many tests compile for; none: the pass of the host.
ARCHITECTURES = ("", "75", "80", "90")
#: Kinds of passes, by the level to which the host's code is optimised besides.
KINDS = tuple(product(ARCHITECTURES, ("", "-O1")))
#: Under what else the headers say something different.
_OTHERWISE = (
    *(
        "__OPTIMIZE_SIZE__",
        "NDEBUG",
        "_OPENMP",
        "_FORTIFY_SOURCE",
        "__CUDACC_RDC__",
        "__CUDACC_DEBUG__",
    ),
    *("__CUDACC_EXTENDED_LAMBDA__", "CUDA_API_PER_THREAD_DEFAULT_STREAM"),
    *("__CUDA_ARCH_SPECIFIC__", "__CUDA_ARCH_FAMILY_SPECIFIC__", "__CUDA_ARCH_FEAT_SM90_ALL"),
)
#: A program that they have to compile, or they are whole.
_PROBE = """#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>
__global__ void fill(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = sqrtf(warpSize); }
int main() { fill<<<1, dim3(64)>>>(nullptr, 0); return cudaDeviceSynchronize(); }
"""
_STANDARD = "__cplusplus == 201402L && defined __STRICT_ANSI__ && defined __EXCEPTIONS"
_MARKER = re.compile(r'# \d+ "([^"]*)"')
#: What comes from elsewhere comes in any case: from the command, and the header that includes ours.
_INCLUDER = "/left_out.h"
_DEFINED_ANYWAY = (_INCLUDER, "<built-in>", "<command-line>", "empty.cu")
#: Where they are.
_INTRINSICS = "/crt/device_functions.h"
_ROOT = Path(__file__).parents[2]
#: Where programs are, which have the declarations that they name, and what comes before them.
_PROGRAMS = (*(_ROOT / name for name in ("samples", "passes", "tests", "docs")), INCLUDE_DIRECTORY)
_ENDINGS = (".py", ".cu", ".cuh", ".h", ".cpp", ".md", ".ipynb")
#: What compilers look for by themselves, and names that tests put together.
_NAMED = re.compile(r"__cuda\w+|\w+_t|atomic\w+|__shfl\w*|(?:make_)?(?:float|double|u?int)[1-4]")


def write_flat_headers(
    nvcc: Nvcc, flags: Sequence[str], folder: Path, is_whole: bool = False
) -> None:
    """Write `flat.h`, `intrinsics.h`, which mathematics asks for, and their parts.

    `is_whole`: with all declarations. So they are, too, whatever may be wrong with headers of which
    some is left out.
    """
    texts = {name: [*_flat(text)] for name, text in _preprocessed(nvcc, flags, folder)}
    if not is_whole:
        _write(texts, _with_needed(nvcc, texts), folder)
    if is_whole or not _is_compiled(nvcc, flags, folder):
        _write(texts, texts, folder)


def _preprocessed(nvcc: Nvcc, flags: Sequence[str], folder: Path) -> Iterator[tuple[str, str]]:
    """What each kind of pass sees, by its name."""
    empty = folder / "empty.cu"
    empty.touch()
    for architecture, level in KINDS:
        words = [*flags, *filter(None, [level])]
        options = target_flags(words, architecture) if architecture else host_pass_flags(words)
        text = nvcc.preprocess(empty, words, [*options, "-E", "-Xcompiler", "-dD"])
        yield _name(architecture, level), text


def _name(architecture: str, level: str) -> str:
    return (architecture or "host") + ("_optimized" if level else "")


def _with_needed(nvcc: Nvcc, texts: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    words = _words_of_all(nvcc)
    is_of_cuda = _is_under(nvcc.include_directories)

    def is_asked(name: str) -> bool:
        return name in words or bool(_NAMED.fullmatch(name))

    return {name: [*needed_lines(lines, is_asked, is_of_cuda)] for name, lines in texts.items()}


def _write(
    texts: Mapping[str, Sequence[str]], kept: Mapping[str, Sequence[str]], folder: Path
) -> None:
    for name, lines in texts.items():
        parts = {
            "flat": ["#define __FLAT_HEADERS__", *kept[name]],
            "intrinsics": _intrinsics(lines),
        }
        for kind, part in parts.items():
            (folder / f"{kind}_{name}.h").write_text("\n".join(part) + "\n")
    for kind in ("flat", "intrinsics"):
        (folder / f"{kind}.h").write_text(_chosen(kind))


def _chosen(kind: str) -> str:
    """A header that includes what the kind of pass asks for, where that is known."""
    kinds = " && ".join([_STANDARD, *(f"!defined {name}" for name in _OTHERWISE)])
    lines = [f"#if {kinds}"]
    for one, level in KINDS:
        asked = f"__CUDA_ARCH__ == {one}0" if one else "!defined __CUDA_ARCH__"
        asked += " && " + ("defined" if level else "!defined") + " __OPTIMIZE__"
        lines += [f"#if {asked}", f'#include "{kind}_{_name(one, level)}.h"', "#endif"]
    return "\n".join([*lines, "#endif"]) + "\n"


def _is_compiled(nvcc: Nvcc, flags: Sequence[str], folder: Path) -> bool:
    """Do all kinds of passes compile a program that includes what many programs do?"""
    probe = folder / "probe.cu"
    probe.write_text(_PROBE)
    targets = (f"arch=compute_{one},code=compute_{one}" for one in ARCHITECTURES if one)
    options = [word for target in targets for word in ("-gencode", target)]
    command = [*("-isystem", str(folder)), *flags, *options, "-c", str(probe)]
    command += ["-o", str(folder / "probe.o")]
    return all(nvcc.run([*command, *level]).returncode == 0 for level in ((), ("-O1",)))


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


def _is_under(folders: Iterable[Path]) -> Callable[[str], bool]:
    """Is a header CUDA's? Those of C rely on each other, by ways that are each system's own."""
    resolved = [folder.resolve() for folder in folders]
    return cache(lambda file: any(map(Path(file).resolve().is_relative_to, resolved)))


def _words_of_all(nvcc: Nvcc) -> frozenset[str]:
    """What programs name, and what nvcc adds to them."""
    own = (path for folder in _PROGRAMS for path in folder.rglob("*.*") if path.suffix in _ENDINGS)
    stubs = (folder / "crt" / "host_runtime.h" for folder in nvcc.include_directories)
    return frozenset(word for path in (*own, *filter(Path.exists, stubs)) for word in _words(path))


def _words(path: Path) -> list[str]:
    return re.findall(r"\w+", path.read_text(encoding="latin-1"))
