"""Parts of a PTX module: functions, variables, instructions, and sets of opcodes by their effect.

Operands stay text: whoever lowers an opcode knows how its operands look. Only the standard library
is imported: the replacement libcudart starts this front end inside the user's run.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, wraps
from typing import ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")

TYPE_BYTES = {
    **dict.fromkeys(("b8", "u8", "s8"), 1),
    **dict.fromkeys(("b16", "u16", "s16", "f16", "bf16"), 2),
    **dict.fromkeys(("b32", "u32", "s32", "f32", "f16x2", "bf16x2", "tf32", "u16x2", "s16x2"), 4),
    **dict.fromkeys(("b64", "u64", "s64", "f64", "texref", "samplerref", "surfref"), 8),
    "b128": 16,
    "pred": 1,
}


#: Ends the text of a module that is linked with no other one: nothing outside calls its functions,
#: nor has functions that it may call.
WHOLE_PROGRAM = "// whole program\n"
#: Errors of Python's that text has which is like PTX and is none.
_NOT_UNDERSTOOD = (
    LookupError,
    ValueError,
    AttributeError,
    TypeError,
    AssertionError,
    RecursionError,
    struct.error,  # a number that no word holds
)


class PtxError(Exception):
    """The text is not PTX that this front end understands; `line` is its PTX line."""

    def __init__(self, line: int, reason: str, source_line: int = 0) -> None:
        super().__init__(reason)
        self.line = line
        self.source_line = source_line
        self.reason = reason


def first_of(words: Iterable[T]) -> T:
    """The first word of an instruction that needs one of these. Raises ValueError: it has none."""
    for word in words:
        return word
    raise ValueError("a word is missing")


#: Errors that text which is no PTX has where a part of a module is read by itself.
UNREADABLE = (PtxError, *_NOT_UNDERSTOOD)


@contextmanager
def understood() -> Iterator[None]:
    """Raise PtxError in place of Python's own errors, for text that is like PTX and is none."""
    try:
        yield
    except _NOT_UNDERSTOOD as error:
        raise PtxError(0, f"not understood ({type(error).__name__}: {error})") from error


