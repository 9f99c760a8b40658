"""Text of a program in another place. Takes C++ text, gives its tokens or its lines alone."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"""(?P<literal>"(?:\\.|[^"\\\n])*" | (?<![\da-fA-F])'(?:\\.|[^'\\\n])*')
      | (?P<comment>/\*.*?\*/ | //(?:\\\r?\n|[^\n])*?(?=\r?\n|\Z))
      | (?P<continuation>\\\r?\n)
      | (?P<newline>\r?\n)""",
    re.DOTALL | re.VERBOSE,
)


def one_line(text: str) -> str:
    """The same tokens on one line, without comments."""

    def joined(found: re.Match[str]) -> str:
        if found["literal"] is not None:
            return found[0]
        return "" if found["continuation"] is not None else " "

    parts = _PIECE.sub(joined, text)
    # A blank in a literal is a character of it; elsewhere runs of blanks become one.
    blanks = re.compile(r"(\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')|\s+")
    return blanks.sub(lambda found: found[1] or " ", parts).strip()


def line_structure(text: str) -> str:
    """The comments, continuations and line ends of a text: what must stay when its tokens go."""
    return "".join(
        found[0] if found["newline"] is not None else f" {found[0]}"
        for found in _PIECE.finditer(text)
        if found["literal"] is None
    )
