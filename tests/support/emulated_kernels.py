"""Builds the programs of tests/corpus/kernels in a folder, and finds what their PTX must not hold.

A program prints `kernel hash` for each of its kernels (`kernels.h`). Programs for the emulated
device and for a GPU are made of the same PTX, so that both execute the same operations.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cutune.toolchain.nvcc import Nvcc

SOURCES = tuple(sorted((Path(__file__).parents[1] / "corpus" / "kernels").glob("*.cu")))

_KERNEL = re.compile(r"^(?:KERNEL|BOTH|DEVICE)\((\w+)", re.MULTILINE)
_ENTRY = re.compile(r"\.entry\s+_Z(\d+)(\w+)")
_UNDEFINED = re.compile(
    r"^\s*(?:@!?%\w+\s+)?(\w[\w.]*\.(?:approx|full)\b[\w.]*|(?:ex2|lg2|sin|cos|tanh)\.[\w.]+)\s",
    re.MULTILINE,
)
_ROUNDED_FREELY = re.compile(r"\b(mul|add|sub)((?:\.ftz)?\.(?:bf16|f16|f32|f64)\w*)\s+([^;]+);")
#: A reciprocal that the quotient of two integers starts from, and that it corrects.
CORRECTED = {("quotients_128", "rcp.approx.f32")}


def kernels_of(source: Path) -> list[str]:
    """The kernels of a program in the order in which it runs them."""
    return _KERNEL.findall(source.read_text(encoding="utf-8"))


def build(nvcc: Nvcc, source: Path, folder: Path, flags: Sequence[str]) -> Path:
    """The program, in a folder that keeps its PTX, too."""
    program = folder / source.stem
    nvcc.check([str(source), *flags, "-keep", "-keep-dir", str(folder), "-o", str(program)])
    return program


def undefined_operations(ptx: str) -> Iterator[tuple[str, str]]:
    """Kernels, and their instructions of which PTX leaves the result open.

    These are approximations, and sums of products where neither names its rounding: an assembler
    may contract them.
    """
    kernel, products = "", set[str]()
    for line in ptx.splitlines():
        if found := _ENTRY.search(line):
            kernel, products = found[2][: int(found[1])], set()
        elif (match := _UNDEFINED.match(line)) and (kernel, match[1]) not in CORRECTED:
            yield kernel, match[1]
        elif free := _ROUNDED_FREELY.search(line):
            result, *operands = (word.strip() for word in free[3].split(","))
            if free[1] == "mul":
                products.add(result)
            elif not products.isdisjoint(operands):
                yield kernel, free[1] + free[2]


def hashes(output: str) -> dict[str, str]:
    """The output of a program."""
    return dict(line.split() for line in output.splitlines())
