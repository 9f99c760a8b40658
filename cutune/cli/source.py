"""`inspect`, `instrument`: sources in, tables; one source in, a source out."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.cli.common import Options, show, show_compile_line
from cutune.cli.usage.compile_commands import inputs_of
from cutune.core.diagnostics import CutuneError
from cutune.core.progress import ANALYZING
from cutune.source.program import Program

if TYPE_CHECKING:
    from cutune.cli.report.programs import Lacking
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.proof.analysis.kernels_of_other_sources import ReadSource
    from cutune.search.clones.prove_copies import BySizeVerdict
    from cutune.search.program_space import ProgramSpace
    from cutune.source.rewrite.pipeline import Pass, TranslationUnit

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
    programs, failed = _programs_of(replace(analyzer, toolchain=toolchain), options)
    from cutune.cli.report.programs import NOT_AS_REQUIRED, lacking

    spaces: list[Spaces] = []
    for program in programs:
        try:
            if program.tunables or program.constants or parameters.parameters:
                from cutune.proof.compiled import UnitCompiler
                from cutune.search.clones.prove_copies import by_size_verdicts
                from cutune.search.program_space import device_values, program_space

                # As large as the space is at any size.
                sizes = {name for constant in program.constants for name in constant.data}
                device = device_values(options.profile)
                found = program_space(program, parameters, options.run, sizes, device)
                # Conditions that leave nothing are found before anything is printed.
                if found.space.size:
                    spaces.append(
                        (program, found, by_size_verdicts(UnitCompiler(toolchain), program))
                    )
        except CutuneError as error:
            show(error.diagnostic)
            failed = True
    contradictions = list(lacking(programs, options.require))
    _show_inspected(programs, spaces, contradictions, options)
    if written is not None and not failed:
        _write_space(written, spaces, options)
    for one in contradictions:
        show(one.diagnostic)
    return 1 if failed else NOT_AS_REQUIRED if contradictions else 0


def _programs_of(analyzer: Analyzer, options: Options) -> tuple[list[Program], bool]:
    """The programs of all sources that can be analyzed; and were there others?"""
    analyzers: list[Analyzer] = []
    read: list[ReadSource] = []
    programs, failed = list[Program](), False
    inputs, progress = inputs_of(options.files), analyzer.reporter.progress
    for number, one in enumerate(inputs):
        progress(ANALYZING, number, len(inputs) + 1)
        flags = (*one.flags, *analyzer.toolchain.flags)
        own = replace(analyzer, toolchain=replace(analyzer.toolchain, flags=flags))
        try:
            read.append(own.read(one.path))
            analyzers.append(own)
        except CutuneError as error:
            show(error.diagnostic)
            failed = True
    progress(ANALYZING, len(inputs), len(inputs) + 1)
    # Loaded where nvcc need not wait for it.
    from cutune.proof.analysis.kernels_of_other_sources import linked

    found = linked(read)
    progress(ANALYZING, len(inputs) + 1, len(inputs) + 1)
    for own, program in zip(analyzers, found, strict=True):
        try:
            compile_flags = own.toolchain.compile_flags(program.source.path)
            for reported in own.reported([program]):
                programs.append(own.code.with_unmodelled(reported, compile_flags))
        except CutuneError as error:
            show(error.diagnostic)
            failed = True
    return programs, failed


def _show_inspected(
    programs: Sequence[Program],
    spaces: Sequence[Spaces],
    contradictions: Sequence[Lacking],
    options: Options,
) -> None:
    from cutune.cli.report.programs import (
        print_programs,
        print_suggestions,
        space_json,
        space_lines,
        suggestions_to_json,
        to_json,
        to_sarif,
    )

    if options.sarif:
        required = [one.site for one in contradictions if one.site]
        print(json.dumps(to_sarif(programs, required), indent=1))
    elif options.json:
        document = to_json(programs)
        document["spaces"] = [space_json(found, known) for _, found, known in spaces]
        if options.suggest:
            document["suggestions"] = suggestions_to_json(programs)
        print(json.dumps(document, indent=1))
    elif programs:
        print_programs(programs)
        for program, found, known in spaces:
            print("\n".join([program.source.path, *space_lines(program, found, known)]))
        if options.suggest:
            print_suggestions(programs)


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


def instrument_verb(options: Options) -> int:
    """Put hooks at the launches of a program."""
    from cutune.passes import passes_named
    from cutune.source.rewrite.output import Target, needs_folder
    from cutune.source.rewrite.pipeline import rewrite
    from cutune.toolchain.nvcc import INCLUDE_DIRECTORY

    analyzer = options.analyzer
    passes = passes_named(options.passes)
    program = analyzer.load(options.file)

    def after(step: Pass, unit: TranslationUnit) -> None:
        if step.name == options.print_after:
            print(unit.rewritten().text, file=sys.stderr)

    if options.output is not None:
        target = Target.of(program, options.output, "instrumented")
        target.write(rewrite(program, passes, analyzer.reporter, after))
        show_compile_line(analyzer.toolchain, program, target, [f"-I{INCLUDE_DIRECTORY}"])
        return 0
    if headers := program.rewritten_headers:
        raise needs_folder(headers[0], Path(options.file).with_suffix(".instrumented"))
    unit = rewrite(program, passes, analyzer.reporter, after)
    sys.stdout.buffer.write(unit.rewritten().encode())
    print(f"compile it with: -I{INCLUDE_DIRECTORY}", file=sys.stderr)
    return 0
