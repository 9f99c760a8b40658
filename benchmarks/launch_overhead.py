"""A million launches of a kernel that does nothing: the tuned program against the original.

Needs a GPU. Runs of both alternate; the least time of each counts, as others use the same machine.

    python -m benchmarks.launch_overhead
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from cutune.device import DeviceProfile
from cutune.session import Session
from cutune.shadow import Target
from cutune.stages import collect, emit, fit
from cutune.workspace import Workspace

ROUNDS = 8
PROGRAM = """
#include <chrono>
#include <cstdio>
#include <cstdlib>
__global__ void nothing(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1;
}
int main(int argc, char **argv) {
    const int n = atoi(argv[1]), launches = atoi(argv[2]);
    float *a;
    if (cudaMalloc(&a, n * sizeof(float))) return 1;
    nothing<<<(n + 255) / 256, 256>>>(n, a);
    cudaDeviceSynchronize();
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < launches; k++) nothing<<<(n + 255) / 256, 256>>>(n, a);
    if (cudaDeviceSynchronize()) return 2;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    printf("%.6f\\n", taken.count());
}
"""


def main() -> None:
    """Tune it on the emulated device, then time both."""
    session, device = Session(), DeviceProfile.named("h200")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, workspace = folder / "nothing.cu", Workspace(folder / "workspace")
        source.write_text(PROGRAM)
        program = session.load(str(source), require_nvcc=True)
        run = "./{program} {n} 1"
        collect(session, program, run, {"n": ["256", "512"]}, device, workspace, "paper")
        fit(session, workspace)
        tuned = emit(session, program, workspace, [device], Target(folder / "nothing.tuned.cu"))
        binaries = [session.build_plain(path, folder) for path in (str(source), str(tuned))]
        times: list[list[float]] = [[], []]
        for _ in range(ROUNDS):
            for binary, found in zip(binaries, times, strict=True):
                command = [str(binary), "32", "1000000"]
                said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                found.append(float(said))
    before, after = map(min, times)
    print(f"  original {before:.4f} us, tuned {after:.4f} us per launch: {after / before:.4f}")
    for word, found in zip(("original", "tuned"), times, strict=True):
        print(f"  {word}: {', '.join(f'{seconds:.3f}' for seconds in found)} s")


if __name__ == "__main__":
    main()
