"""`run`, `doctor`, `help`: programs, the machine they run on, and this tool."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from cutune.cli.common import reporter_of, toolchain_of
from cutune.cli.options import parser
from cutune.core.temporary import temporary_folder


def run_verb(options: argparse.Namespace) -> int:
    """Run a program on the emulated device."""
    from cutune.emulator.run import main_run

    if not options.program:
        parser().error("run: name the program to run")
    run_binary = partial(
        main_run,
        device=options.device.partition(",")[0],
        json_output=options.json,
        trace=options.trace,
        check=options.check,
        shown=options.findings,
        limit=options.limit,
    )
    program, *arguments = options.program
    if arguments[:1] == ["--"]:  # as behind other launchers
        arguments = arguments[1:]
    if not program.endswith(".cu"):
        return run_binary([program, *arguments])
    from cutune.emulator.program_builds import build_emulated

    with temporary_folder() as folder:
        progress = reporter_of(options).progress
        binary = build_emulated(toolchain_of(options), program, Path(folder), progress)
        return run_binary([str(binary), *arguments])


def doctor_verb(options: argparse.Namespace) -> int:
    """Show what the machine has and lacks."""
    from cutune.cli.doctor import clear_cache, main_doctor

    if options.clear_cache:
        return clear_cache(options.quiet)
    return main_doctor(options.json, options.quiet, options.install_toolkit, options.nvcc)


def help_verb(options: argparse.Namespace) -> int:
    """A page, the manual page, or what a shell completes by."""
    from cutune.cli.usage.completion import completion, manual_page
    from cutune.cli.usage.topics import text_on, title_of, topics

    whole = parser()
    if options.man:
        print(manual_page(whole), end="")
    elif options.completion is not None:
        print(completion(whole, options.completion), end="")
    elif options.topic is None:
        print(whole.format_help())
        print("topics of cutune help, besides the codes of messages (cutune help CT211):")
        verbs = whole.verbs()
        for name, page in topics().items():
            if name not in verbs:
                print(f"  {name:16}  {title_of(page)}")
    else:
        verb = whole.verbs().get(options.topic.lower())
        _show_page(text_on(options.topic, verb.format_help() if verb is not None else ""))
    return 0


def _show_page(text: str) -> None:
    """Markdown, laid out where somebody reads it on a terminal."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    if console.is_terminal:
        console.print(Markdown(text))
    else:
        print(text)
