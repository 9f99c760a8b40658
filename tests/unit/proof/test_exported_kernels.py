"""Which kernels of a source others can link with: the host compiler says it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cutune.proof.analysis.host_calls import exported_kernels
from cutune.toolchain.nvcc import find_nvcc

pytestmark = pytest.mark.usefixtures("short_headers")

EXPORTS = """\
__global__ void k(int *a) { *a = 1; }
extern "C" __global__ void in_c(int *a) { *a = 1; }
static __global__ void hidden(int *a) { *a = 1; }
namespace { __global__ void unnamed(int *a) { *a = 1; } }
__global__ void declared(int *a);
template <class T> __global__ void of_type(T *a) { *a = 1; }
template __global__ void of_type<int>(int *a);
void use() { hidden<<<1, 1>>>(0); unnamed<<<1, 1>>>(0); declared<<<1, 1>>>(0); k<<<1, 1>>>(0); }
"""


@pytest.mark.nvcc
@pytest.mark.parametrize("flags", [(), ("-dc",), ("-fPIC",)])
def test_what_others_can_link_with(flags: Sequence[str], tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    source.write_text(EXPORTS)
    given = ["-Xcompiler", *flags] if "-fPIC" in flags else flags
    found = exported_kernels(find_nvcc(), str(source), given)
    # What is in an unnamed namespace has a name that no other source has.
    unnamed = {symbol for symbol in found if "_GLOBAL__N_" in symbol}
    assert found - unnamed == {"_Z1kPi", "in_c", "_Z3usev"}
