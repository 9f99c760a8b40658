"""Sampled launches against full ones."""

from __future__ import annotations

import numpy as np
import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.emulator.assemble import assemble
from cutune.emulator.launch_log import Triple
from cutune.emulator.machine import LoadedModule
from cutune.emulator.sampling import run_sampled, strata
from cutune.toolchain.nvcc import find_nvcc
from tests.support.launch_parameters import pack_parameters

GHOST_BASE = 1 << 56
GHOSTS = (GHOST_BASE, 1 << 44)

# A border without work, and rows of which the length is no multiple of a warp.
STENCIL = """
extern "C" __global__ void stencil(int n, const float *a, float *b) {
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        b[y * n + x] = a[y * n + x - 1] + a[y * n + x + 1] + a[(y - 1) * n + x];
}
extern "C" __global__ void turned(int n, const float *a, float *b) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.x;
    for (int k = 0; k < 32; k++) tile[k][threadIdx.x] = a[(blockIdx.y * 32 + k) * n + x];
    __syncthreads();
    for (int k = 0; k < 32; k++) b[(blockIdx.x * 32 + k) * n + y] = tile[threadIdx.x][k];
}
extern "C" __global__ void triangle(int n, float *a) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = x; k < n; k++) a[x * n + k] = k;
}
extern "C" __global__ void search(unsigned n, float *a) {
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned k = x;
    do a[x] += 1, k = k * 1664525 + 1013904223;
    while (k % n);
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> LoadedModule:
    """The kernels above."""
    source = tmp_path_factory.mktemp("sampling") / "kernels.cu"
    source.write_text(STENCIL)
    return LoadedModule(assemble(find_nvcc().ptx(source)))


@pytest.mark.parametrize("grid", [(1, 1, 1), (2, 1, 1), (64, 256, 1), (5, 3, 7), (1000, 1, 1)])
@pytest.mark.parametrize("wanted", [1, 16, 40])
def test_strata_stand_for_all_blocks(grid: Triple, wanted: int) -> None:
    chosen = strata(grid, wanted)
    count = grid[0] * grid[1] * grid[2]
    assert sum(stratum.weight * len(stratum.blocks) for stratum in chosen) == pytest.approx(count)
    blocks = [block for stratum in chosen for block in stratum.blocks]
    assert len(set(blocks)) == len(blocks)
    assert {0, count - 1} <= set(blocks) <= set(range(count))


def test_samples_of_one_stratum_are_not_at_a_fixed_stride() -> None:
    inner = max(strata((1000, 1, 1), 32), key=lambda stratum: stratum.size)
    assert len(set(np.diff(inner.blocks))) > 5


@pytest.mark.nvcc
def test_sampled_counters_are_those_of_the_full_launch(module: LoadedModule) -> None:
    for kernel, n, grid, block in (
        ("stencil", 500, (16, 63, 1), (32, 8, 1)),
        ("turned", 1024, (32, 32, 1), (32, 1, 1)),
        ("triangle", 16000, (125, 1, 1), (128, 1, 1)),
    ):
        code = module.kernel(kernel)
        addresses = [GHOST_BASE + (k << 40) for k in range(len(code.parameters) - 1)]
        parameters = pack_parameters(code, n, *addresses)
        full = module.run(kernel, grid, block, parameters, trace=True, ghosts=GHOSTS)
        sampled = run_sampled(module, kernel, grid, block, parameters, ghosts=GHOSTS)
        assert sampled.executed_blocks < full.executed_blocks
        tolerance = 0.05 if kernel == "triangle" else 0.01  # blocks of a triangle differ
        assert sampled.warp_instructions == pytest.approx(full.warp_instructions, rel=tolerance)
        of_memory = ("sectors", "lines", "wavefronts", "new_sectors")
        for name in ("executions", "lanes", "traced", *of_memory):
            total = full.sites[name].sum()
            assert sampled.sites[name].sum() == pytest.approx(total, rel=tolerance), name


@pytest.mark.nvcc
def test_blocks_that_do_the_same_are_counted_exactly(module: LoadedModule) -> None:
    code = module.kernel("stencil")
    parameters = pack_parameters(code, 1001, GHOST_BASE, GHOST_BASE + (1 << 40))
    grid, block = (32, 126, 1), (32, 8, 1)
    full = module.run("stencil", grid, block, parameters, trace=True, ghosts=GHOSTS)
    found = run_sampled(module, "stencil", grid, block, parameters, ghosts=GHOSTS)
    assert found.executed_blocks < full.executed_blocks / 10
    assert found.warp_instructions == full.warp_instructions
    assert found.working_threads == full.working_threads
    assert found.block_lanes.tolist() == full.block_lanes.tolist()
    assert found.block_executions.tolist() == full.block_executions.tolist()
    for name in ("executions", "lanes", "traced"):
        assert found.sites[name].tolist() == full.sites[name].tolist(), name
    extents = [s["highest"].astype(float) - s["lowest"] for s in (found.sites, full.sites)]
    assert extents[0] == pytest.approx(extents[1], rel=0.03)


@pytest.mark.nvcc
def test_a_block_that_takes_too_long_is_refused(module: LoadedModule) -> None:
    code = module.kernel("search")
    parameters = pack_parameters(code, 1_000_000, GHOST_BASE)
    with pytest.raises(CutuneError) as caught:
        run_sampled(module, "search", (8, 1, 1), (128, 1, 1), parameters, ghosts=GHOSTS)
    assert caught.value.diagnostic.code is Code.INSTRUCTION_LIMIT
