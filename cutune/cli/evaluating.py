"""`evaluate`: choices against a sweep (the paper's Table 3) or counters (Table 2); scores, CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from statistics import median
from typing import Any

from rich.table import Table

from cutune.check.evaluate import (
    OWN,
    Case,
    Evaluation,
    StrategyScore,
    TrainingRow,
    evaluate,
    training_rows,
)
from cutune.cli.main import Options
from cutune.cli.report.console import standard_output
from cutune.core.workspace import replace_file, write_document
from cutune.measure.gpu_sweep import sweep
from cutune.measure.measure_kernels import read_measurements
from cutune.model.fit.fitted_model import read_models
from cutune.model.measurement.measurement import by_entry
from cutune.model.measurement.sweep import (
    REPEATED,
    RESTORED,
    SweptConfiguration,
    read_sweep,
    write_sweep,
)
from cutune.toolchain.device.present import profile_of
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import configuration_text, shape

SCHEMA = "cutune-evaluation-1"
#: Columns of the picture of one launch.
PICTURE_WIDTH = 30


def evaluate_verb(options: Options) -> int:
    """Compare the models of a workspace with a sweep, or with counters (`--training`)."""
    if not options.files and options.recorded is None and not options.training:
        options.wrong("name the sources to be swept, or a sweep with --from")
    plan, device, analyzer = options.plan, options.profile, options.analyzer
    workspace = options.place
    models = read_models(workspace.models)
    if options.training:
        counts = {k.entry: own for k, own in by_entry(*read_measurements(workspace, options.say))}
        print_training(
            row for m in models for row in training_rows(m, counts[m.kernel.entry], device)
        )
        return 0
    if options.recorded is not None:
        if options.cache is not None or options.save is not None or options.energy:
            options.wrong("with --from nothing is swept; leave out --cache, --save and --energy")
        swept = read_sweep(Path(options.recorded))
        if not options.names_device:
            known = profile_of(swept.device)
            device = DeviceProfile.named(known) if known else device
    else:
        if options.energy and options.cache not in (None, REPEATED):
            options.wrong("energy is that of a repeated launch: leave out --cache")
        programs = analyzer.load_all(options.files, require_nvcc=True)
        cache = options.cache or (REPEATED if options.energy else RESTORED)
        swept = sweep(analyzer, programs, plan, device, workspace, cache, options.energy)
        if options.save is not None:
            write_sweep(Path(options.save), swept)
    found = evaluate(swept, models, device, options.files, options.train, options.model)
    print_evaluation(found, not options.scores)
    if options.json is not None:
        write_document(Path(options.json), SCHEMA, to_json(found))
    if options.csv is not None:
        replace_file(Path(options.csv), to_csv(found).encode())
    return 0


def print_evaluation(evaluation: Evaluation, per_launch: bool) -> None:
    """The scores, and a row per launch (Table 3 of the paper, with its picture) if asked for."""
    if per_launch:
        standard_output().print(_launches(evaluation))
        if _has_energy(evaluation):
            standard_output().print(_energies(evaluation))
    table = Table(*_SCORES, box=None)
    for score in map(evaluation.score, evaluation.strategies):
        table.add_row(*(cell(score) for cell in _SCORES.values()))
    standard_output().print(table)


#: Columns of the scores: heads, and the cell of each.
_SCORES: Mapping[str, Callable[[StrategyScore], str]] = {
    "strategy": lambda score: score.strategy,
    "answers": lambda score: f"{score.answered} of {score.cases}",
    "mean regret": lambda score: _percent(score.mean, 1),
    "median": lambda score: _percent(score.median, 1),
    "90th": lambda score: _percent(score.ninetieth, 1),
    "worst": lambda score: _percent(score.worst, 1),
    "within 2 %": lambda score: _percent(score.within_2, 0),
    "within 5 %": lambda score: _percent(score.within_5, 0),
    "Error": lambda score: _percent(score.error, 2),
    "no loss": lambda score: _percent(score.no_loss, 0),
    "gain": lambda score: f"{score.gain:.2f}",
    "least": lambda score: f"{score.least_gain:.2f}",
}


def _percent(share: float, digits: int) -> str:
    return f"{100 * share:.{digits}f} %"


def _launches(evaluation: Evaluation) -> Table:
    table = Table(
        *("kernel", "size", "default", "ms", "chosen", "ms", "best", "ms", "worst ms"),
        *("Error", "regret", "best … worst (o: default, x: chosen)"),
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
            *(_percent(row["error"], 2), _percent(row["regret"], 1)),
            _picture(case, evaluation.judged),
        )
    return table


def _has_energy(evaluation: Evaluation) -> bool:
    return any(case.launch.energies for case in evaluation.cases)


def _energies(evaluation: Evaluation) -> Table:
    heads = ("kernel", "size", "default mJ", "chosen mJ", "best mJ", "least energy", "mJ")
    table = Table(*heads, box=None)
    for case in evaluation.cases:
        row = _whole_row(case, evaluation)
        least = row.pop("least_energy")
        own, chosen, best, mj = (
            "" if row[name] is None else f"{row[name]:.4g}"
            for name in ("own_mj", "chosen_mj", "best_mj", "least_mj")
        )
        name, size = f"{row['program']}: {row['kernel']}", str(row["size"])
        table.add_row(name, size, own, chosen, best, least or "", mj)
    return table


def _energy(case: Case, judged: str) -> dict[str, Any]:
    """Millijoules of a launch, with the configuration that needs least; None: not measured."""
    launch, energies = case.launch, case.launch.energies
    least = min(energies, key=energies.__getitem__, default=None)
    return {
        "own_mj": energies.get(SweptConfiguration(launch.own)),
        "chosen_mj": energies.get(case.configuration(judged)),
        "best_mj": energies.get(launch.fastest),
        "least_energy": None if least is None else configuration_text(*least),
        "least_mj": None if least is None else energies[least],
    }


def _row(case: Case, judged: str) -> dict[str, Any]:
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


def _whole_row(case: Case, evaluation: Evaluation) -> dict[str, Any]:
    judged = evaluation.judged
    energy = _energy(case, judged) if _has_energy(evaluation) else {}
    return {**_row(case, judged), **energy}


def _picture(case: Case, judged: str) -> str:
    """Where default and choice lie between best and worst, on a logarithmic scale."""
    spread = math.log(case.launch.spread)
    line = ["."] * PICTURE_WIDTH
    for strategy, mark in ((OWN, "o"), (judged, "x")):
        place = math.log1p(case.regret(strategy)) / spread if spread > 0 else 0.0
        line[min(PICTURE_WIDTH - 1, int(place * PICTURE_WIDTH))] = mark
    return "".join(line)


def to_json(evaluation: Evaluation) -> dict[str, Any]:
    """Scores by strategy, and each launch with the regret of every strategy."""
    return {
        "judged": evaluation.judged,
        "scores": [asdict(evaluation.score(name)) for name in evaluation.strategies],
        "launches": [
            {**_whole_row(case, evaluation), "regrets": _regrets(case, evaluation)}
            for case in evaluation.cases
        ],
    }


def _regrets(case: Case, evaluation: Evaluation, before: str = "") -> dict[str, float]:
    return {f"{before}{name}": case.regret(name) for name in evaluation.strategies}


def to_csv(evaluation: Evaluation) -> str:
    """A row per launch: Table 3, then the regret of every strategy."""
    rows = [
        {**_whole_row(case, evaluation), **_regrets(case, evaluation, "regret of ")}
        for case in evaluation.cases
    ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [])
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


#: Fitted cycles that are so close to the collected ones count as right.
CLOSE = 0.1


def print_training(rows: Iterable[TrainingRow]) -> None:
    """The table, and how often fitted and collected cycles agree."""
    table = Table(
        *("kernel", "N", "best", "cycles", "chosen by fit", "cycles", "collected cycles", "ratio"),
        box=None,
    )
    rows = list(rows)
    for row in rows:
        table.add_row(*row.cells, f"{row.ratio:.3g}")
    console = standard_output()
    console.print(table)
    if rows:
        close = sum(abs(row.ratio - 1) <= CLOSE for row in rows)
        console.print(
            f"fitted cycles within 10 % of collected ones in {close} of {len(rows)} rows, "
            f"median ratio {median(row.ratio for row in rows):.3g}"
        )
