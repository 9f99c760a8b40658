"""A process that fuzzes one reader, guided by coverage: started by `python -m tests.fuzzing`.

An input that fails is kept, one for each place, and the search goes on. What ends the process
itself (a crash of native code, a hang outside of Python, too much memory) is libFuzzer's to save.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import atheris

from tests.fuzzing.failures import MOST_SECONDS, Watched, failure_of

#: Without instrumentation a reader is several times as fast; who minimises looks again.
SLOWER = 4
#: Wall-clock seconds, memory in MB, after which libFuzzer ends the process.
_MOST_WALL_SECONDS, _MOST_MEGABYTES = 60, 2_300


def fuzz(reader: str, corpus: Path, findings: Path, seconds: int, seed: int) -> None:
    """Fuzz for so long; does not return."""
    with atheris.instrument_imports(include=["cutune"], enable_loader_override=False):
        from tests.fuzzing.reader import reader_named  # noqa: PLC0415

        target = reader_named(reader)
        for path in sorted(corpus.iterdir())[:20]:  # what is imported late is imported now
            failure_of(path.read_bytes(), target.check)

    def mutator(data: bytes, most: int, number: int) -> bytes:
        if number % 3 == 0:
            return bytes(atheris.Mutate(data, most))
        return target.mutated(data, number, most)

    watched: Callable[[bytes], None] = Watched(target.check, findings, MOST_SECONDS * SLOWER)
    words = [
        *(f"-max_total_time={seconds}", f"-max_len={target.most_bytes}", f"-seed={seed}"),
        *(f"-timeout={_MOST_WALL_SECONDS}", f"-rss_limit_mb={_MOST_MEGABYTES}"),
        *("-print_final_stats=1", "-reload=1", f"-artifact_prefix={findings}/", str(corpus)),
    ]
    atheris.Setup([sys.argv[0], *words], watched, custom_mutator=mutator)
    atheris.Fuzz()


def main(words: Sequence[str]) -> None:
    """Reader, corpus, folder of findings, seconds, seed."""
    reader, corpus, findings, seconds, seed = words
    fuzz(reader, Path(corpus), Path(findings), int(seconds), int(seed))


if __name__ == "__main__":
    main(sys.argv[1:])
