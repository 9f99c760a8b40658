"""What all performance models are written with: the lines of a rational program, and their names.

`Lines` collects the definitions and tables of a rational program whose entries are the candidate
blocks. Resources that work side by side are joined by a smooth maximum, a p-norm, in a rational
form (error below 0.12 %).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cutune.device.occupancy import BlockResources
from cutune.device.thread_block import EXTENTS, Block, threads_of
from cutune.fit.fitted_model import FittedModel
from cutune.fit.rational.program import (
    Definition,
    Expression,
    Lookup,
    Number,
    Parameter,
    RationalProgram,
    expression,
    maximum,
    minimum,
    size_name,
)
from cutune.models.constants import NORMS

#: What every program says of each candidate: the time of the launch, the same as the host sees it,
#: and what one warp costs its SM.
TIME, TIME_WITH_FLOOR, CYCLES_PER_WARP = "time_us", "time_with_floor_us", "cycles_per_warp"


@dataclass
class Lines:
    """Definitions and tables, collected line by line."""

    definitions: list[Definition] = field(default_factory=list)
    tables: dict[str, tuple[float, ...]] = field(default_factory=dict)
    properties: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def define(self, name: str, value: Number) -> Parameter:
        """Give a value a name; what is returned reads it."""
        self.definitions.append(Definition(name, expression(value)))
        return Parameter(name)

    def norm(self, power: int, first: Number, second: Number) -> Expression:
        """Smooth maximum of two positive quantities."""
        index = len(self.definitions)
        first = self.define(f"first_{index}", first)
        second = self.define(f"second_{index}", second)
        larger = self.define(f"larger_{index}", maximum(first, second))
        smaller = self.define(f"smaller_{index}", minimum(first, second))
        most = self._raised(f"larger_{index}", larger, power)
        least = self._raised(f"smaller_{index}", smaller, power)
        top, bottom = NORMS[power]
        # Of their ratio r: 1 + top * r^p / (1 + bottom * r^p), by one division.
        return larger * (1 + top * least / (most + bottom * least))

    def _raised(self, name: str, base: Expression, power: int) -> Expression:
        square = self.define(f"{name}_2", base * base)
        if power == 2:
            return square
        if power == 3:
            return self.define(f"{name}_3", square * base)
        fourth = self.define(f"{name}_4", square * square)
        return self.define(f"{name}_{power}", fourth * fourth)

    def class_index(self, model: FittedModel) -> Expression:
        """Which alignment class: residues of the data parameters, mixed radix."""
        index = expression(0)
        for name, classes in zip(model.facts.parameters, model.classes, strict=True):
            if len(set(classes)) > 1:
                table = f"class_of_{name}"
                self.tables[table] = tuple(map(float, classes))
                residue = Lookup(table, Parameter(size_name(name)) % len(classes))
                index = index * (max(classes) + 1) + residue
        return index

    def program(self, model: FittedModel, constants: tuple[str, ...] = ()) -> RationalProgram:
        """All of it, over the data parameters and extents of a kernel."""
        return RationalProgram(
            (*map(size_name, model.facts.parameters), *EXTENTS, *constants),
            self.properties,
            self.tables,
            tuple(self.definitions),
            len(model.blocks),
        )


def resources_of(model: FittedModel, block: Block) -> BlockResources:
    """What a block of the kernel asks of an SM."""
    static = model.facts.static
    shared = static.static_shared_bytes + model.facts.shared_bytes(block)
    return BlockResources(threads_of(block), static.registers, shared)
