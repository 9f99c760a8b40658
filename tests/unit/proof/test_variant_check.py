"""Variants whose copies are compiled: which are proven, and what `inspect` says of them."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from cutune.cli.report.programs import print_programs, to_json
from cutune.core.codes import Code
from cutune.core.source import Source
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.entry_proof import EntryProof
from cutune.proof.variants import check, registry
from cutune.proof.variants.check import checked
from cutune.proof.variants.registry import AsWritten, SameCode, Transform
from cutune.proof.variants.text import Changes, KernelText
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import Program
from cutune.source.rewrite.pipeline import TranslationUnit
from cutune.toolchain.toolchain import Toolchain
from tests.support.analyzed import analyzed
from tests.support.cutune_runs import QUICK_FLAGS

pytestmark = pytest.mark.usefixtures("short_headers")

PROGRAM = """\
namespace ns {
template <class T, int N>
__global__ void __launch_bounds__(256) axpy(int n, T a, const T* x, T *const y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i] * N;
}
}
__global__ void gemm(int n, float *A, float *B, float *C)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i < n && j < n)
        for (int k = 0; k < n; k++) C[j * n + i] += A[j * n + k] * B[k * n + i];
}
struct Grid { int nx, ny; };
__global__ void columns(Grid grid, float *A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < grid.nx)
        for (int j = 0; j < grid.ny; j++) A[j * grid.nx + i] = B[j * grid.nx + i];
}
// Also a function of the mathematical library.
__global__ void norm(int n, float *A, float *B)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        A[i] = B[i];
}
int main()
{
    float *a, *b;
    int n = 16;
    cudaMalloc(&a, 4096);
    cudaMalloc(&b, 4096);
    ns::axpy<float, 3><<<(n + 31) / 32, 32>>>(n, 2.f, a, b);
    ns::axpy<float, 4><<<(n + 31) / 32, 32>>>(n, 2.f, a, b);
    gemm<<<dim3((n + 31) / 32, (n + 7) / 8), dim3(32, 8)>>>(n, a, a, b);
    columns<<<(n + 31) / 32, 32>>>(Grid{n, n}, a, b);
    norm<<<8, 32>>>(n, a, b);
}
"""
#: The copy of the first is launched above its definition, that of the last means another name.
TROUBLED = """\
__global__ void early(int n, float *A, float *B);
void run(int n, float *a, float *b) { early<<<(n + 31) / 32, 32>>>(n, a, b); }
__global__ void early(int n, float *A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[i] = B[i];
}
__global__ void good(int n, float *A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[i] = 2 * B[i];
}
#define JOIN(one, other) one##other
enum { JOIN(A__, restrict) };
__global__ void told(int n, float *A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[i + sizeof(JOIN(A__, restrict)) / 8 * threadIdx.x] = B[i];
}
int main()
{
    int n = 16;
    run(n, 0, 0);
    good<<<(n + 31) / 32, 32>>>(n, 0, 0);
    told<<<(n + 31) / 32, 32>>>(n, 0, 0);
}
"""


def loaded(folder: Path, text: str, rewrites_headers: bool = False) -> tuple[Analyzer, Program]:
    path = folder / "program.cu"
    path.write_text(text)
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS), rewrites_headers=rewrites_headers)
    return analyzer, analyzer.load(str(path), require_nvcc=True)


@pytest.mark.nvcc
def test_all_variants_of_a_program_are_proven_at_once(tmp_path: Path) -> None:
    analyzer, program = loaded(tmp_path, PROGRAM)
    runs = []

    def compile_unit(unit: TranslationUnit) -> list[str]:
        runs.append(unit)
        return analyzer.compiler.ptx(unit)

    after = checked(program, compile_unit)
    assert [kernel.variants for kernel in after.kernels] == [k.variants for k in program.kernels]
    found = {kernel.name: [one.name for one in kernel.variants] for kernel in after.kernels}
    several = ["restrict_x2", "restrict_x4", "restrict_vec4"]
    # Its loop, and its sums in memory, leave the others with one each.
    assert found.pop("axpy") == ["restrict", *several]
    assert set(map(tuple, found.values())) == {("restrict",)} and len(runs) == 2
    text = runs[0].rewritten().text
    # Where the kernel is launched, all of them are named: templates get the same arguments.
    names = [f"ns::axpy{name}<float, 3>" for name in ("__restrict", "__restrict_x2", "")]
    assert all(name in text for name in names)
    assert "<<<(n + 31) / 32, 32>>>(n, 2.f, a, b);" in text
    (kernel,) = (k for k in to_json([after])["kernels"] if k["kernel"] == "gemm")  # type: ignore[attr-defined]
    variant = kernel["variants"][0]
    assert variant["pointers"] == ["A", "B", "C"] and variant["written"] == ["C"]


@pytest.mark.nvcc
def test_a_copy_that_is_not_proven_is_dropped_alone(tmp_path: Path) -> None:
    analyzer, program = loaded(tmp_path, TROUBLED)
    assert [len(kernel.variants) for kernel in program.kernels] == [4, 4, 4]
    after = {k.name: k for k in checked(program, analyzer.compiler.ptx).kernels}
    assert len(after["good"].variants) == 4 and not after["good"].variant_reasons
    for name, words in (("early", "does not compile"), ("told", "is not proven in x")):
        assert not after[name].variants
        reason = dict(after[name].variant_reasons)["restrict"]
        assert reason.code is Code.VARIANT_UNPROVEN and words in reason.message


@pytest.mark.nvcc
def test_a_kernel_of_a_header_has_a_variant_where_it_is_launched_there(tmp_path: Path) -> None:
    kernel = PROGRAM[PROGRAM.index("__global__ void gemm") : PROGRAM.index("struct Grid")]
    (tmp_path / "gemm.cuh").write_text(kernel)
    launch = "int main() { gemm<<<dim3(1, 1), dim3(32, 8)>>>(16, 0, 0, 0); }\n"
    _, program = loaded(tmp_path, f'#include "gemm.cuh"\n{launch}')
    reason = dict(program.kernels[0].variant_reasons)["restrict"]
    assert (program.kernels[0].variants, reason.code) == ((), Code.VARIANT_HEADER)
    # Where headers may be rewritten for that alone, it has one.
    analyzer, program = loaded(tmp_path, f'#include "gemm.cuh"\n{launch}', rewrites_headers=True)
    after = checked(program, analyzer.compiler.ptx)
    assert [len(kernel.variants) for kernel in after.kernels] == [1]
    assert [header.path for header in after.rewritten_headers] == [str(tmp_path / "gemm.cuh")]
    # A header with a launch is rewritten anyway.
    (tmp_path / "gemm.cuh").write_text(f"{kernel}{launch.replace('int main', 'void start')}")
    analyzer, program = loaded(tmp_path, '#include "gemm.cuh"\nint main() { start(); }\n')
    after = checked(program, analyzer.compiler.ptx)
    assert [len(kernel.variants) for kernel in after.kernels] == [1]


def shortened(text: KernelText, proofs: Sequence[EntryProof]) -> Iterator[KernelVariant]:
    """A transform that is wrong: in its copies most threads do nothing."""
    name, changes = f"{text.kernel.name}__short", Changes(opening=" if (threadIdx.x > 5) return; ")
    edit = text.copy(name, changes)
    yield KernelVariant("short", name, text.syntax.source, edit, "short")


def restrictive(text: KernelText, proofs: Sequence[EntryProof]) -> Iterator[KernelVariant]:
    """One more that is wrong, whose launches ask about pointers."""
    for variant in shortened(text, proofs):
        yield replace(variant, pointers=(1, 2), written=(1,))


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("transform", "words"),
    [
        (Transform(shortened, SameCode()), "is compiled to other code"),
        (Transform(shortened, AsWritten()), "other pointers"),
        (Transform(restrictive, AsWritten()), "is not proven in x"),
    ],
)
def test_a_transform_keeps_only_what_its_step_proves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transform: Transform, words: str
) -> None:
    for module in (registry, check):
        monkeypatch.setattr(module, "TRANSFORMS", {"short": transform})
    analyzer, program = loaded(tmp_path, TROUBLED)
    assert [one.name for kernel in program.kernels for one in kernel.variants] == ["short"] * 3
    after = {k.name: k for k in checked(program, analyzer.compiler.ptx).kernels}
    assert not any(kernel.variants for kernel in after.values())
    assert words in dict(after["good"].variant_reasons)["short"].message


def test_no_transform_is_without_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError, match="step"):
        Transform(shortened)  # type: ignore[call-arg]
    nothing: Any = None
    monkeypatch.setattr(check, "TRANSFORMS", {"short": Transform(shortened, nothing)})
    with pytest.raises(AssertionError):
        checked(analyzed(Source("app.cu", "int main() {}")), lambda unit: [])


MADE_BY_A_MACRO = """\
#define KERNEL(name) __global__ void name(int n, float *A, float *B) \\
    { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) A[i] = B[i]; }
