"""Declarations that programs need. Takes lines of preprocessed headers, gives fewer of them.

Compilers read each declaration, and a small program asks for few. One is needed if a name that it
declares is asked for, or stands in another one that is needed. All functions of a name stay
together, so that calls mean what they did.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[{}();]')
_WORD = re.compile(r"\w+")
#: What is in these braces is declared outside of them, as far as names tell.
_OPEN = re.compile(r'(?:extern "C(?:\+\+)?"|(?:inline )?namespace\b[\w\s:]*)\s*')
_NESTED = r"\((?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))*\)"
#: Words before a name that take arguments, as functions do.
_ATTRIBUTES = re.compile(rf"\b(?:__attribute__|__declspec|__asm__|alignas|noexcept)\s*{_NESTED}")
_TEMPLATE = re.compile(r"^\s*(?:template\s*<[^<>]*>\s*)+")
_OTHER = re.compile(r"\s*(?:using|static_assert|friend)\b|.*\boperator\b", re.DOTALL)
_TYPE = re.compile(r"\s*(?:(?:typedef|static|const|extern)\s+)*(?:struct|class|union|enum)\b")
_ENUM = re.compile(r"[^(]*\benum\b[^(]*")
_TAG = re.compile(r"\b(?:struct|class|union|enum)\s+(?:class\s+)?(\w+)")
_NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?=[;,=]|$)")
_POINTER = re.compile(r"\(\s*(?:\w+\s+)*\*\s*(\w+)\s*\)\s*\(")
_FUNCTION = re.compile(r"(\w+)\s*\(")
_ENUMERATOR = re.compile(r"\b[A-Za-z_]\w*")
#: Without one the others keep their values, and the type that they have together.
_NUMBERED = re.compile(r"\s*(\w+)\s*=\s*(?:0x[0-9a-fA-F]{1,7}|\d{1,9})\s*")


@dataclass(frozen=True)
class _Piece:
    """A line of the preprocessor, a brace that is open, or a declaration."""

    text: str
    is_declaration: bool = False

    @cached_property
    def names(self) -> frozenset[str]:
        """What is declared; empty: not known."""
        head, brace, rest = _plain(self.text).partition("{")
        if not self.is_declaration or _OTHER.match(head):
            return frozenset()
        body, _, tail = rest.rpartition("}")
        declarators = tail if brace else head
        is_typedef = head.lstrip().startswith("typedef")
        if is_typedef or (_TYPE.match(head) and "(" not in head):
            tags = {*_TAG.findall(head)} if brace or not is_typedef else set()
            enumerators = {*_ENUMERATOR.findall(body)} if "enum" in head else set()
            named = {*_NAME.findall(declarators), *_POINTER.findall(declarators)}
            return frozenset(tags | enumerators | named)
        function = _FUNCTION.search(head)
        return frozenset((function[1],) if function else _NAME.findall(head))

    @cached_property
    def words(self) -> frozenset[str]:
        """What the declaration asks for: its enumerators do not ask for themselves."""
        return frozenset(_WORD.findall(self.with_enumerators(lambda name: False)))

    def with_enumerators(self, is_needed: Callable[[str], bool]) -> str:
        """The text; of an enumeration only what is needed, and what counts on from there."""
        head, brace, rest = self.text.partition("{")
        body, end, tail = rest.rpartition("}")
        if not brace or not _ENUM.fullmatch(_plain(head)):
            return self.text
        values = [value for value in body.split(",") if value.strip()]
        counts_on = [not value.count("=") for value in values]
        stay = []
        for value, is_first in zip(values, [*counts_on[1:], False], strict=True):
            number = _NUMBERED.fullmatch(value)
            if number is None or is_first or is_needed(number[1]):
                stay.append(value)
        return f"{head}{{{','.join(stay)}{end}{tail}"


def needed_lines(
    lines: Iterable[str], is_asked: Callable[[str], bool], may_go: Callable[[str], bool]
) -> Iterator[str]:
    """The lines without declarations that nobody needs, in files of which some may go."""
    pieces = [*_in_files(_pieces(lines), may_go)]
    needed: set[str] = set()
    waiting = [piece for piece, _ in pieces]
    # What has to stay, as definitions of macros do, needs what it names.
    found = [
        piece for piece, has_to_stay in pieces if has_to_stay or any(map(is_asked, piece.names))
    ]
    stays: set[_Piece] = set()
    while found:
        stays.update(found)
        needed.update(*(piece.words for piece in found))
        waiting = [piece for piece in waiting if piece not in stays]
        found = [piece for piece in waiting if not needed.isdisjoint(piece.names)]
    for piece, _ in pieces:
        if piece in stays:
            yield piece.with_enumerators(lambda name: name in needed or is_asked(name))


def _in_files(
    pieces: Iterable[_Piece], may_go: Callable[[str], bool]
) -> Iterator[tuple[_Piece, bool]]:
    """Pieces, and whether they stay whatever is needed."""
    is_droppable = False
    for piece in pieces:
        if piece.text.startswith("# "):
            is_droppable = may_go(piece.text.split('"')[1])
        yield piece, not (is_droppable and piece.names)


def _pieces(lines: Iterable[str]) -> Iterator[_Piece]:
    """Split lines behind each declaration; a directive within one comes before it."""
    begun: list[str] = []
    braces = brackets = 0

    def whole(rest: str, is_declaration: bool = True) -> _Piece:
        text = "\n".join([*begun, rest])
        begun.clear()
        return _Piece(text, is_declaration)

    for line in lines:
        if line.startswith("#"):
            yield _Piece(line)
            continue
        start = 0
        for token in _TOKEN.finditer(line):
            at, end, found = start, token.end(), token[0]
            braces += (found == "{") - (found == "}")
            brackets += (found == "(") - (found == ")")
            before = " ".join([*begun, line[at : token.start()]]).strip()
            if (found == "{" and braces == 1 and _OPEN.fullmatch(before)) or braces < 0:
                braces = 0
                yield whole(line[at:end], is_declaration=False)
                start = end
            elif braces == brackets == 0 and (
                found == ";" or (found == "}" and not _is_type(before))
            ):
                yield whole(line[at:end])
                start = end
        if line[start:].strip():
            begun.append(line[start:])
    yield from [whole("")] if begun else []


def _plain(text: str) -> str:
    """The text without what any declaration may have."""
    return _TEMPLATE.sub("", _ATTRIBUTES.sub(" ", text).replace("__extension__", ""))


def _is_type(text: str) -> bool:
    """Does a declaration go on behind its braces?"""
    head = _plain(text.partition("{")[0])
    return head.lstrip().startswith("typedef") or ("(" not in head and bool(_TYPE.match(head)))
