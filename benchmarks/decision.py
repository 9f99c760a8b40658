"""Nanoseconds per decision of an emitted selection routine: new sizes, and repeated ones."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from cutune.device import DeviceProfile
from cutune.emulator.link import own_build_flags
from cutune.emulator.run import device_environment
from cutune.session import Session
from cutune.shadow import Target
from cutune.source import Source
from cutune.stages import collect, emit, fit
from cutune.workspace import Workspace

SAMPLE = Path(__file__).parents[1] / "samples" / "polybench" / "gemm.cu"

DRIVER = """
#include <chrono>
#include <cstdio>
int main() {
    cutune_request request = {dim3(1, 1, 1), dim3(32, 8, 1), 0, {0, 0, 1}, nullptr, ~0ull, 3};
    long long sum = 0;
    double best[2] = {1e9, 1e9};
    // The best of many short stretches: a shared machine takes the processor away in between.
    for (int stretch = 0; stretch < 600; ++stretch) {
        for (int repeat = 0; repeat < 2; ++repeat) {
            const int count = repeat ? 30000 : 150;
            const auto start = std::chrono::steady_clock::now();
            for (int i = 0; i < count; ++i) {
                const long long n = repeat ? 1000 : 1000 + (i * 20 + stretch) % 3000;
                const long long arguments[16] = {n, n, n};
                request.arguments = arguments;
                request.extent[0] = request.extent[1] = n;
                sum += cutune_select_gemm_kernel(&request, nullptr).block.x;
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
    """Tune gemm, compile its routine with the host compiler, call it."""
    session = Session()
    device = DeviceProfile.named("h200")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        workspace = Workspace(folder)
        program = session.load(str(SAMPLE), require_nvcc=True)
        collect(
            session, program, "./{program} {n}", {"n": ["64", "96"]}, device, workspace, "paper"
        )
        fit(session, workspace)
        target = Target(folder / "gemm.tuned.cu")
        tuned = Source.read(emit(session, program, workspace, [device], target))
        prelude = tuned.text.partition("#line 1 ")[0]
        source, binary = folder / "decision.cu", folder / "decision"
        source.write_text(prelude + DRIVER)
        flags = ["-O2", *own_build_flags(session.nvcc)]
        session.nvcc.check([*flags, str(source), "-o", str(binary)])
        environment = {**os.environ, **device_environment(device, folder)}
        subprocess.run([str(binary)], env=environment, check=True)
