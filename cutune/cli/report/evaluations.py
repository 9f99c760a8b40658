"""An evaluation for people, as JSON, and as CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from cutune.cli.report.console import standard_output
from cutune.core.workspace import replace_file, write_document
from cutune.device.thread_block import configuration_text, shape
from cutune.evaluation.evaluate import Case, Evaluation, StrategyScore
from cutune.evaluation.strategies import OWN

SCHEMA = "cutune-evaluation-1"
#: Columns of the picture of one launch.
PICTURE_WIDTH = 30


def print_evaluation(evaluation: Evaluation, per_launch: bool) -> None:
    """The scores, and a row per launch (Table 3 of the paper, with its picture) if asked for."""
    if per_launch:
        standard_output().print(_launches(evaluation))
    standard_output().print(_scores([evaluation.score(name) for name in evaluation.strategies]))


def _scores(scores: Sequence[StrategyScore]) -> Table:
    table = Table(
        "strategy",
        "answers",
        "mean regret",
        "median",
        "90th",
        "worst",
        "within 2 %",
        "within 5 %",
        "Error",
        "no loss",
        "gain",
        "least",
        box=None,
    )
    for score in scores:
        fractions = (score.mean, score.median, score.ninetieth, score.worst)
        shares = (score.within_2, score.within_5)
        table.add_row(
            score.strategy,
            f"{score.answered} of {score.cases}",
            *(f"{100 * value:.1f} %" for value in fractions),
            *(f"{100 * value:.0f} %" for value in shares),
            f"{100 * score.error:.2f} %",
            f"{100 * score.no_loss:.0f} %",
            f"{score.gain:.2f}",
            f"{score.least_gain:.2f}",
        )
    return table


def _launches(evaluation: Evaluation) -> Table:
    table = Table(
        "kernel",
        "size",
        "default",
        "ms",
        "chosen",
        "ms",
        "best",
        "ms",
        "worst ms",
        "Error",
        "regret",
        "best … worst (o: default, x: chosen)",
        box=None,
    )
    for case in evaluation.cases:
        row = _row(case, evaluation.judged)
        times = ("own_us", "chosen_us", "best_us", "worst_us")
        own, chosen, best, worst = (f"{row[name] / 1e3:.4g}" for name in times)
        table.add_row(
            f"{row['program']}: {row['kernel']}",
            str(row["size"]),
            *(row["own"], own, row["chosen"], chosen, row["best"], best, worst),
            f"{100 * row['error']:.2f} %",
            f"{100 * row['regret']:.1f} %",
            _picture(case, evaluation.judged),
        )
    return table


def _row(case: Case, judged: str) -> dict[str, Any]:
    """Table 3 of the paper: default, chosen, best and worst, with Error and regret."""
    launch, chosen, times = case.launch, case.configuration(judged), case.launch.times
    return {
        "program": launch.program,
        "kernel": launch.kernel,
        "size": launch.size,
        "own": shape(launch.own),
        "own_us": launch.microseconds[launch.own],
        "chosen": configuration_text(*chosen),
        "chosen_us": times[chosen],
        "best": configuration_text(*launch.fastest),
        "best_us": times[launch.fastest],
        "worst_us": max(times.values()),
        "error": launch.error(chosen),
        "regret": launch.regret(chosen),
        "answered": case.answers[judged] is not None,
    }


def _picture(case: Case, judged: str) -> str:
    """Where default and choice lie between best and worst, on a logarithmic scale."""
    spread = math.log(case.launch.spread)
    line = ["."] * PICTURE_WIDTH
    for strategy, mark in ((OWN, "o"), (judged, "x")):
        place = math.log1p(case.regret(strategy)) / spread if spread > 0 else 0.0
        line[min(PICTURE_WIDTH - 1, int(place * PICTURE_WIDTH))] = mark
    return "".join(line)


def save(evaluation: Evaluation, json_path: str | None, csv_path: str | None) -> None:
    """Write what was asked for.

    Raises:
        CutuneError: CT002.
    """
    if json_path is not None:
        write_document(Path(json_path), SCHEMA, to_json(evaluation))
    if csv_path is not None:
        replace_file(Path(csv_path), to_csv(evaluation).encode())


def to_json(evaluation: Evaluation) -> dict[str, Any]:
    """Scores by strategy, and each launch with the regret of every strategy."""
    return {
        "judged": evaluation.judged,
        "scores": [asdict(evaluation.score(name)) for name in evaluation.strategies],
        "launches": [
            {
                **_row(case, evaluation.judged),
                "regrets": {name: case.regret(name) for name in evaluation.strategies},
            }
            for case in evaluation.cases
        ],
    }


def to_csv(evaluation: Evaluation) -> str:
    """A row per launch: Table 3, then the regret of every strategy."""
    rows = [
        {
            **_row(case, evaluation.judged),
            **{f"regret of {name}": case.regret(name) for name in evaluation.strategies},
        }
        for case in evaluation.cases
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
