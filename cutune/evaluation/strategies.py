"""Other ways to choose configurations: by habit, by occupancy, by timings at other sizes.

Takes the launches of a sweep, gives per launch the configuration that each strategy would use, or
None where the strategy has no answer. The models are compared with these (Table 3 of the paper has
the source's default; the others are what people do instead of modelling). Who reuses timings may
have timed variants as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from cutune.device.occupancy import BlockResources, resident_blocks
from cutune.device.profile import DeviceProfile
from cutune.device.thread_block import Block
from cutune.fit.measurement.sweep import SweptConfiguration, SweptLaunch

OWN, OCCUPANCY, REUSED, NEAREST, FIXED = (
    "the source's default",
    "occupancy API",
    "best at the training size, reused",
    "best at the nearest size",
    "best fixed block",
)
#: The usual width of a block of which only the number of threads is known.
USUAL_WIDTH = 32

Answer = SweptConfiguration | None
Strategy = Callable[[SweptLaunch], Answer]


def own(launch: SweptLaunch) -> Answer:
    """The kernel itself in the source's own block."""
    return SweptConfiguration(launch.own)


def by_occupancy(device: DeviceProfile) -> Strategy:
    """Choose as `cudaOccupancyMaxPotentialBlockSize`: most resident threads, then the most threads.

    Of the shapes with that many threads the one whose width is nearest to a warp.
    """

    def choose(launch: SweptLaunch) -> Answer:
        registers, shared = launch.registers, launch.shared_bytes
        if registers is None or shared is None:
            return None

        def preference(block: Block) -> tuple[int, int, float]:
            threads = math.prod(block)
            resources = BlockResources(threads, registers, shared)
            resident = resident_blocks(resources, device.limits) * threads
            return (resident, threads, -abs(math.log2(block[0] / USUAL_WIDTH)))

        return SweptConfiguration(max(launch.microseconds, key=preference))

    return choose


def reused(launches: Sequence[SweptLaunch], train: int | None) -> Strategy:
    """The fastest at the training size; without one, at the smallest size of the kernel."""

    def choose(launch: SweptLaunch) -> Answer:
        known = [other for other in _same_kernel(launches, launch) if other.size != launch.size]
        if train is None:
            smallest = min(known, key=_size, default=None)
            at = smallest if smallest is not None and _size(smallest) < _size(launch) else None
        else:
            at = next((other for other in known if other.size == train), None)
        return None if at is None else _if_valid(at.fastest, launch)

    return choose


def nearest(launches: Sequence[SweptLaunch]) -> Strategy:
    """The fastest at the nearest other size, by ratio; of two the smaller."""

    def choose(launch: SweptLaunch) -> Answer:
        known = [other for other in _same_kernel(launches, launch) if other.size != launch.size]
        if not known:
            return None
        at = min(known, key=lambda other: (_distance(other, launch), _size(other)))
        return _if_valid(at.fastest, launch)

    return choose


def fixed(launches: Sequence[SweptLaunch]) -> Strategy:
    """The best single block for all kernels with the same number of dimensions."""
    best: dict[int, SweptConfiguration] = {}
    for dimensions in {_dimensions(launch) for launch in launches}:
        alike = [launch for launch in launches if _dimensions(launch) == dimensions]
        common = set.intersection(*(set(launch.microseconds) for launch in alike))
        if common:
            best[dimensions] = min(
                (SweptConfiguration(block) for block in sorted(common)),
                key=lambda chosen: sum(math.log1p(one.regret(chosen)) for one in alike),
            )

    def choose(launch: SweptLaunch) -> Answer:
        return best.get(_dimensions(launch))

    return choose


def _same_kernel(launches: Sequence[SweptLaunch], like: SweptLaunch) -> list[SweptLaunch]:
    named = (like.program, like.kernel)
    return [one for one in launches if (one.program, one.kernel) == named and one.size is not None]


def _size(launch: SweptLaunch) -> int:
    return launch.size or 0


def _distance(first: SweptLaunch, second: SweptLaunch) -> float:
    return abs(math.log(_size(first) / max(1, _size(second))))


def _dimensions(launch: SweptLaunch) -> int:
    """The number of dimensions in which the blocks of a sweep vary."""
    return sum(len(set(axis)) > 1 for axis in zip(*launch.microseconds, strict=True))


def _if_valid(chosen: SweptConfiguration, launch: SweptLaunch) -> Answer:
    return chosen if chosen in launch.times else None
