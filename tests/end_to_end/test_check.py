"""`cutune run --check`: errors planted in kernels are found where they are, and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.emulator.findings import Finding, counted
from cutune.emulator.link import own_build_flags
from cutune.emulator.run import main_run, run_program
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.nvcc import find_nvcc

#: Cooperative groups rely on mathematics.
pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("all_headers")]

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "hazards.cu"
KERNEL = re.compile(r"__global__ void (\w+)\(.*?^}", re.MULTILINE | re.DOTALL)


def planted() -> dict[str, set[tuple[str, int]]]:
    """For each kernel, the codes and lines that its comments announce."""
    text = PROGRAM.read_text()
    found = {}
    for kernel in KERNEL.finditer(text):
        first = text.count("\n", 0, kernel.start()) + 1
        found[kernel.group(1)] = {
            (code, first + k)
            for k, line in enumerate(kernel.group().splitlines())
            for code in re.findall(r"// (CT\d+)", line)
        }
    return found


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    nvcc = find_nvcc()
    path = tmp_path_factory.mktemp("check") / "hazards"
    nvcc.check(["-std=c++17", str(PROGRAM), *own_build_flags(nvcc), "-o", str(path)])
    return path


def check(program: Path, *arguments: str) -> tuple[Finding, ...]:
    command = [str(program), *arguments]
    device = DeviceProfile.named("h200")
    return run_program(command, device, check=True, stdout=subprocess.DEVNULL).findings


@pytest.mark.long
@pytest.mark.parametrize("kernel", planted())
def test_planted_errors_are_found_where_they_are(program: Path, kernel: str) -> None:
    found = set()
    for finding in check(program, kernel):
        if finding.counts:
            parties = (finding.first, finding.other or finding.first)
            found |= {(finding.code.number, party.place.line) for party in parties}
    assert found == planted()[kernel]


def test_a_read_of_what_a_store_leaves_is_told_as_a_note(program: Path) -> None:
    (finding,) = check(program, "read_of_kept_value")
    assert (finding.code, finding.counts) == (Code.SAME_VALUE_RACE, False)


def test_a_read_of_a_value_that_the_warp_has_stored_itself_is_told_as_a_note(program: Path) -> None:
    found = check(program, "read_of_own_value")
    assert {(one.code, one.counts) for one in found} == {(Code.SAME_VALUE_RACE, False)}


def test_a_finding_names_block_thread_and_count(program: Path) -> None:
    (finding,) = check(program, "out_of_bounds")
    assert finding.first.block == (3, 0, 0)
    assert finding.first.thread == (61, 0, 0)
    assert finding.count == 1
    text = finding.diagnostic().render()
    ((_, line),) = planted()["out_of_bounds"]
    assert f"hazards.cu:{line}:" in text
    assert "store of 4 bytes" in text
    assert "kernel 'out_of_bounds', block (3, 0, 0), thread (61, 0, 0), once" in text
    assert counted([finding], 20) == "check: 1 error"
    assert counted([finding] * 3, 2).endswith("1 not shown (--findings 3 shows all)")


def test_findings_decide_the_exit_status(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main_run([str(program), "block_race"]) == 0
    assert main_run([str(program), "block_race"], check=True) == 1
    assert "race between blocks" in capfd.readouterr().err
    assert main_run([str(program), "fine_flag"], check=True) == 0
    assert "check: nothing found" in capfd.readouterr().err


def test_findings_as_json(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main_run([str(program), "block_race"], check=True, json_output=True) == 1
    (finding,) = json.loads(capfd.readouterr().out)["findings"]
    assert finding["code"] == "CT477"
    assert [party["block"] for party in finding["parties"]] == [[1, 0, 0], [0, 0, 0]]
    assert {Path(party["file"]).name for party in finding["parties"]} == {"hazards.cu"}


def test_a_failed_assertion_names_its_place(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main_run([str(program), "failing_assert"]) == 0
    output = capfd.readouterr()
    assert "failing_assert: cudaErrorAssert" in output.out
    line = PROGRAM.read_text().split("assert(a[")[0].count("\n") + 1
    assert f"hazards.cu:{line}: void failing_assert(int *): Assertion `a[" in output.err
    assert "block (0, 0, 0), thread (33, 0, 0)" in output.err


def test_device_memory_can_be_limited(
    program: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUTUNE_MEMORY_LIMIT", "1500")
    main_run([str(program), "fine_reduction"])
    assert "1024 bytes asked for, 1024 of 1500 in use" in capfd.readouterr().err


def test_a_launch_that_never_ends_is_ended(
    program: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main_run([str(program), "fine_reduction"], limit=20) == 0
    output = capfd.readouterr()
    assert "fine_reduction: cudaErrorLaunchTimeout" in output.out
    assert "executed more than 20 warp instructions" in output.err
