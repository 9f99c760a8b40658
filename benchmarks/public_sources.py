"""The front end on public CUDA sources: `python -m benchmarks.public_sources FOLDER …`.

Files that hold CUDA are drawn from the folders by a random state; per file:

- launches and kernels that were found, against an independent parser (tree-sitter-cuda): those
  that only it sees are listed, and those that only the recogniser sees;
- no crash without the compiler, and a file without tunable launch is returned byte for byte;
- with `--compile`: a file that compiles as it is must compile with hooks and with decisions.

The folders are unpacked collections, for instance HeCBench, Rodinia, cuda-samples and SHOC.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from benchmarks.compile_lines import compiled_files
from cutune.core.diagnostics import CutuneError
from cutune.core.reading import read_source
from cutune.emulator.program_builds import instrument
from cutune.passes import InstrumentLaunches, ReplaceLaunches
from cutune.proof.analysis.analyze import analyze
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program
from cutune.source.rewrite.output import write_unit
from cutune.source.rewrite.pipeline import Pass, TranslationUnit, run_passes
from cutune.source.syntax.parse import parse
from cutune.source.unit.unit_texts import UnitTexts
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY
from cutune.toolchain.toolchain import Toolchain
from tests.support.tree_sitter_counts import recognised, seen_by_tree_sitter

SEED = 20261121
SUFFIXES = (".cu", ".cuh", ".h", ".hpp", ".inl", ".cpp")
#: Only PTX is made: what ptxas does with it does not depend on the host code.
COMPILE = ("-arch=compute_90", "-O0", "-w", "-c")
SECONDS = 300
#: Compiles like every emitted routine and keeps the program's own configuration.
SELECTION = """\
static inline cutune_chosen
cutune_select_own(const cutune_request *cutune_asked, cutune_shortlist *)
{
    const cutune_chosen cutune_answer = {cutune_asked->grid, cutune_asked->block};
    return cutune_answer;
}
"""


@dataclass
class Tally:
    """Counts over all files, and what has to be looked at."""

    counts: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)

    def remark(self, what: str, path: Path, detail: object) -> None:
        """Count something that should not be, and keep where it was."""
        self.counts[what] += 1
        self.remarks.append(f"{what}: {path}: {detail}")


def main() -> int:
    """Draw, look, print the counts; 1 when a file crashed, changed or stopped compiling."""
    options = _options()
    files = list(cuda_files(options.folders))
    drawn = random.Random(options.seed).sample(files, min(options.draw, len(files)))
    print(f"{len(drawn)} of {len(files)} files, random.Random({options.seed})")
    tally = Tally()
    for path in drawn:
        _compare_counts(path, tally)
        tunable = _without_compiler(path, tally)
        if options.compile and path.suffix == ".cu" and tunable is not False:
            _compile(path, options.folders, options.flag, tally)
        if options.progress:
            print(f"  {sum(tally.counts.values())} {path}", file=sys.stderr)
    for what, count in sorted(tally.counts.items()):
        print(f"  {what}: {count}")
    print(*tally.remarks, sep="\n")
    bad = (
        "launches missed",
        "kernels missed",
        "crash",
        "changed",
        "instrumented does not compile",
        "tuned does not compile",
    )
    return 1 if any(tally.counts[what] for what in bad) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--draw", type=int, default=400)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--progress", action="store_true")
    parser.add_argument("--flag", action="append", default=[], help="given to every compilation")
    return parser.parse_args()


def cuda_files(folders: Sequence[Path]) -> Iterator[Path]:
    """Files that hold a kernel or a launch, in a fixed order."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                text = path.read_bytes()
                if b"__global__" in text or re.search(rb"<<\s*<", text):
                    yield path


# ---- counts


def _compare_counts(path: Path, tally: Tally) -> None:
    own = recognised(read_source(str(path)))
    other = seen_by_tree_sitter(path.read_bytes())
    for what, found, expected in zip(("launches", "kernels"), own, other, strict=True):
        tally.counts[f"{what} found"] += len(found)
        tally.counts[f"{what} of tree-sitter"] += len(expected)
        if missed := sorted(expected - found):
            tally.remark(f"{what} missed", path, f"at bytes {missed}")
        if more := sorted(found - expected):
            tally.remark(f"{what} that tree-sitter misses", path, f"at bytes {more}")


