"""`run`, `verify`, `doctor`: programs and the machine they run on."""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

from cutune.options import parser
from cutune.verbs.common import device_of, session_of, show, varied_values


def run(options: argparse.Namespace) -> int:
    """Run a program on the emulated device."""
    from cutune.emulator.run import main_run

    if not options.program:
        parser().error("run: name the program to run")
    run_binary = partial(
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
        return run_binary(options.program)
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        binary = session_of(options).build_emulated(program, Path(folder))
        return run_binary([str(binary), *arguments])


def verify(options: argparse.Namespace) -> int:
    """Do a program and its tuned form give the same?"""
    from cutune.collect import plan_runs
    from cutune.verify import Agreement, verify

    agreement = Agreement(options.identical, options.tolerance, options.absolute, options.ignore)
    device = device_of(options) if options.on == "emulated" else None
    failed = False
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        plans = []
        for name, path in (("original", options.original), ("tuned", options.tuned)):
            binary = Path(path)
            if binary.suffix == ".cu":
                session = session_of(options)
                place = Path(folder) / name
                place.mkdir()
                build = session.build_emulated if device is not None else session.build_plain
                binary = build(path, place)
            plans.append(plan_runs(options.run, varied_values(options.vary), binary))
        for run, difference in verify(plans[0], plans[1], options.file, device, agreement):
            values = " ".join(f"{name}={value}" for name, value in run.values.items())
            if difference is not None:
                failed = True
                show(difference)
            print(f"{'differs' if difference else 'same'}: {values or 'the run'}")
    return 1 if failed else 0


def doctor(options: argparse.Namespace) -> int:
    """What the machine has and lacks."""
    from cutune.doctor import clear_cache, main_doctor

    if options.clear_cache:
        return clear_cache(options.quiet)
    return main_doctor(options.json, options.quiet, options.install_toolkit, options.nvcc)
