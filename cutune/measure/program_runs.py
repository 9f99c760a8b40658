"""Runs of a program. Takes a template of its command line and values, gives runs, and runs them.

Small runs of a data-dependent kernel differ from large ones: in divergence of its loops, in sectors
that threads share by chance, in cache hits. So the largest run is repeated with its sizes doubled,
as often as the limits allow.

Runs at other sizes are proposed as options to paste, at the end of a message. Which words of a
command line are sizes is not known; a number that a kernel was given as an argument is one.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from math import log, log2
from pathlib import Path
from typing import TYPE_CHECKING

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, known_names, meant
from cutune.core.processes import ProgramResult, run_to_end, signal_name

if TYPE_CHECKING:
    from cutune.emulator.launch_log import LaunchRecord

RUN_SECONDS = 600
#: Exit statuses of a program that does its work, unless others are named.
WELL = frozenset({0})
#: It stands for a program that is a script.
SCRIPT = "{script}"
_NAMES = re.compile(r"\{(\w+)\}")
_FAILED_KERNEL = re.compile(
    r"^cutune: (?:illegal address|misaligned address|trap|failed assertion|deadlock"
    r"|CUTUNE_INSTRUCTION_LIMIT reached|not supported|this program cannot run|cannot load '"
    r"|error: ).*|^.*: error: .*\[CT4\d\d\]",
    re.MULTILINE,
)
#: Addresses that longer allocations would hold: neither before all of them, as a null pointer's
#: are, nor in one that was freed.
_BEYOND = re.compile(
    r"illegal address: .* (?:reaches past an allocation|at 0x(?!.{1,4}\b).*is in no allocation)"
)
_ILLEGAL = "illegal address"
_MEND = "mend it (cutune run --check shows all of it)"
_BEYOND_HELP = (
    f"a GPU may not notice it: {_MEND}, or set "
    "CUTUNE_OVERRUN=4096, bytes that may be accessed behind each allocation"
)
#: Of a run that is the program's name alone.
_NO_ARGUMENTS = "; arguments that it needs stand in --run './{program} <arguments>'"
#: What a shell adds to the number of the signal that ended a command.
_SIGNALLED = 128

#: Text that a shell does not read, and what it reads within double quotes and outside of quotes.
#: The program of a command line: a path, else the first word.
_STARTED = (re.compile(r"(?<!\S)\.{0,2}/[^\s;&|]+"), re.compile(r"\S+"))
_LITERAL = re.compile(r"'[^']*'|\\.", re.DOTALL)
_QUOTED = re.compile(r'"[^"$`]*"')
_SHELL = re.compile(r"[|&;<>()$`*?\n]|(?:^|\s)~|^\s*\w+=")


@dataclass(frozen=True)
class RunPlan:
    """The runs that are asked for, and what is measured in them.

    `run`: template of the command lines, with names of `vary` in braces. `training`: replay kernels
    at the sizes of the published method, too. `launches_only`, `statuses`, `environment`,
    `script`: see `Run`.
    """

    run: str
    vary: Mapping[str, Sequence[str]]
    candidate_set: str
    training: bool = False
    launches_only: bool = False
    statuses: frozenset[int] | None = WELL
    environment: Mapping[str, str] = field(default_factory=dict)
    script: tuple[str, ...] = ()

    def runs(self, program: Path, environment: Mapping[str, str] | None = None) -> list[Run]:
        about = {**self.environment, **(environment or {})}, self.launches_only, self.statuses
        return plan_runs(self.run, self.vary, program, *about, self.script)


@dataclass(frozen=True)
class Run:
    """One run of the program: its command line before substitution, and the values to substitute.

    Attributes:
        environment: variables that are added to those of the process.
        launches_only: kernels need not be executed to record how they are launched.
        program: the path for `{program}`.
        statuses: exit statuses with which it may end; None: any.
        shell: the command line before substitution where a shell has to read it; else empty.
        is_cut: it executes more than the emulated device has time for, and is not run to its end.
        script: the words for `{script}`, of which the last one is its path.
        folder: where it runs; None: in the current one.
    """

    words: tuple[str, ...]
    values: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    launches_only: bool = False
    program: str = ""
    statuses: frozenset[int] | None = WELL
    shell: str = ""
    is_cut: bool = False
    script: tuple[str, ...] = ()
    folder: Path | None = None

    @property
    def executes_all(self) -> bool:
        return not (self.launches_only or self.is_cut)

    @property
    def command(self) -> tuple[str, ...]:
        return self._command(self.program, self.script)

    @property
    def shown(self) -> str:
        """The command line as one would type it; of a temporary program only the name."""
        place = Path(os.path.realpath(self.program))
        is_temporary = place.is_relative_to(os.path.realpath(tempfile.gettempdir()))
        is_far = self.program.startswith(os.pardir)
        program = place.name if is_temporary and is_far else self.program
        command = self._command(program, self.script[-1:])
        return command[-1] if self.shell else shlex.join(command)

    def _command(self, program: str, script: Sequence[str]) -> tuple[str, ...]:
        named = {"program": program, **self.values}
        started = [word.replace("{program}", program) for word in script]
        if self.shell:
            quoted = {name: shlex.quote(value) for name, value in named.items()}
            if started:
                quoted["script"] = shlex.join(started)
            return ("/bin/sh", "-c", self.shell.format(**quoted))
        words = (
            started if started and word == SCRIPT else [word.format(**named)] for word in self.words
        )
        return tuple(chain.from_iterable(words))


@dataclass(frozen=True)
class RecordedRun:
    """A run, and the launches that it made on the emulated device, in their order."""

    run: Run
    launches: Sequence[LaunchRecord]


def plan_runs(
    template: str,
    vary: Mapping[str, Sequence[str]],
    program: Path,
    environment: Mapping[str, str] | None = None,
    launches_only: bool = False,
    statuses: frozenset[int] | None = WELL,
    script: tuple[str, ...] = (),
) -> list[Run]:
    """Every combination of the varied values, filled into `./{program} {n}`.

    `program`: `Path()` where the template names another, as that of a project. Raises CT410 where
    names of the template are not varied, or it lacks some that are, or the program.
    """
    if unused := _unused(template, vary, Path() if script else program):
        raise _bad_run(template, unused)
    relative = os.path.relpath(program)
    shell = template if needs_shell(template) else ""
    runs = []
    for values in product(*vary.values()):
        try:
            words, named = tuple(shlex.split(template)), dict(zip(vary, values, strict=True))
            about = environment or {}, launches_only, relative, statuses, shell
            run = Run(words, named, *about, script=script)
            if not run.command[-1]:
                raise ValueError("it names no program")
        except KeyError as error:
            name = str(error.args[0])
            known = known_names(name, ("program", *vary))
            reason = f"{{{name}}} has no value; known: {known}; or give it values: --vary {name}=…"
            raise _bad_run(template, reason) from error
        except (IndexError, ValueError) as error:
            raise _bad_run(template, error) from error
        runs.append(run)
    return runs


def _bad_run(template: str, reason: object) -> CutuneError:
    return CutuneError.at(Code.BAD_RUN, template=template, reason=reason)


def _unused(template: str, vary: Mapping[str, Sequence[str]], program: Path) -> str:
    """The fault of a template that leaves something out, and what to write; else empty."""
    named = _NAMES.findall(template)
    if program != Path() and "program" not in named:
        # All words but that of the program stay.
        started = next(filter(None, (p.search(template) for p in _STARTED)), None)
        start, end = started.span() if started is not None else (0, 0)
        lacking = "".join(f" {{{name}}}" for name in vary if name not in named)
        example = f"{template[:start]}./{{program}}{template[end:]}{lacking}"
        built = "it does not run {program}, which is built for that"
        return f"{built}; write: --run {shlex.quote(example)}"
    unused = [name for name in vary if name not in named]
    if not unused:
        return ""
    name = f"{{{unused[0]}}}"
    close = meant(unused[0], named)
    return f"it does not use {name}{close or f'; write {name} where values of --vary belong'}"


def needs_shell(template: str) -> bool:
    """Does a command line hold what only a shell understands: `cd build && ./app`, `A=1 ./app`?"""
    return _SHELL.search(_QUOTED.sub("", _LITERAL.sub("", template))) is not None


def ended_run(run: Run, environment: Mapping[str, str], seconds: float) -> ProgramResult:
    """Run a program to its end, or for so many seconds."""
    own = {**run.environment, "CUTUNE_PYTHON": sys.executable}
    return run_to_end(run.command, {**os.environ, **environment, **own}, seconds)


def run_program(
    run: Run,
    environment: Mapping[str, str],
    where: str = "the emulated device",
    seconds: float = RUN_SECONDS,
) -> None:
    """Run a program to its end; one that is cut may end in any way. Raises CT411 when it fails."""
    ended = ended_run(run, environment, seconds)
    if ended.not_started or not run.is_cut:
        check_end(run, ended, where, seconds)


def check_end(
    run: Run, ended: ProgramResult, where: str = "the emulated device", seconds: float = RUN_SECONDS
) -> None:
    """Raise CT411 for a run that did not end as it should."""
    problem = _problem(run, ended, seconds)
    if problem and not ended.timed_out and (failed := failed_kernel(ended.errors_text)):
        problem = _helped(failed)
    if problem:
        text = Diagnostic.at(Code.RUN_FAILED, command=run.shown, where=where, reason=problem)
        raise _with_last_lines(text, ended)


def failed_kernel(said: str) -> str:
    """The emulated device's message about a failed kernel, or empty: a program may go on."""
    found = _FAILED_KERNEL.search(said)
    return found[0].removeprefix("cutune: ") if found is not None else ""


