"""BAT's examples: TUNER/BENCHMARK/config.json. Takes a folder and names, runs what they say.

`build` are commands, words with blanks between; `run` is one, which gets `--size S --technique T`;
of `results` each is a JSON file with the best parameters. This is what BAT's main.py does.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, known_names
from cutune.core.processes import run_to_end
from cutune.core.reading import read_file
from cutune.core.typed import Meta, Text
from cutune.core.workspace import make_folder, writing
from cutune.lab.interchange.json_text import JsonText

CONFIG = "config.json"
KIND = "config.json of BAT"
#: Files that are kept of a run.
KEPT = ("*.json", "*.csv")
#: A build or a run may take so long.
SECONDS = 24 * 3600.0

Command = Annotated[str, Meta(pattern=r"\S", max_length=4096)]


@dataclass(frozen=True)
class _Config:
    build: tuple[Command, ...]
    run: Command
    results: tuple[Text, ...] = ()


@dataclass(frozen=True)
class Example:
    """One tuner on one benchmark."""

    tuner: str
    benchmark: str
    folder: Path


@dataclass(frozen=True)
class ExampleResult:
    """The best parameters by file, where files were copied to, and the output."""

    example: Example
    best: dict[str, Any]
    kept: Path
    said: str


def examples_in(folder: Path, tuners: Sequence[str], benchmarks: Sequence[str]) -> list[Example]:
    """Return the examples with these names; no names: all. Raises CT832 where there is none."""
    every = [
        Example(path.parent.parent.name, path.parent.name, path.parent)
        for path in sorted(folder.glob(f"*/*/{CONFIG}"))
    ]
    for kind, wanted, known in (
        ("tuner", tuners, [one.tuner for one in every]),
        ("benchmark", benchmarks, [one.benchmark for one in every]),
    ):
        for name in wanted or ([] if every else [CONFIG]):
            if name not in known:
                listed = known_names(name, known)
                raise CutuneError.at(
                    Code.NO_BENCHMARK, kind=kind, name=name, folder=folder, known=listed
                )
    return [
        one
        for one in every
        if (not tuners or one.tuner in tuners) and (not benchmarks or one.benchmark in benchmarks)
    ]


def run_examples(
    examples: Sequence[Example], size: int, technique: str, results: Path
) -> Iterator[ExampleResult]:
    """Build and run each, and copy its files into `results`. Raises CT002, CT821, CT833."""
    for one in examples:
        text = JsonText.whole(read_file(one.folder / CONFIG), KIND)
        config = text.typed(_Config, text.read())
        words = [*config.run.split(), "--size", str(size), "--technique", technique]
        with chdir(one.folder):
            said = [_run(command.split()) for command in config.build] + [_run(words)]
        kept = results / one.tuner / one.benchmark
        make_folder(kept)
        for path in (path for pattern in KEPT for path in sorted(one.folder.glob(pattern))):
            if path.is_file() and path.name != CONFIG:
                with writing(kept / path.name):
                    shutil.copyfile(path, kept / path.name)
        best = {
            name: JsonText.whole(read_file(one.folder / name), "file of best parameters").read()
            for name in config.results
        }
        yield ExampleResult(one, best, kept, "".join(said))


def _run(words: Sequence[str]) -> str:
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
