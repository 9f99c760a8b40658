"""From one format of results to another. Takes a file and names of formats, gives a file.

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
from cutune.interchange import csv_table, kernel_tuner_cache, t4, trials_file, wisdom
from cutune.interchange.csv_table import Meaning
from cutune.interchange.format_names import CACHE, CSV, T4, TRIALS, WISDOM
from cutune.interchange.results import Results, losses, written


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes:
        name: as options have it.
        kind: as people call it.
        endings: of names of files.
        recognises: is a file in it, by its first lines?
    """

    name: str
    kind: str
    endings: tuple[str, ...]
    recognises: Callable[[Source], bool]
    write: Callable[[Results], str]

    def read(self, source: Source, meaning: Meaning, warn: Warn) -> Results:
        """The results of a file.

        Raises:
            CutuneError: CT821.
        """
        if self.name == TRIALS:
            return trials_file.read(source, warn)
        if self.name == CSV:
            return csv_table.read(source, meaning)
        return _READERS[self.name](source)


_READERS: Mapping[str, Callable[[Source], Results]] = {
    CACHE: kernel_tuner_cache.read,
    WISDOM: wisdom.read,
    T4: t4.read,
}
#: The surest first: a line with commas may be anything.
FORMATS = (
    Format(TRIALS, trials_file.KIND, (".jsonl",), trials_file.recognises, trials_file.write),
    Format(
        *(CACHE, kernel_tuner_cache.KIND, (".cache.json",)),
        kernel_tuner_cache.recognises,
        kernel_tuner_cache.write,
    ),
    Format(WISDOM, wisdom.KIND, (".wisdom",), wisdom.recognises, wisdom.write),
    Format(T4, t4.KIND, (".t4.json",), t4.recognises, t4.write),
    Format(CSV, csv_table.KIND, (".csv",), csv_table.recognises, csv_table.write),
)


@dataclass(frozen=True)
class ReadingOptions:
    """What is to be read.

    Attributes:
        name: of the format; empty: the file says it.
        only: values of sizes, of parameters, or a device, as they are written.
    """

    name: str = ""
    only: Mapping[str, str] = field(default_factory=dict)
    meaning: Meaning = field(default_factory=Meaning)


def read_results(path: str | Path, asked: ReadingOptions, warn: Warn) -> Results:
    """The results of a file in any of the formats.

    Raises:
        CutuneError: CT001, CT821 where it is damaged, CT822 where it is in none of them, CT827
            where nothing is left of it.
    """
    source = read_file(path)
    found = _named(asked.name) or _of_content(source) or _of_ending(source.path)
    if found is None:
        raise CutuneError.at(Code.UNKNOWN_FORMAT, path=path, option=f"--from {_names()}")
    whole = found.read(source, asked.meaning, warn)
    kept = whole.only(asked.only)
    if not kept.results:
        known = _known(whole)
        raise CutuneError.at(Code.NO_RESULTS, path=path, known=known)
    return kept


def convert(results: Results, target: Path, name: str, is_replacing: bool, warn: Warn) -> None:
    """Write results in the format that is named, or that of the target's ending.

    Raises:
        CutuneError: CT002, CT822, CT823 and CT826 for what the format does not hold, CT825 for a
            file that is there.
    """
    found = _named(name) or _of_ending(str(target))
    if found is None:
        raise CutuneError.at(Code.UNKNOWN_FORMAT, path=target, option=f"--to {_names()}")
    refuse_existing(target, is_replacing)
    text = found.write(results)
    replace_file(target, text.encode())
    left_out = losses(results, found.read(Source(str(target), _decoded(text)), Meaning(), warn))
    if left_out:
        what = ", ".join(left_out)
        warn(Diagnostic.at(Code.NO_PLACE, None, kind=found.kind, what=what))


def _decoded(text: str) -> str:
    return text.encode().decode("latin-1")


def _named(name: str) -> Format | None:
    return next((one for one in FORMATS if one.name == name), None)


def _of_content(source: Source) -> Format | None:
    return next((one for one in FORMATS if one.recognises(source)), None)


def _of_ending(path: str) -> Format | None:
    return next((one for one in FORMATS if path.endswith(one.endings)), None)


def _names() -> str:
    return ", ".join(one.name for one in FORMATS)


def _known(whole: Results) -> str:
    """What there is to choose from."""
    found = {name: _values(whole, name) for name in whole.size_names}
    devices = ", ".join(dict.fromkeys(one.device for one in whole.results if one.device))
    parts = [f"{name} = {values}" for name, values in found.items()]
    return "; ".join([*parts, *([f"device = {devices}"] if devices else [])]) or "none"


def _values(whole: Results, name: str) -> str:
    own = (written(one.sizes[name]) for one in whole.results if name in one.sizes)
    return ", ".join(list(dict.fromkeys(own))[:20])
