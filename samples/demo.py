"""What `make demo` runs: tune samples/polybench/gemm.cu for an H200, on a machine without a GPU.

Analyse, instrument, run and replay on the emulated device, fit, emit; then compile the original
and the tuned program and let both check their results on the emulated device. What was found is
written to report.html.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cutune.analysis.session import Session
from cutune.cli.report.choices import print_choices
from cutune.cli.report.programs import print_programs
from cutune.collect.run import RunPlan
from cutune.core.diagnostics import CutuneError
from cutune.core.progress import progress_for
from cutune.core.workspace import Workspace, replace_file
from cutune.device.profile import DeviceProfile
from cutune.emulator.run import device_environment, program_environment
from cutune.fit.fitted_model import FittedModel
from cutune.frontend.program import Program
from cutune.page.facts.gathered import Subject, report_of
from cutune.page.html import to_html
from cutune.rewrite.output import Target
from cutune.stages.stages import collect, emit, fit

SAMPLE = Path(__file__).parent / "polybench" / "gemm.cu"
PLAN = RunPlan("./{program} {n}", {"n": ["128", "256", "512"]}, "paper")
SHOWN_SIZES = (512, 1000, 1024, 2048, 3000, 4096)
CHECKED_SIZE = "200"
REPORT = Path("report.html")


def main() -> int:
    """Run the demonstration; 0 when both programs pass."""
    device = DeviceProfile.named("h200")
    session = Session(
        warn=lambda diagnostic: print(diagnostic.render(), file=sys.stderr),
        progress=progress_for(quiet=False),
    )
    with tempfile.TemporaryDirectory(prefix="cutune-demo-") as folder:
        workspace = Workspace(Path(folder))
        program = session.load(str(SAMPLE), require_nvcc=True)
        print_programs([program])
        collect(session, program, PLAN, device, workspace)
        models = fit(session, workspace)
        target = Target(Path(folder) / "gemm.tuned.cu")
        tuned = emit(session, program, workspace, [device], target)
        print()
        print_choices(models, device, SHOWN_SIZES)
        print()
        passed = [
            check(session, name, source, Path(folder), device)
            for name, source in (("original", SAMPLE), ("tuned", tuned))
        ]
        report = write_report(session, workspace, program, models, device)
    print(f"\nreport: {report.resolve()}")
    return 0 if all(passed) else 1


def write_report(
    session: Session,
    workspace: Workspace,
    program: Program,
    models: Sequence[FittedModel],
    device: DeviceProfile,
) -> Path:
    """One page about all of it, beside the caller."""
    subject = Subject(program.source.path, program, tuple(models))
    found = report_of(session, [subject], device, workspace, sizes=SHOWN_SIZES)
    replace_file(REPORT, to_html(found).encode())
    return REPORT


def check(session: Session, name: str, source: Path, folder: Path, device: DeviceProfile) -> bool:
    """Compile one of the programs, run it on the emulated device and show its verdict."""
    binary = session.build(source, session.compile_flags(str(SAMPLE)), folder / f"gemm.{name}")
    environment = {
        **program_environment(binary, session.nvcc),
        **device_environment(device, folder),
        "CUTUNE": "verbose",
    }
    done = subprocess.run(
        [str(binary), CHECKED_SIZE], env=environment, capture_output=True, text=True, check=False
    )
    print(f"{name:>8} on the emulated device, N = {CHECKED_SIZE}: {done.stdout.strip()}")
    if done.stderr:
        print(f"{'':>8} {done.stderr.strip()}")
    return done.returncode == 0 and "PASS" in done.stdout


if __name__ == "__main__":
    try:
        sys.exit(main())
    except CutuneError as error:
        print(error.diagnostic.render(), file=sys.stderr)
        sys.exit(1)
