"""Many launches of a kernel that does nothing: the tuned program against the original.

Needs a GPU. Both programs stay open and launch in turn, in short rounds, because others use the
same machine: what counts is the ratio within a pair of rounds, of which there are many.

    python -m benchmarks.launch_overhead
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from statistics import median

from cutune.core.workspace import Workspace
from cutune.measure.program_runs import RunPlan
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.rewrite.output import Target
from cutune.toolchain.device.profile import DeviceProfile
from cutune.tuning.stages import collect, emit, fit

PAIRS, LAUNCHES = 100, 20_000
PROGRAM = """
#include <chrono>
#include <cstdio>
#include <cstdlib>
__global__ void nothing(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = 1;
}
int main(int argc, char **argv) {
    const int n = atoi(argv[1]), launches = argc > 2 ? atoi(argv[2]) : 0;
    float *a;
    if (cudaMalloc(&a, n * sizeof(float))) return 1;
    nothing<<<(n + 255) / 256, 256>>>(n, a);
    char line[8];
    while (launches > 0 && fgets(line, sizeof line, stdin)) {
        if (cudaDeviceSynchronize()) return 2;
        const auto start = std::chrono::steady_clock::now();
        for (int k = 0; k < launches; k++) nothing<<<(n + 255) / 256, 256>>>(n, a);
        if (cudaDeviceSynchronize()) return 2;
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        printf("%.9f\\n", taken.count());
        fflush(stdout);
    }
}
"""


class Launcher:
    """A program that launches when it is told to."""

    def __init__(self, binary: Path) -> None:
        self._process = subprocess.Popen(
            [str(binary), "32", str(LAUNCHES)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def round(self) -> float:
        """Microseconds per launch of one round."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline()) / LAUNCHES * 1e6

    def end(self) -> None:
        """No more rounds."""
        self._process.communicate()


def compare(original: Path, tuned: Path) -> None:
    """Rounds in turn, the order changing from pair to pair; print times and their ratio."""
    launchers = Launcher(original), Launcher(tuned)
    for launcher in launchers:
        launcher.round()
    times: list[tuple[float, float]] = []
    for pair in range(PAIRS):
        first, second = launchers if pair % 2 == 0 else launchers[::-1]
        one, other = first.round(), second.round()
        times.append((one, other) if pair % 2 == 0 else (other, one))
    for launcher in launchers:
        launcher.end()
    for word, found in zip(("original", "tuned   "), zip(*times, strict=True), strict=True):
        print(f"    {word} {min(found):.4f} us per launch at least, median {median(found):.4f}")
    ratios = sorted(after / before for before, after in times)
    # The median lies between these two of 100 values in 95 % of all cases (binomial).
    spread = round(0.98 * PAIRS**0.5)
    low, high = ratios[PAIRS // 2 - spread - 1], ratios[PAIRS // 2 + spread]
    print(f"    tuned / original: {median(ratios):.4f} ({low:.4f} to {high:.4f})")


def main() -> None:
    """Tune it on the emulated device, then time both."""
    analyzer, device = Analyzer(), DeviceProfile.named("h200")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, workspace = folder / "nothing.cu", Workspace(folder / "workspace")
        source.write_text(PROGRAM)
        program = analyzer.load(str(source), require_nvcc=True)
        plan = RunPlan("./{program} {n}", {"n": ["256", "512"]}, "paper")
        collect(analyzer, [program], plan, device, workspace)
        fit(analyzer.reporter, workspace)
        tuned = emit(analyzer, program, workspace, [device], Target(folder / "nothing.tuned.cu"))
        for flags in (["-O2"], []):
            binaries = [folder / f"original{len(flags)}", folder / f"tuned{len(flags)}"]
            for text, binary in zip((source, tuned), binaries, strict=True):
                analyzer.toolchain.nvcc.check(
                    [*flags, "-arch=native", str(text), "-o", str(binary)]
                )
            print(f"  host code compiled with {' '.join(flags) or 'no option'}:")
            compare(*binaries)


if __name__ == "__main__":
    main()
