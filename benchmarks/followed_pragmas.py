"""Pragmas of `inspect --suggest`, inserted as they are printed: takes a program, gives what helped.

A launch counts where the next `inspect` calls it tunable. For a constant that the block follows,
both pragmas are inserted, and `inspect` must list it as a parameter without an error.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.launch_verdicts import ProgramFiles, Unit, document_of

#: What made a launch tunable: an annotation of its kernel, or the constant its block follows.
KINDS = ("kernel", "constant")
_CONSTANT = re.compile(r"`(#pragma cutune tune\((\w+):[^`]*)` before line (\d+) of ([^,]*),")
_REGION = "#pragma cutune region "
#: Lines to insert by file and number of the line that they stand before.
_Insertions = Mapping[tuple[str, int], str]


def followed(
    program: ProgramFiles,
    unit: Unit,
    document: Mapping[str, Any],
    limit_s: float,
    more: Sequence[str] = (),
) -> tuple[dict[int, str], list[str]]:
    """Follow the suggestions of a document that was made with `--suggest`.

    Gives `kernel` or `constant` per launch, by its number in the document, that a pragma made
    tunable, and the pragmas that helped none. The program's folder is copied, not changed. Each
    kernel and each constant is tried alone.
    """
    helped, vain = dict[int, str](), list[str]()
    refused = {at for at, one in enumerate(document["launches"]) if one["verdict"] == "refused"}
    with tempfile.TemporaryDirectory() as made:
        for said in document["suggestions"]:
            meant = {at for at in refused if _is_meant(document["launches"][at], said)}
            text, found = said["pragma"], _CONSTANT.search(said["text"])
            if text is not None:
                lines = {(said["file"], said["line"]): text}
            elif found is not None:
                lines = {(found[4], int(found[3])): found[1]}
                lines |= _region(program.folder, said["file"], said["line"])
            else:
                continue
            copy = Path(made) / "copy"
            shutil.rmtree(copy, ignore_errors=True)
            shutil.copytree(program.folder, copy, symlinks=True)
            _insert(copy, program.folder, lines)
            moved = tuple(flag.replace(str(program.folder), str(copy)) for flag in unit.flags)
            again, errors = document_of(copy, replace(unit, flags=moved), limit_s, more)
            done = set[int]()
            if again is not None and len(again["launches"]) == len(document["launches"]):
                if text is not None:
                    done = {k for k in meant if again["launches"][k]["verdict"] != "refused"}
                elif not any(": error: " in line for line in errors):
                    named = {one["name"] for one in _parameters(again)}
                    done = meant if found is not None and found[2] in named else done
            helped |= dict.fromkeys(done, KINDS[text is None])
            if not done:
                vain.append(f"{said['file']}:{said['line']}: {next(iter(lines.values()))}")
    return helped, vain


def _parameters(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What `inspect` lists with values to choose from: integers of the host, and constants."""
    return [*document["tunables"], *(p for s in document["spaces"] for p in s["parameters"])]


def _is_meant(launch: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    return launch["kernel"] == said["kernel"] and launch["line"] in said["launches"]


def _region(folder: Path, file: str, line: int) -> _Insertions:
    """The lines around the statement that begins in this one."""
    # `splitlines` would also split where a letter of several bytes has one that ends lines.
    lines = (folder / file).read_text(encoding="latin-1").split("\n")
    end = next((k for k in range(line, len(lines) + 1) if ";" in lines[k - 1]), line)
    return {(file, line): f"{_REGION}begin", (file, end + 1): f"{_REGION}end"}


def _insert(copy: Path, folder: Path, lines: _Insertions) -> None:
    for (file, before), text in sorted(lines.items(), reverse=True):
        path = (
            copy / file if not Path(file).is_absolute() else copy / Path(file).relative_to(folder)
        )
        old = path.read_bytes().split(b"\n")
        old.insert(before - 1, text.encode("latin-1"))
        path.write_bytes(b"\n".join(old))
