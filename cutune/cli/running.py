"""`run`, `doctor`: programs and the machine they run on."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from cutune.cli.common import session_of
from cutune.cli.options import parser
from cutune.core.temporary import temporary_folder


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
    with temporary_folder() as folder:
        binary = session_of(options).build_emulated(program, Path(folder))
        return run_binary([str(binary), *arguments])


def doctor(options: argparse.Namespace) -> int:
    """What the machine has and lacks."""
    from cutune.cli.doctor import clear_cache, main_doctor

    if options.clear_cache:
        return clear_cache(options.quiet)
    return main_doctor(options.json, options.quiet, options.install_toolkit, options.nvcc)
