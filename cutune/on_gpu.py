"""A program on a real GPU: built with its hooks, run in record and sweep mode. Lines out.

Nothing here needs a GPU to be imported, nor any library for one: the program itself launches and
times, with events, on the same contents of memory for each candidate.
"""

from __future__ import annotations

from collections.abc import Mapping

from cutune.candidates import Block, candidate_blocks
from cutune.program import DIMENSIONS, LaunchSite, Program

#: The dimensions of a launch whose block is not known yet.
NO_BLOCK = (1, 1, 1)


def gpu_target(architecture: str) -> tuple[str, ...]:
    """Options of nvcc for a program that runs on a GPU and needs nothing beside it."""
    return ("-cudart", "static", f"-arch={architecture}")


def candidates_text(
    program: Program, candidate_set: str, own: Mapping[int, Block] | None = None
) -> str:
    """The file `CUTUNE_CANDIDATES` for all tunable launches: lines `site x y z`.

    Args:
        own: the program's own block per launch site; without it, dimensions that are not free
            are taken to have one thread.
    """
    lines = []
    for site in program.tunable_launches:
        kept = (own or {}).get(site.id, NO_BLOCK)
        blocks = site_candidates(program, site, candidate_set, kept)
        lines += [f"{site.id} {x} {y} {z}\n" for x, y, z in blocks if (x, y, z) != NO_BLOCK]
    return "".join(lines)


def site_candidates(
    program: Program, site: LaunchSite, candidate_set: str, kept: Block
) -> tuple[Block, ...]:
    """The blocks that one launch may be given, its own among them."""
    kernel = program.kernel(site.kernel)
    assert kernel is not None, "a tunable launch has a kernel"
    free = [name in kernel.pure_dimensions for name in DIMENSIONS]
    return candidate_blocks(free, kept, candidate_set, kernel.max_threads, kernel.allowed)
