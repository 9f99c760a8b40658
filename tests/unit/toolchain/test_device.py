"""Profiles: shipped ones, written and read back, shown."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from rich.console import Console

from cutune.cli.main import main
from cutune.cli.report import console
from cutune.cli.report.console import print_profiles
from cutune.measure.calibration.fit_constants import DOUBLE_LANES, beliefs
from cutune.toolchain.device.profile import (
    BlockResources,
    DeviceProfile,
    ModelConstants,
    profile_names,
    resident_blocks,
    shipped_profiles,
)
from tests.recorded.data_sheets import published_profiles


@pytest.mark.parametrize("name", profile_names())
def test_profiles_are_whole(name: str, tmp_path: Path) -> None:
    profile = DeviceProfile.named(name)
    path = tmp_path / "copy.json"
    path.write_text(json.dumps(profile.to_json()), encoding="utf-8")
    assert DeviceProfile.named(str(path)) == profile
    assert all(getattr(profile.model, field.name) > 0 for field in fields(ModelConstants))
    known = {*profile.provenance}
    assert {field.name for field in fields(ModelConstants)} <= known
    assert {"sm_count", "clock_ghz", "dram_gbs", "l2_bytes", "limits"} <= known
    assert resident_blocks(BlockResources(256, 32, 0), profile.limits) >= 4


def test_names_are_told_with_the_origin_of_their_constants(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["device"]) == 0
    text = capsys.readouterr().out
    assert all(profile.name in text for profile in shipped_profiles())
    rows = {line.split()[0]: line for line in text.splitlines()[1:]}
    assert "calibrated" in rows["h200"]
    assert "published" in rows["a100"]


def test_a_profile_has_one_line_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    narrow = Console(width=80, force_terminal=True, no_color=True)
    monkeypatch.setattr(console, "standard_output", lambda: narrow)
    print_profiles(shipped_profiles())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(shipped_profiles())
    assert all(len(line.rstrip()) <= 80 for line in lines[1:])


def test_one_profile_is_shown_with_its_sources(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "h200"]) == 0
    text = capsys.readouterr().out
    assert "dispatch_us_per_block" in text
    assert "fitted to micro-kernels" in text
    assert main(["device", "h200", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sm_count"] == 132


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["device", "h2000"]) == 1
    assert "CT004" in capsys.readouterr().err


def test_calibration_needs_pycuda_and_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pycuda", None)
    assert main(["device", "--calibrate", "-q"]) == 1
    assert "cutune[gpu]" in capsys.readouterr().err


@pytest.mark.parametrize("capability", sorted({*DOUBLE_LANES, (12, 0)}))
def test_every_constant_has_a_prior_with_a_source(capability: tuple[int, int]) -> None:
    known = beliefs(capability, DeviceProfile.named("h200").clock_ghz)
    assert set(known) == {field.name for field in fields(ModelConstants)}
    assert all(belief.value > 0 and belief.deviation > 0 for belief in known.values())
    assert all(belief.source for belief in known.values())


def test_profiles_from_data_sheets_follow_from_their_table() -> None:
    for file, profile in published_profiles(DeviceProfile.named("h200")):
        assert DeviceProfile.named(file) == profile
        assert not profile.is_calibrated
