"""Lines per second of lexing and recognising, and of proving with textual macros; CPU time of
`cutune inspect` as a whole process, without nvcc, on a file of 2,000 lines."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cutune.core.source import Source
from cutune.proof.analysis.analyze import analyze
from cutune.source.syntax.parse import parse
from cutune.source.unit.unit_texts import UnitTexts
from cutune.start import collect_seldom

SAMPLES = Path(__file__).parents[1] / "samples" / "polybench"
COPIES = 30
ROUNDS = 3
LINES_OF_A_FILE = 2000


def main() -> None:
    """Time the samples, joined to one long file."""
    collect_seldom()  # as the command does
    texts = [path.read_text(encoding="latin-1") for path in sorted(SAMPLES.glob("*.cu"))]
    long = Source("long.cu", "\n".join(texts * COPIES))
    lines = long.text.count("\n")
    best = min(_seconds(lambda: parse(long)) for _ in range(ROUNDS))
    print(f"  lex and recognise: {lines / best:,.0f} lines/s ({lines:,} lines)")
    sources = [Source(f"{i}.cu", text) for i, text in enumerate(texts)]
    lines = sum(text.count("\n") for text in texts)
    best = min(
        _seconds(lambda: [analyze(UnitTexts.read(parse(s))) for s in sources])
        for _ in range(ROUNDS)
    )
    print(f"  analyze: {lines / best:,.0f} lines/s ({best / len(sources) * 1e3:.1f} ms per sample)")
    best = min(_inspect_seconds(texts) for _ in range(ROUNDS))
    print(f"  cutune inspect: {best:.2f} s of CPU time for {LINES_OF_A_FILE:,} lines")


def _inspect_seconds(texts: list[str]) -> float:
    """CPU time of the process, its start included."""
    lines = "\n".join(texts * COPIES).split("\n")[:LINES_OF_A_FILE]
    while not lines[-1].startswith("}"):
        del lines[-1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.cu"
        path.write_text("\n".join(lines), encoding="latin-1")
        # A compiler that is not there: textual macros, as on a machine without the toolkit.
        environment = {**os.environ, "CUDACXX": str(Path(folder) / "nvcc")}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "cutune", "inspect", str(path)]
        subprocess.run(command, env=environment, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def _seconds(action: object) -> float:
    assert callable(action)
    start = time.process_time()
    action()
    return time.process_time() - start
