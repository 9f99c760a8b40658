"""Tables in shared memory: each case is a kernel whose blocks fill one, or something like it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.core.codes import Code
from cutune.emulator.ptx.parse import parse
from cutune.emulator.ptx.types import Module
from cutune.proof.entry import prove
from cutune.toolchain.nvcc import find_nvcc

pytestmark = pytest.mark.nvcc

COMMON = """
#define D blockDim.x
#define T int t = threadIdx.x, i = blockIdx.x * D + t;
#define S __shared__ float s[256];
#define FILL for (int j = t; j < 256; j += D) s[j] = b[j];
#define WAIT __syncthreads();
__device__ float away[256];
__device__ __noinline__ float called(float x) { return x * 3; }
"""
#: Of (float *a, const float *__restrict__ b, int n, int m, int *c), all proven in x.
TABLES: Mapping[str, str] = {
    "plain": "S T FILL WAIT if (i < n) a[i] = s[c[i] & 255];",
    "uniform_index": "S T FILL WAIT if (i < n) { for (int k = 0; k < m; ++k) a[i] += s[k]; }",
    "by_size": "S T for (int j = t; j < m; j += D) s[j] = b[j]; WAIT if (i < n) a[i] = s[c[i]];",
    "up_to_size": (
        "S T for (int j = t; j <= m; j += D) s[j] = b[j]; WAIT if (i < n) a[i] = s[c[i]];"
    ),
    "computed": "S T for (int j = t; j < 256; j += D) s[j] = j * n; WAIT if (i < n) a[i] = s[m];",
    "of_two": (
        "S T for (int j = t; j < 100; j += D) { s[j] = b[j]; s[j + 100] = b[2 * j]; } WAIT"
        " if (i < n) a[i] = s[c[i]];"
    ),
    "rows_behind_each_other": (
        "extern __shared__ float s[]; T for (int j = t; j < m + 1; j += D)"
        " { s[j] = b[j]; s[m + 1 + j] = b[2 * j]; s[2 * (m + 1) + j] = 1; } WAIT"
        " if (i < n) a[i] = s[c[i]];"
    ),
    "two_arrays": (
        "S __shared__ int u[64]; T FILL for (int j = t; j < 64; j += D) u[j] = (j * m) & 255; WAIT"
        " if (i < n) a[i] = s[u[c[i] & 63]];"
    ),
    "strides": "S T FILL WAIT for (; i < n; i += gridDim.x * D) a[i] = s[c[i] & 255];",
    "all_of_it": "S T FILL WAIT a[i] = s[c[i] & 255];",
    "sometimes": (
        "S T for (int j = t; j < 256; j += D) { s[j] = 0; if (b[j] > 0) s[j] = b[j]; } WAIT"
        " if (i < n) a[i] = s[c[i] & 255];"
    ),
    "reads_later": "S T FILL WAIT if (i < n && b[i] > 0) a[i] = s[c[i] & 255] + b[i];",
}
#: What must stay as it is.
HOSTILE: Mapping[str, str] = {
    "no_wait": "S T FILL if (i < n) a[i] = s[c[i] & 255];",
    "some_wait": "S T FILL if (i < n) { WAIT a[i] = s[c[i] & 255]; }",
    "waits_in_a_loop": "S T for (int k = 0; k < m; ++k) { FILL WAIT } if (i < n) a[i] = s[c[i]];",
    "waits_twice": "S T FILL WAIT if (i < n) a[i] = s[c[i] & 255]; WAIT a[i] += s[0];",
    "waits_and_counts": (
        "S T FILL int k = __syncthreads_count(t < m); if (i < n) a[i] = s[c[i] & 255] + k;"
    ),
    "waits_by_name": ('S T FILL asm volatile("bar.sync 1, 64;"); if (i < n) a[i] = s[c[i] & 255];'),
    "leaves_before": "S T if (i >= n) return; FILL WAIT a[i] = s[c[i] & 255];",
    "own_element": "S T s[t] = b[i]; WAIT if (i < n) a[i] = s[t];",
    "neighbour": "S T s[t] = b[i]; WAIT if (i < n) a[i] = s[(t + 1) % D];",
    "own_tile": "S T for (int j = t; j < 256; j += D) s[j] = b[blockIdx.x * 256 + j];"
    " WAIT if (i < n) a[i] = s[c[i] & 255];",
    "of_the_grid": "S T for (int j = t; j < 256; j += D) s[j] = b[j] * gridDim.x;"
    " WAIT if (i < n) a[i] = s[c[i] & 255];",
    "of_the_id": "S T for (int j = t; j < 256; j += D) s[j] = i; WAIT if (i < n) a[i] = s[m];",
    "of_the_row": "S T for (int j = t; j < 256; j += D) s[j] = blockIdx.y;"
    " WAIT if (i < n) a[i] = s[m];",
    "of_the_thread": "S T for (int j = t; j < 256; j += D) s[j] = t; WAIT if (i < n) a[i] = s[m];",
    "of_the_width": "S T for (int j = t; j < 256; j += D) s[j] = D; WAIT if (i < n) a[i] = s[m];",
    "of_the_round": "S T int k = 0; for (int j = t; j < 256; j += D) s[j] = k++;"
    " WAIT if (i < n) a[i] = s[m];",
    "as_many_as_threads": "S T for (int j = t; j < D; j += D) s[j] = b[j];"
    " WAIT if (i < n) a[i] = s[m];",
    "one_step": "S T if (t < 256) s[t] = b[t]; WAIT if (i < n) a[i] = s[c[i] & 255];",
    "fixed_step": "S T for (int j = t; j < 256; j += 128) s[j] = b[j];"
    " WAIT if (i < n) a[i] = s[c[i] & 255];",
    "one_place": "S T for (int j = t; j < 256; j += D) s[0] = b[j]; WAIT if (i < n) a[i] = s[0];",
    "halves": "S T for (int j = t; j < 256; j += D) s[j / 2] = b[j]; WAIT if (i < n) a[i] = s[m];",
    "scattered": "S T for (int j = t; j < 256; j += D) s[(int)b[j]] = j;"
    " WAIT if (i < n) a[i] = s[m];",
    "overlapping": "S T for (int j = t; j < 99; j += D) { s[j] = b[j]; s[j + 1] = 1; }"
    " WAIT if (i < n) a[i] = s[m];",
    "of_any_distance": "S T for (int j = t; j < 99; j += D) { s[j] = b[j]; s[j + m] = 1; }"
    " WAIT if (i < n) a[i] = s[m];",
    "from_itself": "S T for (int j = t; j < 255; j += D) s[j] = s[j + 1] + b[j];"
    " WAIT if (i < n) a[i] = s[m];",
    "sums": "S T for (int j = t; j < 256; j += D) atomicAdd(s + (int)b[j], 1.0f);"
    " WAIT if (i < n) a[i] = s[m];",
    "writes_away": "S T for (int j = t; j < 256; j += D) { s[j] = b[j]; away[j] += 1; }"
    " WAIT if (i < n) a[i] = s[m];",
    "adds_away": "S T for (int j = t; j < 256; j += D) { s[j] = b[j]; atomicAdd(c, 1); }"
    " WAIT if (i < n) a[i] = s[m];",
    "calls": "S T for (int j = t; j < 256; j += D) s[j] = called(b[j]);"
    " WAIT if (i < n) a[i] = s[m];",
    "written_behind": "S T for (int j = t; j < 256; j += D) s[j] = a[j];"
    " WAIT if (i < n) a[i] = s[m];",
    "written_later": "S T FILL WAIT s[t & 255] += 1; if (i < n) a[i] = s[c[i] & 255];",
    "summed_later": "S T FILL WAIT atomicAdd(s + (i & 255), 1.0f); if (i < n) a[i] = s[m];",
    "read_by_thread": "S T FILL WAIT if (i < n) a[i] = s[t & 255];",
    "read_by_width": "S T FILL WAIT if (i < n) a[i] = s[D & 255];",
    "read_by_last_j": "S T int j = t; for (; j < 256; j += D) s[j] = b[j];"
    " WAIT if (i < n) a[i] = s[j & 255];",
    "read_by_last_value": "S T float v = 0; for (int j = t; j < 256; j += D) s[j] = v = b[j];"
    " WAIT if (i < n) a[i] = s[m] + v;",
    "read_by_filler": "S T bool f = 0; for (int j = t; j < 256; j += D) { s[j] = 1; f = 1; }"
    " WAIT if (i < n && f) a[i] = s[m];",
    "read_before": "S T float v = b[t]; FILL WAIT if (i < n) a[i] = s[m] + v;",
    "in_two_dimensions": "S T int k = threadIdx.y; FILL WAIT if (i < n) a[i * m + k] = s[c[i]];",
    "by_pointer": "S T FILL WAIT float *p = c[0] ? s : a; if (i < n) a[i] = p[c[i] & 255];",
    "two_of_unknown_length": (
        "extern __shared__ float s[]; extern __shared__ int u[]; T"
        " for (int j = t; j < m; j += D) { s[j] = b[j]; u[j] = j; } WAIT"
        " if (i < n) a[i] = s[u[c[i]]];"
    ),
    "not_all": "S T if (t & 1) { FILL } WAIT if (i < n) a[i] = s[c[i] & 255];",
    "some_blocks": "S T if (blockIdx.x > 3) { FILL } WAIT if (i < n) a[i] = s[c[i] & 255];",
    "begins_later": "S T for (int j = t + 1; j < 256; j += D) s[j] = b[j];"
    " WAIT if (i < n) a[i] = s[c[i] & 255];",
    "counts_only": "S T for (int j = t; j < m; j += D) if (j < 9) s[j] = 1;"
    " WAIT if (i < n) a[i] = s[c[i] & 7];",
}


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    parameters = "float *a, const float *__restrict__ b, int n, int m, int *c"
    kernels = "".join(
        f"__global__ void {name}({parameters}) {{ {body} }}\n"
        for name, body in (*TABLES.items(), *HOSTILE.items())
    )
    path = tmp_path_factory.mktemp("tables") / "kernels.cu"
    path.write_text(COMMON + 'extern "C" {\n' + kernels + "}\n")
    return parse(find_nvcc().ptx(path))


@pytest.mark.parametrize("name", list(TABLES))
def test_tables_are_proven(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is None and proof.has_table
    x = proof.dimensions[0]
    assert x.indexed and x.raw is None and not x.grid_kept
    assert x.grid_stride == (name == "strides")
    assert bool(x.bounds) == (name not in ("strides", "all_of_it"))


@pytest.mark.parametrize("name", list(HOSTILE))
def test_nothing_is_proven(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert proof.refused is not None and proof.refused.code is Code.SHARED_MEMORY
    assert not proof.has_table
