"""`cutune fit --table`. Takes tables and what their columns mean, shows and writes a classifier."""

from __future__ import annotations

from pathlib import Path

from lark import UnexpectedInput

from cutune.cli.common import Options
from cutune.cli.report.classifiers import print_model, print_published_procedure, print_transfers
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.workspace import write_document, write_text
from cutune.search.neighbours.classifier import (
    SCHEMA,
    accuracy,
    corrected,
    document_entry,
    fit_choice,
    leave_one_out,
    null_accuracy,
    transfer,
)
from cutune.search.neighbours.emit_classifier import emit_choices
from cutune.search.neighbours.published_procedure import distribution, search
from cutune.search.neighbours.table import (
    Columns,
    read_labels,
    read_table,
)
from cutune.space.annotation import names_in, read_condition


def fit_tables(options: Options) -> int:
    """The verb; the status for the shell."""
    if options.sizes is None or options.choose is None:
        raise _misuse("--table needs the columns: --sizes N --choose m --time ms")
    columns = _columns(options)
    if columns.time is None:
        if len(options.table) > 1 or options.output is not None or options.given:
            raise _misuse("without --time there are labels only; name the column of times")
        labels, split = read_labels(_named(options.table[0])[1], columns), options.split
        print(
            f"{len(labels)} labelled sizes: leave-one-out accuracy "
            f"{accuracy(leave_one_out(labels), labels):.3f}, most frequent class "
            f"{null_accuracy(labels):.3f}"
        )
        if split is not None:
            print_published_procedure("labels", search(labels, split), distribution(labels))
        return 0
    paths = dict(map(_named, options.table))
    if len(paths) < len(options.table):
        raise _misuse("tables of several devices need names: --table a=a.csv --table b=b.csv")
    tables = {name: read_table(path, columns) for name, path in paths.items()}
    limit = checked_limit(options.limit)
    if len(tables) > 1 and options.given:
        raise _misuse("tables of several devices are compared without --given")
    table = next(iter(tables.values()))
    given = len(options.given.split(",")) if options.given else 0
    model = fit_choice(table, limit, given)
    print_model(model)
    if options.split is not None:
        optima = {"observed": table.best, "corrected": corrected(table, limit)}
        for word, labels in optima.items():
            split, every = search(labels, options.split), distribution(labels)
            print_published_procedure(f"{word} optima", split, every)
    if len(tables) > 1:
        print_transfers(model, transfer(tables, limit))
    if options.output is not None:
        path = Path(options.output)
        if path.suffix == ".json":
            write_document(path, SCHEMA, {"models": [document_entry(model)]})
        else:
            write_text(path, emit_choices([model]))
    return 0


def checked_limit(percent: float) -> float:
    """The limit as a fraction. Raises CT545 for one below 0, which no configuration keeps."""
    if not percent >= 0:
        raise _misuse(f"--limit {percent:g} is below 0")
    return percent / 100


def _columns(options: Options) -> Columns:
    conditions = []
    for word in options.where:
        name, equals, text = word.partition("=")
        if not equals:
            raise _misuse(f"'{word}' is no condition; write --where precision=fp64")
        conditions.append((name, text))
    given = options.given.split(",") if options.given else []
    sizes, tunables = (*given, *options.sizes.split(",")), tuple(options.choose.split(","))
    if options.allow is not None:
        _check_condition(options.allow, {*sizes, *tunables})
    return Columns(sizes, tunables, options.time, tuple(conditions), options.allow)


def _check_condition(text: str, known: set[str]) -> None:
    try:
        names = names_in(read_condition(text))
    except UnexpectedInput:
        raise _misuse(f"--allow '{text}' is not understood; write it as 'N >= 2 * m'") from None
    if names - known:
        listed = ", ".join(sorted(known))
        raise _misuse(f"--allow speaks of '{min(names - known)}'; it may speak of {listed} alone")


def _named(word: str) -> tuple[str, str]:
    """`NAME=FILE`, or a file that is named after itself."""
    name, equals, path = word.partition("=")
    return (name, path) if equals and not Path(word).exists() else (Path(word).stem, word)


def _misuse(reason: str) -> CutuneError:
    return CutuneError.at(Code.BAD_TABLE_OPTION, reason=reason)
