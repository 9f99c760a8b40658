"""Variants of kernels that share a name, of templates, of headers: the copy of what is launched."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.progress import Reporter
from cutune.emulator.launch_log import read_launches
from cutune.proof.analysis.analyzer import Analyzer
from cutune.proof.variants.registry import with_only
from cutune.source.rewrite.edits import variants_at
from cutune.toolchain.kernel_names import base_name, canonical, renamed_entry
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from cutune.toolchain.toolchain import Toolchain
from tests.support.aliasing_programs import with_variant
from tests.support.cutune_runs import QUICK, QUICK_FLAGS, compiled, cutune, run
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

PROGRAM = Path(__file__).parents[1] / "corpus" / "programs" / "overloads.cu"


def launched(binary: Path) -> tuple[str, list[str]]:
    """What the program prints, and the entries that it launches."""
    log = binary.with_suffix(".log")
    done = run(binary, CUTUNE_LAUNCH_LOG=str(log))
    assert done.returncode == 0, done.stderr
    return done.stdout, [launch.kernel for launch in read_launches(log)]


@pytest.mark.long
def test_each_launch_has_the_copy_of_the_kernel_that_it_calls(tmp_path: Path) -> None:
    source = with_variant(PROGRAM, tmp_path, QUICK_FLAGS)
    original, expected = launched(compiled(PROGRAM, PROGRAM, tmp_path / "original"))
    tuned, found = launched(compiled(source, source, tmp_path / "varied"))
    assert tuned == original
    assert len(found) == len(expected) == 23
    for entry, copy in zip(expected, found, strict=True):
        name = base_name(entry)
        assert base_name(copy) in (f"{name}__restrict", f"{name}__x2")
        assert canonical(renamed_entry(copy, name)) == canonical(entry)


BODY = """{ int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) to[i] += from[i] + m; }"""
KEPT = f"""\
__global__ void fill(int n, float *to, const float *from, int m) {BODY}
namespace two {{ __global__ void fill(int n, float *to, const float *from, int m) {BODY} }}
namespace three {{
using two::fill;
// The copy that is found by its name is that of the other one.
void go(int n, float *a) {{ fill<<<1, 32>>>(n, a, a, 1); }}
}}
__global__ void late(int n, float *to, const float *from, int m);
// Here the copy is not known yet.
void above(int n, float *a) {{ late<<<1, 32>>>(n, a, a, 1); }}
__global__ void late(int n, float *to, const float *from, int m) {BODY}
__global__ void late(int n, double *to, const double *from, int m) {BODY}
__global__ void rest(int n, float *to, const float *from, int m = 1) {BODY}
__global__ void rest(int n, double *to, const double *from, int m = 1) {BODY}
namespace own {{
enum number {{ few = 1 }};
__global__ void near(int n, float *to, const float *from, number m) {BODY}
__global__ void near(int n, double *to, const double *from, number m) {BODY}
}}
void all(int n, float *a, own::number m) {{
    fill<<<1, 32>>>(n, a, a, 1); // varied
    two::fill<<<1, 32>>>(n, a, a, 1); // varied
    rest<<<1, 32>>>(n, a, a);
    rest<<<1, 32>>>(n, a, a, 1); // varied
    near<<<1, 32>>>(n, a, a, m);
    own::near<<<1, 32>>>(n, a, a, m); // varied
}}
"""


@pytest.mark.long
def test_a_launch_whose_copy_is_not_certain_keeps_the_kernel(tmp_path: Path) -> None:
    source = tmp_path / "kept.cu"
    source.write_text(KEPT)
    said: list[Diagnostic] = []
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS), Reporter(said.append))
    program = analyzer.with_checked_variants(analyzer.load(str(source), require_nvcc=True))
    lines = KEPT.splitlines()
    assert len(program.tunable_launches) == len(program.launches) == 8
    kept = []
    for site in program.launches:
        line = lines[site.source.location(site.span.start).line - 1]
        assert bool(variants_at(program, site)) == line.endswith("// varied"), line
        kept += [] if line.endswith("// varied") else [site.span]
    assert [one.span for one in said if one.code is Code.VARIANT_CALLEE] == kept
    # A launch that has no variant needs nothing behind its kernel.
    for sites in (program.launches, with_only(program, {"fill": ("restrict",)}).launches):
        named = {site.kernel for site in sites if site.by_arguments}
        assert named == ({"fill", "rest", "near"} if sites is program.launches else {"fill"})


MATHEMATICAL = """\
#include <cstdio>
#include <cmath>
__global__ void NAME(const float *from, float *to, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) to[i] = 2 * from[i];
}
int main() {
    float *a, b[2] = {3, 4};
    cudaMalloc(&a, sizeof b);
    cudaMemcpy(a, b, sizeof b, cudaMemcpyHostToDevice);
    NAME<<<1, 32>>>(a, a, 2);
    cudaMemcpy(b, a, sizeof b, cudaMemcpyDeviceToHost);
    printf("%g %g %g\\n", b[0], b[1], NAME(7.0, 4.0));
}
"""


@pytest.mark.long
@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_a_kernel_may_be_called_as_a_function_of_the_library(name: str, tmp_path: Path) -> None:
    source = tmp_path / "app.cu"
    source.write_text(MATHEMATICAL.replace("NAME", name))
    done = cutune("instrument", *QUICK, str(source), "-o", str(tmp_path / "app.changed.cu"))
    assert done.returncode == 0, done.stderr
    changed = tmp_path / "app.changed.cu"
    assert "cutune_repeated" in changed.read_text()
    options = (STANDARD, f"-I{INCLUDE_DIRECTORY}")
    binaries = [compiled(one, one, one.with_suffix(""), options) for one in (source, changed)]
    before, after = (run(binary).stdout for binary in binaries)
    assert before == after and before.startswith("6 8 ")
