"""What the probe does on a GPU, with a CUDA runtime that is made up (`programs/swept.cpp`)."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from pathlib import Path

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.measure import gpu_sweep
from cutune.toolchain.nvcc import host_compiler
from tests.support.cutune_runs import NATIVE, host_program

pytestmark = pytest.mark.nvcc  # for its headers alone

#: The first is the program's own. 7 does not divide its threads; 1920 is too large.
BLOCKS = (32, 48, 64, 96, 128, 160, 7, 1920)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return host_program("swept", tmp_path_factory.mktemp("swept"))


def told(program: Path, mode: str, **settings: str) -> tuple[str, list[str]]:
    """What the program prints, and the lines of the probe."""
    output, candidates = program.with_name("lines"), program.with_name("candidates")
    output.unlink(missing_ok=True)
    others = "3 80 1 1 other.cu\n4 80 1 1\n3 80 1 1 @unknown\n"
    candidates.write_text("".join(f"3 {x} 1 1\n" for x in BLOCKS[1:]) + others)
    files = {"CUTUNE_OUTPUT": str(output), "CUTUNE_CANDIDATES": str(candidates)}
    environment = {**os.environ, **files, "CUTUNE_MODE": mode, **settings}
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout, output.read_text().splitlines() if output.exists() else []


def test_a_record_is_json(program: Path) -> None:
    printed, (text,) = told(program, "record")
    assert (printed, []) == told(program, "off")
    line = json.loads(text)
    assert text == json.dumps(line, separators=(",", ":")).replace("0.1}", "0.10000000000000001}")
    assert (line["kernel"], line["file"], line["signature"]) == ('a<"b">', "é\\.cu", 9)
    assert (line["grid"], line["block"], line["extent"]) == ([480, 1, 1], [32, 1, 1], [15360, 1, 1])
    sizes = [one["size"] for one in line["arguments"] if one["kind"] == "pointer"]
    assert sizes == [4000, 8000, 2000]
    structure, whole, real, infinite = line["arguments"][3:]
    assert bytes.fromhex(structure["hex"])[8:] == b"\xff tag\0\0\0"
    assert (whole["value"], real["value"], infinite["value"]) == (-5, 0.1, None)


@pytest.mark.parametrize("cache", ["restored", "repeated"])
def test_a_sweep_leaves_the_program_as_it_was(program: Path, cache: str) -> None:
    printed, texts = told(program, "sweep", CUTUNE_CACHE=cache)
    assert printed == told(program, "off")[0]
    found = {line["block"][0]: line for line in map(json.loads, texts)}
    assert sorted(found) == sorted(BLOCKS) and len(texts) == len(BLOCKS)
    refused = {block: line["error"] for block, line in found.items() if "error" in line}
    assert refused.pop(160) == 'too many "resources"'
    assert refused == dict.fromkeys((7, 1920), "this block is not allowed here")
    assert {found[block]["identical"] for block in (32, 48)} == {True}
    assert {found[block]["identical"] for block in (64, 96, 128)} == {False}
    assert 0 < found[64]["difference"] < 2e-7
    assert [found[block]["difference"] for block in (48, 96, 128)] == [0, 0, 2]
    for block, line in found.items():
        assert (line["original"], line["modelled"]) == (block == 32, False)
        times = line["milliseconds"]
        assert len(times) == (0 if "error" in line else 5)
        assert line["median"] == (statistics.median(times) if times else None)


def test_a_block_of_zeros_is_that_of_the_launch(program: Path) -> None:
    listed = program.with_name("own")
    listed.write_text("3 0 0 0\n3 48 1 1\n")
    _, texts = told(program, "sweep", CUTUNE_CANDIDATES=str(listed))
    assert [json.loads(text)["block"][0] for text in texts] == [32, 48]


@pytest.fixture(scope="module")
def nvml(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library that stands for NVML."""
    library = tmp_path_factory.mktemp("nvml") / "libnvml.so"
    command = [host_compiler(), "-shared", "-fPIC", str(NATIVE / "nvml.cpp"), "-o", str(library)]
    subprocess.run(command, check=True)
    return library


def test_the_energy_of_repeated_launches(program: Path, nvml: Path) -> None:
    settings = {"CUTUNE_NVML": str(nvml), "CUTUNE_ENERGY_MS": "1", "CUTUNE_CACHE": "repeated"}
    printed, texts = told(program, "sweep", **settings)
    assert printed == told(program, "off")[0], "the program goes on as without"
    found = {line["block"][0]: line for line in map(json.loads, texts)}
    assert sorted(found) == sorted(BLOCKS) and len(texts) == len(BLOCKS)
    for line in found.values():
        if "error" in line:
            assert "millijoules" not in line
        else:
            # 3 J for as many launches of 1 to 1.6 ms as take about 5 ms.
            assert 3000 / line["millijoules"] in (3, 4, 5)
            assert len(line["milliseconds"]) == 5


def test_no_energy_where_nvml_tells_none(program: Path, nvml: Path) -> None:
    asked = {"CUTUNE_NVML": str(nvml), "CUTUNE_ENERGY_MS": "1"}
    for settings in ({"CUTUNE_CACHE": "repeated", "STATUS": "3"}, {"CUTUNE_CACHE": "restored"}):
        _, texts = told(program, "sweep", **asked, **settings)
        assert len(texts) == len(BLOCKS)
        assert not any("millijoules" in text for text in texts)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (None, "cannot open shared object file"),
        ("", "has no function nvmlInit_v2"),
        ('extern "C" int nvmlInit_v2() { return 0; }', "has no function nvmlDeviceGetHandle"),
        (
            "#define nvmlInit_v2 other\n{all}\n#undef nvmlInit_v2\n"
            'extern "C" int nvmlInit_v2() {{ return 9; }}',
            "NVML does not start (error 9)",
        ),
    ],
)
def test_where_there_is_no_nvml_it_is_said(
    code: str | None, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "libnvml.so"
    if code is not None:
        text = code.format(all=(NATIVE / "nvml.cpp").read_text()) if "{all}" in code else code
        (tmp_path / "nvml.cpp").write_text(text)
        command = [host_compiler(), "-shared", "-fPIC", "nvml.cpp", "-o", str(library)]
        subprocess.run(command, cwd=tmp_path, check=True)
    monkeypatch.setattr(gpu_sweep, "NVML", str(library))
    with pytest.raises(CutuneError) as raised:
        gpu_sweep.require_energy()
    said = raised.value.diagnostic.render()
    assert reason in said and said.endswith("leave out --energy [CT484]")


def test_more_runs_are_asked_for(program: Path) -> None:
    _, texts = told(program, "sweep", CUTUNE_REPETITIONS="8")
    (line,) = (line for line in map(json.loads, texts) if line["original"])
    assert line["median"] == statistics.median(line["milliseconds"])
    assert len(line["milliseconds"]) == 8


def test_a_profile_has_no_times(program: Path) -> None:
    printed, texts = told(program, "profile")
    assert printed == told(program, "off")[0]
    found = {line["block"][0]: line for line in map(json.loads, texts)}
    assert {line["schema"] for line in found.values()} == {"cutune-profile-1"}
    assert (found[128]["difference"], "median" in found[48]) == (2, False)
