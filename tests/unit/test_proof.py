"""Verdicts on compiled code: each case is a kernel and what is proven of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from cutune.analysis.polynomial import PARAMETER, Atom, Polynomial, to_c
from cutune.emulator.ptx import Module
from cutune.emulator.ptx_parser import parse
from cutune.proof.entry import EntryProof, prove
from cutune.toolchain import find_nvcc

pytestmark = pytest.mark.nvcc

X = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
Y = "int j = blockIdx.y * blockDim.y + threadIdx.y;"
#: Before the kernels, which all get (float *a, float *b, int n, int m).
COMMON = """
struct Twice { float x, y; };
__device__ int counter;
__device__ __noinline__ float away(float x) { return x * 3; }
__device__ __noinline__ int who() { return threadIdx.x; }
__device__ __forceinline__ int id() { return blockIdx.x * blockDim.x + threadIdx.x; }
struct Reference { int &n; __device__ void grow() { n *= 2; } };
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
    # What is not proven.
    "raw_id": f"{X} if (i < n) a[i] = threadIdx.x;",
    "raw_in_call": f"{X} if (i < n) a[i] = who();",
    "raw_by_operator": f"{X} if (i < n && Twice() > n) a[i] = 1;",
    "constant_block": "int i = blockIdx.x * 256 + threadIdx.x; if (i < n) a[i] = 1;",
    "shared_memory": f"{X} __shared__ float s[32]; s[i % 32] = b[i]; a[i] = s[n];",
    "shared_by_attribute": f"{X} __attribute__ ((shared)) float s[32]; s[i % 32] = 1; a[i] = s[n];",
    "waits": f"{X} __syncthreads(); a[i] = 1;",
    "used_result": f"{X} if (i < n) a[i] = atomicAdd(&counter, 1);",
    "first_wins": f"{X} if (i < n) atomicCAS(&counter, 0, i);",
    "mixed_atomics": f"{X} if (i < n) {{ atomicAdd(&counter, i); atomicMax(&counter, i); }}",
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
    "raw_id": "x raw",
    "raw_in_call": "CT219",
    "raw_by_operator": "x raw",
    "constant_block": "x raw",
    "shared_memory": "CT211",
    "shared_by_attribute": "CT211",
    "waits": "CT212",
    "used_result": "CT216",
    "first_wins": "CT222",
    "mixed_atomics": "CT222",
    "asks_the_clock": "CT222",
    "volatile_memory": "CT222",
    "fenced": "CT222",
    "part_of_a_warp": "CT213",
}


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    kernels = "".join(
        f"__global__ void {name}(float *a, float *b, int n, int m) {{ {body} }}\n"
        for name, body in PURE.items()
    )
    path = tmp_path_factory.mktemp("proof") / "kernels.cu"
    path.write_text(COMMON + 'extern "C" {\n' + kernels + "}\n")
    return parse(find_nvcc().ptx(path))


def described(proof: EntryProof) -> str:
    """The verdict in few words; parameters by the names that all kernels give them."""
    if proof.refused is not None:
        return proof.refused.code.number
    said = []
    for name, dimension in zip("xyz", proof.dimensions, strict=True):
        if dimension.raw is not None:
            said.append(f"{name} raw")
        elif dimension.indexed:
            said += [f"{name} < {text(bound.limit)}" for bound in dimension.bounds] or [name]
    said += [f"stride {d}" for d, one in zip("xyz", proof.dimensions, strict=True) if one.grid_stride]
    if any(word.endswith("raw") for word in said):
        return "; ".join(said)
    said += ["warps"] if proof.needs_warps else []
    said += [f"meet {one[0]} {other[0]}" for one, other in proof.pointers]
    said += [
        f"apart {text(s.larger)} >= {text(s.smaller)} * {'xyz'[s.dimension]}" for s in proof.spreads
    ]
    return "; ".join(said)


def text(value: Polynomial) -> str:
    names = {"2:0:b32": "n", "3:0:b32": "m"}
    return to_c(
        Polynomial.of(
            {
                tuple(sorted(Atom(PARAMETER, names[atom.name]) for atom in monomial)): coefficient
                for monomial, coefficient in value.terms
            }
        )
    )


@pytest.mark.parametrize("name", list(PURE))
def test_verdict(module: Module, name: str) -> None:
    assert described(prove(module, name)) == EXPECTED[name]
