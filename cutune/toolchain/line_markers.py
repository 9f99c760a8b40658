"""Line markers of preprocessed text. Takes the text, gives the files that it was made of."""

from __future__ import annotations

import os
import re
from functools import lru_cache

#: A "#" that begins a line, in regular expressions. Texts of a megabyte are searched for it in half
#: the time that `^#` takes, which is tried at each character.
BEGIN = r"#(?<![^\n]#)"
_NAME = re.compile(BEGIN + r'(?:line)? \d+ "((?:[^"\\\n]|\\.)*)"')
#: What nobody closes is none: text such as `"R",f(` within a string. A pattern that begins with
#: text is sought in a tenth of the time.
_RAW = re.compile(r'R"(?:(?<!\wR")|(?<=\bu8R")|(?<=\b[uUL]R"))([^()\\\s]{0,16})\([\s\S]*?\)\1"')


def masked(text: str) -> str:
    """Return the text with another byte for each `#` that begins a line within a raw string.

    Programs hold the text of others, with `#line` in it, which no marker of their own is.
    """
    if 'R"' not in text:
        return text
    return _RAW.sub(lambda raw: raw[0].replace("\n#", "\n\1"), text)


@lru_cache(maxsize=4096)
def unescaped(path: str) -> str:
    """The path of a line marker; a text, decoded as latin-1, has thousands of a hundred files."""
    return os.fsdecode(path.replace("\\\\", "\\").replace('\\"', '"').encode("latin-1"))


def files_of(text: str) -> list[str]:
    """Return all files that were read, in one order everywhere."""
    names = {*_NAME.findall(masked(text))}
    return sorted(unescaped(name) for name in names if not name.startswith("<"))
