"""One launch in a host template that runs for several types: each type has a model of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.fit.models_file import read_models
from tests.end_to_end.tuning import ARCHITECTURE, QUICK, cutune
from tests.short_headers import STANDARD

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
