"""A rational program as a C++ function over all candidates. Takes a program, gives text.

The operations are those of `evaluate`, in the same order, so that both compute the same doubles.
What is not done once per candidate: values of the launch stand before the loop; an expensive
expression of one property (`ceil(extent_x / block_x)`) is evaluated once per value that this
property has among the candidates. The loop takes as many candidates at once as a register has
lanes.

Of a table with a row per alignment class, rows that are equal are written once, and so are columns
of candidates whose shapes make no difference; two indices say which row and column to read.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from cutune.emit.emitter import (
    Emitter,
    Tables,
    c_name,
    c_text,
    float_text,
    operation_text,
)
from cutune.fit.rational.program import (
    CANDIDATE,
    NORMS,
    Cell,
    Definition,
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
_EXPENSIVE = {Operator.DIVIDE, Operator.FLOOR, Operator.CEILING, Operator.REMAINDER, *NORMS}


def padded(count: int) -> int:
    """Length of an array that holds an entry per candidate."""
    return -(-count // LANES) * LANES


def emit_model(program: RationalProgram, name: str, tables: Tables) -> str:
    """C++ function `cutune_model_NAME(sizes…, time, time_with_floor)` and its static tables.

    It fills two arrays of `padded(candidate_count)` doubles. Definitions that no output needs are
    left out.
    """
    return _ModelText(program, name, tables).text()


@dataclass(frozen=True)
class _Cells:
    """Names of the arrays that hold a table of rows.

    Attributes:
        values: the distinct rows, of each the candidates whose columns differ.
        width: the entries of a row.
        row_of: which of the rows each alignment class has; None where each has its own.
        shape_of: which of the columns each candidate has; None where each has its own.
    """

    values: str
    width: int
    row_of: str | None
    shape_of: str | None

    def of_candidates(self, row: str) -> str:
        """The cells of the candidates of one round, from where a row begins."""
        if self.shape_of is None:
            return f"cutune_load({row} + cutune_index)"
        return f"cutune_pick({row}, {self.shape_of} + cutune_index)"


class _ModelText:
    """Renders the definitions first; what they turned out to need is declared before them."""

    def __init__(self, program: RationalProgram, name: str, tables: Tables) -> None:
        self.program, self.name, self.tables = program, name, tables
        #: The arrays stand before the function.
        self.arrays = Emitter()
        self.varying = program.per_candidate()
        needed = _needed(program)
        self.sizes_read = [size for size in program.sizes if size in needed]
        #: Properties that the loop over candidates reads.
        self.columns_read: set[str] = set()
        #: Table, text of its row → number; expression → number of the part.
        self.rows: dict[tuple[str, str], int] = {}
        self.parts: dict[Expression, int] = {}
        self.cells: dict[str, _Cells] = {}
        once = [d for d in program.definitions if d.name in needed - self.varying]
        each = [d for d in program.definitions if d.name in needed & self.varying]
        self.once = [self._defined("double", d, self._once(d.value)) for d in once]
        self.each = [self._defined("cutune_lanes", d, self._each(d.value)) for d in each]
        self.stores = [
            f"cutune_store(cutune_{array} + cutune_index, {self._lanes(Parameter(output))});"
            for array, output in zip(("time", "time_with_floor"), OUTPUTS, strict=True)
        ]
        self.part_lines = {
            number: self._each(value, is_part=True) for value, number in self.parts.items()
        }

    @staticmethod
    def _defined(c_type: str, definition: Definition, value: str) -> tuple[str, str]:
        """The line of a definition, and its comment."""
        return f"const {c_type} cutune_{definition.name} = {value};", definition.meaning

    # ---- the function

    def text(self) -> str:
        emit = Emitter()
        emit(f"static inline void cutune_model_{self.name}(")
        for size in self.program.sizes:
            emit(f"    long long cutune_whole_{c_name(size)},")
        emit("    double *cutune_time, double *cutune_time_with_floor)")
        with emit.braces():
            for size in self.program.sizes:
                name = c_name(size)
                if size in self.sizes_read:
                    emit(f"const double cutune_{name} = (double)cutune_whole_{name};")
                else:
                    emit(f"(void)cutune_whole_{name};")
            for line, comment in self.once:
                emit.commented(line, comment)
            for line in self._row_lines():
                emit(line)
            self._emit_parts(emit)
            self._emit_loop(emit)
        return str(self.arrays) + str(emit)

    def _emit_loop(self, emit: Emitter) -> None:
        with emit.braces(
            f"for (int cutune_index = 0; cutune_index < {padded(self.program.candidate_count)};"
            " cutune_index += CUTUNE_LANES)"
        ):
            for column in (*self.program.properties, CANDIDATE):
                if column in self.columns_read:
                    array = self._column(column, self._values(column))
                    load = f"cutune_load({array} + cutune_index)"
                    emit(f"const cutune_lanes cutune_{column} = {load};")
            for line, comment in self.each:
                emit.commented(line, comment)
            for line in self.stores:
                emit(line)

    def _emit_parts(self, emit: Emitter) -> None:
        for column in self._part_columns():
            own = [n for value, n in self.parts.items() if self._column_of(value) == column]
            distinct = self._distinct(column)
            array, length = self._column(f"each_{column}", distinct), padded(len(distinct))
            for number in own:
                emit(f"double cutune_part_{number}[{length}];")
            with emit.braces(f"for (int k = 0; k < {length}; k += CUTUNE_LANES)"):
                emit(f"const cutune_lanes cutune_{column} = cutune_load({array} + k);")
                for number in own:
                    emit(f"cutune_store(cutune_part_{number} + k, {self.part_lines[number]});")

    def _row_lines(self) -> Iterator[str]:
        """Where the rows of this launch begin."""
        for (table, row), number in self.rows.items():
            cells = self._cells(table)
            place = f"(int){row}" if cells.row_of is None else f"{cells.row_of}[(int){row}]"
            start = f"{cells.values} + {cells.width} * {place}"
            yield f"const double *const cutune_row_{number} = {start};"

    # ---- arrays

    def _array(self, name: str, c_type: str, entries: Iterable[str]) -> str:
        """The name of a constant array."""
        return self.tables.array(self.arrays, f"cutune_{self.name}_{name}", c_type, entries)

    def _floats(self, table: str) -> str:
        """A table as it is."""
        return self._array(c_name(table), "float", map(float_text, self.program.tables[table]))

    def _column(self, name: str, values: Sequence[int]) -> str:
        padding = [values[-1]] * (padded(len(values)) - len(values))
        return self._array(name, "double", map(str, [*values, *padding]))

    def _cells(self, table: str) -> _Cells:
        """A table of rows without the rows and the columns that repeat."""
        if table not in self.cells:
            self.cells[table] = self._written(table)
        return self.cells[table]

    def _written(self, table: str) -> _Cells:
        count = self.program.candidate_count
        # Rows as bytes: what equals by value alone, as 0 and -0, stays apart.
        entries = array("d", self.program.tables[table])
        data, size = entries.tobytes(), count * entries.itemsize
        rows = [data[start : start + size] for start in range(0, len(data), size)]
        distinct = {row: str(number) for number, row in enumerate(dict.fromkeys(rows))}
        columns = list(zip(*(map(_literal, array("d", row)) for row in distinct), strict=True))
        kept = list(dict.fromkeys(columns))
        # To read a row as it stands takes less time than to look for most of its entries.
        is_whole = 2 * len(kept) > count
        if is_whole:
            kept = [*columns, *columns[-1:] * (padded(count) - count)]
        name = c_name(table)
        row_of = None
        if len(distinct) < len(rows):
            c_type = _index_type(len(distinct))
            row_of = self._array(f"{name}_row", c_type, map(distinct.__getitem__, rows))
        cells = (cell for row in zip(*kept, strict=True) for cell in row)
        values = self._array(name, "double", cells)
        shape_of = None
        if not is_whole:
            shape_of = self._index(f"{name}_shape", list(map(kept.index, columns)))
        return _Cells(values, len(kept), row_of, shape_of)

    def _index(self, name: str, places: Sequence[int]) -> str:
        """The name of an array with a place for each candidate, and for those that pad them."""
        padding = [places[-1]] * (padded(len(places)) - len(places))
        c_type = _index_type(max(places) + 1)
        return self._array(name, c_type, map(str, [*places, *padding]))

    # ---- expressions

    def _each(self, node: Expression, is_part: bool = False) -> str:
        """An expression for the candidates of one round; one of the launch stays a double."""
        if not self._varies(node):
            return self._once(node)
        if isinstance(node, Parameter):
            if not is_part:
                self.columns_read.add(node.name)
            return f"cutune_{node.name}"
        if isinstance(node, Lookup):
            return self._look(node)
        if isinstance(node, Cell):
            return self._cell(node)
        assert isinstance(node, Operation)
        if not is_part and (part := self._part(node)) is not None:
            return part
        if node.operator in (Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.DIVIDE):
            return operation_text(node.operator, [self._each(o, is_part) for o in node.operands])
        return operation_text(node.operator, [self._lanes(o, is_part) for o in node.operands])

    def _lanes(self, node: Expression, is_part: bool = False) -> str:
        text = self._each(node, is_part)
        return text if self._varies(node) else f"cutune_all({text})"

    def _once(self, node: Expression) -> str:
        """An expression that is known once per launch."""
        return c_text(node, self._floats)

    def _look(self, node: Lookup) -> str:
        if node.index == Parameter(CANDIDATE):
            cells = self._cells(node.table)
            return cells.of_candidates(cells.values)
        return f"cutune_look({self._floats(node.table)}, {self._lanes(node.index)})"

    def _cell(self, node: Cell) -> str:
        key = (node.table, self._once(node.row))
        number = self.rows.setdefault(key, len(self.rows))
        return self._cells(node.table).of_candidates(f"cutune_row_{number}")

    def _part(self, node: Operation) -> str | None:
        column = self._column_of(node)
        if column is None or not any(o in _EXPENSIVE for o in _operators(node)):
            return None
        if 2 * padded(len(self._distinct(column))) > self.program.candidate_count:
            return None
        number = self.parts.setdefault(node, len(self.parts))
        distinct = self._distinct(column)
        places = [distinct.index(value) for value in self._values(column)]
        array = self._index(f"of_{column}", places)
        return f"cutune_pick(cutune_part_{number}, {array} + cutune_index)"

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


def _literal(value: float) -> str:
    """A number that a float holds exactly, as the shorter literal of a double."""
    return min(float_text(value), repr(value), key=len)


def _index_type(count: int) -> str:
    """The type of an index of so many."""
    return "unsigned char" if count <= 256 else "unsigned short"


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
