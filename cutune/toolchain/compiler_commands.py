"""Compilers run to their end. Takes a command and variables, gives its status and what it printed.

Output is decoded as latin-1, as sources are. Text without end ends all of them. nvcc runs its tools
through a shell, in which it puts words between double quotes as they are: words that would be
executed there are found here, too.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from signal import SIGKILL
from subprocess import DEVNULL, PIPE, CompletedProcess, Popen
from tempfile import TemporaryFile
from threading import Event, Timer

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import ON_INTERRUPT, CompilerKilled, end, ended_by
from cutune.core.temporary import run_folder

#: The preprocessor may write so much, for so long.
MOST_BYTES, MOST_SECONDS = 256 << 20, 60
Finished = CompletedProcess[str]
#: Of a command line: a command, or flags.
Words = Sequence[str]
#: Compilers that have not ended.
_RUNNING: list[Popen[bytes]] = []
#: Has this process ended some of them? Has Ctrl-C come, after which nothing is compiled?
_ENDED, _INTERRUPTED = Event(), Event()
#: Names the folder for temporary files.
_FOLDER = "TMPDIR"
#: So long compilers may go on behind Ctrl-C: cicc ignores it, and cc1plus sometimes hangs.
PATIENCE_SECONDS = 2.0


def _end_soon() -> None:
    _INTERRUPTED.set()
    timer = Timer(PATIENCE_SECONDS, _end_all)
    timer.daemon = True
    timer.start()


def _end_all() -> None:
    """End all compilers of this process, also those whose own driver has ended before them."""
    mark = f"{_FOLDER}={run_folder()}".encode()
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):  # it has ended meanwhile, or is another user's
            if mark in environ.read_bytes().split(b"\0"):
                os.kill(int(environ.parent.name), SIGKILL)


ON_INTERRUPT.append(_end_soon)


def _with_folder(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables by which nothing is left behind: cicc does not remove all of its files.

    Raises KeyboardInterrupt where Ctrl-C has come: threads would go on with what they have to do.
    """
    if _INTERRUPTED.is_set():
        raise KeyboardInterrupt
    return {**environment, _FOLDER: str(run_folder())}


def run_command(
    command: Words, environment: Mapping[str, str], cwd: str | Path | None = None
) -> Finished:
    """Run a compiler, whatever its status. Raises CompilerKilled; OSError: it cannot be run."""
    variables = _with_folder(environment)
    process = Popen(command, cwd=cwd, env=variables, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
    _RUNNING.append(process)
    try:
        output, errors = process.communicate()
    finally:
        _RUNNING.remove(process)
    texts = output.decode("latin-1"), errors.decode("latin-1")
    _refuse_killed(command[0], process.returncode, texts[1])
    return CompletedProcess([*command], process.returncode, *texts)


def run_limited(command: Words, environment: Mapping[str, str], path: str | Path) -> Finished:
    """Run a preprocessor until macros that grow without end outgrow what is allowed.

    Args:
        path: what it preprocesses.

    Raises:
        CutuneError: CT711 where they have. All others are ended then, too.
        CompilerKilled: CT714.
        OSError: it cannot be run.
    """
    with TemporaryFile(dir=run_folder()) as errors:
        variables = _with_folder(environment)
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
            with process.stdout as stream:
                while size <= MOST_BYTES and (chunk := stream.read(1 << 20)):
                    chunks.append(chunk)
                    size += len(chunk)
        finally:  # Ctrl-C, too: this process would wait for its timer.
            timer.cancel()
        is_over = size > MOST_BYTES or is_late.is_set()
        if is_over:
            _ENDED.set()
            for running in (process, *_RUNNING):
                end(running)
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
