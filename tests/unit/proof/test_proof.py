"""Verdicts on compiled code: each case is a kernel and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import prove
from cutune.ptx.types import Module
from tests.support.proof_verdicts import compiled, described

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("all_headers")]

X = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
Y = "int j = blockIdx.y * blockDim.y + threadIdx.y;"
A = "float (*A)[64] = (float (*)[64])a;"
#: Before the kernels, which all get (float *a, float *b, int n, int m).
COMMON = """
struct Twice { float x, y; };
__device__ int counter;
__device__ unsigned turns;
__device__ __noinline__ float away(float x) { return x * 3; }
__device__ __noinline__ int who() { return threadIdx.x; }
__device__ __forceinline__ int id() { return blockIdx.x * blockDim.x + threadIdx.x; }
struct Reference { int &n; __device__ void grow() { n *= 2; } };
__device__ void shift(float *p, int k) { p[k] = p[k + 1]; }
__device__ float at(const float *p, int k) { return p[k]; }
__device__ int place(int x, int y, int w) { return y * w + x; }
__device__ void add(float *p, int k) { p[k] += 1; }
__device__ bool operator>(Twice, int) { return threadIdx.x > 3; }
"""
PURE: Mapping[str, str] = {
    # Ids in the shapes that compilers leave.
    "plain_id": f"{X} if (i < n) a[i] = b[i];",
    "sum_of_parts": "int s = blockIdx.x * blockDim.x; s += threadIdx.x; if (s < n) a[s] = 1;",
    "long_id": "size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = 1;",
    "asks_id": "int i = id(); if (i < n) a[i] = 1;",
    "leaves_early": f"{X} if (i >= n) return; a[i] = b[i] + 1;",
    "not_greater": f"{X} if (i > n) return; a[i] = b[i] + 1;",
    "inside": f"{X} if (i > 0 && i < n - 1) a[i] = b[i - 1] + b[i + 1];",
    "wide_border": f"{X} if (i >= 3 && i < n - 3) a[i] = b[i - 3] + b[i + 3];",
    "two_dimensions": f"{X} {Y} if (i < n && j < m) a[j * n + i] = b[i * m + j];",
    "least_of_two": f"{X} if (i < min(n, m)) a[i] = b[i];",
    "product": f"{X} if (i < n * m) a[i] = b[i];",
    "every_other": f"{X} if (i < n) {{ a[2 * i] = 0; a[2 * i + 1] = 1; }}",
    "loop_inside": f"{X} if (i < n) for (int k = 0; k < m; ++k) a[i] += b[k * n + i];",
    "guard_in_loop": f"{X} for (int k = 0; k < m; ++k) if (i < n) a[k * n + i] = 0;",
    "strided": "for (int i = id(); i < n; i += gridDim.x * blockDim.x) a[i] = b[i];",
    "unguarded": f"{X} a[i] = b[i];",
    "first_alone": f"{X} if (i == 0) a[0] = n;",
    # Where both indices are 0 the id is.
    "first_of_first": "if (threadIdx.x == 0 && blockIdx.x == 0) a[0] = n;",
    "first_of_plane": (
        "if (!threadIdx.x && !blockIdx.x && threadIdx.y == 0 && 0 == blockIdx.y) a[0] = n;"
    ),
    "all_but_first": f"{X} if ((threadIdx.x | blockIdx.x) != 0) a[i] = n;",
    "any_first": "if (threadIdx.x == 0 || blockIdx.x == 0) a[0] = n;",
    "first_of_each": "if (threadIdx.x == 0 && blockIdx.x < 2) a[0] = n;",
    "second_of_first": "if (threadIdx.x == 1 && blockIdx.x == 0) a[0] = n;",
    "one_of_both": "if ((threadIdx.x | blockIdx.x) == 1) a[0] = n;",
    "first_in_16_bits": "if ((unsigned short)threadIdx.x == 0 && (short)blockIdx.x == 0) a[0] = n;",
    "first_of_other": "if (threadIdx.x == 0 && blockIdx.y == 0) a[0] = n;",
    # Each value is used twice: 2^64 ways lead back to n.
    "hashed": (
        f"{X} unsigned h = i; for (int k = 0; k < 64; ++k) h ^= (h << 7) ^ (h >> 9);"
        " if (i < n) a[i] = h;"
    ),
    "calls_away": f"{X} if (i < n) a[i] = away(b[i]);",
    "adds_up": f"{X} if (i < n) atomicAdd(&a[i % m], 1.0f);",
    "one_flag": f"{X} if (i < n && b[i] > 0) counter = 1;",
    "by_parts": f"{X} if (i < n) {{ Twice *t = (Twice *)a; t[i].x = 1; t[i].y = 2; }}",
    "guarded_too_late": f"{X} a[i] = 1; if (i < n) b[i] = 1;",
    "bound_in_memory": f"{X} if (i < *(int *)b) a[i] = 1;",
    "bound_grown": f"{X} Reference r{{n}}; r.grow(); if (i < n) a[i] = 1;",
    # Threads that meet.
    "neighbours": f"{X} if (i < n) a[i] = a[(i + 1) % n];",
    "one_cell": f"{X} {Y} if (i < n && j < m) a[j] = i;",
    "scattered": f"{X} if (i < n) a[(int)b[i]] = i;",
    "pitched": f"{X} {Y} if (i < n && j < n) a[j * m + i] = 1;",
    "own_lane": f"{X} if (i < n) a[i] = threadIdx.x % 32;",
    "shuffled": f"{X} a[i] = __shfl_down_sync(0xffffffff, b[i], 1);",
    "next_one": f"{X} if (i < n) {{ float v = a[i + 1]; a[i] = v; }}",
    "halving": f"{X} for (int s = 16; s > 0; s >>= 1) if (i < n) a[i] += a[i + s];",
    "row_and_column": f"{X} {Y} {A} if (i < n && j < m) A[j][i] -= A[j][3] * A[3][i];",
    "by_pointer": f"{X} {Y} float *p = a + j * n; if (i < n && j < m) p[i] = p[i + 1];",
    "pointer_back": f"{X} float *p = a + i; if (i < n) *p = *(p - 1);",
    "by_reference": f"{X} {Y} if (i < n && j < m) {{ float &x = a[j * n + i]; x = (&x)[n]; }}",
    "steps_on": f"{X} if (i < n) {{ int l = i; float v = a[l]; l++; a[l] = v; }}",
    "other_type": f"{X} if (i < n) ((float2 *)a)[i].x = a[i];",
    "in_a_function": f"{X} if (i < n) shift(a, i);",
    "read_in_a_function": f"{X} if (i < n) a[i] = at(a, i + 1);",
    "read_only_cache": f"{X} if (i < n) a[i] = __ldcg(a + (i + 1) % n);",
    "exchanged": f"{X} if (i < n) {{ float v = a[i + 1]; atomicExch(a + i, v); }}",
    # The atomic operation of a neighbour comes before or after the store.
    "added_to_a_flag": f"{X} int *p = (int *)a; if (i < n) atomicAdd(p + (i ^ 1), 1), p[i] = 1;",
    # Two threads, each of them alone.
    "two_alone": f"{X} if (i == 9) a[7] = 1; if (i == 5) a[7] = 2;",
    "two_alone_by_size": f"{X} if (i == n) a[7] = 1; if (i == 5) a[7] = 2;",
    "alone_in_two_rows": f"{X} {Y} if (i < n && j == 1) a[i] = 1; if (i < n && j == 0) a[i] = 2;",
    "alone_and_a_row": f"{X} {Y} if (i == 7 && j == 1) a[7] = 1; if (i < n && j == 0) a[i] = 2;",
    # Backwards from a pointer: it may be the end of an array, where the next allocation begins.
    "from_an_end": f"{X} if (i < n) a[-i] = b[i];",
    "read_from_an_end": f"{X} if (i < n) a[i] = b[-2 * i - 3];",
    "mirrored": f"{X} if (i < n) a[n - 1 - i] = b[i];",
    "neighbour_before": f"{X} if (i < n && i > 0) a[i] = b[i - 1];",
    "either_pointer": f"{X} float *p = m ? a : b; if (i < n) p[i] = a[i + 1];",
    "four_in_a_row": f"{X} for (int k = 0; k < 4; k++) if (i < n && i % 4 == k) a[i / 4] += b[i];",
    "column_sum": f"{X} {Y} if (i < n && j < m) a[i] += 1;",
    "scattered_sum": f"{X} if (i < n) a[((int *)b)[i]] += 1;",
    "one_sum": f"{X} if (i < n) a[0]++;",
    "rounded": f"{X} if (i < n) a[i & ~3] += 1;",
    # Threads that do not meet, or only where rows are too short.
    "own_place": f"{X} {Y} if (i < n && j < m) a[j * n + i] += 1;",
    "own_and_others": f"{X} {Y} if (i < n && j < m) a[j * n + i] = a[j * n + i] * 2 + b[i + 1];",
    "rows_of_64": f"{X} {Y} {A} if (i < n && j < m) A[j][i] += 1;",
    "by_pointer_own": f"{X} {Y} float *p = a + j * n; if (i < n && j < m) p[i] = sinf(p[i]);",
    "by_reference_own": f"{X} if (i < n) {{ float &x = a[i]; x += b[i + 1]; x *= 2; }}",
    "row_times_column": (
        f"{X} {Y} if (i < n && j < m)"
        " for (int k = 0; k < n; k++) a[j * n + i] += b[j * n + k] * b[k * n + i];"
    ),
    "own_array": f"{X} float s[4]; if (i < n) {{ s[0] = b[i]; s[1] = s[0]; a[i] = s[1]; }}",
    "gathered": f"{X} if (i < n) a[i] = b[((int *)b)[i]];",
    "added_to": f"{X} if (i < n) atomicAdd(&a[i / 4], b[0]);",
    # Atomic operations whose order matters, each at a place of its own.
    "exchanged_in_both": f"{X} if (i < n) {{ atomicExch(a + i, i); atomicExch(b + i, m); }}",
    "exchanged_twice": f"{X} if (i < n) {{ atomicExch(a + i, i); atomicExch(a + i, m); }}",
    "counts_to_one_bound": f"{X} if (i < n) atomicInc(&turns, 5), atomicInc(&turns, 5);",
    "alone_adds": f"{X} if (i == 5) a[7] += 2;",
    "alone_with_others": f"{X} if (i == 5) a[5] += 2; if (i < n) a[i] *= 3;",
    "place_by_function": f"{X} {Y} if (i < n && j < m) a[place(i, j, n)] -= 3;",
    "own_in_a_function": f"{X} if (i < n) add(a, i);",
    "parts_of_its_own": f"{X} if (i < n) {{ float2 *p = (float2 *)a; p[i].x = p[i].y; }}",
    # Places that move in a loop, and meet those of neighbours or do not.
    "sliding": f"{X}\n#pragma unroll 1\nfor (int k = 0; k < m; ++k) a[i + k] = k * i;",
    "sliding_rows": (
        f"{X} {Y}\n#pragma unroll 1\nfor (int k = 0; k < 5; ++k)"
        " if (i < n && j < m) a[j * n + i + k] = i;"
    ),
    "growing": f"{X}\n#pragma unroll 1\nfor (int k = 0; k < m; ++k) a[i * k] = i;",
    "counted_place": (
        f"{X} int c = 0;\n#pragma unroll 1\nwhile (b[c * n + i] > 0) ++c;\nif (i < n) a[i + c] = i;"
    ),
    "columns_by_pitch": (
        f"{X}\n#pragma unroll 1\nfor (int k = 0; k < 9; ++k) if (i < n) a[k * m + i] += k;"
    ),
    "planes": (
        f"{X} {Y}\n#pragma unroll 1\nfor (int k = 0; k < 9; ++k)"
        " if (i < n && j < m) a[(k * m + j) * n + i] += k;"
    ),
    "strided_columns": (
        "for (int i = id(); i < n; i += gridDim.x * blockDim.x)\n#pragma unroll 1\n"
        "for (int k = 0; k < m; ++k) a[k * n + i] = 1;"
    ),
    # Places as numbers of mixed radix, ids as their lower digits.
    "groups_of_four": (
        f"{X} {Y} if (i < n && j < m) {{ float *p = a + (size_t)i * 4 * m + j;"
        " for (int k = 0; k < 4; ++k) p[(size_t)k * m] += k; }"
    ),
    "groups_that_meet": (
        f"{X} {Y} if (i < n && j < m) {{ float *p = a + (size_t)i * 4 * m + j;"
        " for (int k = 0; k < 5; ++k) p[(size_t)k * m] += k; }"
    ),
    "groups_of_other_rows": (
        f"{X} {Y} if (i < n && j < m) {{ float *p = a + (size_t)i * 4 * n + j;"
        " for (int k = 0; k < 4; ++k) p[(size_t)k * n] += k; }"
    ),
    "fields": f"{X} {Y} if (i < n && j < m) {{ a[j * n + i] += 1; a[(m + j) * n + i] = 2; }}",
    "fields_too_near": (
        f"{X} {Y} if (i < n && j < m) {{ a[j * n + i] += 1; a[(m - 1 + j) * n + i] = 2; }}"
    ),
    "fields_of_any_row": (f"{X} {Y} if (j < m) {{ a[j * n + i] += 1; a[(m + j) * n + i] = 2; }}"),
    # One thread writes what all of them read.
    "told_by_one": f"{X} if (i == 0) a[0] = n; if (i < n) b[i] = a[0];",
    "told_by_one_later": (
        f"{X}\n#pragma unroll 1\nfor (int k = 0; k < m; ++k)"
        " {{ if (i == 3) a[k] = k; if (i < n) b[k * n + i] = a[k]; }}"
    )
    .replace("{{", "{")
    .replace("}}", "}"),
    "wider_for_some": (
        f"{X} if (i < n) a[i] = 1; if (i % 2 == 0) *(double *)&b[i] = *(double *)&a[i];"
    ),
    "flags_of_two_sizes": (
        f"{X} if (i < n) {{ if (b[i] > 0) *(char *)&counter = 1; else counter = 1; }}"
    ),
    # Rows that run backwards, ids that are compared modulo 2^32 or in a loop.
    "backwards": f"{X} {Y} if (i < n && j < m) a[-(j * n + i)] = i;",
    "backwards_too_near": f"{X} {Y} if (i < n && j < m) a[-(j * (n - 2) + i)] = i;",
    "some_of_many": f"{X} if (i < n) {{ if (i * 1073741824u == 0) a[0] = b[i]; }}",
    "each_in_turn": (
        f"{X}\n#pragma unroll 1\nfor (int k = 0; k < m; ++k) if (i < n && i == k) a[0] = b[i];"
    ),
    # Unsigned indices may wrap around.
    "unsigned_rows": (f"unsigned i = id(), w = n; {Y} if (i < w && j < m) a[j * w + i] += 1;"),
    "unsigned_products": "unsigned i = id(), u = m; if (i < n) a[u * (u * i)] += 1;",
    "unsigned_ids": "unsigned i = id(); if (i < n) a[i] += 1;",
    # They may wrap around onto each other: 641 * 6700417 is 2^32 + 1.
    "unsigned_fields": (
        "unsigned i = id(), w = n, h = m; unsigned j = blockIdx.y * blockDim.y + threadIdx.y;"
        " if (i < w && j < h) { a[j * w + i] = 1; a[(h + j) * w + i] += 2; }"
    ),
    "unsigned_columns": ("unsigned i = id(), w = n; if (i < w) { a[i] = 1; a[2u * w + i] *= 2; }"),
    "unsigned_neighbours": (
        "unsigned i = id(), w = m; if (i < n) { a[3 * i] = w; a[3 * i + 1] *= 2; }"
    ),
    "without_an_index": "a[n] = 1; a[m] += 2;",
    # What is not proven.
    "raw_id": f"{X} if (i < n) a[i] = threadIdx.x;",
    "raw_in_call": f"{X} if (i < n) a[i] = who();",
    "raw_by_operator": f"{X} if (i < n && Twice() > n) a[i] = 1;",
    "constant_block": "int i = blockIdx.x * 256 + threadIdx.x; if (i < n) a[i] = 1;",
    "shared_memory": f"{X} __shared__ float s[32]; s[i % 32] = b[i]; a[i] = s[n];",
    "shared_by_attribute": f"{X} __attribute__ ((shared)) float s[32]; s[i % 32] = 1; a[i] = s[n];",
    "waits": f"{X} __syncthreads(); a[i] = 1;",
    "some_wait": f"{X} if (i < n) __syncthreads(); a[i] = 1;",
    "waits_for_another": f"{X} a[i] = 1; __syncthreads(); b[i] = a[i + 1];",
    "used_result": f"{X} if (i < n) a[i] = atomicAdd(&counter, 1);",
    "first_wins": f"{X} if (i < n) atomicCAS(&counter, 0, i);",
    "mixed_atomics": f"{X} if (i < n) {{ atomicAdd(&counter, i); atomicMax(&counter, i); }}",
    "exchanged_near": f"{X} if (i < n) {{ atomicExch(a + i, i); atomicExch(a + i + 1, m); }}",
    "counts_to_two_bounds": f"{X} if (i < n) atomicInc(&turns, 5), atomicInc(&turns, 7);",
    "asks_the_clock": f"{X} if (i < n) a[i] = clock();",
    "volatile_memory": f"{X} if (i < n) a[i] = *(volatile float *)&b[i];",
    "fenced": f"{X} a[i] = 1; __threadfence(); b[i] = 1;",
    "part_of_a_warp": f"{X} a[i] = __shfl_down_sync(0xffff, b[i], 1);",
}
EXPECTED = {
    "plain_id": "x < n; meet 0 1",
    "sum_of_parts": "x < n",
    "long_id": "x < n",
    "asks_id": "x < n",
    "leaves_early": "x < n; meet 0 1",
    "not_greater": "x < n + 1; meet 0 1",
    "inside": "x < n - 1; meet 0 1",
    "wide_border": "x < n - 3; meet 0 1",
    "two_dimensions": "x < n; y < m; meet 0 1",
    "least_of_two": "x < n; x < m; meet 0 1",
    "product": "x < m * n; meet 0 1",
    "every_other": "x < n",
    "loop_inside": "x < n; meet 0 1",
    "guard_in_loop": "x < n",
    "strided": "x; stride x; meet 0 1",
    "unguarded": "x; meet 0 1",
    "first_alone": "x < 1",
    "first_of_first": "x < 1",
    # The branches on x stay apart.
    "first_of_plane": "x raw; y < 1",
    "all_but_first": "x",
    "any_first": "x raw",
    "first_of_each": "x raw",
    "second_of_first": "x raw",
    "one_of_both": "x raw",
    "first_in_16_bits": "x raw",
    "first_of_other": "x raw; y raw",
    "hashed": "x < n",
    "calls_away": "x < n; warps; meet 0 1",
    "adds_up": "x < n",
    "one_flag": "x < n; warps",
    "by_parts": "x < n",
    "guarded_too_late": "x; meet 0 1",
    "bound_in_memory": "x; meet 0 1",
    "bound_grown": "x < 2 * n",
    "neighbours": "x < n; warps",
    "one_cell": "x < n; y < m; warps",
    "scattered": "x < n; warps; meet 0 1",
    "pitched": "x < n; y < n; apart 4 * m >= 4 * x",
    "own_lane": "x < n; warps",
    "shuffled": "x; warps; meet 0 1",
    "next_one": "x < n; warps",
    "halving": "x < n; warps",
    "row_and_column": "x < n; y < m; warps; apart 256 >= 4 * x",
    "by_pointer": "x < n; y < m; warps",
    "pointer_back": "x < n; warps",
    "by_reference": "x < n; y < m; warps",
    "steps_on": "x < n; warps",
    "other_type": "x < n; warps",
    "in_a_function": "x < n; warps",
    "read_in_a_function": "x < n; warps",
    "read_only_cache": "x < n; warps",
    "exchanged": "x < n; warps",
    "added_to_a_flag": "x < n; warps",
    "two_alone": "x; warps",
    "two_alone_by_size": "x; warps",
    "alone_in_two_rows": "x < n; y; warps",
    "alone_and_a_row": "x; y; warps",
    "from_an_end": "x < n; warps",
    "read_from_an_end": "x < n; warps",
    "mirrored": "x < n; meet 0 1",
    "neighbour_before": "x < n; meet 0 1",
    "either_pointer": "x < n; warps",
    "four_in_a_row": "x < n; warps; meet 0 1",
    "column_sum": "x < n; y < m; warps",
    "scattered_sum": "x < n; warps; meet 0 1",
    "one_sum": "x < n; warps",
    "rounded": "x < n; warps",
    "own_place": "x < n; y < m",
    "own_and_others": "x < n; y < m; meet 0 1",
    "rows_of_64": "x < n; y < m; apart 256 >= 4 * x",
    "by_pointer_own": "x < n; y < m",
    "by_reference_own": "x < n; meet 0 1",
    "row_times_column": "x < n; y < m; meet 0 1",
    "own_array": "x < n; meet 0 1",
    "gathered": "x < n; meet 0 1",
    "added_to": "x < n; meet 0 1",
    "exchanged_in_both": "x < n; meet 0 1",
    "exchanged_twice": "x < n",
    "counts_to_one_bound": "x < n",
    "alone_adds": "x < 6",
    "alone_with_others": "x",
    "place_by_function": "x < n; y < m",
    "own_in_a_function": "x < n",
    "parts_of_its_own": "x < n",
    "sliding": "x; warps",
    "sliding_rows": "x < n; y < m; warps",
    "growing": "x; warps",
    "counted_place": "x; warps; meet 0 1",
    "columns_by_pitch": "x < n; apart 4 * m >= 4 * x",
    "planes": "x < n; y < m",
    "strided_columns": "x; stride x",
    "groups_of_four": "x < n; y < m; apart 16 * m >= 4 * y",
    "groups_that_meet": "x < n; y < m; warps; apart 16 * m >= 4 * y",
    "groups_of_other_rows": "x < n; y < m; warps; apart 16 * n >= 4 * y",
    "fields": "x < n; y < m",
    "fields_too_near": "x < n; y < m; warps",
    "fields_of_any_row": ("x; y < m; apart 1073741824 >= m * 1; apart 4 * n >= 4 * x"),
    "told_by_one": "x; warps; meet 0 1",
    "told_by_one_later": "x; warps; meet 0 1; apart 4 * n >= 4 * x",
    "wider_for_some": "x; warps; meet 0 1",
    "flags_of_two_sizes": "x < n; warps",
    "backwards": "x < n; y < m",
    "backwards_too_near": "x < n; y < m; apart 8 - 4 * n >= -4 * x",
    "some_of_many": "x < n; warps; meet 0 1",
    "each_in_turn": "x < n; warps; meet 0 1",
    "unsigned_rows": "x < n; y < m; apart 1073741824 >= n * y; apart 4 * n >= 4 * x",
    "unsigned_products": "x < n; apart 1073741824 >= m * m * x; apart 4 * m * m >= 4 * 1",
    "unsigned_ids": "x < n",
    "unsigned_fields": "x < n; y < m; warps; apart 1073741824 >= n * y; apart 4 * n >= 4 * x",
    "unsigned_columns": "x < n; warps",
    "unsigned_neighbours": "x < n",
    "without_an_index": "warps",
    "raw_id": "x raw",
    "raw_in_call": "CT219",
    "raw_by_operator": "x raw",
    "constant_block": "x raw",
    "shared_memory": "CT211",
    "shared_by_attribute": "CT211",
    "waits": "x",
    "some_wait": "CT212",
    "waits_for_another": "CT212",
    "used_result": "CT216",
    "first_wins": "CT222",
    "mixed_atomics": "CT222",
    "exchanged_near": "CT222",
    "counts_to_two_bounds": "CT222",
    "asks_the_clock": "CT222",
    "volatile_memory": "CT222",
    "fenced": "CT222",
    "part_of_a_warp": "CT213",
}


@pytest.fixture(scope="module")
def module() -> Module:
    return compiled(PURE, COMMON, "float *a, float *b, int n, int m")


@pytest.mark.parametrize("name", list(PURE))
def test_verdict(module: Module, name: str) -> None:
    assert described(prove(module, name), {"2:0:b32": "n", "3:0:b32": "m"}) == EXPECTED[name]
