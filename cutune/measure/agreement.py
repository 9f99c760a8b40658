"""Compares outputs of programs, and finds what varies from run to run. Takes texts, gives lines.

Texts are compared line by line: words must be equal, numbers agree within a tolerance. Integers and
hexadecimal words (checksums, addresses) have none by default.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

_NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]?\b(?:nan|inf(?:inity)?)\b"
_HEXADECIMAL = rb"\b0x[0-9a-f]+\b|\b(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{8,}\b"
NUMBER_TOKEN = re.compile(_HEXADECIMAL + b"|" + _NUMBER, re.IGNORECASE)
_HEXADECIMAL_WORD = re.compile(_HEXADECIMAL, re.IGNORECASE)
_INTEGER = re.compile(rb"[-+]?\d+")
_BLANKS = re.compile(rb"[ \t]+")
_UNIT = (
    rb"(?:(?:m|u|n|\xb5|\xc2\xb5)?s|(?:milli|micro|nano)?sec(?:ond)?s?|m[us]ecs?|usecs?|min(?:ute)?s?"
    rb"|[kmgt]?i?b(?:yte)?s?/s(?:ec)?|[kmgt]?flops?(?:/s)?|fps|[kmg]?hz|cycles?|x|times faster)"
)
_WORD = (
    rb"(?:time[sd]?|elapsed|duration|took|bandwidth|bw|throughput|speed-?up|performance|rate"
    rb"|milliseconds|seconds|[mun]s|[mu]?secs?|[kmgt]?flops?(?:/s)?|[kmgt]?i?b/s)"
)
#: Characters before a number that are looked at.
_CONTEXT = 64
#: What stands behind a time or a rate, and what stands before one.
_BEHIND = re.compile(rb"\s*[\[(]?" + _UNIT + rb"(?![\w])", re.IGNORECASE)
_BEFORE = re.compile(
    rb"(?<![a-z])" + _WORD + rb"\s*(?:[)\]]|\([^()]*\)|\[[^\[\]]*\])?\s*[:=]?\s*\Z", re.IGNORECASE
)


#: Characters of a line that messages show.
_LONGEST = 60


@dataclass(frozen=True)
class Varying:
    """The parts of a text that vary from run to run: per line `numbers`; None: the whole line."""

    numbers: Mapping[int, frozenset[int] | None] = field(default_factory=dict)

    def __or__(self, other: Varying) -> Varying:
        both = dict(self.numbers)
        for line, found in other.numbers.items():
            known = both.get(line, frozenset())
            both[line] = None if known is None or found is None else known | found
        return Varying(both)

    def described(self, name: str) -> str:
        """For instance `2 lines of standard output (3, 5), numbers in 1 line (7)`."""
        lines = [number for number, found in self.numbers.items() if found is None]
        partly = [number for number, found in self.numbers.items() if found is not None]
        parts = [f"{_counted(lines)} of {name} ({_listed(lines)})"] if lines else []
        if partly:
            whose = "" if lines else f" of {name}"
            parts.append(f"numbers in {_counted(partly)}{whose} ({_listed(partly)})")
        return ", ".join(parts)


NOTHING = Varying()


class OtherLength(Exception):
    """Two texts cannot be compared line by line: the number of lines of each."""


@dataclass(frozen=True)
class Agreement:
    """The rules by which two outputs agree.

    Attributes:
        identical: only the same bytes.
        relative, absolute: numbers a, b agree if |a - b| <= absolute + relative * max(|a|, |b|).
        ignored: lines of the output that match are left out, times for instance.
        exact_integers: two numbers that are both written as integers have no tolerance.
    """

    identical: bool = False
    relative: float = 1e-5
    absolute: float = 0.0
    ignored: str | None = None
    exact_integers: bool = True

    def difference(self, first: bytes, second: bytes, varying: Varying = NOTHING) -> str | None:
        if first == second:
            return None
        one, other = list(self.lines(first)), list(self.lines(second))
        for (number, a), (_, b) in zip(one, other, strict=False):
            if self._differ(a, b, varying.numbers.get(number, frozenset())):
                return f"line {number}: {_change(a, b)}"
        counts = len(one), len(other)
        return None if counts[0] == counts[1] else f"lines: {counts[0]} became {counts[1]}"

    def varying(self, first: bytes, second: bytes) -> Varying:
        """The parts that differ in two outputs of one program. Raises OtherLength."""
        one, other = list(self.lines(first)), list(self.lines(second))
        if len(one) != len(other):
            raise OtherLength(len(one), len(other))
        varying: dict[int, frozenset[int] | None] = {}
        for (number, a), (_, b) in zip(one, other, strict=True):
            if self._differ(a, b, frozenset()):
                found = _numbers_without_agreement(self, a, b)
                # Times beside numbers that vary may be equal by rounding. If no number varies,
                # only blanks do: then the line is left out.
                varying[number] = found | frozenset(times(a)) if found else None
        return Varying(varying)

    def compared_lines(self, text: bytes, varying: Varying) -> int:
        """The number of lines with a part that does not vary."""
        numbers = varying.numbers
        return sum(_has_constant(line, numbers.get(n, frozenset())) for n, line in self.lines(text))

    def lines(self, text: bytes) -> Iterator[tuple[int, bytes]]:
        pattern = re.compile(self.ignored.encode()) if self.ignored is not None else None
        for number, line in enumerate(re.findall(rb"[^\n]*\n|[^\n]+", text), 1):
            if pattern is None or not pattern.search(line):
                yield number, line

    def _differ(self, a: bytes, b: bytes, left_out: frozenset[int] | None) -> bool:
        if a == b or left_out is None:
            return False
        # A number that varies may change its width, and with it the blanks before the next column.
        words = _words if not left_out else _spaced_words
        if (self.identical and not left_out) or words(a) != words(b):
            return True
        found = _numbers_without_agreement(self, a, b)
        return found is None or bool(found - left_out)

    def agree(self, a: bytes, b: bytes) -> bool:
        if a == b:
            return True
        if self.identical or _HEXADECIMAL_WORD.fullmatch(a) or _HEXADECIMAL_WORD.fullmatch(b):
            return False
        if self.exact_integers and _INTEGER.fullmatch(a) and _INTEGER.fullmatch(b):
            return int(a) == int(b)
        one, other = float(a), float(b)
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        if math.isinf(one) or math.isinf(other):
            # Numbers too large for a double are all infinite: they cannot be compared.
            return one == other and a[-1:].isalpha() and b[-1:].isalpha()
        return abs(one - other) <= self.absolute + self.relative * max(abs(one), abs(other))


def _numbers_without_agreement(agreement: Agreement, a: bytes, b: bytes) -> frozenset[int] | None:
    """The positions of numbers that disagree; None if words differ."""
    if _spaced_words(a) != _spaced_words(b):
        return None
    pairs = enumerate(zip(NUMBER_TOKEN.findall(a), NUMBER_TOKEN.findall(b), strict=True))
    return frozenset(index for index, (x, y) in pairs if not agreement.agree(x, y))


def _has_constant(line: bytes, left_out: frozenset[int] | None) -> bool:
    """Is there a result in a line that does not vary? If all its numbers vary, there is none."""
    if not left_out:
        return left_out is not None
    return len(left_out) < len(NUMBER_TOKEN.findall(line))


def _words(line: bytes) -> bytes:
    return NUMBER_TOKEN.sub(b"0", line)


def _spaced_words(line: bytes) -> bytes:
    return _BLANKS.sub(b" ", _words(line))


def _change(a: bytes, b: bytes) -> str:
    """Two lines, cut around the first place at which they differ."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    start = max(0, same - _LONGEST // 2) if max(len(a), len(b)) > _LONGEST else 0
    return f"'{_shown(a, start)}' became '{_shown(b, start)}'"


def _shown(line: bytes, start: int) -> str:
    text = line.decode("latin-1").rstrip("\n")
    cut = text[start : start + _LONGEST]
    return f"{'...' if start else ''}{cut}{'...' if start + _LONGEST < len(text) else ''}"


def _counted(lines: list[int]) -> str:
    return f"{len(lines)} line" if len(lines) == 1 else f"{len(lines)} lines"


def _listed(lines: list[int]) -> str:
    """Line numbers, neighbours joined: `1-3, 7`."""
    parts: list[list[int]] = []
    for line in sorted(lines):
        if parts and line == parts[-1][-1] + 1:
            parts[-1][1:] = [line]
        else:
            parts.append([line])
    return ", ".join("-".join(map(str, part)) for part in parts)


def times(line: bytes) -> Iterator[int]:
    """The positions of those of its numbers that are times or rates."""
    for index, match in enumerate(NUMBER_TOKEN.finditer(line)):
        before = line[max(0, match.start() - _CONTEXT) : match.start()]
        if _BEHIND.match(line, match.end()) or _BEFORE.search(before):
            yield index
