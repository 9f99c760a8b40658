"""Keeps the answer of `tune` where that is allowed. Takes an answer, writes it to the cache.

It is where everything that it depends on is known: no input has changed while it was made, no
message came of the time that this machine had for it, and the program reads nothing but its command
line and its variables, as far as the names tell that it imports: known to be safe are functions
that compute, write, or tell the time.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cutune.analysis.program_builds import InstrumentedProgram
from cutune.collect.run import needs_shell
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.workspace import Json
from cutune.unchanged.digests import is_untouched_since, text_of
from cutune.unchanged.inputs import UNKNOWN, further_files
from cutune.unchanged.keeper import Keeper
from cutune.unchanged.kept import Kept, KeptMeasurements, digests_of, libraries_of, model_digests
from cutune.unchanged.own_inputs import unknown_input

#: Messages of results that another run, at another time, might not have.
_OF_TODAY = frozenset([Code.CUT_SHORT, Code.NOT_TRIED, Code.BUSY_WORKSPACE, Code.TORN_LINE])
#: Variables that put code of others into any program.
_LOADING = ("LD_PRELOAD", "LD_AUDIT")


@dataclass(frozen=True)
class Answer:
    """The answer of `tune`, and where it came from.

    Attributes:
        run: the template of the program's command lines.
        instrumented: the program that was run.
        kernels: names of all kernels that it launches.
        tuned: the files that were written. said: all messages. shown: what else was shown.
    """

    run: str
    instrumented: InstrumentedProgram
    kernels: Sequence[str]
    tuned: Sequence[Path]
    said: Sequence[Diagnostic]
    shown: Json


def keep(keeper: Keeper, answer: Answer) -> None:
    """Keep the answer if it may be."""
    if unkeepable(answer):
        return
    try:
        inputs = keeper.settled()
        if inputs is None:
            return
        further = further_files(keeper.request, answer.instrumented, inputs)
        if not is_untouched_since(further, keeper.started):
            return
        workspace, program = keeper.request.workspace, str(answer.instrumented.binary)
        kept = Kept(
            inputs.digests,
            digests_of(further),
            program,
            libraries_of(program),
            KeptMeasurements.of(workspace, answer.kernels),
            model_digests(workspace, keeper.request.sources),
            {str(path): text_of(path) for path in answer.tuned},
            [diagnostic.render() for diagnostic in answer.said],
            answer.shown,
        )
    except UNKNOWN:
        return  # It is made again then.
    kept.save(keeper.request)


def unkeepable(answer: Answer) -> str:
    """Why an answer must not be kept; empty if it may be."""
    passing = next((one.code.number for one in answer.said if one.code in _OF_TODAY), "")
    loaded = next((name for name in _LOADING if os.environ.get(name)), "")
    return passing or loaded or _other_program(answer) or unknown_input(answer.instrumented.binary)


def _other_program(answer: Answer) -> str:
    """The command line, where it starts another program: a shell, a script, a launcher."""
    words = shlex.split(answer.run)
    program = os.path.relpath(answer.instrumented.binary)
    first = words[0].format(program=program) if words else ""
    is_program = first and os.path.abspath(first) == os.path.abspath(program)
    return "" if is_program and not needs_shell(answer.run) else answer.run
