"""What each block does for itself beside ids: each case is a kernel and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import judge, prove
from cutune.proof.values.built_ins import RowsOfEachBlock
from cutune.ptx.types import Module
from tests.support.proof_verdicts import NAMES, compiled, described

pytestmark = pytest.mark.nvcc

#: Before the kernels.
COMMON = """
#define D blockDim.x
#define ID int i = blockIdx.x * D + threadIdx.x, t = threadIdx.x;
#define K for (int j = t; j < 64; j += D)
#define FIRST if (t == 0)
#define FEW(N) if (t < N)
#define LAST if (t == D - 1)
#define WAIT __syncthreads();
#define V ((const int *)b)[i]
#define TABLE __shared__ float s[64]; ID
#define SUM __shared__ int s; ID
#define BINS __shared__ int s[64]; ID K s[j] = 0; WAIT
#define ADD(value) if (i < n) atomicAdd(s + V % 64u, value);
#define READ WAIT if (i < n) a[i] = s[i % 64u];
extern __shared__ float dynamic[];
"""
PROVEN: Mapping[str, tuple[str, str]] = {
    "table": ("TABLE K s[j] = b[j]; READ", "x < n; meet 0 1"),
    "beside_input": (
        "TABLE K s[j] = b[j]; WAIT if (i < n) a[i] = s[i % 64u] + c[i];",
        "x < n; meet 0 1; meet 0 4",
    ),
    "by_first": ("TABLE FIRST for (int j = 0; j < 64; ++j) s[j] = b[j]; READ", "x < n; meet 0 1"),
    "computed": ("TABLE K s[j] = j * m; READ", "x < n"),
    "launched": (
        "ID for (int j = t; j < m; j += D) dynamic[j] = b[j]; WAIT"
        " if (i < n) for (int k = 0; k < m; ++k) a[i] += dynamic[k];",
        "x < n; meet 0 1; apart 524288 >= m - 524288 * 1",
    ),
    "of_a_table": (
        "TABLE __shared__ float u[64]; K u[j] = b[j]; WAIT K s[j] = u[63 - j]; READ",
        "x < n; meet 0 1",
    ),
    "sum": ("SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT FIRST atomicAdd(c, s);", ""),
    "by_last": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT LAST atomicAdd(c, s);",
        "",
    ),
    "histogram": (
        "__shared__ int s[64]; ID K s[j] = 0; WAIT if (i < n) atomicAdd(s + V % 64u, 1);"
        " WAIT K atomicAdd(c + j, s[j]);",
        "",
    ),
    "strided_histogram": (
        "__shared__ int s[64]; ID K s[j] = 0; WAIT"
        " for (; i < n; i += gridDim.x * D) atomicAdd(s + V % 64u, 1);"
        " WAIT K atomicAdd(c + j, s[j]);",
        "x; stride x; meet 1 4",
    ),
    # Whatever the greatest begins at, adding it again changes nothing.
    "greatest": (
        "SUM FIRST s = -5; WAIT if (i < n) atomicMax(&s, V); WAIT FIRST atomicMax(c, s);",
        "",
    ),
    "bits": ("SUM FIRST s = 0; WAIT if (i < n) atomicXor(&s, V); WAIT FIRST atomicXor(c, s);", ""),
    # Where there is nothing to add, it may be left out.
    "unless_0": ("BINS ADD(1) WAIT K if (s[j] != 0) atomicAdd(c + j, s[j]);", ""),
    "some_only": ("BINS ADD(1) WAIT K { int v = s[j]; if (v > 0) atomicAdd(c + j, v); }", ""),
    "unless_no_bits": ("BINS ADD(0) WAIT K if (s[j] != 0) atomicAdd(c + j, s[j]);", ""),
    "unsigned_some_only": (
        "__shared__ unsigned s[64]; ID K s[j] = 0; WAIT if (i < n) atomicAdd(s + V % 64u, V);"
        " WAIT K if (s[j] > 0) atomicAdd((unsigned *)c + j, s[j]);",
        "",
    ),
    # As many as there are threads, of which there must be as many.
    "all_threads": ("SUM FIRST s = 0; WAIT atomicAdd(&s, i); WAIT FIRST atomicAdd(c, s);", "x"),
}
#: What the first threads do, one element each, and how many threads that takes.
BY_FIRST_THREADS: Mapping[str, tuple[str, str, int]] = {
    "few_table": ("TABLE FEW(64) s[t] = b[t]; READ", "x < n; meet 0 1", 64),
    "few_unsigned": ("TABLE if (threadIdx.x < 50u) s[t] = b[t]; READ", "x < n; meet 0 1", 64),
    "few_or_equal": ("TABLE if (t <= 64) s[t] = b[t]; READ", "x < n; meet 0 1", 96),
    "few_beside_rows": ("TABLE K s[j] = 0; FEW(10) s[t] = b[t]; READ", "x < n; meet 0 1", 32),
    "few_of_few": ("TABLE FEW(200) FEW(40) s[t] = b[t]; READ", "x < n; meet 0 1", 64),
    "few_at_steps": (
        "__shared__ float s[999]; ID FEW(100) { s[2 * t] = b[t]; s[2 * t + 1] = 3; } READ",
        "x < n; meet 0 1",
        128,
    ),
    "few_histogram": (
        "__shared__ int s[256]; ID FEW(256) s[t] = 0; WAIT if (i < n) atomicAdd(s + V % 256u, 1);"
        " WAIT FEW(256) atomicAdd(c + t, s[t]);",
        "x < n; meet 1 4",
        256,
    ),
    "few_of_a_loop": (
        "__shared__ int s[256]; ID K s[j] = 0; WAIT if (i < n) atomicAdd(s + V % 64u, 1);"
        " WAIT FEW(64) atomicAdd(c + t, s[t]);",
        "x < n; meet 1 4",
        64,
    ),
}
HOSTILE: Mapping[str, tuple[str, str]] = {
    # What the first threads do.
    "few_by_ids": ("TABLE FEW(64) s[t] = b[i]; READ", "what a block does by an id"),
    "few_by_blocks": ("TABLE FEW(64) s[t] = b[t + blockIdx.x]; READ", "blockIdx.x in an address"),
    "few_under_ids": (
        "TABLE if (i < n) { a[i] = 7; FEW(64) s[t] = b[t]; } READ",
        "an effect of some threads",
    ),
    "few_sums_under_ids": (
        "__shared__ int s[64]; ID FEW(64) s[t] = 0; WAIT if (i < n) atomicAdd(s + V % 64u, 1);"
        " WAIT if (i < n) { a[i] = 1; FEW(64) atomicAdd(c + t, s[t]); }",
        "an effect of some threads",
    ),
    "few_of_the_last": (
        "TABLE K s[j] = 0; WAIT FEW(64) { if (n == 3) s[t] = 1; LAST s[t] = b[t]; } READ",
        "an effect of some threads",
    ),
    "few_by_width": ("TABLE FEW(64) s[t] = D; READ", "blockDim.x in a stored value"),
    "few_neighbours": (
        "TABLE FEW(64) s[t] = b[t]; WAIT FEW(63) s[t] = s[t + 1]; READ",
        "a place that elements of a row may share",
    ),
    "few_at_one_place": ("TABLE FEW(64) s[t / 2] = b[t]; READ", "threadIdx.x in an address"),
    "few_without_barrier": (
        "TABLE FEW(64) s[t] = b[t]; if (i < n) a[i] = s[i % 64u];",
        "shared memory without a barrier between",
    ),
    "few_in_part": ("TABLE if (t < n) s[t % 64] = b[t]; READ", "threadIdx.x"),
    "few_and_more": ("TABLE if (t >= 64) s[t - 64] = b[t]; READ", "threadIdx.x"),
    "more_than_a_block": (
        "__shared__ float s[2000]; ID if (t < 2000) s[t] = b[t]; READ",
        "threadIdx.x",
    ),
    "few_wait": ("TABLE FEW(64) { s[t] = b[t]; WAIT } READ", "a barrier that some threads"),
    "few_for_all": (
        "TABLE K s[j] = b[j]; float x = 0; FEW(32) x = b[t];"
        " WAIT if (i < n) a[i] = s[i % 64u] + x;",
        "threadIdx.x",
    ),
    "few_count": ("TABLE K s[j] = b[j]; FEW(10) atomicAdd(c, 1); READ", "an effect of each block"),
    "few_hand_on": (
        "TABLE FEW(64) s[t] = b[t]; WAIT if (i < n) a[i] = s[t % 64];",
        "threadIdx.x in an address",
    ),
    "real_sum": (
        "__shared__ float s; ID FIRST s = 0; WAIT if (i < n) atomicAdd(&s, b[i]); WAIT"
        " FIRST atomicAdd(a, s);",
        "a sum of a block that is not the same in parts",
    ),
    "begins_at_one": (
        "SUM FIRST s = 1; WAIT if (i < n) atomicAdd(&s, V); WAIT FIRST atomicAdd(c, s);",
        "a sum that does not begin at one number",
    ),
    "begins_twice": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicMax(&s, V); WAIT FIRST { atomicMax(c, s); s = 5; }"
        " WAIT if (i < n) atomicMax(&s, 1); WAIT FIRST atomicMax(c, s);",
        "a sum that does not begin at one number",
    ),
    "begins_at_size": (
        "SUM FIRST s = D; WAIT if (i < n) atomicMax(&s, V); WAIT FIRST atomicMax(c, s);",
        "blockDim.x",
    ),
    "stored": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT FIRST c[blockIdx.x] = s;",
        "threadIdx.x, blockIdx.x or blockDim.x",
    ),
    "read_by_all": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT if (i < n) a[i] = s;",
        "threadIdx.x, blockIdx.x or blockDim.x",
    ),
    "doubled": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT FIRST atomicAdd(c, s * 2);",
        "threadIdx.x, blockIdx.x or blockDim.x",
    ),
    "another_operation": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT FIRST atomicMax(c, s);",
        "threadIdx.x, blockIdx.x or blockDim.x",
    ),
    "another_width": (
        "__shared__ int s[2]; ID FIRST { s[0] = 0; s[1] = 0; } WAIT if (i < n) atomicAdd(s, V);"
        " WAIT FIRST atomicAdd((unsigned long long *)c, *(unsigned long long *)s);",
        "threadIdx.x, blockIdx.x or blockDim.x",
    ),
    "wider_sum": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT"
        " FIRST atomicAdd((unsigned long long *)c, (unsigned long long)s);",
        "threadIdx.x, blockIdx.x or blockDim.x",
    ),
    "counts_blocks": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT FIRST atomicAdd(c, 1);",
        "an effect of each block",
    ),
    "added_by_all": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT atomicAdd(c, s);",
        "a sum of a block that is not the same in parts",
    ),
    "only_large_ones": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT FIRST if (s > 3) atomicAdd(c, s);",
        "a branch by the thread",
    ),
    "added_by_rows": (
        "SUM FIRST s = 0; WAIT K atomicAdd(&s, j); WAIT FIRST atomicAdd(c, s);"
        " if (i < n) a[i] = 1;",
        "a sum of a block that is not the same in parts",
    ),
    "not_begun_yet": (
        "SUM FIRST s = 0; if (i < n) atomicAdd(&s, V); WAIT FIRST atomicAdd(c, s);",
        "shared memory without a barrier between",
    ),
    "not_summed_yet": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); FIRST atomicAdd(c, s);",
        "shared memory without a barrier between",
    ),
    "sum_is_read": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT FIRST atomicAdd(c, s);"
        " if (i < n) a[i] = *c;",
        "what all blocks share, and change",
    ),
    "sum_is_written": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT FIRST atomicAdd(c, s);"
        " if (i < n) c[i] = 4;",
        "what all blocks share, and change",
    ),
    # In blocks of one thread the first thread is the last one.
    "first_and_last": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT"
        " if (t == 0 && t == D - 1) atomicAdd(c, s);",
        "a branch by the thread",
    ),
    "last_not_first": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT"
        " if (t != 0) if (t == D - 1) atomicAdd(c, s);",
        "a branch by the thread",
    ),
    "under_a_condition": (
        'TABLE K asm volatile("{ .reg .pred p; setp.lt.s32 p, %0, 40; @p st.shared.f32 [%1], %2; }"'
        ' :: "r"(i), "r"((unsigned)__cvta_generic_to_shared(s + j)), "f"(b[j])); READ',
        "an instruction under a condition",
    ),
    # Between blocks it is no atomic operation; where there was one block there are several.
    "added_in_a_block": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT FIRST atomicAdd_block(c, s);",
        "an atomic operation of one block",
    ),
    # What is summed up there is not seen to be a sum.
    "by_pointer": (
        "__shared__ int s[64], u[64]; ID K { s[j] = 0; u[j] = 0; } WAIT"
        " if (i < n) atomicAdd((m ? s : u) + i % 64u, 1);"
        " WAIT if (i < n) atomicAdd(c, s[i % 64u]);",
        "shared memory that nothing is stored in",
    ),
    "by_pointer_of_both": (
        "__shared__ int s[64]; ID K s[j] = 0; WAIT"
        " if (i < n) atomicAdd((m ? s : c) + i % 64u, 1);"
        " WAIT if (i < n) atomicAdd(c, s[i % 64u]);",
        "a pointer to shared memory",
    ),
    "some_begin": (
        "SUM if (i < n) { FIRST s = 0; WAIT atomicAdd(&s, V); WAIT FIRST atomicAdd(c, s); }",
        "a barrier that some threads may not reach",
    ),
    "ends_early": (
        "TABLE if (i >= n) return; K s[j] = b[j]; WAIT a[i] = s[i % 64u];",
        "a row that",
    ),
    "no_barrier": (
        "TABLE K s[j] = b[j]; if (i < n) a[i] = s[i % 64u];",
        "shared memory without a barrier between",
    ),
    "filled_by_ids": ("TABLE K s[j] = b[i]; READ", "what a block does by an id"),
    "filled_by_blocks": ("TABLE K s[j] = b[blockIdx.x * 64 + j]; READ", "blockIdx.x in an address"),
    "never_filled": (
        "TABLE WAIT if (i < n) a[i] = s[i % 64u];",
        "shared memory that nothing is stored in",
    ),
    "changed_by_ids": (
        "TABLE K s[j] = b[j]; WAIT if (i < n) s[i % 64u] = 3; READ",
        "shared memory that threads write by their ids",
    ),
    "own_slots": ("__shared__ float s[1024]; ID s[t] = b[i]; READ", "threadIdx.x"),
    "read_by_threads": ("TABLE K s[j] = b[j]; WAIT if (i < n) a[i] = s[t % 64];", "threadIdx.x"),
    "filled_by_neighbours": (
        "TABLE K s[j] = b[j]; K s[j] += s[(j + 1) % 64]; READ",
        "a place that elements of a row may share",
    ),
    "filled_by_last_too": (
        "TABLE LAST s[0] = b[0]; FIRST s[0] += 1; READ",
        "a place that elements of a row may share",
    ),
    "of_what_is_written": ("TABLE K s[j] = a[j]; READ", "what all blocks share, and change"),
    # In one block the barrier comes between; two blocks do not wait for each other.
    "neighbours_before": (
        "TABLE K s[j] = b[j]; float x = i < n ? a[i + 1] : 0; WAIT if (i < n) a[i] = s[1] + x;",
        "a place that threads of blocks may share",
    ),
    "stored_by_rows": ("TABLE K { s[j] = b[j]; a[j] = 1; } READ", "an effect of each block"),
    "counted_by_rows": (
        "TABLE K { s[j] = b[j]; atomicAdd(c, 1); } READ",
        "an effect of each block",
    ),
    "by_local_memory": (
        "TABLE float l[4] = {0}; FIRST l[m & 3] = 5; K s[j] = b[j]; WAIT"
        " if (i < n) a[i] = s[i % 64u] + l[n & 3];",
        "local memory of some threads",
    ),
    "by_register": (
        "TABLE float l = 0; FIRST l = 5; K s[j] = b[j]; WAIT if (i < n) a[i] = s[i % 64u] + l;",
        "threadIdx.x in a stored value",
    ),
    "by_lane": (
        "TABLE K s[j] = b[j]; WAIT if (i < n) a[i] = s[i % 64u] + t % 32;",
        "threadIdx.x in a stored value",
    ),
    "in_two_dimensions": (
        "TABLE K s[j] = b[j]; WAIT if (i < n) a[i + threadIdx.y * n] = s[i % 64u];",
        "threadIdx.y",
    ),
    # What is left out depends on the block.
    "from_2": (
        "BINS ADD(1) WAIT K { int v = s[j]; if (v > 1) atomicAdd(c + j, v); }",
        "a branch by the thread within a row",
    ),
    "counts_bins": (
        "BINS ADD(1) WAIT K if (s[j]) atomicAdd(c + j, 1);",
        "a branch by the thread within a row",
    ),
    "notes_beside": (
        "BINS ADD(1) WAIT K { int v = s[j]; if (v) { atomicAdd(c + j, v); a[j] = 1; } }",
        "a branch by the thread within a row",
    ),
    "of_another": (
        "BINS ADD(1) WAIT K { int v = s[j], u = s[63 - j]; if (u) atomicAdd(c + j, v); }",
        "a branch by the thread within a row",
    ),
    # Parts may be less than 0, as a sum of some that are not.
    "positive_only": (
        "BINS ADD(V) WAIT K { int v = s[j]; if (v > 0) atomicAdd(c + j, v); }",
        "a branch by the thread within a row",
    ),
    "less_than_0": (
        "BINS ADD(-1) WAIT K { int v = s[j]; if (v > -1) atomicAdd(c + j, v); }",
        "a branch by the thread within a row",
    ),
    "many_of_one": (
        "BINS ADD(1 << 22) WAIT K { int v = s[j]; if (v > 0) atomicAdd(c + j, v); }",
        "a branch by the thread within a row",
    ),
    "waits_unless_0": (
        "SUM FIRST s = 0; WAIT if (i < n) atomicAdd(&s, V); WAIT int v = s;"
        " if (v) { WAIT FIRST atomicAdd(c, v); }",
        "",
    ),
    "by_width": (
        "TABLE for (int j = t; j < D; j += D) s[j] = b[j]; READ",
        "a row whose end differs between threads",
    ),
    "atomic_slots": (
        "__shared__ int s[1024]; ID s[t] = 0; WAIT if (i < n) atomicAdd(s + t, V); WAIT"
        " FIRST atomicAdd(c, s[0]);",
        "threadIdx.x",
    ),
}


@pytest.fixture(scope="module")
def module() -> Module:
    bodies = {name: body for name, (body, _) in (*PROVEN.items(), *HOSTILE.items())}
    bodies |= {name: body for name, (body, _, _) in BY_FIRST_THREADS.items()}
    return compiled(bodies, COMMON)


@pytest.mark.parametrize("name", list(PROVEN))
def test_ids_count(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert described(proof, NAMES) == (PROVEN[name][1] or "x < n; meet 1 4")
    assert proof.uses_shared
    assert proof.must_hold
    assert not proof.needs_warps


@pytest.mark.parametrize("name", list(BY_FIRST_THREADS))
def test_first_threads_do_rows_in_blocks_that_have_them(module: Module, name: str) -> None:
    _, verdict, least = BY_FIRST_THREADS[name]
    proof = prove(module, name)
    assert described(proof, NAMES) == verdict
    assert proof.widths == tuple(range(least, 1025, 32))
    assert proof.must_hold


@pytest.mark.parametrize("name", list(HOSTILE))
def test_nothing_is_proven(module: Module, name: str) -> None:
    assert prove(module, name).refused is not None
    refused = judge(module, module.functions[name], RowsOfEachBlock(dimension="x")).refused
    assert refused is not None
    assert HOSTILE[name][1] in refused.message
