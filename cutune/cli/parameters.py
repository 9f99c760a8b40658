"""Parameters of a program: measured, fitted, and all of it by `tune --tunables`; `fit --table`."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path

from lark import UnexpectedInput
from rich.console import Console
from rich.table import Table

from cutune.cli.main import Options, print_values, show_compile_line, varied_values
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import write_document, write_text
from cutune.proof.compiled import UnitCompiler
from cutune.search.builds import tuned_copy
from cutune.search.clones.value_sets import FixedChoice, SetChoice
from cutune.search.compare import MOST, TunerComparison, compare, quartiles
from cutune.search.measure_parameters import HostSweep, Search, measure_parameters
from cutune.search.neighbours.classifier import (
    SCHEMA,
    ChoiceModel,
    FittedClassifier,
    Regret,
    Transfers,
    accuracy,
    corrected,
    document_entry,
    fit_choice,
    leave_one_out,
    null_accuracy,
    transfer,
)
from cutune.search.neighbours.emit_classifier import emit_choices
from cutune.search.neighbours.published_procedure import distribution, search
from cutune.search.neighbours.table import Columns, Configuration, Point, read_labels, read_table
from cutune.search.regions import rules_of
from cutune.search.techniques.registry import TECHNIQUES as EVERY
from cutune.search.techniques.registry import technique_named
from cutune.search.techniques.tries import Budget
from cutune.search.trial_runs import GPU, Measuring, named
from cutune.search.tunables.choices import HostChoices, choices_of, fit_host, write_choices
from cutune.search.tunables.measured_blocks import fit_blocks
from cutune.search.tunables.verb_options import LIMIT_PERCENT, TECHNIQUES
from cutune.search.workers.choose_workers import workers_of
from cutune.source.program import Program
from cutune.source.rewrite.output import Target
from cutune.space.annotation import Value, names_in, read_condition
from cutune.space.parameter import holes, read_option
from cutune.tuning.stages import emit


def collect_tunables(programs: Sequence[Program], options: Options, on: str) -> None:
    """Run the configurations of a program, and say what was found. `on`: where they run."""
    if len(programs) > 1 or options.repetitions < 1 or options.jobs < 1:
        options.wrong("--tunables takes one FILE, at least one repetition and job")
    _check_make(options)
    if options.timeout is not None and not 0 < options.timeout < inf:
        options.wrong("--timeout takes seconds, more than none")
    if options.tolerance is not None and not 0 <= options.tolerance < inf:
        options.wrong("--tolerance takes a number from 0 on, as 1e-3")
    rules = rules_of(options.tolerance, options.ignored)
    search, statuses, workspace = _search(options, on), options.statuses, options.place
    sweep = HostSweep(
        programs[0],
        options.run,
        workspace=workspace,
        how=Measuring(on, options.repetitions, options.timeout, rules),
        search=search,
        jobs=options.jobs,
        statuses=statuses,
        workers=workers_of(options, on == GPU, workspace.folder, options.wrong),
        vary=varied_values(options.vary),
        names=_names(options),
        device=options.profile,
        parameters=options.parameters,
    )
    found = measure_parameters(options.toolchain, options.reporter, sweep)
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
    if named := holes(options.nvcc_flag):
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
    compared = compare(
        options.reporter,
        options.parameters,
        programs[0],
        options.run,
        options.place.trials,
        _names(options),
        techniques,
        options.profile,
    )
    for one in compared:
        print_comparison(one)


def _names(options: Options) -> list[str]:
    return [name for name in options.tunables.split(",") if name]


#: `--start model`: begin with what the model finds fastest.
BY_MODEL = "model"


def _search(options: Options, on: str) -> Search | None:
    """The search that is asked for; None: run all. Raises CT801, CT815, CT816, CT817."""
    is_predicted = options.start == BY_MODEL
    start = {} if is_predicted else _start_of(options.start)
    technique = technique_named(TECHNIQUES[0] if options.technique is None else options.technique)
    if options.search is None:
        if options.technique is not None or options.start is not None:
            options.wrong("--technique and --start are those of --search BUDGET")
        return None
    budget = Budget.read(options.search)
    if on != GPU:
        options.wrong("--search compares times: add --on gpu")
    return Search(technique, budget, start, is_predicted)


def _start_of(text: str | None) -> dict[str, Value]:
    """The values of `--start`. Raises CT425, CT801, CT802."""
    start: dict[str, Value] = {}
    for one in map(read_option, text.split(",") if text is not None else ()):
        if one.name in start:
            raise CutuneError.at(Code.PARAMETER_TWICE, name=one.name)
        if len(one.values) > 1:
            reason = f"--start: '{one.name}' begins with one value, as in --start {one.name}=1"
            raise CutuneError.at(Code.BAD_SWEEP, reason=reason)
        start[one.name] = one.values[0]
    return start


def fit_measured(program: Program, options: Options, limit: float) -> None:
    """Fit what was measured of a program, blocks or parameters, and print it."""
    workspace, asked, choices = options.place, options.parameters, HostChoices(None, [])
    has_host_times = workspace.trials.exists()
    may_lack = has_host_times or bool(asked.parameters)
    blocks = fit_blocks(options.say, program, workspace, limit, may_lack)
    has_parameters = program.tunables or program.constants or asked.parameters
    if has_host_times or (has_parameters and not blocks):
        compiler, say = UnitCompiler(options.toolchain), options.say
        choices = fit_host(compiler, say, asked, program, workspace, limit, options.profile)
    write_choices(program, workspace, choices, blocks)
    if choices.fixed is not None:
        _print_fixed(choices.fixed)
    if choices.sets is not None:
        _print_sets(choices.sets)
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
        options.say(Diagnostic.at(Code.TUNED_NOT_BUILT, copy=built.path, reason=built.failure))
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
        labels = read_labels(_name_and_path(options.table[0])[1], columns)
        print(
            f"{len(labels)} labelled sizes: leave-one-out accuracy "
            f"{accuracy(leave_one_out(labels), labels):.3f}, most frequent class "
            f"{null_accuracy(labels):.3f}"
        )
        if options.split is not None:
            _print_published_procedure("labels", labels, options.split)
        return 0
    paths = dict(map(_name_and_path, options.table))
    if len(paths) < len(options.table):
        raise _misuse("tables of several devices need names: --table a=a.csv --table b=b.csv")
    tables = {name: read_table(path, columns) for name, path in paths.items()}
    table, limit = next(iter(tables.values())), checked_limit(options.limit)
    if len(tables) > 1 and options.given:
        raise _misuse("tables of several devices are compared without --given")
    model = fit_choice(table, limit, len(options.given.split(",")) if options.given else 0)
    print_model(model)
    if options.split is not None:
        optima = {"observed": table.best, "corrected": corrected(table, limit)}
        for word, labels in optima.items():
            _print_published_procedure(f"{word} optima", labels, options.split)
    if len(tables) > 1:
        _print_transfers(model, transfer(tables, limit))
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


def _name_and_path(word: str) -> tuple[str, str]:
    """`NAME=FILE`, or a file that is named after itself."""
    name, equals, path = word.partition("=")
    return (name, path) if equals and not Path(word).exists() else (Path(word).stem, word)


def _misuse(reason: str) -> CutuneError:
    return CutuneError.at(Code.BAD_TABLE_OPTION, reason=reason)


def print_model(model: ChoiceModel) -> None:
    """The rule of each choice, and its evidence."""
    print(f"{', '.join(model.tunables)}, at most {model.limit:.1%} slower at measured sizes")
    for choice in model.choices:
        if model.given:
            print(f"given {named(dict(zip(model.given, choice.given, strict=True)))}:")
        _print_choice(model, choice)


def _print_fixed(choice: FixedChoice) -> None:
    print(f"{named(choice.values)} at all sizes: {_lost(choice, choice.lost)}")
    if choice.own is not None and choice.own != choice.values:
        print(f"  the program's own {named(choice.own)}: {_lost(choice, choice.own_lost)}")


def _print_sets(choice: SetChoice) -> None:
    print(f"{', '.join(choice.names)} by {', '.join(choice.model.sizes)}, in one program:")
    for number, values in enumerate(choice.sets, 1):
        print(f"  set {number}: {named(dict(zip(choice.names, values, strict=True)))}")
    print("  set 0: the program's own values")
    for one in choice.model.choices:
        _print_choice(choice.model, one)


def _lost(choice: FixedChoice, regret: Regret | None) -> str:
    if regret is None:
        return "not known"
    place = zip(choice.sizes, regret.worst_point, strict=True)
    where = f" ({named(dict(place))})" if choice.sizes else ""
    return f"time lost mean {regret.mean:.2%}, worst {regret.worst:.2%}{where}"


def _print_choice(model: ChoiceModel, choice: FittedClassifier) -> None:
    evidence = choice.evidence
    if choice.limits is not None:
        for limit, label in zip(choice.limits, choice.configurations, strict=False):
            print(f"  {model.sizes[0]} <= {limit}: {_named(model, label)}")
        print(f"  above: {_named(model, choice.configurations[-1])}")
    else:
        print(f"  the nearest of {len(choice.points or ())} measured sizes")
    if evidence is None:
        return
    print(
        f"  {choice.measured} sizes; leave-one-out accuracy {evidence.observed_accuracy:.3f} "
        f"observed, {evidence.corrected_accuracy:.3f} corrected; most frequent class "
        f"{evidence.null_accuracy:.3f}"
    )
    print(f"  time lost at measured sizes: {_loss(model, evidence.at_measured)}")
    print(f"  time lost where the size was left out: {_loss(model, evidence.left_out)}")
    if evidence.amid:
        amid = ", ".join(map(str, evidence.amid))
        print(f"  as much may be lost between; measure {model.sizes[0]} = {amid} too")
    if evidence.fixed is not None:
        loss = _loss(model, evidence.at_fixed)
        print(f"  time lost with {_named(model, evidence.fixed)} everywhere: {loss}")


def _print_published_procedure(
    name: str, labels: Mapping[Point, Configuration], random_state: int
) -> None:
    """One split of the published procedure, beside many."""
    split, every = search(labels, random_state), distribution(labels)
    remark = "" if split.complete else " (a class is missing in training)"
    print(
        f"split {split.random_state} of {name}: k = {split.k}, accuracy {split.accuracy:.2f}, "
        f"most frequent class {split.null_accuracy:.2f}; {split.training} sizes for training, "
        f"{split.tested} for testing{remark}"
    )
    if every is None:
        print("  no split keeps every class in training")
        return
    print(
        f"  1-NN over {every.splits} splits, {every.complete} with every class in "
        f"training: mean {every.mean:.2f}, from {every.lowest:.2f} to "
        f"{every.highest:.2f}; perfect in {every.perfect:.1%}"
    )


def _print_transfers(model: ChoiceModel, transfers: Transfers) -> None:
    """The loss of each device's heuristic on each device."""
    names = list(dict.fromkeys(made_on for made_on, _ in transfers))
    table = Table("heuristic of", *(f"on {name}" for name in names), box=None)
    for made_on in names:
        table.add_row(made_on, *(_loss(model, transfers[made_on, used_on]) for used_on in names))
    Console(emoji=False).print(table)


