"""Building blocks of all performance models: the lines of a rational program, and their meanings.

`Lines` collects the definitions and tables of a rational program with one entry per candidate. The
meanings of its definitions are comments in the emitted C.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cutune.device.occupancy import BlockResources
from cutune.device.thread_block import EXTENTS, Block, threads_of
from cutune.fit.fitted_model import FittedModel
from cutune.fit.rational.nodes import Expression, Lookup, Number, Reference, expression
from cutune.fit.rational.program import Definition, RationalProgram, size_name
from cutune.models.meanings import meaning_of

#: Results of every program, per candidate: the time of the launch, the time that the host sees,
#: both in microseconds, and the cycles that one warp costs its SM.
TIME, TIME_WITH_FLOOR, CYCLES_PER_WARP = "time_us", "time_with_floor_us", "cycles_per_warp"

#: The alignment class of the sizes: which row of the tables of features holds.
ALIGNMENT_CLASS = "alignment_class"


@dataclass
class Lines:
    """Definitions and tables, collected line by line."""

    definitions: list[Definition] = field(default_factory=list)
    tables: dict[str, tuple[float, ...]] = field(default_factory=dict)
    properties: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def define(self, name: str, value: Number) -> Reference:
        """Define a name for a value; returns the expression that reads it."""
        self.definitions.append(Definition(name, expression(value), meaning_of(name)))
        return Reference(name)

    def class_index(self, model: FittedModel) -> Expression:
        """The alignment class of the sizes: residues of the data parameters, mixed radix."""
        index = expression(0)
        for name, classes in zip(model.kernel.parameters, model.classes, strict=True):
            if len(set(classes)) > 1:
                table = f"class_of_{name}"
                self.tables[table] = tuple(map(float, classes))
                residue = Lookup(table, Reference(size_name(name)) % len(classes))
                index = index * (max(classes) + 1) + residue
        return index

    def program(self, model: FittedModel, constants: tuple[str, ...] = ()) -> RationalProgram:
        """All lines as a program over the data parameters and extents of a kernel."""
        return RationalProgram(
            (*map(size_name, model.kernel.parameters), *EXTENTS, *constants),
            self.properties,
            self.tables,
            tuple(self.definitions),
            len(model.blocks),
        )


def resources_of(model: FittedModel, block: Block) -> BlockResources:
    """The resources of an SM that a block of the kernel needs."""
    static = model.kernel.compiled.static
    shared = static.static_shared_bytes + model.kernel.shared_bytes(block)
    return BlockResources(threads_of(block), static.registers, shared)
