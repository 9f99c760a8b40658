"""How reasons name the shared arrays of a kernel."""

from __future__ import annotations

import pytest

from cutune.core.source import Source
from cutune.proof.memory.block_sums import Reduced
from cutune.proof.values.polynomial import OPAQUE, THREAD, IntegerPolynomial
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


UNNAMED = """
namespace ns { namespace {
__global__ void shifted(int *a, int n)
{
    extern __shared__ int row[];
    row[threadIdx.x] = a[blockIdx.x * n + threadIdx.x];
    __syncthreads();
    a[blockIdx.x * n + threadIdx.x] = row[threadIdx.x ^ 1];
}
} }
void f(int *a, int n) { ns::shifted<<<8, 64, 256>>>(a, n); }
"""


@pytest.mark.nvcc
def test_arrays_of_namespaces_have_their_own_names() -> None:
    (site,) = analyzed(Source("unnamed.cu", UNNAMED)).launches
    assert "'row' has a place for each threadIdx.x" in site.reason


CALLED_X = """
extern __shared__ int x[];
__global__ void kernel(int *a, int n)
{
    x[n] = n;
    __syncthreads();
    a[threadIdx.x] = x[n] + threadIdx.x;
}
void f(int *a, int n) { kernel<<<8, 64>>>(a, n); }
"""


@pytest.mark.nvcc
def test_an_array_called_x_is_not_threadidx_x() -> None:
    (site,) = analyzed(Source("called_x.cu", CALLED_X)).launches
    assert "threads of a block share 'x'" in site.reason


def test_a_reduction_may_use_a_place_without_a_name() -> None:
    """Of `p[threadIdx.x]` it is not known in which array it lies, even where one is called `x`."""
    place = IntegerPolynomial.atom(OPAQUE, "phi3.%r7") + IntegerPolynomial.atom(THREAD, "x") * 4
    reduced = Reduced(arrays=frozenset({"sums"}))
    assert reduced.may_use(place, ("sums", "x"))
    assert not reduced.may_use(place + IntegerPolynomial.atom(OPAQUE, "&x"), ("sums", "x"))
