"""What `make demo` runs: tune samples/demo.cu and relax.py for an H200, without a GPU.

Analyse, instrument, run and replay on the emulated device, fit, emit; then compile the original
and the tuned program and let both check their results on the emulated device. What is predicted
stands beside what an H200 was measured to take, as it is recorded in tests/recorded; all of it is
written to report.html.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from rich.table import Table

from cutune.cli.page.gather import ReportSource, Timings, read_timings, report_of
from cutune.cli.page.html import to_html
from cutune.cli.report.console import standard_output
from cutune.cli.report.programs import print_programs
from cutune.core.diagnostics import CutuneError, tell
from cutune.core.progress import Reporter, progress_for
from cutune.core.workspace import Workspace, replace_file
from cutune.emulator.program_builds import build
from cutune.emulator.run import device_environment, program_environment
from cutune.measure import try_copies
from cutune.measure.program_runs import RunPlan
from cutune.model.fit.fitted_model import FittedModel
from cutune.model.measurement.sweep import SweptConfiguration, SweptLaunch
from cutune.model.selection.variants import VariantChooser
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program
from cutune.source.rewrite.output import Target
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import configuration_text
from cutune.tuning.stages import collect, emit, fit

SAMPLE = Path(__file__).parent / "demo.cu"
SCRIPT = Path(__file__).parent / "relax.py"
ROOT = Path(__file__).parents[1]
#: Kernels of the demonstration → the programs that have them, and were swept.
ORIGINS = {
    "mean_kernel": "samples/polybench/covar.cu",
    "reduce_kernel": "samples/polybench/covar.cu",
    "fdtd_step3_kernel": "samples/polybench/fdtd2d.cu",
    "layernorm_forward": "benchmarks/judges/18/layernorm_forward.cu",
    "matmul": "tests/corpus/tiles/matmul_tiled.cu",
}
RECORDED = ("variants/polybench_h200.json", "judges/18_h200.json")
#: When that was.
RECORDED_ON = "2026-11-23 and 28"
PLAN = RunPlan("./{program} {n}", {"n": ["64", "96", "128"]}, "paper")
SHOWN_SIZES = (1024, 2048, 3000)
#: Rows of 768 channels: as many blocks.
ROWS = {"layernorm_forward": (4000, 32768, 600000)}
CHECKED_SIZE = "200"
REPORT = Path("report.html")


def main() -> int:
    """Run the demonstration; 0 when both programs pass."""
    device = DeviceProfile.named("h200")
    reporter = Reporter(tell, progress=progress_for(quiet=False))
    analyzer = Analyzer(reporter=reporter, try_copies=try_copies)
    with tempfile.TemporaryDirectory(prefix="cutune-demo-") as folder:
        workspace = Workspace(Path(folder))
        program = analyzer.load(str(SAMPLE), require_nvcc=True)
        print_programs([program])
        collect(analyzer, [program], PLAN, device, workspace)
        models = fit(analyzer.reporter, workspace)
        target = Target(Path(folder) / "demo.tuned.cu")
        tuned = emit(analyzer, program, workspace, [device], target)
        timings = recorded(workspace, device)
        print()
        print_gains(models, device, timings)
        print()
        passed = [
            check(analyzer, name, source, Path(folder), device)
            for name, source in (("original", SAMPLE), ("tuned", tuned))
        ]
        write_report(analyzer, workspace, program, models, device, timings)
        passed.append(tune_script(Path(folder)))
    print(f"\nopen {REPORT}")
    return 0 if all(passed) else 1


def recorded(workspace: Workspace, device: DeviceProfile) -> Timings:
    """What an H200 took for these kernels, in the samples that they come from."""
    paths = [str(ROOT / "tests/recorded" / name) for name in RECORDED]
    found = read_timings(workspace, paths, device)
    own = (one for one in found.launches if Path(ORIGINS.get(one.kernel, "")).stem == one.program)
    return replace(found, launches=tuple(replace(one, program=SAMPLE.stem) for one in own))


def print_gains(models: Sequence[FittedModel], device: DeviceProfile, timings: Timings) -> None:
    """How much faster each kernel is predicted to be, and was measured to be; or why it stays."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for head in ("kernel", "size", "own block", "cutune's", "predicted", "measured"):
        table.add_column(head, vertical="bottom")
    reasons: dict[str, str] = {}
    for model in models:
        chooser, name = VariantChooser(model, device), model.kernel.name
        for size in ROWS.get(name, SHOWN_SIZES):
            sizes = {"G.x": size, "channels": 768} if name in ROWS else {}
            choice = chooser.choose(sizes, size)
            chosen = SweptConfiguration(choice.chosen.block, choice.variant)
            own = configuration_text(choice.plain.original, "")
            gain = "" if choice.gain is None else f"{choice.gain:.2f}"
            words = (own, configuration_text(*chosen), gain)
            table.add_row(name, str(size), *words, measured(timings, name, size, chosen))
            if choice.plain.kept_original and not choice.variant:
                reasons[name] = choice.reason
    console = standard_output()
    console.print(f"times as fast as with its own block, {device.name}:", highlight=False)
    console.print(table)
    for name, reason in reasons.items():
        console.print(f"{name}: {reason}", highlight=False)
    console.print(f"measured: on {RECORDED_ON}, as tests/recorded has it", highlight=False)


