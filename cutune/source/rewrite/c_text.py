"""C++ text in another place: on one line, in a literal, in a comment, before line 1 of a file.

Takes text of a program, or cutune's own, and gives what is written; `prelude_edit` gives an edit
that leaves a file its line numbers.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from functools import cache

from cutune.core.source import Edit, Source, Span
from cutune.source.syntax.tokens import BYTE_ORDER_MARK, TRIVIA, Token, lex, lex_significant
from cutune.toolchain.nvcc import INCLUDE_DIRECTORY

_OWN_HEADER = re.compile(r'^#include "(?:[^"\n]*/)?(cutune_\w+\.h)"', re.MULTILINE)


def c_string(text: str) -> str:
    """Write the bytes of a text, those of latin-1 or UTF-8, as a C string without trigraphs."""
    kept = text if all(c <= "\xff" for c in text) else text.encode().decode("latin-1")
    escaped = "".join(
        f"\\{c}" if c in '\\"?' else c if " " <= c <= "~" else f"\\{ord(c):03o}" for c in kept
    )
    return f'"{escaped}"'


def c_comment(text: str) -> str:
    """Write text so that it neither ends nor continues the comment of C that it stands in."""
    return re.sub(r"[^ -~]|[\\?*]", "_", text)


def c_path(path: str) -> str:
    """Write a path, by the bytes of the file system, as a C string literal."""
    return c_string(os.fsencode(path).decode("latin-1"))


def argument_bits(positions: Iterable[int]) -> str:
    """Write the set of these arguments as C++."""
    return f"{sum(1 << position for position in positions)}ull"


def axis_bits(axes: Iterable[bool]) -> str:
    """Write a bit for each dimension as C++."""
    return f"{sum(1 << axis for axis, is_set in enumerate(axes) if is_set)}u"


def guarded(text: str, macros: Collection[str]) -> str:
    """Put macros of the user away that would expand in text of cutune's own."""
    files = [text, *(_included(name) for name in _OWN_HEADER.findall(text))]
    words = {t.text for file in files if macros for t in lex_significant(file)}
    hidden = sorted(word for word in words & {*macros} if not word.startswith("_"))
    begin = "".join(f'#pragma push_macro("{name}")\n#undef {name}\n' for name in hidden)
    end = "".join(f'#pragma pop_macro("{name}")\n' for name in hidden)
    return f"{begin}{text.rstrip()}\n{end}" if hidden else text


@cache
def _included(name: str) -> str:
    """A header of cutune with all that it includes of others."""
    text = (INCLUDE_DIRECTORY / name).read_text("ascii")
    return text + "".join(map(_included, _OWN_HEADER.findall(text)))


def prelude_edit(source: Source, text: str) -> Edit:
    """Put `text` before line 1 of the file, whose line numbers stay as they are for nvcc."""
    start = len(BYTE_ORDER_MARK) if source.text.startswith(BYTE_ORDER_MARK) else 0
    end = "\r\n" if "\r\n" in source.text else "\n"
    # `splitlines` would also end a line at a byte of some letters.
    lines = [*text.removesuffix("\n").split("\n"), f"#line 1 {c_path(source.path)}"]
    lines = lines if text else lines[1:]
    return Edit(Span(start, start), "".join(line + end for line in lines))


_COMMENTS = frozenset({"LINE_COMMENT", "BLOCK_COMMENT"})
_CONTINUATION = re.compile(r"\\\r?\n")
#: A blank ends with the first byte of CR LF.
_LINE_END = re.compile(r"\\\r?\n|\n|\r\Z")
_RAW_STRING = re.compile(
    r"(?P<prefix>\w*)R\"(?P<delimiter>[^(]*)\((?P<text>.*)\)(?P=delimiter)\"", re.DOTALL
)


def _pieces(text: str) -> Iterator[Token]:
    """Tokens of a text within a line, in which no directive begins."""
    pieces = lex(f";{text}")
    next(pieces)
    return pieces


def one_line(text: str) -> str:
    """Write the tokens of a text on one line, without comments."""
    parts: list[str] = []
    for token in _pieces(text):
        if token.kind not in TRIVIA:
            parts.append(_literal(token) if "\n" in token.text else token.text)
        elif token.kind in _COMMENTS or _CONTINUATION.sub("", token.text):
            # A continuation alone stands in the middle of a token, perhaps.
            parts += [" "] if parts and parts[-1] != " " else []
    return "".join(parts).strip()


def _literal(token: Token) -> str:
    """Write a token of several lines on one; the lines of a raw string are characters of it."""
    raw = _RAW_STRING.fullmatch(token.text) if token.kind == "RAW_STRING" else None
    if raw is None:
        return _CONTINUATION.sub("", token.text)
    plain = re.sub(r'[\\"?]', r"\\\g<0>", raw["text"].replace("\r\n", "\n")).replace("\n", r"\n")
    return f'{raw["prefix"]}"{plain}"'


def line_structure(text: str) -> str:
    """Return the comments, continuations and line ends of a text, which stay when its tokens go."""
    parts: list[str] = []
    for token in _pieces(text):
        if token.kind == "RAW_STRING":
            parts.append("\n" * token.text.count("\n"))
        elif token.kind in _COMMENTS:
            parts.append(f" {token.text}")
        else:
            parts += (f" {end}" if end[0] == "\\" else end for end in _LINE_END.findall(token.text))
    return "".join(parts)
