"""A folder of programs that were written against the proof. Takes the folder, gives its programs.

The first lines of a program say what is expected of it, and what it is compiled with:

    // EXPECT: refused
    // FLAGS: -rdc=true
    // SIZES: 20,64,100

Sizes are the arguments with which it runs, one at a time.

`c02_other.cu` is a further source of all programs whose names begin with `c02_`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

#: Where a program says nothing.
SIZES = "64,256,1000,2000"
_FURTHER = "_other"
#: Lines at the beginning that may speak of the program.
_HEAD_LINES = 10
_SAID = re.compile(r"^//\s*(EXPECT|FLAGS|SIZES):\s*(.*?)\s*$", re.MULTILINE)


@dataclass(frozen=True)
class HostileProgram:
    """One program: its sources, all in one folder, and what its first lines say."""

    sources: tuple[Path, ...]
    expected: str = ""
    flags: tuple[str, ...] = ()
    sizes: str = SIZES

    @property
    def name(self) -> str:
        """The name of its own file."""
        return self.sources[0].name

    @property
    def should_be_tunable(self) -> bool:
        """Is it expected to be changed?"""
        return self.expected.startswith("tunable")


def hostile_programs(folder: Path, pattern: str = "") -> list[HostileProgram]:
    """The programs of a folder whose names hold what the pattern says, in order."""
    sources = sorted(folder.glob("*.cu"))
    further = [path for path in sources if path.stem.endswith(_FURTHER)]
    return [
        _read(path, [one for one in further if _prefix(one) == _prefix(path)])
        for path in sources
        if path not in further and re.search(pattern, path.name)
    ]


def _read(path: Path, further: list[Path]) -> HostileProgram:
    lines = path.read_text(encoding="latin-1").splitlines()[:_HEAD_LINES]
    said = dict(_SAID.findall("\n".join(lines)))
    flags = tuple(said.get("FLAGS", "").split())
    return HostileProgram((path, *further), said.get("EXPECT", ""), flags, said.get("SIZES", SIZES))


def _prefix(path: Path) -> str:
    return path.stem.partition("_")[0]
