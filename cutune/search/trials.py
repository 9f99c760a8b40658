"""Trials, each of one configuration at one size. Takes them as they run, keeps trials.jsonl.

The file is append-only: it gets a line when a trial begins and one when it ends, or when cutune
itself is stopped in it. A trial that has ended is not run again. One that began twice without an
end is assumed to crash the machine, and is left out. The begin and end of a process that several
trials share have lines, too: without an end these share smaller processes, and at last none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from math import isqrt
from pathlib import Path
from typing import Annotated, Any, ClassVar

from cutune.core.diagnostics import Warn
from cutune.core.typed import Quantity, Symbol, one_of, typed
from cutune.core.workspace import append_lines, read_lines
from cutune.model.measurement.measurement import Origin
from cutune.search.builds import STATE, ProjectFolder
from cutune.search.regions import HostMeasurement, is_allowed_by_all
from cutune.source.program import HostTunable
from cutune.space.annotation import Value

SCHEMA = "cutune-trial-1"
#: So many beginnings without an end are enough.
MOST_BEGINNINGS = 2


class Status(Enum):
    """How a trial ended."""

    OK = "ok"
    COMPILE = "compile"
    #: It needs more of the device than there is.
    LIMITS = "limits"
    RUNTIME = "runtime"
    TIMEOUT = "timeout"
    #: It computes something else than the program's own configuration.
    WRONG = "wrong"
    QUARANTINE = "quarantine"


@dataclass(frozen=True)
class Trial:
    """One configuration at one size.

    `how`: GPU, options with which it is compiled, command line. `sizes`: by the names of `--vary`.
    """

    origin: Origin
    how: str
    sizes: Mapping[str, str]
    configuration: Mapping[str, Value]

    @cached_property
    def id(self) -> str:
        text = json.dumps([asdict(self.origin), self.how, self.sizes, self._values])
        return sha256(text.encode()).hexdigest()[:16]

    @property
    def _values(self) -> dict[str, int | str]:
        return {name: plain(value) for name, value in sorted(self.configuration.items())}

    def to_json(self) -> dict[str, Any]:
        begun = {"how": self.how, "sizes": dict(self.sizes), "configuration": self._values}
        return _line("begin", self.id, self.origin) | begun

    def ended_json(self, ended: EndedTrial) -> dict[str, Any]:
        return _line("end", self.id, self.origin) | {
            "status": ended.status.value,
            "reason": ended.reason,
            "code": ended.code,
            "final": ended.is_final,
            "copied": ended.is_copied,
            "rules": ended.rules,
            "seconds": ended.seconds,
            "compared": ended.is_compared,
            "times": list(ended.times),
            "measured": [asdict(one) for one in ended.measured],
        }


@dataclass(frozen=True)
class EndedTrial:
    """The end of a trial, with its measurements.

    Attributes:
        times: of all regions together, milliseconds, one per repetition.
        code: what ran; empty where that is not known.
        is_final: was it timed again, in turn with the others that were fastest?
        is_copied: did another trial of the same code end so, in place of it?
        rules: by which its result is wrong.
        seconds: that it took, waiting for its program included.
        is_compared: has its result been compared? It cannot be where trials share a process.
    """

    status: Status
    reason: str = ""
    measured: tuple[HostMeasurement, ...] = ()
    times: tuple[Quantity, ...] = ()
    code: str = ""
    is_final: bool = False
    is_copied: bool = False
    rules: str = ""
    seconds: Quantity = 0.0
    is_compared: bool = True

    @property
    def has_run(self) -> bool:
        """Did the program run for it? Otherwise it took no time of the device."""
        return not self.is_copied and self.status not in (Status.COMPILE, Status.LIMITS)

    def milliseconds(self, tunables: Sequence[HostTunable]) -> float | None:
        """The time of all regions; None where it failed, or a condition of a pragma forbids it."""
        if self.status is not Status.OK:
            return None
        times = [
            one.milliseconds if is_allowed_by_all(one, tunables) else None for one in self.measured
        ]
        known = [time for time in times if time is not None]
        return sum(known) if known and len(known) == len(times) else None


def _line(event: str, trial: str, origin: Origin) -> dict[str, Any]:
    return {"schema": SCHEMA, "event": event, "trial": trial, "origin": asdict(origin)}


def plain(value: Value) -> int | str:
    """Return a value as JSON has it: fractions are texts."""
    return str(value) if isinstance(value, Fraction) else value


@dataclass
class Trials:
    """The trials of one version of a program, in a file or, without a path, in memory."""

    path: Path | None
    origin: Origin
    warn: Warn
    _ended: dict[str, EndedTrial] = field(default_factory=dict)
    _begun: Counter[str] = field(default_factory=Counter)
    #: Trials that share a process, by its name; and how many are in those of each of them.
    _sharing: dict[str, Sequence[str]] = field(default_factory=dict)
    _crowds: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def load(self) -> Trials:
        """Read what the file has of this version. Raises CT001 when it is unreadable."""
        if self.path is not None and self.path.exists():
            for name, line in _lines(self.path, self.origin, self.warn):
                if isinstance(line, EndedTrial):
                    self._ended[name] = line
                else:
                    self._note(line.event, name, line.trials)
        return self

    def known(self, trial: Trial) -> EndedTrial | None:
        if trial.id in self._ended:
            return self._ended[trial.id]
        if self._begun[trial.id] >= MOST_BEGINNINGS:
            return EndedTrial(Status.QUARANTINE, "two attempts at it did not end")
        return None

    def begin(self, trial: Trial) -> None:
        """Say that a trial begins. Raises CT002."""
        self._keep(trial.to_json())

    def stop(self, trial: Trial) -> None:
        """Say that a trial was given up for a reason that is not its own. Raises CT002."""
        self._keep({**trial.to_json(), "event": "stop"})

    def end(self, trial: Trial, ended: EndedTrial) -> None:
        self._ended[trial.id] = ended
        self._append(trial.ended_json(ended))

    def most_sharing(self, trial: Trial) -> int | None:
        """Return how many trials may share a process, this one among them; None: any number.

        A process of 256 that did not end is followed by processes of 16, and then of 4.
        """
        crowds = self._crowds.get(trial.id)
        return isqrt(min(crowds)) if crowds else None

    def share(self, trials: Sequence[Trial]) -> str:
        """Say that a process of several trials begins; return its name. Raises CT002."""
        names = [trial.id for trial in trials]
        shared = sha256("".join(names).encode()).hexdigest()[:16]
        self._keep(_line("share", shared, self.origin) | {"trials": names})
        return shared

    def part(self, shared: str) -> None:
        """Say that a process of several is over, however it ended. Raises CT002."""
        self._keep(_line("part", shared, self.origin))

    def _keep(self, entry: Mapping[str, Any]) -> None:
        self._note(entry["event"], entry["trial"], entry.get("trials", ()))
        self._append(entry)

    def _note(self, event: str, name: str, together: Sequence[str]) -> None:
        if event in ("begin", "stop"):
            self._begun[name] += 1 if event == "begin" else -1
        elif event == "share":
            self._sharing[name] = together
            for trial in together:
                self._crowds[trial] = (*self._crowds.get(trial, ()), len(together))
        else:
            together = self._sharing.pop(name, ())
            for trial in together:
                left = [*self._crowds[trial]]
                left.remove(len(together))
                self._crowds[trial] = tuple(left)

    def _append(self, entry: Mapping[str, Any]) -> None:
        if self.path is not None:
            append_lines(self.path, [dict(entry)])


Key = tuple[object, ...]


def trusted(ended: Iterable[tuple[Key, EndedTrial]]) -> set[Key]:
    """Return the configurations whose results were compared at a size at least, never wrong."""
    pairs = list(ended)
    right = {key for key, one in pairs if one.is_compared and one.status is Status.OK}
    return right - {key for key, one in pairs if one.status is Status.WRONG}


def read_measured(path: Path, origin: Origin, command: str, warn: Warn) -> list[HostMeasurement]:
    """Return all measurements of the trials of one version of a program.

    Trials that were not compared count only where their configuration was right at another size.
    Raises CT009 when the file is missing, CT001 when it is unreadable.
    """
    begun, ended = _begun_and_ended(path, origin, command, warn)
    made = {trial for trial, one in begun.items() if one.how.startswith(STATE)}
    # Of a project other sources count as well, as they are now.
    state = f"{STATE}{ProjectFolder.here(path.parent).state} " if made else ""
    current = {trial for trial in made if begun[trial].how.startswith(state)}
    counted = current & ended.keys() or ended.keys() - made
    keys = {t: (one.how, *sorted(one.configuration.items())) for t, one in begun.items()}
    kept = {trial: end for trial, end in ended.items() if trial in counted}
    right = trusted((keys.get(trial, (trial,)), end) for trial, end in kept.items())
    return [
        one
        for trial, end in kept.items()
        if end.is_compared or keys.get(trial) in right
        for one in end.measured
    ]


@dataclass(frozen=True)
class BegunTrial:
    """The line of a trial that begins or is given up; values are as `plain` gives them."""

    event: Annotated[str, one_of("begin", "stop")]
    trial: Symbol
    how: str
    sizes: Mapping[str, str]
    configuration: Mapping[str, int | str]
    trials: ClassVar[tuple[str, ...]] = ()


def read_trials(
    path: Path, origin: Origin, command: str, warn: Warn
) -> list[tuple[BegunTrial, EndedTrial]]:
    """Return all ended trials of a program's version. Raises CT009 without a file, CT001."""
    begun, ended = _begun_and_ended(path, origin, command, warn)
    return [(one, ended[trial]) for trial, one in begun.items() if trial in ended]


