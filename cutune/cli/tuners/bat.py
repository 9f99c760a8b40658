"""`bat`: tuners compared on recorded results, or on those of a GPU now."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from cutune.cli.common import asked_of, device_of, session_of, show, workspace_of
from cutune.cli.options import parser
from cutune.cli.report.classifiers import print_comparison
from cutune.cli.tuners.convert import asked_of as reading_of
from cutune.cluster.asked import workers_of
from cutune.cluster.executor_options import NAMES as OF_WORKERS
from cutune.contest.examples import Ran, examples_in, run_examples
from cutune.contest.plot import write_plot
from cutune.contest.tables import recorded_tables
from cutune.contest.tuners import contenders
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, known_names
from cutune.core.progress import progress_for
from cutune.interchange.convert import read_results
from cutune.search.collect import HostSweep, collect_host
from cutune.search.compare import Comparison, compare, compared
from cutune.search.own_results import rules_of
from cutune.search.techniques.registry import Technique
from cutune.search.techniques.replay import Score, quartiles
from cutune.search.trial_runs import GPU, Measuring

SCHEMA = "cutune-bat-1"
#: Classes of sizes that BAT takes, although its benchmarks have four.
SIZES = range(1, 10)
_REPETITIONS = 3


@dataclass(frozen=True)
class Compared:
    """A comparison on one benchmark."""

    benchmark: str
    comparison: Comparison


def bat(options: argparse.Namespace) -> int:
    """The verb; the status for the shell."""
    if options.size not in SIZES:
        parser().error("bat: --size is a class from 1 to 9")
    if options.examples is not None:
        if options.json or options.plot or options.replay:
            parser().error("bat: --examples runs other tuners; no --replay, --json and --plot")
        return _run_examples(options)
    if options.replay and any(getattr(options, name) for name in OF_WORKERS):
        parser().error("bat: with --replay nothing is run; leave out the options for several GPUs")
    techniques = contenders(_names(options.auto_tuner), options.technique, show)
    source = _replayed if options.replay else _measured
    found = []
    for one in source(options, techniques):
        found.append(one)
        if not options.json:
            _print(one, options.verbose)
    if options.json:
        document = {"schema": SCHEMA, "comparisons": [_json(one) for one in found]}
        print(json.dumps(document, indent=1))
    if options.plot is not None:
        write_plot(Path(options.plot), [one.comparison for one in found])
    return 0


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _replayed(options: argparse.Namespace, techniques: Sequence[Technique]) -> Iterator[Compared]:
    """On what was recorded: a benchmark is a file, by its name up to the first dot."""
    paths = {Path(path).name.partition(".")[0]: Path(path) for path in options.replay}
    if len(paths) < len(options.replay):
        parser().error(
            "bat: two files of --replay have one name; a benchmark is called as its file"
        )
    wanted = _names(options.benchmark) or [*paths]
    progress = progress_for(options.quiet)
    for name in wanted:
        if name not in paths:
            raise _unknown("recorded benchmark", name, ".", [*paths])
        results = read_results(paths[name], reading_of(options), show)
        for table in recorded_tables(results, asked_of(options)):
            yield Compared(
                name, compared(table.where, table.space, table.known, techniques, progress)
            )


def _measured(options: argparse.Namespace, techniques: Sequence[Technique]) -> Iterator[Compared]:
    """On a GPU: every configuration is tried, and the searches replayed on that."""
    folder = Path(options.folder)
    known = [path.stem for path in sorted(folder.glob("*.cu")) if "." not in path.stem]
    for name in _names(options.benchmark) or known or ["*"]:
        if name not in known:
            raise _unknown("benchmark", name, folder, known)
        session, device = session_of(options), device_of(options)
        options.files = [str(folder / f"{name}.cu")]
        workspace = workspace_of(options)
        (program,) = session.load_all(options.files, require_nvcc=True)
        how = Measuring(GPU, _REPETITIONS, None, rules_of(None, None))
        vary = {"size": [str(options.size)]}
        sweep = HostSweep(
            [], how, workers=workers_of(options, True, workspace.folder, parser().error)
        )
        collect_host(session, program, options.run, vary, workspace, sweep, device)
        trials = workspace.trials
        for one in compare(session, program, options.run, trials, [], techniques, device):
            yield Compared(name, one)


def _unknown(kind: str, name: str, folder: str | Path, known: Sequence[str]) -> CutuneError:
    listed = known_names(name, known)
    return CutuneError(
        Diagnostic.at(Code.NO_BENCHMARK, None, kind=kind, name=name, folder=folder, known=listed)
    )


def _print(one: Compared, is_verbose: bool) -> None:
    print(f"{one.benchmark}, ", end="")
    print_comparison(one.comparison)
    if is_verbose:
        for score in one.comparison.scores:
            needed = " ".join(f"{n:.0f}" if isfinite(n) else "-" for n in score.needed)
            print(f"  {score.technique}: {needed}")


def _json(one: Compared) -> dict[str, object]:
    found = one.comparison
    return {
        "benchmark": one.benchmark,
        "where": found.where,
        "configurations": found.size,
        "random_search": found.chance,
        "searches": [_score_json(score) for score in found.scores],
    }


def _score_json(score: Score) -> dict[str, object]:
    return {
        "search": score.technique,
        "evaluations": [_finite(one) for one in score.needed],
        "evaluations_quartiles": [_finite(one) for one in quartiles(score.needed)],
        "seconds": [_finite(one) for one in score.seconds],
        "seconds_quartiles": [_finite(one) for one in quartiles(score.seconds)],
        "score": score.score,
        "curve": list(score.curve),
    }


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


def _run_examples(options: argparse.Namespace) -> int:
    """Other tuners' own programs, as BAT runs them."""
    names = _names(options.auto_tuner), _names(options.benchmark)
    examples = examples_in(Path(options.examples), *names)
    target = Path(options.results).absolute() / str(int(time.time()))
    for one in run_examples(examples, options.size, options.technique, target):
        if options.verbose:
            print(one.said, end="")
        _print_best(one)
    return 0


def _print_best(ran: Ran) -> None:
    print(f"{ran.example.benchmark} by {ran.example.tuner}: files in {ran.kept}")
    for name, best in ran.best.items():
        values = best.items() if isinstance(best, dict) else [("", best)]
        listed = ", ".join(f"{key} = {value}" for key, value in values)
        print(f"  {name}: {listed}")
