"""`bat`: tuners compared on recorded results, on those of a GPU now, or as they search."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import chdir
from dataclasses import asdict, dataclass, replace
from math import isfinite
from pathlib import Path
from statistics import median
from typing import Annotated, Any

from rich.console import Console

from cutune.cli.main import Options
from cutune.cli.page.html import DOTS_PER_INCH, STYLE, WIDTH, required
from cutune.cli.parameters import print_comparison, techniques_table
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names, tell
from cutune.core.processes import run_to_end
from cutune.core.progress import progress_for
from cutune.core.reading import read_file
from cutune.core.typed import Meta, Text
from cutune.core.workspace import Workspace, make_folder, writing
from cutune.lab.interchange.convert import read_results, reading_of
from cutune.lab.interchange.json_text import JsonText
from cutune.lab.tuner_comparison.live import (
    COUNTED,
    UNIT,
    Contender,
    LiveContest,
    SearchResult,
    contest,
    counted,
)
from cutune.lab.tuner_comparison.tables import recorded_tables
from cutune.lab.tuner_comparison.tuners import contenders
from cutune.search.compare import TunerComparison, compare, compared, least, quartiles, random_curve
from cutune.search.measure_parameters import HostSweep, Search, measure_parameters, prepared, report
from cutune.search.techniques.registry import TECHNIQUES, Technique
from cutune.search.techniques.tries import Budget
from cutune.search.trial_runs import EMULATED, GPU, Measuring, named
from cutune.search.tunables.verb_options import WORKER_OPTION_NAMES as OF_WORKERS
from cutune.search.workers.choose_workers import workers_of
from cutune.source.program import Program
from cutune.toolchain.device.profile import DeviceProfile

LIVE_SCHEMA = "cutune-live-1"


def print_live(benchmark: str, contest: LiveContest, is_verbose: bool) -> None:
    """Print what each contender has found at one size, the best first."""
    print(
        f"{benchmark}, {contest.where}: {contest.configurations} configurations, in {contest.unit}"
    )
    if contest.best is not None:
        print(f"best of all: {_said(contest.best)}")

    def typical(one: Contender) -> float:
        """The median of what it has found; what has found nothing comes last."""
        known = [found.cost for found in one.found if found.cost is not None]
        return median(known) if known else float("inf")

    table = techniques_table("best", "found after", "configurations", "seconds")
    for one in sorted(contest.contenders, key=typical):
        rows = [(f.cost, f.found_after, f.evaluations, round(f.seconds, 1)) for f in one.found]
        table.add_row(one.search, *map(_spread, zip(*rows, strict=True)))
    Console(emoji=False).print(table)
    if is_verbose:
        for one in contest.contenders:
            for found in one.found:
                print(f"  {one.search}: {_said(found)}")


def _spread(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    low, high = min(known), max(known)
    around = f" ({_number(low)}..{_number(high)})" if low < high else ""
    return f"{_number(median(known))}{around}"


def _said(found: SearchResult) -> str:
    if found.best is None or found.cost is None:
        return "nothing that ends well"
    return f"{_number(found.cost)} with {named(found.best)}"


def _number(value: float) -> str:
    """Four digits; counts as a whole."""
    return f"{value:.0f}" if value >= 1000 else f"{value:.4g}"


#: Inches of one panel.
HEIGHT = 2.6
#: Ways to draw a line, so that no two searches differ in colour alone.
DASHES = ("-", "--", "-.", ":")


def write_plot(path: Path, comparisons: Sequence[TunerComparison]) -> None:
    """Draw a panel per size: the best so far over the best of all. Raises CT002, CT017."""
    matplotlib = required("matplotlib")
    required("matplotlib.figure")
    with matplotlib.rc_context(STYLE):
        figure = matplotlib.figure.Figure(
            figsize=(WIDTH, HEIGHT * len(comparisons)), layout="constrained"
        )
        panels = figure.subplots(len(comparisons), 1, squeeze=False)
        for (axes,), one in zip(panels, comparisons, strict=True):
            _draw(axes, one)
        with writing(path):
            figure.savefig(path, dpi=DOTS_PER_INCH)


def _draw(axes: Any, one: TunerComparison) -> None:
    best = least(one.known)
    chance = random_curve(one.known)
    counts = range(1, len(chance) + 1)
    axes.plot(counts, [time / best for time in chance], color="black", label="random, expected")
    for index, score in enumerate(one.scores):
        line = [time / best for time in score.curve]
        axes.plot(counts, line, DASHES[(index + 1) % len(DASHES)], label=score.technique)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_title(one.where, loc="left", fontsize=9)
    axes.set_xlabel("configurations that were measured")
    axes.set_ylabel("time of the best so far / best")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)


SCHEMA = "cutune-bat-1"
#: Classes of sizes that BAT takes, although its benchmarks have four.
SIZES = range(1, 10)
_REPETITIONS = 3
#: Of each tuner, unless the command line has another number.
_SEARCHES = 3
#: A space may be of any size where searches have budgets.
_NO_LIMIT = Search(TECHNIQUES[0], Budget(configurations=1))


#: A benchmark and its comparison.
Compared = tuple[str, TunerComparison]


def bat_verb(options: Options) -> int:
    """The verb; the status for the shell."""
    if options.size not in SIZES:
        options.wrong("--size is a class from 1 to 9")
    if options.examples is not None:
        if options.json or options.plot or options.replay:
            options.wrong("--examples runs other tuners; no --replay, --json and --plot")
        return _run_examples(options)
    if options.replay and any(getattr(options, name) for name in OF_WORKERS):
        options.wrong("with --replay nothing is run; leave out the options for several GPUs")
    if options.search is not None:
        return _live(options)
    if options.searches is not None or options.on is not None:
        options.wrong("--searches and --on are those of --search BUDGET, as in --search 50")
    techniques = contenders(_names(options.auto_tuner), options.technique, tell)
    source = _replayed if options.replay else _measured
    comparisons = []
    for name, comparison in source(options, techniques):
        comparisons.append((name, comparison))
        if not options.json:
            _print_compared(name, comparison, options.verbose)
    if options.json:
        document = {"schema": SCHEMA, "comparisons": [_json(*one) for one in comparisons]}
        print(json.dumps(document, indent=1))
    if options.plot is not None:
        write_plot(Path(options.plot), [comparison for _, comparison in comparisons])
    return 0


def _print_compared(benchmark: str, comparison: TunerComparison, is_verbose: bool) -> None:
    print(f"{benchmark}, ", end="")
    print_comparison(comparison)
    for score in comparison.scores if is_verbose else ():
        needed = " ".join(f"{n:.0f}" if isfinite(n) else "-" for n in score.needed)
        print(f"  {score.technique}: {needed}")


def _names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def _replayed(options: Options, techniques: Sequence[Technique]) -> Iterator[Compared]:
    """On what was recorded: a benchmark is a file, by its name up to the first dot."""
    paths = {Path(path).name.partition(".")[0]: Path(path) for path in options.replay}
    if len(paths) < len(options.replay):
        options.wrong("two files of --replay have one name; a benchmark is called as its file")
    wanted = _names(options.benchmark) or [*paths]
    progress = progress_for(options.quiet)
    for name in wanted:
        if name not in paths:
            raise _unknown("recorded benchmark", name, ".", [*paths])
        results = read_results(paths[name], reading_of(options), tell)
        for table in recorded_tables(results, options.parameters):
            yield name, compared(table, techniques, progress)


def _measured(options: Options, techniques: Sequence[Technique]) -> Iterator[Compared]:
    """On a GPU: every configuration is tried, and the searches replayed on that."""
    for one in _benchmarks(options):
        measure_parameters(options.toolchain, options.reporter, _sweep(options, one, None))
        compared_at = compare(
            options.reporter,
            options.parameters,
            one.program,
            options.run,
            one.workspace.trials,
            names=[],
            techniques=techniques,
            device=one.device,
        )
        yield from ((one.name, comparison) for comparison in compared_at)


@dataclass(frozen=True)
class _Benchmark:
    name: str
    program: Program
    workspace: Workspace
    device: DeviceProfile


def _benchmarks(options: Options) -> Iterator[_Benchmark]:
    folder = Path(options.folder)
    known = [path.stem for path in sorted(folder.glob("*.cu")) if "." not in path.stem]
    for name in _names(options.benchmark) or known or ["*"]:
        if name not in known:
            raise _unknown("benchmark", name, folder, known)
        options.files = [str(folder / f"{name}.cu")]
        (program,) = options.analyzer.load_all(options.files, require_nvcc=True)
        yield _Benchmark(name, program, options.place, options.profile)


def _live(options: Options) -> int:
    searches = _SEARCHES if options.searches is None else options.searches
    if options.replay or options.plot or searches < 1:
        options.wrong("--search takes no --replay and no --plot, and --searches at least 1")
    on_gpu = options.on != EMULATED
    if not on_gpu and any(getattr(options, name) for name in OF_WORKERS):
        options.wrong("options for several GPUs need --on gpu")
    budget = Budget.read(options.search)
    techniques = contenders(_names(options.auto_tuner), options.technique, tell)
    documents: list[object] = []
    for one in _benchmarks(options):
        reporter = options.reporter
        sweep = _sweep(options, one, _NO_LIMIT, on_gpu)
        with prepared(options.toolchain, reporter, sweep) as ready:
            unit = "ms" if on_gpu else UNIT
            held = contest(ready, techniques, budget, searches, unit, reporter.progress)
            contests = list(held)
        report(ready.trials, reporter.warn)
        documents += [{"benchmark": one.name, **asdict(each)} for each in contests]
        if not options.json:
            for each in contests:
                print_live(one.name, each, options.verbose)
    if options.json:
        # A fraction is a text, as in trials.
        print(json.dumps({"schema": LIVE_SCHEMA, "contests": documents}, indent=1, default=str))
    return 0


def _sweep(
    options: Options, one: _Benchmark, search: Search | None, on_gpu: bool = True
) -> HostSweep:
    sweep = HostSweep(
        one.program,
        options.run,
        vary={"size": [str(options.size)]},
        workspace=one.workspace,
        device=one.device,
        names=(),
        how=Measuring(GPU, _REPETITIONS),
        search=search,
        parameters=options.parameters,
    )
    if on_gpu:
        return replace(
            sweep, workers=workers_of(options, True, one.workspace.folder, options.wrong)
        )
    # No time stands among those of a GPU.
    counting = Measuring(EMULATED, 1, once=counted)
    return replace(sweep, how=counting, kept=one.workspace.folder / COUNTED)


def _unknown(kind: str, name: str, folder: str | Path, known: Sequence[str]) -> CutuneError:
    there = "" if Path(folder).is_dir() else "; there is no such folder here: name one by --folder"
    listed = f"{known_names(name, known)}{there}"
    return CutuneError.at(Code.NO_BENCHMARK, kind=kind, name=name, folder=folder, known=listed)


def _json(benchmark: str, comparison: TunerComparison) -> dict[str, object]:
    return {
        "benchmark": benchmark,
        "where": comparison.where,
        "configurations": comparison.size,
        "random_search": comparison.chance,
        "searches": [
            {
                "search": score.technique,
                "evaluations": _finite(score.needed),
                "evaluations_quartiles": _finite(quartiles(score.needed)),
                "seconds": _finite(score.seconds),
                "seconds_quartiles": _finite(quartiles(score.seconds)),
                "score": score.score,
                "curve": list(score.curve),
            }
            for score in comparison.scores
        ],
    }


def _finite(values: Iterable[float]) -> list[float | None]:
    return [value if isfinite(value) else None for value in values]


# ---- BAT's examples: TUNER/BENCHMARK/config.json, run as BAT's main.py does

CONFIG = "config.json"
#: Files that are kept of a run.
KEPT = ("*.json", "*.csv")
#: A build or a run may take so long.
SECONDS = 24 * 3600.0

Command = Annotated[str, Meta(pattern=r"\S", max_length=4096)]


@dataclass(frozen=True)
class _Config:
    """Commands, words with blanks between; `run` gets `--size S --technique T`.

    `results`: JSON files with the best parameters.
    """

    build: tuple[Command, ...]
    run: Command
    results: tuple[Text, ...] = ()


def _run_examples(options: Options) -> int:
    """Build and run each example, and copy its files. Raises CT002, CT821, CT832, CT833."""
    target = Path(options.results).absolute() / str(int(time.time()))
    for folder in _examples(options):
        tuner, benchmark = folder.parts[-2:]
        text = JsonText.whole(read_file(folder / CONFIG), "config.json of BAT")
        config = text.typed(_Config, text.read())
        words = ["--size", str(options.size), "--technique", options.technique]
        with chdir(folder):
            said = [_run_example(command.split()) for command in config.build]
            said.append(_run_example([*config.run.split(), *words]))
        kept = target / tuner / benchmark
        make_folder(kept)
        for path in (path for pattern in KEPT for path in sorted(folder.glob(pattern))):
            if path.is_file() and path.name != CONFIG:
                with writing(kept / path.name):
                    shutil.copyfile(path, kept / path.name)
        files = ((name, read_file(folder / name)) for name in config.results)
        found = {n: JsonText.whole(file, "file of best parameters").read() for n, file in files}
        if options.verbose:
            print("".join(said), end="")
        print(f"{benchmark} by {tuner}: files in {kept}")
        for name, best in found.items():
            values = best.items() if isinstance(best, dict) else [("", best)]
            print(f"  {name}: {', '.join(f'{key} = {value}' for key, value in values)}")
    return 0


def _examples(options: Options) -> list[Path]:
    """The folders of the examples with the names that are given; no names: all. Raises CT832."""
    tuners, benchmarks = _names(options.auto_tuner), _names(options.benchmark)
    root = Path(options.examples)
    every = [path.parent for path in sorted(root.glob(f"*/*/{CONFIG}"))]
    for kind, wanted, known in (
        ("tuner", tuners, [one.parent.name for one in every]),
        ("benchmark", benchmarks, [one.name for one in every]),
    ):
        for name in wanted or ([] if every else [CONFIG]):
            if name not in known:
                code, listed = Code.NO_BENCHMARK, known_names(name, known)
                raise CutuneError.at(code, kind=kind, name=name, folder=root, known=listed)
    return [
        one
        for one in every
        if (not tuners or one.parent.name in tuners) and (not benchmarks or one.name in benchmarks)
    ]


def _run_example(words: Sequence[str]) -> str:
    ended = run_to_end(list(words), os.environ, SECONDS)
    if ended.status != 0:
        lines = (ended.errors_text or ended.output_text or ended.not_started).strip().splitlines()
        raise CutuneError.at(
            Code.EXAMPLE_FAILED,
            command=" ".join(words),
            folder=os.getcwd(),
            reason=lines[-1] if lines else f"status {ended.status}",
        )
    return ended.output_text