def check_kernels(run: Run, ended: ProgramResult) -> None:
    """Raise CT411 for a run in which a kernel failed, even if the program did not notice."""
    failed = failed_kernel(ended.errors_text)
    # Who accepts any end knows that something fails.
    if failed and run.statuses is not None:
        where, reason = "the emulated device", _helped(failed)
        raise CutuneError.at(Code.RUN_FAILED, command=run.shown, where=where, reason=reason)


def _helped(failed: str) -> str:
    helps = []
    if failed.startswith(_ILLEGAL):
        helps = [_BEYOND_HELP if _BEYOND.match(failed) else _MEND]
    return "; ".join([failed, *helps, "where it is meant: --status any"])


def nothing_launched(run: Run, ended: ProgramResult) -> CutuneError:
    """The error for a program that launches nothing, with the last lines that it printed."""
    return _with_last_lines(Diagnostic.at(Code.NOTHING_LAUNCHED, command=run.shown), ended)


def _problem(run: Run, ended: ProgramResult, seconds: float) -> str:
    if ended.not_started:
        return ended.not_started
    if ended.status is None:
        return f"no end within {seconds:g} s"
    status = _SIGNALLED - ended.status if ended.status < 0 else ended.status
    if status > _SIGNALLED and (ended.status < 0 or run.shell):
        return f"ended by {signal_name(_SIGNALLED - status)}"
    # Kernels that were skipped computed nothing, so the program's own check may fail.
    if run.statuses is None or status in run.statuses or run.launches_only:
        return ""
    lacks = "" if run.values or len(run.words) > 1 or run.shell else _NO_ARGUMENTS
    return f"status {status}{lacks}; if it ends so where nothing is wrong, try: --status {status}"


