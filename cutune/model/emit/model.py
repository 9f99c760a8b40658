"""A rational program as a C++ function over all candidates. Takes a program, gives text.

The operations are those of `evaluate`, in the same order, so that both compute the same doubles.
What is not done once per candidate: values of the launch stand before the loop; an expensive
expression of one property (`ceil(extent_x / block_x)`) is evaluated once per value that this
property has among the candidates. Loops take as many candidates at once as a register has lanes;
the definitions are cut into those that cost least.

Before, operations that change nothing are left out, so that results are equal to the last bit:
constants are folded as `evaluate` computes them, a definition that is a constant is put where it is
used, and factors of 1 go. Zeros that are added go where the other operand is not -0.

Of a table with a row per alignment class, rows that are equal are written once, and so are columns
of candidates whose shapes make no difference. The rows that are read stand there as a whole.
"""

from __future__ import annotations

import math
import operator
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate
from typing import TypeVar

from cutune.model.emit.emitter import (
    INFIX,
    ROWS,
    SMALL,
    Emitter,
    Tables,
    c_name,
    c_text,
    c_variable,
    operation_text,
)
from cutune.model.performance.definitions import TIME, TIME_WITH_FLOOR
from cutune.model.rational.program import (
    CANDIDATE,
    NORMS,
    Cell,
    Constant,
    Definition,
    Expression,
    Lookup,
    Operation,
    Operator,
    RationalProgram,
    Reference,
    TableEntry,
    parameters,
    parts,
)

_ONE = Constant(Fraction(1))
_ZERO = Constant(Fraction(0))
_ARITHMETIC = (Operator.ADD, Operator.MULTIPLY, Operator.DIVIDE)
_COMPARISONS = (Operator.MIN, Operator.MAX, Operator.LESS, Operator.LESS_EQUAL, Operator.EQUAL)
#: Of operands that are neither below zero nor -0 these give no other either.
_KEEPS_SIGN = {*_ARITHMETIC, *_COMPARISONS, Operator.CHOICE}


def simplify(program: RationalProgram, kept: tuple[str, ...]) -> RationalProgram:
    """The program without operations that change nothing. `kept`: names that stay defined."""
    constants: dict[str, Constant] = {}
    positive = {*program.sizes, *(n for n, its in program.properties.items() if min(its) >= 0)}
    tables = program.tables.items()
    positive |= {name for name, its in tables if all(n > 0 or str(n) == "0.0" for n in its)}
    definitions: list[Definition] = []
    for definition in program.definitions:
        value = _simplified(definition.value, constants, positive)
        if isinstance(value, Constant) and definition.name not in kept:
            constants[definition.name] = value
            continue
        if _is_positive(value, positive):
            positive.add(definition.name)
        definitions.append(replace(definition, value=value))
    return replace(program, definitions=tuple(definitions))


def _simplified(node: Expression, known: Mapping[str, Constant], positive: set[str]) -> Expression:
    if isinstance(node, Reference):
        return known.get(node.name, node)
    if isinstance(node, TableEntry):
        return replace(node, place=_simplified(node.place, known, positive))
    if not isinstance(node, Operation):
        return node
    operands = tuple(_simplified(operand, known, positive) for operand in node.operands)
    node = replace(node, operands=operands)
    first, second = node.operands[0], node.operands[-1]
    if isinstance(first, Constant) and isinstance(second, Constant):
        return _folded(node.operator, first, second) or node
    if node.operator is Operator.MULTIPLY and _ONE in (first, second):
        return second if first == _ONE else first
    if node.operator is Operator.ADD and first == _ZERO and _is_positive(second, positive):
        return second
    if node.operator is Operator.ADD and second == _ZERO and _is_positive(first, positive):
        return first
    return node


def _folded(operator: Operator, first: Constant, second: Constant) -> Constant | None:
    """The constant that the machine computes; None where it is left to the machine."""
    one, other = float(first.value), float(second.value)
    if operator is Operator.ADD:
        result = one + other
    elif operator is Operator.MULTIPLY:
        result = one * other
    elif operator is Operator.DIVIDE and other > 0:
        result = one / other
    else:
        return None
    is_plain = result > 0 or (result == 0 and one >= 0 and other >= 0)
    return Constant(Fraction(result)) if is_plain and result < float("inf") else None


def _is_positive(node: Expression, positive: set[str]) -> bool:
    """Is it certainly neither below zero nor -0?"""
    if isinstance(node, Constant):
        return node.value >= 0
    if isinstance(node, Reference):
        return node.name in positive
    if isinstance(node, TableEntry):
        return node.table in positive
    if not isinstance(node, Operation) or node.operator not in _KEEPS_SIGN:
        return False
    return all(_is_positive(operand, positive) for operand in node.operands)


