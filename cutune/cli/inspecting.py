"""The verb `inspect`: sources in, a list of their kernels and launches out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.cli.command_line import Input, inputs_of
from cutune.cli.main import Options, varied_values
from cutune.core.diagnostics import CutuneError
from cutune.core.progress import ANALYZING

if TYPE_CHECKING:
    from cutune.measure.program_runs import RunPlan
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.proof.analysis.read_source import ReadSource
    from cutune.proof.analysis.suggestions import Suggestion
    from cutune.proof.variants.launch_constants import LaunchConstant
    from cutune.search.clones.find_copies import BySizeVerdict
    from cutune.search.program_space import ProgramSpace
    from cutune.source.program import Program
    from cutune.space.parameter import ParameterOptions
    from cutune.toolchain.toolchain import Toolchain

    Spaces = tuple[Program, ProgramSpace, Mapping[str, BySizeVerdict]]


def inspect_verb(options: Options) -> int:
    """List kernels and launches."""
    # What the program is compiled for is enough to look at it.
    written, options.space = options.space, None
    if written is not None:
        from cutune.core.workspace import refuse_existing

        refuse_existing(Path(written), options.force)
    analyzer = options.analyzer
    toolchain, parameters = replace(analyzer.toolchain, architectures=()), options.parameters
    inputs, plan = inputs_of(options.files), _trial_plan(options)
    programs = _programs_of(replace(analyzer, toolchain=toolchain), inputs)
    failed = len(programs) < len(inputs)
    from cutune.cli.report.programs import NOT_AS_REQUIRED, lacking, suggestions_of

    spaces: list[Spaces] = []
    for program in programs:
        try:
            if program.tunables or program.constants or parameters.parameters:
                spaces += _space_of(program, parameters, toolchain, options)
        except CutuneError as error:
            options.say(error.diagnostic)
            failed = True
    contradictions = list(lacking(programs, options.require))
    found: Sequence[Suggestion] = ()
    if options.suggest:
        found = suggestions_of(programs)
        if plan is not None and not failed:
            found, failed = _tried(options, inputs, found, plan)
    _show_inspected(programs, spaces, options, found)
    if written is not None and not failed:
        _write_space(written, spaces, options)
    for diagnostic in contradictions:
        options.say(diagnostic)
    return 1 if failed else NOT_AS_REQUIRED if contradictions else 0


def _space_of(
    program: Program, asked: ParameterOptions, toolchain: Toolchain, options: Options
) -> Iterator[Spaces]:
    """Yield the space of a program's parameters, which has some configuration. Raises CT804."""
    from cutune.proof.compiled import UnitCompiler
    from cutune.search.clones.find_copies import by_size_verdicts
    from cutune.search.program_space import device_values, program_space

    # As large as the space is at any size.
    sizes = {name for constant in program.constants for name in constant.data}
    space = program_space(program, asked, options.run, sizes, device_values(options.profile))
    # Conditions that leave nothing are found before anything is printed.
    if space.space.size:
        yield program, space, by_size_verdicts(UnitCompiler(toolchain), program)


def _trial_plan(options: Options) -> RunPlan | None:
    """The runs in which suggestions are tried; None without --run. Raises CT008, CT410."""
    if not (options.suggest and options.run):
        if options.vary:
            options.wrong("--vary is for --suggest with --run: --run './{program} {n}'")
        return None
    from cutune.measure.program_runs import RunPlan
    from cutune.space.parameter import shown

    # Of parameters in the command line the first value is taken.
    words = {one.name: [shown(one.values[0])] for one in options.parameters.parameters}
    named = {name: word for name, word in words.items() if f"{{{name}}}" in options.run}
    vary = {**named, **varied_values(options.vary)}
    plan = RunPlan(options.run, vary, "paper", statuses=options.statuses)
    plan.runs(Path("program"))
    return plan


def _tried(
    options: Options, inputs: Sequence[Input], found: Sequence[Suggestion], plan: RunPlan
) -> tuple[Sequence[Suggestion], bool]:
    """The suggestions that are left after a trial, and whether it failed."""
    from cutune.check.tried_suggestions import tried

    if any(one.flags for one in inputs):
        options.wrong("--run is for sources that are compiled with the same options: name these")
    try:
        paths = [one.path for one in inputs]
        return tried(options.analyzer, paths, found, plan, options.profile), False
    except CutuneError as error:
        options.say(error.diagnostic)
        return found, True


def _programs_of(analyzer: Analyzer, inputs: Sequence[Input]) -> list[Program]:
    """The programs of all sources that can be analyzed; why others cannot is told."""
    read: list[tuple[Analyzer, ReadSource]] = []
    programs: list[Program] = []
    progress = analyzer.reporter.progress
    for number, one in enumerate(inputs):
        progress(ANALYZING, number, len(inputs) + 1)
        flags = (*one.flags, *analyzer.toolchain.flags)
        own = replace(analyzer, toolchain=replace(analyzer.toolchain, flags=flags))
        try:
            read.append((own, own.read(one.path)))
        except CutuneError as error:
            analyzer.reporter.warn(error.diagnostic)
    progress(ANALYZING, len(inputs), len(inputs) + 1)
    # Loaded where nvcc need not wait for it.
    from cutune.proof.analysis.kernels_of_other_sources import linked

    found = linked([source for _, source in read])
    progress(ANALYZING, len(inputs) + 1, len(inputs) + 1)
    for (own, _), program in zip(read, found, strict=True):
        try:
            compile_flags = own.toolchain.compile_flags(program.source.path)
            own.reported([program])
            programs.append(own.code.with_unmodelled(program, compile_flags))
        except CutuneError as error:
            analyzer.reporter.warn(error.diagnostic)
    return programs


def _show_inspected(
    programs: Sequence[Program],
    spaces: Sequence[Spaces],
    options: Options,
    found: Sequence[Suggestion],
) -> None:
    from cutune.cli.report import programs as report

    if options.sarif:
        print(json.dumps(report.to_sarif(programs, options.require), indent=1))
    elif options.json:
        document = report.to_json(programs)
        document["spaces"] = [report.space_json(space, known) for _, space, known in spaces]
        if options.suggest:
            document["suggestions"] = [asdict(one) for one in found]
        if options.tunables:
            document["constants"] = [asdict(one) for one in _constants(programs)]
        print(json.dumps(document, indent=1))
    elif programs:
        report.print_programs(programs, multiprocessors=options.profile.sm_count)
        for program, space, known in spaces:
            print("\n".join([program.source.path, *report.space_lines(program, space, known)]))
        if options.tunables:
            lines = [one.text for one in _constants(programs)]
            print("\n".join(lines or ["no launch is made of constants"]))
        if options.suggest:
            report.print_suggestions(programs, found=found)


def _constants(programs: Sequence[Program]) -> list[LaunchConstant]:
    from cutune.proof.variants.launch_constants import launch_constants

    return [one for program in programs for one in launch_constants(program)]


def _write_space(path: str, spaces: Sequence[Spaces], options: Options) -> None:
    from cutune.core.workspace import replace_file
    from cutune.space.t1 import to_t1

    if len(spaces) != 1:
        options.wrong("--space takes one FILE that has parameters")
    ((program, found, _),) = spaces
    whole = replace(found.space, conditions=(*found.space.conditions, *found.sized))
    names = {"KernelFile": Path(program.source.path).name}
    for kernel in program.kernels[:1]:
        names["KernelName"] = kernel.name
    document = to_t1(whole, found.own, names)
    replace_file(Path(path), (json.dumps(document, indent=1) + "\n").encode())
