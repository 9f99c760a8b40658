"""Alignment classes: which residues of a data parameter give the same memory behaviour.

Coalescing depends on each stride modulo 128 bytes. Which expressions of a parameter are strides is
not guessed: one launch per residue is measured, and residues with equal address features form a
class. A row has one class of every parameter.

Launches of a row that were not made are composed of others. Most memory instructions are sensitive
to the alignment of one size: a stride of NJ in A, of NK in B. In any row such an instruction costs
what it costs where that size alone is misaligned. So 6 classes of one size and 9 of another need 14
launches for each block instead of 54.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod
from operator import attrgetter

from cutune.model.measurement.measurement import MeasuredKernel, Measurement, Measurements, Purpose
from cutune.toolchain.device.thread_block import Block

LINE_BYTES = 128
TOLERANCE = 0.03
#: An instruction is sensitive to an alignment that changes the kernel's cost by more than this.
SENSITIVITY = TOLERANCE / 4
MAX_CLASSES = 64
_COSTS = ("load_cost_x20", "store_cost_x20", "new_sectors")
_costs_of = attrgetter(*_COSTS)

Feature = tuple[float, ...]
#: One class of every data parameter.
Row = tuple[int, ...]
#: Probes of one block each, by residue.
Probes = Mapping[int, Measurements]


def modulus(kernel: MeasuredKernel) -> int:
    """Elements of the narrowest access per 128-byte line: the period of every alignment effect."""
    narrowest = min((memory.bytes for memory in kernel.memory if not memory.shared), default=4)
    return max(8, min(LINE_BYTES, LINE_BYTES // narrowest))


def alignment_classes(
    kernel: MeasuredKernel, measurements: Measurements
) -> tuple[tuple[int, ...], ...]:
    """Per data parameter the class of each residue modulo `modulus(kernel)`; class 0 holds 0.

    While there are more than `MAX_CLASSES` combinations, the tolerance grows, and residues merge.
    """
    period = modulus(kernel)
    probes = _probes(kernel, measurements)
    tolerance = TOLERANCE
    while True:
        classes = [_cluster(of_one, period, tolerance) for of_one in probes]
        if prod(max(c) + 1 for c in classes) <= MAX_CLASSES:
            return tuple(classes)
        tolerance *= 1.5


def representatives(classes: Sequence[int]) -> list[int]:
    """Per class the residue that stands for it: the one met first in the order of clustering."""
    order = _by_alignment(len(classes))
    return [next(r for r in order if classes[r] == c) for c in range(max(classes) + 1)]


def _probes(kernel: MeasuredKernel, measurements: Measurements) -> list[Probes]:
    """Per parameter and residue the probes in which all others are aligned."""
    period = modulus(kernel)
    probes = [m for m in measurements if m.purpose == Purpose.PROBE]
    result: list[Probes] = []
    for name in kernel.parameters:
        by_residue: dict[int, list[Measurement]] = {}
        for probe in probes:
            sizes = dict(probe.sizes)
            if all(sizes[p] % period == 0 for p in kernel.parameters if p != name):
                by_residue.setdefault(sizes[name] % period, []).append(probe)
        result.append(by_residue)
    return result


def _cluster(probes: Probes, period: int, tolerance: float) -> tuple[int, ...]:
    leaders: list[Feature] = []
    classes = [0] * period
    for residue in _by_alignment(period):
        if residue not in probes:
            continue
        feature = features_of(probes[residue])
        alike = (i for i, leader in enumerate(leaders) if distance(feature, leader) <= tolerance)
        classes[residue] = next(alike, len(leaders))
        if classes[residue] == len(leaders):
            leaders.append(feature)
    return tuple(classes)


def _by_alignment(period: int) -> list[int]:
    """Residues, best aligned first: 0, period/2, period/4, …"""
    return sorted(range(period), key=lambda r: (-gcd(r, period), r))


def alignment_sensitivities(
    kernel: MeasuredKernel, measurements: Measurements
) -> tuple[frozenset[int], ...]:
    """Per memory instruction the data parameters, by index, whose alignment changes its cost."""
    each = range(len(kernel.memory))
    found = [_sensitive(of_one, each) for of_one in _probes(kernel, measurements)]
    return tuple(frozenset(n for n, those in enumerate(found) if i in those) for i in each)


def _sensitive(probes: Probes, each: Sequence[int]) -> set[int]:
    if 0 not in probes:
        return set()
    limits = [SENSITIVITY * total for total in features_of(probes[0])]
    aligned = _features_of_each(probes[0], each)
    return {
        index
        for probed in probes.values()
        for index, features in zip(each, _features_of_each(probed, each), strict=True)
        if features != aligned[index]
        and any(
            abs(cost - usual) > limit
            for cost, usual, limit in zip(features, aligned[index], limits, strict=True)
        )
    }


def _features_of_each(probes: Measurements, each: Sequence[int]) -> list[Feature]:
    """Return `features_of` of each instruction alone."""
    ordered = sorted(probes, key=lambda m: m.block)
    sites = ([probe.sites[index] for probe in ordered] for index in each)
    return [
        tuple([cost / one.traced if one.traced else 0 for one in of for cost in _costs_of(one)])
        for of in sites
    ]


def reduced_row(row: Row, places: frozenset[int]) -> Row:
    """The row with all aligned but `places`; what is sensitive to these alone costs the same."""
    return tuple(own if place in places else 0 for place, own in enumerate(row))


def features_of(probes: Measurements, sites: Sequence[int] | None = None) -> Feature:
    """Load, store and miss cost per execution, of each probed block in turn.

    Units: 1/20 of a wavefront or sector; misses in sectors. `sites`: of these instructions only.
    """
    values: list[float] = []
    for probe in sorted(probes, key=lambda m: m.block):
        chosen = probe.sites if sites is None else [probe.sites[index] for index in sites]
        traced = [site for site in chosen if site.traced]
        for attribute in _COSTS:
            values.append(sum([getattr(site, attribute) / site.traced for site in traced]))
    return tuple(values)


def distance(first: Feature, second: Feature) -> float:
    """The largest relative difference."""
    pairs = zip(first, second, strict=True)
    return max((abs(a - b) / max(a, b) for a, b in pairs if max(a, b) > 0), default=0.0)


Classes = Sequence[Sequence[int]]


def all_rows(classes: Classes) -> list[Row]:
    """Every row, the last parameter's class first to change."""
    return list(product(*(range(max(of_one) + 1) for of_one in classes)))


