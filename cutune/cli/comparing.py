"""`verify`, `shake`: two programs that should give the same."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from errno import ENOENT
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutune.check.verify import Conditions, verify
from cutune.cli.main import Options, varied_values
from cutune.cli.options import parser
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.temporary import temporary_folder
from cutune.measure.agreement import Agreement
from cutune.measure.program_runs import Run, RunPlan, plan_runs

if TYPE_CHECKING:
    from cutune.check.shake import SeededRun, Shaken
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.source.program import Program

VERIFY_SCHEMA, SHAKE_SCHEMA = "cutune-verify-1", "cutune-shake-1"

#: Each is a run of the program.
MOST_SEEDS = 100_000


def verify_verb(options: Options) -> int:
    """Do a program and its tuned form give the same?"""
    # Wrong options are reported before anything is built.
    _check_named(options)
    conditions = _conditions(options)
    _check_programs(options)
    runs: list[dict[str, object]] = []
    with temporary_folder() as folder:
        original, tuned = _both_plans(options, Path(folder))
        for known, difference in verify(original, tuned, conditions):
            for remark in known.remarks():
                options.say(remark)
            if difference is not None:
                options.say(difference)
            reason = difference.message if difference is not None else None
            runs.append({"values": dict(known.run.values), "same": not reason, "reason": reason})
            if not options.json:
                values = _values(known.run.values) or "the run"
                print(f"{'differs' if reason else 'same'}: {values}", flush=True)
    if options.json:
        print(json.dumps({"schema": VERIFY_SCHEMA, "runs": runs}, indent=1))
    return 0 if all(run["same"] for run in runs) else 1


def _check_named(options: Options) -> None:
    if options.make is not None:
        _check_project(options, [one for one in (options.original, options.tuned) if one])
        return
    if options.tuned is None:
        options.wrong("name both programs, or what builds them: --make make")
    for path in (options.original, options.tuned):
        if Path(path).is_dir():
            options.wrong(f"'{path}' is a folder; name the program in it, or its source")


def _check_programs(options: Options) -> None:
    if options.make is not None:
        return
    _plan(options, Path("program"))
    for path in (options.original, options.tuned):
        if not Path(path).exists():
            raise CutuneError.at(Code.UNREADABLE_FILE, path=path, reason=os.strerror(ENOENT))


def _check_project(options: Options, named: Sequence[str]) -> None:
    if named:
        options.wrong("with --make, no programs or sources: the build makes them")
    if not options.make.strip():
        options.wrong("--make names no command, as in --make make")
    if not options.run or "{program}" in options.run:
        options.wrong("with --make, --run names the program: --run './app {n}'")
    _plan(options, Path())


def _both_plans(options: Options, folder: Path) -> list[list[Run]]:
    """The runs of the original and of the tuned program, once both are built."""
    if options.make is not None:
        from cutune.tuning.nvcc.command import TUNED
        from cutune.tuning.nvcc.units import models_in

        models_in(options.place)
        return _project_plans(options, TUNED, folder)
    return [
        _plan(options, _built(path, folder / name, options))
        for name, path in (("original", options.original), ("tuned", options.tuned))
    ]


def _project_plans(options: Options, mode: str, folder: Path) -> list[list[Run]]:
    """The runs of a project as it is, and as it is built in a mode. Raises CT706, CT707."""
    from cutune.tuning.nvcc.command import EMULATED, OFF
    from cutune.tuning.project import ProjectBuild, build_copies

    is_emulated = options.on == "emulated"
    modes = (EMULATED, f"{mode},{EMULATED}") if is_emulated else (OFF, mode)
    vary = varied_values(options.vary)
    project = ProjectBuild(options.make, RunPlan(options.run, vary, "paper"), options.clean)
    copies = build_copies(project, options.analyzer, options.device, options.place, modes, folder)
    plan = _plan(options, Path())
    return [[replace(run, folder=copy) for run in plan] for copy in copies]


def shake_verb(options: Options) -> int:
    """Does a program give the same with random configurations?"""
    if options.make is not None:
        return _shake_project(options)
    if not options.files:
        options.wrong("name the sources of the program, or what builds it: --make make")
    from cutune.check.shake import SeededRun, Shaken, trials_of
    from cutune.cli.report.programs import print_programs
    from cutune.proof.variants.registry import checked_names

    # Wrong options are reported before anything is built.
    named = _named_trial(options)
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
            options.say(remark)
    status = _show_shaken(options, found, trials, launches, tunable)
    if not tunable and not options.json:
        print_programs(programs)
    return status


def _named_trial(options: Options) -> SeededRun | None:
    if not 0 <= options.seeds <= MOST_SEEDS or (options.jobs is not None and options.jobs < 1):
        options.wrong(f"--seeds takes a count up to {MOST_SEEDS}, --jobs one from 1")
    return named_trial() if options.seeds else None


def _shake_project(options: Options) -> int:
    """Shake what a build makes: a program, or libraries that a script loads."""
    from cutune.check.shake import Shaken, shake, trials_of
    from cutune.tuning.nvcc.command import SHAKEN
    from cutune.tuning.nvcc.units import noted_launches

    _check_project(options, options.files)
    named = _named_trial(options)
    trials = [named] if named is not None else trials_of(range(1, options.seeds + 1))
    # Programs of a project may write the same files.
    jobs, found = options.jobs or 1, list[Shaken]()
    conditions, progress = _conditions(options, jobs), options.reporter.progress
    with nullcontext(options.keep) if options.keep else temporary_folder() as folder:
        original, shaken = _project_plans(options, SHAKEN, Path(folder))
        noted = noted_launches(options.place)
        tunable = sum(one.is_tunable for one in noted)
        if tunable:
            found = _until_different(shake(original, shaken, trials, conditions, jobs, progress))
    for one in found:
        for remark in one.remarks():
            options.say(remark)
    return _show_shaken(options, found, trials, len(noted), tunable)


def _show_shaken(
    options: Options,
    found: Sequence[Shaken],
    trials: Sequence[SeededRun],
    launches: int,
    tunable: int,
) -> int:
    difference = _difference(found, options)
    if options.json:
        counts = {"launches": launches, "tunable": tunable, "trials": len(trials)}
        outcome = {"runs": len(found), "same": difference is None, "difference": difference}
        print(json.dumps({"schema": SHAKE_SCHEMA, **counts, **outcome}, indent=1))
    elif not tunable:
        print(f"nothing may change: 0 of {launches} launches are tunable")
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
    # Programs that write the same file, or share a GPU's memory, run one after the other.
    is_alone = options.file or (options.on == "gpu" and options.jobs is None)
    jobs = 1 if is_alone else options.jobs or os.cpu_count() or 1
    conditions = _conditions(options, jobs)
    return _until_different(shake(original, shaken, trials, conditions, jobs, progress))


def _until_different(runs: Iterator[Shaken]) -> list[Shaken]:
    found: list[Shaken] = []
    for one in runs:
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
