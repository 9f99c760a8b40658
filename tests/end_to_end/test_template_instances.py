"""One launch in a host template that runs for several types: each type has a model of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.model.fit.fitted_model import read_models
from tests.support.cutune_runs import ARCHITECTURE, QUICK, cutune
from tests.support.short_headers import STANDARD

pytestmark = pytest.mark.nvcc

PROGRAM = """\
#include <cstdio>
#include <cstdlib>
template <class T> __global__ void scale(T *a, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] * 2 + 1;
}
struct point {  // A class, told apart by its size.
    double x, y;
    __device__ point operator*(int by) const { return {x * by, y * by}; }
    __device__ point operator+(int more) const { return {x + more, y + more}; }
    operator double() const { return x + y; }
};
template <class T> void twice(int n) {
    T *a, last;
    cudaMalloc(&a, n * sizeof(T));
    cudaMemset(a, 0, n * sizeof(T));
    scale<<<(n + 255) / 256, 256>>>(a, n);
    cudaMemcpy(&last, a + n - 1, sizeof(T), cudaMemcpyDeviceToHost);
    printf("%g\\n", (double)last);
}
int main(int, char **words) { 
    twice<float>(atoi(words[1]));
    twice<double>(atoi(words[1]));
    twice<point>(atoi(words[1]));
}
"""


@pytest.mark.long
def test_each_instance_of_a_launch_is_chosen_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, tuned = tmp_path / "app.cu", tmp_path / "app.tuned.cu"
    source.write_text(PROGRAM)
    run = ("--run", "./{program} {n}", "--vary", "n=3000,9000", *QUICK)
    told = cutune("tune", source, *run)
    assert told.returncode == 0 and "CT413" not in told.stderr
    assert "1 launch: 1 " in told.stdout and "app.cu:17" in told.stdout
    models = read_models(tmp_path / ".cutune" / "models.json")
    assert len({model.kernel.entry for model in models}) == 3
    assert len({model.kernel.signatures for model in models}) == 3
    monkeypatch.setenv("CUTUNE", "verbose")
    done = cutune("run", STANDARD, ARCHITECTURE, tuned, "5000000")
    assert done.stdout.split() == ["1", "1", "2"]
    assert done.stderr.count("cutune: scale, 5000000 x 1 x 1 threads") == 3


#: In the style of Kokkos, RAJA and AMReX: one launch in a header's template serves them all.
PARALLEL_FOR = """\
#include <cstdio>
#include <cstdlib>
template <class F> __global__ void run(int n, F body) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) body(i);
}
template <class F> void parallel_for(int n, F body) { run<<<(n + 127) / 128, 128>>>(n, body); }
namespace {  // Its number comes from the path of the source.
struct fill { float *x; __device__ void operator()(int i) const { x[i] = 1; } };
struct more { float *x; __device__ void operator()(int i) const { x[i] += 1; } };
}
namespace ours {
struct fill { float *x; __device__ void operator()(int i) const { x[i] = x[i] * x[i]; } };
}
template <class T> struct scale { T *x; __device__ void operator()(int i) const { x[i] *= T(3); } };
template <class T> void steps(T *x, int n) {
    parallel_for(n, [=] __device__(int i) { x[i] += 1; });
    parallel_for(n, [=] __device__(int i) { x[i] = x[i] / 4 + x[i]; });
}
int main(int, char **words) {
    int n = atoi(words[1]);
    float *x, last;
    double *y;
    cudaMalloc(&x, n * sizeof *x);
    cudaMalloc(&y, n * sizeof *y);
    cudaMemset(y, 0, n * sizeof *y);
    parallel_for(n, fill{x});
    parallel_for(n, more{x});
    parallel_for(n, ours::fill{x});
    parallel_for(n, scale<float>{x});
    parallel_for(n, scale<double>{y});
    steps(x, n);
    steps(y, n);
    parallel_for(n, [=] __device__(auto i) { x[i] += y[i]; });
    parallel_for(n, [=] __host__ __device__(int i) { x[i] *= 2; });
    cudaMemcpy(&last, x + n - 1, sizeof last, cudaMemcpyDeviceToHost);
    printf("%g\\n", last);
}
"""


@pytest.mark.long
def test_each_lambda_and_functor_is_chosen_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, tuned = tmp_path / "app.cu", tmp_path / "app.tuned.cu"
    source.write_text(PARALLEL_FOR)
    run = ("--run", "./{program} {n}", "--vary", "n=3000,9000", *QUICK)
    told = cutune("tune", "--extended-lambda", source, *run)
    assert "1 launch: 1 tuned" in told.stdout, told.stderr
    models = read_models(tmp_path / ".cutune" / "models.json")
    assert len({model.kernel.entry for model in models}) == len(models) == 11
    assert len({model.kernel.signatures for model in models}) == 11
    monkeypatch.setenv("CUTUNE", "verbose")
    done = cutune("run", "--extended-lambda", STANDARD, ARCHITECTURE, tuned, "5000000")
    assert done.stdout.split() == ["35"]
    assert done.stderr.count("cutune: run, 5000000 x 1 x 1 threads: block 128x1x1 -> ") == 11
    # Another release of nvcc may name lambdas otherwise: they stay, functors do not.
    text = tuned.read_text("latin-1")
    assert text.count("__CUDACC_VER_MINOR__") == 1
    tuned.write_text(text.replace("__CUDACC_VER_MINOR__", "99"), "latin-1")
    done = cutune("run", "--extended-lambda", STANDARD, ARCHITECTURE, tuned, "5000000")
    assert done.stdout.split() == ["35"]
    assert done.stderr.count("cutune: run, 5000000 x 1 x 1 threads: block 128x1x1 -> ") == 5


NUMBERS = """\
#include <cstdio>
#include <cstdlib>
#include <type_traits>
template <int K> __global__ void scale(float *a, int n PARAMETER) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        for (int k = 0; k < K; ++k) a[i] = a[i] * 2 + k;
}
template <int K> void go(float *a, int n) {
    scale<K><<<(n + 127) / 128, 128>>>(a, n ARGUMENT);
}
int main(int, char **words) {
    int n = atoi(words[1]);
    float *a;
    cudaMalloc(&a, n * sizeof *a);
    go<2>(a, n);
    go<5>(a, n);
}
"""


@pytest.mark.parametrize(
    ("parameter", "argument", "is_told"),
    [
        ("", "", False),
        (", std::integral_constant<int, K>", ", std::integral_constant<int, K>()", True),
    ],
)
def test_numbers_are_told_apart_as_the_message_says(
    tmp_path: Path, parameter: str, argument: str, is_told: bool
) -> None:
    source = tmp_path / "app.cu"
    source.write_text(NUMBERS.replace("PARAMETER", parameter).replace("ARGUMENT", argument))
    told = cutune("tune", source, "--run", "./{program} {n}", "--vary", "n=3000,9000", *QUICK)
    assert ("1 launch: 1 tuned" in told.stdout) == is_told
    assert ("'std::integral_constant<int, N>()' [CT413]" in told.stderr) != is_told


LAMBDAS = """\
#include <cstdio>
#include <cstdlib>
template <class F> __global__ void each(int n, F f) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) f(i);
}
int main(int, char **words) {
    int n = atoi(words[1]), *a, last;
    cudaMalloc(&a, n * sizeof(int));
    auto by_id = [=] __device__(int i) { a[i] = i; };
    each<<<(n + 127) / 128, 128>>>(n, by_id);
    auto more = [=] __device__(int i) { a[i] += MORE; };
    each<<<(n + 127) / 128, 128>>>(n, more);
    cudaMemcpy(&last, a + n - 1, sizeof(int), cudaMemcpyDeviceToHost);
    printf("%d\\n", last);
}
"""


@pytest.mark.long
def test_lambdas_have_other_names_on_the_host(tmp_path: Path) -> None:
    """They are tuned where all of them are proven: it is not known which one is which."""
    source, tuned = tmp_path / "app.cu", tmp_path / "app.tuned.cu"
    run = ("--run", "./{program} {n}", "--vary", "n=3000,9000", *QUICK)
    source.write_text(LAMBDAS.replace("MORE", "7"))
    told = cutune("tune", "--extended-lambda", source, *run)
    assert "2 launches: 2 tuned" in told.stdout, told.stderr
    report = cutune("report", "--extended-lambda", source, cwd=tmp_path)
    assert "each<main::" in report.stdout and "no prediction" not in report.stdout
    done = cutune("run", "--extended-lambda", STANDARD, ARCHITECTURE, tuned, "5000000")
    assert done.stdout.split() == ["5000006"]
    source.write_text(LAMBDAS.replace("MORE", "threadIdx.x"))
    told = cutune("inspect", "--extended-lambda", source)
    assert "2 launches, 0 tunable" in told.stdout