#: Instructions that a processor has in flight (AMD Zen 4: 320). With 224, as of Intel's Skylake,
#: loops are more and no faster where that was tried; with 448 decisions take a fifth longer.
_IN_FLIGHT = 320
#: Instructions that begin in a cycle, as this code is seen to reach.
_PER_CYCLE = 3
#: Cycles of a loop that ends: its last branch is not predicted.
_EXIT_CYCLES = 20
#: Instructions of an operator on a register of doubles, and cycles until its result is there, as
#: compiled from `include/cutune_operators.h`; `_PLAIN`: of additions and multiplications.
_PLAIN = (1, 4)
_COSTS: Mapping[Operator, tuple[int, int]] = {
    Operator.DIVIDE: (1, 13),
    **dict.fromkeys(_COMPARISONS, (2, 5)),
    Operator.CHOICE: (5, 6),
    **dict.fromkeys((Operator.FLOOR, Operator.CEILING), (16, 25)),
    Operator.REMAINDER: (19, 46),
    **dict.fromkeys(NORMS, (17, 42)),
}
#: Cycles until a value is there that is read from an array.
_LOADED = 5


def cut_into_loops(definitions: Sequence[Definition], rounds: int) -> list[list[Definition]]:
    """The definitions in the runs that cost least, in their order. `rounds`: of each loop."""
    reads = [frozenset(parameters(one.value)) for one in definitions]
    instructions = [sum(_cost(part)[0] for part in parts(one.value)) for one in definitions]
    # Per number of definitions, what is read behind them.
    later = [*accumulate(reversed(reads), operator.or_, initial=frozenset[str]())][::-1]
    # The same: the least cycles that they take, and where their last run begins.
    best = [(0.0, 0), *[(math.inf, 0)] * len(definitions)]
    for begin in range(len(definitions)):
        ready: dict[str, int] = {}
        read: set[str] = set()
        for end, definition in enumerate(definitions[begin:], begin + 1):
            ready[definition.name] = _ready(definition.value, ready)
            read |= reads[end - 1]
            moved = len(read - ready.keys()) + len(later[end] & ready.keys())
            cycles = _cycles(sum(instructions[begin:end]) + moved, max(ready.values()), rounds)
            best[end] = min(best[end], (best[begin][0] + cycles, begin))
    runs, end = [], len(definitions)
    while end > 0:
        begin = best[end][1]
        runs.append(list(definitions[begin:end]))
        end = begin
    return runs[::-1]


def _cycles(instructions: int, latency: int, rounds: int) -> float:
    waiting = latency * min(1.0, instructions / _IN_FLIGHT)
    between = max(waiting, instructions / _PER_CYCLE)
    return (rounds - 1) * between + latency + _EXIT_CYCLES


def _ready(value: Expression, known: Mapping[str, int]) -> int:
    """Cycles from the begin of a round until a value is there."""
    if not isinstance(value, Operation):
        return max((known.get(name, _LOADED) for name in parameters(value)), default=0)
    return _cost(value)[1] + max(_ready(operand, known) for operand in value.operands)


def _cost(value: Expression) -> tuple[int, int]:
    """Instructions and latency of an operator alone; of a name or a number none."""
    return _COSTS.get(value.operator, _PLAIN) if isinstance(value, Operation) else (0, 0)


T = TypeVar("T")

#: Candidates at once, at most; arrays are padded to a multiple.
LANES = 2
OUTPUTS = (TIME, TIME_WITH_FLOOR)
#: Operators that are worth evaluating less often.
_EXPENSIVE = {Operator.DIVIDE, Operator.FLOOR, Operator.CEILING, Operator.REMAINDER, *NORMS}