def _with_last_lines(said: Diagnostic, ended: ProgramResult) -> CutuneError:
    lines = [ended.output_text.splitlines()[-5:], ended.errors_text.splitlines()[-5:]]
    printed = [] if ended.timed_out else [*lines[0], *lines[1]]
    return CutuneError(Diagnostic(said.code, "\n".join([said.message, *printed]).rstrip()))


# ---- at other sizes than those that were asked for

MOST_DOUBLINGS = 6
#: If doubling a value multiplies the work by less than this, the value is not a size.
LEAST_GROWTH = 1.25


@dataclass(frozen=True)
class Cost:
    """Warp instructions to count all candidates of a run, about, and bytes that kernels reach."""

    work: int
    memory: int


#: Limits of the larger run: a few seconds, and the memory of a small machine.
LIMIT = Cost(300_000_000, 1 << 30)


def larger_run(runs: Sequence[Run], costs: Sequence[Cost]) -> Run | None:
    """The largest run with its sizes doubled as often as possible; None where that is never.

    Its sizes are the values in which it exceeds the smallest run. `costs`: per run, all of the same
    kernels; a run in which nothing was counted has no work.
    """
    known = sorted((cost.work, index) for index, cost in enumerate(costs) if cost.work)
    if not known:
        return None
    least, most = known[0][1], known[-1][1]
    pairs = ((name, runs[least].values[name], value) for name, value in runs[most].values.items())
    grown = {
        name: int(after) / int(before)
        for name, before, after in pairs
        if before.isdecimal() and after.isdecimal() and 0 < int(before) < int(after)
    }
    if not grown:
        return None
    doublings = sum(log2(growth) for growth in grown.values()) / len(grown)
    work = _growth(costs[least].work, costs[most].work, doublings)
    memory = _growth(costs[least].memory, costs[most].memory, doublings)
    if work < LEAST_GROWTH:
        return None
    times = min(MOST_DOUBLINGS, int(log(LIMIT.work / costs[most].work) / log(work)))
    if memory > 1:
        times = min(times, int(log(LIMIT.memory / costs[most].memory) / log(memory)))
    if times < 1:
        return None
    # Powers of two: sizes that have to be multiples of something still are.
    larger = {name: str(int(runs[most].values[name]) << times) for name in grown}
    return replace(runs[most], values={**runs[most].values, **larger})


