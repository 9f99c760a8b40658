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
