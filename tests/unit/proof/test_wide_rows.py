"""Threads that all pass a comparison of threadIdx.x with a size, where the launch is asked so."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.proof.entry import prove
from cutune.proof.values.launch_conditions import Spread
from cutune.proof.values.polynomial import PARAMETER, Atom, IntegerPolynomial
from cutune.ptx.types import Module
from tests.support.proof_verdicts import NAMES, compiled, described

pytestmark = pytest.mark.nvcc

COMMON = """
#define T threadIdx.x
#define ID int i = blockIdx.x * blockDim.x + T;
#define W int w = blockIdx.x * (blockDim.x / 32) + T / 32, l = T % 32;
#define SUM float s = b[w * m + l]; for (int o = 16; o; o /= 2) \\
    s += __shfl_xor_sync(~0u, s, o); if (l == 0) a[w] = s;
"""
PROVEN: Mapping[str, tuple[str, tuple[str, bool]]] = {
    "returns": ("if (T >= m) return; ID if (i < n) a[i] = b[i];", ("x < n", False)),
    "within": ("ID if (T < m && i < n) a[i] = b[i];", ("x < n", False)),
    "up_to": ("if (T > m - 1) return; ID if (i < n) a[i] = b[i];", ("x < n", False)),
    "unsigned_size": ("if (T >= (unsigned)m) return; ID if (i < n) a[i] = b[i];", ("x < n", False)),
    "otherwise": (
        "ID if (i < n) { if (T < m) a[i] = b[i]; else a[i] = b[i] + 1; }",
        ("x < n", False),
    ),
    "of_warps": ("if (T >= m) return; W if (w < n) { SUM }", ("x < 32 * n", True)),
}
HOSTILE: Mapping[str, str] = {
    "own_place": "if (T < m) a[T] = b[T];",
    "another_size": "if (T >= b[0]) return; ID if (i < n) a[i] = b[i];",
    "product": "if (T >= m * n) return; ID if (i < n) a[i] = b[i];",
    "next": "if (T + 1 >= m) return; ID if (i < n) a[i] = b[i];",
    "block": "if (blockIdx.x < m) return; ID if (i < n) a[i] = b[i];",
    "least": "ID if (T >= m && i < n) a[i] = T;",
    "as_value": "ID if (i < n) a[i] = T < m ? 1 : blockDim.x;",
    "row": "ID if (i < n) for (int j = T; j < m; ++j) a[i] += b[j];",
}


@pytest.fixture(scope="module")
def module() -> Module:
    bodies = {**{name: body for name, (body, _) in PROVEN.items()}, **HOSTILE}
    return compiled(bodies, COMMON)


@pytest.mark.parametrize("name", list(PROVEN))
def test_sizes_are_asked_to_be_as_large_as_blocks(module: Module, name: str) -> None:
    proof = prove(module, name)
    ids, *_ = described(proof, NAMES).split("; ")
    assert (ids, proof.needs_warps) == PROVEN[name][1]
    assert proof.must_hold
    size = IntegerPolynomial.of({(Atom(PARAMETER, "3:0:b32"),): 1})
    far, most = (IntegerPolynomial.constant(1 << bits) for bits in (61, 30))
    asked = {Spread(far, size - 1024 - far, -1), Spread(most, size, -1)}
    assert asked <= {*proof.spreads}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_no_other_comparison_is_asked(module: Module, name: str) -> None:
    proof = prove(module, name)
    assert not proof.is_tunable
    assert not proof.must_hold
