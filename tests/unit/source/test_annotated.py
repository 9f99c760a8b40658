"""Annotations applied to kernels; what they cannot do is in tests/golden/inspect."""

from __future__ import annotations

import pytest

from cutune.core.source import Source
from cutune.source.program import Kernel, Program, Role
from cutune.space.annotation import Values
from tests.support.analyzed import analyzed

KERNEL = """
__global__ void k(int n, int m, unsigned long long wide, float *a) {
    __shared__ float tile[1024];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    tile[threadIdx.x] = a[i];
    __syncthreads();
    if (i < n) a[i] = tile[threadIdx.x] + m;
}
void run(int n, float *a) { k<<<n, 256>>>(n, n, n, a); }
"""


def program(annotations: str) -> Program:
    return analyzed(Source("a.cu", annotations + KERNEL))


def kernel(clauses: str) -> Kernel:
    found = program(f"#pragma cutune kernel k {clauses}\n")
    assert found.diagnostics == ()
    return found.kernels[0]


@pytest.mark.parametrize(
    ("grid", "guard"),
    [
        ("ceil(n / x)", "n"),
        ("ceil((n - 2) * m / x)", "((n - 2) * m)"),
        ("ceil(n / 4 / x)", "(n / 4)"),
        ("ceil(ceil(n / 4) / x)", "((n + 4 - 1) / 4)"),
        ("ceil(min(n, m) / x)", "(n < m ? n : m)"),
        ("n / x", None),
    ],
)
def test_grid(grid: str, guard: str | None) -> None:
    found = kernel(f"grid({grid})")
    assert found.pure_dimensions == found.asserted == ("x",)
    assert found.dimensions[0].guard == guard


def test_the_grid_is_kept() -> None:
    found = kernel("block(x: 32..256) grid(keep)")
    assert found.pure_dimensions == found.asserted == ("x",)
    assert found.dimensions[0].grid_kept and found.dimensions[0].guard is None
    # A kernel that is proven, too: what is said is more than that.
    text = "__global__ void k(int n, int *a) { a[blockIdx.x * blockDim.x + threadIdx.x] = n; }\n"
    found = analyzed(Source("a.cu", f"#pragma cutune kernel k grid(keep)\n{text}")).kernels[0]
    assert found.asserted == ("x",)


@pytest.mark.parametrize("rows", ["keep", "ceil(m / y)", "m", "1"])
def test_dimensions_that_block_does_not_name_keep_their_blocks(rows: str) -> None:
    found = kernel(f"block(x: 32, 64) grid(ceil(n / x), {rows})")
    assert found.asserted == ("x",)
    assert found.pure_dimensions == ("x",)


def test_warp_level_code_hides_nothing_that_stays_refused() -> None:
    body = "int i = threadIdx.x; a[i] = __shfl_xor_sync(-1, i, 1); a[atomicAdd(a, n)] = 1;"
    text = f"__global__ void k(int n, int *a) {{ {body} }}\n"
    found = analyzed(Source("a.cu", f"#pragma cutune kernel k block(x: 32, 64)\n{text}"))
    assert [diagnostic.code.number for diagnostic in found.diagnostics] == ["CT248"]
    assert found.kernels[0].allowed is None


@pytest.mark.parametrize("bound", ["n / 0", "n / m", "n % m", "ceil(n / m)", "ceil(n, m)", "n < m"])
def test_bounds_that_cannot_be_computed_are_refused(bound: str) -> None:
    found = program(f"#pragma cutune kernel k grid(ceil(({bound}) / x))\n")
    assert found.diagnostics[0].code.number == "CT235"


def test_sizes() -> None:
    assert kernel("block(x: 32..64)").sizes == ("n", "m", "wide")
    assert kernel("data(m) block(x: 32..64)").sizes == ("m",)
    found = kernel("data(m) grid(ceil(n / x))")
    assert [(p.name, p.role) for p in found.data_parameters] == [
        ("n", Role.GUARD),
        ("m", Role.BOUND),
    ]


def test_several_pragmas_are_one_annotation() -> None:
    found = program(
        "#pragma kernel_info_size_param_idx_k = 1\n"
        "#pragma kernel_info_dim_k = 1\n"
        "#pragma cutune kernel k where(x >= 64) block(x: 32..128)\n"
    )
    assert found.diagnostics == () and found.tunable_launches
    annotated = found.kernels[0]
    assert annotated.sizes == ("m",)
    assert annotated.allowed is not None
    assert annotated.allowed.x == Values((), (32, 128)) and annotated.allowed.where == "x >= 64"


@pytest.mark.parametrize(
    ("clauses", "asserted"),
    [
        ("block(x: 32..64)", ()),
        ("grid(n / x)", ()),
        ("grid(ceil(n / x))", ()),
        ("grid(ceil(m / x))", ("x",)),
    ],
)
def test_only_what_goes_beyond_the_proof_is_asserted(
    clauses: str, asserted: tuple[str, ...]
) -> None:
    body = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = m;"
    text = f"__global__ void k(int n, int m, int *a) {{ {body} }}\n"
    found = analyzed(Source("a.cu", f"#pragma cutune kernel k {clauses}\n{text}"))
    assert found.kernels[0].asserted == asserted


def test_other_dimensions_are_kept() -> None:
    found = kernel("block(x: 32..64)")
    assert found.dimensions[1].impurity is not None


@pytest.mark.long
def test_deep_nesting_is_read() -> None:
    depth = 5000  # several times what Python's stack holds
    formula = "(" * depth + "n" + ")" * depth
    found = kernel(f"grid(ceil({formula} / x)) where({'-'.join('x' * depth)} < 0)")
    assert found.dimensions[0].guard == "n"
    assert found.allowed is not None and found.allowed.allows((32, 1, 1))


def test_long_numbers() -> None:
    found = program(f"#pragma cutune kernel k block(x: 1..{'9' * 5000})\n")
    assert found.diagnostics[0].code.number == "CT103"


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        ("4 * x", "(4 * x)"),
        ("1024", "1024"),
        ("4 * x * y + 16", "((4 * x * y) + 16)"),
        ("8 * max(x, 32)", "(8 * (x > 32 ? x : 32))"),
        ("4 * ceil(x / 32)", "(4 * ((x + 32 - 1) / 32))"),
    ],
)
def test_shared_memory(formula: str, text: str) -> None:
    assert kernel(f"block(x: 32..64) shared({formula})").shared == text


def test_shared_memory_may_be_the_same_for_every_block() -> None:
    found = kernel("block(x: 32..64) shared(keep)")
    assert (found.shared, found.keeps_shared) == (None, True)
    assert not kernel("block(x: 32..64) shared(4 * x)").keeps_shared


@pytest.mark.parametrize(
    "formula",
    [
        "keep + 4",
        "4 * n",
        "x / y",
        "x % 0",
        "999999999999999 * x",
        "16000000 * 16000000 * x * y * z",
    ],
)
def test_memory_that_cannot_be_computed_is_refused(formula: str) -> None:
    found = program(f"#pragma cutune kernel k block(x: 32..64) shared({formula})\n")
    assert "CT247" in [diagnostic.code.number for diagnostic in found.diagnostics]
    assert found.kernels[0].allowed is None
