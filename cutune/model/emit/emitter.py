"""Expressions, tables and the selection rule as C++. Takes nodes and rules, gives text.

Valid in C++11 and later; names start with `cutune_`, or end with `_`; no allocation, no library.
Operators without an infix are functions of `include/cutune_operators.h`: LESS is `cutune_less`.

All models of a tuned program share one set of tables. Small numbers are characters of a string. All
other values stand once in one list; in the rows of a table a character or two say where, the
shorter the more often a value occurs. Tables that are equal are written once.
`include/cutune_tables.h` reads them back.
"""

from __future__ import annotations

import math
import re
import struct
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

from cutune.model.rational.program import (
    Constant,
    Expression,
    Lookup,
    Operation,
    Operator,
    Reference,
)
from cutune.source.rewrite.c_text import c_comment

INFIX = {
    Operator.ADD: ("+", 1),
    Operator.SUBTRACT: ("-", 1),
    Operator.MULTIPLY: ("*", 2),
    Operator.DIVIDE: ("/", 2),
}
#: Parts of names that are no letters.
_AS_WORDS = {".": "__", ":": "_"}
#: Zeros of a literal that it is the same without: 0.5, 132.0, 1e+12.
_SHORTER = re.compile(r"^(-?)0(?=\.\d*[1-9])|(?<=\.)0$|(?<=e)[+]0*|(?<=e-)0+")
#: Columns that a line of a constant array fills.
WIDTH = 100


class Emitter:
    """Collects lines: call it with one or more, indent with `with`, take the text with `str`."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def __call__(self, lines: str = "") -> None:
        self._lines += ["    " * self._depth + line if line else "" for line in lines.split("\n")]

    def commented(self, line: str, comment: str) -> None:
        """A line and what it says: behind it where both are short, else above."""
        if not comment:
            self(line)
        elif 4 * self._depth + len(line) + len("  // ") + len(comment) <= WIDTH:
            self(f"{line}  // {c_comment(comment)}")
        else:
            self(f"// {c_comment(comment)}")
            self(line)

    @contextmanager
    def braces(self, head: str = "", end: str = "") -> Iterator[None]:
        """`head {` … `}` around what is emitted inside, and what stands behind that."""
        self(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        self(f"}}{end}")

    def table(self, name: str, c_type: str, entries: Iterable[str]) -> None:
        entries = list(entries)
        head = f"static const {c_type} {name}[{len(entries)}] = {{"
        text = ", ".join(entries)
        if len(head) + len(text) + len("};") <= WIDTH:
            self(f"{head}{text}}};")
            return
        self(head)
        for line in textwrap.wrap(text, WIDTH - 4, break_on_hyphens=False):
            self(f"    {line}")
        self("};")

    def __str__(self) -> str:
        return "\n".join([*self._lines, ""])


def c_name(name: str) -> str:
    """A name as part of a C name: `grid.nx` is none."""
    return re.sub(r"[^A-Za-z0-9_]", lambda c: _AS_WORDS.get(c[0], f"_{ord(c[0]):x}_"), name)


def c_integer(value: int) -> str:
    """An integer as a literal, in parentheses where it is negative."""
    text = str(value) if abs(value) < 1 << 31 else f"{value}ll"
    return f"({text})" if value < 0 else text


def c_variable(name: str) -> str:
    """A local variable of emitted C++: no macro is called like this."""
    return f"{c_name(name)}_"


def c_text(node: Expression, array: Callable[[str], str]) -> str:
    """An expression as C, from which its tree can be read. `array`: the name in C of a table."""
    if isinstance(node, Constant):
        return double_text(node.value)
    if isinstance(node, Reference):
        return c_variable(node.name)
    if isinstance(node, Lookup):
        return f"cutune_at({array(node.table)}, {c_text(node.place, array)})"
    assert isinstance(node, Operation)
    return operation_text(node, [c_text(operand, array) for operand in node.operands])


def operation_text(node: Operation, operands: Sequence[str]) -> str:
    """An operator applied to the texts of its operands."""
    if node.operator not in INFIX:
        return f"cutune_{node.operator.name.lower()}({', '.join(operands)})"
    infix, precedence = INFIX[node.operator]
    left, right = (
        f"({text})" if _precedence(operand) < precedence + place else text
        for place, (operand, text) in enumerate(zip(node.operands, operands, strict=True))
    )
    return f"{left} {infix} {right}"


def _precedence(node: Expression) -> int:
    """The precedence of an operator; calls, names and numbers never need parentheses."""
    return INFIX.get(node.operator, ("", 3))[1] if isinstance(node, Operation) else 3


def double_text(value: Fraction) -> str:
    """The nearest double as a literal."""
    text = _SHORTER.sub(r"\1", repr(float(value)))
    return f"({text})" if text.startswith("-") else text


# ---- tables

#: The number that each character from this one on stands for is its distance.
_ZERO = ord("#")
#: How many numbers are characters.
SMALL = ord("~") + 1 - _ZERO
#: Of these, how many end a longer number.
_DIGITS = 72
_NONE = "nullptr"
#: The one object that holds all rows.
ROWS = "tables_"
#: Its member that leads to the values of all of them.
_VALUES = "all_"


@dataclass(frozen=True)
class _Rows:
    """The literals of all rows of a table, and how it is read; `row_of` and `shape` as C text."""

    entries: tuple[str, ...]
    count: int
    width: int
    row_of: str
    shape: str


class Tables:
    """The tables of a tuned program: of those that are equal only one is written."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[str, tuple[str, ...]], str] = {}
        self._rows: dict[_Rows, str] = {}
        #: Names of arrays, and of members of the object that holds all rows.
        self._taken = {_VALUES}

    def array(self, name: str, c_type: str, entries: Iterable[str]) -> str:
        """The name of a constant array with these entries."""
        key = (c_type, tuple(entries))
        if key not in self._arrays:
            self._arrays[key] = self._unique(name)
        return self._arrays[key]

    def numbers(self, name: str, entries: Sequence[int], c_type: str = "char") -> str:
        """The name of an array of numbers that are not negative, small ones as characters."""
        if c_type == "char":
            return self.array(name, "char", [_characters(entries)])
        return self.array(name, c_type, map(str, entries))

    def floats(self, name: str, entries: Sequence[float]) -> str:
        """The name of an array of numbers that floats hold exactly."""
        if all(0 <= entry < SMALL and _is_whole(entry) for entry in entries):
            return self.numbers(name, [int(entry) for entry in entries])
        return self.array(name, "float", map(literal, entries))

    def rows(
        self,
        name: str,
        rows: Sequence[Sequence[float]],
        width: int,
        row_of: Sequence[int] | None = None,
        shape: Sequence[int] | None = None,
    ) -> str:
        """A table in C++: `[n]` gives the row of class n, with `width` entries.

        `row_of`: which of the rows each class has. `shape`: which entry of a row, of which there
        are then fewer, stands at each place.
        """
        entries = tuple(literal(entry) for row in rows for entry in row)
        places = [_NONE if p is None else _characters(p) for p in (row_of, shape)]
        table = _Rows(entries, len(rows), width, *places)
        if table not in self._rows:
            self._rows[table] = self._unique(name, "_")
        return f"{ROWS}.{self._rows[table]}"

    def _unique(self, name: str, end: str = "") -> str:
        numbered = (f"{name}{'' if n == 1 else f'_{n}'}{end}" for n in count(1))
        unique = next(each for each in numbered if each not in self._taken)
        self._taken.add(unique)
        return unique

    # ---- C++

    def __str__(self) -> str:
        emit = Emitter()
        for (c_type, entries), name in self._arrays.items():
            if c_type == "char":
                emit(f"static const char {name}[] = {entries[0]};")
            else:
                emit.table(name, c_type, entries)
        if self._rows:
            self._emit_rows(emit)
        return str(emit)

    def _emit_rows(self, emit: Emitter) -> None:
        often = Counter(entry for table in self._rows for entry in table.entries)
        values = sorted(often, key=lambda entry: (-often[entry], float(entry.rstrip("f")), entry))
        places = {value: _number(place) for place, value in enumerate(values)}
        emit.table("cutune_values", "double", values)
        strings = Counter(text for table in self._rows for text in (table.row_of, table.shape))
        texts = (text for text, times in strings.items() if times > 1 and text != _NONE)
        shared = {text: f"cutune_row{number}" for number, text in enumerate(texts)}
        for text, name in shared.items():
            emit(f"static const char {name}[] = {text};")
        # Each source has tables of its own.
        with emit.braces("namespace"), emit.braces("struct cutune_all_tables", ";"):
            emit(f"const double *{_VALUES} = cutune_values;")
            for table, name in self._rows.items():
                text = _string("".join(places[entry] for entry in table.entries))
                others = [shared.get(one, one) for one in (table.row_of, table.shape)]
                while others and others[-1] == _NONE:
                    others.pop()
                emit(f"cutune_table<{table.count}, {table.width}> {name}{{{_VALUES},")
                emit(f"    {', '.join([text, *others])}}};")
        with emit.braces("static inline const cutune_all_tables &cutune_read_tables()"):
            emit("static const cutune_all_tables tables{};")
            emit("return tables;")


