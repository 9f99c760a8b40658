"""Blocks that share rows by proof: any of their sizes gives the same; what could differ stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.emulator.launch_log import read_launches
from cutune.emulator.program_builds import build
from cutune.model.emit.programs import random_program
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.rewrite.output import Target
from tests.support.cutune_runs import QUICK, cutune, run, select

pytestmark = pytest.mark.nvcc

#: Each kernel is launched as `KERNEL<<<9, 64>>>(a, b, n, m, c)`.
KERNELS = {
    "plain": "ROW a[r * n + j] = b[r * n + j] * 2;",
    "waiting": "ROW a[r * n + j] = b[j]; __syncthreads(); ROW a[r * n + j] += 1;",
    "striding": "for (int i = r; i < m; i += gridDim.x) ROW a[i * n + j] = b[j] * i;",
    "deciding": "if (r >= m) return; ROW { if (b[j] < 0) continue; a[r * n + j] = b[j]; }",
    "summing": "ROW { int s = 0; for (int k = 0; k < j; ++k) s += b[k]; a[r * n + j] = s; }",
    "counting": "ROW if (b[j] > 0) atomicAdd(c + r, 1); if (threadIdx.x == 0) a[r] = n;",
    "columns": "ROW a[j * m + r] = b[j];",
    "mirrored": (
        "ROW a[r * n + j] = b[j]; __syncthreads(); ROW c[r * n + j] = a[r * n + n - 1 - j];"
    ),
    "by_table": (
        "__shared__ int s[70]; for (int j = threadIdx.x; j < 70; j += blockDim.x) s[j] = b[j];"
        " __syncthreads(); ROW { int k = b[j]; a[r * n + j] = s[(k % 70 + 70) % 70]; }"
    ),
    "tile_by_tile": (
        "__shared__ int s[32]; for (int k = 0; k < 9; ++k) {"
        " for (int j = threadIdx.x; j < 32; j += blockDim.x) s[j] = b[k * 32 + j];"
        " __syncthreads(); ROW a[r * n + j] += s[j % 32u] * k; __syncthreads(); }"
    ),
    "shared_sums": (
        "__shared__ int s[16]; for (int j = threadIdx.x; j < 16; j += blockDim.x) s[j] = 0;"
        " __syncthreads(); ROW atomicAdd(s + b[j] % 16u, j); __syncthreads();"
        " for (int j = threadIdx.x; j < 16; j += blockDim.x) c[r * 16 + j] = s[j];"
    ),
    "by_first": (
        "__shared__ int s; if (threadIdx.x == 0) s = b[r]; __syncthreads(); ROW a[r * n + j] = s;"
    ),
    "launched": (
        "extern __shared__ int row[]; ROW row[j] = b[j]; __syncthreads();"
        " ROW a[r * n + j] = row[n - 1 - j];"
    ),
    "in_twos": (
        "for (int j = 2 * threadIdx.x; j < n; j += 2 * blockDim.x)"
        " { a[r * n + j] = j; if (j + 1 < n) a[r * n + j + 1] = b[j]; }"
    ),
    "of_a_length": "const int e = b[r] & 127; ROWS(0, e) a[r * n + j] = b[j];",
    "of_loaded_ends": (
        "ROWS(b[r] & 15, (b[r + 1] & 63) + (r & 1) * n) atomicAdd(a + j, b[j] + r);"
    ),
    "up_to_the_rest": (
        "const int e = b[r] & 31; ROWS(0, e) a[r * n + j] = b[j]; ROWS(e, n) a[r * n + j] = -r;"
    ),
    "loading_again": "ROWS(b[r] & 7, b[r + 9]) { a[r * n + j] = j; c[r * n + j] = b[j]; }",
    "of_a_part": "const int s = r * m, e = s + m < n ? s + m : n; ROWS(s, e) a[j] = b[j] * r;",
    "carrying": "int s = 0; ROW { s += b[j]; a[r * n + j] = s; }",
}
HEAD = """
#include <cstdio>
#include <cstdlib>
#define ROW for (int j = threadIdx.x; j < n; j += blockDim.x)
#define ROWS(begin, end) for (int j = (begin) + threadIdx.x; j < (end); j += blockDim.x)
"""
MAIN = """
enum { COUNT = 1 << 18 };
static int *a, *b, *c, host[COUNT];
void show(const char *name) {
    unsigned sum = 0;
    for (int *from : {a, c}) {
        cudaMemcpy(host, from, sizeof host, cudaMemcpyDeviceToHost);
        for (int value : host) sum = sum * 31 + value;
        cudaMemset(from, 0, sizeof host);
    }
    printf("%s %u %s\\n", name, sum, cudaGetErrorName(cudaGetLastError()));
}
int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 100, m = 60;
    for (int **array : {&a, &b, &c}) cudaMalloc(array, sizeof host);
    for (int i = 0; i < COUNT; ++i) host[i] = i * 53 % 97 - 40;
    cudaMemcpy(b, host, sizeof host, cudaMemcpyHostToDevice);
    cudaMemset(a, 0, sizeof host);
    cudaMemset(c, 0, sizeof host);
