"""`evaluate`, `collect --on gpu`, `collect --tunables`: options in, tables and files out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from cutune.check.evaluate import evaluate
from cutune.check.training_table import training_rows
from cutune.cli.common import Options, show, start_of, varied_values
from cutune.cli.options import CACHE_STATES, parser
from cutune.cli.report.classifiers import print_comparison
from cutune.cli.report.evaluations import print_evaluation, print_training, save
from cutune.measure.collect import measurements
from cutune.measure.gpu_sweep import sweep
from cutune.model.fit.fitted_model import read_models
from cutune.model.measurement.measurement import by_entry
from cutune.model.measurement.sweep import read_sweep, write_sweep
from cutune.search.collect import HostSweep, Search, collect_host
from cutune.search.compare import compare
from cutune.search.regions import rules_of
from cutune.search.techniques.registry import TECHNIQUES as EVERY
from cutune.search.techniques.registry import technique_named
from cutune.search.techniques.tries import Budget
from cutune.search.trial_runs import GPU, Measuring
from cutune.search.tunables.verb_options import TECHNIQUES
from cutune.search.workers.choose_workers import workers_of
from cutune.source.program import Program
from cutune.space.parameter import holes
from cutune.toolchain.device.present import profile_of
from cutune.toolchain.device.profile import DeviceProfile


def evaluate_verb(options: Options) -> int:
    """Compare the models of a workspace with a sweep, or with counters (`--training`)."""
    if not options.files and options.recorded is None and not options.training:
        options.wrong("name the sources to be swept, or a sweep with --from")
    plan, device, analyzer = options.plan, options.profile, options.analyzer
    workspace = options.place
    models = read_models(workspace.models)
    if options.training:
        counts = {k.entry: own for k, own in by_entry(*measurements(workspace, show))}
        print_training(
            row for m in models for row in training_rows(m, counts[m.kernel.entry], device)
        )
        return 0
    if options.recorded is not None:
        if options.cache is not None or options.save is not None:
            options.wrong("with --from nothing is swept; leave out --cache and --save")
        swept = read_sweep(Path(options.recorded))
        if not options.names_device:
            known = profile_of(swept.device)
            device = DeviceProfile.named(known) if known else device
    else:
        programs = analyzer.load_all(options.files, require_nvcc=True)
        cache = options.cache or CACHE_STATES[0]
        swept = sweep(analyzer, programs, plan, device, workspace, cache)
        if options.save is not None:
            write_sweep(Path(options.save), swept)
    found = evaluate(swept, models, device, options.files, options.train, options.model)
    print_evaluation(found, not options.scores)
    save(found, options.json, options.csv)
    return 0


def collect_tunables(programs: Sequence[Program], options: Options, on: str) -> None:
    """Run the configurations of a program, and say what was found. `on`: where they run."""
    if len(programs) > 1 or options.repetitions < 1 or options.jobs < 1:
        options.wrong("--tunables takes one FILE, at least one repetition and job")
    _check_make(options)
    if options.timeout is not None and not 0 < options.timeout < math.inf:
        options.wrong("--timeout takes seconds, more than none")
    names = _names(options)
    tolerance = options.tolerance
    if tolerance is not None and not 0 <= tolerance < math.inf:
        options.wrong("--tolerance takes a number from 0 on, as 1e-3")
    rules = rules_of(tolerance, options.ignored)
    how = Measuring(on, options.repetitions, options.timeout, rules)
    search, statuses = _search(options, on), options.statuses
    folder = options.place.folder
    workers = workers_of(options, on == GPU, folder, parser().error)
    kept, parameters = None, options.parameters
    sweep = HostSweep(names, how, search, options.jobs, statuses, workers, kept, parameters)
    vary, workspace, device = varied_values(options.vary), options.place, options.profile
    about = programs[0], options.run, vary, workspace, sweep, device
    found = collect_host(options.toolchain, options.reporter, *about)
    timed = "timed" if on == GPU else "run on the emulated device, which has no time"
    print(f"{len(found.measured)} configurations {timed}")
    if found.others:
        print(f"{found.others} more, none of the fastest, shared processes: they were not compared")
    for tie in found.ties:
        print(f"equally fast for {tie}")
    effects = found.effects
    if effects.programs > effects.different:
        idle = f"; without effect: {', '.join(effects.idle)}" if effects.idle else ""
        print(f"{effects.programs} programs, {effects.different} different{idle}")


def _check_make(options: Options) -> None:
    """With `--make`, options that do not reach the build are wrong."""
    if options.make is None:
        return
    if not options.make.strip():
        options.wrong("--make names no command, as in --make make")
    if "{program}" in options.run:
        options.wrong("with --make, --run names the program: --run './app {n}'")
    named = holes(options.nvcc_flag)
    if named:
        options.wrong(
            f"--nvcc-flag does not reach --make; write {{{min(named)}}} there, as "
            "in --make 'make NVCCFLAGS=-maxrregcount={R}'"
        )


def compare_techniques(programs: Sequence[Program], options: Options) -> None:
    """How many configurations techniques need, by what was tried."""
    if len(programs) > 1 or options.search is not None or options.technique is not None:
        options.wrong("--compare takes one FILE, no --search and no --technique")
    installed = (one.name for one in EVERY if one.is_installed)
    asked = options.compare.split(",") if options.compare else installed
    techniques = list({one.name: one for one in map(technique_named, asked)}.values())
    names = _names(options)
    path, device = options.place.trials, options.profile
    about = programs[0], options.run, path, names, techniques, device
    for one in compare(options.reporter, options.parameters, *about):
        print_comparison(one)


def _names(options: Options) -> list[str]:
    """The parameters that `--tunables` names; none: all."""
    return [name for name in options.tunables.split(",") if name]


def _search(options: Options, on: str) -> Search | None:
    """The search that is asked for; None: run all. Raises CT801, CT815, CT816, CT817."""
    start = start_of(options.start)
    technique = technique_named(TECHNIQUES[0] if options.technique is None else options.technique)
    if options.search is None:
        if options.technique is not None or start:
            options.wrong("--technique and --start are those of --search BUDGET")
        return None
    budget = Budget.read(options.search)
    if on != GPU:
        options.wrong("--search compares times: add --on gpu")
    return Search(technique, budget, start)
