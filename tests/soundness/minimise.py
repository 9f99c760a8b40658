"""A failing program without the lines that do not matter. Takes a program and a test, gives text.

    python -m tests.soundness.minimise --seed 1 --number 165

Pieces of lines are left out, ever smaller ones, as long as the program still compiles and still
differs. What is left may have lost a guard against its own mistakes: check it with
`cutune run --check`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from cutune.toolchain.nvcc import Nvcc, find_nvcc
from tests.soundness.batches import SHAKER, build
from tests.soundness.generated import Campaign, Failure, differing, keep
from tests.soundness.generator import Generated, generated


def minimised(text: str, still_fails: Callable[[str], bool]) -> str:
    """The text without all lines that can go; `still_fails` is true for it."""
    pieces = text.splitlines()
    size = max(1, len(pieces) // 2)
    while True:
        start = 0
        while start < len(pieces):
            kept = pieces[:start] + pieces[start + size :]
            if still_fails("\n".join(kept)):
                pieces = kept
            else:
                start += size
        if size == 1:
            return "\n".join(pieces)
        size //= 2


def difference(
    nvcc: Nvcc, campaign: Campaign, program: Generated, sizes: Sequence[int]
) -> str | None:
    """What differs when a program is tried alone; None for one that does not compile, too."""
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        try:
            built = build(nvcc, [program], Path(folder))
        except RuntimeError:
            return None
        return differing(nvcc, built, campaign, sizes).get(program.name) if built.programs else None


def main() -> int:
    """The command line; writes the minimised program. Status 1 when it does not fail."""
    options = argparse.ArgumentParser(
        prog="python -m tests.soundness.minimise",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--number", type=int, required=True)
    options.add_argument("--sizes", type=int, nargs="+", default=[300, 37])
    options.add_argument("--seeds", type=int, default=6, help="random blocks per size")
    options.add_argument("--shaker", default=SHAKER)
    options.add_argument("--keep", type=Path, default=Path("."), help="folder for what is left")
    chosen = options.parse_args()
    campaign = Campaign(chosen.seed, chosen.seeds, len(chosen.sizes), 1, chosen.shaker)
    nvcc, program = find_nvcc(), generated(chosen.seed, chosen.number)
    what = difference(nvcc, campaign, program, chosen.sizes)
    if what is None:
        print(f"{program.name}: nothing differs")
        return 1

    def still_fails(text: str) -> bool:
        found = difference(nvcc, campaign, replace(program, text=text), chosen.sizes)
        return found is not None and found.startswith("differs") == what.startswith("differs")

    text = minimised(program.text, still_fails)
    keep(chosen.keep, Failure(replace(program, text=text), what))
    print(f"{program.name}: {what}\n{text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