"""
STAYING = {
    "shifted": "plain<<<9, 64>>>(b + 1, b, n, m, c);",
    "two in y": "plain<<<9, dim3(64, 2)>>>(a, b, n, m, c);",
    "negative": "plain<<<9, 64>>>(a, b, -n, m, c);",
    "no columns": "columns<<<1, 64>>>(a, b, n, 0, c);",
    "not proven": "carrying<<<9, 64>>>(a, b, n, m, c);",
}


def _program() -> str:
    parameters = "int *a, const int *b, int n, int m, int *c"
    kernels = "".join(
        f"__global__ void {name}({parameters}) {{ int r = blockIdx.x; {body} }}\n"
        for name, body in KERNELS.items()
    )
    launches = {name: f"{name}<<<9, 64>>>(a, b, n, m, c);" for name in KERNELS}
    launches["launched"] = "launched<<<9, 64, n * sizeof(int)>>>(a, b, n, m, c);"
    calls = "".join(f'{call} show("{name}");\n' for name, call in (*launches.items(), *_staying()))
    return f"{HEAD}{kernels}{MAIN}{calls}}}\n"


def _staying() -> list[tuple[str, str]]:
    return list(STAYING.items())


@pytest.mark.long
def test_any_block_gives_the_same(tmp_path: Path) -> None:
    path = tmp_path / "rows.cu"
    path.write_text(_program())
    analyzer = Analyzer()
    program = analyzer.load(str(path), require_nvcc=True)
    refused = [site.kernel for site in program.launches if site not in program.tunable_launches]
    assert refused == ["carrying", "carrying"]
    source = random_program(analyzer, program, 1, Target(tmp_path / "random.cu"))
    binary = build(
        analyzer.toolchain, source, analyzer.toolchain.compile_flags(str(path)), tmp_path / "random"
    )
    log, expected = tmp_path / "log", run(binary, CUTUNE="off").stdout
    assert expected.count("cudaSuccess") == len(KERNELS) + len(STAYING)
    widths: list[set[int]] = [set() for _ in (*KERNELS, *STAYING)]
    for seed in range(8):
        log.unlink(missing_ok=True)
        found = run(binary, CUTUNE_SEED=str(seed), CUTUNE_LAUNCH_LOG=str(log))
        assert found.stdout == expected
        for known, launch in zip(widths, read_launches(log), strict=True):
            assert launch.grid in ((9, 1, 1), (1, 1, 1))
            known.add(launch.block[0])
    changed = dict(zip((*KERNELS, *STAYING), (known != {64} for known in widths), strict=True))
    assert changed == {
        name: name in KERNELS and name != "carrying" for name in (*KERNELS, *STAYING)
    }


def test_rows_are_tuned(tmp_path: Path) -> None:
    source = tmp_path / "plain.cu"
    kernel = f"int r = blockIdx.x; {KERNELS['plain']}"
    source.write_text(
        f"{HEAD}__global__ void plain(int *a, const int *b, int n) {{ {kernel} }}\n"
        "int main(int, char **argv) {\n"
        "    int n = atoi(argv[1]), rows = atoi(argv[2]), *a, *b;\n"
        "    cudaMalloc(&a, 4 * n * rows);\n    cudaMalloc(&b, 4 * n * rows);\n"
        "    cudaMemset(b, 1, 4 * n * rows);\n"
        "    plain<<<rows, 256>>>(a, b, n);\n"
        "    return cudaDeviceSynchronize();\n}\n"
    )
    sizes = ("--vary", "n=128,256", "--vary", "rows=24,48")
    done = cutune(
        "tune", source, "--run", "./{program} {n} {rows}", *sizes, "--device", "h200", *QUICK
    )
    assert done.returncode == 0, done.stderr
    answer = select("plain", tmp_path / ".cutune", "n=4096", "G.x=512")
    assert answer["choice"]["grid"] == [512, 1, 1]
    assert answer["choice"]["block"][0] % 32 == 0
