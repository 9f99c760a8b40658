"""The tridiagonal sample on the emulated device: every configuration solves the system."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from cutune.emulator.link import own_build_flags
from cutune.emulator.run import program_environment
from cutune.toolchain.nvcc import find_nvcc

pytestmark = pytest.mark.nvcc

SAMPLE = Path(__file__).parents[2] / "samples" / "tridiagonal" / "tridiagonal.cu"


@pytest.fixture(scope="module")
def solver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("tridiagonal") / "tridiagonal"
    nvcc = find_nvcc()
    nvcc.check(["-O2", *own_build_flags(nvcc), str(SAMPLE), "-o", str(program)])
    return program


def run(solver: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    words = list(map(str, arguments))
    environment = program_environment(solver)
    return subprocess.run(
        [solver, *words], env=environment, capture_output=True, text=True, check=False
    )


def random_configuration(generator: random.Random) -> list[int]:
    """N, m, R, S, block, m1 to m4: every relation of N, m and S to each other."""
    m = generator.choice((3, 4, 5, 7, 8, 10, 16, 20, 32, 35, 40, 64, 100, 128, 256, 1250))
    inner = (generator.choice((3, 4, 5, 8, 10, 16, 33)) for _ in range(4))
    streams, block = generator.choice((1, 2, 3, 4, 8, 16, 31, 32)), generator.choice((32, 256))
    return [int(10 ** generator.uniform(0, 5)), m, generator.randrange(5), streams, block, *inner]


@pytest.mark.long
def test_two_hundred_random_systems_are_solved(solver: Path) -> None:
    """The program fails where the relative residual exceeds 1e-12."""
    generator = random.Random(7)
    for _ in range(200):
        configuration = random_configuration(generator)
        result = run(solver, *configuration)
        assert result.returncode == 0, (configuration, result.stdout, result.stderr)
        residual = float(result.stdout.split("residual ")[1].split(",")[0])
        assert residual <= 1e-12


def test_single_precision(solver: Path) -> None:
    generator = random.Random(8)
    for _ in range(10):
        configuration = random_configuration(generator)
        result = run(solver, "--fp32", *configuration)
        assert result.returncode == 0, (configuration, result.stdout, result.stderr)


@pytest.mark.parametrize(
    "arguments", [(), ("x",), (0,), (100, 2, 0, 1, 256), (100, 4, 5, 1, 256), (100, 4, 0, 33, 256)]
)
def test_misuse_is_refused(solver: Path, arguments: tuple[object, ...]) -> None:
    assert run(solver, *arguments).returncode == 2


def test_what_is_chosen_is_timed_beside_what_is_given(solver: Path, tmp_path: Path) -> None:
    rows = tmp_path / "rows.txt"
    rows.write_text("fp64 300\nfp64 300 4 1 2 64 5 10 10 10\nfp32 200 8 0 1 32 10 10 10 10\n")
    result = run(solver, "--sweep", rows)
    assert result.returncode == 0, result.stderr
    _, *lines = result.stdout.splitlines()
    assert [line.rpartition(",")[0] for line in lines] == [
        "fp64,300,32,0,1,256,10,10,10,10",
        "fp64,300,4,1,2,64,5,10,10,10",
        "fp32,200,8,0,1,32,10,10,10,10",
    ]
    rows.write_text("fp64 300 4\n")
    assert run(solver, "--sweep", rows).returncode == 2


def test_the_same_system_is_solved_repeatedly(solver: Path) -> None:
    once, again = (run(solver, *words, 500) for words in ((), ("--repeat", 3)))
    assert again.returncode == 0 and again.stdout == once.stdout
    assert run(solver, "--repeat", 0, 500).returncode == 2
