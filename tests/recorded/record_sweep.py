"""How the recorded sweeps, of the samples and those in judges/, were made.

python -m tests.recorded.record_sweep prepare FOLDER [NAME …]    # of programs or sets; needs nvcc
python3 FOLDER/run_sweeps.py FOLDER OUTPUT SECONDS [PASSES]          # on the GPU
python -m tests.recorded.record_sweep save OUTPUT                    # adds to the recorded files

`prepare` leaves out programs of which no launch may change, and with `--brief` runs whose launches
were all recorded as long: those of one sweep and another hardly differ. With `--variants` after
either word every variant is swept besides, and kept in the files of variants/; of kernels that keep
their block all copies are. `save` takes the median of the passes, block by block, and keeps
launches of the recorded file that were not measured again.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from cutune.core.workspace import make_folder
from cutune.emulator.program_builds import build_instrumented
from cutune.measure import try_copies
from cutune.measure.candidate_trials import TOLERANCE
from cutune.measure.gpu_sweep import candidates_text, gpu_target
from cutune.model.measurement.sweep import (
    TIMING,
    RecordedSweep,
    SweptLaunch,
    read_entries,
    read_sweep,
    swept_launches,
    write_sweep,
)
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Program
from cutune.toolchain.device.present import profile_of
from cutune.toolchain.device.thread_block import Block
from cutune.toolchain.device_code import EMULATED
from cutune.toolchain.ptxas import by_kernel
from cutune.toolchain.toolchain import Toolchain
from tests.support.swept_programs import JUDGES, SAMPLES, may_reassociate, recorded_sweep

ARCHITECTURE = "sm_90"
HERE = Path(__file__).parent
METHOD = (
    "instrumented programs, CUTUNE_MODE=sweep: least of the event times per block after one"
    " warm-up, of three, or of 18 below 50 us (of one for blocks three times slower than the best);"
    " median of three such sweeps, or one sweep of older sets where runs take 40 us or more"
)
#: Launches below are brief: two sweeps of the same block differ by 1 to 10 %.
BRIEF_US = 40


def _judged(place: Path) -> dict[str, Sequence[int]]:
    sizes = json.loads((place / "sizes.json").read_text())
    return {name: of_program["judged"] for name, of_program in sizes.items()}


SAMPLE_SIZES = (512, 1000, 1024, 1500, 2048, 3000)
#: Sizes per program.
PLAN: Mapping[Path, Mapping[str, Sequence[int]]] = {
    **{place: _judged(place) for place in JUDGES},
    SAMPLES: {path.stem: SAMPLE_SIZES for path in sorted(SAMPLES.glob("*.cu"))},
}
#: Their last kernel takes minutes at the larger sizes: one repetition, and no longer than that.
SLOW, SLOW_SECONDS = ("corr", "covar"), 10.0


def prepare(folder: Path, only: Sequence[str], brief: bool, with_variants: bool) -> None:
    """Build every program, or only some, for sm_90 and write what is to be run."""
    make_folder(folder)
    toolchain, runs = Toolchain(architectures=(EMULATED, ARCHITECTURE)), []
    for place, programs in PLAN.items():
        analyzer = _analyzer(toolchain, place)
        wanted = _brief_runs(recorded_sweep(place, with_variants)) if brief else None
        for name, all_sizes in programs.items():
            sizes = [n for n in all_sizes if wanted is None or (name, n) in wanted]
            if (only and not {name, place.name} & {*only}) or not sizes:
                continue
            built = folder / place.name
            make_folder(built)
            program = _program(analyzer, place / f"{name}.cu", with_variants)
            candidates = candidates_text(program, "paper")
            if not candidates:
                print(f"{name}: no launch may change", flush=True)
                continue
            build_instrumented(analyzer.toolchain, [program], built, gpu_target(ARCHITECTURE))
            (built / f"{name}.candidates").write_text(candidates)
            runs += [_run(f"{place.name}/{name}", size) for size in sizes]
            print(name, flush=True)
    (folder / "plan.json").write_text(json.dumps(runs, indent=1))
    shutil.copy(HERE / "run_sweeps.py", folder)


def _brief_runs(path: Path) -> set[tuple[str, int | None]]:
    """Programs and sizes of which a launch was recorded as brief."""
    launches = read_sweep(path).launches if path.exists() else ()
    return {(one.program, one.size) for one in launches if one.microseconds[one.best] < BRIEF_US}


def _run(name: str, size: int) -> dict[str, object]:
    """`name`: of the set and the program."""
    run: dict[str, object] = {"program": name, "size": size, "repetitions": 3}
    slow = Path(name).name in SLOW
    return run | {"repetitions": 1, "seconds": SLOW_SECONDS} if slow else run


def _analyzer(toolchain: Toolchain, place: Path) -> Analyzer:
    return Analyzer(toolchain, is_associative=may_reassociate(place), try_copies=try_copies)


def _program(analyzer: Analyzer, path: Path, with_variants: bool) -> Program:
    program = analyzer.load(str(path), require_nvcc=True)
    return analyzer.with_checked_variants(program) if with_variants else program


def save(output: Path, with_variants: bool) -> None:
    """Add what was measured to the recorded files."""
    about = json.loads((output / "about.json").read_text())
    toolchain = Toolchain(architectures=(EMULATED, ARCHITECTURE))
    for place, programs in PLAN.items():
        analyzer = _analyzer(toolchain, place)
        measured = [
            launch
            for name in programs
            for launch in _measured(analyzer, place / f"{name}.cu", output, with_variants)
        ]
        gpu = profile_of(about["device"])
        assert gpu is not None, f"{about['device']} has no profile"
        path = recorded_sweep(place, with_variants, gpu)
        if not measured and not path.exists():
            continue
        sweep = RecordedSweep(about["device"], about["driver"], METHOD, ())
        if path.exists():
            sweep = read_sweep(path)
        if measured and sweep.device != about["device"]:
            sys.exit(f"{path.name} is of another GPU, {sweep.device}")
        launches = sorted(
            _joined(sweep.launches, measured), key=lambda s: (s.program, s.kernel, s.size or 0)
        )
        write_sweep(path, replace(sweep, method=METHOD, launches=tuple(launches)))
        print(f"{path.name}: {len(measured)} launches measured")


def _measured(
    analyzer: Analyzer, path: Path, output: Path, with_variants: bool
) -> Iterator[SweptLaunch]:
    """Every launch, at the median of the passes in which its sweep is complete."""
    found = sorted(output.glob(f"*/{path.parent.name}/{path.stem}-*.jsonl"))
    if not found:
        return
    program = _program(analyzer, path, with_variants)
    counters = by_kernel(analyzer.toolchain.nvcc.static_counters(path, architecture=ARCHITECTURE))
    wanted = Counter(
        int(line.split()[0]) for line in candidates_text(program, "paper").splitlines()
    )
    passes: defaultdict[object, list[SweptLaunch]] = defaultdict(list)
    for lines in found:
        timings = read_entries(lines, TIMING)
        swept = Counter(timing["site"] for timing in timings)
        whole = [timing for timing in timings if swept[timing["site"]] >= wanted[timing["site"]]]
        if len(whole) < sum(wanted.values()):
            missing = sum(wanted.values()) - len(whole)
            print(f"{lines.parent.name}/{lines.name}: {missing} blocks are missing")
        size = int(lines.stem.rpartition("-")[2])
        for launch in swept_launches(program, whole, size, TOLERANCE, counters):
            # Instances of a template are kernels of their own.
            passes[launch.kernel, launch.signature, launch.size].append(launch)
    yield from map(_median, passes.values())


def _median(launches: Sequence[SweptLaunch]) -> SweptLaunch:
    """One launch in several passes: blocks that were valid in each, at their median times."""
    first = launches[0]
    own = _medians([launch.microseconds for launch in launches])
    variants = {
        name: _medians([launch.variants.get(name, {}) for launch in launches])
        for name in first.variants
    }
    return replace(first, microseconds=own, variants=variants)


def _medians(passes: Sequence[Mapping[Block, float]]) -> dict[Block, float]:
    blocks = [block for block in passes[0] if all(block in times for times in passes)]
    return {block: median(times[block] for times in passes) for block in blocks}


def _joined(
    recorded: Iterable[SweptLaunch], measured: Sequence[SweptLaunch]
) -> Iterator[SweptLaunch]:
    def place(launch: SweptLaunch) -> object:
        return launch.program, launch.kernel, launch.signature, launch.size

    # Older records do not tell instances apart.
    untold = (replace(launch, signature=None) for launch in measured)
    again = {*map(place, measured), *map(place, untold)}
    yield from measured
    yield from (launch for launch in recorded if place(launch) not in again)


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    varied = "--variants" in sys.argv
    if words[0] == "prepare":
        prepare(Path(words[1]), words[2:], "--brief" in sys.argv, varied)
    else:
        save(Path(words[1]), varied)
