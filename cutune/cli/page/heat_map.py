"""The predicted time over blocks and variants. Takes a kernel at sizes, gives tables of cells.

A cell is a block, or the fastest of several where there are too many for a table. Its shade says
how much slower than the fastest of all it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from cutune.cli.page.charts import TimeUnit, ratio, unit_for
from cutune.cli.page.page_facts import AtSizes, Candidate
from cutune.proof.variants.bounds import NAME as BOUNDS
from cutune.source.program import DIMENSIONS
from cutune.toolchain.device.thread_block import Block, configuration_text, shape

#: Upper bounds of the shades, as multiples of the least time; beyond them is one more.
SHADES = (1.02, 1.1, 1.25, 1.5, 2.0, 4.0)
#: More widths than this are grouped by powers of two.
MOST_WIDTHS = 14
#: Columns of a table of blocks that differ in one dimension.
PER_ROW = 8


@dataclass(frozen=True)
class HeatCell:
    """A place of a table.

    Attributes:
        text: times the least time; empty: no candidate is there.
        shade: number of its shade. marks: `own`, `chosen`, or `stays` where both are one.
        title: the block and its time.
    """

    text: str = ""
    shade: int = 0
    marks: tuple[str, ...] = ()
    title: str = ""


@dataclass(frozen=True)
class HeatTable:
    """A table; `words`: what was done to the kernel; `corner`: what rows and columns are."""

    caption: str
    words: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]


def heat_tables(at: AtSizes) -> tuple[HeatTable, ...]:
    """A table per variant, and per depth of the blocks; the kernel itself first."""
    ranked = at.predicted
    if not ranked:
        return ()
    least = ranked[0].predicted_us or 1.0
    unit = unit_for([least])
    variants = dict.fromkeys(c.configuration.variant for c in at.candidates if c.predicted_us)
    tables: list[HeatTable] = []
    for variant in sorted(variants):
        own = {c.configuration.block: c for c in ranked if c.configuration.variant == variant}
        tables += _tables(variant, own, lambda c: _cell(c, at, least, unit))
    return tuple(tables)


def _cell(candidates: Sequence[Candidate], at: AtSizes, least: float, unit: TimeUnit) -> HeatCell:
    if not candidates:
        return HeatCell()
    best = min(candidates, key=lambda c: c.predicted_us or 0.0)
    us = best.predicted_us or 0.0
    here = {c.configuration for c in candidates}
    named = {"own": at.own, "chosen": at.chosen} if at.own != at.chosen else {"stays": at.own}
    marks = tuple(mark for mark, configuration in named.items() if configuration in here)
    # What is marked is what the place shows.
    marked = next((c for c in candidates if marks and c.configuration == named[marks[-1]]), best)
    us = marked.predicted_us or us
    shade = next((n for n, limit in enumerate(SHADES) if us <= limit * least), len(SHADES))
    title = f"{configuration_text(*marked.configuration)}: {unit(us)}"
    return HeatCell(ratio(us / least), shade, marks, title)


_Cells = Callable[[Sequence[Candidate]], HeatCell]


def _tables(variant: str, known: Mapping[Block, Candidate], cell: _Cells) -> Iterator[HeatTable]:
    name, words = variant or "the kernel itself", variant_words(variant)
    varying = [axis for axis in range(3) if len({block[axis] for block in known}) > 1]
    if len(varying) <= 1:
        yield _strip(name, words, varying[0] if varying else 0, known, cell)
        return
    depths = sorted({block[2] for block in known})
    for depth in depths:
        at = {block: one for block, one in known.items() if block[2] == depth}
        caption = name if len(depths) == 1 else f"{name}, z = {depth}"
        is_grouped = any(len({block[axis] for block in at}) > MOST_WIDTHS for axis in (0, 1))
        of_several = "; of several blocks the fastest" if is_grouped else ""
        yield _plane(caption, words + of_several, at, cell)


def _plane(caption: str, words: str, known: Mapping[Block, Candidate], cell: _Cells) -> HeatTable:
    columns, rows = (_groups({block[axis] for block in known}) for axis in (0, 1))

    def at(widths: set[int], heights: set[int]) -> HeatCell:
        return cell([one for (x, y, _), one in known.items() if x in widths and y in heights])

    cells = [
        (title, tuple(at(widths, heights) for _, widths in columns)) for title, heights in rows
    ]
    return HeatTable(caption, words, "y \\ x", tuple(title for title, _ in columns), tuple(cells))


def _groups(widths: Iterable[int]) -> list[tuple[str, set[int]]]:
    ordered = sorted(widths)
    if len(ordered) <= MOST_WIDTHS:
        return [(str(width), {width}) for width in ordered]
    groups: dict[int, set[int]] = {}
    for width in ordered:
        groups.setdefault(width.bit_length(), set()).add(width)
    return [(f"{min(g)}–{max(g)}" if len(g) > 1 else str(min(g)), g) for g in groups.values()]


def _strip(
    name: str, words: str, axis: int, known: Mapping[Block, Candidate], cell: _Cells
) -> HeatTable:
    """Blocks that differ in one dimension, in rows of eight: a block is its row plus its column."""
    blocks = sorted(known, key=lambda block: block[axis])
    sizes = [block[axis] for block in blocks]
    step = sizes[0]
    is_even = sizes == [step * (n + 1) for n in range(len(sizes))]
    if not is_even or len(sizes) <= PER_ROW:
        cells = tuple(cell([known[block]]) for block in blocks)
        return HeatTable(name, words, "block", tuple(map(shape, blocks)), (("time", cells),))
    columns = tuple(f"+{step * (n + 1)}" for n in range(PER_ROW))
    rows = []
    for start in range(0, len(blocks), PER_ROW):
        row = [cell([known[block]]) for block in blocks[start : start + PER_ROW]]
        padding = [HeatCell()] * (PER_ROW - len(row))
        rows.append((str(step * start), (*row, *padding)))
    return HeatTable(name, words, "row + column", columns, tuple(rows))


def variant_words(name: str) -> str:
    """A variant in words: `pointers are __restrict__, a thread does 4 ids of y`."""
    if not name:
        return "as the source has it"
    words = []
    for word in name.split("_"):
        if word == "restrict":
            words.append("pointers are __restrict__")
        elif word[:1] in DIMENSIONS and word[1:].isdecimal():
            words.append(f"a thread does {word[1:]} ids of {word[0]}")
        elif word.startswith(BOUNDS):
            threads, _, blocks = word.removeprefix(BOUNDS).partition("x")
            words.append(f"registers leave room for {blocks} blocks of {threads} threads")
    return ", ".join(words)