KERNEL(made)
typedef float *pointer;
__global__ void hidden(int n, pointer A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[i] = B[i];
}
__global__ void plain(int n, float *A, float *B)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) A[i] = B[i];
}
int main()
{
    made<<<1, 32>>>(16, 0, 0);
    hidden<<<1, 32>>>(16, 0, 0);
    plain<<<1, 32>>>(16, 0, 0);
}
"""


@pytest.mark.nvcc
def test_inspect_names_variants_and_reasons(tmp_path: Path) -> None:
    _, program = loaded(tmp_path, MADE_BY_A_MACRO)
    console = Console(file=io.StringIO(), width=80)
    print_programs([program], console)
    shown = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert "plain: variant restrict, restrict_x2, restrict_x4, restrict_vec4" in shown
    made, hidden = (
        next(line for line in shown if line.startswith(f"{name} has no variant 'restrict"))
        for name in ("made", "hidden")
    )
    assert "made by a macro" in made and made.endswith("[CT271]")
    assert "no pointer parameter" in hidden and hidden.endswith("[CT270]")


@pytest.mark.nvcc
def test_bounds_add_nothing_to_a_copy_that_is_refused() -> None:
    # With `__restrict__` the compiler fuses other products than in the kernel.
    path = Path(__file__).parents[3] / "benchmarks" / "judges" / "15" / "strain_rates.cu"
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS))
    program = analyzer.load(str(path), require_nvcc=True)
    (before,), (after,) = (program.kernels, checked(program, analyzer.compiler.ptx).kernels)
    offered, left = ({one.name for one in kernel.variants} for kernel in (before, after))
    assert {"restrict", "bounds256x2", "restrict_bounds256x2"} <= offered
    assert "bounds256x2" in left and not any("restrict" in name for name in left)