def measured(timings: Timings, kernel: str, size: int, chosen: SweptConfiguration) -> str:
    """How much faster the chosen configuration was; empty where that was not timed."""
    launch = next(
        (one for one in timings.launches if (one.kernel, one.size) == (kernel, size)), None
    )
    if launch is None or chosen not in launch.times:
        return ""
    return f"{ratio(launch, chosen):.2f}"


def ratio(launch: SweptLaunch, chosen: SweptConfiguration) -> float:
    """The time of the program's own block by that of another configuration."""
    return launch.times[SweptConfiguration(launch.own)] / launch.times[chosen]


def write_report(
    analyzer: Analyzer,
    workspace: Workspace,
    program: Program,
    models: Sequence[FittedModel],
    device: DeviceProfile,
    timings: Timings,
) -> None:
    """One page about all of it, beside the caller."""
    subject = ReportSource(program.source.path, program, tuple(models))
    note = f"timings are of {', '.join(dict.fromkeys(ORIGINS.values()))}, of {RECORDED_ON}"
    found = report_of(
        *(analyzer.toolchain, analyzer.reporter.progress, [subject], device, workspace),
        *(replace(timings, notes=(note,)), SHOWN_SIZES),
    )
    replace_file(REPORT, to_html(found).encode())


def tune_script(folder: Path) -> bool:
    """Tune a script, if PyCUDA is there, and let it choose on the emulated device."""
    print()
    if find_spec("pycuda") is None:
        print(f"{SCRIPT.name}, whose kernel PyCUDA compiles, is left out: pip install pycuda")
        return True
    script = shutil.copy(SCRIPT, folder)
    run = f"{sys.executable} {{script}} {{w}} {{h}}"
    sizes = ("--vary", "w=100,200,400", "--vary", "h=64,200", "--device", "h200", "--quiet")
    cutune = [sys.executable, "-m", "cutune"]
    tuned = subprocess.run([*cutune, "tune", script, "--run", run, *sizes], cwd=folder, check=False)
    words = [*cutune, "run", sys.executable, "-m", "cutune.tuned", script, "1000", "700"]
    environment = {**os.environ, "CUTUNE": "verbose"}
    return tuned.returncode == 0 == subprocess.run(words, env=environment, check=False).returncode


def check(analyzer: Analyzer, name: str, source: Path, folder: Path, device: DeviceProfile) -> bool:
    """Compile one of the programs, run it on the emulated device and show its verdict."""
    binary = build(
        analyzer.toolchain,
        source,
        analyzer.toolchain.compile_flags(str(SAMPLE)),
        folder / f"demo.{name}",
    )
    environment = {
        **program_environment(binary),
        **device_environment(device, folder),
        "CUTUNE": "verbose",
    }
    done = subprocess.run(
        [str(binary), CHECKED_SIZE], env=environment, capture_output=True, text=True, check=False
    )
    print(f"{name:>8} on the emulated device, N = {CHECKED_SIZE}: {done.stdout.strip()}")
    for line in done.stderr.splitlines():
        print(f"  {line}")
    return done.returncode == 0 and "PASS" in done.stdout


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CutuneError as error:
        tell(error.diagnostic)
        sys.exit(1)
