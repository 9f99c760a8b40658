"""The samples of the suite BAT on the emulated device: spaces as published, right results."""

from __future__ import annotations

import json
import random
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from cutune.cli.main import main
from cutune.emulator.run import program_environment
from cutune.measure.gpu_sweep import gpu_target
from cutune.search.builds import Builds
from cutune.search.program_space import ProgramSpace, Setting, refusal
from cutune.space.annotation import Value
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.bat_samples import FOLDER, SAMPLES, ReadSample

# Some of them read textures.
pytestmark = [pytest.mark.nvcc, pytest.mark.long, pytest.mark.usefixtures("all_headers")]

#: As many as any of them takes.
DEVICES = 4
#: Bytes of shared memory per block: 227 KB, 96 KB, 48 KB.
SORT_SIZES = {"h200": 1_760, "v100": 1_760, "gtx1080ti": 1_728}


@cache
def read(name: str) -> ReadSample:
    return ReadSample(SAMPLES[name], DEVICES)


def builds_of(
    sample: ReadSample, folder: Path, target: Sequence[str] | None, pool: ThreadPoolExecutor
) -> Builds:
    """Its programs."""
    about = sample.program, sample.space("h200"), folder, target, pool
    return Builds(sample.analyzer.toolchain, sample.parameters, *about)


@pytest.mark.parametrize("name", SAMPLES)
def test_spaces_are_as_published(name: str) -> None:
    """Of the two that take several GPUs a configuration is counted per GPU."""
    sample = SAMPLES[name]
    gpus = DEVICES if sample.takes_gpus else 1
    for device, of_sort in SORT_SIZES.items():
        space = read(name).space(device).space
        assert space.raw_size == sample.size * gpus
        assert space.size == (of_sort if name == "sort" else space.raw_size)


def test_triad_has_parameters_of_two_kinds() -> None:
    space = read("triad").space("h200")
    assert space.builds == 40
    assert {name: setting.value for name, setting in space.settings.items()} == {
        "BLOCK_SIZE": "host integer",
        "PRECISION": "constant",
        "WORK_PER_THREAD": "constant",
        "LOOP_UNROLL_TRIAD": "constant",
    }


def test_reduction_is_inspected_as_its_source_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(FOLDER)
    lines = (FOLDER / "reduction.cu").read_text().split("cutune inspect ", 1)[1].splitlines()
    command = " ".join(line.lstrip("/ ") for line in lines[:3])
    assert main(["inspect", *shlex.split(command), "--variants=none", "-q", "--json"]) == 0
    (space,) = json.loads(capsys.readouterr().out)["spaces"]
    assert (space["raw_size"], space["size"], space["builds"]) == (1_576_960, 1_576_960, 3_584)


@pytest.fixture(name="programs", scope="module")
def built_programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Programs]:
    with ThreadPoolExecutor(2) as pool:
        yield Programs(tmp_path_factory.mktemp("programs"), pool)


