"""How reasons name the shared arrays of a kernel."""

from __future__ import annotations

import pytest

from cutune.core.source import Source
from tests.support.analyzed import analyzed

TEXT = """
namespace ns { enum class Way { first }; }
template <int T, ns::Way W> __global__ void turned(int *a)
{
    __shared__ int row[T];
    row[threadIdx.x] = a[blockIdx.x * T + threadIdx.x];
    __syncthreads();
    a[blockIdx.x * T + threadIdx.x] = row[T - 1 - threadIdx.x];
}
void f(int *a) { turned<128, ns::Way::first><<<8, 128>>>(a); }
"""


@pytest.mark.nvcc
def test_numbers_of_template_arguments_end_no_name() -> None:
    """The mangled name of `row` has `WayE0E` before its own end."""
    (site,) = analyzed(Source("turned.cu", TEXT)).launches
    assert "'row' has a place for each threadIdx.x" in site.reason
