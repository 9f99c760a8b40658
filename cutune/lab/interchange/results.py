"""Results of tuning: the types that every format is read into and written from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import isfinite
from typing import Annotated

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.typed import Integer, Label, Symbol, Text, one_of
from cutune.search.regions import HostMeasurement
from cutune.search.trials import Status

StatusWord = Annotated[str, one_of(*(one.value for one in Status))]
#: A value of a parameter, or a size, as JSON has it.
Setting = bool | Integer | float | Label
Settings = Mapping[str, Setting]


@dataclass(frozen=True)
class Metric:
    """A quantity besides the time: energy, GFLOP/s."""

    value: float | Label
    unit: Text = ""


@dataclass(frozen=True)
class OfTrial:
    """What only trials have: the program, its hash, how it ran (GPU, options, command line)."""

    path: Text
    content: Symbol
    how: Text
    final: bool = False
    copied: bool = False
    rules: Text = ""
    measured: tuple[HostMeasurement, ...] = ()
    compared: bool = True


@dataclass(frozen=True)
class Result:
    """The result of one configuration at one size.

    Attributes:
        milliseconds: the time that counts; None where it failed.
        times: single times, milliseconds.
        phases: milliseconds of what a tuner did for it, by names of `PHASES`.
        seconds: that all of it took; None: not known.
    """

    configuration: Settings
    sizes: Settings
    status: Status
    milliseconds: float | None = None
    times: tuple[float, ...] = ()
    device: str = ""
    reason: str = ""
    code: str = ""
    seconds: float | None = None
    timestamp: str = ""
    phases: Mapping[str, float] = field(default_factory=dict)
    measurements: Mapping[str, Metric] = field(default_factory=dict)
    of_trial: OfTrial | None = None

    @property
    def cost_seconds(self) -> float:
        if self.seconds is not None:
            return self.seconds
        return sum(self.phases.values()) / 1e3 + sum(self.times) / 1e3


#: What a tuner spends time on, by Kernel Tuner's words.
PHASES = ("compile", "verification", "benchmark", "strategy", "framework")
#: Fields of a result, and what people call them.
FIELDS = {
    "configuration": "types of values",
    "sizes": "names or types of sizes",
    "status": "kinds of failures",
    "milliseconds": "times",
    "times": "single times",
    "device": "devices",
    "reason": "reasons of failures",
    "code": "hashes of code",
    "seconds": "seconds spent",
    "timestamp": "timestamps",
    "phases": "times of compiling and checking",
    "measurements": "quantities besides the time",
    "of_trial": "origins of trials",
}


@dataclass(frozen=True)
class Results:
    """All results of a file.

    Attributes:
        values: that parameters might have had, those without a result too, where that is known.
    """

    results: tuple[Result, ...]
    kernel: str = ""
    values: Mapping[str, tuple[Setting, ...]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.results for name in one.configuration))

    @property
    def size_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for one in self.results for name in one.sizes))

    @property
    def all_values(self) -> dict[str, tuple[Setting, ...]]:
        """Per parameter its values: those that are said, else those that occur."""
        seen: dict[str, dict[Setting, None]] = {}
        for one in self.results:
            for name, value in one.configuration.items():
                seen.setdefault(name, {})[value] = None
        return {name: self.values.get(name) or tuple(own) for name, own in seen.items()}

    def only(self, wanted: Mapping[str, str]) -> Results:
        """Return the results that have these sizes, device or values, given as text."""

        def is_wanted(one: Result) -> bool:
            values = {**one.configuration, **one.sizes, "device": one.device}
            return all(n in values and str(values[n]) == text for n, text in wanted.items())

        return replace(self, results=tuple(filter(is_wanted, self.results)))

    def ordered(self, names: Sequence[str]) -> Results:
        """Return the results with these parameters first, in this order."""

        def sorted_first(one: Result) -> Result:
            first = {n: one.configuration[n] for n in names if n in one.configuration}
            return replace(one, configuration={**first, **one.configuration})

        return replace(self, results=tuple(map(sorted_first, self.results)))

    def best(self) -> Results:
        """Return the fastest result at each size on each device."""
        timed: dict[tuple[object, ...], list[Result]] = {}
        for one in self.results:
            if one.milliseconds is not None:
                timed.setdefault((one.device, *one.sizes.items()), []).append(one)
        fastest = (min(own, key=lambda one: one.milliseconds or 0.0) for own in timed.values())
        return replace(self, results=tuple(fastest))


@lru_cache(maxsize=1024)
def read_back(text: str) -> Setting:
    """Return the value that a text stands for: an integer, a number, or a word."""
    for kind in (int, float):
        with suppress(ValueError):
            number = kind(text)
            fits = abs(number) < 1 << 63 if kind is int else isfinite(number)
            if fits and str(number) == text:
                return number
    return text


def losses(before: Results, after: Results) -> list[str]:
    """Name the parts of the results that a conversion of them lacks."""
    lost = [word for name, word in FIELDS.items() if _differ(before.results, after.results, name)]
    missing = len(before.results) - len(after.results)
    if missing:
        failed = sum(one.milliseconds is None for one in before.results)
        why = "which have no time" if failed == missing else "one of each configuration is kept"
        lost.insert(0, f"{missing} of {len(before.results)} results ({why})")
    if before.kernel and before.kernel != after.kernel:
        lost.append("the name of the kernel")
    if any(after.all_values.get(n) != v for n, v in before.values.items() if n in before.names):
        lost.append("values without a result")
    return lost


def not_held(kind: str, reason: str) -> CutuneError:
    """Return the error of results that a format cannot hold (CT826)."""
    return CutuneError.at(Code.NOT_HELD, kind=kind, reason=reason)


def _differ(before: Sequence[Result], after: Sequence[Result], name: str) -> bool:
    if len(after) < len(before):
        before = [one for one in before if one.milliseconds is not None]
    if len(after) != len(before):
        return True
    pairs = zip(before, after, strict=True)
    return any(_typed(getattr(a, name)) != _typed(getattr(b, name)) for a, b in pairs)


def _typed(value: object) -> object:
    """Tell `1`, `1.0` and `True` apart, which are equal in Python."""
    if isinstance(value, Mapping):
        return {name: (type(one), one) for name, one in value.items()}
    return value
