"""Nanoseconds that a tuned program adds to a launch: at new sizes, and where they repeat.

What CUDA does to launch is not among them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from cutune.core.reading import read_source
from cutune.core.workspace import Workspace
from cutune.emulator.link import own_build_flags
from cutune.emulator.run import device_environment
from cutune.measure.program_runs import RunPlan
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.rewrite.output import Target
from cutune.toolchain.device.profile import DeviceProfile
from cutune.tuning.stages import collect, emit, fit

SAMPLE = Path(__file__).parents[1] / "samples" / "polybench" / "gemm.cu"

DRIVER = """
#include <chrono>
#include <cstdio>
__global__ void some_kernel(float *a) { a[0] = 0; }
int main() {
    const dim3 block(32, 8);
    float *const none = nullptr;
    const void *const kernel = reinterpret_cast<const void *>(some_kernel);
    const void *const variant = kernel;
    long long sum = 0;
    double best[2] = {1e9, 1e9};
    // The best of many short stretches: a shared machine takes the processor away in between.
    for (int stretch = 0; stretch < 600; ++stretch) {
        for (int repeat = 0; repeat < 2; ++repeat) {
            const int count = repeat ? 30000 : 150;
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < count; ++i) {
                const int n = repeat ? 1000 : 1000 + (i * 20 + stretch) % 3000;
                const unsigned size = static_cast<unsigned>(n);
                const dim3 grid((size + 31) / 32, (size + 7) / 8);
                cutune_controlled launch(1, kernel, &variant, grid, block, 0, nullptr, n, n, n,
                                         1.0f, 1.0f, none, none, none);
                while (launch.next()) sum += launch.block.x;
            }
            const std::chrono::duration<double, std::nano> taken =
                std::chrono::steady_clock::now() - start;
            if (taken.count() / count < best[repeat]) best[repeat] = taken.count() / count;
        }
    }
    printf("  new sizes, 51 candidates: %.1f ns\\n", best[0]);
    printf("  sizes repeat: %.1f ns\\n", best[1]);
    return sum == 0;
}
"""


def main() -> None:
    """Tune gemm, compile what is emitted for its launch with the host compiler, call it."""
    analyzer = Analyzer()
    device = DeviceProfile.named("h200")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workspace = Workspace(folder)
        program = analyzer.load(str(SAMPLE), require_nvcc=True)
        plan = RunPlan("./{program} {n}", {"n": ["64", "96"]}, "paper")
        collect(analyzer, [program], plan, device, workspace)
        fit(analyzer.reporter, workspace)
        target = Target(folder / "gemm.tuned.cu")
        tuned = read_source(emit(analyzer, program, workspace, [device], target))
        prelude = tuned.text.partition("#line 1 ")[0]
        source, binary = folder / "decision.cu", folder / "decision"
        source.write_text(prelude + DRIVER)
        flags = ["-O2", *own_build_flags(analyzer.toolchain.nvcc)]
        analyzer.toolchain.nvcc.check([*flags, str(source), "-o", str(binary)])
        environment = {**os.environ, **device_environment(device, folder)}
        subprocess.run([str(binary)], env=environment, check=True)
