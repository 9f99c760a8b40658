"""Parameters of a program: measured, fitted, and all of it by `tune --tunables`; `fit --table`.

Takes programs and options, or tables and what their columns mean; prints what was chosen, writes
the tuned program or a classifier.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from lark import UnexpectedInput

from cutune.cli.common import (
    Options,
    print_values,
    show,
    show_compile_line,
    start_of,
    varied_values,
)
from cutune.cli.options import parser
from cutune.cli.report.classifiers import (
    print_comparison,
    print_fixed,
    print_model,
    print_published_procedure,
    print_sets,
    print_transfers,
)
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import write_document, write_text
from cutune.proof.unit_compiler import UnitCompiler
from cutune.search.builds import tuned_copy
from cutune.search.collect import HostSweep, Search, collect_host
from cutune.search.compare import compare
from cutune.search.neighbours.classifier import (
    SCHEMA,
    accuracy,
    corrected,
    document_entry,
    fit_choice,
    leave_one_out,
    null_accuracy,
    observed,
    transfer,
)
from cutune.search.neighbours.emit_classifier import emit_choices
from cutune.search.neighbours.published_procedure import distribution, search
from cutune.search.neighbours.table import Columns, read_labels, read_table
from cutune.search.regions import rules_of
from cutune.search.techniques.registry import TECHNIQUES as EVERY
from cutune.search.techniques.registry import technique_named
from cutune.search.techniques.tries import Budget
from cutune.search.trial_runs import GPU, Measuring
from cutune.search.tunables.choices import HostChoices, choices_of, fit_host, write_choices
from cutune.search.tunables.measured_blocks import fit_blocks
from cutune.search.tunables.verb_options import LIMIT_PERCENT, TECHNIQUES
from cutune.search.workers.choose_workers import workers_of
from cutune.source.program import Program
from cutune.source.rewrite.output import Target
from cutune.space.annotation import names_in, read_condition
from cutune.space.parameter import holes
from cutune.tuning.stages import emit


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


def fit_measured(program: Program, options: Options, limit: float) -> None:
    workspace = options.place
    has_host_times = workspace.trials.exists()
    asked = options.parameters
    may_lack = has_host_times or bool(asked.parameters)
    blocks = fit_blocks(show, program, workspace, limit, may_lack)
    has_parameters = program.tunables or program.constants or asked.parameters
    is_host_wanted = has_host_times or (has_parameters and not blocks)
    choices = HostChoices(None, [])
    if is_host_wanted:
        about = asked, program, workspace, limit, options.profile
        choices = fit_host(UnitCompiler(options.toolchain), show, *about)
    write_choices(program, workspace, choices, blocks)
    if choices.fixed is not None:
        print_fixed(choices.fixed)
    if choices.sets is not None:
        print_sets(choices.sets)
    for model in choices.models:
        print_model(model)
    for choice in blocks:
        print(f"{choice.kernel} on {choice.device}:")
        print_model(choice.model)


def tune_tunables(options: Options, target_of: Callable[[Program], Target]) -> int:
    """Run all configurations on a GPU, and write the best where `target_of` says."""

    if options.json:
        options.wrong("--tunables has no --json; cutune collect --tunables and fit have it")
    if len(options.files) != 1:
        options.wrong("--tunables takes one FILE, also with --make: that with the pragmas")
    analyzer, workspace, asked = options.analyzer, options.place, options.parameters
    (program,) = programs = analyzer.load_all(options.files, require_nvcc=True)
    target = target_of(program)
    collect_tunables(programs, options, GPU)
    fit_measured(program, options, LIMIT_PERCENT / 100)
    written = emit(analyzer, program, workspace, options.profiles, target, parameters=asked)
    print(f"tuned program: {written}")
    print_values(asked, program, workspace)
    if options.make is None:
        show_compile_line(analyzer.toolchain, program, target)
        return 0
    values, nvcc = choices_of(program, workspace).fixed, analyzer.toolchain.nvcc
    built = tuned_copy(nvcc, asked, program, target, workspace.folder, values)
    if built.failure:
        show(Diagnostic.at(Code.TUNED_NOT_BUILT, copy=built.path, reason=built.failure))
    else:
        print(f"built with it: {os.path.relpath(built.path)}")
    return 0


def fit_tables(options: Options) -> int:
    """The verb; the status for the shell."""
    if options.sizes is None or options.choose is None:
        raise _misuse("--table needs the columns: --sizes N --choose m --time ms")
    columns = _columns(options)
    if columns.time is None:
        if len(options.table) > 1 or options.output is not None or options.given:
            raise _misuse("without --time there are labels only; name the column of times")
        labels, split = read_labels(_named(options.table[0])[1], columns), options.split
        print(
            f"{len(labels)} labelled sizes: leave-one-out accuracy "
            f"{accuracy(leave_one_out(labels), labels):.3f}, most frequent class "
            f"{null_accuracy(labels):.3f}"
        )
        if split is not None:
            print_published_procedure("labels", search(labels, split), distribution(labels))
        return 0
    paths = dict(map(_named, options.table))
    if len(paths) < len(options.table):
        raise _misuse("tables of several devices need names: --table a=a.csv --table b=b.csv")
    tables = {name: read_table(path, columns) for name, path in paths.items()}
    limit = checked_limit(options.limit)
    if len(tables) > 1 and options.given:
        raise _misuse("tables of several devices are compared without --given")
    table = next(iter(tables.values()))
    given = len(options.given.split(",")) if options.given else 0
    model = fit_choice(table, limit, given)
    print_model(model)
    if options.split is not None:
        optima = {"observed": observed(table), "corrected": corrected(table, limit)}
        for word, labels in optima.items():
            split, every = search(labels, options.split), distribution(labels)
            print_published_procedure(f"{word} optima", split, every)
    if len(tables) > 1:
        print_transfers(model, transfer(tables, limit))
    if options.output is not None:
        path = Path(options.output)
        if path.suffix == ".json":
            write_document(path, SCHEMA, {"models": [document_entry(model)]})
        else:
            write_text(path, emit_choices([model]))
    return 0


def checked_limit(percent: float) -> float:
    """The limit as a fraction. Raises CT545 for one below 0, which no configuration keeps."""
    if not percent >= 0:
        raise _misuse(f"--limit {percent:g} is below 0")
    return percent / 100


def _columns(options: Options) -> Columns:
    conditions = []
    for word in options.where:
        name, equals, text = word.partition("=")
        if not equals:
            raise _misuse(f"'{word}' is no condition; write --where precision=fp64")
        conditions.append((name, text))
    given = options.given.split(",") if options.given else []
    sizes, tunables = (*given, *options.sizes.split(",")), tuple(options.choose.split(","))
    if options.allow is not None:
        _check_condition(options.allow, {*sizes, *tunables})
    return Columns(sizes, tunables, options.time, tuple(conditions), options.allow)


def _check_condition(text: str, known: set[str]) -> None:
    try:
        names = names_in(read_condition(text))
    except UnexpectedInput:
        raise _misuse(f"--allow '{text}' is not understood; write it as 'N >= 2 * m'") from None
    if names - known:
        listed = ", ".join(sorted(known))
        raise _misuse(f"--allow speaks of '{min(names - known)}'; it may speak of {listed} alone")


def _named(word: str) -> tuple[str, str]:
    """`NAME=FILE`, or a file that is named after itself."""
    name, equals, path = word.partition("=")
    return (name, path) if equals and not Path(word).exists() else (Path(word).stem, word)


def _misuse(reason: str) -> CutuneError:
    return CutuneError.at(Code.BAD_TABLE_OPTION, reason=reason)
