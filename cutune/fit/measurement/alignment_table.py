"""Feature launches by alignment row and block. Launches that were not made are composed of others.

Most memory instructions are sensitive to the alignment of one size: a stride of NJ in A, of NK in
B. In any row such an instruction costs what it costs where that size alone is misaligned. So 6
classes of one size and 9 of another need 14 launches for each block instead of 54.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import product

from cutune.device.thread_block import Block
from cutune.fit.measurement.alignment_classes import (
    TOLERANCE,
    Row,
    alignment_sensitivities,
    distance,
    features_of,
    reduced_row,
)
from cutune.fit.measurement.measurement import FEATURES, MeasuredKernel, Measurement

Classes = Sequence[Sequence[int]]


def all_rows(classes: Classes) -> list[Row]:
    """Every row, the last parameter's class first to change."""
    return list(product(*(range(max(of_one) + 1) for of_one in classes)))


def all_misaligned(classes: Classes) -> Row:
    """A row in which every size has another odd residue."""
    return tuple(of_one[(3 + 2 * k) % len(of_one)] for k, of_one in enumerate(classes))


@dataclass(frozen=True)
class Cells:
    """The measured and composed launches of each (row, block).

    Attributes:
        measured: the launches that were made.
        sensitive_to: per memory instruction, see `alignment_sensitivities`.
    """

    measured: dict[tuple[Row, Block], Measurement]
    sensitive_to: Sequence[frozenset[int]]

    def basis_rows(self, classes: Classes) -> set[Row]:
        """The rows of which all others can be composed."""
        sensitive_to = {frozenset[int](), *self.sensitive_to}
        return {reduced_row(row, places) for row in all_rows(classes) for places in sensitive_to}

    def at(self, row: Row, block: Block) -> Measurement | None:
        """The launch if it was made, else the composed one; None where parts of it are missing."""
        return self.measured.get((row, block)) or self._composed(row, block)

    def are_sound(self, row: Row, blocks: Collection[Block]) -> bool:
        """Do composed launches of this row agree with those that were made?"""
        return all(self._agrees(row, block) for block in blocks)

    def _agrees(self, row: Row, block: Block) -> bool:
        composed, made = self._composed(row, block), self.measured[row, block]
        if composed is None:
            return False
        # Remainders of loops are executed at misaligned sizes only, and cost next to nothing.
        aligned = self.measured[(0,) * len(row), block]
        usual = [index for index, site in enumerate(aligned.sites) if site.traced]
        each = distance(features_of([composed], usual), features_of([made], usual))
        together = distance(_weighted(composed), _weighted(made))
        return max(each, together) <= TOLERANCE

    def _composed(self, row: Row, block: Block) -> Measurement | None:
        aligned = self.measured.get(((0,) * len(row), block))
        parts = [self.measured.get((reduced_row(row, to), block)) for to in self.sensitive_to]
        if aligned is None or None in parts:
            return None
        sites = (part.sites[index] for index, part in enumerate(parts) if part)
        return replace(aligned, sites=tuple(sites))


def cells(kernel: MeasuredKernel, classes: Classes, measurements: Sequence[Measurement]) -> Cells:
    """Sort the feature launches of a kernel."""
    measured = {}
    for measurement in (m for m in measurements if m.purpose == FEATURES):
        sizes = dict(measurement.sizes)
        residues = zip(kernel.parameters, classes, strict=True)
        row = tuple(c[sizes[name] % len(c)] for name, c in residues)
        measured[row, measurement.block] = measurement
    return Cells(measured, alignment_sensitivities(kernel, measurements))


def _weighted(measurement: Measurement) -> tuple[float, ...]:
    """Costs of a mean memory instruction, each by how often it is executed."""
    sites = [site for site in measurement.sites if site.traced]
    executions = max(1, sum(site.executions for site in sites))
    return tuple(
        sum(getattr(site, name) * site.executions / site.traced for site in sites) / executions
        for name in ("load_cost_x20", "store_cost_x20", "new_sectors")
    )
