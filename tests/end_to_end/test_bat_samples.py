"""The samples of the suite BAT on the emulated device: spaces as published, right results."""

from __future__ import annotations

import json
import random
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cutune.analysis.session import Session
from cutune.cli.main import main
from cutune.collect.gpu.instrumented import gpu_target
from cutune.device.profile import DeviceProfile
from cutune.emulator.run import program_environment
from cutune.search.builds import Builds
from cutune.search.limits import LaunchLimits
from cutune.search.program_space import Setting, program_space
from cutune.space.asked import Asked

pytestmark = pytest.mark.nvcc

TRIAD = Path(__file__).parents[2] / "samples" / "bat" / "triad.cu"


def test_triad_has_the_space_of_the_publication(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(TRIAD), "--json"]) == 0
    (space,) = json.loads(capsys.readouterr().out)["spaces"]
    assert (space["raw_size"], space["size"], space["builds"]) == (40_960, 40_960, 40)
    assert {one["name"]: one["set_by"] for one in space["parameters"]} == {
        "BLOCK_SIZE": "host integer",
        "PRECISION": "constant",
        "WORK_PER_THREAD": "constant",
        "LOOP_UNROLL_TRIAD": "constant",
    }


def test_triad_is_right_in_every_configuration(tmp_path: Path) -> None:
    """Two programs of each precision, any block, sizes that nothing divides."""
    session = Session()
    program = session.load(str(TRIAD), require_nvcc=True)
    space = program_space(program, Asked(), "", ["n"], {})
    generator = random.Random(11)
    with ThreadPoolExecutor(2) as pool:
        builds = Builds(session, program, space, tmp_path, None, pool)
        for precision, work, unroll in ((32, 7, 1), (64, 3, 0)):
            values = {"PRECISION": precision, "WORK_PER_THREAD": work, "LOOP_UNROLL_TRIAD": unroll}
            built = builds.of(values)
            assert not built.failure
            for n in (1, 2, 1000, generator.randrange(3, 9000)):
                block = generator.choice((1, 31, 128, 1000, 1024))
                host = space.values({"BLOCK_SIZE": block}, Setting.HOST)
                assert host == {"BLOCK_SIZE": block}
                environment = program_environment(built.path)
                done = subprocess.run(
                    [built.path, str(n)],
                    env={**environment, "CUTUNE_SET": f"BLOCK_SIZE={block}"},
                    capture_output=True,
                    text=True,
                    check=True,
                )
                assert done.stdout == f"PASSED: {n} elements of {precision} bits\n"
            misuse = subprocess.run(
                [built.path, "0"], env=environment, capture_output=True, check=False
            )
            assert misuse.returncode == 2


def test_what_ptxas_says_of_a_build_is_known(tmp_path: Path) -> None:
    """For a GPU; then registers of a block are known before anything runs."""
    session = Session()
    program = session.load(str(TRIAD), require_nvcc=True)
    space = program_space(program, Asked(), "", ["n"], {})
    with ThreadPoolExecutor(1) as pool:
        builds = Builds(session, program, space, tmp_path, gpu_target("sm_90"), pool)
        built = builds.of({"PRECISION": 32, "WORK_PER_THREAD": 1, "LOOP_UNROLL_TRIAD": 0})
    assert not built.failure
    (counters,) = built.counters.values()
    assert 8 <= counters.registers <= 64
    limits = LaunchLimits(program, DeviceProfile.named("h200").limits)
    assert limits.refusal({"BLOCK_SIZE": 1024}, built.counters) == ""
