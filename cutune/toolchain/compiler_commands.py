"""Compilers run to their end. Takes a command and variables, gives its status and what it printed.

Output is decoded as latin-1, as sources are. Text without end ends all of them. nvcc runs its tools
through a shell, in which it puts words between double quotes as they are: words that would be
executed there are found here, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, CompletedProcess, Popen
from tempfile import TemporaryFile
from threading import Event, Timer

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import CompilerKilled, end, ended_by, ended_with_us, running
from cutune.core.temporary import run_folder

#: The preprocessor may write so much, for so long.
MOST_BYTES, MOST_SECONDS = 256 << 20, 60
Finished = CompletedProcess[str]
#: Of a command line: a command, or flags.
Words = Sequence[str]
#: Has this process ended some of them?
_ENDED = Event()


def run_command(
    command: Words, environment: Mapping[str, str], cwd: str | Path | None = None
) -> Finished:
    """Run a compiler, whatever its status. Raises CompilerKilled; OSError: it cannot be run."""
    process = Popen(command, cwd=cwd, env=environment, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    with ended_with_us(process):
        output, errors = process.communicate()
    texts = output.decode("latin-1"), errors.decode("latin-1")
    _refuse_killed(command[0], process.returncode, texts[1])
    return CompletedProcess([*command], process.returncode, *texts)


def run_limited(command: Words, variables: Mapping[str, str], path: str | Path) -> Finished:
    """Run a preprocessor until macros that grow without end outgrow what is allowed.

    Args:
        path: what it preprocesses.

    Raises:
        CutuneError: CT711 where they have. All others are ended then, too.
        CompilerKilled: CT714.
        OSError: it cannot be run.
    """
    with TemporaryFile(dir=run_folder()) as errors:
        process = Popen(command, env=variables, stdin=DEVNULL, stdout=PIPE, stderr=errors)
        is_late = Event()

        def end_late() -> None:
            # Said first: the text ends while processes are still being looked for.
            is_late.set()
            end(process)

        timer = Timer(MOST_SECONDS, end_late)
        timer.start()
        chunks, size = [], 0
        assert process.stdout is not None
        try:
            with ended_with_us(process), process.stdout as stream:
                while size <= MOST_BYTES and (chunk := stream.read(1 << 20)):
                    chunks.append(chunk)
                    size += len(chunk)
        finally:
            timer.cancel()
        is_over = size > MOST_BYTES or is_late.is_set()
        if is_over:
            _ENDED.set()
            for one in (process, *running()):
                end(one)
            code, megabytes = Code.ENDLESS_TEXT, MOST_BYTES >> 20
            raise CutuneError.at(code, path=path, seconds=MOST_SECONDS, megabytes=megabytes)
        status = process.wait()
        errors.seek(0)
        said = errors.read().decode("latin-1")
    _refuse_killed(command[0], status, said)
    return CompletedProcess([*command], status, b"".join(chunks).decode("latin-1"), said)


def _refuse_killed(program: str, status: int, said: str) -> None:
    """Refuse to conclude anything from a compiler that somebody else has ended."""
    signal = ended_by(status, said)
    if signal is not None and not _ENDED.is_set():
        ended = Diagnostic.at(Code.COMPILER_KILLED, program=program, signal=signal.name)
        raise CompilerKilled(ended, signal)


#: Paths that neither a shell nor a list of options splits.
PLAIN = re.compile(r"[\w./+@%:-]+")
#: Commands within double quotes; `$ORIGIN` is none.
_COMMAND = re.compile(r"`|\$\(")
_ESCAPED = re.compile(r"\\.")
#: What ends the quotes, or the command. Values of macros may have it: nvcc escapes it there.
_END = re.compile(r'["\n]')
#: Options whose value nvcc hands on as their user has written it.
_HANDED_ON = re.compile(r"-(?:X|D|U|-(?:options|define-macro|compiler-options|linker-options))")


def executed_word(arguments: Words) -> str | None:
    """Return the first argument that a shell would execute a part of; None: there is none."""
    before = ""
    for word in arguments:
        is_handed_on = _HANDED_ON.match(word) or _HANDED_ON.match(before)
        # There the user, or cutune, may have escaped it; nvcc escapes the escapes of other words.
        text = _ESCAPED.sub("", word) if is_handed_on else word
        if _COMMAND.search(text) or (not is_handed_on and _END.search(word)):
            return word
        before = word
    return None


def quote_folder(folder: str) -> str:
    """The -Xcompiler value, quoted for nvcc's shell, by which `#include "…"` looks in a folder."""
    if not PLAIN.fullmatch(folder):
        folder = '"' + re.sub(r'(["\\$`])', r"\\\1", folder).replace(",", "\\,") + '"'
    return f"-iquote,{folder}"
