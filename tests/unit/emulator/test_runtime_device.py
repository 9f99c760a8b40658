"""The device description that Python writes and the replacement libcudart reads."""

from __future__ import annotations

import re

from cutune.emulator.build import NATIVE
from cutune.emulator.run import device_description
from cutune.toolchain.device.profile import DeviceProfile


def test_every_key_is_known_to_the_library() -> None:
    source = (NATIVE / "runtime_device.cpp").read_text(encoding="utf-8")
    table = source[source.index("setters()") : source.index("Device read_device")]
    known = set(re.findall(r'\{"(\w+)"', table))
    written = {line.split()[0] for line in description().splitlines()}
    assert written <= known


def test_units_of_the_h200() -> None:
    values = dict(line.split(" ", 1) for line in description().splitlines())
    assert values["name"] == "NVIDIA H200"
    assert values["compute_capability"] == "9.0"
    assert values["clock_khz"] == "1980000"
    assert values["threads_per_multiprocessor"] == "2048"
    bandwidth = 2 * int(values["memory_clock_khz"]) * int(values["memory_bus_bits"]) / 8 / 1e6
    assert abs(bandwidth - float(values["dram_gbs"])) < 1


def description() -> str:
    return device_description(DeviceProfile.named("h200"))
