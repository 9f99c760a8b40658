"""`convert`: results in one format in, the same in another out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from cutune.cli.common import Options, show
from cutune.core.diagnostics import known_names
from cutune.lab.interchange.convert import ReadingOptions, read_results
from cutune.lab.interchange.convert import convert as write
from cutune.lab.interchange.csv_table import Meaning


def convert_verb(options: Options) -> int:
    """The verb; the status for the shell."""
    results = read_results(options.input, reading_of(options), show)
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
    write(chosen, Path(options.output), options.to, options.force, show)
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
