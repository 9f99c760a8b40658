"""Collection on the emulated device: the program runs, its launches are recorded and replayed.

Takes an instrumented program and ways to run it, gives measurements. Nothing here needs a GPU.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic

RUN_SECONDS = 600


@dataclass(frozen=True)
class Run:
    """One run of the program: its command line before substitution, and the values to substitute.

    `environment`: variables that it needs besides those of the process. `launches_only`: kernels
    need not be executed in order to record how they are launched. `program`: what `{program}` is.
    """

    words: tuple[str, ...]
    values: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    launches_only: bool = False
    program: str = ""

    @property
    def command(self) -> tuple[str, ...]:
        """The command line after substitution."""
        return tuple(word.format(program=self.program, **self.values) for word in self.words)


def plan_runs(
    template: str,
    vary: Mapping[str, Sequence[str]],
    program: Path,
    environment: Mapping[str, str] | None = None,
    launches_only: bool = False,
) -> list[Run]:
    """Every combination of the varied values, filled into `./{program} {n}`.

    Raises:
        CutuneError: CT410 when the template names something that is not varied.
    """
    combinations: list[dict[str, str]] = [{}]
    for name, values in vary.items():
        combinations = [{**c, name: value} for c in combinations for value in values]
    unused = [name for name in vary if f"{{{name}}}" not in template]
    if unused:
        reason = f"it does not use {{{unused[0]}}}"
        raise CutuneError(Diagnostic.at(Code.BAD_RUN, None, template=template, reason=reason))
    relative = os.path.relpath(program)
    runs = []
    for combination in combinations:
        try:
            words = tuple(shlex.split(template))
            run = Run(words, combination, environment or {}, launches_only, relative)
            if not run.command:
                raise ValueError("it names no program")
        except (KeyError, IndexError, ValueError) as error:
            raise CutuneError(
                Diagnostic.at(Code.BAD_RUN, None, template=template, reason=error)
            ) from error
        runs.append(run)
    return runs


def _ending(status: int) -> str:
    """Why a status is no success; empty for 0."""
    if status >= 0:
        return f"status {status}" if status else ""
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"ended by signal {-status}"


def captured(
    command: Sequence[str], environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end and keep what it prints. `a/b` is a path here, as in a shell.

    Raises:
        subprocess.TimeoutExpired: it took longer than `seconds`.
        OSError: it could not be started.
    """
    name, *arguments = command
    if os.sep in name and not name.startswith((os.sep, ".")):
        name = os.path.join(os.curdir, name)
    return subprocess.run(
        [name, *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
    )


def run_program(
    run: Run,
    environment: Mapping[str, str],
    where: str = "the emulated device",
    may_fail: bool = False,
    seconds: float = RUN_SECONDS,
) -> None:
    """Run a program to its end. `may_fail`: any status will do.

    Raises:
        CutuneError: CT411 when that is no success.
    """
    variables = {**environment, **run.environment, "CUTUNE_PYTHON": sys.executable}
    try:
        done = captured(run.command, variables, seconds)
        problem = "" if may_fail and done.returncode >= 0 else _ending(done.returncode)
        said = "\n".join([*done.stdout.splitlines()[-5:], *done.stderr.splitlines()[-5:]])
    except subprocess.TimeoutExpired:
        problem, said = f"no end within {seconds} s", ""
    except OSError as error:
        problem, said = error.strerror or str(error), ""
    if problem:
        shown = shlex.join(run.command)
        text = Diagnostic.at(Code.RUN_FAILED, None, command=shown, where=where, reason=problem)
        message = "\n".join([text.message, said]).rstrip()
        raise CutuneError(Diagnostic(Code.RUN_FAILED, message))
