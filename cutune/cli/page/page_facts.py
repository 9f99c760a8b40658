"""The types of a report: programs, launches, kernels at sizes, timings, provenance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import geometric_mean

from cutune.check.evaluate import Evaluation
from cutune.model.measurement.sweep import SweptConfiguration
from cutune.toolchain.device.thread_block import Block

#: A gain from here on is spoken of.
SPEAKING_GAIN = 1.02


class Standing(Enum):
    """The state of a kernel or a launch; the page shows the value."""

    GAINS = "gains"
    GOOD = "good already"
    UNMODELLED = "not modelled"
    REFUSED = "stays"


@dataclass(frozen=True)
class CodeLine:
    """A line of a source. `marked`: columns of what is spoken of, from 0, half-open."""

    number: int
    text: str
    marked: tuple[int, int] | None = None


@dataclass(frozen=True)
class LaunchFacts:
    """A launch site and its verdict, with the source beside it.

    Attributes:
        reason, code: why it stays as it is; empty where it may change.
        remedy: what would settle it, in words. pragma: the line to insert there, if one would do.
        models: keys of `KernelFacts` of the kernels that it launches.
        question: `cutune select …` that answers what a model needs to be told, or empty.
    """

    kernel: str
    file: str
    line: int
    standing: Standing
    reason: str
    code: str
    lines: tuple[CodeLine, ...]
    remedy: str = ""
    pragma: str = ""
    models: tuple[str, ...] = ()
    question: str = ""

    @property
    def is_tunable(self) -> bool:
        return self.standing is not Standing.REFUSED


@dataclass(frozen=True)
class ProgramFacts:
    """A source and its launches. `notes`: messages about it. `content`: a hash of its bytes."""

    name: str
    path: str
    content: str
    launches: tuple[LaunchFacts, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A configuration at some sizes: predicted and measured microseconds, where they are known."""

    configuration: SweptConfiguration
    predicted_us: float | None
    measured_us: float | None
    terms_us: Mapping[str, float]


@dataclass(frozen=True)
class AtSizes:
    """A kernel at the sizes of one launch.

    Attributes:
        own, chosen: the program's own configuration, and cutune's. grid: the grid of the latter.
        gain: predicted time of the former by that of the latter; None: one has no prediction.
        candidates: all that have a prediction or a measured time.
    """

    label: str
    own: SweptConfiguration
    chosen: SweptConfiguration
    gain: float | None
    reason: str
    candidates: tuple[Candidate, ...]
    grid: Block

    def candidate(self, configuration: SweptConfiguration) -> Candidate | None:
        return next((c for c in self.candidates if c.configuration == configuration), None)

    @property
    def predicted(self) -> list[Candidate]:
        """The candidates with a prediction, the fastest first."""
        known = (c for c in self.candidates if c.predicted_us is not None)
        return sorted(known, key=lambda c: c.predicted_us or 0.0)

    @property
    def measured_gain(self) -> float | None:
        """The measured time of the program's own configuration by that of cutune's."""
        own, chosen = self.candidate(self.own), self.candidate(self.chosen)
        if own is None or chosen is None or not (own.measured_us and chosen.measured_us):
            return None
        return own.measured_us / chosen.measured_us


@dataclass(frozen=True)
class CurvePoint:
    """The choice at one value of all sizes. `near`: predicted within 2 % of the fastest."""

    size: int
    gain: float
    own: SweptConfiguration
    chosen: SweptConfiguration
    near: frozenset[SweptConfiguration]


@dataclass(frozen=True)
class Line:
    """A definition of a rational program. `meaning`: a short description, or empty."""

    name: str
    formula: str
    meaning: str = ""


@dataclass(frozen=True)
class Step:
    """A node of the flow chart: lines that are computed, or a question with two answers."""

    title: str
    if_true: str = ""
    if_false: str = ""
    lines: tuple[Line, ...] = ()


@dataclass(frozen=True)
class FlowChart:
    """The rational program of a kernel and the choice behind it, in running order.

    Attributes:
        sizes: what is known at the launch. candidates: how many blocks are compared.
        once: computed once per launch. each: once per block. choice: what decides at the end.
    """

    sizes: tuple[str, ...]
    candidates: int
    once: tuple[Step, ...]
    each: tuple[Step, ...]
    choice: tuple[Step, ...]


@dataclass(frozen=True)
class KernelFacts:
    """A kernel with a model.

    Attributes:
        key: names it within the page.
        name: with template arguments where its program has several instances.
        counts: how good the fitted counts are, in words.
        idle_variants: variants that are nowhere faster, and are not written into the program.
        sizes: the kernel at some sizes. curve: the choice over all sizes alike.
        c_text: the rational program as it is written into the tuned program.
        file, line: the place of its definition; line 0: not known. text: the definition.
    """

    key: str
    name: str
    program: str
    counts: str
    idle_variants: tuple[str, ...]
    sizes: tuple[AtSizes, ...]
    curve: tuple[CurvePoint, ...]
    flow: FlowChart
    c_text: str
    file: str = ""
    line: int = 0
    text: tuple[CodeLine, ...] = ()

    @property
    def gain(self) -> float:
        """The predicted gain, geometric mean over the sizes; 1 where there is no prediction."""
        return mean_gain(one.gain for one in self.sizes)

    @property
    def measured_gain(self) -> float | None:
        known = [one.measured_gain for one in self.sizes if one.measured_gain is not None]
        return mean_gain(known) if known else None

    @property
    def standing(self) -> Standing:
        return Standing.GAINS if self.gain >= SPEAKING_GAIN else Standing.GOOD


@dataclass(frozen=True)
class PageFacts:
    """Everything that the page says.

    Attributes:
        title: the program or the folder. device: the GPU that is modelled.
        notes: messages that are not about one program.
        evaluation: the choice and baselines against what was measured; None without timings.
        provenance: names and values: versions, device, commands, hashes, timings.
    """

    title: str
    device: str
    summary: str
    programs: tuple[ProgramFacts, ...]
    kernels: tuple[KernelFacts, ...]
    notes: tuple[str, ...]
    evaluation: Evaluation | None
    provenance: tuple[tuple[str, str], ...]

    @property
    def launches(self) -> list[LaunchFacts]:
        return [launch for program in self.programs for launch in program.launches]

    @property
    def ranked(self) -> Sequence[KernelFacts]:
        """The kernels, those that gain most first."""
        return sorted(self.kernels, key=lambda kernel: -kernel.gain)


def mean_gain(gains: Iterable[float | None]) -> float:
    """Return the geometric mean of the gains that are known; 1 without any."""
    known = [gain for gain in gains if gain]
    return geometric_mean(known) if known else 1.0
