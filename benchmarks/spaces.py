"""How long published spaces take to be solved, and how much memory; one process each."""

from __future__ import annotations

import random
import resource
import subprocess
import sys
import time

from tests.support.published_spaces import SPACES, space_of

_DRAWS = 2000


def main() -> None:
    """A line per space."""
    for name in SPACES:
        subprocess.run([sys.executable, "-m", "benchmarks.spaces", name], check=True)


def solve(name: str) -> None:
    """Solve one space, and draw from it."""
    space = space_of(name)
    start = time.perf_counter()
    size = space.size
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    generator = random.Random(1)
    start = time.perf_counter()
    for _ in range(_DRAWS):
        space.configuration(generator.randrange(size))
    draw = (time.perf_counter() - start) / _DRAWS * 1e6
    print(
        f"{name}: {space.raw_size:,} to {size:,} in {seconds:.3f} s, {peak:.0f} MB; "
        f"{draw:.0f} us per draw"
    )


if __name__ == "__main__":
    solve(sys.argv[1])
