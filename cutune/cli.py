"""The command line: one verb per stage. Reads options, calls the stage, shows what it gives.

Exit status: 0 done, 1 errors in the input, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.diagnostics import Code, CutuneError, Diagnostic
from cutune.options import WORKSPACE, parse, parser

if TYPE_CHECKING:
    from cutune.device import DeviceProfile
    from cutune.fitted import FittedModel
    from cutune.program import Program
    from cutune.session import Session
    from cutune.workspace import Workspace


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the status for the shell."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["nvcc"]:
        from cutune.nvcc.driver import main_nvcc

        return main_nvcc(words[1:])
    options = parse(words)
    try:
        return VERBS[options.verb](options)
    except CutuneError as error:
        _show(error.diagnostic)
        return 1
    except BrokenPipeError:
        # The reader of a pipe went away; that is its right.
        sys.stderr.close()
        return 1
    except KeyboardInterrupt:
        return 130


def _show(diagnostic: Diagnostic) -> None:
    print(diagnostic.render(), file=sys.stderr)


# ---- verbs


def _inspect(options: argparse.Namespace) -> int:
    from cutune.inspect import print_programs, to_json

    session = _session(options)
    programs = []
    failed = False
    for path in options.files:
        try:
            programs.append(session.load(path))
        except CutuneError as error:
            _show(error.diagnostic)
            failed = True
    if options.json:
        document = to_json(programs)
        if options.suggest:
            from cutune.suggest import suggestions_to_json

            document["suggestions"] = suggestions_to_json(programs)
        print(json.dumps(document, indent=1))
    else:
        print_programs(programs)
    if options.suggest and not options.json:
        from cutune.suggest import print_suggestions

        print_suggestions(programs)
    return 1 if failed else 0


def _instrument(options: argparse.Namespace) -> int:
    from cutune.session import passes_named
    from cutune.shadow import Target, needs_folder

    session = _session(options)
    passes = passes_named(options.passes)
    program = session.load(options.file)
    if options.output is not None:
        target = Target.of(program, options.output, "instrumented")
        target.write(session.instrument(program, passes, options.print_after))
        return 0
    if headers := program.launching_headers:
        raise needs_folder(headers[0], Path(options.file).with_suffix(".instrumented"))
    unit = session.instrument(program, passes, options.print_after)
    sys.stdout.buffer.write(unit.rewritten().encode())
    return 0


def _collect(options: argparse.Namespace) -> int:
    session = _session(options)
    programs = [session.load(path, require_nvcc=True) for path in options.files]
    if options.tunables is not None:
        _collect_tunables(session, programs, options)
        return 0
    if options.on == "gpu":
        from cutune.gpu_verbs import collect_verb

        varied, device = _varied(options.vary), _device(options)
        collect_verb(session, programs, varied, device, _workspace(options), options)
        return 0
    if options.counters:
        parser().error("collect: --counters are those of a GPU; add --on gpu")
    _run_collect(session, programs, options)
    return 0


def _collect_tunables(
    session: Session, programs: Sequence[Program], options: argparse.Namespace
) -> None:
    from cutune.neighbours.host import collect_host

    if len(programs) > 1 or options.repetitions < 1:
        parser().error("collect: --tunables takes one FILE, and at least one repetition")
    names = [name for name in options.tunables.split(",") if name]
    vary, workspace, device = _varied(options.vary), _workspace(options), _device(options)
    found = collect_host(
        session,
        programs[0],
        options.run,
        vary,
        workspace,
        names,
        options.on,
        options.repetitions,
        device,
    )
    timed = "timed" if options.on == "gpu" else "run on the emulated device, which has no time"
    print(f"{len(found)} configurations {timed}")


def _run_collect(
    session: Session, programs: Sequence[Program], options: argparse.Namespace
) -> None:
    from cutune.fit import PAPER
    from cutune.stages import collect

    collect(
        session,
        programs[0],
        options.run,
        _varied(options.vary),
        _device(options),
        _workspace(options),
        options.candidates,
        programs[1:],
        options.fit == PAPER,
    )


def _fit(options: argparse.Namespace) -> int:
    if options.table:
        from cutune.neighbours.stage import fit_tables

        return fit_tables(options)
    if options.model == "neighbours":
        return _fit_tunables(options)
    from cutune.stages import fit
    from cutune.summary import print_models

    print_models(fit(_session(options), _workspace(options), options.fit, _device(options)))
    return 0


def _fit_tunables(options: argparse.Namespace) -> int:
    from cutune.neighbours.host import fit_host
    from cutune.neighbours.report import print_model
    from cutune.neighbours.stage import checked_limit

    if options.file is None:
        parser().error("fit: --model neighbours needs the program's FILE, or --table")
    session = _session(options)
    program = session.load(options.file)
    limit = checked_limit(options.limit)
    for model in fit_host(session, program, _workspace(options), limit):
        print_model(model)
    return 0


def _emit(options: argparse.Namespace) -> int:
    from cutune.shadow import Target
    from cutune.stages import emit

    session = _session(options)
    program = session.load(options.file)
    target = Target.of(program, options.output, "tuned")
    emit(session, program, _workspace(options), _devices(options), target, options.model)
    return 0


def _tune(options: argparse.Namespace) -> int:
    from cutune.shadow import Target
    from cutune.stages import emit, fit
    from cutune.summary import print_choices
    from cutune.workspace import make_folder

    if options.make is not None:
        return _tune_project(options)
    if not options.files:
        parser().error("tune: name the sources of the program, or what builds it: --make make")
    session, device, workspace = _session(options), _device(options), _workspace(options)
    sizes = _sizes(options.sizes)
    programs = [session.load(path, require_nvcc=True) for path in options.files]
    if len(programs) == 1 or options.output is None:
        targets = [Target.of(program, options.output, "tuned") for program in programs]
    else:
        folder = Path(options.output)
        targets = [Target.within(program, folder, "tuned") for program in programs]
        if len({target.path for target in targets}) < len(targets):
            parser().error("tune: two files would be written to one place; leave -o out")
    _run_collect(session, programs, options)
    models = fit(session, workspace, options.fit, device)
    if len(programs) > 1:
        make_folder(targets[0].path.parent)
    written = [
        emit(session, program, workspace, _devices(options), target, options.model)
        for program, target in zip(programs, targets, strict=True)
    ]
    own = {str(Path(path).resolve()) for path in options.files}
    print_choices([m for m in models if m.facts.origin.path in own], device, sizes, options.model)
    for path in written:
        print(f"tuned program: {path}")
    return 0


def _tune_project(options: argparse.Namespace) -> int:
    from cutune.project import Project, tune_project
    from cutune.summary import print_choices

    if options.files or options.output is not None:
        parser().error("tune: with --make, no sources and no -o")
    if "{program}" in options.run:
        parser().error("tune: with --make, --run names the program: --run './app {n}'")
    project = Project(options.make, options.run, _varied(options.vary), options.clean)
    session, device, workspace = _session(options), _device(options), _workspace(options)
    models = tune_project(project, session, options.device, workspace, options.candidates)
    print_choices(models, device, options.sizes)
    return 0


def _select(options: argparse.Namespace) -> int:
    from cutune.models_file import read_models
    from cutune.question import choose_block, parse_size, parse_sizes
    from cutune.summary import choice_to_json, print_choice

    every = None
    if options.all_sizes is not None:
        every = parse_size(options.all_sizes, "--all-sizes 1024")
    sizes = parse_sizes(options.sizes)
    model = _named(read_models(_workspace(options).models), options.kernel, options.file)
    choice = choose_block(model, _device(options), sizes, every, options.model)
    if options.json:
        print(json.dumps(choice_to_json(model, choice)))
    else:
        print_choice(model, choice)
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    from cutune.gpu_verbs import evaluate_verb

    if not options.files and options.recorded is None and not options.training:
        parser().error("evaluate: name the sources to be swept, or a sweep with --from")
    varied, device = _varied(options.vary), _device(options)
    evaluate_verb(_session(options), varied, device, _workspace(options), options)
    return 0


def _show_device(options: argparse.Namespace) -> int:
    from cutune.device import DeviceProfile, shipped_profiles
    from cutune.device_summary import print_profile, print_profiles

    if options.calibrate:
        return _calibrate(options)
    if options.name is None:
        if options.json:
            print(json.dumps([profile.to_json() for profile in shipped_profiles()], indent=1))
        else:
            print_profiles(shipped_profiles())
        return 0
    profile = DeviceProfile.named(options.name)
    if options.json:
        print(json.dumps(profile.to_json(), indent=1))
    else:
        print_profile(profile)
    return 0


def _calibrate(options: argparse.Namespace) -> int:
    from cutune.calibration.calibrate import calibrate
    from cutune.device_summary import print_calibration
    from cutune.gpu import open_gpu
    from cutune.progress import progress_for
    from cutune.toolchain import find_nvcc
    from cutune.workspace import write_text

    nvcc = find_nvcc(options.nvcc)
    with open_gpu(options.gpu) as gpu:
        profile, found = calibrate(gpu, nvcc, progress_for(options.quiet))
    path = Path(options.output or f"{profile.file_name}.json")
    write_text(path, json.dumps(profile.to_json(), indent=2) + "\n")
    print_calibration(profile, found)
    print(f"profile: {path}; use it with --device {path}")
    return 0


def _run(options: argparse.Namespace) -> int:
    from cutune.emulator.run import main_run

    if not options.program:
        parser().error("run: name the program to run")
    run = partial(
        main_run,
        device=options.device,
        json_output=options.json,
        trace=options.trace,
        check=options.check,
        shown=options.findings,
        limit=options.limit,
    )
    program, *arguments = options.program
    if not program.endswith(".cu"):
        return run(options.program)
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        binary = _session(options).build_emulated(program, Path(folder))
        return run([str(binary), *arguments])


def _verify(options: argparse.Namespace) -> int:
    from cutune.collect import plan_runs
    from cutune.verify import Agreement, verify

    agreement = Agreement(options.identical, options.tolerance, options.absolute, options.ignore)
    device = _device(options) if options.on == "emulated" else None
    failed = False
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        plans = []
        for name, path in (("original", options.original), ("tuned", options.tuned)):
            binary = Path(path)
            if binary.suffix == ".cu":
                session = _session(options)
                place = Path(folder) / name
                place.mkdir()
                build = session.build_emulated if device is not None else session.build_plain
                binary = build(path, place)
            plans.append(plan_runs(options.run, _varied(options.vary), binary))
        for run, difference in verify(plans[0], plans[1], options.file, device, agreement):
            values = " ".join(f"{name}={value}" for name, value in run.values.items())
            if difference is not None:
                failed = True
                _show(difference)
            print(f"{'differs' if difference else 'same'}: {values or 'the run'}")
    return 1 if failed else 0


def _doctor(options: argparse.Namespace) -> int:
    from cutune.doctor import clear_cache, main_doctor

    if options.clear_cache:
        return clear_cache(options.quiet)
    return main_doctor(options.json, options.quiet, options.install_toolkit, options.nvcc)


# ---- what verbs share


def _session(options: argparse.Namespace) -> Session:
    from cutune.headers import expand_response_files
    from cutune.progress import progress_for
    from cutune.session import Session

    flags = [*(f"-I{d}" for d in options.include), *(f"-D{d}" for d in options.define)]
    if options.std is not None:
        flags.append(f"-std={options.std}")
    for header in options.forced:
        flags += ["-include", header]
    for path in options.options_file:
        flags += ["--options-file", path]
    flags += options.nvcc_flag
    return Session(
        options.nvcc, tuple(expand_response_files(flags)), _show, progress_for(options.quiet)
    )


def _device(options: argparse.Namespace) -> DeviceProfile:
    from cutune.device import DeviceProfile

    return DeviceProfile.named(options.device.split(",")[0])


def _devices(options: argparse.Namespace) -> list[DeviceProfile]:
    """All devices that the tuned program is made for; the first one is modelled."""
    from cutune.device import DeviceProfile

    return [DeviceProfile.named(name) for name in options.device.split(",")]


def _workspace(options: argparse.Namespace) -> Workspace:
    from cutune.workspace import Workspace

    folder = options.workspace
    if folder is None:
        file = getattr(options, "file", None) or next(iter(getattr(options, "files", ())), None)
        folder = Path(file).parent / WORKSPACE if file else WORKSPACE
    return Workspace(Path(folder))


def _varied(words: Sequence[str]) -> dict[str, list[str]]:
    varied: dict[str, list[str]] = {}
    for word in words:
        name, equals, rest = word.partition("=")
        values = rest.split(",")
        wanted = "a variation"
        if len(set(values)) < len(values):
            wanted = "a variation without repeated values"
        elif name in varied:
            wanted = f"the only variation of {name}"
        elif equals and name.isidentifier() and all(values):
            varied[name] = values
            continue
        raise CutuneError(
            Diagnostic.at(
                Code.BAD_SIZE, None, text=word, wanted=wanted, example="--vary n=128,256,512"
            )
        )
    return varied


def _sizes(words: Sequence[str] | None) -> list[int] | None:
    """The sizes to show choices for, each once."""
    from cutune.question import parse_size

    sizes = [parse_size(word, "--sizes 1024 2048") for word in words or ()]
    return list(dict.fromkeys(sizes)) or None


def _named(models: Sequence[FittedModel], name: str, file: str | None) -> FittedModel:
    """The one model of a kernel, by its name in the source, with template arguments, or in PTX."""
    from cutune.instances import instance_names

    if file is not None:
        path = str(Path(file).resolve())
        models = [model for model in models if model.facts.origin.path == path]
    instances = instance_names([m.facts.kernel for m in models], [m.facts.entry for m in models])
    named = zip(instances, models, strict=True)
    found = [(i, m) for i, m in named if name in (i, m.facts.kernel, m.facts.entry)]
    if len(found) == 1:
        return found[0][1]
    if found:
        known = ", ".join(f"'{i}' in {m.facts.origin.path}" for i, m in found)
        raise CutuneError(Diagnostic.at(Code.AMBIGUOUS_KERNEL, None, name=name, known=known))
    known = ", ".join(dict.fromkeys(model.facts.kernel for model in models)) or "none"
    raise CutuneError(Diagnostic.at(Code.UNMODELLED_KERNEL, None, name=name, known=known))


VERBS = {
    "inspect": _inspect,
    "instrument": _instrument,
    "collect": _collect,
    "fit": _fit,
    "emit": _emit,
    "tune": _tune,
    "select": _select,
    "evaluate": _evaluate,
    "device": _show_device,
    "run": _run,
    "verify": _verify,
    "doctor": _doctor,
}
