"""Features of a fitted kernel as expressions. Takes a model, a device and lines."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction

from cutune.model.fit.fitted_model import FeatureColumn, FittedModel
from cutune.model.performance.definitions import ALIGNMENT_CLASS, Lines
from cutune.model.rational.functions import RationalFunction
from cutune.model.rational.program import (
    Cell,
    Constant,
    Expression,
    Lookup,
    Reference,
    expression,
    maximum,
)
from cutune.toolchain.device.profile import DeviceProfile

#: The constant with the cost of one unit, by kind of feature; of other kinds a unit costs 1.
COST_OF = {
    "request": "cycles_per_request",
    "load": "load_cycles_per_wavefront",
    "shared": "shared_cycles_per_wavefront",
    "store": "store_cycles_per_sector",
    "rewritten": "cycles_per_rewritten_sector",
}


class Features:
    """Counts and feature columns of a kernel as expressions, defined in the lines of a program.

    `symbolic`: constants of the model are parameters of the program, so that they can be fitted.
    """

    def __init__(
        self, model: FittedModel, device: DeviceProfile, lines: Lines, symbolic: bool
    ) -> None:
        self.model, self.device, self.lines = model, device, lines
        self.symbolic = symbolic

    def constant(self, name: str) -> Expression:
        """A constant of the model: its value, or its name where constants are being fitted."""
        if self.symbolic:
            return Reference(name)
        return expression(getattr(self.device.model, name))

    def per_thread(self, count: RationalFunction) -> Expression:
        """A total divided by the number of working threads."""
        if count.is_zero:
            return expression(0)
        return maximum(0, count.expression()) / Reference("working")

    def total(
        self, name: str, fixed: Expression, columns: Iterable[tuple[int, FeatureColumn]]
    ) -> Expression:
        """Sum over columns with their indices: value * trips * cost, plus `fixed`.

        Terms that are the same for all blocks are defined once, as `NAME_fixed`.
        """
        varying = expression(0)
        for index, column in columns:
            cost = COST_OF.get(column.kind)
            weight = expression(1) if cost is None else self.constant(cost)
            weight = weight * Reference(f"trips_{column.group}")
            cell = self.cell(index, column)
            if not isinstance(cell, Constant):
                varying = varying + self.lines.define(f"weight_{index}", weight) * cell
            else:
                fixed = fixed + weight * cell
        return self.lines.define(f"{name}_fixed", fixed) + varying

    def missed(self, array: int) -> Expression | None:
        """Sectors of an array per warp that miss L1 if a block runs alone; None: none do."""
        columns = [(i, c) for i, c in self.filled(("missed",)) if c.array == array]
        return self.total(f"missed_{array}", expression(0), columns) if columns else None

    def filled(self, kinds: Collection[str]) -> list[tuple[int, FeatureColumn]]:
        """The columns of some kinds that are not all zero, with their indices."""
        columns = enumerate(self.model.columns)
        return [(i, column) for i, column in columns if column.kind in kinds and any(column.values)]

    def cell(self, index: int, column: FeatureColumn) -> Expression:
        """A column's value for the class and candidate: a table, or a constant if all are equal."""
        if len(set(column.values)) == 1:
            return expression(Fraction(column.values[0]))
        table, row = f"{column.kind}_{index}", Reference(ALIGNMENT_CLASS)
        by_class = column.values[:: len(self.model.blocks)]
        if column.values == tuple(v for v in by_class for _ in self.model.blocks):
            self.lines.tables[table] = by_class
            return Lookup(table, row)
        self.lines.tables[table] = column.values
        return Cell(table, row)

    def only(self, kind: str) -> Expression:
        """The single column of a kind; 1 if there is none."""
        columns = [(i, c) for i, c in enumerate(self.model.columns) if c.kind == kind]
        return self.cell(*columns[0]) if columns else expression(1)

    @property
    def keeps_grid(self) -> bool:
        """Is the number of blocks kept, so that the threads of a block share its work?"""
        return self.model.kernel.keeps_grid

    @property
    def in_phases(self) -> bool:
        """Do the warps of a block wait for each other in every round of a loop?"""
        return self.model.looped and self.has_barriers

    @property
    def has_barriers(self) -> bool:
        """Do threads of a block ever wait for each other?"""
        return not self.model.barriers.is_zero
