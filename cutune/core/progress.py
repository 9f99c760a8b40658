"""Where messages and progress go: `Reporter`, and progress on standard error.

Progress is a bar while an activity lasts on a terminal, and lines elsewhere.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

#: Is told an activity, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]
SECONDS_BETWEEN_LINES = 15.0
#: What is over so soon is worth no line of its own, nor is so much time that is left.
SHORT_SECONDS = 2.0
#: Reading and proving, which every verb begins with.
ANALYZING = "analyzing"
_OF_MACHINE = frozenset([Code.NO_COMPILED_CODE])


def silent(activity: str, done: int, total: int) -> None:
    """Shows nothing."""


def ignore(diagnostic: Diagnostic) -> None:
    """Drops a message."""


@dataclass(frozen=True)
class Reporter:
    """Where messages and progress go; by default nowhere.

    What is true of the machine, and of each kernel alike, is said of the first.
    """

    warn: Warn = ignore
    progress: Progress = silent
    _told: set[Code] = field(default_factory=set, compare=False)

    def report(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Show messages; the first error among them is raised after the others were shown."""
        errors = [diagnostic for diagnostic in diagnostics if diagnostic.is_error]
        others = (diagnostic for diagnostic in diagnostics if diagnostic not in errors[:1])
        for diagnostic in Diagnostic.with_notes_once(others):
            if diagnostic.code not in self._told:
                self.warn(diagnostic)
            self._told.update(_OF_MACHINE & {diagnostic.code})
        if errors:
            raise CutuneError(errors[0])

    def of_folder(self, folder: str) -> Reporter:
        """The reporter for what is read in a folder: files are named as from the current one."""
        here = os.getcwd()  # It may be another one when the message comes.
        return replace(self, warn=lambda said: self.warn(said.seen_from(here, folder)))

    def remembering(self) -> tuple[Reporter, list[Diagnostic]]:
        """A reporter that does the same, and the list of messages that it will have shown."""
        shown: list[Diagnostic] = []

        def warn(diagnostic: Diagnostic) -> None:
            if diagnostic not in shown:
                shown.append(diagnostic)
            self.warn(diagnostic)

        return replace(self, warn=warn), shown


@contextmanager
def during(progress: Progress, activity: str) -> Iterator[None]:
    """Report an activity of one step, which ends in any case."""
    progress(activity, 0, 1)
    try:
        yield
    finally:
        progress(activity, 1, 1)


def progress_for(quiet: bool) -> Progress:
    """Return a function `(activity, done, total)` that shows how far things are."""
    if quiet:
        return silent
    return _bars() if sys.stderr.isatty() else _Lines(SECONDS_BETWEEN_LINES, SHORT_SECONDS)


#: The bar that is shown, by its activity.
_LIVE: dict[str, Bars] = {}


def close_bars() -> None:
    """End what is shown: a message keeps its lines then, and a terminal gets its cursor back."""
    for bars in _LIVE.values():
        bars.stop()
    _LIVE.clear()


def _bars() -> Progress:
    # Verbs that show no bar start faster without.
    from rich import console, progress, table  # noqa: PLC0415

    class TimeLeft(progress.ProgressColumn):
        def render(self, task: progress.Task) -> str:
            left = task.time_remaining
            return f"{left:.0f} s left" if left and left > SHORT_SECONDS else ""

    name = table.Column(max_width=28, no_wrap=True)
    columns = (
        progress.TextColumn("{task.description:<28}", table_column=name),
        progress.BarColumn(20),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        TimeLeft(),
    )

    def report(activity: str, done: int, total: int) -> None:
        # One live display at a time, closed when its activity ends, so that messages can pass.
        if activity not in _LIVE:
            close_bars()
            terminal = console.Console(stderr=True, emoji=False)
            _LIVE[activity] = progress.Progress(*columns, console=terminal, transient=True)
            _LIVE[activity].add_task(activity, total=total)
            _LIVE[activity].start()
        _LIVE[activity].update(_LIVE[activity].task_ids[0], completed=done, total=total)
        if done >= total:
            _LIVE.pop(activity).stop()

    return report


class _Lines:
    """Prints a line at intervals while a step takes long, and at the end of what took long.

    What is over soon is told together: the line behind it says how much time has passed in all.
    """

    def __init__(self, every_seconds: float, short_seconds: float) -> None:
        self.every_seconds, self.short_seconds = every_seconds, short_seconds
        self.begun = self.told = time.monotonic()
        self.running: dict[str, _Activity] = {}

    def __call__(self, activity: str, done: int, total: int) -> None:
        if activity not in self.running:
            self.running[activity] = _Activity(activity, done, total, self)
        self.running[activity].done, self.running[activity].total = done, total
        if done >= total:
            self.running.pop(activity).ended.set()
            if time.monotonic() - self.told >= self.short_seconds:
                self.say(activity, "done")

    def say(self, activity: str, state: str) -> None:
        self.told = time.monotonic()
        text = f"cutune: {activity}: {state}, {self.told - self.begun:.0f} s so far"
        print(text, file=sys.stderr, flush=True)


class _Activity:
    def __init__(self, name: str, done: int, total: int, lines: _Lines) -> None:
        self.name, self.lines = name, lines
        self.first = self.done = done
        self.total = total
        self.begun = time.monotonic()
        self.ended = threading.Event()
        # A daemon: an error that ends the program need not wait for it.
        threading.Thread(target=self._speak, daemon=True).start()

    def _speak(self) -> None:
        while not self.ended.wait(self.lines.every_seconds):
            self.lines.say(self.name, f"{self.done} of {self.total} done{self._left()}")

    def _left(self) -> str:
        """The time left, where some steps have shown how long one takes."""
        steps = self.done - self.first
        seconds = (time.monotonic() - self.begun) / max(steps, 1) * (self.total - self.done)
        is_told = steps > 0 and seconds > self.lines.short_seconds
        return f", about {seconds:.0f} s left" if is_told else ""
