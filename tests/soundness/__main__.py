"""No program of a folder changes its output, whatever configurations its launches take.

    python -m tests.soundness FOLDER [--seeds 20] [--jobs 2] [--only PATTERN] [--off] [--on gpu]

Each program goes through `cutune shake` at four sizes, or at those that its head names. A line per
program says what became of it: `same` and `refused` are right, `differs` and `error` are not;
`unusable` is what nvcc refuses without cutune, or what cannot run on the emulated device as it is.
Status 1 when a program differs or fails, or when less than 95 % of those that should be tunable
are. `--off` compares the rewritten programs with `CUTUNE=off` alone.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from cutune.core.codes import Code
from cutune.emulator.link import own_build_flags
from cutune.toolchain.nvcc import find_nvcc
from tests.soundness.programs import HostileProgram, hostile_programs
from tests.support.module_paths import module_paths

#: Of the programs that should be tunable.
REQUIRED_PERCENT = 95
#: What is wrong with the original: cutune is not asked.
_ORIGINAL = (Code.NVCC_FAILED, Code.ORIGINAL_FAILED)


class Verdict(Enum):
    """What became of a program."""

    SAME = "same"
    REFUSED = "refused"
    DIFFERS = "differs"
    ERROR = "error"
    UNUSABLE = "unusable"


@dataclass(frozen=True)
class Judged:
    """A program, what became of it, and what was said."""

    program: HostileProgram
    verdict: Verdict
    said: str

    def line(self) -> str:
        """For people."""
        expected = f" (expected: {self.program.expected})" if self.program.expected else ""
        return f"{self.verdict.value:9} {self.program.name}{expected}: {self.said}"


def judged(program: HostileProgram, seeds: int, on: str) -> Judged:
    """Shake one program in its folder, where its flags look."""
    words = [sys.executable, "-m", "cutune", "shake", *(path.name for path in program.sources)]
    words += ["--run", "{program} {n}", "--vary", f"n={program.sizes}", "--seeds", str(seeds)]
    words += ["--jobs", "1", "--on", on]
    # Some of them end with another status than 0 on purpose.
    words += ["-q", "--status", "any", *(f"--nvcc-flag={flag}" for flag in program.flags)]
    done = subprocess.run(
        words,
        cwd=program.sources[0].parent,
        env=_environment(),
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    return Judged(program, *verdict_of(done.returncode, done.stdout, done.stderr))


def verdict_of(status: int, output: str, errors: str) -> tuple[Verdict, str]:
    """What `cutune shake` found, and the line that says it."""
    first = next(iter(output.splitlines()), "")
    if status == 0 and first.startswith("same"):
        return Verdict.SAME, first
    if status == 0 and first.startswith("nothing may change"):
        return Verdict.REFUSED, first
    if status == 1 and first.startswith("differs"):
        return Verdict.DIFFERS, first
    said = [line for line in errors.splitlines() if "error: " in line]
    reason = said[0] if said else next(reversed(errors.splitlines()), f"status {status}")
    if any(f"[{code.number}]" in reason for code in _ORIGINAL):
        # What nvcc itself says tells more than how it was called.
        return Verdict.UNUSABLE, (said[1:] or said)[0]
    return Verdict.ERROR, reason


def _environment() -> dict[str, str]:
    own = {k: v for k, v in os.environ.items() if not k.startswith("CUTUNE")}
    return {**own, "PYTHONPATH": module_paths(), "CUTUNE_EMULATOR_THREADS": "1"}


def summary(found: Sequence[Judged]) -> tuple[list[str], bool]:
    """What to print last, and whether all is well."""
    counts = Counter(one.verdict for one in found)
    wanted = [
        one
        for one in found
        if one.program.should_be_tunable and one.verdict is not Verdict.UNUSABLE
    ]
    missed = [one.program.name for one in wanted if one.verdict is Verdict.REFUSED]
    changed = len(wanted) - len(missed)
    counted = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in Verdict)
    lines = [
        f"{len(found)} programs: {counted}",
        f"{changed} of {len(wanted)} that should be tunable are"
        + (f"; refused: {', '.join(missed)}" if missed else ""),
    ]
    is_enough = 100 * changed >= REQUIRED_PERCENT * len(wanted)
    return lines, is_enough and not counts[Verdict.DIFFERS] and not counts[Verdict.ERROR]


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    options = argparse.ArgumentParser(
        prog="python -m tests.soundness",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("folder", type=Path, metavar="FOLDER")
    options.add_argument("--seeds", type=int, default=20, help="seeds per program (default: 20)")
    options.add_argument("--jobs", type=int, default=2, help="programs at a time (default: 2)")
    options.add_argument("--only", default="", metavar="PATTERN", help="names that match alone")
    options.add_argument("--off", action="store_true", help="compare with CUTUNE=off alone")
    options.add_argument("--on", default="emulated", choices=("emulated", "gpu"))
    chosen = options.parse_args(arguments)
    programs = hostile_programs(chosen.folder, chosen.only)
    if not programs:
        options.error(f"no program in '{chosen.folder}'")
    own_build_flags(find_nvcc())  # The emulated device is built once, not by each job.
    seeds, found = 0 if chosen.off else chosen.seeds, []
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for one in pool.map(lambda program: judged(program, seeds, chosen.on), programs):
            found.append(one)
            print(one.line(), flush=True)
    lines, is_well = summary(found)
    print(*lines, sep="\n")
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
