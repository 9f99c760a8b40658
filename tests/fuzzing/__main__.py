"""The command line: fuzz a reader, or read an input again."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.fuzzing.reader import READERS
from tests.fuzzing.run import replay, run


def main() -> int:
    """Fuzz; status 1 when anything failed."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzzing", description=__doc__)
    options.add_argument("reader", choices=READERS)
    options.add_argument("folder", nargs="?", type=Path, help="for findings and summary")
    options.add_argument("--minutes", type=float, default=1.0, help="of the clock, seeds included")
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--seed", type=int, default=1, help="of the first process")
    options.add_argument("--replay", type=Path, help="read this input, and say how it ends")
    asked = options.parse_intermixed_args()
    if asked.replay is not None:
        return replay(asked.reader, asked.replay)
    if asked.folder is None:
        options.error("name a folder for findings and summary")
    if find_spec("atheris") is None:
        print("atheris is missing: pip install 'cutune[fuzz]' (Linux)", file=sys.stderr)
        return 2
    found = run(asked.reader, asked.minutes, asked.processes, asked.seed, asked.folder)
    print(
        f"{found.reader}: {found.inputs} inputs, {found.edges} edges, {found.cpu_seconds} s of CPU,"
        f" {found.restarts} restarts, {len(found.findings)} findings"
    )
    for place, message in found.findings.items():
        print(f"  {place}: {message}")
    return 1 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
