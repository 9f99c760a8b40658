"""One thread per row: may threads come into any warp where each stays in a row of its own?"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import prove
from cutune.proof.entry_proof import EntryProof
from cutune.proof.values.launch_conditions import Spread
from cutune.proof.values.polynomial import IntegerPolynomial
from cutune.ptx.types import Module
from tests.support.proof_verdicts import PARAMETERS, compiled, described, value_of

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("all_headers")]

X = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"
Y = "int j = blockIdx.y * blockDim.y + threadIdx.y; if (j >= m) return;"
ROW = f"{X} float *r = a + i * m;"
#: Before the kernels, which all get (float *a, const float *b, int n, int m, int *c, unsigned u).
COMMON = """
#define FOR(k, n) for (int k = 0; k < (n); ++k)
#define SLOWLY _Pragma("unroll 1")
"""
OWN: Mapping[str, str] = {
    "row": f"{X} FOR(k, m) a[i * m + k] = b[k];",
    "rolled": f"{X} SLOWLY FOR(k, m) a[i * m + k] = b[k];",
    "by_pointer": f"{ROW} FOR(k, m) *r++ = b[k];",
    "softmax": (
        f"{ROW} float s = 0; FOR(k, m) {{ r[k] = expf(b[i * m + k]); s += r[k]; }}"
        " FOR(k, m) r[k] /= s;"
    ),
    "unrolled_by_two": f'{ROW} _Pragma("unroll 2") FOR(k, m) r[k] = b[k] * 2;',
    "unrolled_by_eight": f'{ROW} _Pragma("unroll 8") FOR(k, m) r[k] = b[k] * 2;',
    "backwards_slowly": f"{ROW} SLOWLY for (int k = m - 1; k >= 0; --k) r[k] = b[k];",
    "in_steps": f"{ROW} SLOWLY for (int k = 0; k < m; k += 3) r[k] = b[k];",
    "second_half": f"{ROW} SLOWLY for (int k = 4; k < m; ++k) r[k] = b[k];",
    "without_last": f"{ROW} SLOWLY FOR(k, m - 1) r[k] = b[k];",
    "up_to_last": f"{ROW} SLOWLY for (int k = 0; k <= m - 1; ++k) r[k] = b[k];",
    "reads_neighbour": f"{ROW} SLOWLY FOR(k, m - 1) r[k] += r[k + 1];",
    "break_inside": f"{ROW} SLOWLY FOR(k, m) {{ if (b[k] > 3) break; r[k] = b[k]; }}",
    "continue_inside": f"{ROW} SLOWLY FOR(k, m) {{ if (b[k] > 3) continue; r[k] = b[k]; }}",
    "condition_inside": f"{ROW} FOR(k, m) if (b[k] > 0) r[k] = 1; else r[k] = 2;",
    "while_two_hold": f"{ROW} int k = 0; while (k < m && b[k] > 0) {{ r[k] = 1; ++k; }}",
    "least_of_two": f"{ROW} SLOWLY FOR(k, min(m, n)) r[k] = b[k];",
    "fixed_row": f"{X} SLOWLY FOR(k, 100) a[i * 100 + k] = b[k];",
    "part_of_fixed_row": f"{X} SLOWLY FOR(k, 98) a[i * 100 + k + 2] = b[k];",
    "begins_later": f"{X} SLOWLY FOR(k, m) a[n + i * m + k] = b[k];",
    "planes": f"{X} FOR(j, n) FOR(k, m) a[(i * n + j) * m + k] = b[k];",
    "rows_of_a_batch": f"{X} FOR(j, m) SLOWLY FOR(k, 9) a[(j * n + i) * 9 + k] = b[k];",
    "unsigned_columns": (
        "unsigned i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < (unsigned)n) FOR(k, m) a[k * n + (int)i] = b[k];"
    ),
    "columns_of_memory": f"{X} FOR(k, m) a[c[k] * n + i] += b[k];",
    "bounded_in_memory": f"{X} a[i * 10 + (c[i] & 7)] = i;",
    "two_dimensions": f"{X} {Y} SLOWLY FOR(k, 4) a[(j * n + i) * 4 + k] = b[k];",
    "planes_of_a_volume": f"{X} {Y} FOR(k, 9) a[(k * m + j) * n + i] += b[k];",
    "unguarded_planes": (
        "int i = blockIdx.x * blockDim.x + threadIdx.x; FOR(k, m) a[k * n + i] += b[k];"
    ),
    "spans_in_planes": f"{X} FOR(k, m) SLOWLY FOR(t, 3) a[(k * n + i) * 3 + t] += b[t];",
    "triangle": f"{X} SLOWLY for (int k = 0; k <= i; ++k) a[i * n + k] = b[k];",
    "long_index": f"{X} SLOWLY FOR(k, m) a[(size_t)i * m + k] = b[k];",
    "long_counter": f"{ROW} SLOWLY for (long k = 0; k < m; ++k) r[k] = b[k];",
    "long_counter_to_last": f"{ROW} SLOWLY for (long k = 0; k < m - 1; ++k) r[k] = b[k];",
    "rows_downwards": f"{X} SLOWLY FOR(k, m) a[k - i * m] = b[k];",
    "fixed_rows_downwards": f"{X} SLOWLY FOR(k, 100) a[k - i * 100] = b[k];",
    "pairs": f"{X} float2 *p = (float2 *)a; SLOWLY FOR(k, m) p[i * m + k] = make_float2(k, i);",
    "behind_the_loop": f"{ROW} int k = 0; SLOWLY for (; k < m - 1; ++k) r[k] = 1; r[m - 1] = b[k];",
    "row_and_adding": f"{ROW} FOR(k, m) {{ r[k] = b[k]; atomicAdd(c + k, 1); }}",
    "loop_at_least_once": f"{ROW} int k = 0; SLOWLY do r[k] = b[k]; while (++k < m);",
    # What is read, or written once, is the place of an id of -1.
    "first_of_all": f"{X} a[i + 1] += a[0];",
    "flag_in_front": f"{X} a[i + 1] = b[i]; if (i == 0) a[0] = 7;",
    "row_in_front": f"{X} {Y} a[(j + 1) * n + i] -= a[i] * b[j];",
    "row_behind_others": f"{X} {Y} a[(j + 1 + m) * n + i] -= a[m * n + i] * b[j];",
    "pivot_row_and_column": (
        f"{X} {Y} int w = n + 3; a[(j + m + 1) * w + i + m + 1] -="
        " a[(j + m + 1) * w + m] * a[m * w + i + m + 1];"
    ),
}
TOGETHER: Mapping[str, str] = {
    "one_too_many": f"{ROW} SLOWLY for (int k = 0; k <= m; ++k) r[k] = b[k];",
    "one_too_many_unrolled": f"{ROW} for (int k = 0; k <= m; ++k) r[k] = b[k];",
    "one_too_many_long": f"{ROW} SLOWLY for (long k = 0; k <= m; ++k) r[k] = b[k];",
    "one_too_many_downwards": f"{X} SLOWLY FOR(k, 101) a[k - i * 100] = b[k];",
    "one_before": f"{ROW} SLOWLY FOR(k, m) r[k - 1] = b[k];",
    "one_behind": f"{ROW} SLOWLY FOR(k, m) r[k + 1] = b[k];",
    "reads_next_row": f"{ROW} SLOWLY FOR(k, m) r[k] += r[k + 1];",
    "reads_row_before": f"{ROW} SLOWLY FOR(k, m) r[k] += r[k - m];",
    "shorter_step": f"{X} SLOWLY FOR(k, m) a[i * (m - 1) + k] = b[k];",
    "other_length": f"{X} SLOWLY FOR(k, n) a[i * m + k] = b[k];",
    "overlapping": f"{X} SLOWLY FOR(k, m) a[i + k] = b[k];",
    "longer_row": f"{X} SLOWLY FOR(k, 101) a[i * 100 + k] = b[k];",
    "shifted_fixed_row": f"{X} SLOWLY FOR(k, 98) a[i * 100 + k + 3] = b[k];",
    "wider_access": f"{ROW} SLOWLY FOR(k, m) *(float2 *)(r + k) = make_float2(b[k], 1);",
    "backwards_too_far": f"{ROW} SLOWLY for (int k = m - 1; k >= -1; --k) r[k] = b[k];",
    "backwards_from_m": f"{ROW} SLOWLY for (int k = m; k >= 0; --k) r[k] = b[k];",
    "steps_beyond": f"{ROW} SLOWLY for (int k = 0; k < m; k += 2) {{ r[k] = 1; r[k + 1] = 2; }}",
    "quarter_beyond": f"{X} SLOWLY for (int k = 0; k < m; k += 4) a[i * m + k + 3] = b[k];",
    "limit_grows": f"{ROW} SLOWLY FOR(k, m) {{ r[k] = b[k]; m += 1; if (k > n) break; }}",
    "limit_in_memory": f"{ROW} SLOWLY FOR(k, *c) r[k] = b[k];",
    "limit_of_thread": f"{ROW} SLOWLY FOR(k, i) r[k] = b[k];",
    "counter_in_memory": f"{ROW} SLOWLY FOR(k, m) {{ r[c[k]] = b[k]; }}",
    "counter_jumps": f"{ROW} SLOWLY FOR(k, m) {{ r[k] = b[k]; if (b[k] > 3) k += 5; }}",
    "counter_jumps_first": f"{ROW} SLOWLY FOR(k, m) {{ if (b[k] > 3) k += 5; r[k] = b[k]; }}",
    "until_equal": f"{ROW} SLOWLY for (int k = 0; k != m; k += 3) r[k] = b[k];",
    "until_equal_from_one": f"{ROW} SLOWLY for (int k = 1; k != n; ++k) r[k] = b[k];",
    "only_a_break": f"{ROW} int k = 0; while (true) {{ r[k] = b[k]; if (b[++k] < 0) break; }}",
    "break_of_other": f"{ROW} SLOWLY FOR(k, n) {{ r[k] = b[k]; if (k == u) break; }}",
    "or_holds": f"{ROW} int k = 0; while (k < m || b[k] > 0) {{ r[k] = 1; ++k; }}",
    "greatest_of_two": f"{ROW} SLOWLY FOR(k, max(m, n)) r[k] = b[k];",
    "behind_the_row": f"{ROW} int k = 0; SLOWLY for (; k < m; ++k) r[k] = 1; r[k] = 2;",
    "two_rows": f"{ROW} FOR(k, m) r[k] = b[k]; SLOWLY FOR(k, n) a[i * n + k] += 1;",
    "row_and_column": f"{ROW} FOR(k, m) r[k] = b[k]; a[i] = 3;",
    "row_and_first": f"{ROW} FOR(k, m) r[k] = b[k] + a[k];",
    "unsigned_row": f"{X} SLOWLY for (unsigned k = 0; k < u; ++k) a[i * u + k] = k;",
    "unsigned_bound": f"{ROW} SLOWLY for (unsigned k = 0; k < u; ++k) r[k] = b[k];",
    "negative_limit": f"{ROW} SLOWLY for (unsigned k = 0; k < (unsigned)m - 1; ++k) r[k] = b[k];",
    "short_counter": f"{ROW} SLOWLY for (short k = 0; k < m; ++k) r[k + 1] = b[k];",
    # A bound below 0 bounds nothing where it is read as unsigned.
    "columns_of_negative": (
        "unsigned i = blockIdx.x * blockDim.x + threadIdx.x;"
        " if (i < (unsigned)(4 - m)) FOR(k, 3) a[(int)i + k * (4 - m)] = b[k];"
    ),
    "reversed_rows": f"{X} SLOWLY FOR(k, m) a[(n - i) * m + k - 1] = b[k];",
    "other_way": f"{X} SLOWLY FOR(k, m) a[i * m - k] = b[k];",
    "both_ways": f"{X} SLOWLY FOR(k, m) {{ a[i * m + k] = 1; a[i * m - k] = 2; }}",
    "step_of_thread": f"{X} SLOWLY FOR(k, c[i]) a[i * c[i] + k] = b[k];",
    "step_in_memory": f"{X} int w = *c; SLOWLY FOR(k, w) a[i * w + k] = b[k];",
    "half_rows": f"{X} SLOWLY FOR(k, m) a[i * m / 2 + k] = b[k];",
    "halved_ids": f"{X} SLOWLY FOR(k, m) a[i / 2 * m + k] = b[k];",
    "overlapping_planes": f"{X} FOR(j, n) FOR(k, m) a[(i * n + j) * (m - 1) + k] = b[k];",
    "longer_planes": f"{X} FOR(j, n + 1) FOR(k, m) a[(i * n + j) * m + k] = b[k];",
    "rows_of_other_batch": f"{X} FOR(j, m) SLOWLY FOR(k, 9) a[(j * m + i) * 9 + k] = b[k];",
    "columns_apart": f"{X} FOR(k, m) a[c[k] * (n - 1) + i] += b[k];",
    "mask_too_wide": f"{X} a[i * 10 + (c[i] & 15)] = i;",
    "mask_with_sign": f"{X} a[i * 10 + c[i] % 8] = i;",
    "planes_of_other_size": f"{X} {Y} FOR(k, 9) a[(k * m + j) * m + i] += b[k];",
    "planes_too_short": (
        "int i = blockIdx.x * blockDim.x + threadIdx.x; FOR(k, n) a[k * m + i] += b[k];"
    ),
    "planes_and_next": f"{X} {Y} FOR(k, 9) a[(k * m + j) * n + i] += a[(k * m + j) * n + i + 1];",
    "planes_and_next_row": (
        f"{X} {Y} FOR(k, 9) a[(k * m + j) * n + i] += a[(k * m + j + 1) * n + i];"
    ),
    "spans_over_planes": f"{X} FOR(k, m) SLOWLY FOR(t, 4) a[(k * n + i) * 3 + t] += b[t];",
    "triangle_too_far": f"{X} SLOWLY for (int k = 0; k <= i + 1; ++k) a[i * n + k] = b[k];",
    "pointer_moves_twice": f"{ROW} SLOWLY FOR(k, m) {{ *r++ = b[k]; if (b[k] > 0) *r++ = 1; }}",
    "pointer_of_two_rows": f"{ROW} if (b[i] > 0) r += m; SLOWLY FOR(k, m) r[k] = b[k];",
    "whole_row_of_next": f"{ROW} SLOWLY FOR(k, m) r[m + k] = r[k];",
    "one_dimension_less": f"{X} {Y} SLOWLY FOR(k, m) a[i * m + k] = b[k];",
    "planes_too_near": f"{X} {Y} SLOWLY FOR(k, 4) a[(j * n + i) * 3 + k] = b[k];",
    # What is added in a round grows itself, by a name that has stood for its first values.
    "step_grows": (
        f"{X} float *r = a + i * 512; int x = m & 15, y = n & 15; SLOWLY FOR(q, n) {{ int s;"
        " if (q == u) { s = x; atomicAdd(c, 1); } else { s = y; atomicAdd(c + 1, 1); }"
        " int k = 0; SLOWLY FOR(t, 4) { r[k] = b[t + q]; k += s; } x += u; y += u; }"
    ),
    # One thread leaves its row, by what holds for it alone.
    "first_goes_on": f"{ROW} SLOWLY FOR(k, n) {{ if (i == 0) a[k] = 7; if (k < m) r[k] = b[k]; }}",
    "first_looks_on": (
        f"{ROW} float s = 0; SLOWLY FOR(k, n) {{ if (i == 0) s += a[k]; if (k < m) r[k] = s; }}"
    ),
    "third_goes_on": (
        f"{ROW} SLOWLY FOR(k, n) {{ if (i == 3) a[3 * m + k] = 7; if (k < m) r[k] = b[k]; }}"
    ),
    "loop_again": (
        f"{ROW} int k = 0; FOR(t, 2) {{ SLOWLY for (; k < m; ++k) r[k] = 1; r[k] = 2; k = 0; }}"
    ),
    "counter_kept": f"{ROW} int k = 0; FOR(t, n) {{ SLOWLY FOR(s, m) r[k++] = b[s]; }}",
    "remainder_too_long": (
        f"{ROW} int k = 0; SLOWLY for (; k + 4 <= m; k += 4) r[k] = 1;"
        " SLOWLY for (int t = 0; t <= (m & 3); ++t) r[k + t] = 2;"
    ),
    "second_of_all": f"{X} a[i + 1] += a[1];",
    "far_in_front": f"{X} a[2 * i + 1] += a[u - 7];",
    "row_of_one_thread": f"{X} {Y} a[j * n + i] -= a[i] * b[j];",
    "overlapping_rows_in_front": f"{X} {Y} a[(j + 1) * m + i] -= a[i] * b[j];",
    # The column in front is the last one of the row before.
    "pivot_column_in_row": f"{X} {Y} a[(j + 1) * n + i + 1] -= a[(j + 1) * n] * b[j];",
    "place_of_thread_in_front": f"{X} {Y} a[(j + 1) * n + i] -= a[j] * b[j];",
    "row_in_front_of_rounds": f"{X} FOR(k, m) a[(k + 1) * n + i] -= a[k * n + i / 2];",
}
NAMES = {"0:0:b64": "a", "1:0:b64": "b", "2:0:b32": "n", "3:0:b32": "m", "4:0:b64": "c"}
NAMES |= {"5:0:b32": "u"}


@pytest.fixture(scope="module")
def module() -> Module:
    return compiled({**OWN, **TOGETHER}, COMMON, f"{PARAMETERS}, unsigned u")


#: Sizes of a launch at which the rows of the second table overlap, with a thread for each n.
SIZES = {"n": 40, "m": 5, "u": 7}


def _is_free(proof: EntryProof) -> bool:
    """May threads come into any warp at these sizes, as a launch would find?"""
    return not proof.needs_warps and all(map(_holds, proof.spreads))


def _holds(spread: Spread) -> bool:
    extent = 1 if spread.dimension < 0 else (SIZES["n"], SIZES["m"], 1)[spread.dimension]
    return abs(_value(spread.larger)) >= abs(_value(spread.smaller)) * extent


def _value(polynomial: IntegerPolynomial) -> int:
    return value_of(polynomial, SIZES, NAMES)


@pytest.mark.parametrize("name", list(OWN))
def test_threads_are_free(module: Module, name: str) -> None:
    found = prove(module, name)
    assert found.refused is None
    assert _is_free(found), described(found, NAMES)


@pytest.mark.parametrize("name", list(TOGETHER))
def test_threads_stay_together(module: Module, name: str) -> None:
    found = prove(module, name)
    assert found.refused is None
    assert not _is_free(found), described(found, NAMES)
