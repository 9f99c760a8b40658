"""The table of the machine's counters, and what is made from it."""

from __future__ import annotations

from pathlib import Path

from cutune.emulator.launch_log import site_counters
from cutune.emulator.machine import SITE
from cutune.model.measurement.measurement import SiteCounters

PAGE = Path(__file__).parents[3] / "docs/emulated-device.md"


def test_every_line_of_the_table_is_read() -> None:
    header = Path("cutune/emulator/native/machine_counters.h")
    text = (Path(__file__).parents[3] / header).read_text(encoding="utf-8")
    assert len(site_counters()) == text.count("    COUNTER(") == len(SITE.names or ())
    assert {counter.kind for counter in site_counters()} == {"counted", "traced", "range"}


def test_measurements_keep_counters_by_their_names() -> None:
    own = {"array", "low", "high"}
    known = {counter.name for counter in site_counters()}
    assert {*SiteCounters._fields} - own <= known


def test_the_costs_are_explained() -> None:
    text = PAGE.read_text(encoding="utf-8").partition("## Counters of a memory")[2]
    for counter in site_counters():
        if counter.kind == "traced" and counter.name != "traced":
            assert f"`{counter.name}`" in text
