"""Loops that step by all threads: may any number of threads share them?"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import judge, prove
from cutune.proof.values.built_ins import WholeGrid
from cutune.ptx.types import Module
from tests.support.proof_verdicts import PARAMETERS, compiled, limits_of

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("all_headers")]

#: Before the kernels, which get (float *a, const float *b, int n, int m, int *c, unsigned u,
#: size_t s, const int *d).
COMMON = """
#include <cuda_bf16.h>
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
#define ALL (gridDim.x * blockDim.x)
#define EACH(n) for (int i = ID; i < (n); i += ALL)
#define SLOWLY _Pragma("unroll 1")
"""
#: Bodies, and the limits of the loops that any number of threads may share.
FREE: Mapping[str, tuple[str, list[str]]] = {
    "other_place": ("EACH(n) a[i] = 2 * b[i];", ["n"]),
    "in_place": ("EACH(n) a[i] = a[i] * 2;", ["n"]),
    "size_t_loop": (
        "for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < s;"
        " i += (size_t)gridDim.x * blockDim.x) a[i] = 2 * b[i];",
        ["s"],
    ),
    "size_t_of_ids": ("for (size_t i = ID; i < s; i += ALL) a[i] = 2 * b[i];", ["s"]),
    "long_loop": ("SLOWLY for (long i = ID; i < n; i += ALL) a[i] = b[i];", ["n"]),
    "unsigned_loop": ("for (unsigned i = ID; i < u; i += ALL) a[i] = b[i];", ["u"]),
    "step_in_a_variable": (
        "int t = ALL; SLOWLY for (int i = ID; i < n; i += t) a[i] = b[i];",
        ["n"],
    ),
    "product": ("EACH(n * m) a[i] = i / m;", ["m * n"]),
    "loops": ("EACH(n) a[i] = 2; EACH(m) c[i] = 2;", ["n", "m"]),
    "same_place_in_loops": ("EACH(n) a[i] = 2; EACH(n) a[i] += b[i];", ["n"]),
    "continue_and_loop": (
        "EACH(n) { if (b[i] > 0) continue; for (int k = 0; k < m; ++k) if (b[k * n + i] > 3)"
        " a[i] = k; }",
        ["n"],
    ),
    "inner_part": (
        "for (int i = ID + 1; i < n - 1; i += ALL) a[i] = b[i - 1] + b[i + 1];",
        ["n - 2"],
    ),
    "up_to_the_last": ("for (int i = ID; i <= n; i += ALL) a[i] = b[i];", ["n + 1"]),
    "histogram": ("EACH(n) atomicAdd(c + d[i], 1);", ["n"]),
    "largest": ("EACH(n) atomicMax(c, d[i]);", ["n"]),
    "flag": ("EACH(n) if (b[i] > 3) *c = 1;", ["n"]),
    "fixed_number": ("EACH(100000) a[i] = b[i];", ["100000"]),
    "guard_in_front": (
        "int i = ID; if (i >= n) return; for (; i < n; i += ALL) a[i] = b[i];",
        ["n"],
    ),
    "first_thread_alone": ("if (ID == 0) c[0] = n; EACH(n) a[i] = b[i];", ["n"]),
    "rows": (
        "EACH(n) { float q = 0; for (int k = 0; k < m; ++k) q += b[i * m + k]; a[i] = q; }",
        ["n"],
    ),
    "steps_in_time": ("for (int t = 0; t < m; ++t) EACH(n) a[i] = 2 * a[i] + t * b[i];", ["n"]),
    "four_at_once": ("EACH(n) ((float4 *)a)[i] = ((const float4 *)b)[i];", ["n"]),
}
#: Where each number of threads does the same in which every element has one of its own.
APART: Mapping[str, tuple[str, list[str]]] = {
    "series_by_index": ("EACH(n) a[i] = sinf(b[i]);", ["n"]),
    "table_of_round": (
        "EACH(n) { float w[4]; for (int k = 0; k < 4; ++k) w[(k + i) & 3] = b[i] + k;"
        " a[i] = w[d[i] & 3]; }",
        ["n"],
    ),
    "left_behind": ("float w[4]; EACH(n) { a[i] = w[d[i] & 3]; w[i & 3] = b[i]; }", ["n"]),
    "of_two_loops": (
        "float w[4]; EACH(n) w[d[i] & 3] = b[i]; EACH(m) c[i] = w[d[i] & 3];",
        ["n", "m"],
    ),
    "steps_of_own": (
        "float w[4]; for (int t = 0; t < m; ++t) EACH(n) { w[(d[i] + t) & 3] = b[i];"
        " a[i] = w[t & 3]; }",
        ["n"],
    ),
}
#: Where the number of threads has to stay.
KEPT: Mapping[str, str] = {
    "threads_stored": "EACH(n) a[i] = ALL;",
    "id_stored": "int t = ID; for (int i = t; i < n; i += ALL) a[i] = t;",
    "stored_by_id": "EACH(n) a[i] = 1; c[ID] = 1;",
    "stored_by_id_in_front": "c[ID] = 1; EACH(n) a[i] = 1;",
    "sum_of_thread": "float q = 0; EACH(n) q += b[i]; a[ID] = q;",
    "sum_added": "int q = 0; EACH(n) q += d[i]; atomicAdd(c, q);",
    "greatest_added": "int q = 0; EACH(n) q = max(q, d[i]); atomicMax(c, q);",
    "handed_on": "float q = 0; EACH(n) { a[i] = q; q = b[i]; }",
    "handed_on_by_condition": "float q = 0; EACH(n) { if (q < b[i]) a[i] = 1; q = b[i]; }",
    "rounds_counted": "int k = 0; EACH(n) a[i] = k++;",
    "result_of_atomic": "EACH(n) a[i] = atomicAdd(c, 1);",
    "exchanged": "EACH(n) atomicExch(c, i);",
    "rounded_atomic": "EACH(n) atomicAdd(a, b[i]);",
    "rounded_pair": ("EACH(n) atomicAdd((__nv_bfloat162 *)a, __float2bfloat162_rn(b[i]));"),
    "rounded_atomic_by_swap": (
        "EACH(n) { int *p = (int *)a, old = *p, was; do { was = old; old = atomicCAS(p, was,"
        " __float_as_int(__int_as_float(was) + b[i])); } while (was != old); }"
    ),
    "early_exit_by_id": "if (ID >= m) return; EACH(n) a[i] = 1;",
    "early_exit_by_block": "if (blockIdx.x >= 3) return; EACH(n) a[i] = 1;",
    "next_place_read": "EACH(n) a[i] = a[i + 1];",
    "previous_of_thread_read": "EACH(n) if (i >= ALL) a[i] = a[i - ALL];",
    "place_of_two": "EACH(n) a[i / 2] = i;",
    "one_place": "EACH(n) *c = i;",
    "left_early": "EACH(n) { if (b[i] > 0) break; a[i] = 1; }",
    "rest_by_threads": "EACH(n) a[i] = i % ALL;",
    "block_stored": "EACH(n) a[i] = blockIdx.x;",
    "blocks_stored": "EACH(n) a[i] = gridDim.x;",
    "previous_stored": "int t = ALL; SLOWLY for (int i = ID; i < n; i += t) a[i] = i - t;",
    "every_second": "int t = ALL; SLOWLY for (int i = ID; i < n; i += 2 * t) a[i] = 1;",
    "last_thread_alone": "EACH(n) a[i] = 1; if (ID == ALL - 1) c[0] = 3;",
    # Not only thread 0.
    "first_of_many": "if ((unsigned short)ID == 0) atomicAdd(c, 1); EACH(n) a[i] = 1;",
    "first_of_many_bytes": "if ((char)ID == 0) atomicAdd(c, 1); EACH(n) a[i] = 1;",
    "each_65536th": "if (((unsigned short)ID | 0) < 1) atomicAdd(c, 1); EACH(n) a[i] = 1;",
    "place_in_16_bits": "EACH(n) a[(unsigned short)i] = i;",
    "place_in_8_bits": "EACH(n) a[(unsigned char)i] = i;",
    "short_counter": "for (unsigned short i = ID; i < n; i += ALL) a[i] = 1;",
    "limit_by_threads": "for (int i = ID; i < n - (int)ALL; i += ALL) a[i] = 1;",
    "limit_by_id": "int t = ID; for (int i = t; i < n + t; i += ALL) a[i] = 1;",
    "limit_in_memory": "EACH(*c) a[i] = 1;",
    "behind_the_loop": "int i = ID; for (; i < n; i += ALL) a[i] = 1; c[i - n] = 5;",
    "barrier": "EACH(n) a[i] = 1; __syncthreads();",
    "shared_memory": (
        "__shared__ int w[1024]; EACH(n) { w[threadIdx.x] = d[i]; c[i] = w[threadIdx.x]; }"
    ),
    "lanes": "EACH(n) c[i] = __shfl_sync(~0u, d[i], 0);",
    "local_behind": ("int w[4]; EACH(n) w[d[i] & 3] = i; c[1] = w[m & 3];"),
    "local_in_front": ("int w[4]; w[m & 3] = 7; EACH(n) c[i] = w[d[i] & 3];"),
    "local_decides": ("int w[4]; EACH(n) w[d[i] & 3] = i; if (w[m & 3] > 3) c[5] = 7;"),
    "local_place": ("int w[4]; EACH(n) { w[d[i] & 3] = i; c[w[m & 3]] = i; }"),
    "local_or_not": (
        "int w[4]; EACH(n) { int *p = d[i] > 3 ? w : c; p[i & 3] = i; a[i] = p[d[i] & 3]; }"
    ),
    "local_by_address": (
        "int w[4], *p[2]; EACH(n) { p[d[i] & 1] = w + (i & 1); p[1 - (d[i] & 1)] = c;"
        " *p[b[i] > 2] = i; a[i] = w[d[i] & 3]; }"
    ),
    "local_memory": ("float w[4] = {}; EACH(n) { a[i] = w[i & 3]; w[d[i] & 3] = b[i]; }"),
    "downwards": "for (int i = n - 1 - (int)ID; i >= 0; i -= ALL) a[i] = b[i];",
    "of_block": "for (int i = threadIdx.x; i < n; i += blockDim.x) a[i] = b[i];",
    "blocks_of_a_row": (
        "for (int i = blockIdx.x; i < n; i += gridDim.x) a[i * m + threadIdx.x] = b[i];"
    ),
    "other_dimension": "EACH(n) a[i * m + threadIdx.y] = 1;",
    "other_dimension_alone": "if (blockIdx.y == 0) EACH(n) a[i] = 1;",
    "unsigned_limit": "for (unsigned i = ID; i < (unsigned)n - u * (size_t)m; i += ALL) a[i] = 1;",
    "no_loop": "int i = ID; if (i < n) a[i] = ALL;",
}
NAMES = {"0:0:b64": "a", "1:0:b64": "b", "2:0:b32": "n", "3:0:b32": "m", "4:0:b64": "c"}
NAMES |= {"5:0:b32": "u", "6:0:b64": "s"}


@pytest.fixture(scope="module")
def module() -> Module:
    parameters = f"{PARAMETERS}, unsigned u, size_t s, const int *d"
    bodies = {name: body for name, (body, _) in {**FREE, **APART}.items()} | dict(KEPT)
    return compiled(bodies, COMMON, parameters)


@pytest.mark.parametrize("name", list(FREE))
def test_any_number_of_threads_does_the_same(module: Module, name: str) -> None:
    proof = prove(module, name)
    refused = judge(module, module.functions[name], WholeGrid(dimension="x")).refused
    assert limits_of(proof, NAMES) == FREE[name][1], refused
    assert not proof.dimensions[0].in_one_round


@pytest.mark.parametrize("name", list(APART))
def test_threads_without_an_element_are_not_needed(module: Module, name: str) -> None:
    proof = prove(module, name)
    refused = judge(module, module.functions[name], WholeGrid(dimension="x")).refused
    assert limits_of(proof, NAMES) == APART[name][1], refused
    assert proof.dimensions[0].in_one_round


@pytest.mark.parametrize("name", list(KEPT))
def test_the_number_of_threads_stays(module: Module, name: str) -> None:
    assert limits_of(prove(module, name), NAMES) == []