def _growth(before: int, after: int, doublings: float) -> float:
    return (after / before) ** (1 / doublings) if before else 1.0


#: Smaller numbers are seldom sizes: steps, radii, selectors.
LEAST_SIZE = 8
#: Work may double with each step of a number below, as with the depth of a search: it is reduced
#: a little only.
STEPWISE = 64
#: Bytes of an integer argument; the lower half of a wider one holds its value, too.
_WIDTH = 4
_HOLE = "{n}"
_NUMBER = re.compile(r"(--?[\w-]+=)?(\d{1,9})")
#: Words that need no quotes.
_PLAIN = re.compile(r"[\w@%+=:,./{}-]+")


def try_smaller(made: RecordedRun) -> str:
    """`; try: --run './app {n}' --vary n=128,256` for n = 1024; empty where no size is found."""

    def smaller(size: int) -> tuple[int, int]:
        return (size * 3 // 5, size * 4 // 5) if size < STEPWISE else (size // 8, size // 4)

    return _proposed(made, smaller)


def try_two(made: RecordedRun) -> str:
    """`; try: --run './app {n}' --vary n=512,1024` for n = 1024, or an example in general."""
    if halved := [_halved(*one) for one in made.run.values.items()]:
        return f"; try: {' '.join(halved)}"
    program = "./{program}" if any("{program}" in word for word in made.run.words) else "./app"
    program = f"python3 {SCRIPT}" if made.run.script else program
    has_words = made.run.shell or made.run.script or made.run.words[1:]
    how = "such as" if has_words else "which the program has to read, as by atoi(argv[1]):"
    example = f", {how} --run '{program} {_HOLE}' --vary n=256,1024"
    return _proposed(made, lambda size: (size // 2, size)) or example


def _proposed(made: RecordedRun, sizes: Callable[[int], tuple[int, int]]) -> str:
    run = made.run
    if run.values or run.shell:
        return ""
    given = {number for launch in made.launches for number in _numbers(launch.parameters)}
    for place, word in enumerate(run.words[1:], 1):
        match = _NUMBER.fullmatch(word)
        size = int(match[2]) if match is not None else 0
        if match is not None and size >= LEAST_SIZE and size in given:
            words = [*run.words]
            words[place] = f"{match[1] or ''}{_HOLE}"
            line = " ".join(word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words)
            values = ",".join(map(str, sizes(size)))
            return f"; try: --run {shlex.quote(line)} --vary n={values}"
    return ""


def _halved(name: str, value: str) -> str:
    half = f"{int(value) // 2}," if value.isdecimal() and int(value) > 1 else ""
    return f"--vary {shlex.quote(f'{name}={half}{value}')}"


def _numbers(parameters: bytes) -> set[int]:
    places = range(0, len(parameters) - _WIDTH + 1, _WIDTH)
    return {int.from_bytes(parameters[place : place + _WIDTH], "little") for place in places}
