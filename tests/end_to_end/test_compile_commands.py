"""Compile commands as a user has them: pasted behind a verb, and in a compile_commands.json."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from cutune.toolchain.nvcc import host_compiler
from tests.support.cutune_runs import cutune
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc
PROGRAM = """\
#include <cstdlib>
int twice(int), half(int);
__global__ void scale(int n, float *a)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        a[i] *= FACTOR;
}
int main(int, char **words)
{
    int n = half(twice(atoi(words[1])));
    float *a;
    cudaMalloc(&a, n * sizeof(float));
    scale<<<(n + 127) / 128, 128>>>(n, a);
    return cudaDeviceSynchronize();
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of a source for the device, one for the host, and an object."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.cu").write_text(PROGRAM)
    (tmp_path / "twice.cpp").write_text("int twice(int n) { return 2 * n; }\n")
    (tmp_path / "half.cpp").write_text("int half(int n) { return n / 2; }\n")
    subprocess.run([host_compiler(), "-c", "half.cpp"], check=True)
    return tmp_path


def test_a_pasted_command_is_tuned(folder: Path) -> None:
    command = ["nvcc", "-O1", STANDARD, "-DFACTOR=2", "app.cu", "twice.cpp", "half.o", "-o", "app"]
    runs = ["--run", "{program} {n}", "--vary", "n=1000,3000", "--variants=none", "-q"]
    done = cutune("tune", *runs, "--", *command)
    assert done.returncode == 0, done.stderr
    assert "tuned program: app.tuned.cu" in done.stdout
    assert "cutune_select_scale" in (folder / "app.tuned.cu").read_text()
    assert not (folder / "app").exists()


@pytest.mark.long
@pytest.mark.parametrize("ending", ["txt", "cpp"])
def test_a_source_need_not_be_named_as_one(ending: str, folder: Path) -> None:
    """nvcc is told what it is, wherever cutune calls it."""
    (folder / "app.cu").rename(folder / f"app.{ending}")
    command = ["nvcc", "-x", "cu", STANDARD, "-DFACTOR=2", f"app.{ending}"]
    seen = cutune("inspect", "--", *command)
    assert "1 launch, 1 tunable\n" in seen.stdout, seen.stderr
    text = (folder / f"app.{ending}").read_text()
    (folder / f"app.{ending}").write_text(
        text.replace("half(twice(atoi(words[1])))", "atoi(words[1])")
    )
    runs = ["--run", "{program} {n}", "--vary", "n=1000,3000", "--variants=none", "-q"]
    done = cutune("tune", *runs, "--", *command)
    assert f"tuned program: app.tuned.{ending}" in done.stdout
    again = cutune("emit", "--variants=none", "-q", "--", *command)
    shown = again.stderr.partition("compile it with: ")[2].split("\n")[0].split()
    subprocess.run([*shown[:-2], "-c", "-o", "app.o"], cwd=folder, check=True)


def test_the_output_of_a_command_is_no_place_for_a_source(folder: Path) -> None:
    done = cutune("tune", STANDARD, "-DFACTOR=2", "app.cu", "-o", "app", "--run", "{program} 9")
    assert done.returncode == 2
    assert "-o names a source to write" in done.stderr and "[CT023]" in done.stderr
    assert not (folder / "app").exists()


def test_a_database_says_how_to_compile(folder: Path) -> None:
    """And a launch that has to be tunable decides the status."""
    (folder / "build").mkdir()
    words = ["nvcc", "-O3", STANDARD, "-DFACTOR=2", "-c", "../app.cu", "-o", "app.o"]
    entry = {"directory": str(folder / "build"), "file": "../app.cu", "arguments": words}
    (folder / "build" / "compile_commands.json").write_text(json.dumps([entry]))
    done = cutune("inspect", "build", "--require", "sca*", "--json")
    assert done.returncode == 0, done.stderr
    (launch,) = json.loads(done.stdout)["launches"]
    assert (launch["kernel"], launch["verdict"], launch["file"]) == ("scale", "tunable", "app.cu")
    missing = cutune("inspect", ".", "-DFACTOR=2", "--require", "scael")
    assert missing.returncode == 3
    assert "did you mean 'scale'?" in missing.stderr and "[CT030]" in missing.stderr
    text = PROGRAM.replace("FACTOR;", "FACTOR + clock();")
    (folder / "app.cu").write_text(text)
    refused = cutune("inspect", "build", "--require", "scale", "--sarif")
    assert refused.returncode == 3, refused.stderr
    assert "[CT029]" in refused.stderr
    (result,) = json.loads(refused.stdout)["runs"][0]["results"]
    assert result["level"] == "error"
