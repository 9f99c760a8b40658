"""Feature launches that are put together from others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from cutune.model.measurement.alignment import (
    Cells,
    Row,
    alignment_classes,
    all_misaligned,
    all_rows,
    cells,
)
from cutune.model.measurement.measurement import (
    Measurement,
    MemoryInstruction,
    Purpose,
    SiteCounters,
)
from cutune.toolchain.device.thread_block import Block
from tests.support import measured_kernel

BLOCK: Block = (32, 8, 1)
BASE = 512
LOADS = 3
KERNEL = replace(
    measured_kernel.KERNEL,
    parameters=("n", "m"),
    positions=(0, 1),
    free=(True, True, False),
    guards=("n", "m", None),
    compiled=measured_kernel.compiled(
        MemoryInstruction(k, "load", 16, 0, False) for k in range(LOADS)
    ),
)
PERIOD = 8

Cost = Callable[[int, int, int], int]


def launch(purpose: str, n: int, m: int, cost: Cost) -> Measurement:
    """A launch whose k-th load costs `cost(k, n, m)` sectors; negative: it is not executed."""
    sites = []
    for k in range(LOADS):
        each = cost(k, n, m)
        executed = 100 if each >= 0 else 0
        sites.append(
            SiteCounters(
                executions=executed,
                lanes=32 * executed,
                busiest=executed,
                traced=executed,
                load_cost_x20=20 * each * executed,
                store_cost_x20=0,
                rewritten_sectors=0,
                new_sectors=each * executed,
                missing=0,
                array=k,
                low=0,
                high=0,
                sectors=each * executed,
                lines=executed,
            )
        )
    sizes = (("n", BASE + n), ("m", BASE + m))
    return Measurement("_Z1k", "code", purpose, "", sizes, BLOCK, BLOCK, 1, 1, (), (), tuple(sites))


def probes(cost: Cost) -> list[Measurement]:
    residues = {(r, 0) for r in range(PERIOD)} | {(0, r) for r in range(PERIOD)}
    return [launch(Purpose.PROBE, n, m, cost) for n, m in residues]


def collected(cost: Cost, rows: Iterable[Row]) -> Cells:
    """Launches of some rows, each by the first residue of its classes."""
    made = probes(cost)
    classes = alignment_classes(KERNEL, made)
    for row in rows:
        n, m = (of_one.index(c) for of_one, c in zip(classes, row, strict=True))
        made.append(launch(Purpose.FEATURES, n, m, cost))
    return cells(KERNEL, classes, made)


def apart(k: int, n: int, m: int) -> int:
    """The first load is sensitive to n, the second to m, the third to nothing."""
    return (4 + (n % 4 > 0), 4 + 3 * (m % 2), 8)[k]


def jointly(k: int, n: int, m: int) -> int:
    return apart(k, n, m) if k else 4 + (n % 4 > 0) + 8 * (n * m % 2)


def test_who_feels_what() -> None:
    assert list(map(set, collected(apart, []).sensitive_to)) == [{0}, {1}, set()]


def test_what_is_put_together_is_what_a_launch_would_have_shown() -> None:
    classes = alignment_classes(KERNEL, probes(apart))
    rows = collected(apart, []).basis_rows(classes)
    assert rows == {(0, 0), (1, 0), (0, 1)}
    few, full = collected(apart, rows), collected(apart, all_rows(classes))
    for row in all_rows(classes):
        composed, made = few.at(row, BLOCK), full.at(row, BLOCK)
        assert composed is not None
        assert made is not None
        assert composed.sites == made.sites


def test_many_sizes_can_all_be_out_of_line() -> None:
    assert all_misaligned([tuple(range(8))] * 6) == (3, 5, 7, 1, 3, 5)


def test_missing_parts_are_missing() -> None:
    assert collected(apart, [(0, 0), (1, 0)]).at((1, 1), BLOCK) is None


def test_alignments_that_matter_only_together_are_noticed() -> None:
    rows = [(0, 0), (1, 0), (0, 1), (1, 1)]
    assert collected(apart, rows).are_sound((1, 1), [BLOCK])
    assert not collected(jointly, rows).are_sound((1, 1), [BLOCK])


def test_remainders_are_taken_from_where_they_are_executed() -> None:
    def cost(k: int, n: int, m: int) -> int:
        return apart(k, n, m) if k < 2 else (6 if n % 4 else -1)

    classes = alignment_classes(KERNEL, probes(cost))
    few = collected(cost, collected(cost, []).basis_rows(classes))
    composed = few.at((1, 1), BLOCK)
    assert composed is not None
    assert [site.sectors // 100 for site in composed.sites] == [5, 7, 6]
