"""State of each variable while a function is evaluated.

Takes values as they are assigned, gives them back where the variable is read, and collects what
breaks a proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pycparser import c_ast

from cutune.source.function.bindings import Bindings, DeviceVariable
from cutune.source.unit.integers import IntegerType, literal_value
from cutune.source.unit.unit import Unit
from cutune.source.values.guards import NO_BOUNDS, GuardBounds, Range, ThreadRow
from cutune.source.values.polynomial import (
    BLOCK,
    BLOCK_SIZE,
    GRID_SIZE,
    OPAQUE,
    PARAMETER,
    THREAD,
    Atom,
    IntegerPolynomial,
)
from cutune.source.values.ranges import is_positive, limits
from cutune.source.values.values import Findings, Value

#: The built-ins, the one that tells a reader most first.
_TELLING = (THREAD, BLOCK, BLOCK_SIZE, GRID_SIZE)
BUILTINS = frozenset(_TELLING)


@dataclass
class Variables:
    """The state of an evaluation: values of variables, bounds that hold, findings."""

    unit: Unit
    bindings: Bindings
    findings: Findings = field(default_factory=Findings)
    bounds: GuardBounds = NO_BOUNDS
    _values: dict[DeviceVariable, Value] = field(default_factory=dict)
    _first_values: dict[DeviceVariable, list[IntegerPolynomial]] = field(default_factory=dict)
    _read_early: set[DeviceVariable] = field(default_factory=set)
    _owners: dict[Atom, DeviceVariable] = field(default_factory=dict)
    _rows: dict[Atom, ThreadRow] = field(default_factory=dict)
    _count: int = 0

    # Values that are not polynomials.

    def opaque(self, type_: IntegerType | None = None, uniform: bool = False) -> Value:
        """A value of which nothing is known."""
        self._count += 1
        return Value(IntegerPolynomial.atom(OPAQUE, str(self._count)), type_, uniform)

    def divided(self, row: ThreadRow, type_: IntegerType) -> Value:
        """An id divided by the width of a row."""
        value = self.opaque(type_)
        self._rows[value.polynomial.terms[0][0][0]] = row
        return value

    def sink(self, value: Value, node: c_ast.Node) -> Value:
        """The value leaves the polynomials: raw built-ins in it make their dimension impure."""
        raw = [atom for atom in value.polynomial.atoms if atom.kind in BUILTINS]
        for atom in sorted(raw, key=lambda atom: _TELLING.index(atom.kind)):
            self.findings.raw.setdefault(atom.name, (f"{atom.kind}.{atom.name}", node))
        return value

    def access(self, uniform: bool) -> None:
        """A thread touches memory; uniform reads are the same however many threads there are."""
        if uniform:
            self.findings.reads = True
        else:
            self.findings.effects.append(self.bounds)

    def read(self, variable: DeviceVariable) -> Value:
        if variable.is_reference or variable.rank or variable.is_pointer:
            is_given = variable.is_pointer and variable.is_parameter and variable.is_constant
            return self.opaque(uniform=is_given)
        if variable.is_constant:
            if variable.is_parameter:
                # The launch may be given a wider value than the kernel then sees.
                if variable.type is None or variable.type.bits < 32:
                    return self.opaque(variable.type, uniform=True)
                return Value(IntegerPolynomial.atom(PARAMETER, variable.name), variable.type, True)
            if variable in self._values:
                return self._values[variable]
            self._read_early.add(variable)
        value = self.opaque(variable.type)
        self._owners[value.polynomial.terms[0][0][0]] = variable
        return value

    def assign(self, variable: DeviceVariable, value: Value, node: c_ast.Node) -> None:
        """A variable takes a value (declaration or plain assignment)."""
        type_ = value.type if variable.is_auto else variable.type
        if type_ is None or variable.is_reference or variable.is_pointer:
            self.sink(value, node)
            self._values[variable] = value._replace(polynomial=self.opaque().polynomial, type=None)
            return
        value = self.converted(value, type_, node)
        if not variable.is_constant or variable in self._read_early:
            self.sink(value, node)
        self._values[variable] = value
        self._first_values.setdefault(variable, []).append(value.polynomial)

    def assigned(self, variable: DeviceVariable) -> Value:
        """The value of an assignment: that which the variable now has."""
        value = self._values[variable]
        return value if variable.type is not None or variable.is_auto else value._replace(type=None)

    def converted(self, value: Value, type_: IntegerType, node: c_ast.Node) -> Value:
        """Convert between integer types; those of the text count as wide enough."""
        if value.type is None or type_.bits < 32:
            self.sink(value, node)
            return self.opaque(type_, value.uniform)._replace(
                if_true=value.if_true, if_false=value.if_false
            )
        return value._replace(type=type_)

    def range_of(self, atom: Atom) -> Range:
        """Limits of the variable that was read as this symbol."""
        if atom in self._rows:
            return Range(row=self._rows[atom])
        variable = self._owners.get(atom)
        if variable is None:
            return Range()
        return limits(variable, self._first_values.get(variable, []), self._is_positive)

    def _is_positive(self, step: c_ast.Node) -> bool:
        """Is an increment certainly above zero: a literal or the grid's stride, or made of such?"""
        if isinstance(step, c_ast.ID):
            variable = self.bindings.of(step)
            value = self._values.get(variable) if variable and variable.is_constant else None
            return value is not None and is_positive(value.polynomial)
        if isinstance(step, c_ast.BinaryOp) and step.op in ("+", "*"):
            return self._is_positive(step.left) and self._is_positive(step.right)
        if isinstance(step, c_ast.StructRef) and isinstance(step.name, c_ast.ID):
            return step.name.name in (GRID_SIZE, BLOCK_SIZE) and self.bindings.of(step.name) is None
        literal = literal_value(step.value) if isinstance(step, c_ast.Constant) else None
        # A larger one is a negative step of an unsigned variable.
        return literal is not None and 0 < literal < 1 << 31