def _begun_and_ended(
    path: Path, origin: Origin, command: str, warn: Warn
) -> tuple[dict[str, BegunTrial], dict[str, EndedTrial]]:
    begun: dict[str, BegunTrial] = {}
    ended: dict[str, EndedTrial] = {}
    for name, line in _lines(path, origin, warn, command):
        if isinstance(line, EndedTrial):
            ended[name] = line
        elif isinstance(line, BegunTrial) and line.event == "begin":
            begun[name] = line
    return begun, ended


@dataclass(frozen=True)
class _Shared:
    event: Annotated[str, one_of("share", "part")]
    trial: Symbol
    trials: tuple[Symbol, ...] = ()


_Line = tuple[str, EndedTrial | BegunTrial | _Shared]


def _lines(path: Path, origin: Origin, warn: Warn, command: str = "") -> Iterator[_Line]:
    """Yield the lines of one version of a program, each with the name of its trial or process."""
    wanted = asdict(origin)

    def convert(entry: Mapping[str, Any]) -> _Line | None:
        # Those of other versions are looked at, too, so that a torn one counts as such.
        line: EndedTrial | BegunTrial | _Shared
        match entry["event"]:
            case "end":
                line = _ended(entry, origin)
            case "share" | "part":
                line = typed(_Shared, entry)
            case _:
                line = typed(BegunTrial, entry)
        return (entry["trial"], line) if entry["origin"] == wanted and entry["trial"] else None

    return filter(None, read_lines(path, SCHEMA, convert, command, warn))


def _ended(entry: Mapping[str, Any], origin: Origin) -> EndedTrial:
    typed(Symbol, entry["trial"])
    kept = {name: entry[name] for name in ("status", "reason", "code", "times")}
    kept |= {name: entry[name] for name in ("rules", "seconds") if name in entry}
    kept |= {f"is_{name}": entry[name] for name in ("copied", "compared") if name in entry}
    measured = [{**one, "origin": asdict(origin)} for one in entry["measured"]]
    return typed(EndedTrial, {**kept, "measured": measured, "is_final": entry["final"]})
