"""`inspect`, `instrument`: sources in, tables; one source in, a source out."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

from cutune.cli.common import session_of, show
from cutune.core.diagnostics import CutuneError
from cutune.frontend.program import Program


def inspect(options: argparse.Namespace) -> int:
    """List kernels and launches."""
    # What the program is compiled for is enough to look at it.
    session = replace(session_of(options), architectures=())
    read, programs = [], list[Program]()
    failed = False
    for path in options.files:
        try:
            read.append(session.read(path))
        except CutuneError as error:
            show(error.diagnostic)
            failed = True
    # Loaded where nvcc need not wait for it.
    from cutune.analysis.linked import linked
    from cutune.cli.report.programs import print_programs, to_json

    for program in linked(read):
        try:
            programs += map(session.with_unmodelled, session.reported([program]))
        except CutuneError as error:
            show(error.diagnostic)
            failed = True
    if options.json:
        document = to_json(programs)
        if options.suggest:
            from cutune.cli.report.suggestions import suggestions_to_json

            document["suggestions"] = suggestions_to_json(programs)
        print(json.dumps(document, indent=1))
    else:
        print_programs(programs)
    if options.suggest and not options.json:
        from cutune.cli.report.suggestions import print_suggestions

        print_suggestions(programs)
    return 1 if failed else 0


def instrument(options: argparse.Namespace) -> int:
    """Put hooks at the launches of a program."""
    from cutune.analysis.session import passes_named
    from cutune.rewrite.output import Target, needs_folder
    from cutune.toolchain.nvcc import INCLUDE_DIRECTORY

    session = session_of(options)
    passes = passes_named(options.passes)
    program = session.load(options.file)
    if options.output is not None:
        target = Target.of(program, options.output, "instrumented")
        target.write(session.instrument(program, passes, options.print_after))
        print(f"compile it with -I{INCLUDE_DIRECTORY}", file=sys.stderr)
        return 0
    if headers := program.rewritten_headers:
        raise needs_folder(headers[0], Path(options.file).with_suffix(".instrumented"))
    unit = session.instrument(program, passes, options.print_after)
    sys.stdout.buffer.write(unit.rewritten().encode())
    return 0