@dataclass(frozen=True, slots=True)
class Instruction:
    """One PTX instruction; operands are text, `source_line` is 0 when there is no `.loc`.

    `written`, `read`: registers, once `taint.results` and `taint.sources` were asked for them.
    """

    opcode: str
    modifiers: tuple[str, ...]
    operands: tuple[str, ...]
    guard: str
    negated: bool
    line: int
    source_line: int
    written: tuple[str, ...] | None = field(default=None, init=False, compare=False, repr=False)
    read: tuple[str, ...] | None = field(default=None, init=False, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Label:
    """A branch target, or the name of a branch table or call prototype."""

    name: str
    table: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or parameter in some state space. `count` is 0 for an array of unknown size."""

    name: str
    space: str
    type: str
    count: int
    alignment: int
    initial: str = ""
    external: bool = False

    @property
    def size(self) -> int:
        return TYPE_BYTES[self.type] * self.count

    @property
    def content(self) -> object:
        """All that matters of it, but for its name."""
        return self.space, self.type, self.count, self.alignment, self.initial


def aligned(offset: int, alignment: int) -> int:
    """The first multiple of the alignment that is not below the offset."""
    return -(-offset // alignment) * alignment


def placed(variables: Iterable[Variable], size: int = 0) -> tuple[list[int], int]:
    """The offsets of variables that lie behind `size` bytes, and the bytes of all together."""
    offsets = []
    for variable in variables:
        offsets.append(aligned(size, variable.alignment))
        size = offsets[-1] + variable.size
    return offsets, size


@dataclass(frozen=True)
class Function:
    """A kernel or a device function. Without a body it is only declared.

    `directives`: the numbers behind each, `maxntid` for instance. `registers`: types, by name.
    """

    name: str
    is_kernel: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    directives: dict[str, tuple[int, ...]]
    registers: dict[str, str] = field(default_factory=dict)
    variables: tuple[Variable, ...] = ()
    body: tuple[Instruction | Label, ...] | None = None

    @cached_property
    def instructions(self) -> list[Instruction]:
        return [item for item in self.body or () if isinstance(item, Instruction)]

    @property
    def operands(self) -> set[str]:
        return {operand for item in self.instructions for operand in item.operands}


@dataclass(frozen=True)
class Module:
    """Everything in one PTX text. `local` are the names that other texts do not see.

    `is_whole`: is it known that no other module has functions that it may call?
    """

    functions: dict[str, Function]
    variables: tuple[Variable, ...]
    aliases: dict[str, str]
    target: str
    local: frozenset[str] = frozenset()
    is_whole: bool = False

    def entry_and_functions(self, entry: str) -> list[Function]:
        """An entry, and all functions of the module that are no kernels."""
        each = self.functions.items()
        return [one for name, one in each if name == entry or not one.is_kernel]


def of_last(compute: Callable[P, T]) -> Callable[P, T]:
    """Keep what was computed last, of functions, which have no hash, and others that do not change.

    Copies of a kernel are compared with it one after another.
    """
    last: list[tuple[object, T]] = []

    @wraps(compute)
    def found(*arguments: P.args, **named: P.kwargs) -> T:
        asked = arguments, named
        answer = last[0] if last else None
        if answer is None or answer[0] != asked:
            answer = asked, compute(*arguments, **named)
            last[:] = [answer]  # Threads may have asked meanwhile.
        return answer[1]

    return found


@lru_cache(maxsize=1 << 16)
def split_operands(text: str) -> tuple[str, ...]:
    """Split at the commas outside brackets. Copies of a kernel have the same operands."""
    if "{" not in text and "(" not in text:
        return tuple(part.strip() for part in text.split(",")) if text.strip() else ()
    parts, depth, start = [], 0, 0
    for position, character in enumerate(text):
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    return (*parts, text[start:].strip())


def integer(text: str) -> int:
    """An integer literal as PTX writes it: decimal, 0x, 0b or octal, with U or without."""
    digits = text.rstrip("U").replace(" ", "")
    sign = -1 if digits.startswith("-") else 1
    digits = digits.lstrip("+-")
    if len(digits) > 1 and digits[0] == "0" and digits[1].isdigit():
        return sign * int(digits, 8)
    return sign * int(digits, 0)


def opcodes(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


#: End a thread.
LEAVING = opcodes("ret exit")
BRANCHES = opcodes("bra brx")
#: Wait for all warps of the block.
BARRIERS = opcodes("bar barrier")
ATOMICS = opcodes("atom red")
LOADS = opcodes("ld ldu")
#: Access memory by an address among their operands, and count as such.
MEMORY = LOADS | ATOMICS | {"st"}
#: Access memory in ways that are not among the counters.
UNCOUNTED = opcodes("tex tld4 suld sust wmma")
#: Hints and other instructions without an effect on the emulated device.
HINTS = opcodes(
    """
    prefetch prefetchu discard applypriority nanosleep pmevent
    griddepcontrol setmaxnreg brkpt createpolicy
    """
)
#: Write no register.
WITHOUT_RESULT = (
    LEAVING
    | BRANCHES
    | BARRIERS
    | opcodes(
        """
        st sust red membar fence trap call prefetch prefetchu nanosleep discard applypriority cp
        brkpt pmevent
        """
    )
)
#: Decide what is executed, or which memory is accessed.
STEERING = LEAVING | BRANCHES | BARRIERS | MEMORY | {"call", "trap"}
#: May not be skipped or repeated by some of the threads.
BINDING = LEAVING | BARRIERS | {"brx", "call", "trap"}
#: Tells which lanes of a warp are at the same place.
ACTIVE_LANES = "activemask"
#: Their result differs between threads, whatever their operands are.
VARYING = opcodes("ldu atom tex tld4 suld shfl vote match redux activemask call")
#: Read registers, write registers, and do nothing else. `leaps` asks: a loop with an opcode that is
#: missing is run round by round. What reads the carry flag has to be missing: that is no operand,
#: and only the proof follows it (`FUNCTIONS` in `proof/values/operations`).
ARITHMETIC = opcodes(
    """
    abs add and bfe bfi bfind brev clz cnot copysign cos cvt cvta div dp2a dp4a ex2 fma fns lg2 lop3
    mad mad24 max min mov mul mul24 neg not or popc prmt rcp rem rsqrt sad selp set setp shf shl shr
    sin slct sqrt sub tanh testp vabsdiff2 vabsdiff4 xor
    """
)
#: Arithmetic that takes no issue slot of its own after ptxas.
NOT_ISSUED = opcodes("mov cvta selp cvt")
#: Arithmetic that ptxas makes a branch of, to a slow path for exponents at the end of the range,
#: denormal numbers and the like, if it rounds as IEEE 754 wants it, by one of these modifiers.
SLOW_PATHS = opcodes("div rcp sqrt")
ROUNDINGS = opcodes("rn rz rm rp")
#: Arithmetic of the special-function units.
SPECIAL = opcodes("rcp sqrt rsqrt sin cos lg2 ex2 tanh")
