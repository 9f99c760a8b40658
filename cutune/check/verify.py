"""A tuned program against the original. Takes both and ways to run them, gives differences.

Each is run with the same command lines, on the emulated device or on a GPU. Compared are exit
status, standard output, standard error and named files: bit for bit, or numbers within a tolerance
and all other text exactly. The original runs twice, and must succeed; what differs between its own
runs (times, addresses, random numbers) is not compared. Variables of cutune do not reach them.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import run_to_end, signal_name
from cutune.core.temporary import temporary_folder
from cutune.emulator.launch_log import Triple, read_launches
from cutune.emulator.run import device_environment, program_environment
from cutune.measure.agreement import NOTHING, Agreement, OtherLength, Varying
from cutune.measure.program_runs import Run, failed_kernel
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.locate import found_program

#: Variables that change the choices of a tuned program.
_OWN_VARIABLES = ("CUTUNE", "CUTUNE_MODE", "CUTUNE_REFINE_FILE", "CUTUNE_SEED", "CUTUNE_VARIANT")
LONGEST_SECONDS = 600.0
STANDARD_OUTPUT, STANDARD_ERROR = "standard output", "standard error"
#: Most launches that are logged per kernel and launch site.
_LOGGED_LAUNCHES = 100

#: A kernel and its configuration.
Configured = tuple[str, Triple, Triple]


@dataclass(frozen=True)
class Conditions:
    """How programs run, which `files` they write, and when their outputs agree.

    `device`: emulated; None is the GPU. `threads` of the host that one emulated launch may use;
    None: all. `statuses` of success; None: any.
    """

    device: DeviceProfile | None
    files: tuple[str, ...] = ()
    threads: int | None = None
    agreement: Agreement = field(default_factory=Agreement)
    statuses: frozenset[int] | None = frozenset({0})


@dataclass(frozen=True)
class RunOutcome:
    """The end of a run: `contents` of output and files, by their names in messages.

    `status` is None after a time-out. `launches` of the emulated device have their configurations.
    """

    status: int | None
    contents: Mapping[str, bytes]
    seconds: float = 0.0
    launches: frozenset[Configured] = field(default_factory=frozenset)


def outcome_of(
    run: Run,
    conditions: Conditions,
    variables: Mapping[str, str] | None = None,
    limit_seconds: float = LONGEST_SECONDS,
) -> RunOutcome:
    """Run a program to its end or to the time limit. Raises CT441 when it cannot be started."""
    files = {path: (run.folder or Path()) / path for path in conditions.files}
    for place in files.values():
        # Otherwise a file of an earlier run would count, although this run does not write it.
        place.unlink(missing_ok=True)
    with temporary_folder() as folder:
        log = Path(folder) / "launches.jsonl"
        environment = {**_environment(run, conditions, Path(folder), log), **(variables or {})}
        started = time.monotonic()
        ended = run_to_end(run.command, environment, limit_seconds, run.folder)
        if ended.not_started:
            path, reason = run.command[0], ended.not_started
            raise CutuneError.at(Code.NOT_RUN, path=path, reason=reason)
        seconds = time.monotonic() - started
        launches = frozenset((one.kernel, one.grid, one.block) for one in read_launches(log))
    contents = {STANDARD_OUTPUT: ended.output, STANDARD_ERROR: ended.errors}
    contents |= {f"'{path}'": _content(place) for path, place in files.items()}
    named = {name: _without_program(content, run) for name, content in contents.items()}
    return RunOutcome(ended.status, named, seconds, launches)


def _environment(run: Run, conditions: Conditions, folder: Path, log: Path) -> dict[str, str]:
    environment = {k: v for k, v in os.environ.items() if k not in _OWN_VARIABLES}
    if conditions.device is not None:
        emulated = program_environment(_program(run))
        environment |= {k: v for k, v in emulated.items() if k not in _OWN_VARIABLES}
        environment |= device_environment(conditions.device, folder)
        environment["CUTUNE_PYTHON"] = sys.executable
        environment["CUTUNE_LAUNCH_LOG"] = str(log)
        environment["CUTUNE_LOG_LIMIT"] = str(_LOGGED_LAUNCHES)
        # Times are no results: what the original prints of them varies by itself, as on a GPU.
        environment["CUTUNE_CLOCK_SEED"] = str(1 + secrets.randbelow(2**32))
        if conditions.threads is not None:
            environment.setdefault("CUTUNE_EMULATOR_THREADS", str(conditions.threads))
    return {**environment, **run.environment}


def _program(run: Run) -> Path:
    """What a run starts; a word without a folder is looked for as a shell does."""
    word = run.command[0]
    is_path = os.sep in word
    return (run.folder or Path()) / word if is_path else Path(found_program(word) or word)


def _without_program(content: bytes, run: Run) -> bytes:
    if run.folder is not None:
        # Each program has a copy of the project.
        return content.replace(os.fsencode(run.folder), b"{folder}")
    words = {run.command[0], run.program, os.path.abspath(run.program)} if run.program else ()
    for word in sorted(words, key=len, reverse=True):
        if os.sep in word:
            content = re.sub(re.escape(word.encode()) + rb"(?![\w./-])", b"{program}", content)
    return content


def _content(path: Path) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


#: A difference counts if the original, run so many times more, never shows it.
CONFIRMING_RUNS = 2
#: As many where other numbers vary, unless it has run for so long: a time that is printed with few
#: digits is often the same.
MOST_CONFIRMING_RUNS, CONFIRMING_SECONDS = 10, 20.0


@dataclass(frozen=True)
class Baseline:
    """The outcome of the original; `varying` has the parts that vary, by name of the contents."""

    run: Run
    conditions: Conditions
    outcome: RunOutcome
    varying: Mapping[str, Varying] = field(default_factory=dict)

    def difference(self, outcome: RunOutcome) -> str | None:
        if outcome.status is None:
            return "it does not end"
        if outcome.status != self.outcome.status:
            return f"{_said(self.outcome.status)} became {_said(outcome.status)}"
        for name, content in self.outcome.contents.items():
            varying = self.varying.get(name, NOTHING)
            agreement, other = self.conditions.agreement, outcome.contents[name]
            if (difference := agreement.difference(content, other, varying)) is not None:
                return f"{name}, {difference}"
        return None

    def run_again(self) -> Baseline:
        """Run the original once more; adds what varies in that run. Raises as `baseline`."""
        again = outcome_of(self.run, self.conditions)
        _check_success(self.run, again, self.conditions)
        if again.status != self.outcome.status:
            reason = f"{_said(self.outcome.status)} in one run, {_said(again.status)} in another"
            raise _failed(self.run, reason)
        varying = {
            name: self.varying.get(name, NOTHING) | self._varying(name, content, again)
            for name, content in self.outcome.contents.items()
        }
        outcome = replace(self.outcome, seconds=max(self.outcome.seconds, again.seconds))
        known = replace(self, outcome=outcome, varying=varying)
        if any(one.numbers for one in varying.values()) and not known._compared_lines():
            raise CutuneError.at(Code.NOTHING_COMPARED, command=self.run.shown)
        return known

    def confirmed(self, outcome: RunOutcome) -> tuple[Baseline, str | None]:
        """The first difference that more runs of the original lack, and what is then known."""
        known, reason = self, self.difference(outcome)
        for number in range(MOST_CONFIRMING_RUNS):
            if reason is None or not known._may_vary_still(number):
                break
            known = known.run_again()
            reason = known.difference(outcome)
        return known, reason

    def _may_vary_still(self, runs: int) -> bool:
        if runs < CONFIRMING_RUNS:
            return True
        varies = any(varying.numbers for varying in self.varying.values())
        return varies and runs * self.outcome.seconds < CONFIRMING_SECONDS

    def remarks(self) -> Iterator[Diagnostic]:
        """Remarks on parts that were not compared; one if only the status was."""
        command = self.run.shown
        what = [v.described(name) for name, v in self.varying.items() if v.numbers]
        if what:
            yield Diagnostic.at(Code.LEFT_OUT, command=command, what="; ".join(what))
        if not self._compared_lines():
            yield Diagnostic.at(Code.ONLY_STATUS, command=command)

    def _varying(self, name: str, content: bytes, again: RunOutcome) -> Varying:
        try:
            return self.conditions.agreement.varying(content, again.contents[name])
        except OtherLength as other:
            command, (first, second) = self.run.shown, other.args
            about = {"name": name, "command": command, "first": first, "second": second}
            raise CutuneError.at(Code.VARYING_LENGTH, None, None, **about) from other

    def _compared_lines(self) -> int:
        return sum(
            self.conditions.agreement.compared_lines(content, self.varying.get(name, NOTHING))
            for name, content in self.outcome.contents.items()
        )


def baseline(run: Run, conditions: Conditions) -> Baseline:
    """Run the original twice.

    Raises CT433 when it fails, CT434 when all that it writes varies, CT435 when the number of lines
    does, CT441 when it cannot be started.
    """
    outcome = outcome_of(run, conditions)
    _check_success(run, outcome, conditions)
    return Baseline(run, conditions, outcome).run_again()


def _check_success(run: Run, outcome: RunOutcome, conditions: Conditions) -> None:
    status = outcome.status
    if status is None:
        raise _failed(run, f"no end within {LONGEST_SECONDS:.0f} s")
    if status < 0:
        raise _failed(run, _said(status), outcome)
    if conditions.statuses is not None and status not in conditions.statuses:
        raise _failed(run, f"{_said(status)}; if that is right, add --status {status}", outcome)
    said = outcome.contents[STANDARD_ERROR].decode("latin-1")
    if conditions.device is not None and (failed := failed_kernel(said)):
        raise _failed(run, failed)


def _failed(run: Run, reason: str, outcome: RunOutcome | None = None) -> CutuneError:
    message = Diagnostic.at(Code.ORIGINAL_FAILED, command=run.shown, reason=reason).message
    said = outcome.contents[STANDARD_ERROR].decode("latin-1").splitlines()[-5:] if outcome else []
    return CutuneError(Diagnostic(Code.ORIGINAL_FAILED, "\n".join([message, *said])))


def _said(status: int | None) -> str:
    if status is None or status >= 0:
        return f"exit status {status}"
    return f"end by {signal_name(status)}"


def verify(
    original: Sequence[Run], tuned: Sequence[Run], conditions: Conditions
) -> Iterator[tuple[Baseline, Diagnostic | None]]:
    """Run both programs at each size; gives the original's outcome, and a difference.

    Raises CT441 when a program cannot be started, and as `baseline`.
    """
    for first, second in zip(original, tuned, strict=True):
        known = baseline(first, conditions)
        known, reason = known.confirmed(outcome_of(second, conditions))
        differs = Diagnostic.at(Code.OUTPUT_DIFFERS, command=second.shown, reason=reason)
        yield known, differs if reason is not None else None
