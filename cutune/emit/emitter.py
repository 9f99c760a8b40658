"""Expressions, tables and the selection rule as C++. Takes nodes and rules, gives text.

Valid in C++11 and later; every name starts with `cutune_`; no allocation, no library. What the
operators are stands in `include/cutune_operators.h`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction

from cutune.device.thread_block import Block
from cutune.fit.rational.program import Constant, Expression, Lookup, Operation, Operator, Parameter
from cutune.models.constants import BOUND_BAND, LAUNCH_BOUND
from cutune.models.selection.choose import SelectionRule

INFIX = {
    Operator.ADD: "+",
    Operator.SUBTRACT: "-",
    Operator.MULTIPLY: "*",
    Operator.DIVIDE: "/",
}
CALLS = {
    Operator.MINIMUM: "cutune_minimum",
    Operator.MAXIMUM: "cutune_maximum",
    Operator.REMAINDER: "cutune_remainder",
    Operator.FLOOR: "cutune_floor",
    Operator.CEILING: "cutune_ceiling",
    Operator.LESS: "cutune_less",
    Operator.LESS_EQUAL: "cutune_less_equal",
    Operator.EQUAL: "cutune_equal",
    Operator.CHOICE: "cutune_choice",
    Operator.NORM_2: "cutune_norm_2",
    Operator.NORM_3: "cutune_norm_3",
    Operator.NORM_8: "cutune_norm_8",
}
#: Columns that a line of a constant array fills.
WIDTH = 100
#: Whole numbers below this are floats, each.
_WHOLE_FLOATS = 2**24


class Emitter:
    """Collects lines: call it with a line, indent with `with`, take the text with `str`."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def __call__(self, line: str = "") -> None:
        self._lines.append("    " * self._depth + line if line else "")

    def commented(self, line: str, comment: str) -> None:
        """A line and what it says: behind it where both are short, else above."""
        if not comment:
            self(line)
        elif 4 * self._depth + len(line) + len("  // ") + len(comment) <= WIDTH:
            self(f"{line}  // {comment}")
        else:
            self(f"// {comment}")
            self(line)

    @contextmanager
    def braces(self, head: str = "") -> Iterator[None]:
        """`head {` … `}` around what is emitted inside."""
        self(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        self("}")

    def table(self, name: str, c_type: str, entries: Iterable[str]) -> None:
        """A constant array."""
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


class Tables:
    """The constant arrays of a tuned program: of those that are equal only one is written."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, tuple[str, ...]], str] = {}

    def array(self, emit: Emitter, name: str, c_type: str, entries: Iterable[str]) -> str:
        """The name of the array with these entries, which is emitted unless it exists."""
        key = (c_type, tuple(entries))
        if key not in self._names:
            self._names[key] = name
            emit.table(name, *key)
        return self._names[key]


def emit_choice(rule: SelectionRule, name: str, tables: Tables) -> str:
    """C function `cutune_choose_NAME`: `selection.choose`, line for line.

    `cutune_valid[c]` says whether a candidate may be launched; `cutune_own` is the index of the
    program's own block, or -1. Returns the chosen index, or -1 where none is valid.
    """
    count = len(rule.blocks)
    emit = Emitter()
    blocks = block_array(emit, rule.blocks, name, tables)
    short = "unsigned short"
    bound = tables.array(emit, f"cutune_{name}_bound_ranks", short, map(str, rule.bound_ranks))
    ranks = tables.array(emit, f"cutune_{name}_ranks", short, map(str, rule.ranks))
    emit(f"static inline int cutune_choose_{name}(const double *cutune_time,")
    emit("    const double *cutune_time_with_floor, const unsigned char *cutune_valid,")
    emit("    int cutune_own)")
    with emit.braces():
        emit("double cutune_best = 1e300;")
        with emit.braces(f"for (int c = 0; c < {count}; ++c)"):
            emit("const double cutune_here = cutune_valid[c] ? cutune_time_with_floor[c] : 1e300;")
            emit("cutune_best = cutune_here < cutune_best ? cutune_here : cutune_best;")
        with emit.braces("if (cutune_own >= 0 && cutune_valid[cutune_own])"):
            _emit_own_band(rule, blocks, emit)
            emit("const double cutune_enough = cutune_best * cutune_own_band;")
            emit("if (cutune_time_with_floor[cutune_own] <= cutune_enough) return cutune_own;")
        emit(f"const bool cutune_bound = cutune_best < {bound_text(rule)};")
        bands = f"cutune_bound ? {double_text(BOUND_BAND)} : {double_text(rule.band)}"
        emit(f"const double cutune_limit = cutune_best * ({bands});")
        emit(f"const unsigned short *cutune_rank = cutune_bound ? {bound} : {ranks};")
        emit("int cutune_chosen = -1;")
        with emit.braces(f"for (int c = 0; c < {count}; ++c)"):
            emit("if (!cutune_valid[c] || !(cutune_time_with_floor[c] <= cutune_limit)) continue;")
            with emit.braces(
                "if (cutune_chosen < 0 || cutune_rank[c] < cutune_rank[cutune_chosen] ||"
                " (cutune_rank[c] == cutune_rank[cutune_chosen] &&"
                " cutune_time[c] < cutune_time[cutune_chosen]))"
            ):
                emit("cutune_chosen = c;")
        emit("return cutune_chosen;")
    return str(emit)


def block_array(emit: Emitter, blocks: Iterable[Block], name: str, tables: Tables) -> str:
    """The name of the array of candidates, three extents each."""
    extents = (str(extent) for block in blocks for extent in block)
    return tables.array(emit, f"cutune_{name}_blocks", "unsigned short", extents)


def _emit_own_band(rule: SelectionRule, blocks: str, emit: Emitter) -> None:
    smaller, larger = double_text(rule.own_band.smaller), double_text(rule.own_band.larger)
    if smaller == larger:
        emit(f"const double cutune_own_band = {smaller};")
        return
    emit("int cutune_first = cutune_own;")
    with emit.braces(f"for (int c = {len(rule.blocks)} - 1; c >= 0; --c)"):
        emit("if (cutune_valid[c] && cutune_time_with_floor[c] <= cutune_best) cutune_first = c;")
    for which in ("first", "own"):
        emit(f"const unsigned short *cutune_{which}_block = {blocks} + 3 * cutune_{which};")
    emit(f"const bool cutune_is_larger = {_threads_text('first')} > {_threads_text('own')};")
    emit(f"const double cutune_own_band = cutune_is_larger ? {larger} : {smaller};")


def _threads_text(which: str) -> str:
    block = f"cutune_{which}_block"
    return f"{block}[0] * {block}[1] * {block}[2]"


def bound_text(rule: SelectionRule) -> str:
    """Predicted times below this literal (microseconds) are dominated by the launch."""
    return double_text(Fraction(LAUNCH_BOUND * rule.floor_us))


def c_name(name: str) -> str:
    """What is named after a size, as part of a C name: `grid.nx` is none."""
    return name.replace(".", "__")


def c_text(node: Expression, array: Callable[[str], str]) -> str:
    """An expression as C, fully parenthesised: its tree can be read back from it.

    Args:
        array: the name in C of a table.
    """
    if isinstance(node, Constant):
        return double_text(node.value)
    if isinstance(node, Parameter):
        return f"cutune_{c_name(node.name)}"
    if isinstance(node, Lookup):
        return f"(double){array(node.table)}[(int){c_text(node.index, array)}]"
    assert isinstance(node, Operation)
    return operation_text(node.operator, [c_text(operand, array) for operand in node.operands])


def operation_text(operator: Operator, operands: list[str]) -> str:
    """An operator applied to the text of its operands."""
    if operator in INFIX:
        return f"({operands[0]} {INFIX[operator]} {operands[1]})"
    return f"{CALLS[operator]}({', '.join(operands)})"


def double_text(value: Fraction) -> str:
    """The nearest double as a literal."""
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text


def float_text(value: float) -> str:
    """A number that a float holds exactly, as a literal that a float or double becomes exactly."""
    if str(value) == "-0.0" or not value.is_integer():
        return f"{value:.9g}f" if value else "-0.0f"
    return f"{value:.0f}" if abs(value) < _WHOLE_FLOATS else f"{value:.0f}.0f"
