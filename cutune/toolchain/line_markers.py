"""Line markers of preprocessed text. Takes the text, gives the files that it was made of."""

from __future__ import annotations

import os
import re

_NAME = re.compile(r'^#(?:line)? \d+ "((?:[^"\\\n]|\\.)*)"', re.MULTILINE)


def unescaped(path: str) -> str:
    """The path of a line marker. Preprocessed text is decoded as latin-1, as sources are."""
    return os.fsdecode(path.replace("\\\\", "\\").replace('\\"', '"').encode("latin-1"))


def files_of(text: str) -> list[str]:
    """All files that were read, in one order everywhere."""
    return sorted(unescaped(name) for name in {*_NAME.findall(text)} if not name.startswith("<"))
