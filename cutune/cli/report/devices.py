"""Profiles as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from rich.table import Table

from cutune.cli.report.console import standard_output
from cutune.device.profile import DeviceProfile, ModelConstants, profile_names

if TYPE_CHECKING:
    from cutune.evaluation.calibration.fit_constants import Calibration

#: Worst cases of a calibration that are shown.
SHOWN = 5
FACTS = ("compute_capability", "sm_count", "clock_ghz", "dram_gbs", "l2_bytes")


def print_profiles(profiles: Sequence[DeviceProfile]) -> None:
    """One row per shipped profile."""
    table = Table("name", "GPU", "capability", "SMs", "GHz", "GB/s", "constants", box=None)
    for name, profile in zip(profile_names(), profiles, strict=True):
        major, minor = profile.compute_capability
        table.add_row(
            name,
            profile.name,
            f"{major}.{minor}",
            str(profile.sm_count),
            f"{float(profile.clock_ghz):.4g}",
            f"{float(profile.dram_gbs):.4g}",
            "calibrated" if profile.is_calibrated else "published figures",
        )
    standard_output().print(table)


def print_profile(profile: DeviceProfile) -> None:
    """Everything that a profile holds, each with its source."""
    major, minor = profile.compute_capability
    table = Table(profile.name, "", "where from", box=None)
    shown = {"compute_capability": f"{major}.{minor}"}
    for name in FACTS:
        value = shown.get(name) or f"{float(getattr(profile, name)):.10g}"
        table.add_row(name, value, profile.provenance.get(name, ""))
    for name, limit in asdict(profile.limits).items():
        table.add_row(name, str(limit), profile.provenance.get("limits", ""))
    for field in fields(ModelConstants):
        value = f"{float(getattr(profile.model, field.name)):.5g}"
        table.add_row(field.name, value, profile.provenance.get(field.name, ""))
    standard_output().print(table)


def print_calibration(profile: DeviceProfile, calibration: Calibration) -> None:
    """Print the fitted profile, and the cases whose times the model explains least."""
    print_profile(profile)
    console = standard_output()
    console.print(
        f"{len(calibration.errors)} cases; typical error of a predicted time "
        f"{100 * calibration.typical_error:.0f} %"
    )
    worst = sorted(calibration.errors, key=lambda name: -calibration.errors[name])[:SHOWN]
    console.print(
        "worst: " + ", ".join(f"{n} ({100 * calibration.errors[n]:.0f} %)" for n in worst)
    )
