"""Where messages and progress go: `Reporter`, and progress on standard error.

Progress is a bar while an activity lasts on a terminal, and lines elsewhere.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from cutune.core.diagnostics import CutuneError, Diagnostic, Warn

#: Is told an activity, how much of it is done, and how much there is.
Progress = Callable[[str, int, int], None]
SECONDS_BETWEEN_LINES = 15.0
#: Reading and proving, which every verb begins with: worth a line only where it takes long.
ANALYZING = "analyzing"


def silent(activity: str, done: int, total: int) -> None:
    """Shows nothing."""


def ignore(diagnostic: Diagnostic) -> None:
    """Drops a message."""


@dataclass(frozen=True)
class Reporter:
    """Where messages and progress go; by default nowhere."""

    warn: Warn = ignore
    progress: Progress = silent

    def report(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Show messages; the first error among them is raised after the others were shown."""
        errors = [diagnostic for diagnostic in diagnostics if diagnostic.is_error]
        others = (diagnostic for diagnostic in diagnostics if diagnostic not in errors[:1])
        for diagnostic in Diagnostic.with_notes_once(others):
            self.warn(diagnostic)
        if errors:
            raise CutuneError(errors[0])

    def remembering(self) -> tuple[Reporter, list[Diagnostic]]:
        """A reporter that does the same, and the list of messages that it will have shown."""
        shown: list[Diagnostic] = []

        def warn(diagnostic: Diagnostic) -> None:
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
    return _bars() if sys.stderr.isatty() else _Lines(SECONDS_BETWEEN_LINES)


def _bars() -> Progress:
    # Verbs that show no bar start faster without.
    from rich import console, progress  # noqa: PLC0415

    columns = (
        progress.TextColumn("{task.description:<28}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
    )
    state: dict[str, progress.Progress] = {}

    def report(activity: str, done: int, total: int) -> None:
        # One live display at a time, closed when its activity ends, so that messages can pass.
        if activity not in state:
            for bars in state.values():
                bars.stop()
            state.clear()
            terminal = console.Console(stderr=True, emoji=False)
            state[activity] = progress.Progress(*columns, console=terminal, transient=True)
            state[activity].add_task(activity, total=total)
            state[activity].start()
        state[activity].update(state[activity].task_ids[0], completed=done, total=total)
        if done >= total:
            state.pop(activity).stop()

    return report


class _Lines:
    """Prints a line when an activity is done, and at intervals: one step may take minutes."""

    def __init__(self, every_seconds: float) -> None:
        self.every_seconds = every_seconds
        self.running: dict[str, _Activity] = {}

    def __call__(self, activity: str, done: int, total: int) -> None:
        if activity in self.running:
            self.running[activity].done, self.running[activity].total = done, total
        else:
            self.running[activity] = _Activity(activity, done, total, self.every_seconds)
        if done >= total:
            self.running.pop(activity).end()


class _Activity:
    def __init__(self, name: str, done: int, total: int, every_seconds: float) -> None:
        self.name, self.every_seconds = name, every_seconds
        self.done, self.total = done, total
        self.begun = time.monotonic()
        self.has_spoken = False
        self.ended = threading.Event()
        # A daemon: an error that ends the program need not wait for it.
        threading.Thread(target=self._speak, daemon=True).start()

    def _speak(self) -> None:
        while not self.ended.wait(self.every_seconds):
            self.has_spoken = True
            self._print(f"{self.done} of {self.total} done, {self._seconds():.0f} s so far")

    def end(self) -> None:
        self.ended.set()
        if self.has_spoken or self.name != ANALYZING:
            self._print(f"{self.total} done in {self._seconds():.1f} s")

    def _seconds(self) -> float:
        return time.monotonic() - self.begun

    def _print(self, text: str) -> None:
        print(f"cutune: {self.name}: {text}", file=sys.stderr, flush=True)
