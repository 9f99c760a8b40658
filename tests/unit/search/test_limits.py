"""Launches that a device refuses, as far as their blocks follow from parameters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pytest

from cutune.core.source import Source
from cutune.search.program_space import refusal, says_limits, threads_of
from cutune.source.program import Program
from cutune.space.annotation import Value
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.ptxas import StaticCounters
from tests.support.analyzed import analyzed

LIMITS = DeviceProfile.named("h200").limits
PROGRAM = """\
#pragma cutune tune(WPT: 1, 2, 4)
#define WPT 1
#pragma cutune tune(TB: 32, 64)
constexpr int TB = 64;
__global__ void add(int n, int *x) { x[threadIdx.x] = n; }
void lent(int block, int n, int *x) { add<<<n, block>>>(n, x); }
int odd();
int main() {
    int n = 9, *x;
#pragma cutune tune(block: 32, 2048)
    int block = 64;
#pragma cutune tune(m: 8, 16)
    int m = odd();
    add<<<n, %s>>>(n, x);
}
"""


def program(configuration: str) -> Program:
    return analyzed(Source("a.cu", PROGRAM % configuration))


@pytest.mark.parametrize(
    ("configuration", "values", "threads"),
    [
        ("block", {"block": 2048}, 2048),
        ("block", {}, 64),
        ("block", {"block": "none"}, None),
        ("dim3(block, WPT)", {"block": 32, "WPT": 4}, 128),
        ("dim3(TB, 2), 64", {"TB": 32}, 64),
        ("TB * WPT", {"TB": 32, "WPT": 2}, 64),
        ("TB * WPT + 1", {"TB": 32}, 33),
        ("m", {"m": 8}, None),
        ("m", {}, None),
        ("n", {"block": 32}, 9),
        ("odd()", {"block": 32}, None),
    ],
)
def test_threads_of_a_block(
    configuration: str, values: Mapping[str, Value], threads: int | None
) -> None:
    site = program(configuration).launches[-1]
    assert threads_of(site, values) == threads


def test_a_parameter_of_a_function_is_another_variable() -> None:
    assert threads_of(program("block").launches[0], {"block": 2048}) is None


def test_what_no_kernel_may_have_needs_no_compiler() -> None:
    asked = partial(refusal, program("block"), LIMITS)
    assert asked({"block": 1024}, {}) == ""
    said = asked({"block": 2048}, {})
    assert said == "kernel 'add' with 2048 threads per block; the device has 1024"


@pytest.mark.parametrize(
    ("counters", "block", "said"),
    [
        (StaticCounters(64), 1024, ""),
        (
            StaticCounters(65),
            1024,
            "1024 threads per block of 72 registers; the device has room for 896",
        ),
        (StaticCounters(128), 512, ""),
        (
            StaticCounters(129),
            480,
            "480 threads per block of 136 registers; the device has room for 384",
        ),
        (StaticCounters(255), 256, ""),
        (StaticCounters(16, 232448), 32, ""),
        (StaticCounters(16, 232449), 32, "232449 bytes of shared memory; the device has 232448"),
    ],
)
def test_registers_and_shared_memory(counters: StaticCounters, block: int, said: str) -> None:
    asked = partial(refusal, program("block"), LIMITS)
    found = asked({"block": block}, {"_Z3addiPi": counters})
    assert (said in found) and bool(found) == bool(said)


def test_of_several_instances_the_least_counts() -> None:
    """Which of them is launched is not known."""
    asked = partial(refusal, program("block"), LIMITS)
    both = {"_Z3addIfEviPi": StaticCounters(200), "_Z3addIdEviPi": StaticCounters(20)}
    assert asked({"block": 1024}, both) == ""


def test_dynamic_shared_memory_counts() -> None:
    asked = partial(refusal, program("block, block * 4096"), LIMITS)
    assert asked({"block": 32}, {"_Z3addiPi": StaticCounters(16, 1)}) == ""
    assert "262144 bytes of shared memory" in asked(
        {"block": 64}, {"_Z3addiPi": StaticCounters(16)}
    )


def test_what_cuda_says_of_limits() -> None:
    assert says_limits("a launch fails: too many resources requested for launch")
    assert says_limits("ptxas error   : Entry function 'k' uses too much shared data (0x10000)")
    assert not says_limits("a launch fails: an illegal memory access was encountered")
