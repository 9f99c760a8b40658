"""How the recorded sweeps, judge_h200.json and others, were made.

python -m tests.recorded.record_sweep prepare FOLDER [PROGRAM …]   # needs nvcc
python3 FOLDER/run_sweeps.py FOLDER OUTPUT SECONDS        # on the GPU
python -m tests.recorded.record_sweep save OUTPUT         # adds to the recorded files

`save` keeps launches of the recorded file that were not measured again.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.regret import JUDGES
from cutune.on_gpu import candidates_text, gpu_target
from cutune.session import Session
from cutune.static_counters import by_kernel
from cutune.sweep import Sweep, SweptLaunch, read_entries, read_sweep, swept_launches, write_sweep
from cutune.trial import TOLERANCE
from cutune.workspace import make_folder

ARCHITECTURE = "sm_90"
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
POLYBENCH = ROOT / "samples" / "polybench"
RECORDED = {place: HERE / f"{place.name}_h200.json" for place in (*JUDGES, POLYBENCH)}
METHOD = (
    "instrumented programs, CUTUNE_MODE=sweep: least of the event times per block after one"
    " warm-up, of three, or of 18 below 50 us (of one for blocks three times slower than the best)"
)


def _judged(place: Path) -> dict[str, Sequence[int]]:
    sizes = json.loads((place / "sizes.json").read_text())
    return {name: of_program["judged"] for name, of_program in sizes.items()}


#: Sizes per program, in the order of their importance.
PLAN: Mapping[Path, Mapping[str, Sequence[int]]] = {
    **{place: _judged(place) for place in JUDGES},
    POLYBENCH: {
        "2dconv": (1000, 1024, 1500, 2048, 3000),
        "fdtd2d": (1000, 1024, 1500, 2048, 3000),
        "gesummv": (3000,),
        "mvt": (3000,),
        "gramschm": (1500, 3000),
        "syrk": (3000,),
        "syr2k": (3000,),
        "3dconv": (1000, 1024),
        "covar": (1024, 1500, 2048),
        "corr": (1024, 1500, 2048),
    },
}
#: Too slow for more than one repetition.
ONCE = ("corr", "covar")


def prepare(folder: Path, only: Sequence[str]) -> None:
    """Build every program, or only some, for sm_90 and write what is to be run."""
    make_folder(folder)
    session, runs = Session(), []
    for place, programs in PLAN.items():
        for name, sizes in programs.items():
            if only and name not in only:
                continue
            program = session.load(str(place / f"{name}.cu"), require_nvcc=True)
            session.build_instrumented([program], folder, gpu_target(ARCHITECTURE))
            (folder / f"{name}.candidates").write_text(candidates_text(program, "paper"))
            runs += [_run(name, size) for size in sizes]
            print(name, flush=True)
    (folder / "plan.json").write_text(json.dumps(runs, indent=1))
    shutil.copy(HERE / "run_sweeps.py", folder)


def _run(name: str, size: int) -> dict[str, object]:
    return {"program": name, "size": size, "repetitions": 1 if name in ONCE else 3}


def save(output: Path) -> None:
    """Add what was measured to the recorded files."""
    about = json.loads((output / "about.json").read_text())
    session = Session()
    for place, programs in PLAN.items():
        measured = [
            launch
            for name in programs
            for launch in _measured(session, place / f"{name}.cu", output)
        ]
        path = RECORDED[place]
        if not measured and not path.exists():
            continue
        sweep = Sweep(about["device"], about["driver"], METHOD, ())
        if path.exists():
            sweep = read_sweep(path)
        launches = sorted(
            _joined(sweep.launches, measured), key=lambda s: (s.program, s.kernel, s.size or 0)
        )
        write_sweep(path, replace(sweep, launches=tuple(launches)))
        print(f"{path.name}: {len(measured)} launches measured")


def _measured(session: Session, path: Path, output: Path) -> Iterator[SweptLaunch]:
    """Every launch whose sweep is complete."""
    stem = path.stem
    if not any(output.glob(f"{stem}-*.jsonl")):
        return
    program = session.load(str(path))
    counters = by_kernel(session.nvcc.static_counters(path, architecture=ARCHITECTURE))
    wanted = Counter(
        int(line.split()[0]) for line in candidates_text(program, "paper").splitlines()
    )
    for lines in sorted(output.glob(f"{stem}-*.jsonl")):
        timings = read_entries(lines, "cutune-timing-1")
        found = Counter(timing["site"] for timing in timings)
        whole = [timing for timing in timings if found[timing["site"]] >= wanted[timing["site"]]]
        if len(whole) < sum(wanted.values()):
            print(f"{lines.name}: {sum(wanted.values()) - len(whole)} blocks are missing")
        size = int(lines.stem.rpartition("-")[2])
        yield from swept_launches(program, whole, size, TOLERANCE, counters)


def _joined(
    recorded: Iterable[SweptLaunch], measured: Sequence[SweptLaunch]
) -> Iterator[SweptLaunch]:
    again = {(launch.program, launch.kernel, launch.size) for launch in measured}
    yield from measured
    yield from (r for r in recorded if (r.program, r.kernel, r.size) not in again)


if __name__ == "__main__":
    if sys.argv[1] == "prepare":
        prepare(Path(sys.argv[2]), sys.argv[3:])
    else:
        save(Path(sys.argv[2]))
