"""Makes cutune/toolchain/device/profiles/h200.json from the recorded times of the micro-kernels.

`python -m tests.recorded.calibrate_h200` does what `cutune device --calibrate` does on the GPU,
with the times of calibration_h200.json in place of new ones.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from fractions import Fraction
from pathlib import Path
from typing import Any

from cutune.measure.calibration.calibrate import (
    calibrated,
    case_model,
    emulated_module,
    timed_cases,
)
from cutune.measure.calibration.fit_constants import (
    Calibration,
    beliefs,
    fit_constants,
    prior_constants,
)
from cutune.measure.calibration.suite import MicroBenchmark, cases
from cutune.model.fit.fitted_model import FittedModel
from cutune.toolchain.device.profile import DeviceProfile, Limits
from cutune.toolchain.nvcc import find_nvcc

RECORDED = Path(__file__).with_name("calibration_h200.json")
PROFILE = Path(__file__).parents[2] / "cutune" / "toolchain" / "device" / "profiles" / "h200.json"
QUERIED = ("compute_capability", "sm_count", "clock_ghz", "dram_gbs", "l2_bytes", "limits")


def recalibrate() -> tuple[DeviceProfile, Calibration]:
    """The profile that the recorded times give."""
    recorded: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    profile = _queried(recorded["queried"])
    by_name = {entry["name"]: entry["microseconds"] for entry in recorded["cases"]}
    pairs = models_of_suite()
    times = [{(x, y, z): time for x, y, z, time in by_name[case.name]} for case, _ in pairs]
    prior = beliefs(profile.compute_capability, profile.clock_ghz)
    timed = timed_cases([case for case, _ in pairs], [model for _, model in pairs], times)
    found = fit_constants(timed, profile, prior)
    return calibrated(profile, found, prior), found


def models_of_suite(kernels: Collection[str] = ()) -> list[tuple[MicroBenchmark, FittedModel]]:
    """Cases of the suite, all or those of some kernels, and what they do."""
    recorded = json.loads(RECORDED.read_text(encoding="utf-8"))
    registers = {entry["name"]: int(entry["registers"]) for entry in recorded["cases"]}
    module = emulated_module(find_nvcc())
    chosen = [case for case in cases() if not kernels or case.kernel in kernels]
    return [(case, case_model(module, case, registers[case.name])) for case in chosen]


def _queried(data: dict[str, Any]) -> DeviceProfile:
    major, minor = (int(part) for part in data["compute_capability"].split("."))
    clock = Fraction(str(data["clock_ghz"]))
    return DeviceProfile(
        name=data["name"],
        compute_capability=(major, minor),
        sm_count=data["sm_count"],
        clock_ghz=clock,
        dram_gbs=Fraction(data["dram_gbs"]),
        l2_bytes=data["l2_bytes"],
        limits=Limits(**data["limits"]),
        model=prior_constants((major, minor), clock),
        provenance=dict.fromkeys(QUERIED, "asked of the driver"),
    )


if __name__ == "__main__":
    made, evidence = recalibrate()
    PROFILE.write_text(json.dumps(made.to_json(), indent=2) + "\n", encoding="utf-8")
    print(f"typical error {100 * evidence.typical_error:.1f} %")
