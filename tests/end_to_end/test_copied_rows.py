"""Copies of kernels whose threads step through rows by a constant, or by an `int`."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from cutune.cli.report.programs import print_programs
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.analysis.suggestions import suggestions
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, cutune

pytestmark = pytest.mark.nvcc

#: Kernels of (float *out, const float *in, int n), and whether a launch may be tuned.
KERNELS = {
    "by_macro": ("for (int i = threadIdx.x; i < n; i += WIDTH) row[i] = in[i];", True),
    "by_number": ("int t = threadIdx.x; for (int i = t; i < n; i += 128) row[i] = in[i];", True),
    "by_fours": (
        "for (int i = 4 * threadIdx.x; i < n; i += WIDTH * 4)"
        " for (int k = 0; k < 4; ++k) if (i + k < n) row[i + k] = in[i + k] * in[k];",
        True,
    ),
    "by_int": (
        "int t = threadIdx.x, all = blockDim.x;"
        " for (int i = t; i < n; i += all) row[i] = in[i] * 2.5f + in[i + 1];",
        True,
    ),
    # The row's largest element, for which threads meet in an array that is called after the kernel.
    "by_most": (
        "__shared__ float most[1024]; int t = threadIdx.x, all = blockDim.x; float own = 0;"
        " for (int i = t; i < n; i += all) own = fmaxf(own, in[i]); most[t] = own;"
        " for (int k = all / 2; k > 0; k /= 2) { __syncthreads();"
        " if (t < k) most[t] = fmaxf(most[t], most[t + k]); } __syncthreads(); own = most[0];"
        " for (int i = t; i < n; i += all) row[i] = expf(in[i] - own) * own + in[i];",
        True,
    ),
    "by_most_without_waiting": (
        "__shared__ float most[1024]; int t = threadIdx.x, all = blockDim.x; float own = 0;"
        " for (int i = t; i < n; i += all) own = fmaxf(own, in[i]); most[t] = own;"
        " for (int k = all / 2; k > 0; k /= 2) { __syncthreads();"
        " if (t < k) most[t] = fmaxf(most[t], most[t + k]); } own = most[0];"
        " for (int i = t; i < n; i += all) row[i] = expf(in[i] - own) * own + in[i];",
        False,
    ),
    "by_total": (
        "__shared__ float part[1024]; int t = threadIdx.x, all = blockDim.x; float own = 0;"
        " for (int i = t; i < n; i += all) own += in[i]; part[t] = own;"
        " for (int k = all / 2; k > 0; k /= 2) { __syncthreads();"
        " if (t < k) part[t] += part[t + k]; } __syncthreads(); own = part[0];"
        " for (int i = t; i < n; i += all) row[i] = expf(in[i] - own) * own + in[i];",
        False,
    ),
    "by_table": (
        "__shared__ float table[300]; for (int i = threadIdx.x; i < 300; i += WIDTH) table[i] = i;"
        " __syncthreads(); for (int i = threadIdx.x; i < n; i += WIDTH) row[i]"
        " = table[i * 7 % 300];",
        True,
    ),
    "by_begin": (
        "const int i0 = (int)in[blockIdx.x]; for (int i = i0 + threadIdx.x; i < n; i += WIDTH)"
        " row[i] = in[i];",
        True,
    ),
    # What the constant is besides is a value.
    "by_width": (
        "__shared__ float table[WIDTH]; for (int i = threadIdx.x; i < WIDTH; i += WIDTH)"
        " table[i] = in[i]; __syncthreads(); row[threadIdx.x] = table[WIDTH - 1 - threadIdx.x];",
        False,
    ),
    "by_half": ("for (int i = threadIdx.x; i < n; i += WIDTH / 2) row[i] += in[i];", False),
    "by_sum": (
        "__shared__ float sums[WIDTH]; float sum = 0;"
        " for (int i = threadIdx.x; i < n; i += WIDTH) sum += in[i]; sums[threadIdx.x] = sum;"
        " __syncthreads(); for (int k = WIDTH / 2; k > 0; k /= 2) {"
        " if (threadIdx.x < k) sums[threadIdx.x] += sums[threadIdx.x + k]; __syncthreads(); }"
        " if (threadIdx.x == 0) row[0] = sums[0];",
        False,
    ),
    "by_race": (
        "__shared__ float table[300]; for (int i = threadIdx.x; i < 300; i += WIDTH) table[i] = i;"
        " for (int i = threadIdx.x; i < n; i += WIDTH) row[i] = table[i % 300];",
        False,
    ),
    "by_next": (
        "__shared__ float table[301]; for (int i = threadIdx.x; i < 301; i += WIDTH) table[i] = i;"
        " for (int i = threadIdx.x; i < 300; i += WIDTH) row[i] = table[i + 1];",
        False,
    ),
}
MAIN = """
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 1000;
    float *out, *in;
    cudaMallocManaged(&out, 9 * 2000 * sizeof(float));
    cudaMallocManaged(&in, 2000 * sizeof(float));
    for (int i = 0; i < 2000; ++i) in[i] = i * 37 % 101 * 0.37f;
    for (int i = 0; i < 9 * 2000; ++i) out[i] = 0;
