"""Kept results of `tune`. Takes a request, gives its result as long as nothing has changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from cutune.core.diagnostics import CutuneError
from cutune.core.typed import parsed
from cutune.core.workspace import (
    Json,
    Workspace,
    make_folder,
    read_typed,
    write_document,
    write_text,
)
from cutune.toolchain.cache import cache_folder
from cutune.tuning.cache.digests import digest, file_digest, state, text_of
from cutune.tuning.cache.inputs import UNKNOWN, Request, inputs_of
from cutune.tuning.cache.keeper import Keeper

SCHEMA = "cutune-kept-1"
T = TypeVar("T")


def found_in(kind: str, name: str, form: type[T]) -> T | None:
    """Read the document of a name; None without one.

    Raises:
        CutuneError: it cannot be read, or was kept by another version.
    """
    path = _place(kind, name)
    return read_typed(path, SCHEMA, form, "cutune tune") if path.exists() else None


def save_in(kind: str, name: str, document: Json, most: int) -> None:
    """Write a document; only the newest of its kind stay. An unwritable cache is no error."""
    try:
        path = _place(kind, name)
        make_folder(path.parent)
        write_document(path, SCHEMA, document, indent=None)
        found = sorted(path.parent.glob("*.json"), key=lambda one: one.stat().st_mtime_ns)
        for old in found[:-most]:
            old.unlink(missing_ok=True)
    except (CutuneError, OSError):
        return


def _place(kind: str, name: str) -> Path:
    return cache_folder() / kind / f"{name}.json"


#: The kind of result, and how many are kept.
TUNED, MOST_TUNED = "tuned", 64
_LOADED = re.compile(r"=> (/.+) \(0x[0-9a-f]+\)\s*$|^\s*(/\S+) \(0x[0-9a-f]+\)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class KeptMeasurements:
    """The measurements of a workspace as a result left them.

    Attributes:
        length, content: of measurements.jsonl.
        about: words that lines which others add must not hold.
    """

    length: int
    content: str
    about: list[str]

    @staticmethod
    def of(workspace: Workspace, about: Iterable[str]) -> KeptMeasurements:
        """As they are now."""
        data = workspace.measurements.read_bytes()
        return KeptMeasurements(len(data), digest(data), sorted({*about}))

    def hold(self, workspace: Workspace) -> bool:
        """Has nothing been added but measurements of other kernels?"""
        try:
            data = workspace.measurements.read_bytes()
        except OSError:
            return False
        added = data[self.length :]
        words = (json.dumps(word)[1:-1].encode() for word in self.about)
        return digest(data[: self.length]) == self.content and not any(w in added for w in words)


@dataclass(frozen=True)
class Kept:
    """A result, and what it depends on.

    Attributes:
        inputs: see `Inputs`.
        further: digests of files that the compiler read for the instrumented program alone.
        program: the instrumented program. libraries: states of those that it runs with.
        models: digests of the models of its kernels in models.json.
        tuned: the texts of the tuned program's files by their paths.
        said: messages, as they were shown.
        shown: what else was shown, for who shows it.
    """

    inputs: dict[str, str]
    further: dict[str, str]
    program: str
    libraries: dict[str, str]
    measured: KeptMeasurements
    models: list[str]
    tuned: dict[str, str]
    said: list[str]
    shown: Json

    def save(self, request: Request) -> None:
        """Keep it for a request. Where the cache cannot be written it is not kept."""
        save_in(TUNED, request.name, asdict(self), MOST_TUNED)

    def holds(self, request: Request) -> bool:
        """Have none of the inputs changed?"""
        places_are_free = not any(map(os.path.isdir, self.tuned))
        return (
            places_are_free
            and self.measured.hold(request.workspace)
            and self.models == model_digests(request.workspace, request.sources)
            and self.inputs == inputs_of(request).digests
            and self.further == digests_of(self.further)
            and self.libraries == libraries_of(self.program)
        )

    def write_tuned(self) -> None:
        """Write the tuned program anew: who builds by the times of files sees that it was made.

        Raises:
            CutuneError: CT002.
        """
        for path, text in self.tuned.items():
            make_folder(Path(path).parent)
            write_text(Path(path), text)


def kept_for(request: Request) -> Kept | None:
    """The kept result of a request; None where there is none, or an input has changed."""
    if request.unknown:
        return None
    try:
        found = found_in(TUNED, request.name, Kept)
        return found if found is not None and found.holds(request) else None
    except UNKNOWN:
        return None


def digests_of(paths: Iterable[str]) -> dict[str, str]:
    """The contents of files by their paths."""
    return {path: file_digest(path) for path in paths}


def libraries_of(program: str) -> dict[str, str]:
    """The states of the libraries that a program would be run with now, by their paths."""
    variables = {**os.environ, "LD_TRACE_LOADED_OBJECTS": "1"}
    try:
        done = subprocess.run([program], env=variables, capture_output=True, text=True, check=False)
    except OSError:
        return {}
    paths = sorted(first or second for first, second in _LOADED.findall(done.stdout))
    return {path: state(os.path.realpath(path)) for path in paths}


def model_digests(workspace: Workspace, sources: Sequence[str]) -> list[str]:
    """The models of a program's kernels in models.json; none where there are none."""
    own = {str(Path(path).resolve()) for path in sources}
    try:
        entries = parsed(workspace.models.read_bytes())["models"]
        return [_digest(entry) for entry in entries if entry["facts"]["origin"]["path"] in own]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _digest(entry: Mapping[str, object]) -> str:
    return digest(json.dumps(entry, sort_keys=True))


#: The kind of result, and how many are kept.
REWRITTEN, MOST_REWRITTEN = "rewritten", 256


@dataclass(frozen=True)
class KeptRewriting:
    """A source as it was rewritten.

    Attributes:
        inputs: see `Inputs`.
        shadow: how it is compiled, for who compiles it; None where it is compiled as it is.
        texts: those of all files that were written.
    """

    inputs: dict[str, str]
    shadow: Json | None
    texts: dict[str, str]

    @staticmethod
    def keep(keeper: Keeper, shadow: Json | None, files: Iterable[str]) -> None:
        """Keep what was just made, unless an input has changed since."""
        try:
            inputs = keeper.settled()
            if inputs is not None:
                texts = {path: text_of(path) for path in files}
                document = asdict(KeptRewriting(inputs.digests, shadow, texts))
                save_in(REWRITTEN, keeper.request.name, document, MOST_REWRITTEN)
        except UNKNOWN:
            return  # It is made again then.

    def write(self) -> None:
        """Write all files.

        Raises:
            CutuneError: CT002.
        """
        for path, text in self.texts.items():
            file = Path(path)
            make_folder(file.parent)
            write_text(file, text)


def rewriting_for(request: Request) -> KeptRewriting | None:
    """The kept rewriting of a request; None where there is none, or an input has changed."""
    try:
        found = found_in(REWRITTEN, request.name, KeptRewriting)
        still = found is not None and found.inputs == inputs_of(request).digests
        return found if still else None
    except UNKNOWN:
        return None
