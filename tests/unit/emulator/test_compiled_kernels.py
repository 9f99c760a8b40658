"""Real CUDA code, compiled by nvcc, on the emulated machine."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from cutune.emulator.machine import LoadedModule
from tests.support.ptx_statements import launch, module

pytestmark = pytest.mark.nvcc

SORT = """
#include <cub/block/block_radix_sort.cuh>
__global__ void sort(unsigned* data) {
  using Sort = cub::BlockRadixSort<unsigned, 128, 4>;
  __shared__ typename Sort::TempStorage storage;
  unsigned keys[4];
  for (int k = 0; k < 4; k++) keys[k] = data[threadIdx.x * 4 + k];
  Sort(storage).Sort(keys);
  for (int k = 0; k < 4; k++) data[threadIdx.x * 4 + k] = keys[k];
}
"""

SCAN = """
#include <cub/block/block_scan.cuh>
#include <cub/block/block_reduce.cuh>
__global__ void scan(int* data, int* total) {
  using Scan = cub::BlockScan<int, 256>;
  using Reduce = cub::BlockReduce<int, 256>;
  __shared__ typename Scan::TempStorage a;
  __shared__ typename Reduce::TempStorage b;
  const int i = blockIdx.x * 256 + threadIdx.x, value = data[i];
  int before;
  Scan(a).ExclusiveSum(value, before);
  const int sum = Reduce(b).Sum(value);
  data[i] = before;
  if (threadIdx.x == 0) atomicAdd(total, sum);
}
"""

GROUPS = """
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
__global__ void groups(int* data) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int value = threadIdx.x;
  for (int k = 8; k; k /= 2) value += tile.shfl_down(value, k);
  if (tile.thread_rank() == 0) data[threadIdx.x] = value;
  if (threadIdx.x % 3 == 1) {
    auto some = cg::coalesced_threads();
    data[64 + threadIdx.x] = 100 * some.size() + some.thread_rank();
  }
}
"""

MATH = """
__global__ void math(double* data, float* single) {
  const double x = data[threadIdx.x];
  data[threadIdx.x] = sin(x) + exp(x) * log(fabs(x) + 1) + pow(x, 3.0) + cbrt(x) + fmod(x, 0.7);
  const float y = single[threadIdx.x];
  const float z = fabsf(y);
  single[threadIdx.x] = sinf(y) + expf(y) * logf(z + 1) + powf(z, 3.0f) + atan2f(y, 2.0f);
}
"""

VIRTUAL = """
struct Shape { __device__ virtual int area() const = 0; };
struct Square : Shape {
  int side;
  __device__ explicit Square(int s) : side(s) {}
  __device__ int area() const override { return side * side; }
};
__global__ void areas(int* out) {
  Shape* shape = new Square(threadIdx.x);
  out[threadIdx.x] = shape->area();
  delete (Square*)shape;
}
"""


def compiled(text: str, folder: Path, *flags: str) -> LoadedModule:
    (folder / "kernel.cu").write_text(text, encoding="utf-8")
    command = ["nvcc", "-std=c++17", "-arch=compute_80", "-ptx", "-lineinfo", *flags, "kernel.cu"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return module((folder / "kernel.ptx").read_text(encoding="utf-8"))


@pytest.mark.long
def test_radix_sort(tmp_path: Path) -> None:
    data = np.random.default_rng(1).integers(0, 2**32, 512, np.uint32)
    expected = np.sort(data)
    launch(compiled(SORT, tmp_path), 128, data)
    assert (data == expected).all()


@pytest.mark.long
def test_scan_and_reduction(tmp_path: Path) -> None:
    data = np.random.default_rng(2).integers(-100, 100, 1024, np.int32)
    rows = data.reshape(4, 256)
    before = (np.cumsum(rows, axis=1) - rows).reshape(-1)
    total, expected = np.zeros(1, np.int32), data.sum()
    launch(compiled(SCAN, tmp_path), 256, data, total, grid=4)
    assert (data == before).all()
    assert total[0] == expected


def test_cooperative_groups(tmp_path: Path) -> None:
    data = np.zeros(128, np.int32)
    launch(compiled(GROUPS, tmp_path), 64, data)
    assert data[:64:16].tolist() == [sum(range(k, k + 16)) for k in (0, 16, 32, 48)]
    first_warp = [i for i in range(32) if i % 3 == 1]
    assert [data[64 + i] for i in first_warp] == [100 * len(first_warp) + k for k in range(11)]


@pytest.mark.parametrize("flags", [(), ("-use_fast_math",)])
def test_mathematical_functions(tmp_path: Path, flags: tuple[str, ...]) -> None:
    x = np.linspace(-3, 3, 64)
    data, single = x.copy(), x.astype(np.float32)
    launch(compiled(MATH, tmp_path, *flags), 64, data, single)
    common = np.sin(x) + np.exp(x) * np.log(np.abs(x) + 1)
    expected = common + x**3 + np.cbrt(x) + np.fmod(x, 0.7)
    np.testing.assert_allclose(data, expected, rtol=1e-12, atol=1e-13)
    expected = common + np.abs(x) ** 3 + np.arctan2(x, 2)
    np.testing.assert_allclose(single, expected, rtol=3e-5, atol=3e-5)


def test_virtual_functions(tmp_path: Path) -> None:
    out = np.zeros(64, np.int32)
    launch(compiled(VIRTUAL, tmp_path), 64, out)
    assert out.tolist() == [i * i for i in range(64)]
