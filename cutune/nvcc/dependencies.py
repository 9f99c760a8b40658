"""Dependency files that name the user's own files. Takes what nvcc wrote, gives what it would have.

Every file that a line marker of the preprocessed text names becomes a dependency: the shadow of a
source, cutune's headers, and the source itself behind `#line`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container
from pathlib import Path

from cutune.core.workspace import replace_file

_WORD = re.compile(r"(?:\\.|[^\s\\])+")


def restore_dependencies(
    written: str, path: str, original_of: Callable[[str], str | None], sources: Container[str]
) -> None:
    """Make the user's dependency file of what nvcc wrote, whole or not at all.

    Args:
        written: what nvcc wrote; it is removed, unless it is `path` itself.
        original_of: the name that the user knows a file by; None for a file of cutune's.
        sources: what is no header, by the user's names.
    """
    file = Path(written)
    if not file.is_file():
        return
    text = file.read_text(encoding="utf-8", errors="surrogateescape")
    restored = restored_dependencies(text, original_of, sources)
    if restored != text or written != path:
        replace_file(Path(path), restored.encode("utf-8", errors="surrogateescape"))
    if written != path:
        file.unlink(missing_ok=True)


def restored_dependencies(
    text: str, original_of: Callable[[str], str | None], sources: Container[str] = ()
) -> str:
    """Rules as make reads them, `target : file \\ …`, with other file names."""
    lines = re.sub(r"\\\r?\n", " ", text).splitlines()
    rules = [_rule(line, original_of, sources) for line in lines]
    text = "".join(f"{rule}\n" for rule in rules if rule is not None)
    return re.sub(r"\n\n\n+", "\n\n", text)


def _rule(
    line: str, original_of: Callable[[str], str | None], sources: Container[str]
) -> str | None:
    match = re.match(r"((?:\\.|[^\\:])*?)(\s*):(?=\s|$)", line)
    if match is None:
        return line
    files = [_unescaped(word) for word in _WORD.findall(line[match.end() :])]
    if not files:
        # What -MP adds, so that make does not mind when a header goes away.
        target = _unescaped(match[1])
        return line if original_of(target) == target and target not in sources else None
    known = (original_of(file) for file in files)
    listed = dict.fromkeys(_escaped(file) for file in known if file is not None)
    return f"{match[1]}{match[2]}: " + " \\\n    ".join(listed)


def _unescaped(word: str) -> str:
    return re.sub(r"\\([ \t#])", r"\1", word).replace("$$", "$")


def _escaped(path: str) -> str:
    return re.sub(r"([ \t#])", r"\\\1", path.replace("$", "$$"))
