"""Rational programs as C. Takes a program and a selection rule, gives self-contained C text.

Valid in C++11 and later and, apart from `inline`, in C99; every name starts with `cutune_`; no
allocation, no library. The operations stand in the same order as in `evaluate`, so that both
compute the same doubles.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from cutune.models.mechanistic import TIME, TIME_WITH_FLOOR
from cutune.rational_program import (
    CANDIDATE,
    Constant,
    Expression,
    Lookup,
    Operation,
    Operator,
    Parameter,
    RationalProgram,
    parameters,
    tables_of,
)
from cutune.selection import BOUND_BAND, LAUNCH_BOUND, SelectionRule

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

#: What the operators of the language are in C. Conversions replace libm's floor: two instructions.
_OPERATORS = """\
static inline double cutune_minimum(double a, double b) { return a < b ? a : b; }
static inline double cutune_maximum(double a, double b) { return a > b ? a : b; }
static inline double cutune_less(double a, double b) { return a < b ? 1.0 : 0.0; }
static inline double cutune_less_equal(double a, double b) { return a <= b ? 1.0 : 0.0; }
static inline double cutune_equal(double a, double b) { return a == b ? 1.0 : 0.0; }
static inline double cutune_choice(double c, double a, double b) { return c != 0.0 ? a : b; }
static inline double cutune_floor(double a)
{
    if (!(a > -9e15 && a < 9e15)) return a; // whole already, or not a number
    const double whole = (double)(long long)a;
    return whole > a ? whole - 1.0 : whole;
}
static inline double cutune_ceiling(double a)
{
    if (!(a > -9e15 && a < 9e15)) return a;
    const double whole = (double)(long long)a;
    return whole < a ? whole + 1.0 : whole;
}
static inline double cutune_remainder(double a, double b) { return a - b * cutune_floor(a / b); }
"""


def emit_operators(text: str) -> str:
    """Definitions of the operators that `text` uses: a compiler warns of others."""
    definitions = re.split(r"(?m)^(?=static inline)", _OPERATORS)[1:]
    chosen: list[str] = []
    for definition in reversed(definitions):
        name = re.findall(r"\bcutune_\w+", definition)[0]
        if re.search(rf"\b{name}\b", "".join([text, *chosen])):
            chosen.insert(0, definition)
    return "".join(chosen)


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

    def __str__(self) -> str:
        return "\n".join([*self._lines, ""])


def emit_model(program: RationalProgram, name: str) -> str:
    """C function `cutune_model_NAME(sizes…, time, time_with_floor)` and its static tables.

    It fills two arrays of one double per candidate. Definitions that no output needs are left out.
    """
    emit = Emitter()
    varying = program.per_candidate()
    needed = _needed(program, (TIME, TIME_WITH_FLOOR))
    used_properties = [p for p in program.properties if p in needed]
    used_tables = {
        table
        for definition in program.definitions
        if definition.name in needed
        for table in tables_of(definition.value)
    }
    for table, entries in program.tables.items():
        if table not in used_tables:
            continue
        _emit_table(emit, f"cutune_{name}_{table}", "float", [_float(v) for v in entries])
    for column in used_properties:
        values = [str(v) for v in program.properties[column]]
        _emit_table(emit, f"cutune_{name}_{column}", "unsigned short", values)
    sizes = [f"long long cutune_size_{size}" for size in program.sizes]
    head = f"static inline void cutune_model_{name}"
    outputs = "double *cutune_time, double *cutune_time_with_floor"
    emit(f"{head}({', '.join([*sizes, outputs])})")
    with emit.braces():
        for size in program.sizes:
            if size in needed:
                emit(f"const double cutune_{size} = (double)cutune_size_{size};")
            else:
                emit(f"(void)cutune_size_{size};")
        for definition in program.definitions:
            if definition.name in needed and definition.name not in varying:
                emit(f"const double cutune_{definition.name} = {c_text(definition.value, name)};")
        count = program.candidate_count
        index = "cutune_index"
        with emit.braces(f"for (int {index} = 0; {index} < {count}; ++{index})"):
            emit(f"const double cutune_{CANDIDATE} = (double){index};")
            for column in used_properties:
                emit(f"const double cutune_{column} = (double)cutune_{name}_{column}[{index}];")
            for definition in program.definitions:
                if definition.name in needed and definition.name in varying:
                    value = c_text(definition.value, name)
                    emit(f"const double cutune_{definition.name} = {value};")
            emit(f"cutune_time[{index}] = cutune_{TIME};")
            emit(f"cutune_time_with_floor[{index}] = cutune_{TIME_WITH_FLOOR};")
            if CANDIDATE not in needed:
                emit(f"(void)cutune_{CANDIDATE};")
    return str(emit)


def emit_choice(rule: SelectionRule, name: str) -> str:
    """C function `cutune_choose_NAME`: `selection.choose`, line for line.

    `cutune_valid[c]` says whether a candidate may be launched; `cutune_own` is the index of the
    program's own block, or -1. Returns the chosen index, or -1 where none is valid.
    """
    count = len(rule.blocks)
    emit = Emitter()
    blocks = [str(size) for block in rule.blocks for size in block]
    _emit_table(emit, f"cutune_{name}_blocks", "unsigned short", blocks)
    _emit_table(emit, f"cutune_{name}_bound_ranks", "unsigned short", map(str, rule.bound_ranks))
    _emit_table(emit, f"cutune_{name}_ranks", "unsigned short", map(str, rule.ranks))
    bound_below = _double(Fraction(LAUNCH_BOUND * rule.floor_us))
    emit(f"static inline int cutune_choose_{name}(const double *cutune_time,")
    emit("    const double *cutune_time_with_floor, const unsigned char *cutune_valid,")
    emit("    int cutune_own)")
    with emit.braces():
        emit("double cutune_best = 1e300;")
        with emit.braces(f"for (int c = 0; c < {count}; ++c)"):
            emit("if (cutune_valid[c] && cutune_time_with_floor[c] < cutune_best)")
            emit("    cutune_best = cutune_time_with_floor[c];")
        emit(f"const bool cutune_bound = cutune_best < {bound_below};")
        bands = f"cutune_bound ? {_double(BOUND_BAND)} : {_double(rule.band)}"
        emit(f"const double cutune_limit = cutune_best * ({bands});")
        own_in_band = "cutune_valid[cutune_own] && cutune_time_with_floor[cutune_own] <="
        with emit.braces(f"if (cutune_bound && cutune_own >= 0 && {own_in_band} cutune_limit)"):
            emit("return cutune_own;")
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


def c_text(node: Expression, name: str) -> str:
    """An expression as C, fully parenthesised: its tree can be read back from it."""
    if isinstance(node, Constant):
        return _double(node.value)
    if isinstance(node, Parameter):
        return f"cutune_{node.name}"
    if isinstance(node, Lookup):
        return f"(double)cutune_{name}_{node.table}[(int){c_text(node.index, name)}]"
    assert isinstance(node, Operation)
    operands = [c_text(operand, name) for operand in node.operands]
    if node.operator in INFIX:
        return f"({operands[0]} {INFIX[node.operator]} {operands[1]})"
    return f"{CALLS[node.operator]}({', '.join(operands)})"


def _needed(program: RationalProgram, outputs: Sequence[str]) -> frozenset[str]:
    needed = set(outputs)
    for definition in reversed(program.definitions):
        if definition.name in needed:
            needed.update(parameters(definition.value))
    return frozenset(needed)


def _emit_table(emit: Emitter, name: str, c_type: str, entries: Iterable[str]) -> None:
    entries = list(entries)
    emit(f"static const {c_type} {name}[{len(entries)}] = {{")
    for start in range(0, len(entries), ENTRIES_PER_LINE):
        emit("    " + ", ".join(entries[start : start + ENTRIES_PER_LINE]) + ",")
    emit("};")


def _double(value: Fraction) -> str:
    text = repr(float(value))
    return f"({text})" if text.startswith("-") else text


def _float(value: Fraction) -> str:
    return f"{float(value):.9g}f" if value.denominator != 1 else f"{value.numerator}.0f"