def print_comparison(comparison: TunerComparison) -> None:
    """Print what each technique needs to be within 5 % of the best at a size, the best first."""
    chance = f"random search: {comparison.chance:.1f} on the average"
    print(f"{comparison.where}: {comparison.size} configurations; {chance}")
    table = techniques_table("configurations", "seconds", "score")
    for one in sorted(comparison.scores, key=lambda score: -score.score):
        needed = _quartiles(one.needed, f">{MOST}", 0)
        table.add_row(one.technique, needed, _quartiles(one.seconds, "-", 1), f"{one.score:.2f}")
    Console(emoji=False).print(table)


def techniques_table(*headings: str) -> Table:
    """A table with a row per technique; its other columns hold numbers."""
    table = Table("technique", box=None)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _quartiles(values: Sequence[float], none: str, digits: int) -> str:
    """The median, and the quartiles around it; `none` stands for infinity."""
    low, middle, high = (none if v == inf else f"{v:.{digits}f}" for v in quartiles(values))
    return f"{middle} ({low}..{high})"


def _named(model: ChoiceModel, label: Configuration) -> str:
    return named(dict(zip(model.tunables, label, strict=True)))


def _loss(model: ChoiceModel, regret: Regret | None) -> str:
    if regret is None:
        return "not known"
    # The tables of single choices leave out what is given.
    whole = (*model.given, *model.sizes)
    names = whole if len(regret.worst_point) == len(whole) else model.sizes
    place = named(dict(zip(names, regret.worst_point, strict=True)))
    untimed = regret.total - regret.known
    rest = f"; {untimed} sizes without a time" if untimed else ""
    return f"mean {regret.mean:.2%}, worst {regret.worst:.2%} ({place}){rest}"