# ---- without the compiler


def _without_compiler(path: Path, tally: Tally) -> bool | None:
    """Analyze and instrument by the text alone: is there a tunable launch? None when not read."""
    try:
        source = read_source(str(path))
        program = analyze(UnitTexts.read(parse(source)))
        unit = instrument(program)
        tally.counts["launches judged"] += len(program.launches)
        tally.counts["launches tunable by their text"] += len(program.tunable_launches)
        if not program.tunable_launches:
            tally.counts["nothing tunable by the text"] += 1
            if unit.rewritten().text.encode("latin-1") != path.read_bytes():
                tally.remark("changed", path, "nothing tunable")
    except CutuneError as error:
        tally.counts[f"refused {error.diagnostic.code.number}"] += 1
        return None
    except Exception:  # a crash is what is looked for
        tally.remark("crash", path, traceback.format_exc(limit=-1))
        return None
    return any(b"<<<" in line for line in path.read_bytes().splitlines())


# ---- with the compiler


def _compile(path: Path, folders: Sequence[Path], more: Sequence[str], tally: Tally) -> None:
    flags = [*_flags(path, folders), *more]
    analyzer = Analyzer(Toolchain(flags=tuple(flags)))
    try:
        program = analyzer.load(str(path), require_nvcc=True)
    except CutuneError as error:
        tally.counts[f"not preprocessed: {error.diagnostic.code.number}"] += 1
        return
    tally.counts["preprocessed"] += 1
    tally.counts["launches tunable"] += len(program.tunable_launches)
    tally.counts["launches seen"] += len(program.launches)
    if not program.tunable_launches:
        return
    if _failure(analyzer, path, analyzer.toolchain.compile_flags(str(path))):
        tally.counts["does not compile as it is"] += 1
        return
    tally.counts["compiles as it is"] += 1
    own = tuple((site.id, "cutune_select_own") for site in program.tunable_launches)
    for word, step in (
        ("instrumented", InstrumentLaunches()),
        ("tuned", ReplaceLaunches(selection=SELECTION, routines=own)),
    ):
        message = _rewritten_failure(analyzer, program, step, word)
        if message:
            tally.remark(f"{word} does not compile", path, message)
        else:
            tally.counts[f"{word} compiles"] += 1


def _rewritten_failure(analyzer: Analyzer, program: Program, step: Pass, word: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        unit = run_passes((step,), TranslationUnit(program))
        own_flags = analyzer.toolchain.compile_flags(program.source.path)
        written, flags = write_unit(unit, own_flags, Path(folder), word)
        return _failure(analyzer, written, [*flags, f"-I{INCLUDE_DIRECTORY}"])


def _failure(analyzer: Analyzer, path: Path, flags: Sequence[str]) -> str:
    """The first error of nvcc, or nothing when the file compiles."""
    command = [str(analyzer.toolchain.nvcc.path), *flags, *COMPILE, str(path), "-o", "/dev/null"]
    try:
        done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return "time-out"
    if done.returncode == 0:
        return ""
    text = done.stderr.decode("utf-8", "replace")
    return next((line for line in text.splitlines() if "error" in line), text[:300] or "failed")


def _flags(path: Path, folders: Sequence[Path]) -> list[str]:
    """Options of the folder's Makefile; else all include folders of the collection."""
    for made, flags in compiled_files(path.parent).items():
        if made.name == path.name:
            return flags
    root = next(folder for folder in folders if folder in path.parents)
    return ["-std=c++17", *(f"-I{folder}" for folder in _include_folders(root, path.parent))]


@cache
def _include_folders(root: Path, folder: Path) -> tuple[Path, ...]:
    names = {"include", "inc", "common", "util", "utils", "Common"}
    near = [parent for parent in folder.parents if root in parent.parents or parent == root]
    found = [path for parent in near for path in parent.iterdir() if path.name in names]
    nested = [path for path in folder.rglob("*") if path.is_dir()]
    return (*near, *nested, *(path for path in found if path.is_dir()))


if __name__ == "__main__":
    sys.exit(main())
