"""Kernels that share a name, of namespaces or overloaded: each launch is that of one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.progress import Reporter
from cutune.model.fit.fitted_model import read_models
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program, Verdict
from cutune.toolchain.toolchain import Toolchain
from tests.support.cutune_runs import ARCHITECTURE, QUICK, QUICK_FLAGS, cutune
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

ID = "int i = blockIdx.x * blockDim.x + threadIdx.x;"
KERNELS = f"""\
#include <cstdio>
#include <cstdlib>
namespace a {{
__global__ void mean(float *m, const float *x, int n) {{ {ID} if (i < n) m[i] += x[i]; }}
void inside(float *m, int n) {{ mean<<<(n + 31) / 32, 32>>>(m, m + n, n); }}
}}
namespace b {{
__global__ void mean(float *m, int n) {{ // Depends on its block.
    __shared__ float s[64];
    {ID}
    s[threadIdx.x] = i < n ? m[i] : 0;
    __syncthreads();
    if (i < n) m[i] = s[(threadIdx.x + 1) % blockDim.x];
}}
namespace c {{
template <class T> __global__ void mean(T *m, int n) {{ {ID} if (i < n) m[i] *= 2; }}
}}
}}
namespace {{
__global__ void mean(float *m, int n, int k) {{ {ID} if (i < n) m[i] += k; }}
}}
namespace alias = b::c;
"""
LAUNCHES = """\
a::mean<<<(n + 31) / 32, 32>>>(m, x, n); // a::mean
b::mean<<<(n + 31) / 32, 32>>>(m, n); // CT211
b::c::mean<float><<<(n + 31) / 32, 32>>>(m, n); // b::c::mean
b::c::mean<<<(n + 31) / 32, 32>>>(m, n); // b::c::mean
alias::mean<float><<<(n + 31) / 32, 32>>>(m, n); // b::c::mean
mean<<<(n + 31) / 32, 32>>>(m, n, 3); // ::mean
::mean<<<(n + 31) / 32, 32>>>(m, n, 3); // ::mean
{ using a::mean; mean<<<(n + 31) / 32, 32>>>(m, x, n); } // a::mean
a::mean<<<1, 32>>>(m, x, 9); b::c::mean<float><<<1, 32>>>(m, 9); // a::mean b::c::mean
mean<<<1, 32>>>(m, 9, 3); a::mean<<<1, 32>>>(m, x, 9); // CT209 a::mean
"""
MAIN = f"""\
int main(int, char **words) {{
    int n = atoi(words[1]);
    float *m, *x, last;
    cudaMalloc(&m, 2 * n * sizeof *m);
    cudaMemset(m, 0, 2 * n * sizeof *m);
    x = m + n;
    a::inside(m, n);
{LAUNCHES}
    cudaMemcpy(&last, m + n - 2, sizeof last, cudaMemcpyDeviceToHost);
    printf("%g\\n", last);
}}
"""


def loaded(path: Path, text: str) -> Program:
    """The program of a source."""
    path.write_text(text)
    analyzer = Analyzer(Toolchain(flags=QUICK_FLAGS), Reporter(lambda _: None))
    return analyzer.load(str(path), require_nvcc=True)


def test_a_launch_is_judged_by_the_kernel_that_it_calls(tmp_path: Path) -> None:
    program = loaded(tmp_path / "app.cu", KERNELS + MAIN)
    found = [s.code.number if s.code is not None else s.kernel for s in program.launches]
    expected = [word for line in LAUNCHES.splitlines() for word in line.partition("// ")[2].split()]
    assert found == ["a::mean", *expected]


@pytest.mark.long
def test_each_kernel_has_a_model_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, tuned = tmp_path / "app.cu", tmp_path / "app.tuned.cu"
    source.write_text(KERNELS + MAIN)
    run = ("--run", "./{program} {n}", "--vary", "n=3200,9600", *QUICK)
    told = cutune("tune", source, *run)
    assert "13 launches: 11 tuned, 2 refused" in told.stdout, told.stderr
    models = read_models(tmp_path / ".cutune" / "models.json")
    assert sorted(model.kernel.name for model in models) == ["::mean", "a::mean", "b::c::mean"]
    asked = cutune("select", "b::c::mean", "n=1000000", cwd=tmp_path)
    assert asked.stdout.startswith("b::c::mean<float>: block ")
    unknown = cutune("select", "mean", "n=1000000", cwd=tmp_path)
    assert "known: " in unknown.stderr and "a::mean" in unknown.stderr
    original = cutune("run", STANDARD, ARCHITECTURE, source, "1000000")
    monkeypatch.setenv("CUTUNE", "verbose")
    done = cutune("run", STANDARD, ARCHITECTURE, tuned, "1000000")
    assert done.stdout == original.stdout != ""
    for name, launches in (("a::mean", 3), ("b::c::mean", 3), ("::mean", 2)):
        assert done.stderr.count(f"cutune: {name}, 1000000 x 1 x 1 threads") == launches


def test_a_pragma_names_the_kernel_with_its_namespace(tmp_path: Path) -> None:
    pragma = "#pragma cutune kernel b::mean data(n) block(x: 32, 64) grid(ceil(n / x))\n"
    program = loaded(tmp_path / "app.cu", KERNELS + pragma + MAIN)
    asserted = {kernel.name: kernel.asserted for kernel in program.kernels}
    assert asserted == {"a::mean": (), "b::mean": ("x",), "b::c::mean": (), "::mean": ()}


def test_alike_kernels_keep_their_name(tmp_path: Path) -> None:
    """So they have variants, too."""
    one = f"{{ __global__ void twice(float *m, int n) {{ {ID} if (i < n) m[i] *= 2; }} }}\n"
    launches = "void go(float *m) { a::twice<<<1, 32>>>(m, 9);\n b::twice<<<1, 32>>>(m, 9); }\n"
    program = loaded(tmp_path / "app.cu", f"namespace a {one}namespace b {one}{launches}")
    assert [site.kernel for site in program.tunable_launches] == ["twice", "twice"]


ONE = f"""\
#include <cstdlib>
namespace {{ __global__ void step(float *m, int n) {{ {ID} if (i < n) m[i] += 1; }} }}
void other(float *m, int n);
int main(int, char **words) {{
    int n = atoi(words[1]);
    float *m;
    cudaMalloc(&m, n * sizeof *m);
    step<<<(n + 31) / 32, 32>>>(m, n);
    other(m, n);
}}
"""
TWO = f"""\
namespace {{ __global__ void step(int n, float *m) {{ {ID} if (i < n) m[i] *= 3; }} }}
namespace deep {{ __global__ void step(float *m, int k, int n) {{ {ID} if (i < n) m[i] -= k; }} }}
void other(float *m, int n) {{
    step<<<(n + 31) / 32, 32>>>(n, m);
    deep::step<<<(n + 31) / 32, 32>>>(m, 3, n);
}}
"""


@pytest.mark.long
def test_each_source_has_kernels_of_its_own(tmp_path: Path) -> None:
    one, two = tmp_path / "one.cu", tmp_path / "two.cu"
    one.write_text(ONE)
    two.write_text(TWO)
    run = ("--run", "./{program} {n}", "--vary", "n=3200,9600", *QUICK)
    told = cutune("tune", one, two, *run, cwd=tmp_path)
    assert "3 launches: 3 tuned" in told.stdout, told.stderr
    lines = [line.split() for line in told.stdout.splitlines() if line.endswith(" tuned")]
    assert [words[1] for words in lines if len(words) == 3] == ["step", "::step", "deep::step"]


OVERLOADS = f"""\
#include <cstdio>
#include <cstdlib>
typedef float real;
struct pair {{ int from, count; }};
#define SWAPPED(TYPES) /* Depends on its block. */ \\
    __shared__ float s[64]; {ID} \\
    s[threadIdx.x] = i < n ? m[i] : 0; \\
    __syncthreads(); \\
    if (i < n) m[i] = s[(threadIdx.x + 1) % blockDim.x];