"""


def _text() -> str:
    kernels = "".join(
        f"__global__ void {name}(float *out, const float *in, int n) {{\n"
        f"    float *row = out + blockIdx.x * 2000;\n    {body}\n}}\n"
        for name, (body, _) in KERNELS.items()
    )
    launches = "".join(f"    {name}<<<9, WIDTH>>>(out, in, n);\n" for name in KERNELS)
    return (
        "#include <cmath>\n#include <cstdio>\n#include <cstdlib>\n#define WIDTH 128\n"
        f"{kernels}{MAIN}{launches}"
        "    if (cudaDeviceSynchronize() != cudaSuccess) return 1;\n"
        "    unsigned sum = 0;\n"
        "    for (int i = 0; i < 9 * 2000; ++i) sum = 31 * sum + *(unsigned *)(out + i);\n"
        '    printf("%u\\n", sum);\n}\n'
    )


@pytest.mark.long
def test_a_row_is_any_blocks(tmp_path: Path) -> None:
    path = tmp_path / "rows.cu"
    path.write_text(_text())
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    found = {site.kernel: site.verdict.value == "tunable" for site in program.launches}
    assert found == {name: is_tunable for name, (_, is_tunable) in KERNELS.items()}
    copied = {kernel.name: kernel.copy.block for kernel in program.kernels if kernel.copy}
    assert copied["by_int"] == (0, 0, 0)
    assert copied["by_macro"] == (128, 0, 0)
    shaken = cutune(
        "shake", path, "--run", "{program} {n}", "--vary", "n=1,300,1900", "--seeds", 6, *QUICK
    )
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr


#: Kernels of (int *row, const int *in, int n, int width) that are launched with `width` threads.
OF_WIDTHS = {
    "reads": ("for (int i = threadIdx.x; i < n; i += width) row[i] = in[i] * 3;", True),
    "adds": (
        "__shared__ int sums[1024]; int sum = 0;"
        " for (int i = threadIdx.x; i < n; i += width) sum += in[i]; sums[threadIdx.x] = sum;"
        " __syncthreads(); for (int k = width / 2; k > 0; k /= 2) {"
        " if (threadIdx.x < k) sums[threadIdx.x] += sums[threadIdx.x + k]; __syncthreads(); }"
        " if (threadIdx.x == 0) row[0] = sums[0];",
        True,
    ),
    # What is read at an id of the argument is multiplied and added.
    "rounds": (
        "const int i = blockIdx.x * width + threadIdx.x;"
        " if (i < n) { const float x = in[i], y = in[n - i]; out[i] = (x * x + y * y) / 3; }",
        True,
    ),
    # A value that it has for a while alone.
    "halves": (
        "width = width / 2; for (int i = threadIdx.x; i < n; i += width) row[i] = 1;",
        False,
    ),
    "shifts": ("width >>= 1; for (int i = threadIdx.x; i < n; i += width) row[i] = 1;", False),
    "counts": ("--width; for (int i = threadIdx.x; i < n; i += width) row[i] = 1;", False),
    "refers": (
        "int &w = width; w /= 2; for (int i = threadIdx.x; i < n; i += width) row[i] = 1;",
        False,
    ),
    "declares": (
        "if (n > 3) { int width = 64; for (int i = threadIdx.x; i < n; i += width) row[i] = 1; }",
        False,
    ),
    "stores": ("for (int i = threadIdx.x; i < n; i += width) row[i] = width;", False),
    # A macro that is another number at each use.
    "draws": ("for (int i = threadIdx.x; i < n; i += width) row[i] = in[i] * 3;", False),
    # At one of its launches it is another number.
    "differs": ("for (int i = threadIdx.x; i < n; i += width) row[i] = in[i] * 3;", False),
    # It is changed between the configuration and the argument.
    "halved": ("for (int i = threadIdx.x; i < n; i += width) row[i] = in[i] * 3;", False),
    "doubled": ("for (int i = threadIdx.x; i < n; i += width) row[i] = in[i] * 3;", False),
}
LAUNCHED = {
    "draws": "draws<<<9, DRAWN>>>(out, in, n, DRAWN);",
    "halved": "halved<<<9, half>>>(out, in, halving(n, half), half);",
    "doubled": "doubled<<<(twice *= 2, 9), twice>>>(out, in, n, twice);",
}


@pytest.mark.long
def test_an_argument_that_is_the_width_of_the_block(tmp_path: Path) -> None:
    kernels = "".join(
        f"__global__ void {name}(int *out, const int *in, int n, int width) {{\n"
        f"    int *row = out + blockIdx.x * 2000;\n    {body}\n}}\n"
        for name, (body, _) in OF_WIDTHS.items()
    )
    launches = "\n".join(
        LAUNCHED.get(name, f"{name}<<<9, width>>>(out, in, n, width);") for name in OF_WIDTHS
    )
    path = tmp_path / "widths.cu"
    path.write_text(
        f"#include <cstdio>\n#include <cstdlib>\n#define DRAWN (seed++ % 2 * 64 + 64)\n{kernels}"
        "int halving(int n, int &width) { width /= 2; return n; }\n"
        "int main(int argc, char **argv) {\n"
        "    int n = argc > 1 ? atoi(argv[1]) : 1000, width = 128, other = 256, seed = 1;\n"
        "    int half = 128, twice = 128;\n"
        "    int *out, *in;\n"
        "    cudaMallocManaged(&out, 9 * 2000 * sizeof(int));\n"
        "    cudaMallocManaged(&in, 2000 * sizeof(int));\n"
        "    for (int i = 0; i < 2000; ++i) in[i] = i * 37 % 101;\n"
        "    for (int i = 0; i < 9 * 2000; ++i) out[i] = 0;\n"
        f"{launches}    differs<<<9, other>>>(out, in, n, width);\n"
        "    if (cudaDeviceSynchronize() != cudaSuccess) return 1;\n"
        "    unsigned sum = 0;\n"
        "    for (int i = 0; i < 9 * 2000; ++i) sum = 31 * sum + out[i];\n"
        '    printf("%u\\n", sum);\n}\n'
    )
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    found = {site.kernel: site.verdict.value == "tunable" for site in program.launches}
    assert found == {name: is_tunable for name, (_, is_tunable) in OF_WIDTHS.items()}
    copied = {kernel.name: kernel.copy.widths for kernel in program.kernels if kernel.copy}
    print_programs([program], Console(file=(shown := StringIO()), width=200))
    assert "copy that reads its block in place of an argument" in shown.getvalue()
    # Those of the last two are never launched.
    assert copied == dict.fromkeys(("reads", "adds", "rounds", "halved", "doubled"), (3,))
    shaken = cutune(
        "shake", path, "--run", "{program} {n}", "--vary", "n=300,1900", "--seeds", 6, *QUICK
    )
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr


#: Types of a variable, and of the parameter that it is passed as; is it the width of the block?
TYPES = {
    "alike": ("int", "int", True),
    "longer": ("int", "long", True),
    "shorter": ("size_t", "unsigned", True),
    # A block has 32 bits of it.
    "long_": ("long", "long", False),
    "any_": ("auto", "long", False),
}


def test_a_width_is_all_of_a_number(tmp_path: Path) -> None:
    kernels = "".join(
        f"__global__ void {name}(int *out, int n, {passed_as} width) {{\n"
        "    for (int i = threadIdx.x; i < n; i += width) out[blockIdx.x * n + i] = 2;\n}\n"
        for name, (_, passed_as, _) in TYPES.items()
    )
    launches = "".join(
        f"    {type_} w{name} = argc * 64 + (1l << 32);\n"
        f"    {name}<<<9, w{name}>>>(out, n, w{name});\n"
        for name, (type_, _, _) in TYPES.items()
    )
    path = tmp_path / "types.cu"
    path.write_text(
        f"{kernels}int main(int argc, char **argv) {{\n    int n = 999, *out;\n"
        f"    cudaMalloc(&out, 9 * 999 * sizeof(int));\n{launches}"
        "    return cudaDeviceSynchronize();\n}\n"
    )
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    found = {site.kernel: site.verdict.value == "tunable" for site in program.launches}
    assert found == {name: is_width for name, (_, _, is_width) in TYPES.items()}


#: What threads of (int *out, const int *in, int n) do with ids that a constant makes; each block
#: has SIZE threads, and adds `s`.
OF_IDS = {
    "tree": (
        "__shared__ int w[1024]; w[t] = s; __syncthreads(); for (int k = SIZE / 2; k > 0; k /= 2)"
        " { if (t < k) w[t] += w[t + k]; __syncthreads(); } if (t == 0) atomicAdd(out, w[0]);",
        True,
    ),
    "half_of_a_number": (
        "__shared__ int w[1024]; w[t] = s; __syncthreads(); for (int k = NUMBER / 2; k > 0; k /= 2)"
        " { if (t < k) w[t] += w[t + k]; __syncthreads(); } if (t == 0) atomicAdd(out, w[0]);",
        True,
    ),
    "two_of_each": (
        "__shared__ int w[32]; i += blockIdx.x * SIZE; s = 0; if (i < n) s = in[i];"
        " if (i + SIZE < n) s += in[i + SIZE]; SHUFFLE"
        " if (t % 32 == 0) w[t / 32] = s; __syncthreads();"
        " if (t == 0) { for (int k = 1; k < SIZE / 32; ++k) s += w[k]; atomicAdd(out, s); }",
        True,
    ),
    "two_unlike": (
        "__shared__ int w[32]; i += blockIdx.x * SIZE; s = 0; if (i < n) s = in[i];"
        " if (i + SIZE < n) s -= in[i + SIZE]; SHUFFLE"
        " if (t % 32 == 0) w[t / 32] = s; __syncthreads();"
        " if (t == 0) { for (int k = 1; k < SIZE / 32; ++k) s += w[k]; atomicAdd(out, s); }",
        False,
    ),
    "slots": (
        "__shared__ int w[32]; SHUFFLE if (t % 32 == 0) w[t / 32] = s; __syncthreads();"
        " if (t == 0) { for (int k = 1; k < SIZE / 32; ++k) s += w[k]; atomicAdd(out, s); }",
        True,
    ),
    # The size of an array stays: it has places for the warps of few blocks.
    "few_slots": (
        "__shared__ int w[SIZE / 8]; SHUFFLE if (t % 32 == 0) w[t / 32] = s; __syncthreads();"
        " if (t == 0) { for (int k = 1; k < SIZE / 32; ++k) s += w[k]; atomicAdd(out, s); }",
        True,
    ),
    "few_slots_left_over": (
        "__shared__ int w[SIZE / 8]; SHUFFLE if (t % 32 == 0) w[t / 32] = s; __syncthreads();"
        " if (t == 0) { for (int k = 1; k < SIZE / 64; ++k) s += w[k]; atomicAdd(out, s); }",
        False,
    ),
    "stored": (
        "__shared__ int w[32]; SHUFFLE if (t % 32 == 0) w[t / 32] = s; __syncthreads();"
        " if (t == 0) { for (int k = 1; k < SIZE / 32; ++k) s += w[k]; out[blockIdx.x] = s; }",
        False,
    ),
    "valued": ("SHUFFLE if (t % 32 == 0) atomicAdd(out, s * SIZE);", False),
}


@pytest.mark.long
@pytest.mark.parametrize("size", [32, 128])
def test_sums_of_ids_are_any_blocks(size: int, tmp_path: Path) -> None:
    path = tmp_path / "ids.cu"
    kernels = "".join(
        f"template <int SIZE> __global__ void {name}(int *out, const int *in, int n) {{\n"
        f"int t = threadIdx.x, i = blockIdx.x * SIZE + t, s = i < n ? in[i] : 0;\n"
        f"{body.replace('NUMBER', str(size))} }}\n"
        for name, (body, _) in OF_IDS.items()
    )
    launches = "".join(
        f"{k}<{size}><<<(n + {size - 1}) / {size}, {size}>>>(o, in, n);\n" for k in OF_IDS
    )
    path.write_text(
        "#include <cstdio>\n#include <cstdlib>\n#define SHUFFLE"
        " for (int k = 16; k; k /= 2) s += __shfl_xor_sync(~0u, s, k);\n"
        f"{kernels}int main(int argc, char **argv) {{ int n = atoi(argv[1]), *o, *in;\n"
        "cudaMallocManaged(&o, 8000); cudaMallocManaged(&in, 8000);\n"
        "for (int i = 0; i < 2000; ++i) in[i] = i * 37 % 101, o[i] = 0;\n"
        f"{launches}cudaDeviceSynchronize(); unsigned sum = 0;\n"
        'for (int i = 0; i < 2000; ++i) sum = 31 * sum + o[i];\nprintf("%u\\n", sum); }\n'
    )
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    found = {site.kernel: site.verdict.value == "tunable" for site in program.launches}
    known = {name: is_tunable for name, (_, is_tunable) in OF_IDS.items()}
    # Where all blocks are one warp, a warp adds what its block would.
    assert found == known | {"valued": size == 32}
    shaken = cutune("shake", path, "--run", "{program} 1999", "--seeds", 6, *QUICK)
    assert shaken.returncode == 0, shaken.stdout + shaken.stderr


NAMED = """
__global__ void scaled(float *out, const float *in, int n) {
    int t = threadIdx.x, all = blockDim.x;
    for (int i = t; i < n; i += all) out[blockIdx.x * n + i] = in[i] * 2.5f;
}
void NAME(float *out, const float *in, int n, int rows) { scaled<<<rows, 256>>>(out, in, n); }
"""


@pytest.mark.parametrize("name", ["scaled", "run"])
def test_a_kernel_may_have_the_name_of_another_function(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.cu"
    path.write_text(NAMED.replace("NAME", name))
    program = Analyzer(Toolchain(flags=QUICK_FLAGS)).load(str(path), require_nvcc=True)
    assert [site.verdict.value for site in program.launches] == ["tunable"]
    assert [*suggestions(program)] == []
