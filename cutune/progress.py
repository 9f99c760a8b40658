"""Progress on standard error: a bar per activity on a terminal, a line per activity elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Report = Callable[[str, int, int], None]


def progress_for(quiet: bool) -> Report:
    """A function `(activity, done, total)` that shows how far things are."""
    if quiet:
        return lambda activity, done, total: None
    return _bars() if sys.stderr.isatty() else _lines()


def _bars() -> Report:
    columns = (
        TextColumn("{task.description:<28}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    state: dict[str, Progress] = {}

    def report(activity: str, done: int, total: int) -> None:
        # One live display at a time, closed when its activity ends, so that messages can pass.
        if activity not in state:
            for progress in state.values():
                progress.stop()
            state.clear()
            state[activity] = Progress(*columns, console=Console(stderr=True))
            state[activity].add_task(activity, total=total)
            state[activity].start()
        state[activity].update(state[activity].task_ids[0], completed=done, total=total)
        if done >= total:
            state.pop(activity).stop()

    return report


def _lines() -> Report:
    started: dict[str, float] = {}

    def report(activity: str, done: int, total: int) -> None:
        begun = started.setdefault(activity, time.monotonic())
        if done >= total:
            seconds = time.monotonic() - started.pop(activity, begun)
            print(f"cutune: {activity}: {total} done in {seconds:.1f} s", file=sys.stderr)

    return report
