"""Guards of kernels whose threads do several ids each, or a part of them: what is proven of ids."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import prove
from cutune.proof.values.polynomial import PARAMETER, Atom, IntegerPolynomial, to_c
from cutune.ptx.types import Module
from tests.support.proof_verdicts import compiled

pytestmark = pytest.mark.nvcc

X = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
U = "unsigned i = blockIdx.x * blockDim.x + threadIdx.x;"
L = "long i = blockIdx.x * blockDim.x + threadIdx.x;"
#: All get (float *a, int n, int m, unsigned u, long l). Each bound as step, limit and conditions.
BOUNDED: Mapping[str, tuple[str, list[tuple[int, str, list[str]]]]] = {
    "eight_each": (f"{X} i *= 8; if (i < n) a[i] = 1;", [(8, "n", [])]),
    "eight_behind": (f"{X} if (i * 8 >= n) return; a[i] = 1;", [(8, "n", [])]),
    "four_that_fit": (f"{X} if (i * 4 + 3 < n) a[i] = 1;", [(4, "n - 3", [])]),
    "not_greater": (f"{X} if (i * 4 <= n - 4) a[i] = 1;", [(4, "n - 3", [])]),
    "four_unsigned": (f"{U} if (i * 4 < u) a[i] = 1;", [(4, "u", [])]),
    "four_of_long": (f"{L} if (i * 4 < l) a[i] = 1;", [(4, "l", [])]),
    "quarter": (f"{X} if (i < n / 4) a[i] = 1;", [(4, "n - 3", [])]),
    "quarter_unsigned": (f"{U} if (i < u / 4) a[i] = 1;", [(4, "u - 3", [])]),
    "quarter_of_long": (f"{L} if (i < l / 4) a[i] = 1;", [(4, "l - 3", [])]),
    "shifted": (f"{X} if (i < n >> 2) a[i] = 1;", [(4, "n - 3", [])]),
    "quarter_of_product": (f"{X} if (i < n * m / 4) a[i] = 1;", [(4, "m * n - 3", [])]),
    "rounded_up": (f"{X} if (i < (n + 3) / 4) a[i] = 1;", [(4, "n", [])]),
    "one_less": (f"{X} if (i < n / 4 - 1) a[i] = 1;", [(4, "n - 7", [])]),
    "one_more": (f"{X} if (i < n / 4 + 1) a[i] = 1;", [(4, "n + 1", ["n"])]),
    # What is below 0, and read as unsigned, is large.
    "half_and_more": (f"{U} if (i < (u - 3) / 2 + 5) a[i] = 1;", [(2, "u + 6", ["u - 3"])]),
}
UNBOUNDED: Mapping[str, str] = {
    "too_many_each": f"{X} if (i * 64 < n) a[i] = 1;",
    "of_product": f"{X} if (i * 8 < n * m) a[i] = 1;",
    "of_twice": f"{X} if (i * 8 < 2 * n) a[i] = 1;",
    "of_each": f"{X} if (i * m < n) a[i] = 1;",
    "behind_each": f"{X} if (i * 8 - 5 < n) a[i] = 1;",
    "below_none": f"{X} if (-8 * i < n) a[i] = 1;",
    "at_least": f"{X} if (i * 8 >= n) a[i] = 1;",
    "some": f"{X} if (i * 8 < n || i == 3) a[i] = 1;",
    "in_a_short": f"{X} if ((short)(i * 8) < n) a[i] = 1;",
    "rest": f"{X} if (i < n % 4) a[i] = 1;",
    "of_two": f"{X} if (i < n / m) a[i] = 1;",
    "third": f"{X} if (i < n / 3) a[i] = 1;",
    "in_memory": f"{X} if (i < (int)a[0] / 4) a[i] = 1;",
    "quarter_of_id": f"{X} if (i / 4 < n) a[i] = 1;",
    "half_of_sum": f"{X} if (i < (n + i) / 2) a[i] = 1;",
    "shifted_by": f"{X} if (i < n >> m) a[i] = 1;",
    # A product below 0, or beyond 2^31, is a large number here.
    "unsigned_of_product": f"{U} if (i < (unsigned)((int)(u * m) / 4)) a[i] = 1;",
    "shifted_of_product": f"{U} if (i < (unsigned)((int)(u * m) >> 2)) a[i] = 1;",
    "mirrored": f"{X} if (n / 4 < i) a[i] = 1;",
}
NAMES = {"1:0:b32": "n", "2:0:b32": "m", "3:0:b32": "u", "4:0:b64": "l"}


@pytest.fixture(scope="module")
def module() -> Module:
    bodies = {**{name: body for name, (body, _) in BOUNDED.items()}, **UNBOUNDED}
    return compiled(bodies, "", "float *a, int n, int m, unsigned u, long l")


def _bounds(module: Module, name: str) -> list[tuple[int, str, list[str]]]:
    found = prove(module, name)
    assert found.refused is None
    return [
        (bound.step, _text(bound.limit), [_text(condition) for condition in bound.conditions])
        for bound in found.dimensions[0].bounds
    ]


def _text(value: IntegerPolynomial) -> str:
    terms = {
        tuple(sorted(Atom(PARAMETER, NAMES[atom.name]) for atom in monomial)): coefficient
        for monomial, coefficient in value.terms
    }
    return to_c(IntegerPolynomial.of(terms))


@pytest.mark.parametrize("name", list(BOUNDED))
def test_ids_are_bounded(module: Module, name: str) -> None:
    assert _bounds(module, name) == BOUNDED[name][1]


@pytest.mark.parametrize("name", list(UNBOUNDED))
def test_nothing_is_known(module: Module, name: str) -> None:
    assert _bounds(module, name) == []
