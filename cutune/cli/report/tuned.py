"""The end of `tune`. Takes its choices and launches as words, prints them; imports no model.

The words are kept, and shown again where nothing has changed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from rich.markup import escape
from rich.table import Table

from cutune.cli.report.console import aligned, standard_output, with_remarks

SCHEMA = "cutune-tune-1"
#: Cells of a row of choices.
_CHOICE = ("kernel", "size", "own_block", "choice", "speed_up", "within_2_percent")


@dataclass(frozen=True)
class ChoiceTable:
    """The choices of some kernels at some sizes.

    Attributes:
        device: its name.
        rows: kernel, size, own block, choice, gain, how many are as good.
        questions: how to ask for kernels whose threads have to be named.
        kept: entries of kernels that keep their own block at all sizes shown, and why they do.
    """

    device: str
    rows: list[list[str]]
    questions: list[str]
    kept: dict[str, str]

    def show(self) -> None:
        """Print it."""
        table = Table(
            "kernel",
            "size",
            "own block",
            "cutune's",
            "predicted speed-up",
            "blocks within 2 %",
            title=f"predicted for {self.device}",
            box=None,
            title_justify="left",
        )
        for row in self.rows:
            table.add_row(escape(row[0]), *row[1:])
        console = standard_output()
        if table.row_count:
            console.print(table)
        for question in self.questions:
            console.print(escape(question))


@dataclass(frozen=True)
class Summary:
    """A line of counts, then a row per launch: place, kernel, outcome, why and code.

    `advice`: what to do about launches that were refused, if there are any.
    """

    counts: str
    rows: list[list[str]]
    advice: str = ""

    def show(self) -> None:
        """Print it."""
        console = standard_output()
        console.print(self.counts)
        if console.is_terminal and self.rows:
            _, *lines = with_remarks([""] * len(self.rows[0]), self.rows)
            for row_or_remark in lines:
                console.print(row_or_remark)
        else:
            for line in aligned(self.rows):
                console.print(f"  {line}", markup=False, soft_wrap=True)
        if self.advice:
            console.print(self.advice, markup=False, soft_wrap=True)


@dataclass(frozen=True)
class Shown:
    """All that `tune` prints to standard output.

    Attributes:
        written: the sources of the tuned program.
        built: what is to be said of a project's build.
    """

    choices: ChoiceTable
    summary: Summary
    written: list[str]
    built: str = ""

    def show(self, as_json: bool = False) -> None:
        """Print it."""
        if as_json:
            print(json.dumps(self.to_json(), indent=1))
            return
        self.choices.show()
        self.summary.show()
        for path in self.written:
            print(f"tuned program: {path}")
        if self.built:
            print(self.built)

    def to_json(self) -> dict[str, object]:
        """docs/json.md says what is in it."""
        choices = [dict(zip(_CHOICE, row, strict=True)) for row in self.choices.rows]
        return {
            "schema": SCHEMA,
            "device": self.choices.device,
            "choices": [{**one, "speed_up": _number(one["speed_up"])} for one in choices],
            "launches": [_launch(*row) for row in self.summary.rows],
            "written": self.written,
        }


def _launch(place: str, kernel: str, outcome: str, remark: str) -> dict[str, object]:
    """A row of the summary, in parts."""
    file, _, line = place.rpartition(":")
    said = re.fullmatch(r"(.*?)(?: \[(CT\d+)\])?", remark, re.DOTALL)
    reason, code = said.groups() if said is not None else (remark, None)
    where = {"file": file, "line": int(line), "kernel": kernel}
    return {**where, "outcome": outcome, "reason": reason, "code": code}


def _number(text: str) -> float | None:
    return None if text == "-" else float(text)
