"""A target: what is read, from what it is mutated, and what mutations insert."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.fuzzing.failures import Check
from tests.fuzzing.mutations import mutated

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "recorded"
#: Of a reader's name, the module of `readers`.
READERS = {
    "cuda": "cuda",
    "ptx": "ptx",
    "annotations": "annotations",
    "json": "documents",
    "csv": "tables",
    "ncu": "ncu",
    "t1": "spaces",
    "launch-log": "launch_log",
}


@dataclass(frozen=True)
class Reader:
    """A reader of cutune.

    Attributes:
        check: reads an input. It lets diagnostics pass, and nothing else.
        seeds: inputs that are read as they are.
        pieces: words that mutations insert.
        most_bytes: inputs are not longer.
    """

    check: Check
    seeds: Callable[[], Iterable[bytes]]
    pieces: Sequence[str]
    most_bytes: int = 16_000

    def mutated(self, data: bytes, seed: int, most: int) -> bytes:
        """Another input."""
        text = mutated(random.Random(seed), data.decode("latin-1"), self.pieces)
        return text.encode("latin-1", "replace")[:most]


def reader_named(name: str) -> Reader:
    """A target by its name. What it reads with is imported here, and not before."""
    found = import_module(f"tests.fuzzing.readers.{READERS[name]}").READER
    assert isinstance(found, Reader)
    return found


def short(paths: Iterable[Path], most: int) -> list[bytes]:
    """Files that are not long, in an order that does not depend on the machine."""
    return [path.read_bytes() for path in sorted(paths) if path.stat().st_size <= most]


class Scratch:
    """A folder for files that readers want by their paths. It goes with the process."""

    def __init__(self) -> None:
        shared = Path("/dev/shm")
        self._made = tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None)
        self.folder = Path(self._made.name)

    def file(self, name: str, data: bytes) -> Path:
        """A file of this content."""
        path = self.folder / name
        path.write_bytes(data)
        return path

    def emptied(self) -> Path:
        """The folder without anything in it."""
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return self.folder
