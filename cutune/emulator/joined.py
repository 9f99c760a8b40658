"""Sources joined into larger translation units. Takes sources, gives files that include them.

A compiler spends most of its time on a small source with headers, which are read once for a unit.
Units stay small enough that several processors share the work.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

#: Of the sources of a unit together, unless it is a single one.
MOST_BYTES = 48_000
#: Headers of programs declare weakly what the device defines: only in a unit without definitions.
_OF_PROGRAMS = re.compile(r'^\s*#\s*include\s+"\.\./', re.MULTILINE)


def joined_units(sources: Sequence[Path], keep: Callable[[str, str], Path]) -> tuple[Path, ...]:
    """Join sources into larger translation units, and give these, the largest first.

    A compiler spends most of its time on a small source with headers, which are read once for a
    unit. `keep` writes a file of a name and a text, and gives its path. Sources are included by
    their names: their folder is the compiler's to know.
    """
    groups: list[list[Path]] = []
    room = 0
    for source in sources:
        size = source.stat().st_size
        if _OF_PROGRAMS.search(source.read_text(encoding="utf-8")):
            groups.insert(0, [source])
            continue
        if size > room:
            groups.append([])
            room = MOST_BYTES
        groups[-1].append(source)
        room -= size
    groups.sort(key=lambda group: sum(map(os.path.getsize, group)), reverse=True)
    return tuple(group[0] if len(group) == 1 else _unit(group, keep) for group in groups)


def _unit(group: Sequence[Path], keep: Callable[[str, str], Path]) -> Path:
    text = "".join(f'#include "{source.name}"\n' for source in group)
    return keep(f"{group[0].stem}_to_{group[-1].stem}.cpp", text)
