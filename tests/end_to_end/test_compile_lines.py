"""What is said of how to compile an output works as it stands, in the shell of the reader."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from cutune.toolchain.nvcc import find_nvcc
from tests.support.cutune_runs import cutune
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc
HEADER = """\
#pragma once
__global__ void scale(int n, float *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] *= FACTOR;
}
"""
STEP = "inline void step(int n, float *a) { scale<<<(n + 127) / 128, 128>>>(n, a); }\n"
MAIN = "int main() { float *a; cudaMalloc(&a, 4000); %s; return cudaDeviceSynchronize(); }\n"
OWN = '#include "scale.h"\n' + MAIN % "scale<<<8, 128>>>(1000, a)"
IN_HEADER = '#include "step.h"\n' + MAIN % "step(1000, a)"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A launch in a source, and one in a header; both need a folder of headers and a macro."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "an include").mkdir()
    (tmp_path / "an include/scale.h").write_text(HEADER)
    (tmp_path / "an include/step.h").write_text(f'#include "scale.h"\n{STEP}')
    (tmp_path / "src/own.cu").write_text(OWN)
    (tmp_path / "src/in_header.cu").write_text(IN_HEADER)
    (tmp_path / "out").mkdir()
    return tmp_path


@pytest.mark.long
@pytest.mark.parametrize("verb", ["instrument", "emit --choose random:1"])
@pytest.mark.parametrize(
    ("source", "output"),
    [("own", "src/own.new.cu"), ("own", "out/own.cu"), ("in_header", "out/tree/")],
)
def test_the_line_that_is_said(project: Path, verb: str, source: str, output: str) -> None:
    words = (f"src/{source}.cu", "-o", output, STANDARD, "-DFACTOR=2", "-Ian include")
    done = cutune(*verb.split(), *words)
    assert done.returncode == 0, done.stderr
    (line,) = re.findall(r"^compile it with: nvcc (.*)$", done.stderr, re.MULTILINE)
    nvcc = shlex.quote(str(find_nvcc().path))
    made = subprocess.run(
        f"{nvcc} -arch={find_nvcc().architecture()} {line}",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    binary = Path(shlex.split(line)[-1])
    assert binary.is_file()
    (place,) = (word for word in shlex.split(line) if word.endswith(".cu"))
    assert "cutune" in Path(place).read_text() or source == "in_header"


def test_standard_output_says_what_it_needs(project: Path) -> None:
    words = ("src/own.cu", STANDARD, "-DFACTOR=2", "-Ian include")
    done = cutune("instrument", *words)
    (flag,) = re.findall(r"^compile it with: (.*)$", done.stderr, re.MULTILINE)
    (project / "out.cu").write_text(done.stdout)
    find_nvcc().check([STANDARD, "-DFACTOR=2", "-Ian include", flag, "-c", "out.cu"])
