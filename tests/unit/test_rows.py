"""Blocks that share rows: each case is a kernel and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.emulator.ptx import Module
from cutune.emulator.ptx_parser import parse
from cutune.proof.entry import prove
from cutune.toolchain import find_nvcc
from tests.verdicts import described

pytestmark = pytest.mark.nvcc

R = "int r = blockIdx.x, t = threadIdx.x;"
J = "for (int j = t; j < n; j += blockDim.x)"
#: Before the kernels, which all get (float *a, const float *b, int n, int m, int *c).
COMMON = """
__device__ int counter, flags[64];
__device__ int places[1024];
__device__ __noinline__ float away(float x) { return x * 3; }
"""
SHARED: Mapping[str, str] = {
    "plain": f"{R} {J} a[r * n + j] = b[r * n + j] * 2;",
    "in_place": f"{R} {J} a[r * n + j] = a[r * n + j] * 2;",
    "by_pointer": f"{R} float *p = a + (size_t)r * n; {J} p[j] += 1;",
    "moving_pointer": f"{R} float *p = a + t; {J} {{ *p += 1; p += blockDim.x; }}",
    "long_row": f"{R} for (size_t j = t; j < n; j += blockDim.x) a[r * (size_t)n + j] = 1;",
    "unsigned_row": f"{R} for (unsigned j = t; j < (unsigned)n; j += blockDim.x) a[r * n + j] = 1;",
    "not_greater": f"{R} for (int j = t; j <= n; j += blockDim.x) a[r * m + j] = 1;",
    "quarter": f"{R} int q = n >> 2; for (int j = t; j < q; j += blockDim.x) ((float4 *)a)[r * q + j].x = 1;",
    "fixed_row": f"{R} for (int j = t; j < 100; j += blockDim.x) a[r * 100 + j] = b[j];",
    "pitched": f"{R} {J} a[r * m + j] = 1;",
    "columns_first": f"{R} {J} a[j * m + r] = b[j];",
    "rows_of_a_grid": f"{R} for (int i = r; i < m; i += gridDim.x) {J} a[i * n + j] = 1;",
    "two_of_each": f"{R} {J} {{ a[2 * (r * n + j)] = 1; a[2 * (r * n + j) + 1] = b[j]; }}",
    "inner_loop": f"{R} {J} {{ float s = 0; for (int k = 0; k < m; ++k) s += b[k * n + j]; a[r * n + j] = s; }}",
    "inner_writes": f"{R} {J} for (int k = 0; k < m; ++k) a[k * n + j] += 1;",
    "up_to_j": f"{R} {J} {{ float s = 0; for (int k = 0; k < j; ++k) s += b[k]; a[r * n + j] = s; }}",
    "in_a_condition": f"{R} {J} if (b[j] > 0) a[r * n + j] = 1; else a[r * n + j] = 2;",
    "skips_some": f"{R} {J} {{ if (j % 3 == r) continue; a[r * n + j] = 1; }}",
    "uniform_guard": f"{R} if (r >= m) return; {J} a[r * n + j] = 1;",
    "two_loops": f"{R} {J} a[r * n + j] = b[j]; {J} a[r * n + j] += 1;",
    "two_rows": f"{R} {J} a[r * (n + m) + j] = 1; for (int j = t; j < m; j += blockDim.x) c[r * m + j] = 1;",
    "first_alone": f"{R} {J} a[r * n + j] = 1; if (t == 0) c[r] = n;",
    "first_alone_too": f"{R} if (t == 0 && r < m) c[r] = n; {J} a[r * n + j] = 1;",
    "adds_up": f"{R} {J} if (b[j] > 0) atomicAdd(c + r, 1);",
    "adds_up_reals": f"{R} {J} atomicAdd(a + r, b[r * n + j]);",
    "greatest": f"{R} {J} atomicMax(&counter, ((int *)b)[j]);",
    "histogram": f"{R} {J} atomicAdd(c + ((int *)b)[r * n + j], 1);",
    "one_flag": f"{R} {J} if (b[j] < 0) counter = 1;",
    "waits": f"{R} {J} a[r * n + j] = b[j]; __syncthreads(); {J} a[r * n + j] += 1;",
    "in_y": "int t = threadIdx.y; for (int j = t; j < n; j += blockDim.y) a[blockIdx.y * n + j] = 1;",
    "batches": f"{R} {J} a[(blockIdx.y * gridDim.x + r) * n + j] = 1;",
    "of_elements": f"{R} {J} a[r * n + j] = j + r * gridDim.x;",
    "triangle": f"{R} for (int j = t; j <= r; j += blockDim.x) a[r * m + j] = 1;",
    "least": f"{R} int e = min(n, 512); for (int j = t; j < e; j += blockDim.x) a[r * 512 + j] = 1;",
}
HOSTILE: Mapping[str, str] = {
    "carried": f"{R} float s = 0; {J} {{ s += b[j]; a[r * n + j] = s; }}",
    "carried_count": f"{R} int k = 0; {J} a[r * n + j] = k++;",
    "carried_flag": f"{R} bool f = false; {J} {{ if (f) a[r * n + j] = 1; f = b[j] > 0; }}",
    "carried_least": f"{R} float s = 0; {J} {{ s = fminf(s, b[j]); a[r * n + j] = s; }}",
    "carried_index": f"{R} int l = -1; {J} {{ a[r * n + j] = l; l = j; }}",
    "carried_in_memory": f"{R} float s[4] = {{0}}; {J} {{ s[j & m] += b[j]; a[r * n + j] = s[n & 3]; }}",
    "kept_behind": f"{R} float s = 0; {J} s += b[j]; atomicAdd(a + r, s);",
    "last_j": f"{R} int j = t; for (; j < n; j += blockDim.x) a[r * n + j] = 1; c[r * m + j] = 1;",
    "last_of_first": f"{R} int j = t; for (; j < n; j += blockDim.x) a[r * n + j] = 1; if (t == 0) c[r] = j;",
    "breaks": f"{R} {J} {{ if (b[j] < 0) break; a[r * n + j] = 1; }}",
    "returns": f"{R} {J} {{ if (b[j] < 0) return; a[r * n + j] = 1; }}",
    "own_limit": f"{R} for (int j = t; j < n - t; j += blockDim.x) a[r * n + j] = 1;",
    "limit_of_block": f"{R} for (int j = t; j < n * blockDim.x; j += blockDim.x) a[r * n + j] = 1;",
    "limit_of_round": f"{R} {J} {{ a[r * m + j] = 1; n -= 1; }}",
    "limit_in_memory": f"{R} for (int j = t; j < *c; j += blockDim.x) a[r * n + j] = 1;",
    "limit_loaded": f"{R} int e = *c; for (int j = t; j < e; j += blockDim.x) a[r * n + j] = 1;",
    "begins_later": f"{R} if (t + 1 < n) for (int j = t + 1; j < n; j += blockDim.x) a[r * n + j] = blockDim.x;",
    "doubled_begin": f"{R} for (int j = 2 * t; j < n; j += blockDim.x) a[r * n + j] = 1;",
    "constant_step": f"{R} for (int j = t; j < n; j += 256) a[r * n + j] = 1;",
    "thread_as_value": f"{R} {J} a[r * n + j] = t;",
    "size_as_value": f"{R} {J} a[r * n + j] = blockDim.x;",
    "round_as_value": f"{R} {J} a[r * n + j] = j / blockDim.x;",
    "next_as_value": f"{R} {J} a[r * n + j] = j + blockDim.x;",
    "thread_as_index": f"{R} {J} a[r * n + j] = b[t];",
    "thread_in_condition": f"{R} {J} if (t < 7) a[r * n + j] = 1;",
    "first_in_loop": f"{R} {J} if (t == 0) a[r * n + j] = 1;",
    "one_place": f"{R} {J} a[r] = b[j];",
    "one_sum": f"{R} {J} a[r] += b[j];",
    "neighbours": f"{R} {J} a[r * n + j] = a[r * n + j + 1];",
    "shifted_write": f"{R} {J} {{ a[r * n + j] = 1; a[r * n + j + 1] = 2; }}",
    "overlapping": f"{R} {J} *(float2 *)(a + r * n + j) = make_float2(b[j], 2);",
    "halved_places": f"{R} {J} a[r * n + j / 2] = j;",
    "scattered": f"{R} {J} a[((int *)b)[j]] = j;",
    "sum_of_indices": f"{R} {J} for (int k = 0; k < m; ++k) a[j + k] += 1;",
    "gathered_own": f"{R} {J} a[r * n + j] = a[c[j]];",
    "mirrored": f"{R} {J} a[r * n + j] = b[j]; {J} c[r * n + j] = a[r * n + n - 1 - j];",
    "mirrored_in_one": f"{R} {J} a[r * n + j] = a[r * n + n - 1 - j];",
    "other_mapping": f"{R} {J} a[r * n + j] = 1; for (int j = t; 2 * j < n; j += blockDim.x) a[r * n + 2 * j] += 1;",
    "other_row": f"{R} for (int k = 0; k < m; ++k) {J} a[k + j] += 1;",
    "overlapping_rows": f"{R} for (int k = 0; k < m; ++k) {J} a[k * m + j] += 1;",
    "other_rows": f"{R} {J} a[r * n + j] = 1; for (int j = t; j < m; j += blockDim.x) a[r * m + j] += 1;",
    "reads_the_first": f"{R} {J} a[r * n + j] = a[r * n] + 1;",
    "reads_a_sum": f"{R} {J} a[r * n + j] = b[j]; float s = 0; for (int k = 0; k < n; ++k) s += a[r * n + k]; {J} c[r * n + j] = s;",
    "nested": f"{R} {J} for (int k = t; k < m; k += blockDim.x) a[j * m + k] = 1;",
    "nested_again": f"{R} for (int i = blockDim.x; i > 0; i /= 2) {J} a[r * n + j] += 1;",
    "all_threads": f"{R} {J} a[r * n + j] = 1; atomicAdd(c, 1);",
    "not_the_first": f"{R} {J} a[r * n + j] = 1; if (t != 0) counter = 1;",
    "some_thread": f"{R} {J} a[r * n + j] = 1; if (t == 5) counter = 1;",
    "last_thread": f"{R} {J} a[r * n + j] = 1; if (t == blockDim.x - 1) counter = 1;",
    "outside_of_row": f"{R} if (t < n) c[t] = 1; {J} a[r * n + j] = 1;",
    "before_the_loop": f"{R} if (t >= n) {{ counter = 1; return; }} {J} a[r * n + j] = 1;",
    "fewer_threads": f"{R} if (t < m) {J} a[r * n + j] = 1;",
    "odd_threads": f"{R} if (t & 1) {J} a[r * n + j] = 1;",
    "loaded_threads": f"{R} if (b[t] > 0) {J} a[r * n + j] = 1;",
    "block_decides": f"{R} if (blockDim.x > 64) {J} a[r * n + j] = 1;",
    "waits_in_loop": f"{R} {J} {{ a[r * n + j] = 1; __syncthreads(); }}",
    "waits_in_part": f"{R} {J} a[r * n + j] = 1; if (t < 32) __syncthreads();",
    "counts_who_waits": f"{R} {J} a[r * n + j] = 1; if (__syncthreads_count(t < n) > 3) counter = 1;",
    "used_result": f"{R} {J} a[atomicAdd(c, 1)] = b[j];",
    "first_wins": f"{R} {J} atomicCAS(c, 0, j);",
    "exchanges": f"{R} {J} atomicExch(c + r, j);",
    "mixed": f"{R} {J} {{ atomicAdd(c, j); atomicMax(c, j); }}",
    "reads_the_sum": f"{R} {J} {{ atomicAdd(c, 1); a[r * n + j] = *c; }}",
    "calls_away": f"{R} {J} a[r * n + j] = away(b[j]);",
    "votes": f"{R} {J} {{ float v = __shfl_down_sync(0xffffffff, b[j], 1); a[r * n + j] = v; }}",
    "lanes": f"{R} {J} a[r * n + j] = t % 32;",
    "tiles": f"{R} __shared__ float s[64]; {J} {{ s[t % 64] = b[j]; a[r * n + j] = s[t % 64]; }}",
    "flag_is_read": f"{R} {J} {{ if (counter) a[r * n + j] = 1; if (b[j] < 0) counter = 1; }}",
    "different_flags": f"{R} {J} counter = j;",
    "two_variables": f"{R} {J} {{ flags[j & 63] = 1; a[r * n + j] = 2; }}",
    "threads_in_y": f"{R} int u = threadIdx.y; if (u < 3) {J} a[(r * 3 + u) * n + j] = u;",
    "down_from_the_end": f"{R} for (int j = n - 1 - t; j >= 0; j -= blockDim.x) a[r * n + j] = blockDim.x;",
    "by_global_step": f"{R} for (int j = t; j < n; j += blockDim.x * gridDim.x) a[r * n + j] = 1;",
    "begins_in_block": f"{R} for (int j = r * blockDim.x + t; j < n; j += blockDim.x) a[j] += 1;",
}
