"""Results of calls from Python. Takes facts, gives values that notebooks show as tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from cutune.core.workspace import replace_file
from cutune.device.thread_block import Block, configuration_text
from cutune.evaluation.evaluate import Evaluation, StrategyScore
from cutune.fit.measurement.sweep import SweptConfiguration
from cutune.page.facts.report import AtSizes, LaunchFacts, PageFacts, ProgramFacts
from cutune.page.html import part, to_html


@dataclass(frozen=True)
class Inspection:
    """Programs and the verdicts about their launches.

    Attributes:
        programs: in the order of the files.
    """

    programs: tuple[ProgramFacts, ...]

    @property
    def launches(self) -> list[LaunchFacts]:
        """The launches of all programs, with verdict, reason and remedy."""
        return [launch for program in self.programs for launch in program.launches]

    def __repr__(self) -> str:
        names = ", ".join(program.name for program in self.programs)
        tunable = sum(launch.is_tunable for launch in self.launches)
        plural = "" if len(self.launches) == 1 else "es"
        return f"<{names}: {len(self.launches)} launch{plural}, {tunable} tunable>"

    def _repr_html_(self) -> str:
        return part("programs", self.programs)


@dataclass(frozen=True)
class KernelChoice:
    """The configuration that a kernel would be launched with at some sizes.

    Attributes:
        kernel: its name.
        at: all candidates with their predictions, in microseconds.
    """

    kernel: str
    at: AtSizes

    @property
    def block(self) -> Block:
        """The thread block."""
        return self.at.chosen.block

    @property
    def grid(self) -> Block:
        """Thread blocks per dimension."""
        return self.at.grid

    @property
    def variant(self) -> str:
        """The name of the variant; empty: the kernel itself."""
        return self.at.chosen.variant

    @property
    def gain(self) -> float | None:
        """How many times as fast as the program's own block; None: that is no candidate."""
        return self.at.gain

    @property
    def reason(self) -> str:
        """Why this is chosen."""
        return self.at.reason

    @property
    def predicted_us(self) -> Mapping[SweptConfiguration, float]:
        """The predicted time of each configuration in microseconds, the fastest first."""
        return {c.configuration: c.predicted_us or 0.0 for c in self.at.predicted}

    def __repr__(self) -> str:
        gain = "" if self.gain is None else f", predicted {self.gain:.2f} times as fast"
        return f"<{self.kernel}: {configuration_text(*self.at.chosen)}{gain}>"

    def _repr_html_(self) -> str:
        return part("choice", self.kernel, self.at)


@dataclass(frozen=True)
class Judgement:
    """Choices against an exhaustive sweep.

    Attributes:
        evaluation: a case per launch, with the answer of each strategy.
    """

    evaluation: Evaluation

    @property
    def scores(self) -> Mapping[str, StrategyScore]:
        """The score of each strategy, by its name."""
        return {name: self.evaluation.score(name) for name in self.evaluation.strategies}

    @property
    def score(self) -> StrategyScore:
        """That of the model that is judged."""
        return self.evaluation.score(self.evaluation.judged)

    def __repr__(self) -> str:
        regret = 100 * self.score.mean
        return f"<{len(self.evaluation.cases)} launches, mean regret {regret:.1f} %>"

    def _repr_html_(self) -> str:
        return part("evaluation", self.evaluation)


@dataclass(frozen=True)
class ReportPage:
    """Everything that is known, as one page.

    Attributes:
        facts: what the page says, as values.
    """

    facts: PageFacts

    @property
    def summary(self) -> str:
        """One sentence: what is gained, and where."""
        return self.facts.summary

    def save(self, path: str | Path = "report.html") -> Path:
        """Write the page, one file that loads nothing.

        Raises:
            CutuneError: CT002, CT017 where jinja2 is not installed.
        """
        target = Path(path)
        replace_file(target, to_html(self.facts).encode())
        return target

    def __repr__(self) -> str:
        return f"<{self.summary}>"

    def _repr_html_(self) -> str:
        gains = [gain for k in self.facts.kernels for gain in (k.gain, k.measured_gain) if gain]
        return part("gains", self.facts, max(gains, default=1.0))


@dataclass(frozen=True)
class Tuned:
    """A tuned program.

    Attributes:
        sources: what was written, one per source: ordinary CUDA C++.
        report: what is predicted.
    """

    sources: tuple[Path, ...]
    report: ReportPage

    def __repr__(self) -> str:
        return f"<{', '.join(map(str, self.sources))}: {self.report.summary}>"

    def _repr_html_(self) -> str:
        return self.report._repr_html_()
