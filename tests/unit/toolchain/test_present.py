"""Which GPUs are modelled where none is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.cli.main import parse
from cutune.toolchain.device import present
from cutune.toolchain.device.profile import DeviceProfile, shipped_profiles


@pytest.fixture
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a driver with an RTX 4090, a GPU without a profile, and two A100."""
    models = ["NVIDIA GeForce RTX 4090", "NVIDIA TITAN V", *["NVIDIA A100-SXM4-80GB"] * 2]
    for number, model in enumerate(models):
        folder = tmp_path / f"0000:0{number}:00.0"
        folder.mkdir()
        (folder / "information").write_text(f"Model: \t\t {model}\nIRQ:   \t\t 16\n")
    (tmp_path / "0000:09:00.0").mkdir()
    monkeypatch.setattr(present, "GPUS", tmp_path)
    monkeypatch.delenv(present.VARIABLE, raising=False)
    return tmp_path


def test_those_of_the_machine_are_modelled(gpus: Path) -> None:
    assert present.present_profiles() == ["rtx4090", "a100"]
    assert parse(["select", "gemm"]).device == "rtx4090,a100"


def test_others_may_be_named(gpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parse(["select", "gemm", "--device", "t4"]).device == "t4"
    monkeypatch.setenv(present.VARIABLE, "v100")
    assert parse(["select", "gemm"]).device == "v100"


def test_without_a_gpu_it_is_the_calibrated_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(present, "GPUS", tmp_path / "nothing")
    monkeypatch.delenv(present.VARIABLE, raising=False)
    assert parse(["select", "gemm"]).device == "h200"


def test_all_are_those_of_the_machine_and_then_the_others(gpus: Path) -> None:
    every = [device.name for device in present.named_devices(["all"])]
    mine = [device.name for device in present.named_devices(["rtx4090", "a100"])]
    assert every[:2] == mine
    assert sorted(every) == sorted(device.name for device in shipped_profiles())
    assert present.named_devices(["t4", "ALL"])[0] == DeviceProfile.named("t4")


def test_a_device_that_is_named_twice_counts_once() -> None:
    assert len(present.named_devices(["a100", "h200", "a100"])) == 2
