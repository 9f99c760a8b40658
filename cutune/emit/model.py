"""A rational program as a C++ function over all candidates. Takes a program, gives text.

The operations are those of `evaluate`, in the same order, so that both compute the same doubles.
What is not done once per candidate: values of the launch stand before the loop; an expensive
expression of one property (`ceil(extent_x / block_x)`) is evaluated once per value that this
property has among the candidates; a table with a row per alignment class is read from the row on.
The loop takes as many candidates at once as a register has lanes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from cutune.emit.emitter import Emitter, c_name, c_text, double_text, float_text, operation_text
from cutune.fit.rational.program import (
    CANDIDATE,
    Expression,
    Lookup,
    Operation,
    Operator,
    Parameter,
    RationalProgram,
    parameters,
    tables_of,
)
from cutune.models.definitions import TIME, TIME_WITH_FLOOR

#: Candidates at once, at most; arrays are padded to a multiple.
LANES = 2
OUTPUTS = (TIME, TIME_WITH_FLOOR)
#: Operators that are worth evaluating less often.
_EXPENSIVE = {Operator.DIVIDE, Operator.FLOOR, Operator.CEILING, Operator.REMAINDER}


def padded(count: int) -> int:
    """Length of an array that holds an entry per candidate."""
    return -(-count // LANES) * LANES


def emit_model(program: RationalProgram, name: str) -> str:
    """C++ function `cutune_model_NAME(sizes…, time, time_with_floor)` and its static tables.

    It fills two arrays of `padded(candidate_count)` doubles. Definitions that no output needs are
    left out.
    """
    return _ModelText(program, name).text()


class _ModelText:
    """Renders the definitions first; what they turned out to need is declared before them."""

    def __init__(self, program: RationalProgram, name: str) -> None:
        self.program, self.name = program, name
        self.varying = program.per_candidate()
        self.needed = _needed(program)
        #: Text of the index → number of the row; expression → number of the part.
        self.rows: dict[tuple[str, str], int] = {}
        self.parts: dict[Expression, int] = {}
        self.once = [d for d in program.definitions if d.name in self.needed - self.varying]
        self.each = [d for d in program.definitions if d.name in self.needed & self.varying]
        self.lines = [
            f"const cutune_lanes cutune_{d.name} = {self._each(d.value)};" for d in self.each
        ]
        self.part_lines = {
            number: self._each(value, is_part=True) for value, number in self.parts.items()
        }

    # ---- the function

    def text(self) -> str:
        emit = Emitter()
        self._emit_tables(emit)
        sizes = [f"long long cutune_whole_{c_name(size)}" for size in self.program.sizes]
        arrays = "double *cutune_time, double *cutune_time_with_floor"
        emit(f"static inline void cutune_model_{self.name}(")
        emit(f"    {', '.join([*sizes, arrays])})")
        with emit.braces():
            for size in self.program.sizes:
                name = c_name(size)
                if size in self.needed:
                    emit(f"const double cutune_{name} = (double)cutune_whole_{name};")
                else:
                    emit(f"(void)cutune_whole_{name};")
            for definition in self.once:
                value = c_text(definition.value, self.name)
                emit(f"const double cutune_{definition.name} = {value};")
            for (table, index), number in self.rows.items():
                row = f"cutune_{self.name}_{table} + (int){index}"
                emit(f"const float *const cutune_row_{number} = {row};")
            self._emit_parts(emit)
            self._emit_loop(emit)
        return str(emit)

    def _emit_loop(self, emit: Emitter) -> None:
        with emit.braces(
            f"for (int cutune_index = 0; cutune_index < {padded(self.program.candidate_count)};"
            " cutune_index += CUTUNE_LANES)"
        ):
            for column in self._columns(self.lines):
                entry = f"cutune_{self.name}_{column} + cutune_index"
                emit(f"const cutune_lanes cutune_{column} = cutune_load({entry});")
            for line in self.lines:
                emit(line)
            for array, output in zip(("time", "time_with_floor"), OUTPUTS, strict=True):
                value = self._lanes(Parameter(output))
                emit(f"cutune_store(cutune_{array} + cutune_index, {value});")

    def _emit_parts(self, emit: Emitter) -> None:
        for column in self._part_columns():
            own = [n for value, n in self.parts.items() if self._column_of(value) == column]
            length = padded(len(self._distinct(column)))
            for number in own:
                emit(f"double cutune_part_{number}[{length}];")
            with emit.braces(f"for (int k = 0; k < {length}; k += CUTUNE_LANES)"):
                entry = f"cutune_{self.name}_each_{column} + k"
                emit(f"const cutune_lanes cutune_{column} = cutune_load({entry});")
                for number in own:
                    emit(f"cutune_store(cutune_part_{number} + k, {self.part_lines[number]});")

    def _emit_tables(self, emit: Emitter) -> None:
        used = {
            table
            for definition in self.program.definitions
            if definition.name in self.needed
            for table in tables_of(definition.value)
        }
        padding = padded(self.program.candidate_count) - self.program.candidate_count
        for table, entries in self.program.tables.items():
            if table in used:
                # A row is read to its padded end, the last one too.
                extended = [*entries, *entries[-1:] * padding]
                name = f"cutune_{self.name}_{c_name(table)}"
                emit.table(name, "float", map(float_text, extended))
        for column in self._columns(self.lines):
            self._emit_column(emit, column, self._values(column))
        for column in self._part_columns():
            distinct = self._distinct(column)
            self._emit_column(emit, f"each_{column}", distinct)
            places = [str(distinct.index(value)) for value in self._values(column)]
            places += places[-1:] * padding
            emit.table(f"cutune_{self.name}_of_{column}", "unsigned char", places)

    def _emit_column(self, emit: Emitter, name: str, values: Sequence[int]) -> None:
        entries = [double_text(Fraction(value)) for value in values]
        entries += entries[-1:] * (padded(len(entries)) - len(entries))
        emit.table(f"cutune_{self.name}_{name}", "double", entries)

    # ---- expressions

    def _each(self, node: Expression, is_part: bool = False) -> str:
        """An expression for the candidates of one round; one of the launch stays a double."""
        if not self._varies(node):
            return c_text(node, self.name)
        if isinstance(node, Parameter):
            return f"cutune_{node.name}"
        if isinstance(node, Lookup):
            return self._look(node)
        assert isinstance(node, Operation)
        if not is_part and (part := self._part(node)) is not None:
            return part
        if node.operator in (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE):
            return operation_text(node.operator, [self._each(o, is_part) for o in node.operands])
        return operation_text(node.operator, [self._lanes(o, is_part) for o in node.operands])

    def _lanes(self, node: Expression, is_part: bool = False) -> str:
        text = self._each(node, is_part)
        return text if self._varies(node) else f"cutune_all({text})"

    def _look(self, node: Lookup) -> str:
        table = f"cutune_{self.name}_{c_name(node.table)}"
        if node.index == Parameter(CANDIDATE):
            return f"cutune_load({table} + cutune_index)"
        match node.index:
            case Operation(Operator.ADD, (row, Parameter(name))) if (
                name == CANDIDATE and not self._varies(row)
            ):
                key = (node.table, c_text(row, self.name))
                number = self.rows.setdefault(key, len(self.rows))
                return f"cutune_load(cutune_row_{number} + cutune_index)"
        return f"cutune_look({table}, {self._lanes(node.index)})"

    def _part(self, node: Operation) -> str | None:
        column = self._column_of(node)
        if column is None or not any(o in _EXPENSIVE for o in _operators(node)):
            return None
        if 2 * padded(len(self._distinct(column))) > self.program.candidate_count:
            return None
        number = self.parts.setdefault(node, len(self.parts))
        places = f"cutune_{self.name}_of_{column} + cutune_index"
        return f"cutune_pick(cutune_part_{number}, {places})"

    def _column_of(self, node: Expression) -> str | None:
        """The one property that an expression reads, apart from values of the launch."""
        names = {name for name in parameters(node) if name in self.varying}
        if len(names) != 1 or next(tables_of(node), None) is not None:
            return None
        name = names.pop()
        return name if name in self.program.properties else None

    def _varies(self, node: Expression) -> bool:
        return any(name in self.varying for name in parameters(node))

    # ---- properties

    def _columns(self, lines: Sequence[str]) -> list[str]:
        """The properties that these lines read, and the index of the candidate."""
        words = set(re.findall(r"\bcutune_(\w+)", " ".join(lines)))
        return [name for name in (*self.program.properties, CANDIDATE) if name in words]

    def _part_columns(self) -> list[str]:
        """The properties that parts read, each once."""
        columns = (self._column_of(value) for value in self.parts)
        return list(dict.fromkeys(column for column in columns if column is not None))

    def _values(self, column: str) -> tuple[int, ...]:
        if column == CANDIDATE:
            return tuple(range(self.program.candidate_count))
        return self.program.properties[column]

    def _distinct(self, column: str) -> list[int]:
        return sorted(set(self._values(column)))


def _operators(node: Expression) -> Iterator[Operator]:
    if isinstance(node, Operation):
        yield node.operator
        for operand in node.operands:
            yield from _operators(operand)


def _needed(program: RationalProgram) -> frozenset[str]:
    needed = set(OUTPUTS)
    for definition in reversed(program.definitions):
        if definition.name in needed:
            needed.update(parameters(definition.value))
    return frozenset(needed)
