"""Places made by `/` and `%`: may threads come into any warp where digits tell them apart?"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import prove
from cutune.proof.entry_proof import EntryProof
from cutune.proof.values.launch_conditions import Spread, can_hold
from cutune.proof.values.polynomial import PARAMETER, IntegerPolynomial
from cutune.ptx.types import Module
from tests.support.proof_verdicts import compiled, described, value_of

pytestmark = pytest.mark.nvcc

ID = "blockIdx.x * blockDim.x + threadIdx.x"
INT = f"int i = {ID};"
UNSIGNED = f"unsigned i = {ID};"
LONG = f"long long i = {ID};"
CWH, N = f"{INT} if (i >= c * w * h) return;", f"{INT} if (i >= n) return;"
UCWH = f"{UNSIGNED} if (i >= (unsigned)(c * w * h)) return;"
LCWH = f"{LONG} if (i >= (long long)c * w * h) return;"
FROM_ABOVE = "int z = i / (w * h), r = i % (w * h), y = r / w, x = r % w;"
FROM_BELOW = "int x = i % w, y = i / w % h, z = i / w / h;"
SECOND = "int j = blockIdx.y * blockDim.y + threadIdx.y; if (j >= d) return;"
LOOP = '_Pragma("unroll 1") for'
#: All get (float *a, const float *b, int n, int w, int h, int c, int d, const int *t).
OWN: Mapping[str, str] = {
    "above_zyx": f"{CWH} {FROM_ABOVE} a[(z * h + y) * w + x] = b[i];",
    "above_yxz": f"{CWH} {FROM_ABOVE} a[(y * w + x) * c + z] = b[i];",
    "above_xyz": f"{CWH} {FROM_ABOVE} a[(x * h + y) * c + z] = b[i];",
    "above_zxy": f"{CWH} {FROM_ABOVE} a[(z * w + x) * h + y] = b[i];",
    "below_xzy": f"{CWH} {FROM_BELOW} a[(x * c + z) * h + y] = b[i];",
    "below_yzx": f"{CWH} {FROM_BELOW} a[(y * c + z) * w + x] = b[i];",
    "below_long": f"{CWH} {FROM_BELOW} a[((long long)x * c + z) * h + y] = b[i];",
    "uppermost_by_remainder": f"{CWH} int z = i / (w * h) % c, y = i / w % h, x = i % w;"
    " a[(y * w + x) * c + z] = b[i];",
    "without_remainders": f"{CWH} int x = i % w, y = (i - x) / w % h;"
    " int z = (i - x - y * w) / (w * h); a[(y * w + x) * c + z] = b[i];",
    "other_guard": f"{N} {FROM_BELOW} a[(x * c + z) * h + y] = b[i];",
    "uppermost_outside": f"{N} {FROM_BELOW} a[(z * w + x) * h + y] = b[i];",
    "longer_steps": f"{CWH} {FROM_ABOVE} a[(y * n + x) * n + z] = b[i];",
    "with_beginning": f"{CWH} {FROM_ABOVE} a[d + (y * w + x) * c + z] = b[i];",
    "backwards": f"{CWH} {FROM_ABOVE} a[((h - 1 - y) * w + x) * c + (c - 1 - z)] = b[i];",
    "in_place": f"{CWH} {FROM_ABOVE} a[(y * w + x) * c + z] *= b[i];",
    "structure": (
        f"{CWH} {FROM_ABOVE} float *p = a + ((y * w + x) * c + z) * 3; p[0] = 1; p[2] = b[i];"
    ),
    "pairs": f"{CWH} {FROM_ABOVE} ((float2 *)a)[(y * w + x) * c + z] = make_float2(1, b[i]);",
    "unsigned_above": (
        f"{UCWH} unsigned p = w * h, z = i / p, r = i % p, y = r / w, x = r % w;"
        " a[(y * (unsigned)w + x) * c + z] = b[i];"
    ),
    "unsigned_below": (
        f"{UCWH} unsigned x = i % w, y = i / w % h, z = i / w / h;"
        " a[(x * (unsigned)c + z) * h + y] = b[i];"
    ),
    "long_above": (
        f"{LCWH} long long p = (long long)w * h, z = i / p, r = i % p, y = r / w, x = r % w;"
        " a[(y * w + x) * c + z] = b[i];"
    ),
    "low_bits": f"{N} a[(i & 31) * 64 + (i >> 5)] = b[i];",
    "low_bits_divided": f"{N} a[i % 32 * 64 + i / 32] = b[i];",
    "bits_exchanged": f"{N} a[(i & 7) * 8 + (i >> 3 & 7) + (i >> 6) * 64] = b[i];",
    "bits_of_remainder": f"{N} int r = i % 1024; a[i / 1024 * 1024 + r % 32 * 32 + r / 32] = b[i];",
    "thirds": f"{N} a[i % 3 * n + i / 3] = b[i];",
    "thirds_unsigned": f"{UNSIGNED} if (i < n) a[(int)(i % 3) * n + (int)(i / 3)] = b[i];",
    "sevenths": f"{N} a[i % 7 * n + i / 7] = b[i];",
    "thousandths": f"{N} a[i % 1000 * n + i / 1000] = b[i];",
    "long_fifths": f"{LONG} if (i < n) a[i % 5 * n + i / 5] = b[i];",
    "colours": f"{N} int p = i / 3; a[(p % w * h + p / w) * 3 + i % 3] = b[i];",
    "planes_in_loop": f"{CWH} {FROM_ABOVE} {LOOP} (int k = 0; k < d; ++k)"
    " a[(k * w * h + y * w + x) * c + z] = b[i];",
    "two_dimensions": f"{CWH} {SECOND} {FROM_ABOVE} a[((j * h + y) * w + x) * c + z] = b[i];",
    "second_inside": f"{CWH} {SECOND} {FROM_ABOVE} a[((y * w + x) * c + z) * d + j] = b[i];",
    "under_condition": f"{CWH} {FROM_ABOVE} if (t[i] > 0) a[(y * w + x) * c + z] = b[i];",
    "one_of_two_values": f"{CWH} {FROM_ABOVE} a[(y * w + x) * c + z] = t[i] > 0 ? b[i] : 0;",
    "stride": f"for (int i = {ID}; i < n; i += blockDim.x * gridDim.x) {{ {FROM_BELOW}"
    " a[(x * c + z) * h + y] = b[i]; }",
    "stride_in_place": f"for (int i = {ID}; i < c * w * h; i += blockDim.x * gridDim.x) {{"
    f" {FROM_ABOVE} a[(y * w + x) * c + z] *= b[i]; }}",
    "stride_unsigned": f"for (unsigned i = {ID}; i < n; i += blockDim.x * gridDim.x)"
    " a[(int)(i % w) * h + (int)(i / w)] = b[i];",
    "length_of_two": f"{N} a[i % (w + 1) * h + i / (w + 1)] = b[i];",
}
TOGETHER: Mapping[str, str] = {
    "halves": f"{N} a[i / 2] = b[i];",
    "halves_by_shift": f"{N} a[i >> 1] = b[i];",
    # Both have bits at the same places.
    "or_of_upper_digit": f"{N} int l = i & 31; a[(i >> 5 | l) + 1024 * l] = b[i];",
    "or_of_one_bit": f"{N} int l = i & 31; a[(i >> 5 & 1 | l) + 64 * l + (i >> 6) * 4097] = b[i];",
    "remainder_alone": f"{N} a[i % w] = b[i];",
    "quotient_alone": f"{N} a[i / w] = b[i];",
    "low_bits_alone": f"{N} a[i & 31] = b[i];",
    "without_y": f"{CWH} {FROM_ABOVE} a[x * c + z] = b[i];",
    "without_z": f"{CWH} {FROM_ABOVE} a[y * w + x] = b[i];",
    "uppermost_wraps": f"{N} int z = i / (w * h) % c, y = i / w % h, x = i % w;"
    " a[(y * w + x) * c + z] = b[i];",
    "two_of_three": f"{CWH} int y = i / w % h, x = i % w; a[x * h + y] = b[i];",
    "without_other_remainder": f"{CWH} int x = i % w, y = (i - x + 1) / w % h, z = i / (w * h);"
    " a[(y * w + x) * c + z] = b[i];",
    "less_than_remainder": f"{CWH} int x = i % w, y = (i - 2 * x) / w % h, z = i / (w * h);"
    " a[(y * w + x) * c + z] = b[i];",
    "twice_x": f"{CWH} {FROM_ABOVE} a[(x * h + x) * c + z] = b[i];",
    "shorter_step": f"{CWH} {FROM_ABOVE} a[(y * w + x) * (c - 1) + z] = b[i];",
    "wrong_length": f"{CWH} {FROM_ABOVE} a[(y * h + x) * c + z] = b[i];",
    "wrong_uppermost": f"{CWH} {FROM_ABOVE} a[(y * w + x) * h + z] = b[i];",
    "wrong_remainder": f"{CWH} int z = i / (w * h), y = i / w % (h - 1), x = i % w;"
    " a[(y * w + x) * c + z] = b[i];",
    "remainder_of_other": f"{CWH} int z = i / (w * h), y = i / h % w, x = i % w;"
    " a[(y * w + x) * c + z] = b[i];",
    "guard_too_wide": f"{INT} if (i >= 2 * c * w * h) return; {FROM_ABOVE}"
    " a[(y * w + x) * c + z] = b[i];",
    "no_guard_for_z": f"{INT} if (i >= d * w * h) return; {FROM_ABOVE}"
    " a[(y * w + x) * c + z] = b[i];",
    "same_steps": f"{CWH} {FROM_ABOVE} a[x + y + z * w * h] = b[i];",
    "reads_neighbour": f"{CWH} {FROM_ABOVE} a[(y * w + x) * c + z] += a[(y * w + x) * c + z + 1];",
    "reads_own_id": f"{CWH} {FROM_ABOVE} a[(y * w + x) * c + z] = a[i];",
    "writes_both": f"{CWH} {FROM_ABOVE} a[(y * w + x) * c + z] = 1; a[i] = b[i];",
    "wider_access": f"{CWH} {FROM_ABOVE} float *p = a + (y * w + x) * c + z;"
    " p[0] = 1; p[1] = b[i];",
    "structure_too_long": f"{CWH} {FROM_ABOVE} float *p = a + ((y * w + x) * c + z) * 2;"
    " p[0] = 1; p[2] = b[i];",
    "negative_pairs": f"{CWH} {FROM_ABOVE} a[(y * w + x) * c - z] = b[i]; a[i] += 1;",
    "mirrored_into_next": f"{CWH} {FROM_ABOVE} a[(y * w + x) * (c - 1) - z] = b[i];",
    "of_memory": f"{CWH} {FROM_ABOVE} a[(y * w + t[i]) * c + z] = b[i];",
    "length_of_memory": f"{CWH} int p = t[0]; a[i % p * h + i / p] = b[i];",
    "length_of_thread": f"{CWH} int p = t[i]; a[i % p * h + i / p] = b[i];",
    "product_of_digits": f"{CWH} {FROM_ABOVE} a[x * y * c + z] = b[i];",
    "squared_digit": f"{CWH} {FROM_ABOVE} a[(y * w + x * x) * c + z] = b[i];",
    "shifted_id": f"{N} a[(i + 1) % w * h + i / w] = b[i];",
    "other_ids": f"{N} a[i % w * h + (i + w) / w % h] = b[i];",
    "bits_missing": f"{N} a[(i & 30) * 64 + (i >> 5)] = b[i];",
    "bits_with_gap": f"{N} a[(i & 27) * 64 + (i >> 5) + (i >> 2 & 1)] = b[i];",
    "bits_overlap": f"{N} a[(i & 31) * 64 + (i >> 6)] = b[i];",
    "bits_too_near": f"{N} a[(i & 31) * 32 + (i >> 5) * 32] = b[i];",
    "thirds_wrong": f"{N} a[i % 3 * (n / 4) + i / 3] = b[i];",
    "thirds_by_four": f"{N} a[i % 3 * n + i / 4] = b[i];",
    "nearly_thirds": f"{N} a[__mulhi(i, 1431655000) + i % 3 * 2] = b[i];",
    "half_precision_of_thirds": f"{N} a[(i * 86 >> 8) + i % 3 * n] = b[i];",
    "planes_overlap": f"{CWH} {FROM_ABOVE} {LOOP} (int k = 0; k < d; ++k)"
    " a[(k * w + y * w + x) * c + z] = b[i];",
    "loop_between": f"{CWH} {FROM_ABOVE} {LOOP} (int k = 0; k < d; ++k)"
    " a[(y * w + x + k) * c + z] = b[i];",
    "one_dimension_less": f"{CWH} {SECOND} {FROM_ABOVE} a[(y * w + x) * c + z] = b[i + j];",
    "dimensions_cross": f"{CWH} {SECOND} {FROM_ABOVE} a[(j * h + x) * c + z + y] = b[i];",
    "modulo_of_dimension": f"{CWH} {SECOND} {FROM_ABOVE} j %= 2;"
    " a[((j * h + y) * w + x) * c + z] = b[i];",
    "bits_joined_twice": f"{N} a[(i & 7) << 2 | (i >> 3 & 7) | i >> 6 << 6] = b[i];",
    "one_of_two_places": f"{CWH} {FROM_ABOVE} if (t[i] > 0) y = 0; a[(y * w + x) * c + z] = b[i];",
    "stride_too_far": f"for (int i = {ID}; i <= c * w * h; i += blockDim.x * gridDim.x) {{"
    f" {FROM_ABOVE} a[(y * w + x) * c + z] = b[i]; }}",
    "stride_of_block": f"for (int i = {ID}; i < n; i += 2 * blockDim.x * gridDim.x)"
    " { a[i % w * h + i / w] = b[i]; a[(i + 1) % w * h + (i + 1) / w] = b[i]; }",
    "stride_and_id": f"int k = {ID}; for (int i = k; i < n; i += blockDim.x * gridDim.x)"
    " a[i % w * h + k / w] = b[i];",
    "stride_without_end": f"for (int i = {ID}; b[i] > 0; i += blockDim.x * gridDim.x)"
    " a[i % w * h + i / w] = b[i];",
    "stride_of_memory": f"for (int i = {ID}; i < t[0]; i += blockDim.x * gridDim.x)"
    " a[i % w * h + i / w] = b[i];",
    "stride_halves": f"for (int i = {ID}; i < n; i += blockDim.x * gridDim.x)"
    " a[i / 2 * h + i % w] = b[i];",
    "narrow": f"{CWH} {FROM_ABOVE} a[(signed char)((y * w + x) * c + z)] = b[i];",
    "float_quotient": f"{N} int q = (float)i / w; a[(i - q * w) * h + q / 2] = b[i];",
}
SIZES = {"n": 130, "w": 5, "h": 4, "c": 6, "d": 7}
NAMES = {f"{index}:0:b32": name for index, name in enumerate(SIZES, 2)}
NAMES |= {"0:0:b64": "a", "1:0:b64": "b", "7:0:b64": "t"}
#: Of which the wider guards and steps fit at other sizes.
OTHER = {
    "other_guard": {"n": 60},
    "colours": {"n": 60},
    "stride": {"n": 60},
    "stride_unsigned": {"n": 20},
    "longer_steps": {"n": 60},
    "length_of_two": {"n": 20},
}


@pytest.fixture(scope="module")
def module() -> Module:
    sizes = ", ".join(f"int {size}" for size in SIZES)
    parameters = f"float *a, const float *b, {sizes}, const int *t"
    return compiled({**OWN, **TOGETHER}, "", parameters)


def _is_free(proof: EntryProof, sizes: Mapping[str, int]) -> bool:
    """May threads come into any warp at these sizes, as a launch would find?"""
    return not proof.needs_warps and all(_holds(proof, spread, sizes) for spread in proof.spreads)


def _holds(proof: EntryProof, spread: Spread, sizes: Mapping[str, int]) -> bool:
    if not all(atom.name in NAMES for one in (spread.larger, spread.smaller) for atom in one.atoms):
        return False
    bounds = proof.dimensions[spread.dimension].bounds if spread.dimension >= 0 else ()
    extent = _value(bounds[0].limit, sizes) if bounds else 1
    return abs(_value(spread.larger, sizes)) >= abs(_value(spread.smaller, sizes)) * extent


def _value(polynomial: IntegerPolynomial, sizes: Mapping[str, int]) -> int:
    return value_of(polynomial, sizes, NAMES)


@pytest.mark.parametrize("name", list(OWN))
def test_threads_are_free(module: Module, name: str) -> None:
    found = prove(module, name)
    assert found.refused is None
    assert _is_free(found, SIZES | OTHER.get(name, {})), described(found, NAMES)


@pytest.mark.parametrize("name", list(TOGETHER))
def test_threads_stay_together(module: Module, name: str) -> None:
    found = prove(module, name)
    assert found.refused is None
    assert not _is_free(found, SIZES), described(found, NAMES)


def test_divisors_are_asked_for(module: Module) -> None:
    """With 0, or a product that does not fit, registers hold something else."""
    found = prove(module, "below_xzy")
    assert _is_free(found, SIZES)
    assert not _is_free(found, SIZES | {"w": 0})
    assert not _is_free(found, SIZES | {"w": -5, "h": -4})
    product = prove(module, "above_zxy")
    assert _is_free(product, SIZES)
    assert not _is_free(product, SIZES | {"w": 1 << 20, "h": 1 << 13, "c": 1})


def test_unsigned_places_are_asked_to_fit(module: Module) -> None:
    """Two of them that are 2^32 apart are one."""
    found = prove(module, "unsigned_below")
    assert _is_free(found, SIZES)
    assert not _is_free(found, SIZES | {"w": 1 << 15, "h": 1 << 15, "c": 1 << 3})


M, K = (IntegerPolynomial.atom(PARAMETER, name) for name in "mk")
FOUR = IntegerPolynomial.constant(4)


@pytest.mark.parametrize(
    ("larger", "smaller", "dimension", "may"),
    [
        (FOUR, FOUR * M, 0, False),
        (FOUR, FOUR, 0, False),
        (FOUR, FOUR * M, -1, False),
        (FOUR, FOUR * M, 1, False),
        (FOUR * M, FOUR * M * K, 0, False),
        (FOUR * M, -FOUR * M * K, 0, False),
        (-FOUR * M, FOUR * M, 0, False),
        (FOUR * M, FOUR, 0, True),
        (FOUR * M, FOUR * K, 0, True),
        (FOUR * FOUR, FOUR, 0, True),
        (IntegerPolynomial.constant(4096), FOUR * M, 0, True),
        # One channel, and one thread in y, are common.
        (FOUR * M, FOUR * M * K, -1, True),
        (FOUR * M, FOUR * M, 1, True),
        # Differences may be anything.
        (FOUR * M - FOUR * K, FOUR * M, 0, True),
    ],
)
def test_conditions_that_never_hold(
    larger: IntegerPolynomial, smaller: IntegerPolynomial, dimension: int, may: bool
) -> None:
    assert can_hold(Spread(larger, smaller, dimension)) is may