def all_misaligned(classes: Classes) -> Row:
    """A row in which every size has another odd residue."""
    return tuple(of_one[(3 + 2 * k) % len(of_one)] for k, of_one in enumerate(classes))


@dataclass(frozen=True)
class Cells:
    """The launches of each (row, block): `measured`, or composed by what depends on alignment."""

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
        for block in blocks:
            composed, made = self._composed(row, block), self.measured[row, block]
            if composed is None:
                return False
            # Remainders of loops are executed at misaligned sizes only, and cost next to nothing.
            aligned = self.measured[(0,) * len(row), block]
            usual = [index for index, site in enumerate(aligned.sites) if site.traced]
            each = distance(features_of([composed], usual), features_of([made], usual))
            if max(each, distance(_weighted(composed), _weighted(made))) > TOLERANCE:
                return False
        return True

    def _composed(self, row: Row, block: Block) -> Measurement | None:
        aligned = self.measured.get(((0,) * len(row), block))
        parts = [self.measured.get((reduced_row(row, to), block)) for to in self.sensitive_to]
        if aligned is None or None in parts:
            return None
        sites = (part.sites[index] for index, part in enumerate(parts) if part)
        return replace(aligned, sites=tuple(sites))


def cells(kernel: MeasuredKernel, classes: Classes, measurements: Measurements) -> Cells:
    """Sort the feature launches of a kernel."""
    measured = {}
    for measurement in (m for m in measurements if m.purpose == Purpose.FEATURES):
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
        for name in _COSTS
    )