@dataclass(frozen=True)
class Programs:
    """Programs of the samples; each is compiled once, which takes longer than to run it."""

    folder: Path
    pool: ThreadPoolExecutor
    _builds: dict[str, Builds] = field(default_factory=dict)

    def run(self, name: str, words: str, configuration: Mapping[str, Value]) -> str:
        """What a sample prints with some values in place of its own; it ends well."""
        space = read(name).space("h200")
        host = space.values(configuration, Setting.HOST)
        setting = ",".join(f"{name}={value}" for name, value in host.items())
        done = self.ended(name, words, configuration, CUTUNE_SET=setting)
        assert done.returncode == 0, (configuration, done.stdout + done.stderr)
        return done.stdout

    def ended(
        self, name: str, words: str, configuration: Mapping[str, Value], **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """How it ends."""
        space = read(name).space("h200")
        builds = builds_of(read(name), self.folder / name, None, self.pool)
        built = self._builds.setdefault(name, builds).of({**space.own, **configuration})
        assert not built.failure
        variables = {"CUTUNE_DEVICES": str(DEVICES), **variables}
        return subprocess.run(
            [built.path, *words.split()],
            env={**program_environment(built.path), **variables},
            capture_output=True,
            text=True,
            check=False,
        )


def test_the_suites_own_configurations_are_right(programs: Programs) -> None:
    """At the smallest sizes; on several devices, too."""
    assert programs.run("md", "-s 1", {}) == "PASSED: 12288 atoms of 32 bits\n"
    assert programs.run("sort", "-s 1", {}) == "PASSED: 262144 pairs\n"
    for gpus in (1, 2, 4):
        said = f"PASSED: 262144 elements of 32 bits, {gpus} GPUs\n"
        assert programs.run("reduction", f"-s 1 {gpus}", {}) == said
        said = f"PASSED: 512 x 512 points, {gpus} GPUs\n"
        assert programs.run("stencil2d", f"-s 1 {gpus}", {}) == said


#: What is compiled in: else the defaults.
PROGRAMS: Sequence[tuple[str, Mapping[str, Value]]] = [
    ("triad", {"PRECISION": 64, "WORK_PER_THREAD": 7, "LOOP_UNROLL_TRIAD": 1}),
    ("md", {}),
    ("reduction", {"PRECISION": 64, "TEXTURE_MEMORY": 1, "LOOP_UNROLL_REDUCE_1": 1}),
    ("sort", {}),
    ("stencil2d", {}),
]


@pytest.mark.parametrize(("name", "values"), PROGRAMS, ids=[name for name, _ in PROGRAMS])
def test_drawn_configurations_are_right_at_any_size(
    name: str, values: Mapping[str, Value], programs: Programs
) -> None:
    """Blocks, grids and GPUs are drawn; nothing divides the sizes."""
    space = read(name).space("h200")
    generator = random.Random(7)
    compiled = {**{n: v for n, v in space.own.items() if n in space.compiled_names}, **values}
    for n in (DEVICES, 127, 301, generator.randrange(2, 500)):
        one = same_program(space, compiled, generator)
        words = f"{n} {one['GPUS']}" if SAMPLES[name].takes_gpus else f"{n}"
        said = programs.run(name, words, one)
        assert said.startswith(f"PASSED: {n} ")
        assert f"of {compiled.get('PRECISION')} bits" in said or "PRECISION" not in compiled


def same_program(
    space: ProgramSpace, compiled: Mapping[str, Value], generator: random.Random
) -> Mapping[str, Value]:
    """An allowed configuration of one program."""
    while True:
        one = {**space.space.configuration(generator.randrange(space.space.size)), **compiled}
        if one in space.space:
            return one


def test_tiles_of_two_sizes_are_refused(programs: Programs) -> None:
    done = programs.ended("sort", "1000", {}, CUTUNE_SET="SCAN_BLOCK_SIZE=512")
    assert done.returncode == 2 and "another number of elements" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("-s 5", "CLASS 1 to 4"),
        ("", "CLASS 1 to 4"),
        ("100x", "CLASS 1 to 4"),
        ("100 5", "5 GPUs are too many: there are 4"),
    ],
)
def test_misuse_is_told(words: str, said: str, programs: Programs) -> None:
    done = programs.ended("stencil2d", words, {})
    assert done.returncode == 2 and said in done.stderr


def test_what_ptxas_says_of_a_build_is_known(tmp_path: Path) -> None:
    """For a GPU; then registers of a block are known before anything runs."""
    sample = read("triad")
    space = sample.space("h200")
    with ThreadPoolExecutor(1) as pool:
        builds = builds_of(sample, tmp_path, gpu_target("sm_90"), pool)
        built = builds.of(space.own)
    assert not built.failure
    (counters,) = built.counters.values()
    assert 8 <= counters.registers <= 64
    limits = DeviceProfile.named("h200").limits
    assert refusal(sample.program, limits, {"BLOCK_SIZE": 1024}, built.counters) == ""
