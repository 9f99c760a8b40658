"""Line markers of preprocessed text. Takes the text, gives the files that it was made of."""

from __future__ import annotations

import os
import re
from functools import lru_cache

#: A "#" that begins a line, in regular expressions. Texts of a megabyte are searched for it in half
#: the time that `^#` takes, which is tried at each character.
BEGIN = r"#(?<![^\n]#)"
_NAME = re.compile(BEGIN + r'(?:line)? \d+ "((?:[^"\\\n]|\\.)*)"')


@lru_cache(maxsize=4096)
def unescaped(path: str) -> str:
    """The path of a line marker. Preprocessed text is decoded as latin-1, as sources are.

    A text has thousands of markers, of a hundred files.
    """
    return os.fsdecode(path.replace("\\\\", "\\").replace('\\"', '"').encode("latin-1"))


def files_of(text: str) -> list[str]:
    """All files that were read, in one order everywhere."""
    return sorted(unescaped(name) for name in {*_NAME.findall(text)} if not name.startswith("<"))
