"""Parameters of a program, measured before: fitted, emitted, or all of it by `tune --tunables`.

Takes programs and options, prints what was chosen, writes the tuned program.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.cli.common import Options, show, show_compile_line
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import Workspace, write_text
from cutune.proof.compiled import UnitCompiler
from cutune.search.tunables.choices import (
    HostChoices,
    choices_of,
    fit_host,
    replacement,
    write_choices,
)
from cutune.search.tunables.compiled_values import (
    HEADER,
    compiler_flags,
    header_text,
    make_command,
    options_text,
    without_place,
)
from cutune.search.tunables.measured_blocks import fit_blocks
from cutune.search.tunables.verb_options import LIMIT_PERCENT

if TYPE_CHECKING:
    from cutune.source.program import Program
    from cutune.source.rewrite.output import Target
    from cutune.space.parameter import ParameterOptions


def fit_measured(program: Program, options: Options, limit: float) -> None:
    from cutune.cli.report.classifiers import print_fixed, print_model, print_sets

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


def emit_values(programs: Sequence[Program], options: Options) -> int:
    """Write the values that hold for all sizes, without the program."""
    if len(programs) > 1:
        options.wrong("--as takes one FILE")
    (program,), workspace, asked = programs, options.place, options.parameters
    values = choices_of(program, workspace).fixed
    if not values:
        path = program.source.path
        raise CutuneError.at(Code.NO_HOST_TIMES, path=path)
    for diagnostic in without_place(program, values, asked):
        show(diagnostic)
    for name in replacement(program, workspace).routines:
        show(Diagnostic.at(Code.HOST_CHOICES_LEFT_OUT, name=name))
    if options.form == HEADER:
        text, ending = header_text(program, values), ".tuned.h"
    else:
        text, ending = options_text(program, values, asked), ".tuned.flags"
    output = Path(options.output or Path(program.source.path).with_suffix(ending))
    write_text(output, text)
    if options.form == HEADER:
        print_values(asked, program, workspace)
    return 0


def print_values(asked: ParameterOptions, program: Program, workspace: Workspace) -> None:
    """Print the options of nvcc, and the command, that belong to the emitted program."""
    values = choices_of(program, workspace).fixed
    if flags := compiler_flags(values, asked):
        print(f"compile with: {' '.join(flags)}")
    if make := make_command(values, asked):
        print(f"build it with: {make}")


def tune_tunables(options: Options, target_of: Callable[[Program], Target]) -> int:
    """Run all configurations on a GPU, and write the best where `target_of` says."""
    from cutune.cli.gpu import collect_tunables
    from cutune.search.builds import tuned_copy
    from cutune.search.trial_runs import GPU
    from cutune.tuning.stages import emit

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
