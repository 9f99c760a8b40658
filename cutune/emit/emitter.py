"""Expressions, tables and the selection rule as C++. Takes nodes and rules, gives text.

Valid in C++11 and later; every name starts with `cutune_`; no allocation, no library. What the
operators are stands in `include/cutune_operators.h`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction

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
}
ENTRIES_PER_LINE = 12


class Emitter:
    """Collects lines: call it with a line, indent with `with`, take the text with `str`."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def __call__(self, line: str = "") -> None:
        self._lines.append("    " * self._depth + line if line else "")

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
        self(f"static const {c_type} {name}[{len(entries)}] = {{")
        for start in range(0, len(entries), ENTRIES_PER_LINE):
            self("    " + ", ".join(entries[start : start + ENTRIES_PER_LINE]) + ",")
        self("};")

    def __str__(self) -> str:
        return "\n".join([*self._lines, ""])


def emit_choice(rule: SelectionRule, name: str) -> str:
    """C function `cutune_choose_NAME`: `selection.choose`, line for line.

    `cutune_valid[c]` says whether a candidate may be launched; `cutune_own` is the index of the
    program's own block, or -1. Returns the chosen index, or -1 where none is valid.
    """
    count = len(rule.blocks)
    emit = Emitter()
    blocks = [str(size) for block in rule.blocks for size in block]
    emit.table(f"cutune_{name}_blocks", "unsigned short", blocks)
    emit.table(f"cutune_{name}_bound_ranks", "unsigned short", map(str, rule.bound_ranks))
    emit.table(f"cutune_{name}_ranks", "unsigned short", map(str, rule.ranks))
    emit(f"static inline int cutune_choose_{name}(const double *cutune_time,")
    emit("    const double *cutune_time_with_floor, const unsigned char *cutune_valid,")
    emit("    int cutune_own)")
    with emit.braces():
        emit("double cutune_best = 1e300;")
        with emit.braces(f"for (int c = 0; c < {count}; ++c)"):
            emit("const double cutune_here = cutune_valid[c] ? cutune_time_with_floor[c] : 1e300;")
            emit("cutune_best = cutune_here < cutune_best ? cutune_here : cutune_best;")
        with emit.braces("if (cutune_own >= 0 && cutune_valid[cutune_own])"):
            _emit_own_band(rule, name, emit)
            emit("const double cutune_enough = cutune_best * cutune_own_band;")
            emit("if (cutune_time_with_floor[cutune_own] <= cutune_enough) return cutune_own;")
        emit(f"const bool cutune_bound = cutune_best < {bound_text(rule)};")
        bands = f"cutune_bound ? {double_text(BOUND_BAND)} : {double_text(rule.band)}"
        emit(f"const double cutune_limit = cutune_best * ({bands});")
        emit("const unsigned short *cutune_rank =")
        emit(f"    cutune_bound ? cutune_{name}_bound_ranks : cutune_{name}_ranks;")
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


def _emit_own_band(rule: SelectionRule, name: str, emit: Emitter) -> None:
    smaller, larger = double_text(rule.own_band.smaller), double_text(rule.own_band.larger)
    if smaller == larger:
        emit(f"const double cutune_own_band = {smaller};")
        return
    emit("int cutune_first = cutune_own;")
    with emit.braces(f"for (int c = {len(rule.blocks)} - 1; c >= 0; --c)"):
        emit("if (cutune_valid[c] && cutune_time_with_floor[c] <= cutune_best) cutune_first = c;")
    for which in ("first", "own"):
        emit(f"const unsigned short *cutune_{which}_block =")
        emit(f"    cutune_{name}_blocks + 3 * cutune_{which};")
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


def c_text(node: Expression, name: str) -> str:
    """An expression as C, fully parenthesised: its tree can be read back from it."""
    if isinstance(node, Constant):
        return double_text(node.value)
    if isinstance(node, Parameter):
        return f"cutune_{c_name(node.name)}"
    if isinstance(node, Lookup):
        return f"(double)cutune_{name}_{c_name(node.table)}[(int){c_text(node.index, name)}]"
    assert isinstance(node, Operation)
    return operation_text(node.operator, [c_text(operand, name) for operand in node.operands])


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
    """A number that a float holds exactly, as a literal."""
    return f"{value:.0f}.0f" if value.is_integer() else f"{value:.9g}f"
