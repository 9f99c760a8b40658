"""Alignment classes: which residues of a data parameter give the same memory behaviour.

What matters to coalescing is each stride modulo 128 bytes. Instead of guessing which expressions
of a parameter are strides, one launch per residue is looked at; residues whose address features
agree form a class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, prod

from cutune.measure import PROBE, MeasuredKernel, Measurement

LINE_BYTES = 128
TOLERANCE = 0.03
MAX_CLASSES = 64

Feature = tuple[float, ...]


def modulus(facts: MeasuredKernel) -> int:
    """Elements of the narrowest access per 128-byte line: the period of every alignment effect."""
    narrowest = min((memory.bytes for memory in facts.memory if not memory.shared), default=4)
    return max(8, min(LINE_BYTES, LINE_BYTES // narrowest))


def alignment_classes(
    facts: MeasuredKernel, measurements: Sequence[Measurement]
) -> tuple[tuple[int, ...], ...]:
    """Per data parameter the class of each residue modulo `modulus(facts)`; class 0 holds 0.

    All parameters together have at most 64 classes: until then ever less similar residues merge.
    """
    period = modulus(facts)
    features = _features_by_parameter(facts, measurements, period)
    tolerance = TOLERANCE
    while True:
        classes = [_cluster(features[name], period, tolerance) for name in facts.parameters]
        if prod(max(c) + 1 for c in classes) <= MAX_CLASSES:
            return tuple(classes)
        tolerance *= 1.5


def representatives(classes: Sequence[int]) -> list[int]:
    """Per class the residue that stands for it: the one met first in the order of clustering."""
    order = _by_alignment(len(classes))
    return [next(r for r in order if classes[r] == c) for c in range(max(classes) + 1)]


def _features_by_parameter(
    facts: MeasuredKernel, measurements: Sequence[Measurement], period: int
) -> dict[str, dict[int, list[Measurement]]]:
    """Per parameter and residue the probes in which every other parameter is aligned."""
    probes = [m for m in measurements if m.purpose == PROBE]
    result: dict[str, dict[int, list[Measurement]]] = {}
    for name in facts.parameters:
        found: dict[int, list[Measurement]] = {}
        for probe in probes:
            sizes = dict(probe.sizes)
            if all(sizes[p] % period == 0 for p in facts.parameters if p != name):
                found.setdefault(sizes[name] % period, []).append(probe)
        result[name] = found
    return result


def _cluster(
    probes: Mapping[int, list[Measurement]], period: int, tolerance: float
) -> tuple[int, ...]:
    leaders: list[Feature] = []
    classes = [0] * period
    for residue in _by_alignment(period):
        if residue not in probes:
            continue
        feature = _feature(probes[residue])
        for index, leader in enumerate(leaders):
            if _distance(feature, leader) <= tolerance:
                classes[residue] = index
                break
        else:
            classes[residue] = len(leaders)
            leaders.append(feature)
    return tuple(classes)


def _by_alignment(period: int) -> list[int]:
    """Residues, best aligned first: 0, period/2, period/4, …"""
    return sorted(range(period), key=lambda r: (-gcd(r, period), r))


def _feature(probes: Sequence[Measurement]) -> Feature:
    """Load, store and miss cost per execution, of each probed block in turn."""
    values: list[float] = []
    for probe in sorted(probes, key=lambda m: m.block):
        for attribute in ("load_cost_x20", "store_cost_x20", "new_sectors"):
            values.append(
                sum(getattr(site, attribute) / site.traced for site in probe.sites if site.traced)
            )
    return tuple(values)


def _distance(first: Feature, second: Feature) -> float:
    pairs = zip(first, second, strict=True)
    return max((abs(a - b) / max(a, b) for a, b in pairs if max(a, b) > 0), default=0.0)
