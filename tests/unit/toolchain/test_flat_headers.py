"""The headers in one file, which most tests compile with, are token for token those of CUDA."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from cutune.toolchain.nvcc import find_nvcc, host_pass_flags, target_flags
from tests.support.flat_headers import ARCHITECTURES
from tests.support.short_headers import FLAGS_VARIABLE

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("short_headers")]

PROGRAM = """#include <cstdio>
#include <vector>
__global__ void fill(float *a, int n) { if (threadIdx.x < n) a[threadIdx.x] = warpSize; }
int main() { fill<<<1, dim3(64)>>>(nullptr, 0); return cudaDeviceSynchronize(); }
"""


def expanded(path: Path, architecture: str, flags: list[str], *options: str) -> list[str]:
    passed = target_flags(flags, architecture) if architecture else host_pass_flags(flags)
    text = find_nvcc().preprocess(path, flags, [*passed, "-E", *options])
    return [word for line in text.split("\n") if not line.startswith("# ") for word in line.split()]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize(
    "flags", [[], ["-rdc=true"], ["--default-stream=per-thread"], ["-std=c++17"]]
)
def test_it_is_what_the_headers_come_to(
    architecture: str, flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "fill.cu"
    source.write_text(PROGRAM)
    asked = [(), ("-Xcompiler", "-dM")]
    text, macros = (expanded(source, architecture, flags, *one) for one in asked)
    _, _, flat, *others = options = shlex.split(os.environ[FLAGS_VARIABLE])
    assert options[1] == "-isystem" and (Path(flat) / "flat.h").exists()
    assert ("__FLAT_HEADERS__" in macros) == (not flags)
    monkeypatch.setenv(FLAGS_VARIABLE, shlex.join([options[0], *others]))
    expected, expected_macros = (expanded(source, architecture, flags, *one) for one in asked)
    assert text == expected
    assert {*macros} - {"__FLAT_HEADERS__"} == {*expected_macros}
