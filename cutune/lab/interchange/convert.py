"""Conversion of results. Takes a file and names of formats, gives a file.

What is written is read again: what it does not have is said in one line (CT824).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from cutune.cli.main import Options
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn, known_names, tell
from cutune.core.reading import read_file
from cutune.core.source import Source
from cutune.core.workspace import refuse_existing, replace_file
from cutune.lab.interchange import (
    CACHE,
    CSV,
    T4,
    TRIALS,
    WISDOM,
    csv_table,
    kernel_tuner_cache,
    t4,
    trials_file,
    wisdom,
)
from cutune.lab.interchange.csv_table import Meaning
from cutune.lab.interchange.results import Results, losses


@dataclass(frozen=True)
class Format:
    """One format: its name in options, ending of files, name for people, and functions."""

    name: str
    ending: str
    kind: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source, Meaning, Warn], Results]
    write: Callable[[Results], str]


#: The surest first: a line with commas may be anything.
FORMATS = tuple(
    Format(name, ending, one.KIND, one.recognises, one.read, one.write)
    for name, ending, one in (
        (TRIALS, ".jsonl", trials_file),
        (CACHE, ".cache.json", kernel_tuner_cache),
        (WISDOM, ".wisdom", wisdom),
        (T4, ".t4.json", t4),
        (CSV, ".csv", csv_table),
    )
)


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading. `name`: of the format; `only`: values as they are written."""

    name: str = ""
    only: Mapping[str, str] = field(default_factory=dict)
    meaning: Meaning = field(default_factory=Meaning)


def read_results(path: str | Path, options: ReadingOptions, warn: Warn) -> Results:
    """Read the results of a file in any format. Raises CT001, CT821, CT822, CT827."""
    source = read_file(path)
    format_ = _format("--from", options.name, path, lambda one: one.recognises(source))
    whole = format_.read(source, options.meaning, warn)
    kept = whole.only(options.only)
    if not kept.results:
        # The sizes and devices that there are to choose from.
        choices = {
            name: [str(one.sizes[name]) for one in whole.results if name in one.sizes]
            for name in whole.size_names
        }
        choices["device"] = [one.device for one in whole.results if one.device]
        parts = [f"{n} = {', '.join([*dict.fromkeys(v)][:20])}" for n, v in choices.items() if v]
        raise CutuneError.at(Code.NO_RESULTS, path=path, known="; ".join(parts) or "none")
    return kept


def convert(results: Results, target: Path, name: str, is_replacing: bool, warn: Warn) -> None:
    """Write results in the named format, else by the ending. Raises CT002, CT822 to CT826."""
    format_ = _format("--to", name, target, lambda _: False)
    refuse_existing(target, is_replacing)
    data = format_.write(results).encode()
    replace_file(target, data)
    again = Source(str(target), data.decode("latin-1"))
    left_out = losses(results, format_.read(again, Meaning(), warn))
    if left_out:
        warn(Diagnostic.at(Code.NO_PLACE, kind=format_.kind, what=", ".join(left_out)))


def _format(option: str, name: str, path: str | Path, fits: Callable[[Format], bool]) -> Format:
    """Return the named format, else the first that fits, else by the ending. Raises CT822."""
    for is_it in (lambda one: one.name == name, fits, lambda one: str(path).endswith(one.ending)):
        if (found := next(filter(is_it, FORMATS), None)) is not None:
            return found
    names = ", ".join(one.name for one in FORMATS)
    raise CutuneError.at(Code.UNKNOWN_FORMAT, path=path, option=f"{option} {names}")


def convert_verb(options: Options) -> int:
    """Results in one format in, the same in another out."""
    results = read_results(options.input, reading_of(options), tell)
    chosen = results.best() if options.best else results
    names = [name for name in options.order.split(",") if name]
    unknown = next((name for name in names if name not in chosen.names), None)
    if unknown is not None:
        known = known_names(unknown, chosen.names)
        options.wrong(f"--order: no parameter is named '{unknown}'; known: {known}")
    chosen = chosen.ordered(names)
    if options.kernel is not None:
        chosen = replace(chosen, kernel=options.kernel)
    if not chosen.results:
        options.wrong("--best takes results of which one has a time")
    convert(chosen, Path(options.output), options.to, options.force, tell)
    return 0


def reading_of(options: Options) -> ReadingOptions:
    """How a file of results is to be read."""
    only = {}
    for word in options.only:
        name, equals, value = word.partition("=")
        if not equals or name in only:
            options.wrong(f"--only takes NAME=VALUE, each name once, not '{word}'")
        only[name] = value
    sizes = tuple(options.sizes.split(",")) if options.sizes else ()
    return ReadingOptions(options.source_format, only, Meaning(sizes, options.time))
