"""The verbs `tune`, `instrument`, `collect`, `fit` and `emit`: options in, text out.

Each reads its options, calls the stage of the same name (`tuning`), and shows what that gives.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.cli.main import Options, print_values, show_compile_line, sizes_to_show, varied_values
from cutune.cli.options import MODEL_NAMES, PAPER
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.reading import read_file
from cutune.core.workspace import Workspace, write_text
from cutune.search.tunables.verb_options import NEIGHBOURS, WORKER_OPTION_NAMES

if TYPE_CHECKING:
    from cutune.measure.program_runs import RunPlan
    from cutune.proof.analysis.analyzer import Analyzer
    from cutune.source.program import Program
    from cutune.source.rewrite.output import Target
    from cutune.source.rewrite.pipeline import Pass, TranslationUnit
    from cutune.tuning.inputs import Request
    from cutune.tuning.kept import KeptAnswer
    from cutune.tuning.tune_program import Tuning


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


def collect_verb(options: Options) -> int:
    """Run a program and count, or time."""
    _check_alone(options)
    if options.tunables is None:
        _plan(options)
    analyzer = options.analyzer
    programs = analyzer.load_all(options.files, require_nvcc=True)
    if options.launches_only and (options.tunables is not None or options.on == "gpu"):
        options.wrong("--launches-only is for models made on the emulated device")
    if options.tunables is not None:
        from cutune.cli.parameters import collect_tunables, compare_techniques

        if options.compare is not None:
            compare_techniques(programs, options)
        else:
            collect_tunables(programs, options, options.on)
        return 0
    if options.on == "gpu":
        from cutune.cli.report.choices import print_sweep
        from cutune.measure.gpu_sweep import collect_on_gpu

        plan, profile, workspace = options.plan, options.profile, options.place
        for program in programs:
            timed = collect_on_gpu(analyzer, program, plan, profile, workspace, options.counters)
            print_sweep(timed, profile)
        return 0
    if options.counters:
        options.wrong("--counters are those of a GPU; add --on gpu")
    from cutune.tuning.stages import collect

    collect(analyzer, programs, _plan(options), options.profile, options.place)
    options.place.note_command(options.words, options.files, analyzer.toolchain.flags)
    return 0


def _check_alone(options: Options) -> None:
    if options.tunables is not None:
        return
    names = "search", "technique", "start", "timeout", "tolerance", "ignore", "compare"
    every = (*names, *WORKER_OPTION_NAMES)
    given = [name for name in every if getattr(options, name, None) not in (None, [])]
    if given:
        options.wrong(f"--{given[0]} is for parameters: add --tunables")
    if options.verb == "collect" and options.make is not None:
        options.wrong("--make is for parameters: add --tunables; see also tune --make")


def _plan(options: Options) -> RunPlan:
    return replace(options.plan, training=options.fit == PAPER, launches_only=options.launches_only)


def fit_verb(options: Options) -> int:
    """Fit models to measurements."""
    if options.json and (options.table or options.model is not None):
        options.wrong("--json is for models of kernels; write tables with -o FILE.json")
    if options.table:
        from cutune.cli.parameters import fit_tables

        return fit_tables(options)
    if options.model == NEIGHBOURS:
        from cutune.cli.parameters import checked_limit, fit_measured

        if options.file is None:
            options.wrong("--model neighbours needs the program's FILE, or --table")
        program = options.analyzer.load(options.file)
        fit_measured(program, options, checked_limit(options.limit))
        return 0
    from cutune.cli.report.choices import models_to_json, print_models
    from cutune.tuning.stages import fit

    if options.file is not None:
        read_file(options.file)  # It says where the workspace lies.
    workspace = options.place
    models = fit(options.analyzer.reporter, workspace, options.fit, options.profile)
    if options.json:
        print(json.dumps(models_to_json(models), indent=1))
    else:
        print_models(models)
    workspace.note_command(options.words)
    return 0


def emit_verb(options: Options) -> int:
    """Write the tuned program."""
    from cutune.tuning.stages import emit
    from cutune.tuning.tune_program import make_folder_of

    analyzer, asked = options.analyzer, options.parameters
    needs_models = options.choose is None and options.model != NEIGHBOURS
    if needs_models and options.form not in ("header", "flags"):
        _require_saved(analyzer, options.files, options.place)
    # What is not proven on compiled code is not written.
    programs = analyzer.load_all(options.files, require_nvcc=True)
    if options.form in ("header", "flags"):
        return _emit_values(programs, options)
    targets = _targets(programs, options)
    make_folder_of(targets)
    if options.choose is not None:
        from cutune.model.emit.programs import random_programs

        random_programs(analyzer, programs, options.choose, targets)
    else:
        workspace, devices = options.place, options.profiles
        if needs_models:
            _require_models(programs, workspace)
        for program, target in zip(programs, targets, strict=True):
            emit(analyzer, program, workspace, devices, target, options.model, None, asked)
        for program in programs:
            print_values(asked, program, workspace)
    # Sources of one program have options each.
    if len(programs) == 1 and (options.make is None or options.choose is not None):
        show_compile_line(analyzer.toolchain, programs[0], targets[0])
    return 0


def _require_saved(analyzer: Analyzer, paths: Sequence[str], workspace: Workspace) -> None:
    """Raise CT009, CT503 before the analysis, which takes long, where nothing is saved of a source.

    What is wrong with the sources comes first: nobody tunes a program that nvcc cannot read.
    """
    from cutune.model.fit.fitted_model import read_models

    if workspace.choices.exists():
        return
    error, known = _not_modelled(paths, workspace), {str(Path(path).resolve()) for path in paths}
    try:
        if any(one.kernel.origin.path in known for one in read_models(workspace.models)):
            return
    except CutuneError as unread:
        error = unread
    for path in paths:
        analyzer.parsed(path)
        analyzer.toolchain.preprocessed(path)
    raise error


def _require_models(programs: Sequence[Program], workspace: Workspace) -> None:
    """Raise CT503, CT009 where nothing is known of any source: all would be written as they are."""
    from cutune.model.emit.programs import models_of
    from cutune.search.tunables.choices import choices_of

    for program in programs:
        chosen = choices_of(program, workspace)
        if chosen.fixed or chosen.models or models_of(program, workspace):
            return
    raise _not_modelled([program.source.path for program in programs], workspace)


def _not_modelled(paths: Sequence[str], workspace: Workspace) -> CutuneError:
    from cutune.tuning.stages import nothing_modelled

    command = f"cutune tune {shlex.join(paths)} --run './{{program}} …'"
    reason = f"'{workspace.models}' has no model of its kernels; run first: {command}"
    return nothing_modelled(paths, reason)


def _emit_values(programs: Sequence[Program], options: Options) -> int:
    from cutune.search.clones.value_sets import HEADER, header_text, options_text, without_place
    from cutune.search.tunables.choices import choices_of, replacement

    if len(programs) > 1:
        options.wrong("--as takes one FILE")
    (program,), workspace, asked = programs, options.place, options.parameters
    chosen = choices_of(program, workspace)
    values = chosen.fixed
    if not values:
        path = program.source.path
        raise CutuneError.at(Code.NO_HOST_TIMES, path=path)
    for diagnostic in without_place(program, values, asked):
        options.say(diagnostic)
    for name in replacement(program, chosen).routines:
        options.say(Diagnostic.at(Code.HOST_CHOICES_LEFT_OUT, name=name))
    if options.form == HEADER:
        text, ending = header_text(program, values), ".tuned.h"
    else:
        text, ending = options_text(program, values, asked), ".tuned.flags"
    output = Path(options.output or Path(program.source.path).with_suffix(ending))
    write_text(output, text)
    if options.form == HEADER:
        print_values(asked, program, workspace)
    return 0


def _targets(programs: Sequence[Program], options: Options) -> list[Target]:
    from cutune.tuning.tune_program import tuned_targets

    output = options.output
    if len(programs) == 1 and output is not None and not output.endswith(os.sep):
        path = Path(output)
        # It is named as a program is, as the `-o` of a compile command.
        if not path.suffix and (path.is_file() or not path.exists()):
            options.wrong(
                "-o names a source to write, as app.tuned.cu, or a folder, as tuned/; "
                "that of a compile command stands behind --, with the whole command"
            )
    targets = tuned_targets(programs, output)
    if output is not None and len({target.path for target in targets}) < len(targets):
        options.wrong("two files would be written to one place; leave -o out")
    return targets


def tune_verb(options: Options) -> int:
    """All stages in one."""
    _check_alone(options)
    _check_shortlist(options)
    if options.tunables is not None:
        from cutune.cli.parameters import tune_tunables

        return tune_tunables(options, lambda one: _targets([one], options)[0])
    if options.make is not None:
        return _tune_project(options)
    if not options.files:
        options.wrong("name the sources of the program, or what builds it: --make make")
    if any(file.endswith(".py") for file in options.files):
        return _tune_script(options)
    from cutune.tuning.kept import KeptAnswer
    from cutune.tuning.tune_program import NothingTuned, tune_program

    request, sizes, plan = _request(options), sizes_to_show(options.sizes), _plan(options)
    tuning = _tuning(
        options, plan, options.output, lambda programs: _targets(programs, options), options.again
    )
    try:
        tuned = tune_program(request, tuning, options.reporter)
    except NothingTuned as error:
        if error.launches:
            from cutune.cli.report.choices import tuning_shown

            launches, said = error.launches, error.said
            tuning_shown(launches, [], said, request.devices[0]).show(options.json)
        raise
    options.place.note_command(options.words, options.files, request.toolchain.flags)
    if isinstance(tuned, KeptAnswer):
        _show_again(tuned, options)
        return 0
    from cutune.cli.report.choices import tuning_shown

    device = request.devices[0]
    shown = tuning_shown(
        tuned.launches, tuned.models, tuned.said, device, sizes, options.model, plan
    )
    shown = replace(shown, written=[*map(str, tuned.sources)])
    shown.show(options.json)
    tuned.keep(asdict(shown))
    return 0


def _request(options: Options) -> Request:
    """The request to tune sources, with all options but those that say how its answer is shown."""
    from cutune.tuning.inputs import Request

    passing = ("words", "quiet", "again", "json", "said")
    asked = {name: value for name, value in vars(options).items() if name not in passing}
    asked["is_folder"] = options.output is not None and Path(options.output).is_dir()
    named = [options.space] if options.space is not None else []
    toolchain, devices, workspace = options.toolchain, options.profiles, options.place
    return Request(asked, options.files, toolchain, devices, workspace, named)


def _tuning(
    options: Options,
    plan: RunPlan,
    output: str | None,
    targets_of: Callable[[Sequence[Program]], Sequence[Target]],
    is_anew: bool,
) -> Tuning:
    from cutune.tuning.tune_program import Tuning

    return Tuning(
        plan,
        output,
        targets_of,
        method=options.fit,
        performance=options.model,
        with_variants=options.variants == "all",
        is_associative=options.associative_math,
        parameters=options.parameters,
        is_anew=is_anew,
        shortlist=options.shortlist or 0,
    )


def _show_again(kept: KeptAnswer, options: Options) -> None:
    """Show what an earlier call has shown."""
    from cutune.cli.report.tuned import Shown
    from cutune.core.typed import typed

    for message in kept.said:
        print(message, file=sys.stderr)
    if not options.quiet:
        options.say(Diagnostic.at(Code.NOTHING_CHANGED))
    typed(Shown, kept.shown).show(options.json)


def _check_shortlist(options: Options) -> None:
    count = options.shortlist
    if count is None:
        return
    if count < 1:
        options.wrong("--shortlist takes a count from 1")
    if options.tunables is not None or options.make is not None:
        options.wrong(
            "--shortlist is for the sources of a program: leave out --tunables and --make"
        )
    if any(file.endswith(".py") for file in options.files):
        options.wrong("--shortlist is for programs, not for scripts")
    if options.model != MODEL_NAMES[0]:
        options.wrong(f"--shortlist corrects the {MODEL_NAMES[0]} model: leave out --model")


def _named_script(options: Options) -> str:
    """`--run` with `{script}` where the script stood; without it, what runs one."""
    from cutune.measure.program_runs import SCRIPT

    (script,) = options.files
    own = rf"(?<!\S)(\./)?{re.escape(script.removeprefix('./'))}(?!\S)"
    named = re.sub(own, SCRIPT, options.run)
    places = "".join(f" {{{name}}}" for name in varied_values(options.vary))
    return shlex.quote(named if named != options.run else f"python3 {SCRIPT}{places}")


def _check_script(options: Options) -> None:
    from cutune.measure.program_runs import SCRIPT

    if len(options.files) > 1:
        options.wrong("a script is tuned alone")
    if SCRIPT not in options.run:
        options.wrong(f"--run does not name {SCRIPT}; write: --run {_named_script(options)}")
    if options.toolchain.flags:
        # What is proven has to be what the script compiles.
        options.wrong("options of nvcc are those that the script itself gives to its package")


def _tune_script(options: Options) -> int:
    from cutune.cli.report.choices import tuning_shown
    from cutune.cli.report.tuned import Shown
    from cutune.measure.program_runs import RunPlan
    from cutune.tuning.inputs import Request
    from cutune.tuning.script_session import folder_of
    from cutune.tuning.scripts import tune_script

    _check_script(options)
    (script,) = options.files
    read_file(script)
    plan = RunPlan(
        options.run,
        varied_values(options.vary),
        options.candidates,
        training=options.fit == PAPER,
        launches_only=options.launches_only,
        statuses=options.statuses,
    )
    folder = options.output or os.path.relpath(folder_of(script))
    tuning = _tuning(options, plan, folder, lambda programs: (), is_anew=True)
    workspace, devices = options.place, options.profiles
    request = Request({}, options.files, options.toolchain, devices, workspace)
    tuned = tune_script(request, tuning, options.reporter)
    workspace.note_command(options.words)
    show = partial(
        tuning_shown,
        said=tuned.said,
        device=devices[0],
        sizes=sizes_to_show(options.sizes),
        performance=options.model,
        plan=plan,
    )
    # Several texts may have kernels of one name.
    each = [show(one.launches, one.models) for one in tuned.tuned]
    each += [show(one.launches, []) for one in tuned.refused]
    files = [str(path) for one in tuned.tuned for path in one.sources]
    started = f"tuned runs: python3 -m cutune.tuned {shlex.quote(script)} …" if files else ""
    Shown.joined(each, files, started).show(options.json)
    if not files:
        raise tuned.refused[-1]
    return 0


def _tune_project(options: Options) -> int:
    from cutune.cli.report.choices import tuning_shown
    from cutune.model.selection.chooser import DEFAULT
    from cutune.tuning.nvcc.units import noted_launches
    from cutune.tuning.project import ProjectBuild, is_make, kept_tuned, tune_project
    from cutune.tuning.stages import nothing_modelled

    if options.files or options.output is not None:
        options.wrong("with --make, no sources and no -o")
    if "{program}" in options.run:
        options.wrong("with --make, --run names the program: --run './app {n}'")
    sizes = sizes_to_show(options.sizes)
    plan = replace(options.plan, launches_only=options.launches_only)
    project = ProjectBuild(options.make, plan, options.clean)
    analyzer = options.analyzer
    reporter, said = analyzer.reporter.remembering()
    analyzer = replace(analyzer, reporter=reporter)
    device, workspace = options.profile, options.place
    models = tune_project(project, analyzer, options.device, workspace)
    workspace.note_command(options.words)
    noted = noted_launches(workspace)
    shown = tuning_shown(noted, models, said, device, sizes, DEFAULT, plan)
    # Models of launches that are gone are saved, too.
    modelled = {site for model in models for site in model.kernel.sites}
    is_tuned = not modelled.isdisjoint(one.site for one in noted)
    built = f"tuned build: what '{options.make}' has made" if is_tuned else ""
    if is_tuned and is_make(options.make) and "NVCC=" not in options.make:
        # It stays tuned where the command is plain `make`.
        folder = os.path.relpath(workspace.folder / "bin")
        built += f"; from now on: {kept_tuned(options.make, folder)}"
    # Its sources need not be the whole of what is run.
    replace(shown, built=built, is_tried=False).show(options.json)
    if not is_tuned:
        kept = "" if options.clean else "; if make kept parts of an earlier build, add --clean"
        reason = f"none of them could be measured and modelled{kept}"
        raise nothing_modelled([options.make], reason)
    return 0
