"""What only a GPU can show: host tunables and blocks chosen by times that were measured on it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from cutune.measure.gpu_sweep import gpu_name
from cutune.toolchain.device.profile import DeviceProfile, profile_names
from cutune.toolchain.nvcc import find_nvcc
from tests.support.aliasing_programs import KINDS, NO_PEERS, PROGRAM, with_variant
from tests.support.cutune_runs import SAMPLES, cutune
from tests.support.short_headers import STANDARD

pytestmark = [pytest.mark.gpu, pytest.mark.nvcc]

TRIDIAGONAL = SAMPLES.parent / "tridiagonal" / "tridiagonal.cu"
M = "tune(m: 4, 5, 8, 10, 16, 20, 25, 32, 40, 64, 100, 128, 256, 512, 1250)"


@pytest.fixture(scope="module")
def profile() -> str:
    """The profile of the GPU at hand."""
    name = gpu_name()[0]
    found = [own for own in profile_names() if DeviceProfile.named(own).name == name]
    if not found:
        pytest.skip(f"no profile of {name}")
    return found[0]


def done(*arguments: object) -> str:
    """`cutune ARGUMENTS`, which has to end well."""
    result = cutune(*arguments, "-q")
    assert result.returncode == 0, result.stderr
    return result.stdout


def verbose(source: Path, *arguments: object) -> str:
    """What a tuned program says of its choices."""
    binary = source.with_suffix("")
    find_nvcc().check(["-O2", f"-I{SAMPLES}", str(source), "-o", str(binary)])
    result = subprocess.run(
        [binary, *map(str, arguments)],
        env={**os.environ, "CUTUNE": "verbose"},
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stderr


def test_host_tunables_are_timed_and_chosen(profile: str, tmp_path: Path) -> None:
    """4 rows per thread leave half of the system to the host: 64 are faster."""
    source, tuned = tmp_path / "solver.cu", tmp_path / "tuned.cu"
    source.write_text(TRIDIAGONAL.read_text().replace(M, "tune(m: 4, 64)"))
    run = ("--run", "{program} --repeat 3 {n}", "--vary", "n=400000,4000000")
    said = done("collect", source, "--tunables", "m", "--on", "gpu", *run, "--device", profile)
    assert "4 configurations timed" in said
    assert "m = 64" in done("fit", source, "--model", "neighbours")
    done("emit", source, "-o", tuned, "--device", profile)
    assert "cutune: m = 64 for N = 1000000, R = 0" in verbose(tuned, 1_000_000)


def test_host_tunables_are_searched(profile: str, tmp_path: Path) -> None:
    """7 of 12 configurations per size: those that vary one tunable."""
    source = tmp_path / "solver.cu"
    source.write_text(TRIDIAGONAL.read_text().replace(M, "tune(m: 4, 64)"))
    run = ("--run", "{program} --repeat 3 {n}", "--vary", "n=400000,4000000", "--device", profile)
    said = done("collect", source, "--tunables", "m,S", "--search", 7, "--on", "gpu", *run)
    assert "14 configurations timed" in said
    assert "m = 64" in done("fit", source, "--model", "neighbours")


def test_blocks_are_timed_and_chosen(profile: str, tmp_path: Path) -> None:
    source, tuned = SAMPLES / "2dconv.cu", tmp_path / "tuned.cu"
    place = ("--workspace", tmp_path / "times", "--device", profile)
    done("collect", source, "--on", "gpu", "--run", "{program} {n}", "--vary", "n=500,2000", *place)
    done("fit", source, "--model", "neighbours", *place)
    done("emit", source, "--model", "neighbours", "-o", tuned, *place)
    lines = (tmp_path / "times" / "measurements.jsonl").read_text().splitlines()
    assert [json.loads(line)["size"] for line in lines] == [500, 2000]
    assert "Convolution2D_kernel, 999 x 999 x 1 threads: block 32x8x1 -> " in verbose(tuned, 1000)
    assert "block" not in verbose(tuned, 3000), "larger than anything measured"
    same = done(
        *("verify", source, tuned, "-I", SAMPLES, "--on", "gpu"),
        *("--run", "{program} {n}", "--vary", "n=500,1000"),
    )
    assert same == "same: n=500\nsame: n=1000\n"


@pytest.fixture(scope="module")
def aliasing(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A program whose pointers meet, and the one that prefers a variant, for the GPU at hand."""
    folder = tmp_path_factory.mktemp("aliasing")
    source = with_variant(PROGRAM, folder, (STANDARD,))
    for text, name in ((PROGRAM, "original"), (source, "tuned")):
        find_nvcc().check([STANDARD, str(text), "-o", str(folder / name)])
    return folder / "original", folder / "tuned"


@pytest.mark.parametrize("kind", KINDS)
def test_pointers_that_meet_keep_the_kernel(kind: str, aliasing: tuple[Path, Path]) -> None:
    """Those of another device need two GPUs with access to each other."""
    expected, found = (
        subprocess.run([program, kind], capture_output=True, text=True, check=False)
        for program in aliasing
    )
    if expected.returncode == NO_PEERS:
        pytest.skip("no two GPUs with access to each other")
    assert (found.stdout, found.returncode) == (expected.stdout, 0)
    assert expected.returncode == 0
    # Of another device's memory the driver may tell nothing.
    if kind != "peer":
        assert ("a variant may run" in found.stderr) == (KINDS[kind][0] > 0)
