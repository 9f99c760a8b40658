"""Which blocks to propose for a kernel. Takes its text, gives `block(…)` and `grid(…)`.

Only what is easy to see: a dimension in which the text does not ask how wide the block is has one
width alone; where the index of a block stands alone, the number of blocks stays; shared arrays with
a thread's index are at least as long as the block is wide; halving a width needs powers of two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from cutune.source.program import DIMENSIONS, Kernel
from cutune.source.syntax.parse import parse
from cutune.toolchain.device.thread_block import LARGEST, LARGEST_Z, WARP

#: A cast, and opening brackets.
_CAST = r"(?:\(\s*[\w\s:]+\)\s*)*\(*\s*"
_SHARED = re.compile(r"(?<!extern )__shared__\s+([^;]*);")
_ARRAY = re.compile(r"(\w+)\s*((?:\[[^\]]+\]\s*)+)")
_EXTERN = re.compile(r"\bextern\s+__shared__\s[^;]*?(\w+)\s*\[\s*\]\s*;")
#: The head of a loop.
_FOR = re.compile(r"\bfor\s*\([^;]*;[^;]*;[^;{)]*\)")
#: Behind the width of a block, perhaps: what makes it a number of warps.
_WARPS = r"(?:\s*/\s*\w+|\s*>>\s*5)?"
#: Storage of a collective of cub, named by its type or by another name of that type.
_STORAGE = re.compile(r"(\w+)\s*(?:<[^;]*>)?\s*::\s*TempStorage\b")
#: A name behind which arguments stand, perhaps those of a template first.
_CALL = re.compile(r"\b(\w+)\s*(?:<[^;<>()]*>\s*)?\(")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Proposal:
    """A proposed annotation.

    `blocks`: widths per dimension, as they are written; `kept_grids`: dimensions whose grid stays.
    """

    blocks: dict[str, str]
    kept_grids: tuple[str, ...]

    @property
    def clauses(self) -> str:
        """block(…), and grid(…) where it is needed."""
        block = ", ".join(f"{d}: {widths}" for d, widths in self.blocks.items())
        if not self.kept_grids:
            return f"block({block})"
        last = DIMENSIONS.index(self.kept_grids[-1]) + 1
        grid = ", ".join("keep" if d in self.kept_grids else "1" for d in DIMENSIONS[:last])
        return f"block({block}) grid({grid})"


def proposal(kernel: Kernel) -> Proposal | None:
    """The blocks that the text allows; None where it allows one alone."""
    text = _text(kernel)
    if collective(kernel) is not None:
        return None
    free = [d for d in DIMENSIONS if _has(rf"blockDim\s*\.\s*{d}\b", text)]
    # Where the index of a block stands alone, another number of blocks is other work.
    kept_grids = [d for d in free if not _has(_global_id(d, text), text)]
    # A formula of the grid has no word for a dimension that follows its number of threads.
    chosen = kept_grids or free
    limits = {d: _limit(d, text, kernel) for d in chosen}
    least = WARP if chosen == ["x"] or kernel.warp_level else 1
    blocks = {
        d: _widths(least if d == "x" else 1, limits[d], _has(_half(d, text), text)) for d in chosen
    }
    if not chosen or prod(limits.values()) < WARP or not all(blocks.values()):
        return None
    return Proposal(blocks, tuple(kept_grids))


def keeps_memory(kernel: Kernel) -> bool:
    """Do its dynamic shared arrays, as far as is easy to see, not follow the block?

    No statement about them, or about pointers into them, names a thread's index or the width of a
    block. A loop over an array may stride by the block.
    """
    text = _FOR.sub(" ", _text(kernel))
    arrays = set(_EXTERN.findall(text))
    before: set[str] = set()
    while arrays != before:
        before = set(arrays)
        inside = "|".join(map(re.escape, arrays))
        arrays |= set(re.findall(rf"(\w+)\s*=[^=;]*\b(?:{inside})\b", text))
    is_array = re.compile(rf"\b(?:{'|'.join(map(re.escape, arrays))})\b")
    moving = [_called(name, d, text) for name in ("threadIdx", "blockDim") for d in DIMENSIONS]
    about = [one for one in re.split(r"[;{}]", text) if arrays and is_array.search(one)]
    return bool(about) and not any(_has("|".join(moving), one) for one in about)


def collective(kernel: Kernel) -> str | None:
    """A collective of a whole block, whose width is an argument of its template."""
    for name in _STORAGE.findall(_text(kernel)):
        alias = re.search(
            rf"\busing\s+{name}\s*=([^;]*);|\btypedef\s+([^;]*?)\b{name}\s*;", kernel.source.text
        )
        type_ = (alias[1] or alias[2]) if alias is not None else name
        if not re.search(r"\bWarp[A-Z]", type_):
            return str(name)
    return None


def _text(kernel: Kernel) -> str:
    """The kernel, and behind it the functions of its file that it calls, by their names."""
    syntax = parse(kernel.source)
    left = {
        function.name: syntax.text((function.first, function.body[1]))
        for function in syntax.functions
        if function.is_device_code and not function.is_kernel and function.body is not None
    }
    texts = [_COMMENT.sub(" ", kernel.source[kernel.span])]
    for text in texts:
        called = [name for name in _CALL.findall(text) if name in left]
        texts += [_COMMENT.sub(" ", left.pop(name)) for name in dict.fromkeys(called)]
    return "\n".join(texts)


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None


def _called(builtin: str, d: str, text: str, part: str = "") -> str:
    """A built-in, or a variable that is one, or `part` of it: NAME "=" threadIdx.x (";" | ",")."""
    own = rf"\b{builtin}\s*\.\s*{d}\b"
    names = re.findall(rf"(\w+)\s*=\s*{_CAST}{own}{part}\s*[;,]", text)
    return "(?:" + "|".join([own, *(rf"\b{name}\b" for name in names)]) + ")"


def _global_id(d: str, text: str) -> str:
    """blockIdx.d "*" blockDim.d, in one order or the other, or as a call of __mul24."""
    # A warp has an id, too: `blockIdx.x * warps + threadIdx.x / 32` with that part of blockDim.x.
    block, width = _called("blockIdx", d, text), _called("blockDim", d, text, _WARPS)
    product = rf"\s*\)*\s*\*\s*{_CAST}"
    call = r"mul24\s*\(\s*"
    return "|".join(
        rf"{first}{product}{second}|{call}{first}\s*,\s*{second}"
        for first, second in ((block, width), (width, block))
    )


def _half(d: str, text: str) -> str:
    width = _called("blockDim", d, text)
    return rf"{width}\s*\)*\s*(?:/\s*2\b|>>\s*1\b)"


def _widths(least: int, most: int, needs_powers: bool) -> str:
    """`32..1024`, or the powers of two among them; nothing where there is but one."""
    if most <= least:
        return ""
    powers = [1 << exponent for exponent in range(11) if least <= 1 << exponent <= most]
    return ", ".join(map(str, powers)) if needs_powers else f"{least}..{most}"


def _limit(d: str, text: str, kernel: Kernel) -> int:
    """The widest block that shared arrays and the kernel allow."""
    most = min(LARGEST_Z if d == "z" else LARGEST, kernel.max_threads)
    index = re.compile(rf"\s*{_called('threadIdx', d, text)}\s*")
    lengths = [
        length
        for array, sizes in _shared_arrays(text, kernel)
        for used in re.findall(rf"\b{re.escape(array)}\s*((?:\[[^\[\]]+\]\s*)+)", text)
        for length, place in zip(sizes, re.findall(r"\[([^\[\]]+)\]", used), strict=False)
        if length is not None and index.fullmatch(place)
    ]
    least = min([most, *lengths])
    # Rows are often one element longer than they need be.
    return least - least % WARP if least > WARP else least


def _shared_arrays(text: str, kernel: Kernel) -> Iterator[tuple[str, list[int | None]]]:
    for declared in _SHARED.findall(text):
        for name, sizes in _ARRAY.findall(declared):
            yield name, [_number(size, kernel) for size in re.findall(r"\[([^\]]+)\]", sizes)]


def _number(text: str, kernel: Kernel) -> int | None:
    """A literal, or what a macro or constant of the file says, plus or minus a literal."""
    found = re.fullmatch(r"\s*(\w+)\s*(?:([+-])\s*(\d+))?\s*", text)
    if found is None:
        return None
    name, sign, other = found.groups()
    if not name.isdigit():
        defined = re.search(
            rf"(?:#\s*define\s+{name}\s+|\b{name}\s*=\s*)\(?(\d+)\)?\s*(?:;|$|//|/\*)",
            kernel.source.text,
            re.MULTILINE,
        )
        if defined is None:
            return None
        name = defined[1]
    offset = int(other) if other else 0
    return int(name) - offset if sign == "-" else int(name) + offset
