"""Lines per second of lexing and recognising, and of proving with textual macros."""

from __future__ import annotations

import time
from pathlib import Path

from cutune.analyze import analyze
from cutune.source import Source
from cutune.syntax import parse

SAMPLES = Path(__file__).parents[1] / "samples" / "polybench"
COPIES = 30
ROUNDS = 3


def main() -> None:
    """Time the samples, joined to one long file."""
    texts = [path.read_text(encoding="latin-1") for path in sorted(SAMPLES.glob("*.cu"))]
    long = Source("long.cu", "\n".join(texts * COPIES))
    lines = long.text.count("\n")
    best = min(_seconds(lambda: parse(long)) for _ in range(ROUNDS))
    print(f"  lex and recognise: {lines / best:,.0f} lines/s ({lines:,} lines)")
    sources = [Source(f"{i}.cu", text) for i, text in enumerate(texts)]
    lines = sum(text.count("\n") for text in texts)
    best = min(_seconds(lambda: [analyze(parse(s)) for s in sources]) for _ in range(ROUNDS))
    print(f"  analyze: {lines / best:,.0f} lines/s ({best / len(sources) * 1e3:.1f} ms per sample)")


def _seconds(action: object) -> float:
    assert callable(action)
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
