"""What ncu prints: counters as CSV, among lines of the program."""

from __future__ import annotations

from collections.abc import Iterator

from cutune.core.diagnostics import CutuneError
from cutune.measure.gpu_sweep import explained, parse_profile
from tests.fuzzing.reader import RECORDED, Reader

PIECES = (
    *('"ID"', '"Kernel Name"', '"Grid Size"', '"Block Size"', '"(32, 8, 1)"', '"(1, 1"', '","'),
    *('"', '""', ",", "\n", "\n\n", '"0"', '"n/a"', '"1,024"', "1e999", "nan", "inf", "-1", "\x00"),
    *("(", ")", "==PROF==", "99999999999999999999", "\r", "\x85", "\xb2", "ERR_NVGPUCTRPERM"),
)


def check(data: bytes) -> None:
    """Read it as what a process has printed."""
    text = data.decode("utf-8", "replace")
    explained(text)
    try:
        parse_profile(text)
    except CutuneError as error:
        error.diagnostic.render()


def seeds() -> Iterator[bytes]:
    """The recorded output, and the same with few columns and launches."""
    recorded = (RECORDED / "ncu_mvt_h200.csv").read_bytes()
    lines = recorded.splitlines(keepends=True)
    yield b"".join(lines[:9])
    yield recorded
    few = [b",".join(line.split(b'",')[0:1]) for line in lines[:9]]
    yield b"\n".join(few)


READER = Reader(check, seeds, PIECES)
