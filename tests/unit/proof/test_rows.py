"""Blocks that share rows: each case is a kernel and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from cutune.proof.entry import judge, prove
from cutune.proof.values.built_ins import KeptGrid
from cutune.ptx.types import Module, Variable
from tests.support.proof_verdicts import compiled, described

pytestmark = pytest.mark.nvcc

#: Before the kernels, which all get (float *a, const float *b, int n, int m, int *c).
COMMON = """
#define D blockDim.x
#define R int r = blockIdx.x, t = threadIdx.x;
#define J for (int j = t; j < n; j += D)
#define K for (int j = t; j < 64; j += D)
#define WAIT __syncthreads();
extern __shared__ float dynamic[];
extern __shared__ int other[];
__device__ int counter, flags[64];
__device__ int places[1024];
__device__ __noinline__ float away(float x) { return x * 3; }
"""
SHARED: Mapping[str, str] = {
    "plain": "R J a[r * n + j] = b[r * n + j] * 2;",
    "in_place": "R J a[r * n + j] = a[r * n + j] * 2;",
    "by_pointer": "R float *p = a + (size_t)r * n; J p[j] += 1;",
    "moving_from_an_int": "R float *p = a + (r * n + t); J *p += 1, p += D;",
    "moving_pointer": "R float *p = a + t; J { *p += 1; p += D; }",
    "long_row": "R for (size_t j = t; j < n; j += D) a[r * (size_t)n + j] = j;",
    "unsigned_row": "R for (unsigned j = t; j < (unsigned)n; j += D) a[r * n + j] = j;",
    "not_greater": "R for (int j = t; j <= n; j += D) a[r * m + j] = j;",
    "quarter": "R int q = n >> 2; for (int j = t; j < q; j += D) ((float4 *)a)[r * q + j].x = 1;",
    "fixed_row": "R for (int j = t; j < 100; j += D) a[r * 100 + j] = b[j];",
    "pitched": "R J a[r * m + j] = j;",
    "columns_first": "R J a[j * m + r] = b[j];",
    "rows_of_a_grid": "R for (int i = r; i < m; i += gridDim.x) J a[i * n + j] = j;",
    "two_of_each": "R J { a[2 * (r * n + j)] = j; a[2 * (r * n + j) + 1] = b[j]; }",
    "inner_loop": (
        "R J { float s = 0; for (int k = 0; k < m; ++k) s += b[k * n + j]; a[r * n + j] = s; }"
    ),
    "inner_writes": "R J for (int k = 0; k < m; ++k) a[k * n + j] += 1;",
    "up_to_j": "R J { float s = 0; for (int k = 0; k < j; ++k) s += b[k]; a[r * n + j] = s; }",
    "in_a_condition": "R J if (b[j] > 0) a[r * n + j] = j; else a[r * n + j] = 2;",
    "skips_some": "R J { if (j % 3 == r) continue; a[r * n + j] = j; }",
    "uniform_guard": "R if (r >= m) return; J a[r * n + j] = j;",
    "two_loops": "R J a[r * n + j] = b[j]; J a[r * n + j] += 1;",
    "two_rows": "R J a[r * (n + m) + j] = j; for (int j = t; j < m; j += D) c[r * m + j] = 1;",
    "first_alone": "R J a[r * n + j] = j; if (t == 0) c[r] = n;",
    "first_alone_too": "R if (t == 0 && r < m) c[r] = n; J a[r * n + j] = j;",
    "adds_up": "R J if (b[j] > 0) atomicAdd(c + r, 1);",
    "adds_up_reals": "R J atomicAdd(a + r, b[r * n + j]);",
    "histogram": "R J atomicAdd(c + ((int *)b)[r * n + j], 1);",
    "waits": "R J a[r * n + j] = b[j]; __syncthreads(); J a[r * n + j] += 1;",
    "in_y": (
        "int t = threadIdx.y; for (int j = t; j < n; j += blockDim.y) a[blockIdx.y * n + j] = j;"
    ),
    "batches": "R J a[(blockIdx.y * gridDim.x + r) * n + j] = j;",
    "of_elements": "R J a[r * n + j] = j + r * gridDim.x;",
    "triangle": "R for (int j = t; j <= r; j += D) a[r * m + j] = j;",
    "least": "R int e = min(n, 512); for (int j = t; j < e; j += D) a[r * 512 + j] = j;",
    "greatest": "R J atomicMax(c, ((int *)b)[j]);",
    "marks": "R J if (b[j] < 0) c[j / 7] = 1;",
    "unrolled": "R for (int k = 0; k < 4; ++k) J a[(4 * r + k) * n + j] = b[j] * k;",
    "limit_loaded": "R int e = *c; for (int j = t; j < e; j += D) a[r * n + j] = j;",
    "limit_in_memory": "R for (int j = t; j < *c; j += D) a[r * n + j] = j;",
    "begin_loaded": "R for (int j = c[r] + t; j < c[r + 1]; j += D) a[j] *= b[r];",
    "begin_and_length": (
        "R int s = c[r], e = c[r + 1] - s; for (int j = t; j < e; j += D) a[s + j] = j;"
    ),
    "long_ends": (
        'R long *p = (long *)c, e = p[r + 1]; _Pragma("unroll 1")'
        " for (long j = p[r] + t; j < e; j += D) a[j] = j;"
    ),
    "unsigned_ends": (
        "R unsigned *p = (unsigned *)c, e = p[r + 1];"
        " for (unsigned j = p[r] + t; j < e; j += D) a[j] = j;"
    ),
    "begin_sized": "R for (int j = m + t; j < n; j += D) a[r * n + j] = j;",
    "part_of_a_grid": (
        "R int s = r * m, e = min(s + m, n); for (int j = s + t; j < e; j += D) a[j] = b[j];"
    ),
    "listed_rows": "R int i = ((int *)b)[r]; for (int j = t; j < c[i]; j += D) a[i * n + j] = j;",
    "rest_of_a_row": (
        "R int e = c[r]; for (int j = t; j < e; j += D) a[r * n + j] = b[j];"
        " for (int j = e + t; j < n; j += D) a[r * n + j] = 0;"
    ),
    "rest_of_a_batch": (
        "R int e = c[blockIdx.y]; float *p = a + (blockIdx.y * gridDim.x + r) * n;"
        " for (int j = t; j < e; j += D) p[j] = b[j];"
        " for (int j = e + t; j < n; j += D) p[j] = 0;"
    ),
    "threads_in_y": "R int u = threadIdx.y; if (u < 3) J a[(r * 3 + u) * n + j] = u;",
    "sum_in_y": "R int u = threadIdx.y; J a[u * n + j] += blockDim.y;",
    "every_second": (
        "R for (int k = 0; k < m; ++k) for (int j = t; 2 * j < 5; j += D) a[3 * k + j] += 1;"
    ),
    "unsigned_backwards": "R unsigned w = n; for (unsigned j = t; j < w; j += D) a[w - 1 - j] = j;",
    # Barriers order what is done for different elements.
    "mirrored_behind_barrier": (
        "R J a[r * n + j] = b[j]; WAIT J c[r * n + j] = a[r * n + n - 1 - j];"
    ),
    "table": "__shared__ float s[64]; R K s[j] = b[j]; WAIT J a[r * n + j] = s[(int)b[j] & 63];",
    "few_table": (
        "__shared__ float s[64]; R if (t < 64) s[t] = b[t];"
        " WAIT J a[r * n + j] = s[(int)b[j] & 63];"
    ),
    "launched_table": "R J dynamic[j] = b[j]; WAIT J a[r * n + j] = dynamic[n - 1 - j];",
    "tile_by_tile": (
        "__shared__ float s[64]; R for (int k = 0; k < m; ++k) {"
        " K s[j] = b[k * 64 + j]; WAIT J a[r * n + j] += s[j & 63]; WAIT }"
    ),
    "shared_histogram": (
        "__shared__ int s[64]; R K s[j] = 0; WAIT J atomicAdd(s + ((int *)b)[r * n + j] % 64u, 1);"
        " WAIT K c[r * 64 + j] = s[j];"
    ),
    "set_by_first": "__shared__ float s; R if (t == 0) s = b[r]; WAIT J a[r * n + j] = s;",
    "two_tables": (
        "__shared__ float s[64], u[64]; R K { s[j] = b[j]; u[j] = j; } WAIT"
        " J a[r * n + j] = s[j & 63] + u[j & 7];"
    ),
    "in_place_in_shared": (
        "__shared__ float s[64]; R K s[j] = j; K s[j] *= 2; WAIT J a[r * n + j] = s[5];"
    ),
    # Threads that do several elements in a row.
    "fours": "R for (int j = 4 * t; j < n; j += 4 * D) *(float4 *)(a + r * n + j) = {1, 2, 3, 4};",
    "guarded_fours": (
        "R for (int j = 4 * t; j < n; j += 4 * D) for (int k = 0; k < 4; ++k)"
        " if (j + k < n) a[r * n + j + k] = b[j + k];"
    ),
}
HOSTILE: Mapping[str, str] = {
    # Each thread keeps its own value over a row that has several elements for it.
    "few_and_rows": "R if (t < 64) { float v = b[t]; for (int j = t; j < 640; j += D) a[j] = v; }",
    "few_before_rows": "R float v = 0; if (t < 64) v = b[t]; J a[r * n + j] = v;",
    "few_at_others": (
        "__shared__ float s[64]; R if (t < 64) s[t] = b[t]; WAIT J a[r * n + j] = s[t & 63];"
    ),
    # The pointer may lead to the variable, whatever is added to it.
    "pointer_to_shared": (
        "__shared__ float s[99]; R char *p = (char *)(m ? s : a) + (long long)c;"
        " J s[j + 1] = *(float *)(p + 4 * j); WAIT J a[r * n + j] = s[j];"
    ),
    # Unsigned indices may wrap around onto other elements: 5 * 3435973837 is 2^34 + 1.
    "unsigned_fields": (
        "R unsigned w = n, h = m; for (unsigned j = t; j < w; j += D)"
        " { a[j] = 1; a[h * w + j] += 2; }"
    ),
    "through_loaded_pointer": "R J a[r * n + j] = (*(float **)b)[j];",
    "greatest_variable": "R J atomicMax(&counter, ((int *)b)[j]);",
    "one_flag": "R J if (b[j] < 0) counter = 1;",
    "carried": "R float s = 0; J { s += b[j]; a[r * n + j] = s; }",
    "carried_count": "R int k = 0; J a[r * n + j] = k++;",
    "carried_flag": "R bool f = false; J { if (f) a[r * n + j] = j; f = b[j] > 0; }",
    "carried_least": "R float s = 0; J { s = fminf(s, b[j]); a[r * n + j] = s; }",
    "carried_index": "R int l = -1; J { a[r * n + j] = l; l = j; }",
    "carried_in_memory": "R float s[4] = {0}; J { s[j & m] += b[j]; a[r * n + j] = s[n & 3]; }",
    "kept_behind": "R float s = 0; J s += b[j]; atomicAdd(a + r, s);",
    "last_j": "R int j = t; for (; j < n; j += D) a[r * n + j] = j; c[r * m + j] = 1;",
    "last_of_first": "R int j = t; for (; j < n; j += D) a[r * n + j] = j; if (t == 0) c[r] = j;",
    "breaks": "R J { if (b[j] < 0) break; a[r * n + j] = j; }",
    "returns": "R J { if (b[j] < 0) return; a[r * n + j] = j; }",
    "own_limit": "R for (int j = t; j < n - t; j += D) a[r * n + j] = j;",
    "limit_of_block": "R for (int j = t; j < n * D; j += D) a[r * n + j] = j;",
    "limit_of_round": "R J { a[r * m + j] = j; n -= 1; }",
    "limit_written": "R for (int j = t + 1; j < *c; j += D) c[j] = j;",
    "limit_behind_barrier": (
        "R for (int j = t; j < c[r]; j += D) a[r * n + j] = j; WAIT if (t == 0) c[r] = 5;"
        " WAIT for (int j = t; j < c[r]; j += D) a[r * n + j] += j;"
    ),
    "limit_of_each": "R for (int j = t; j < c[t & 1]; j += D) a[r * n + j] = j;",
    "limit_moved_by_data": (
        "R int e = c[r]; for (int j = t; j < e; j += D) { a[r * n + j] = j; if (b[j] > 0) --e; }"
    ),
    "begin_of_each": "R for (int j = c[t & 1] + t; j < n; j += D) a[r * n + j] = j;",
    "begin_by_block": "R for (int j = D + t; j < c[r]; j += D) a[r * n + j] = j;",
    "rest_from_before": (
        "R int e = c[r]; for (int j = t; j < e; j += D) a[r * n + j] = b[j];"
        " for (int j = e - 1 + t; j < n; j += D) a[r * n + j] = 0;"
    ),
    "rest_of_another": (
        "R int e = c[r]; for (int j = t; j < e; j += D) a[r * n + j] = b[j];"
        " e = c[r + 1]; for (int j = e + t; j < n; j += D) a[r * n + j] = 0;"
    ),
    "next_of_loaded": "R for (int j = c[r] + t; j < c[r + 1]; j += D) a[j + 1] = a[j];",
    "begins_later": "R if (t + 1 < n) for (int j = t + 1; j < n; j += D) a[r * n + j] = D;",
    "doubled_begin": "R for (int j = 2 * t; j < n; j += D) a[r * n + j] = j;",
    "constant_step": "R for (int j = t; j < n; j += 256) a[r * n + j] = j;",
    "thread_as_value": "R J a[r * n + j] = t;",
    "size_as_value": "R J a[r * n + j] = D;",
    "round_as_value": "R J a[r * n + j] = j / D;",
    "next_as_value": "R J a[r * n + j] = j + D;",
    "thread_as_index": "R J a[r * n + j] = b[t];",
    "thread_in_condition": "R J if (t < 7) a[r * n + j] = j;",
    "first_in_loop": "R J if (t == 0) a[r * n + j] = j;",
    "one_place": "R J a[r] = b[j];",
    "one_sum": "R J a[r] += b[j];",
    "neighbours": "R J a[r * n + j] = a[r * n + j + 1];",
    "shifted_write": "R J { a[r * n + j] = j; a[r * n + j + 1] = 2; }",
    "overlapping": "R J *(float2 *)(a + r * n + j) = make_float2(b[j], 2);",
    "halved_places": "R J a[r * n + j / 2] = j;",
    "scattered": "R J a[((int *)b)[j]] = j;",
    "sum_of_indices": "R J for (int k = 0; k < m; ++k) a[j + k] += 1;",
    "gathered_own": "R J a[r * n + j] = a[c[j]];",
    "mirrored": "R J a[r * n + j] = b[j]; J c[r * n + j] = a[r * n + n - 1 - j];",
    "mirrored_in_one": "R J a[r * n + j] = a[r * n + n - 1 - j];",
    "other_mapping": (
        "R J a[r * n + j] = j; for (int j = t; 2 * j < n; j += D) a[r * n + 2 * j] += 1;"
    ),
    "other_row": "R for (int k = 0; k < m; ++k) J a[k + j] += 1;",
    "every_second_too_near": (
        "R for (int k = 0; k < m; ++k) for (int j = t; 2 * j < 5; j += D) a[2 * k + j] += 1;"
    ),
    "overlapping_rows": "R for (int k = 0; k < m; ++k) J a[k * m + j] += 1;",
    "other_rows": "R J a[r * n + j] = j; for (int j = t; j < m; j += D) a[r * m + j] += 1;",
    "reads_the_first": "R J a[r * n + j] = a[r * n] + 1;",
    "reads_a_sum": (
        "R J a[r * n + j] = b[j]; float s = 0; for (int k = 0; k < n; ++k) s += a[r * n"
        " + k]; J c[r * n + j] = s;"
    ),
    "nested": "R J for (int k = t; k < m; k += D) a[j * m + k] = j;",
    "nested_again": "R for (int i = D; i > 0; i /= 2) J a[r * n + j] += 1;",
    "all_threads": "R J a[r * n + j] = j; atomicAdd(c, 1);",
    "not_the_first": "R J a[r * n + j] = j; if (t != 0) counter = 1;",
    "some_thread": "R J a[r * n + j] = j; if (t == 5) counter = 1;",
    "last_thread": "R J a[r * n + j] = j; if (t == D - 1) counter = 1;",
    "outside_of_row": "R if (t < n) c[t] = 1; J a[r * n + j] = j;",
    "before_the_loop": "R if (t >= n) { counter = 1; return; } J a[r * n + j] = j;",
    "fewer_threads": "R if (t < m) J a[r * n + j] = j;",
    "odd_threads": "R if (t & 1) J a[r * n + j] = j;",
    "loaded_threads": "R if (b[t] > 0) J a[r * n + j] = j;",
    "block_decides": "R if (D > 64) J a[r * n + j] = j;",
    "waits_in_loop": "R J { a[r * n + j] = j; __syncthreads(); }",
    "waits_in_part": "R J a[r * n + j] = j; if (t < 32) __syncthreads();",
    "counts_who_waits": "R J a[r * n + j] = j; if (__syncthreads_count(t < n) > 3) counter = 1;",
    "used_result": "R J a[atomicAdd(c, 1)] = b[j];",
    "first_wins": "R J atomicCAS(c, 0, j);",
    "exchanges": "R J atomicExch(c + r, j);",
    "mixed": "R J { atomicAdd(c, j); atomicMax(c, j); }",
    "reads_the_sum": "R J { atomicAdd(c, 1); a[r * n + j] = *c; }",
    "calls_away": "R J a[r * n + j] = away(b[j]);",
    "votes": "R J { float v = __shfl_down_sync(0xffffffff, b[j], 1); a[r * n + j] = v; }",
    "lanes": "R J a[r * n + j] = t % 32;",
    "tiles": "R __shared__ float s[64]; J { s[t % 64] = b[j]; a[r * n + j] = s[t % 64]; }",
    "flag_is_read": "R J { if (counter) a[r * n + j] = j; if (b[j] < 0) counter = 1; }",
    "different_flags": "R J counter = j;",
    "two_variables": "R J { flags[j & 63] = j; a[r * n + j] = 2; }",
    "down_from_the_end": "R for (int j = n - 1 - t; j >= 0; j -= D) a[r * n + j] = D;",
    "by_global_step": "R for (int j = t; j < n; j += D * gridDim.x) a[r * n + j] = j;",
    "overwritten_by_first": "R J a[r * n + j] = c[r]; if (t == 0) c[r] = 5;",
    "first_reads": "R J a[r * n + j] = j; if (t == 0) c[r] = a[r * n];",
    # A round that ends before the limit is tested goes beyond it, as far as the block is wide.
    "untested_rounds": (
        "R float *p = a + (size_t)r * n; if (t < m) { int j = t; do { float v = b[j]; p[j] = v;"
        " j += D; if (v > 0) continue; p[j - D] = v * 2; if (j >= m) break; } while (true); }"
    ),
    "two_steps": "R J { a[r * n + j] = j; j += D; }",
    "short_counter": "R for (short j = t; j < n; j += D) a[r * n + j] = j;",
    "short_limit": "R short e = n; for (short j = t; j < e; j += D) a[r * n + j] = j;",
    "small_counter": "R for (unsigned char j = t; j < n; j += D) a[r * n + j] = j;",
    "only_first_row": "R if (t < n && t > 0) J a[r * n + j] = j;",
    "ends_at_zero": "R for (int j = t; j != n; j += D) a[r * n + j] = j;",
    "waits_for_ever": "R J a[r * n + j] = j; while (*(volatile int *)c) ;",
    "decided_by_own": "R J a[r * n + j] = j; if (a[0] > 3) J a[r * n + j] += 1;",
    "no_barrier": "__shared__ float s[64]; R K s[j] = b[j]; J a[r * n + j] = s[j & 63];",
    "no_second_barrier": (
        "__shared__ float s[64]; R for (int k = 0; k < m; ++k) {"
        " K s[j] = b[k * 64 + j]; WAIT J a[r * n + j] += s[j & 63]; }"
    ),
    "barrier_for_some": (
        "__shared__ float s[64]; R K s[j] = b[j]; if (t < 32) WAIT J a[r * n + j] = s[j & 63];"
    ),
    "barrier_if_loaded": (
        "__shared__ float s[64]; R K s[j] = b[j]; if (b[t] > 0) WAIT J a[r * n + j] = s[j & 63];"
    ),
    "barrier_of_warp": (
        "__shared__ float s[64]; R K s[j] = b[j]; __syncwarp(); J a[r * n + j] = s[j & 63];"
    ),
    "barrier_on_one_way": (
        "__shared__ float s[64]; R K s[j] = b[j]; if (m > 3) WAIT J a[r * n + j] = s[j & 63];"
    ),
    "neighbour_in_shared": (
        "__shared__ float s[65]; R K s[j] = b[j]; WAIT K s[j] = s[j + 1]; WAIT"
        " J a[r * n + j] = s[j & 63];"
    ),
    "slot_of_thread": "__shared__ float s[1024]; R s[t] = b[r]; WAIT J a[r * n + j] = s[j & 63];",
    "set_by_last": "__shared__ float s; R if (t == D - 1) s = b[r]; WAIT J a[r * n + j] = s;",
    "set_by_thread_33": "__shared__ float s; R if (t == 33) s = b[r]; WAIT J a[r * n + j] = s;",
    "set_by_all": "__shared__ float s; R s = b[r + t]; WAIT J a[r * n + j] = s;",
    "two_of_launch": "R J dynamic[j] = b[j]; J other[j] = j; WAIT J a[r * n + j] = dynamic[j];",
    "too_far_in_shared": "R J dynamic[j * m] = b[j]; WAIT J a[r * n + j] = dynamic[j];",
    "order_of_shared": (
        "__shared__ int s; R if (t == 0) s = 0; WAIT J a[r * n + j] = atomicAdd(&s, 1);"
    ),
    "mixed_in_shared": (
        "__shared__ int s; R if (t == 0) s = 0; WAIT J { atomicAdd(&s, j); atomicMax(&s, j); }"
        " WAIT J a[r * n + j] = s;"
    ),
    "volatile_shared": (
        "__shared__ volatile float s[64]; R K s[j] = b[j]; WAIT J a[r * n + j] = s[j & 63];"
    ),
    "fives": (
        "R for (int j = 4 * t; j < n; j += 4 * D) for (int k = 0; k < 5; ++k)"
        " a[r * n + j + k] += j;"
    ),
    "fours_by_twos": "R for (int j = 4 * t; j < n; j += 2 * D) a[r * n + j] = j;",
    "untested_fours": ("R int j = 4 * t; do { a[r * n + j] = j; j += 4 * D; } while (j < n);"),
    "decided_by_count": "R int k = 0; J k += b[j] > 0; if (k > 3) counter = 1;",
    "begins_in_block": "R for (int j = r * D + t; j < n; j += D) a[j] += 1;",
}
#: `n` for short: that n is neither negative nor too large is asked at the launch.
EXPECTED: Mapping[str, str] = {
    "plain": "rows x; meet 0 1; n",
    "in_place": "rows x; n",
    "by_pointer": "rows x; n",
    "moving_from_an_int": "rows x; n",
    "moving_pointer": "rows x; n",
    "long_row": "rows x; n",
    "unsigned_row": "rows x; n",
    "not_greater": "rows x; apart 536870912 >= n - 536870911 * 1",
    "quarter": "rows x",
    "fixed_row": "rows x; meet 0 1",
    "pitched": "rows x; n",
    "columns_first": "rows x; meet 0 1; n; apart 4 * m >= 4 * 1",
    "rows_of_a_grid": "rows x; n",
    "two_of_each": "rows x; meet 0 1; n",
    "inner_loop": "rows x; meet 0 1; n",
    "inner_writes": "rows x; n",
    "up_to_j": "rows x; meet 0 1; n",
    "in_a_condition": "rows x; meet 0 1; n",
    "skips_some": "rows x; n",
    "uniform_guard": "rows x; n",
    "two_loops": "rows x; meet 0 1; n",
    "two_rows": "rows x; meet 0 4; n; apart 536870912 >= m - 536870912 * 1",
    "first_alone": "rows x; meet 0 4; n",
    "first_alone_too": "rows x; meet 0 4; n",
    "adds_up": "rows x; meet 1 4; n",
    "adds_up_reals": "rows x; meet 0 1; n",
    "histogram": "rows x; meet 1 4; n",
    "waits": "rows x; meet 0 1; n",
    "in_y": "rows y; n",
    "batches": "rows x; y raw; n",
    "of_elements": "rows x; n",
    "triangle": "rows x",
    "least": "rows x",
    "greatest": "rows x; meet 1 4; n",
    "marks": "rows x; meet 1 4; n",
    "unrolled": "rows x; meet 0 1; n",
    "limit_loaded": "rows x; meet 0 4",
    "limit_in_memory": "rows x; meet 0 4",
    "begin_loaded": "rows x; meet 0 1; meet 0 4",
    "begin_and_length": "rows x; meet 0 4",
    "long_ends": "rows x; meet 0 4",
    "unsigned_ends": "rows x; meet 0 4",
    "begin_sized": "rows x; n; apart 536870912 >= m - 536870912 * 1",
    "part_of_a_grid": "rows x; meet 0 1",
    "listed_rows": "rows x; meet 0 1; meet 0 4",
    "rest_of_a_row": "rows x; meet 0 1; meet 0 4",
    "rest_of_a_batch": "rows x; y raw; meet 0 1; meet 0 4",
    "threads_in_y": "rows x; y raw; n",
    "sum_in_y": "rows x; y raw; n",
    "every_second": "rows x",
    "unsigned_backwards": "rows x; n",
    "mirrored_behind_barrier": "rows x; meet 0 1; meet 0 4; n",
    "table": "rows x; meet 0 1; n",
    "few_table": "rows x; meet 0 1; n",
    "launched_table": "rows x; apart 524288 >= n - 524288 * 1",
    "tile_by_tile": "rows x; n",
    "shared_histogram": "rows x; n",
    "set_by_first": "rows x; n",
    "two_tables": "rows x; n",
    "in_place_in_shared": "rows x; n",
    "fours": "rows x; n",
    "guarded_fours": "rows x; meet 0 1; n",
}
#: Why blocks do not share a row, and the kernels that say so.
REASONS: Mapping[str, str] = {
    "a place that elements of a row may share": """
        unsigned_fields one_place neighbours shifted_write overlapping halved_places
        scattered sum_of_indices gathered_own mirrored mirrored_in_one other_row
        every_second_too_near overlapping_rows other_rows reads_the_first reads_a_sum
        reads_the_sum two_variables overwritten_by_first first_reads decided_by_own
        no_barrier no_second_barrier barrier_on_one_way neighbour_in_shared
        too_far_in_shared fives limit_written rest_from_before rest_of_another next_of_loaded
    """,
    "a place that is not known": "through_loaded_pointer",
    "a variable that a pointer may lead to": "greatest_variable one_flag flag_is_read",
    "a pointer to shared memory": "pointer_to_shared",
    "a branch by the thread within a row": "carried_flag thread_in_condition first_in_loop",
    "local memory": "carried_in_memory",
    "a row that is left in several places": "breaks returns",
    "a row whose end differs between threads": """
        own_limit limit_of_block limit_of_round limit_moved_by_data
    """,
    "a value that is loaded again": "limit_behind_barrier",
    "a row within a row": "nested",
    "a row that not all threads come to": "nested_again fewer_threads block_decides only_first_row",
    "atomic 'add' by threads of a row": "all_threads",
    "an effect of some threads": "not_the_first before_the_loop",
    "a branch by the thread": """
        some_thread last_thread set_by_last set_by_thread_33
        decided_by_count
    """,
    "uses the warp-level function 'warps'": """
        odd_threads votes barrier_of_warp limit_of_each begin_of_each
    """,
    "a barrier that some threads may not reach": "waits_in_loop waits_in_part barrier_for_some",
    "synchronizes the threads of a block with a barrier": "counts_who_waits",
    "atomic 'cas' by threads of a row": "first_wins",
    "atomic 'exch' by threads of a row": "exchanges",
    "different atomic operations on one array": "mixed mixed_in_shared",
    "a function that is called": "calls_away",
    "uses shared memory, which may depend on the block's shape": "two_of_launch",
    "a row that is left in the middle": "untested_rounds",
    "a row with another end than a size": "ends_at_zero",
    "a row that is not entered by its limit": "untested_fours few_and_rows",
    "threadIdx.x, blockIdx.x or blockDim.x in a stored value": """
        carried carried_count carried_least carried_index last_of_first one_sum tiles
        few_before_rows short_counter short_limit small_counter
    """,
    "threadIdx.x, blockIdx.x or blockDim.x in a value of an atomic operation": "kept_behind",
    "threadIdx.x, blockIdx.x or blockDim.x in an address": "last_j other_mapping",
    "blockDim.x in a stored value": """
        begins_later size_as_value round_as_value next_as_value down_from_the_end begin_by_block
    """,
    "threadIdx.x and blockDim.x in a stored value": """
        doubled_begin by_global_step two_steps fours_by_twos
    """,
    "threadIdx.x in a stored value": "constant_step thread_as_value lanes",
    "threadIdx.x in an address": """
        thread_as_index outside_of_row loaded_threads barrier_if_loaded slot_of_thread
        set_by_all few_at_others
    """,
    "uses the result of atomicAdd, which depends on the order of threads"
    "; write the kernel without that result": """
        used_result order_of_shared
    """,
    "threadIdx.x or blockDim.x in a stored value": "different_flags",
    "uses volatile memory, whose effect depends on the order of threads"
    "; write the kernel without it": """
        waits_for_ever volatile_shared
    """,
    "blockDim.x in an address": "begins_in_block",
}
NAMES = {"0:0:b64": "a", "1:0:b64": "b", "2:0:b32": "n", "3:0:b32": "m", "4:0:b64": "c"}


@pytest.fixture(scope="module")
def module() -> Module:
    return compiled({**SHARED, **HOSTILE}, COMMON)


@pytest.mark.parametrize("name", list(SHARED))
def test_rows_are_shared(module: Module, name: str) -> None:
    said = described(prove(module, name), NAMES)
    assert said.replace("apart 536870912 >= n - 536870912 * 1", "n") == EXPECTED[name]


@pytest.mark.parametrize("name", list(SHARED))
def test_a_shared_row_has_an_index(module: Module, name: str) -> None:
    kept = [dimension for dimension in prove(module, name).dimensions if dimension.grid_kept]
    assert [dimension.indexed for dimension in kept] == [True]


@pytest.mark.parametrize("name", ["plain", "in_place", "table"])
def test_variables_called_like_values(module: Module, name: str) -> None:
    """PTX has `extern __shared__ int row2[]` as `row2`, which elements of rows are called here."""
    words = ("x", "lane", *(f"{word}{block}" for word in ("row", "rounds") for block in range(20)))
    named = tuple(Variable(word, "shared", "b32", 0, 4) for word in words)
    changed = prove(replace(module, variables=module.variables + named), name)
    assert described(changed, NAMES) == described(prove(module, name), NAMES)


@pytest.mark.parametrize(("name", "expected"), [("table", True), ("plain", False)])
def test_whether_shared_memory_is_used(module: Module, name: str, expected: bool) -> None:
    assert prove(module, name).uses_shared is expected


@pytest.mark.parametrize("name", list(HOSTILE))
def test_nothing_is_proven(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert not any(dimension.grid_kept for dimension in proof.dimensions)
    assert proof.refused is not None or proof.dimensions[0].raw is not None


@pytest.mark.parametrize("name", list(HOSTILE))
def test_why_a_row_is_not_shared(module: Module, name: str) -> None:
    refused = judge(module, module.functions[name], KeptGrid(dimension="x")).refused
    assert refused is not None
    (reason,) = [reason for reason, names in REASONS.items() if name in names.split()]
    assert refused.message.removeprefix("holds a construct that is not analysed: ") == reason
