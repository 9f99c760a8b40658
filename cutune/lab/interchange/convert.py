"""Conversion of results. Takes a file and names of formats, gives a file.

What is written is read again: what it does not have is said in one line (CT824).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, Warn
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
from cutune.lab.interchange.results import Results, losses, written


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes:
        name: as options have it.
        ending: of names of files.
        kind: as people call it.
        recognises: is a file in it, by its first lines?
        read: gives the results of a file, or raises CT821.
    """

    name: str
    ending: str
    kind: str
    recognises: Callable[[Source], bool]
    read: Callable[[Source, Meaning, Warn], Results]
    write: Callable[[Results], str]


#: The surest first: a line with commas may be anything.
FORMATS = (
    Format(
        *(TRIALS, ".jsonl", trials_file.KIND, trials_file.recognises),
        lambda source, _, warn: trials_file.read(source, warn),
        trials_file.write,
    ),
    Format(
        *(CACHE, ".cache.json", kernel_tuner_cache.KIND, kernel_tuner_cache.recognises),
        lambda source, *_: kernel_tuner_cache.read(source),
        kernel_tuner_cache.write,
    ),
    Format(
        *(WISDOM, ".wisdom", wisdom.KIND, wisdom.recognises),
        lambda source, *_: wisdom.read(source),
        wisdom.write,
    ),
    Format(*(T4, ".t4.json", t4.KIND, t4.recognises), lambda source, *_: t4.read(source), t4.write),
    Format(
        *(CSV, ".csv", csv_table.KIND, csv_table.recognises),
        lambda source, meaning, _: csv_table.read(source, meaning),
        csv_table.write,
    ),
)


@dataclass(frozen=True)
class ReadingOptions:
    """Options for reading results.

    Attributes:
        name: of the format; empty: the file says it.
        only: values of sizes, of parameters, or a device, as they are written.
    """

    name: str = ""
    only: Mapping[str, str] = field(default_factory=dict)
    meaning: Meaning = field(default_factory=Meaning)


def read_results(path: str | Path, options: ReadingOptions, warn: Warn) -> Results:
    """Read the results of a file in any of the formats.

    Raises:
        CutuneError: CT001, CT821 where it is damaged, CT822 where it is in none of them, CT827
            where nothing is left of it.
    """
    source = read_file(path)
    format_ = _named(options.name) or _of_content(source) or _of_ending(source.path)
    if format_ is None:
        raise CutuneError.at(Code.UNKNOWN_FORMAT, path=path, option=f"--from {_names()}")
    whole = format_.read(source, options.meaning, warn)
    kept = whole.only(options.only)
    if not kept.results:
        raise CutuneError.at(Code.NO_RESULTS, path=path, known=_known(whole))
    return kept


def convert(results: Results, target: Path, name: str, is_replacing: bool, warn: Warn) -> None:
    """Write results in the format that is named, or that of the target's ending.

    Raises:
        CutuneError: CT002, CT822, CT823 and CT826 for what the format does not hold, CT825 for a
            file that is there.
    """
    format_ = _named(name) or _of_ending(str(target))
    if format_ is None:
        raise CutuneError.at(Code.UNKNOWN_FORMAT, path=target, option=f"--to {_names()}")
    refuse_existing(target, is_replacing)
    data = format_.write(results).encode()
    replace_file(target, data)
    again = Source(str(target), data.decode("latin-1"))
    left_out = losses(results, format_.read(again, Meaning(), warn))
    if left_out:
        warn(Diagnostic.at(Code.NO_PLACE, kind=format_.kind, what=", ".join(left_out)))


def _named(name: str) -> Format | None:
    return next((one for one in FORMATS if one.name == name), None)


def _of_content(source: Source) -> Format | None:
    return next((one for one in FORMATS if one.recognises(source)), None)


def _of_ending(path: str) -> Format | None:
    return next((one for one in FORMATS if path.endswith(one.ending)), None)


def _names() -> str:
    return ", ".join(one.name for one in FORMATS)


def _known(whole: Results) -> str:
    choices = {
        name: [written(one.sizes[name]) for one in whole.results if name in one.sizes]
        for name in whole.size_names
    }
    parts = [f"{n} = {', '.join([*dict.fromkeys(own)][:20])}" for n, own in choices.items()]
    devices = ", ".join(dict.fromkeys(one.device for one in whole.results if one.device))
    return "; ".join([*parts, *([f"device = {devices}"] if devices else [])]) or "none"
