"""The variants `vec4`, `restrict_vec16`, …: each thread does neighbouring ids, by vector accesses.

    #line 1
    __global__ void scale__vec4(int n, const float *A, float *B)
    { const auto cutune_body = [](const uint3 blockIdx, const uint3 threadIdx, int n, …) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) B[i] = 2 * A[i];
    }; const unsigned cutune_first = (blockIdx.x * blockDim.x + threadIdx.x) * 4u;
    if (cutune_first + 3u < n) {
        unroll: for (unsigned cutune_each = 0; cutune_each < 4u; ++cutune_each) {
            __builtin_assume(cutune_first + cutune_each < n);
            cutune_body(uint3{0, …}, uint3{cutune_first + cutune_each, …}, n, …A, …B); }
    } else for (…) cutune_body(…);  // the last ids, and those behind the guard bound
    }

The ids of a thread follow each other, so that the compiler may join what they load and store to
accesses of up to 16 bytes. For that it has to know that pointers are aligned, which the launch
asks; that rows and planes are, so that widths and pitches are asked to be multiples; that what is
stored lies apart from what is loaded, which `restrict` tells; and that all ids are below the
guard bounds: what is assumed of each is what was tested of the last.

The body is given a place and a thread of which `place * blockDim.x + thread` is the id. That is
what it makes of them, and nothing else: in a copy, `moved_ids`, both come from registers that no
program reads, and compiled code may use these, and the width of the block, in that sum alone. Such
a body depends on its id; so which thread does it is the same, as in the variants of `coarsen`.
Copies in which the compiler joins nothing go, since they are of no other use. That is so where
inline assembly stands between accesses, as the conversions of `__half` have it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, permutations

from cutune.core.codes import Code
from cutune.proof.entry_proof import EntryProof
from cutune.proof.variants.coarsen import (
    BODY,
    EACH,
    UNREAD,
    CalledBody,
    ask_separate,
    ask_straight,
    ask_unread,
    body_of,
    copy_for_proof,
    guarded,
    read_unread,
)
from cutune.proof.variants.restrict import pointers_of, restriction_if_legal, with_restriction
from cutune.proof.variants.text import Changes, Illegal, KernelText
from cutune.ptx.taint import results, sources
from cutune.ptx.types import Instruction, Module
from cutune.ptx.units import global_widths
from cutune.source.host_formula import names_in, renamed
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import Kernel, Role

NAME = "vectors"
#: Bytes of the largest access of a thread; pointers have to be multiples of it.
ALIGNED = 16
#: Ids of a thread, by the bytes of what it accesses most narrowly. Of bytes 8 lie between 4 and 16.
_IDS = {1: (16, 4), 2: (8, 4), 4: (4,), 8: (2,)}
#: What the name of the copy for the proof ends with.
MOVED = "moved_ids"
_PLACE, _THREAD, _WIDTH = UNREAD["%ctaid.x"], UNREAD["%tid.x"], "%ntid.x"
#: Registers that tell more than the id that a body is given.
_OWN = ("%ctaid.x", "%nctaid.x", "%tid.x")
_PRODUCT, _PRODUCT_64, _THREAD_64, _ID = "product", "product of 64 bits", "thread of 64 bits", "id"
#: What instructions make of what they read: parts of the id, and the id itself.
_PARTS: Mapping[tuple[str, tuple[str, ...], tuple[str, ...]], str] = {
    **{("mov", ("u32",), (part,)): part for part in (_PLACE, _THREAD, _WIDTH)},
    **{
        (opcode, (*modifiers, sign), (*read, *last)): made
        for opcode, modifiers, signs, last, made in (
            ("mul", ("lo",), ("s32", "u32"), (), _PRODUCT),
            ("mul", ("wide",), ("u32",), (), _PRODUCT_64),
            ("mad", ("lo",), ("s32", "u32"), (_THREAD,), _ID),
        )
        for sign in signs
        for read in permutations((_PLACE, _WIDTH))
    },
    ("cvt", ("u64", "u32"), (_THREAD,)): _THREAD_64,
    **{
        ("add", (kind,), read): _ID
        for kinds, parts in (
            (("s32", "u32"), (_PRODUCT, _THREAD)),
            (("s64", "u64"), (_PRODUCT_64, _THREAD_64)),
        )
        for kind in kinds
        for read in permutations(parts)
    },
}
_FIRST = "cutune_first"
#: Indices that become variables of the body.
_GIVEN = ("blockIdx", "threadIdx")
#: Guard bounds of which no part is larger than all of it, or that are a little less than a
#: parameter: where parameters and bound are numbers of 31 bits, nothing overflows in any type.
_PLAIN_BOUND = re.compile(r"[\w\s+*()]+|\w+ - \d{1,5}")
_MOST_NAMES = 2


def vectors(text: KernelText, proofs: Sequence[EntryProof]) -> Iterator[KernelVariant]:
    """Yield the variants of a kernel; raises Illegal where it has none."""
    kernel = text.kernel
    ask_separate(kernel, proofs)
    if 0 not in guarded(kernel):
        raise Illegal(Code.VARIANT_USELESS, "no guard bounds ids that could be neighbours in x")
    ask_straight(proofs)
    ask_unread(text)
    narrowest = min((proof.narrowest for proof in proofs), default=0)
    if narrowest not in _IDS:
        raise Illegal(Code.VARIANT_USELESS, "its accesses are as wide as they may be")
    bounds = [one for axis in guarded(kernel) if (one := guard_bound(kernel, axis)) is not None]
    if not bounds or bounds[0].axis != 0:
        raise Illegal(Code.VARIANT_USELESS, "its guard bound is no number that a thread can test")
    base = restriction_if_legal(text, proofs)
    body = body_of(text, _GIVEN)
    moved = text.copy(copy_for_proof(kernel, MOVED), _moved(body))
    rows = _widths_of_rows(kernel, proofs)
    pointers, names = tuple(pointers_of(kernel)), [one.name for one in kernel.parameters]
    for ids in _IDS[narrowest]:
        changes = _several(kernel, body, bounds, ids, rows)
        variant = with_restriction(text, NAME, f"vec{ids}", changes, base)
        yield replace(
            variant,
            coarsen=(ids, 1, 1),
            moved=moved,
            aligned=pointers,
            divided=tuple(map(names.index, rows)),
        )


def _widths_of_rows(kernel: Kernel, proofs: Sequence[EntryProof]) -> list[str]:
    """Return parameters that make rows and planes begin at multiples, if they are multiples.

    One of each product suffices: one that others need as well, or else what tells most of sizes.
    """
    roles = {one.name: tuple(Role).index(one.role) for one in kernel.data_parameters}
    integers = {f"{n}:0": one.name for n, one in enumerate(kernel.parameters) if one.integer}
    widths = dict[str, None]()
    for product in sorted({*chain(*(proof.row_products for proof in proofs))}, key=len):
        names = sorted(integers[at] for p in product if (at := p.rpartition(":")[0]) in integers)
        if names and widths.keys().isdisjoint(names):
            widths[min(names, key=lambda name: roles.get(name, len(Role)))] = None
    return [*widths]


def reads_more_than_id(module: Module, entry: str) -> str | None:
    """Return what code, before `with_indices`, makes of its indices beside the id; None if nothing.

    The id is `place * width + thread`, of 32 bits or of 64.
    """
    own = module.functions[entry]
    others = (f for f in module.functions.values() if not f.is_kernel)
    calls = any(one.opcode == "call" for one in own.instructions)
    for function in (own, *(others if calls else ())):
        known = {*_OWN} if function is own else {*_OWN, _WIDTH}
        if read := function.operands & known:
            return f"reads {min(read)} beside the id that it is given"
    return _other_use(own.instructions)


def _other_use(instructions: Sequence[Instruction]) -> str | None:
    writers = Counter(name for one in instructions for name in results(one))
    parts = dict[str, str]()
    for one in instructions:
        read = tuple(parts.get(operand, operand) for operand in one.operands[1:])
        made = _PARTS.get((one.opcode, one.modifiers, read))
        if made is not None and not one.guard:
            parts |= dict.fromkeys(results(one), made)
        elif _WIDTH in one.operands or any(parts.get(name, _ID) != _ID for name in sources(one)):
            return f"makes something else than its id by '{one.opcode}'"
    several = [name for name in parts if writers[name] > 1]
    return "makes its id in several ways" if several else None


def joins_accesses(module: Module, base: str, entry: str, ids: int) -> bool:
    """Does an entry of several ids access more bytes at once than its kernel?

    Of what it stores half at least: where stores stay apart, as those of colours in pixels do, each
    of them writes parts of several sectors.
    """
    own, copy = module.functions[base], module.functions[entry]
    of_own, of_copy = (max(global_widths(one, "ld", "st"), default=0) for one in (own, copy))
    stored = global_widths(own, "st")
    joined = sum(width for width in global_widths(copy, "st") if width not in stored)
    return of_copy > of_own and 2 * joined >= ids * sum(stored)


@dataclass(frozen=True)
class GuardBound:
    """The guard bound of a dimension, as a thread can test it: exact in 64 bits."""

    axis: int
    text: str

    def reached_by(self, last: str) -> str:
        """Return C text: is this id of 32 bits below the bound, which is made of plain integers?"""
        exact = {name: f"(long long)({name})" for name in names_in(self.text)}
        value = f"({renamed(self.text, exact)})"
        plain = (f"{one} >= 0 && {one} <= 2147483647" for one in {**exact, "": value}.values())
        return " && ".join((*plain, f"(long long)({last}) < {value}"))

    def assumed_of(self, one: str, rows: Mapping[str, str]) -> str:
        """Return C text that an id of 32 bits is below the bound, however the body compares it."""
        bound = f"({renamed(self.text, rows)})"
        compared = f"decltype({bound} + 0)"
        return "".join(
            f"__builtin_assume(({compared}){id_of_type} < {bound}); "
            for id_of_type in (f"({one})", f"(int)({one})")
        )


def guard_bound(kernel: Kernel, axis: int) -> GuardBound | None:
    """Return the guard bound of a dimension; None where a thread cannot test it."""
    text = kernel.dimensions[axis].guard
    names = names_in(text or "")
    is_plain = (
        text is not None
        and _PLAIN_BOUND.fullmatch(text) is not None
        and {*names} <= {one.name for one in kernel.parameters}
        and len(names) <= _MOST_NAMES
    )
    return GuardBound(axis, text) if text is not None and is_plain else None


def _several(
    kernel: Kernel, body: CalledBody, bounds: Sequence[GuardBound], ids: int, rows: Sequence[str]
) -> Changes:
    # The compiler then knows that rows begin at multiples.
    whole = {name: f"({name} & ~{ids - 1})" for name in rows}
    values = "".join(
        f", (decltype({one.name}))__builtin_assume_aligned({one.name}, {ALIGNED})"
        if one.is_pointer
        else f", {whole.get(one.name, one.name)}"
        for one in kernel.parameters
    )
    loop = f"for (unsigned {EACH} = 0; {EACH} < {ids}u; ++{EACH})"
    others = [f"blockIdx.{d} * blockDim.{d} + threadIdx.{d}" for d in "yz"]
    last = [f"{_FIRST} + {ids - 1}u", *others]
    # All ids fit into 31 bits there, so that widening them is no obstacle for the compiler.
    places = [f"({_FIRST} & 2147483647u) + {EACH}", *others]
    tests = " && ".join(one.reached_by(last[one.axis]) for one in bounds)
    assumed = "".join(one.assumed_of(places[one.axis], whole) for one in bounds)
    at = f"uint3{{0u, blockIdx.y, blockIdx.z}}, uint3{{{places[0]}, threadIdx.y, threadIdx.z}}"
    return Changes(
        opening=f" const auto {BODY} = "
        f"[](const uint3 blockIdx, const uint3 threadIdx{body.parameters}) {{",
        closing=f"}}; const unsigned {_FIRST} = (blockIdx.x * blockDim.x + threadIdx.x) * {ids}u; "
        f'if ({tests}) {{ _Pragma("unroll") {loop} {{ {assumed}{BODY}({at}{values}); }} }} '
        f'else {{ _Pragma("unroll 1") {loop} {BODY}({at}{body.values}); }} ',
        taken=(BODY, EACH, _FIRST),
    )


def _moved(body: CalledBody) -> Changes:
    place, thread = f"{BODY}_place", f"{BODY}_thread"
    registers = "".join(
        read_unread(name, register, "2147483647u")
        for name, register in ((place, "%ctaid.x"), (thread, "%tid.x"))
    )
    return Changes(
        opening=f" const auto {BODY} = "
        f"[](const uint3 blockIdx, const uint3 threadIdx{body.parameters}) {{",
        closing=f"}}; {registers}{BODY}(uint3{{{place}, blockIdx.y, blockIdx.z}}, "
        f"uint3{{{thread}, threadIdx.y, threadIdx.z}}{body.values}); ",
        taken=(BODY, EACH),
    )