def padded(count: int) -> int:
    """Length of an array that holds an entry per candidate."""
    return -(-count // LANES) * LANES


def emit_model(
    program: RationalProgram, name: str, tables: Tables, figures: Sequence[str] = ()
) -> str:
    """C++ function `cutune_model_NAME(sizes…, time, floored)`; what it reads to `tables`.

    It fills two arrays of `padded(candidate_count)` doubles. Definitions that no output needs are
    left out. `figures`: sizes that are one array of doubles, behind the others.
    """
    return _ModelText(simplify(program, OUTPUTS), name, tables, figures).text()


class _ModelText:
    """Renders the definitions first; what they turned out to need is declared before them."""

    def __init__(
        self, program: RationalProgram, name: str, tables: Tables, figures: Sequence[str]
    ) -> None:
        self.program, self.name, self.tables, self.figures = program, name, tables, figures
        self.varying = program.per_candidate()
        self.columns = {**program.properties, CANDIDATE: (*range(program.candidate_count),)}
        read = needed(program)
        self.sizes_read = [size for size in program.sizes if size in read]
        #: Properties and values of candidates that the loop now written reads.
        self.reads: set[str] = set()
        #: Table, text of its row → number; expression → number of the part.
        self.rows: dict[tuple[str, str], int] = {}
        self.parts: dict[Expression, int] = {}
        self.cells: dict[str, str] = {}
        once = [d for d in program.definitions if d.name in read - self.varying]
        self.once = [self._defined("double", d, self._once(d.value)) for d in once]
        #: Values that a later loop reads.
        self.arrays: list[str] = []
        self.loads_columns = False
        self.loops = self._loops([d for d in program.definitions if d.name in read & self.varying])
        self.part_lines = {n: self._each(value, is_part=True) for value, n in self.parts.items()}

    @staticmethod
    def _defined(c_type: str, definition: Definition, value: str) -> tuple[str, str]:
        return f"const {c_type} {c_variable(definition.name)} = {value};", definition.meaning

    # ---- the function

    def text(self) -> str:
        emit = Emitter()
        emit(f"static inline void cutune_model_{self.name}(")
        for size in self.program.sizes:
            if size not in self.figures:
                emit(f"    double{f' {c_variable(size)}' if size in self.sizes_read else ''},")
        if self.figures:
            emit("    const double *figures_,")
        emit("    double *time_, double *floored_)")
        with emit.braces():
            for place, figure in enumerate(self.figures):
                emit(f"const double {c_variable(figure)} = figures_[{place}];")
            if self.cells or self.loads_columns or self.parts:
                emit(f"const cutune_all_tables &{ROWS} = cutune_read_tables();")
            for line, comment in self.once:
                emit.commented(line, comment)
            for (table, row), number in self.rows.items():
                emit(f"const double *row_{number}_ = {self._cells(table)}[{row}];")
            self._emit_parts(emit)
            count = padded(self.program.candidate_count)
            if self.arrays:
                emit(f"double each_[{len(self.arrays)}][{count}];")
            for lines in self.loops:
                with emit.braces(f"CUTUNE_EACH(c_, {count})"):
                    for line, comment in lines:
                        emit.commented(line, comment)
        return str(emit)

    def _emit_parts(self, emit: Emitter) -> None:
        by_column: dict[str, list[int]] = {}
        for value, number in self.parts.items():
            column = self._column_of(value)
            assert column is not None, "a part reads one property"
            by_column.setdefault(column, []).append(number)
        for column, numbers in by_column.items():
            distinct = sorted(set(self.columns[column]))
            array, length = self._column(f"each_{column}", distinct), padded(len(distinct))
            for number in numbers:
                emit(f"double part_{number}_[{length}];")
            with emit.braces(f"CUTUNE_EACH(k_, {length})"):
                emit(f"const cutune_lanes {c_variable(column)} = cutune_load({array} + k_);")
                for number in numbers:
                    emit(f"cutune_store(part_{number}_ + k_, {self.part_lines[number]});")

    # ---- loops over candidates

    def _loops(self, definitions: Sequence[Definition]) -> list[list[tuple[str, str]]]:
        loops, later = [], list(definitions)
        rounds = padded(self.program.candidate_count) // LANES
        for run in cut_into_loops(definitions, rounds) or [[]]:
            later = later[len(run) :]
            needed_later = set(OUTPUTS).union(*(parameters(one.value) for one in later))
            stored = [one.name for one in run if later and one.name in needed_later]
            loops.append(self._loop(run, stored, is_last=not later))
        return loops

    def _loop(
        self, run: Sequence[Definition], stored: Sequence[str], is_last: bool
    ) -> list[tuple[str, str]]:
        self.reads = set()
        lines = [self._defined("cutune_lanes", d, self._each(d.value)) for d in run]
        self.arrays += stored
        stores = [f"cutune_store({self._array(name)} + c_, {c_variable(name)});" for name in stored]
        if is_last:
            stores += [
                f"cutune_store({array}_ + c_, {self._lanes(Reference(output))});"
                for array, output in zip(("time", "floored"), OUTPUTS, strict=True)
            ]
        loaded = self.reads - {definition.name for definition in run}
        loads = [
            f"const cutune_lanes {c_variable(name)} = {self._load(name)};"
            for name in (*self.columns, *self.arrays)
            if name in loaded
        ]
        return [*((load, "") for load in loads), *lines, *((store, "") for store in stores)]

    def _array(self, name: str) -> str:
        return f"each_[{self.arrays.index(name)}]"

    def _load(self, name: str) -> str:
        if name in self.arrays:
            return f"cutune_load({self._array(name)} + c_)"
        self.loads_columns = True
        return f"cutune_load({self._column(name, self.columns[name])} + c_)"

    # ---- tables

    def _floats(self, table: str) -> str:
        """A table as it is. Sizes give it its name, and shall not give that of something else."""
        return self.tables.floats(f"cutune_t_{c_name(table)}", self.program.tables[table])

    def _column(self, name: str, values: Sequence[int]) -> str:
        row = [float(value) for value in _padded(values)]
        return f"{self.tables.rows(name, [row], len(row))}[0]"

    def _cells(self, table: str) -> str:
        if table in self.cells:
            return self.cells[table]
        count, entries = self.program.candidate_count, self.program.tables[table]
        rows = [_exact(entries[i : i + count]) for i in range(0, len(entries), count)]
        distinct = {row: number for number, row in enumerate(dict.fromkeys(rows))}
        row_of = None
        if len(distinct) < len(rows) and len(distinct) <= SMALL:
            row_of, rows = [distinct[row] for row in rows], list(distinct)
        columns = [_exact(column) for column in zip(*map(_numbers, rows), strict=True)]
        kept, shape = list(dict.fromkeys(columns)), None
        if len(kept) <= SMALL and len(kept) * len(rows) + count < count * len(rows):
            shape = _padded([kept.index(column) for column in columns])
        else:
            kept = _padded(columns)
        cells = list(zip(*map(_numbers, kept), strict=True))
        self.cells[table] = self.tables.rows(c_name(table), cells, padded(count), row_of, shape)
        return self.cells[table]

    # ---- expressions

    def _each(self, node: Expression, is_part: bool = False) -> str:
        """An expression for the candidates of one round; one of the launch stays a double."""
        if not self._varies(node):
            return self._once(node)
        if isinstance(node, Reference):
            if not is_part:
                self.reads.add(node.name)
            return c_variable(node.name)
        if isinstance(node, Lookup) and node.place == Reference(CANDIDATE):
            return f"cutune_load({self._cells(node.table)}[0] + c_)"
        if isinstance(node, Lookup):
            return f"cutune_look({self._floats(node.table)}, {self._lanes(node.place)})"
        if isinstance(node, Cell):
            number = self.rows.setdefault((node.table, self._once(node.place)), len(self.rows))
            self._cells(node.table)
            return f"cutune_load(row_{number}_ + c_)"
        assert isinstance(node, Operation)
        if not is_part and (part := self._part(node)) is not None:
            return part
        operand_text = self._each if node.operator in INFIX else self._lanes
        return operation_text(node, [operand_text(operand, is_part) for operand in node.operands])

    def _lanes(self, node: Expression, is_part: bool = False) -> str:
        text = self._each(node, is_part)
        return text if self._varies(node) else f"cutune_all({text})"

    def _once(self, node: Expression) -> str:
        return c_text(node, self._floats)

    def _part(self, node: Operation) -> str | None:
        column = self._column_of(node)
        operators = {part.operator for part in parts(node) if isinstance(part, Operation)}
        if column is None or not operators & _EXPENSIVE:
            return None
        distinct = sorted(set(self.columns[column]))
        if 2 * padded(len(distinct)) > self.program.candidate_count or len(distinct) > SMALL:
            return None
        number = self.parts.setdefault(node, len(self.parts))
        places = _padded([distinct.index(value) for value in self.columns[column]])
        array = self.tables.numbers(f"cutune_of_{column}", places)
        return f"cutune_pick(part_{number}_, {array} + c_)"

    def _column_of(self, node: Expression) -> str | None:
        """The one property that an expression reads, apart from values of the launch."""
        names = {name for name in parameters(node) if name in self.varying}
        if len(names) != 1 or any(isinstance(part, TableEntry) for part in parts(node)):
            return None
        name = names.pop()
        return name if name in self.program.properties else None

    def _varies(self, node: Expression) -> bool:
        return any(name in self.varying for name in parameters(node))


def _padded(entries: Sequence[T]) -> list[T]:
    missing = padded(len(entries)) - len(entries)
    return [*entries, *(entries[-1] for _ in range(missing))]


def _exact(entries: Sequence[float]) -> bytes:
    """Numbers as bytes: what equals by value alone, as 0 and -0, stays apart."""
    return array("d", entries).tobytes()


def _numbers(data: bytes) -> array[float]:
    return array("d", data)


def needed(program: RationalProgram) -> frozenset[str]:
    """Names that the outputs need: definitions, sizes, properties."""
    names = set(OUTPUTS)
    for definition in reversed(program.definitions):
        if definition.name in names:
            names.update(parameters(definition.value))
    return frozenset(names)
