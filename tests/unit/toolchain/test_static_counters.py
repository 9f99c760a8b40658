"""What ptxas and PTX say, for the compilers that cutune meets."""

from __future__ import annotations

import pytest

from cutune.toolchain.kernel_names import base_name
from cutune.toolchain.ptxas import StaticCounters, by_kernel, parse_ptxas

CUDA_13 = """\
ptxas info    : 24 bytes gmem
ptxas info    : Compiling entry function '_Z1hIdEvPT_' for 'sm_90'
ptxas info    : Function properties for _Z1hIdEvPT_
    320 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 106 registers, used 1 barriers, 320 bytes cumulative stack size, 512 bytes smem
ptxas info    : Compile time = 20.518 ms
ptxas info    : Compiling entry function 'ec' for 'sm_90'
ptxas info    : Function properties for ec
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 4 registers, used 0 barriers
ptxas info    : Compile time = 0.500 ms
"""

CUDA_11 = """\
ptxas info    : 0 bytes gmem, 40 bytes cmem[3]
ptxas info    : Compiling entry function '_Z4gemmiPf' for 'sm_80'
ptxas info    : Function properties for _Z4gemmiPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 32 registers, 1024+16 bytes smem, 392 bytes cmem[0], 8 bytes cmem[2]
"""

WITH_CALLEE = """\
ptxas info    : Compiling entry function '_Z1ki' for 'sm_90'
ptxas info    : Function properties for _Z1ki
    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for _Z6calleei
    64 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 24 registers, used 0 barriers, 80 bytes cumulative stack size
ptxas info    : Function properties for _Z5otheri
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""


def test_remarks_of_cuda_13() -> None:
    assert parse_ptxas(CUDA_13) == {
        "_Z1hIdEvPT_": StaticCounters(106, static_shared_bytes=512, spilled_bytes=20),
        "ec": StaticCounters(4),
    }


def test_remarks_of_cuda_11() -> None:
    expected = StaticCounters(32, static_shared_bytes=1024)
    assert parse_ptxas(CUDA_11) == {"_Z4gemmiPf": expected}


def test_callees_do_not_count_as_their_caller() -> None:
    assert parse_ptxas(WITH_CALLEE) == {"_Z1ki": StaticCounters(24, spilled_bytes=8)}


@pytest.mark.parametrize("text", ["", "nvcc warning : something\n", "Used 3 registers"])
def test_nothing_to_read(text: str) -> None:
    assert parse_ptxas(text) == {}


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("plain", "plain"),
        ("_Z4gemmiPf", "gemm"),
        ("_ZL4gemmi", "gemm"),
        ("_Z1hIdEvPT_", "h"),
        ("_ZN2ns30_GLOBAL__N__b704f543_4_s_cu_ec1qEi", "q"),
        ("_ZN1aL2khIiEEvT_", "kh"),
    ],
)
def test_names_behind_symbols(symbol: str, name: str) -> None:
    assert base_name(symbol) == name


def test_of_several_instances_the_largest_counts() -> None:
    counters = {"_Z1hIdEvPT_": StaticCounters(40), "_Z1hIfEvPT_": StaticCounters(20)}
    assert by_kernel(counters) == {"h": StaticCounters(40)}