__global__ void step(float *m, const float *x, int n) {{ {ID} if (i < n) m[i] += x[i]; }}
__global__ void step(float *m, int n) {{ SWAPPED() }}
template <class T> __global__ void step(T *m, int n, int k, int j) {{ {ID} if (i < n) m[i] *= k; }}
__global__ void blur(const real *x, real *m, int n) {{ {ID} if (i < n) m[i] += x[i]; }}
__global__ void blur(float *m, int n, pair p) {{ SWAPPED() }}
__global__ void blur(double *m, pair p, float k) {{ {ID} if (i < p.count) m[i] *= k; }}
namespace b {{
__global__ void step(float *m, size_t n) {{ {ID} if (i < n) m[i] += 3; }}
__global__ void step(float *m, int n) {{ SWAPPED() }}
}}
// What tells these apart are their lines.
__global__ void tell(float *m, long n) {{ {ID} if (i < n) m[i] += 3; }}
__global__ void tell(float *m, long long n) {{ SWAPPED() }}
template <class T> __global__ void tail(T *m, int n) {{ {ID} if (i < n) m[i] += 3; }}
template <int K> __global__ void tail(float *m, int n) {{ SWAPPED() }}
template <class T> void any(T n, float *m) {{ b::step<<<(n + 31) / 32, 32>>>(m, n); }}
"""
OVERLOADED = """\
step<<<(n + 31) / 32, 32>>>(m, x, n); // ::step(float *, const float *, int)
step<<<(n + 31) / 32, 32>>>(m, n); // CT211
step<<<(n + 31) / 32, 32>>>(m, n, 3, n); // ::step(T *, int, int, int)
step<float><<<(n + 31) / 32, 32>>>(m, n, 3, 4); // ::step(T *, int, int, int)
blur<<<(n + 31) / 32, 32>>>(x, m, n); // ::blur(const real *, real *, int)
blur<<<(n + 31) / 32, 32>>>(m, n, p); // CT211
blur<<<(n + 31) / 32, 32>>>((double *)m, p, 2.0f); // ::blur(double *, pair, float)
b::step<<<(n + 31) / 32, 32>>>(m, (size_t)n); // b::step(float *, size_t)
b::step<<<(n + 31) / 32, 32>>>(m, n); // CT211
step<<<(n + 31) / 32, 32>>>(m, x, n); step<<<(n + 31) / 32, 32>>>(m, n); // CT209 CT209
tell<<<(n + 31) / 32, 32>>>(m, (long)n); // ::tell(float *, long)
tail<<<(n + 31) / 32, 32>>>(m, n); // ::tail(T *, int)
tail<3><<<(n + 31) / 32, 32>>>(m, n); // CT211
any(n, m); any((size_t)n, m);
"""
OVERLOADED_MAIN = MAIN.replace("a::inside(m, n);", "pair p{0, n / 2};").replace(
    LAUNCHES, OVERLOADED
)


def test_a_launch_is_judged_by_the_overload_that_it_calls(tmp_path: Path) -> None:
    program = loaded(tmp_path / "app.cu", OVERLOADS + OVERLOADED_MAIN)
    found = [s.code.number if s.code is not None else s.kernel for s in program.launches]
    expected = [
        word.removesuffix(";")
        for line in OVERLOADED.splitlines()
        if (said := line.partition("// ")[2])
        for word in (said.split() if said.startswith("CT") else [said])
    ]
    # The first one is a template in which either may be called.
    assert found == ["CT209", *expected]


#: Mangled, the names of structures and their tags: `1d` and `d` (double), `4Cell`, `PrP4mode`.
OF_TYPES = f"""\
struct d {{ float v; }};
typedef struct Cell {{ int v; }} cell;
enum mode {{ OFF, ON }};
#define KEEPS {{ {ID} if (i < n) m[i].v = 1; }}
__global__ void fill(d *m, int n) KEEPS
__global__ void fill(double *m, int n) {{ {ID} m[i] = blockDim.x; }}
__global__ void mark(cell *m, int n) KEEPS
__global__ void mark(mode *m, int n) {{ {ID} m[i] = mode(blockDim.x); }}
__global__ void lead(mode *__restrict__ *m) {{ {ID} m[i] = nullptr; }}
__global__ void lead(mode *m) {{ {ID} m[i] = mode(blockDim.x); }}
int main() {{
    d *a; double *b; cell *c; mode *e, **f; int n = 1000;
    fill<<<(n + 31) / 32, 32>>>(a, n);
    fill<<<(n + 31) / 32, 32>>>(b, n);
    mark<<<(n + 31) / 32, 32>>>(c, n);
    mark<<<(n + 31) / 32, 32>>>(e, n);
    lead<<<4, 32>>>(f);
    lead<<<4, 32>>>(e);
}}
"""


def test_overloads_are_told_apart_by_the_names_that_types_have_in_compiled_code(
    tmp_path: Path,
) -> None:
    program = loaded(tmp_path / "app.cu", OF_TYPES)
    kernels = [site.kernel for site in program.launches]
    assert kernels[:2] == ["::fill(d *, int)", "::fill(double *, int)"]
    # An enumeration may have any name: their lines tell these.
    assert kernels[2:4] == ["::mark(cell *, int)", "::mark(mode *, int)"]
    assert kernels[4:] == ["::lead(mode * __restrict__ *)", "::lead(mode *)"]
    is_tunable = [site.verdict is Verdict.TUNABLE for site in program.launches]
    assert is_tunable == [True, False, True, False, True, False]


ON_ONE_LINE = f"""\
enum mode {{ OFF, ON }}; enum kind {{ A, B }};
#define SAME(type, value) __global__ void both(type *m) {{ {ID} m[i] = type(value); }}
SAME(mode, 1) SAME(kind, blockDim.x)
int main() {{
    mode *a; kind *b;
    both<<<4, 32>>>(a);
    both<<<4, 32>>>(b);
}}
"""


def test_overloads_that_share_a_line_stay_one(tmp_path: Path) -> None:
    program = loaded(tmp_path / "app.cu", ON_ONE_LINE)
    found = [(site.kernel, site.verdict is Verdict.TUNABLE) for site in program.launches]
    assert found == [("both", False)] * 2


@pytest.mark.long
def test_each_overload_has_a_model_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, tuned = tmp_path / "app.cu", tmp_path / "app.tuned.cu"
    source.write_text(OVERLOADS + OVERLOADED_MAIN)
    run = ("--run", "./{program} {n}", "--vary", "n=3200,9600", *QUICK)
    told = cutune("tune", source, *run)
    assert "15 launches: 8 tuned, 7 refused" in told.stdout, told.stderr
    models = {model.kernel.name for model in read_models(tmp_path / ".cutune" / "models.json")}
    assert models == {line.partition("// ")[2] for line in OVERLOADED.splitlines()} - {
        *("", "CT209", "CT211", "CT209 CT209")
    }
    original = cutune("run", STANDARD, ARCHITECTURE, source, "1000000")
    monkeypatch.setenv("CUTUNE", "verbose")
    done = cutune("run", STANDARD, ARCHITECTURE, tuned, "1000000")
    assert done.stdout == original.stdout != ""
    assert done.stderr.count("cutune: ::step(T *, int, int, int), 1000000 x 1 x 1 threads") == 2
    assert done.stderr.count("cutune: ::blur(double *, pair, float), 500000 x 1 x 1 threads") == 1


def test_a_pragma_names_an_overload_with_its_types(tmp_path: Path) -> None:
    clauses = "data(n) block(x: 32, 64) grid(ceil(n / x))"
    named = ("::step(float*, int)", "b::step")
    pragmas = "".join(f"#pragma cutune kernel {name} {clauses}\n" for name in named)
    program = loaded(tmp_path / "app.cu", OVERLOADS + pragmas + OVERLOADED_MAIN)
    asserted = {kernel.name for kernel in program.kernels if kernel.asserted}
    assert asserted == {"::step(float *, int)", "b::step(float *, int)"}
