"""An integer that is no size and never varied: one value is known, and another is counted anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.tuning import QUICK, cutune

pytestmark = pytest.mark.nvcc

BLUR = """
#include <cmath>
#include <cstdlib>
#pragma cutune kernel blur data(n)
__global__ void blur(int n, int r, const float *in, float *out) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 0;
    for (int d = -r; d <= r; ++d) sum += in[min(max(i + d, 0), n - 1)];
    out[i] = sum / (2 * r + 1);
}
int main(int, char **argv) {
    int n = atoi(argv[1]), r = atoi(argv[2]);
    float *in, *out;
    cudaMalloc(&in, n * sizeof(float));
    cudaMalloc(&out, n * sizeof(float));
    cudaMemset(in, 0, n * sizeof(float));
    blur<<<(n + 255) / 256, 256>>>(n, r, in, out);
    return cudaDeviceSynchronize();
}
"""


def test_a_radius_is_known_at_one_value_and_counted_anew_at_another(tmp_path: Path) -> None:
    source = tmp_path / "blur.cu"
    source.write_text(BLUR)

    def tuned(radius: int) -> dict[str, object]:
        run = ("--run", f"./{{program}} {{n}} {radius}", "--vary", "n=500,1000")
        done = cutune("tune", source, *run, *QUICK, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (model,) = json.loads((tmp_path / ".cutune" / "models.json").read_text())["models"]
        # Lines are broken anywhere.
        text = (tmp_path / "blur.tuned.cu").read_text().replace("\n", "")
        assert f"arguments[1]!={radius}||" in text
        return dict(model)

    def select(*sizes: str) -> dict[str, object]:
        done = cutune("select", "blur", *sizes, "--json", cwd=tmp_path)
        return dict(json.loads(done.stdout))

    first = tuned(3)
    known = select("n=1000000")
    assert known["measured_only_at"] == {"r": 3} and known["extrapolated"] is False
    assert select("n=1000000", "r=3") == known
    other = select("n=1000000", "r=30")
    assert other["extrapolated"] is True and other["kept_original"] is True
    said = cutune("select", "blur", "n=1000000", cwd=tmp_path).stdout
    assert "as measured at r = 3 only" in said
    assert tuned(9)["instructions"] != first["instructions"]
    assert select("n=1000000")["measured_only_at"] == {"r": 9}
