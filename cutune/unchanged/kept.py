"""Kept results of `tune`. Takes a request, gives its result as long as nothing has changed."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cutune.core.typed import parsed
from cutune.core.workspace import Json, Workspace, make_folder, write_text
from cutune.unchanged.digests import digest, file_digest, state
from cutune.unchanged.inputs import UNKNOWN, Request, inputs_of
from cutune.unchanged.store import found_in, save_in

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
