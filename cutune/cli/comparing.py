"""`verify`, `shake`: two programs that should give the same."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from errno import ENOENT
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutune.check.verify import Conditions, verify
from cutune.cli.main import Options, show, varied_values
from cutune.cli.options import parser
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.measure.agreement import Agreement
from cutune.measure.program_runs import Run, plan_runs

if TYPE_CHECKING:
    from cutune.check.shake import SeededRun, Shaken
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.source.program import Program

VERIFY_SCHEMA, SHAKE_SCHEMA = "cutune-verify-1", "cutune-shake-1"


def verify_verb(options: Options) -> int:
    """Do a program and its tuned form give the same?"""
    # Wrong options are reported before anything is built.
    for path in (options.original, options.tuned):
        if Path(path).is_dir():
            options.wrong(f"'{path}' is a folder; name the program in it, or its source")
    conditions = _conditions(options)
    _plan(options, Path("program"))
    for path in (options.original, options.tuned):
        if not Path(path).exists():
            raise CutuneError.at(Code.UNREADABLE_FILE, path=path, reason=os.strerror(ENOENT))
    runs: list[dict[str, object]] = []
    with temporary_folder() as folder:
        plans = [
            _plan(options, _built(path, Path(folder) / name, options))
            for name, path in (("original", options.original), ("tuned", options.tuned))
        ]
        for known, difference in verify(plans[0], plans[1], conditions):
            for remark in known.remarks():
                show(remark)
            if difference is not None:
                show(difference)
            reason = difference.message if difference is not None else None
            runs.append({"values": dict(known.run.values), "same": not reason, "reason": reason})
            if not options.json:
                values = _values(known.run.values) or "the run"
                print(f"{'differs' if reason else 'same'}: {values}", flush=True)
    if options.json:
        print(json.dumps({"schema": VERIFY_SCHEMA, "runs": runs}, indent=1))
    return 0 if all(run["same"] for run in runs) else 1


def shake_verb(options: Options) -> int:
    """Does a program give the same with random configurations?"""
    from cutune.check.shake import SeededRun, Shaken, trials_of
    from cutune.cli.report.programs import print_programs
    from cutune.proof.variants.registry import checked_names

    # Wrong options are reported before anything is built.
    if options.seeds < 0 or (options.jobs is not None and options.jobs < 1):
        options.wrong("--seeds takes a count, --jobs one from 1")
    named = named_trial() if options.seeds else None
    _conditions(options)
    _plan(options, Path("program"))
    analyzer = options.analyzer
    programs = analyzer.load_all(options.files, require_nvcc=True)
    launches = sum(len(program.launches) for program in programs)
    tunable = sum(len(program.tunable_launches) for program in programs)
    trials, found = list[SeededRun](), list[Shaken]()
    if tunable:
        programs = [analyzer.with_checked_variants(program) for program in programs]
        seeds = range(1, options.seeds + 1)
        trials = [named] if named is not None else trials_of(seeds, checked_names(programs))
        with nullcontext(options.keep) if options.keep else temporary_folder() as folder:
            found = _shaken(options, analyzer, programs, trials, Path(folder))
    for one in found:
        for remark in one.remarks():
            show(remark)
    difference = _difference(found, options)
    if options.json:
        counts = {"launches": launches, "tunable": tunable, "trials": len(trials)}
        outcome = {"runs": len(found), "same": difference is None, "difference": difference}
        print(json.dumps({"schema": SHAKE_SCHEMA, **counts, **outcome}, indent=1))
    elif not tunable:
        print(f"nothing may change: 0 of {launches} launches are tunable")
        print_programs(programs)
    elif difference is not None:
        where = ", ".join(filter(None, [difference["trial"], _values(difference["values"])]))
        print(f"differs: {where}: {difference['reason']}")
        print("see it again:", difference["again"])
    else:
        runs = f", {len(found)} runs" if len(found) > 1 else ""
        launched = _counted(tunable, "tunable launch", "es")
        print(f"same: {_tried(trials)}, {launched}{runs}")
    return 0 if difference is None else 1


def _tried(trials: Sequence[SeededRun]) -> str:
    forced = [trial for trial in trials if trial.variant is not None]
    seeds = {trial.seed for trial in trials if trial.seed is not None}
    if not seeds:
        return str(trials[0])
    variants = f", {_counted(len(forced), 'variant')}" if forced else ""
    return f"{_counted(len(seeds), 'seed')}{variants}"


def _shaken(
    options: Options,
    analyzer: Analyzer,
    programs: Sequence[Program],
    trials: Sequence[SeededRun],
    folder: Path,
) -> list[Shaken]:
    """Results of the runs, up to the first that differs."""
    from cutune.check.shake import build_both, shake

    progress = analyzer.reporter.progress
    progress("compiling", 0, 1)
    target = () if options.on == "gpu" else None
    built = build_both(analyzer, programs, folder, target)
    original, shaken = (_plan(options, binary) for binary in built)
    progress("compiling", 1, 1)
    found: list[Shaken] = []
    # Programs that write the same file, or share a GPU's memory, run one after the other.
    is_alone = options.file or (options.on == "gpu" and options.jobs is None)
    jobs = 1 if is_alone else options.jobs or os.cpu_count() or 1
    conditions = _conditions(options, jobs)
    for one in shake(original, shaken, trials, conditions, jobs, progress):
        found.append(one)
        if one.trial is not None:
            break
    return found


def _difference(found: Sequence[Shaken], options: Options) -> dict[str, Any] | None:
    if not found or found[-1].trial is None:
        return None
    trial, values = found[-1].trial, dict(found[-1].run.values)
    is_own = trial.seed is None
    named = [] if is_own else [f"{name}={value}" for name, value in trial.variables.items()]
    words = ["cutune", *options.words, *(["--seeds", "0"] if is_own else [])]
    again = " ".join([*named, shlex.join(words)])
    return {"trial": str(trial), "values": values, "reason": found[-1].reason, "again": again}


def named_trial() -> SeededRun | None:
    """The one run that the environment names, as it is printed where a run differs."""
    from cutune.check.shake import SEED, VARIANT, SeededRun

    seed = os.environ.get(SEED, "")
    if not seed:
        return None
    if not re.fullmatch(r"[0-9]+", seed):
        parser().verbs()["shake"].error(f"{SEED} is an integer, not '{seed}'")
    return SeededRun(int(seed), os.environ.get(VARIANT) or None)


def _conditions(options: Options, jobs: int = 1) -> Conditions:
    tolerance, exact = options.tolerance, options.tolerance is None
    relative = 1e-5 if exact else tolerance
    agreement = Agreement(options.identical, relative, options.absolute, options.ignored, exact)
    if options.on == "gpu":
        from cutune.measure.gpu_sweep import require_gpu

        require_gpu()
    device = options.profile if options.on == "emulated" else None
    threads = max(1, (os.cpu_count() or 1) // jobs) if jobs > 1 else None
    return Conditions(device, tuple(options.file), threads, agreement, options.statuses)


def _built(path: str, place: Path, options: Options) -> Path:
    if not path.endswith(".cu"):
        return Path(path)
    from cutune.emulator.program_builds import build_emulated, build_plain

    toolchain = options.toolchain
    place.mkdir()
    if options.on == "emulated":
        return build_emulated(toolchain, path, place, options.reporter.progress)
    return build_plain(toolchain, path, place)


def _plan(options: Options, binary: Path) -> list[Run]:
    return plan_runs(options.run, varied_values(options.vary), binary)


def _values(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _counted(number: int, noun: str, plural: str = "s") -> str:
    return f"{number} {noun}{'' if number == 1 else plural}"
