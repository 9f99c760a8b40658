"""Expressions, tables and the selection rule as C++. Takes nodes and rules, gives text.

Valid in C++11 and later; names start with `cutune_`, or end with `_`; no allocation, no library.
Operators without an infix are functions of `include/cutune_operators.h`: LESS is `cutune_less`.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from cutune.model.rational.program import (
    Constant,
    Expression,
    Lookup,
    Operation,
    Operator,
    Reference,
)
from cutune.source.rewrite.c_text import c_comment

#: The text and the precedence of each infix operator.
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
    """Of calls, names and numbers, which never need parentheses, the highest."""
    return INFIX.get(node.operator, ("", 3))[1] if isinstance(node, Operation) else 3


def double_text(value: Fraction) -> str:
    """The nearest double as a literal."""
    text = _SHORTER.sub(r"\1", repr(float(value)))
    return f"({text})" if text.startswith("-") else text
