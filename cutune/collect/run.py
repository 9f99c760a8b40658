"""Runs of a program. Takes a template of its command line and values, gives runs, and runs them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import Ended, run_to_end, signal_name

RUN_SECONDS = 600


@dataclass(frozen=True)
class RunPlan:
    """The runs that are asked for, and what is measured in them.

    Attributes:
        run: template of its command lines, with the names of `vary` in braces.
        candidate_set: the thread blocks that its launches may have.
        training: are kernels replayed at the sizes of the published method, too?
        launches_only: see `Run`.
    """

    run: str
    vary: Mapping[str, Sequence[str]]
    candidate_set: str
    training: bool = False
    launches_only: bool = False

    def runs(self, program: Path) -> list[Run]:
        """See `plan_runs`."""
        return plan_runs(self.run, self.vary, program, launches_only=self.launches_only)


@dataclass(frozen=True)
class Run:
    """One run of the program: its command line before substitution, and the values to substitute.

    `environment`: variables that are added to those of the process. `launches_only`: kernels need
    not be executed to record how they are launched. `program`: the path for `{program}`.
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


def _problem(ended: Ended, may_fail: bool, seconds: float) -> str:
    """Why a run failed; empty if it did not."""
    if ended.not_started:
        return ended.not_started
    if ended.status is None:
        return f"no end within {seconds} s"
    if ended.status < 0:
        return f"ended by {signal_name(ended.status)}"
    return f"status {ended.status}" if ended.status and not may_fail else ""


def run_program(
    run: Run,
    environment: Mapping[str, str],
    where: str = "the emulated device",
    may_fail: bool = False,
    seconds: float = RUN_SECONDS,
) -> None:
    """Run a program to its end. `may_fail`: any exit status is accepted.

    Raises:
        CutuneError: CT411 when the run fails.
    """
    variables = {**environment, **run.environment, "CUTUNE_PYTHON": sys.executable}
    ended = run_to_end(run.command, variables, seconds)
    problem = _problem(ended, may_fail, seconds)
    if problem:
        shown = shlex.join(run.command)
        text = Diagnostic.at(Code.RUN_FAILED, None, command=shown, where=where, reason=problem)
        message = "\n".join([text.message, *_last_lines(ended)]).rstrip()
        raise CutuneError(Diagnostic(Code.RUN_FAILED, message))


def _last_lines(ended: Ended) -> list[str]:
    """The last lines that a program printed; none after a time-out."""
    if ended.timed_out:
        return []
    return [*ended.output_text.splitlines()[-5:], *ended.errors_text.splitlines()[-5:]]
