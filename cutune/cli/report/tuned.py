"""The end of `tune`. Takes its choices and launches as rows, prints them; imports no model.

The rows are kept, and shown again where nothing has changed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from rich.markup import escape
from rich.table import Table

from cutune.cli.report.console import aligned, standard_output, with_remarks
from cutune.core.codes import Code

SCHEMA = "cutune-tune-1"


class TuningOutcome(StrEnum):
    """The outcome of a launch, in the words of the summary."""

    #: It chooses its configuration.
    TUNED = "tuned"
    #: It does, and the program's own block is its choice at all sizes shown.
    KEPT = "kept"
    #: It may not be changed.
    REFUSED = "refused"
    #: It may be, but no model could be made.
    NOT_MODELLED = "not modelled"


@dataclass(frozen=True)
class ChoiceRow:
    """The choice for a kernel at a size, in words.

    Attributes:
        speed_up: predicted, over the program's own block; None: one has no prediction.
        within_2_percent: how many are as good, `7 of 64`.
    """

    kernel: str
    size: str
    own_block: str
    choice: str
    speed_up: float | None
    within_2_percent: str


@dataclass(frozen=True)
class LaunchRow:
    """The outcome of a launch; why, and the code of the rule or the message.

    `remark`: that most of the GPU is idle, whatever the block is. `is_helped`: by a suggestion, as
    documents in JSON tell.
    """

    file: str
    line: int
    kernel: str
    outcome: TuningOutcome
    reason: str
    code: str | None
    remark: str = ""
    is_helped: bool = False

    @property
    def cells(self) -> list[str]:
        # Why a launch stays was told by the message with this code.
        stays = self.outcome in (TuningOutcome.REFUSED, TuningOutcome.NOT_MODELLED)
        is_told = stays and self.code not in (None, Code.FEW_BLOCKS.number)
        reason = "" if is_told else self.reason
        why = f"{reason} [{self.code}]".lstrip() if self.code else reason
        remarked = "; ".join(filter(None, [why, self.remark]))
        return [f"{self.file}:{self.line}", self.kernel, self.outcome, remarked]


@dataclass(frozen=True)
class Shown:
    """All that `tune` prints to standard output.

    Attributes:
        questions: how to ask for kernels whose threads have to be named.
        built: what is to be said of a project's build.
        helping: the commands that say what would help.
        is_tried: can annotations be tried with the runs that were asked for?
    """

    device: str
    choices: list[ChoiceRow]
    questions: list[str]
    launches: list[LaunchRow]
    written: list[str]
    built: str = ""
    helping: list[str] = field(default_factory=list)
    is_tried: bool = True

    @staticmethod
    def joined(parts: Sequence[Shown], written: list[str], built: str) -> Shown:
        """All that is shown of the texts of a script, as one."""
        return Shown(
            parts[0].device,
            choices=[row for part in parts for row in part.choices],
            questions=[question for part in parts for question in part.questions],
            launches=[row for part in parts for row in part.launches],
            written=written,
            built=built,
            helping=list(dict.fromkeys(command for part in parts for command in part.helping)),
            is_tried=False,
        )

    def show(self, as_json: bool = False) -> None:
        if as_json:
            document = {"schema": SCHEMA, **asdict(self)}
            left_out = "questions", "built", "helping", "is_tried"
            shown = {name: part for name, part in document.items() if name not in left_out}
            print(json.dumps(shown, indent=1))
            return
        self._show_choices()
        self._show_launches()
        for path in self.written:
            print(f"tuned program: {path}")
        if self.built:
            print(self.built)

    def _show_choices(self) -> None:
        table = Table(
            *("kernel", "size", "own block", "cutune's"),
            *("predicted speed-up", "blocks within 2 %"),
            title=f"predicted for {self.device}",
            box=None,
            title_justify="left",
        )
        for row in self.choices:
            gain = "-" if row.speed_up is None else f"{row.speed_up:.2f}"
            words = row.size, row.own_block, row.choice, gain, row.within_2_percent
            table.add_row(escape(row.kernel), *words)
        console = standard_output()
        if table.row_count:
            console.print(table)
        for question in self.questions:
            console.print(escape(question))

    def _show_launches(self) -> None:
        counts = Counter(one.outcome for one in self.launches)
        counted = ", ".join(f"{counts[each]} {each}" for each in TuningOutcome if counts[each])
        plural = "launch" if len(self.launches) == 1 else "launches"
        rows, console = [one.cells for one in self.launches], standard_output()
        console.print(f"{len(rows)} {plural}: {counted or 'nothing to tune'}")
        if console.is_terminal and rows:
            _, *lines = with_remarks([""] * len(rows[0]), rows, console.width)
            for row_or_remark in lines:
                console.print(row_or_remark)
        else:
            for line in aligned(rows):
                console.print(f"  {line}", markup=False, soft_wrap=True)
        tried = " (tried, with --run and --vary as here)" if self.is_tried else ""
        for command in self.helping:
            advice = f"what would help{tried}: {command}"
            console.print(advice, markup=False, soft_wrap=True)