def literal(value: float) -> str:
    """The shortest literal that a double becomes exactly: of a float, or of a double."""
    if _is_whole(value) and abs(value) < 2**31:
        return f"{value:.0f}"
    texts = [_without_zero(repr(value))]
    # At most nine digits tell a float from the others.
    for digits in range(1, 10):
        text = f"{value:.{digits}g}"
        if _is_read_as(text, value):
            texts.append(f"{_without_zero(text if re.search('[.e]', text) else text + '.')}f")
            break
    return min(texts, key=len)


def _is_read_as(text: str, value: float) -> bool:
    """Is the float nearest to a text this one? Well away from where two are equally near."""
    near = float(text)
    if abs(near) >= 2.0**127:
        return False
    doubles = (near, math.nextafter(near, -math.inf), math.nextafter(near, math.inf))
    return all(struct.unpack("f", struct.pack("f", double))[0] == value for double in doubles)


def _is_whole(value: float) -> bool:
    return value.is_integer() and str(value) != "-0.0"


def _without_zero(text: str) -> str:
    return re.sub(r"^(-?)0\.(?=\d)", r"\1.", re.sub(r"e([+-])0+", r"e\1", text))


def _number(number: int) -> str:
    leading, digit = divmod(number, _DIGITS)
    text = chr(_ZERO + digit)
    while leading:
        leading, digit = divmod(leading - 1, SMALL - _DIGITS)
        text = chr(_ZERO + _DIGITS + digit) + text
    return text


def _characters(entries: Iterable[int]) -> str:
    return _string("".join(chr(_ZERO + entry) for entry in entries))


def _string(text: str) -> str:
    """A C string; `??=` would be another character."""
    return '"' + re.sub(r"(?<=\?)\?", r"\\?", text.replace("\\", "\\\\")) + '"'
