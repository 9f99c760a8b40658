"""Numbers that registers do not hold as they are written: are places made of them told apart?"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import prove
from cutune.proof.entry_proof import EntryProof
from cutune.proof.values.polynomial import IntegerPolynomial
from cutune.ptx.types import Module
from tests.support.proof_verdicts import compiled, value_of

pytestmark = pytest.mark.nvcc

ID = "blockIdx.x * blockDim.x + threadIdx.x"
INT, UNSIGNED = f"int i = {ID}; if (i >= n) return;", f"unsigned i = {ID}; if (i >= n) return;"
ROW = "unsigned j = blockIdx.y * blockDim.y + threadIdx.y; if (j >= m) return;"
SIZES = ("n", "m", "w", "h")


def named(operation: str, number: int) -> str:
    """`q`, by an operation whose second operand the program writes into the code."""
    return f'int q; asm("{operation} %0, %1, {number};" : "=r"(q) : "r"(i));'


#: All get (float *a, const float *b, unsigned n, unsigned m, unsigned w, unsigned h).
TOGETHER: Mapping[str, str] = {
    # 4294967293 is -3 where it is read with a sign, and 4294967299 is 3.
    "remainder_of_minus_three": f"{INT} {named('rem.s32', 4294967293)} a[q] = b[i];",
    "quotient_of_minus_three": f"{INT} {named('div.s32', 4294967293)} a[q + i] = b[i];",
    "remainder_of_three": f"{INT} {named('rem.u32', 4294967299)} a[q] = b[i];",
    "multiplied_by_a_negative_number": (
        f"{INT} {named('mul.hi.s32', 2863311531)} q >>= 1; a[n + q * 3 + i % 3] = b[i];"
    ),
    # Of the first thread i - 1 is the largest number: 255, which is 3 * 85, is added for it.
    "greatest_wraps": f"{UNSIGNED} a[(size_t)i * 85 + (max(i - 1, 10u) >> 24)] += b[i];",
    "least_wraps": f"{UNSIGNED} a[(size_t)i * 85 + (min(i - 1, 4294967290u) >> 24)] += b[i];",
    "upper_half_wraps": f"{UNSIGNED} a[(size_t)i * 85 + __umulhi(max(i - 1, 10u), 256)] += b[i];",
}
OWN: Mapping[str, str] = {
    "quotient_of_three": f"{INT} {named('div.u32', 4294967299)} a[q * 3 + i % 3] = b[i];",
    "remainder_of_more": f"{UNSIGNED} a[(size_t)i * 85 + (i - 1) % 64] += b[i];",
    "greatest_of_two": f"{UNSIGNED} a[(size_t)i * 85 + (max(i, 10u) >> 24)] += b[i];",
}
#: The step between rows is what 32 bits hold of a product.
PITCH: Mapping[str, str] = {
    "pitch_is_computed_first": f"{UNSIGNED} {ROW} a[i + j * (size_t)(w * h)] += b[i];",
    "row_is_long": f"{UNSIGNED} {ROW} a[i + (size_t)j * (w * h)] += b[i];",
    "in_a_loop": f'{UNSIGNED} _Pragma("unroll 1") for (size_t k = 0; k < m; ++k)'
    " a[i + k * (w * h)] += b[i];",
    "rows_that_blocks_share": "for (unsigned j = threadIdx.x; j < n; j += blockDim.x)"
    " a[j * (size_t)(w * h) + blockIdx.x] = b[j];",
}


@pytest.fixture(scope="module")
def module() -> Module:
    sizes = ", ".join(f"unsigned {size}" for size in SIZES)
    return compiled({**TOGETHER, **OWN, **PITCH}, "", f"float *a, const float *b, {sizes}")


@pytest.mark.parametrize("name", list(TOGETHER))
def test_threads_stay_together(module: Module, name: str) -> None:
    assert prove(module, name).needs_warps


@pytest.mark.parametrize("name", list(OWN))
def test_threads_are_free(module: Module, name: str) -> None:
    found = prove(module, name)
    assert (found.refused, found.needs_warps) == (None, False)


@pytest.mark.parametrize("name", list(PITCH))
def test_a_step_that_wraps_around_is_asked_for(module: Module, name: str) -> None:
    found = prove(module, name)
    assert (found.refused, found.needs_warps) == (None, False)
    assert _holds(found, {"n": 64, "m": 2, "w": 8, "h": 16})
    assert not _holds(found, {"n": 64, "m": 2, "w": 1 << 16, "h": 1 << 16})


def _holds(proof: EntryProof, sizes: Mapping[str, int]) -> bool:
    """What a launch finds at these sizes, with n threads in x and m in y."""
    extents = (sizes["n"], sizes["m"], 1, 1)
    return all(
        abs(_value(one.larger, sizes)) >= abs(_value(one.smaller, sizes)) * extents[one.dimension]
        for one in proof.spreads
    )


def _value(polynomial: IntegerPolynomial, sizes: Mapping[str, int]) -> int:
    names = {f"{index}:0:b32": name for index, name in enumerate(SIZES, 2)}
    return value_of(polynomial, sizes, names)
