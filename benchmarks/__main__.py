"""Run benchmarks by name; all when none is named. Each prints a line per figure."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial

from benchmarks import (
    decision,
    emulator,
    front_end,
    inspect_time,
    regret,
    repeated,
    sampling,
    spaces,
    tridiagonal,
    tunable,
    wrapper,
)

BENCHMARKS: dict[str, Callable[[], object]] = {
    "tridiagonal": tridiagonal.main,
    "front_end": front_end.main,
    "emulator": emulator.main,
    "sampling": sampling.main,
    "spaces": spaces.main,
    "decision": decision.main,
    "regret": partial(regret.main, with_variants="--variants" in sys.argv),
    "wrapper": wrapper.main,
    "repeated": repeated.main,
    "tunable": tunable.main,
    "inspect_time": inspect_time.main,
}


def main() -> int:
    """Run what the command line names."""
    names = [word for word in sys.argv[1:] if word != "--variants"] or list(BENCHMARKS)
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; known: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    for name in names:
        print(f"{name}:")
        BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    sys.exit(main())
