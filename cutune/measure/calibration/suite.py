"""The calibration suite: which micro-kernels are run, at which sizes and with which blocks.

All kernels of kernels.cu take three arrays, the number of threads `n`, a pitch or stride `p` and a
trip count `q`. A case fixes these and the thread space; each of its blocks is timed on its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from cutune.toolchain.device.thread_block import Block

#: Words of each of the three arrays that every micro-kernel gets.
ARRAY_WORDS = 1 << 27

LINE = tuple((t, 1, 1) for t in (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024))
POWERS = tuple((t, 1, 1) for t in (32, 64, 128, 256, 512, 1024))
FEW = tuple((t, 1, 1) for t in (32, 64, 128, 256, 1024))
PLANE = tuple(
    (x, y, 1)
    for x, y in (
        *((32, 1), (64, 1), (128, 1), (256, 1), (512, 1), (1024, 1)),
        *((32, 2), (32, 4), (32, 8), (32, 16), (32, 32), (64, 4), (64, 8), (128, 2), (128, 4)),
        *((16, 4), (16, 8), (16, 16), (16, 32), (8, 8), (8, 16), (8, 32), (8, 128)),
        *((4, 16), (4, 64), (2, 64), (1, 256)),
    )
)
TILES = tuple(
    (x, y, 1)
    for x, y in (
        *((8, 8), (8, 16), (8, 32), (16, 4), (16, 8), (16, 16), (16, 32), (32, 4), (32, 8)),
        *((32, 16), (32, 32)),
    )
)
WIDE_TILES = (*TILES, *((x, y, 1) for x, y in ((64, 4), (64, 8), (64, 16), (128, 4), (128, 8))))
SOLID = tuple(
    (x, y, z)
    for x, y, z in (
        *((32, 1, 1), (64, 1, 1), (128, 1, 1), (256, 1, 1), (32, 4, 1), (32, 8, 1), (32, 16, 1)),
        *((32, 2, 2), (32, 4, 4), (32, 2, 8), (16, 4, 2), (16, 4, 4), (16, 8, 8), (8, 8, 4)),
        *((8, 4, 4), (64, 2, 2), (64, 4, 2)),
    )
)


@dataclass(frozen=True)
class MicroBenchmark:
    """A micro-kernel with its arguments. `extents`: threads of the grid. `blocks`: those timed."""

    kernel: str
    extents: Block
    n: int
    p: int
    q: int
    blocks: tuple[Block, ...]

    @property
    def name(self) -> str:
        sizes = "x".join(str(size) for size in self.extents if size > 1)
        return f"{self.kernel} {sizes} p={self.p} q={self.q}"


def source() -> str:
    file = resources.files("cutune.measure.calibration") / "kernels.cu"
    return file.read_text(encoding="utf-8")


def _line(kernel: str, n: int, p: int, q: int, blocks: tuple[Block, ...] = LINE) -> MicroBenchmark:
    return MicroBenchmark(kernel, (n, 1, 1), n, p, q, blocks)


def _plane(kernel: str, n: int, p: int, q: int) -> MicroBenchmark:
    return MicroBenchmark(kernel, (n, q, 1), n, p, q, PLANE)


def cases() -> Iterator[MicroBenchmark]:
    """Yield all micro-benchmarks, cheap ones first."""
    yield from _without_loops()
    yield from _with_loops()


def _without_loops() -> Iterator[MicroBenchmark]:
    yield from (_line("empty", 1 << exponent, 0, 0, FEW) for exponent in (13, 16, 19, 22))
    yield from (_line("combine", 1 << exponent, 0, 0) for exponent in (16, 20, 22, 24, 26))
    yield from (_line("copy", mebi << 20, 0, 0) for mebi in (1, 2, 3, 5, 6, 8))
    for exponent in (22, 25):
        yield _line("copy", 1 << exponent, 0, 0)
        yield _line("many_arrays", 1 << exponent, 1 << exponent, 0)
        yield _line("combine_double", 1 << exponent, 0, 0)
    yield _line("window", 1 << 22, 1, 0)
    yield _line("window", 1 << 24, 1, 0)
    yield _line("window", 1 << 22, 1000, 0)
    yield from (_line("records_read", 1 << 20, words, 0) for words in (3, 7, 16))
    yield _line("records_read", 1 << 22, 7, 0)
    yield from (_line("records_move", 1 << 20, words, 0) for words in (3, 4, 8))
    yield from (_line("records_move_all", 1 << 20, words, 0) for words in (7, 8, 12))
    yield _line("records_move_all", 1 << 22, 7, 0)
    for exponent in (22, 25):
        yield _line("copy_bytes", 1 << exponent, 0, 0)
        yield _line("copy_wide", 1 << (exponent - 2), 0, 0)
    for pitch in (1000, 1024, 1400, 1536, 1801, 2048, 2600, 3072, 4100):
        yield _plane("plane_window", pitch - 2, pitch, pitch - 2)
    for pitch in (1000, 1536, 2048, 2600, 4100):
        yield _plane("plane_update", pitch - 2, pitch, pitch - 2)
        yield _plane("plane_copy", pitch, pitch, pitch)
        yield _plane("plane_turn", pitch, pitch, pitch)
    yield from (_plane("plane_bytes", pitch - 2, pitch, pitch - 2) for pitch in (1024, 3001))
    for pitch in (128, 200, 400):
        inner = pitch - 2
        yield MicroBenchmark("solid_window", (inner, inner, inner), inner, pitch, inner, SOLID)


def _with_loops() -> Iterator[MicroBenchmark]:
    # Loops over memory: these kernels have no guard, so that the grid has to fit.
    whole = tuple(block for block in PLANE if block[0] <= 512)
    for pitch in (512, 1001):
        extents = (512, 512, 1)
        yield MicroBenchmark("store_loop", extents, 1 << 20, pitch, 128, whole)
        yield MicroBenchmark("update_loop", extents, 0, pitch, 128, whole)
        yield MicroBenchmark("product_loop", extents, 0, pitch, 512, whole)
        yield MicroBenchmark("rows_loop", extents, 0, pitch, 512, whole)
    yield MicroBenchmark("product_loop", (1024, 2048, 1), 0, 2049, 256, PLANE)
    yield MicroBenchmark("update_loop", (1024, 1024, 1), 0, 1028, 256, PLANE)
    for stride in (1, 2, 7, 8, 28, 32, 100):
        yield _line("stride_loop", 1 << 18, stride, 512, POWERS)
    for n in (1024, 4096, 8192):
        yield _line("column_walk", n, n, 1024)
        yield _line("row_walk", n, 1024, 1024)
        yield _line("row_walk", n, 1021, 1021)
        yield _line("row_update", n, 1024, 256)
    yield _line("column_walk", 1 << 16, 1 << 16, 1024)
    yield _line("column_walk", 1 << 18, 1 << 18, 64)
    yield _line("row_walk", 1 << 17, 256, 256)
    yield MicroBenchmark("wide_walk", (1 << 18, 1, 1), 1 << 21, (1 << 18) + (1 << 15), 64, POWERS)
    yield from (_line("chase", 32, pitch, 512, ((32, 1, 1),)) for pitch in (0, 64, 1 << 14))
    yield _line("chase", 1 << 16, 64, 256)
    yield _line("chase", 1 << 18, 64, 128)
    yield _line("uneven_loop", 4096, 8, 64)
    yield _line("uneven_loop", 1 << 17, 2, 16)
    for kernel in ("fma_loop", "double_loop", "integer_loop", "root_loop"):
        yield _line(kernel, 1 << 18, 1, 256, POWERS)
    for kernel in ("quotient_loop", "double_quotient_loop", "remainder_loop"):
        yield _line(kernel, 1 << 18, 1, 64, POWERS)
    yield _line("fma_loop", 1 << 14, 1, 1024, POWERS)
    yield from (_line("shared_loop", 1 << 18, stride, 256, POWERS) for stride in (1, 2, 4, 32))
    yield _line("barrier_loop", 1 << 18, 0, 128)
    yield _line("barrier_loop", 1 << 14, 0, 512)
    for extent in (512, 1024, 2048):
        yield MicroBenchmark("tile_turn", (extent, extent, 1), 0, extent, 0, TILES)
    for extent in (512, 1024):
        yield MicroBenchmark("tile_loop", (extent, extent, 1), 0, extent, extent // 16, WIDE_TILES)
    yield from (_line("block_sum", 1 << exponent, 0, 0, POWERS) for exponent in (18, 22, 24))
    yield _line("atomic_apart", 1 << 22, 0, 0, POWERS)
    yield from (_line("atomic_few", 1 << 20, addresses, 0, POWERS) for addresses in (1, 32, 1024))
    yield _line("atomic_few_double", 1 << 20, 1, 0, POWERS)
    yield _line("atomic_few_integer", 1 << 20, 1, 0, POWERS)
    yield _line("atomic_loop", 1 << 16, 1 << 20, 64, POWERS)
    yield from (_line("constant_filter", 1 << 18, 0, count) for count in (32, 128, 512))
