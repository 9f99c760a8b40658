"""CSV: results of searches in any form, and tables of times by size."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.lab.interchange.convert import FORMATS, ReadingOptions, read_results
from cutune.lab.interchange.csv_table import Meaning
from cutune.search.neighbours.table import Columns, read_labels, read_table
from tests.fuzzing.reader import RECORDED, Reader, Scratch

PIECES = (
    *("n", "m", "block", "ms", "ms_0", "status", "device", "kernel", "code", "time", "seconds"),
    *(
        "ok",
        "compile",
        "limits",
        "wrong",
        "timeout",
        ",",
        '"',
        '""',
        "\n",
        "\r\n",
        "\r",
        "#",
        "\x00",
    ),
    *("nan", "inf", "-1", "1e999", "99999999999999999999", "0.5", "1_0", "0x10", "\ufeff", "\x85"),
    *("timestamp", "times", "compile_ms", "GPU A", " ", ";", "\t", "True", "null", "n=1", "1/3"),
)
_SCRATCH = Scratch()


def check(data: bytes) -> None:
    """Read it in each way, and write what was read in every form."""
    path = _SCRATCH.file("table.csv", data)
    for meaning in (Meaning(), Meaning(("n",), "ms")):
        with _diagnosed():
            found = read_results(path, ReadingOptions(name="csv", meaning=meaning), _rendered)
            for one in FORMATS:
                with _diagnosed():
                    one.write(found)
    with _diagnosed():
        read_results(path, ReadingOptions(), _rendered)
    columns = Columns(("n",), ("block",), "ms", (), "n > block")
    with _diagnosed():
        table = read_table(path, columns)
        assert all(table.best[point] for point in table.points)
    with _diagnosed():
        read_labels(path, Columns(("n",), ("block",)))


class _diagnosed(suppress):
    """Diagnostics pass, and can be shown."""

    def __init__(self) -> None:
        super().__init__(CutuneError)

    def __exit__(self, kind: object, error: object, trace: object) -> bool:
        if isinstance(error, CutuneError):
            error.diagnostic.render()
            return True
        return False


def _rendered(said: Diagnostic) -> None:
    said.render()


def seeds() -> Iterator[bytes]:
    """Recorded tables, shortened, and small ones."""
    yield b"n,block,ms\n100,32,0.5\n200,64,0.25\n200,32,\n"
    yield b"n,device,block,mode,status,ms,ms_0,ms_1,code\n1,GPU A,32,fast,ok,2,2,2.5,abc\n"
    yield b"block,status,ms\n32,compile,\n64,limits,\n"
    for name in ("bat/sort_h100.csv", "tridiagonal_h200.csv"):
        yield b"".join((RECORDED / name).read_bytes().splitlines(keepends=True)[:12])


Read = Callable[[bytes], None]
READER = Reader(check, seeds, PIECES, 4_000)
