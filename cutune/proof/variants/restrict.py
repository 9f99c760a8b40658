"""The variant `restrict`: a copy whose pointer parameters are `__restrict__` (docs/variants.md).

    #line 1
    __global__ void scale__restrict(int n, const float *__restrict__ A__restrict,
                                    float *__restrict__ B__restrict)
    { const float *A = A__restrict; float *B = B__restrict;
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) B[i] = 2 * A[i];
    }
    #line 5

The body has variables of the types that it had: overloads, templates and `decltype` see no
difference. To the compiler they are the same pointers.

`__restrict__` asserts: memory that is changed while the kernel runs, and accessed through one of
these pointers, is accessed through that pointer alone. The proof shows that the kernel accesses
memory behind its pointers alone, and the launch must show that the allocation of each pointer that
is written through holds no other pointer. Pointers that are only read may be equal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

from cutune.core.codes import Code
from cutune.core.source import Edit, Span
from cutune.proof.entry_proof import EntryProof
from cutune.proof.memory.pointers import NotReached, Reached, reached
from cutune.proof.variants.text import Changes, Illegal, KernelText, declared, not_repeated, span_of
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import Kernel
from cutune.source.rewrite.c_text import one_line
from cutune.source.syntax.tokens import Token
from cutune.source.unit.unit import split_commas

NAME = "restrict"
_DEFINES = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\\\n]|\\\r?\n|\\.)*", re.MULTILINE)
_WORD = re.compile(r"\w+")
_RESTRICT = re.compile(r"\b(?:__restrict__|__restrict|restrict)\b")
_IN_TYPE = frozenset({"::", "<", ">", ",", "*", "const"})


def restrict(text: KernelText, proofs: Sequence[EntryProof]) -> tuple[KernelVariant, ...]:
    """Return the variant of a kernel; raises Illegal where it has none."""
    base, name = _Restricted(text, proofs).restriction(), f"{text.kernel.name}__{NAME}"
    edit, source = text.copy(name, base.changes), text.syntax.source
    return (KernelVariant(NAME, name, source, edit, NAME, base.pointers, base.written),)


@dataclass(frozen=True)
class Restriction:
    """The changes, the pointers that memory is accessed through, and those written through."""

    changes: Changes
    pointers: tuple[int, ...]
    written: tuple[int, ...]


def pointers_of(kernel: Kernel) -> dict[int, str]:
    """Return the names of the parameters that are pointers, by position."""
    return {index: one.name for index, one in enumerate(kernel.parameters) if one.is_pointer}


def restriction_if_legal(text: KernelText, proofs: Sequence[EntryProof]) -> Restriction | None:
    """Return the assertion about a kernel; None where it may be wrong, or says nothing new."""
    with suppress(Illegal):
        return _Restricted(text, proofs).restriction()
    return None


def with_restriction(
    text: KernelText, transform: str, name: str, changes: Changes, base: Restriction | None
) -> KernelVariant:
    """Return the variant of a transform, in which the assertion is made too, if it is legal."""
    name = f"{NAME}_{name}" if base is not None else name
    of_kernel = f"{text.kernel.name}__{name}"
    changes = base.changes.around(changes) if base is not None else changes
    edit = text.copy(of_kernel, changes)
    pointers, written = (base.pointers, base.written) if base is not None else ((), ())
    return KernelVariant(name, of_kernel, text.syntax.source, edit, transform, pointers, written)


@dataclass(frozen=True)
class _Restricted:
    text: KernelText
    proofs: Sequence[EntryProof]

    def restriction(self) -> Restriction:
        used = self._reached()
        pointers = used.pointers | self._named
        written = used.written | {i for i in self._named - used.pointers if self._is_open(i)}
        if not written and len(pointers) < 2:
            raise Illegal(Code.VARIANT_USELESS, "it reads through one pointer")
        behind_stars = {i: self.text.kernel.parameters[i].type.rpartition("*")[2] for i in pointers}
        unrestricted = {i for i, text in behind_stars.items() if not _RESTRICT.search(text)}
        if not unrestricted:
            raise Illegal(Code.VARIANT_USELESS, "its pointers are __restrict__")
        entries = {proof.name for proof in self.proofs}
        numbers = self.text.texts.pointer_numbers
        number = numbers.reason(self.text.syntax, self.text.function, entries)
        if number is not None:
            raise not_repeated(number)
        changes = self._changes(unrestricted)
        return Restriction(changes, tuple(sorted(pointers)), tuple(sorted(written)))

    def _reached(self) -> Reached:
        """Pointers that all instances together access; raises Illegal where that is not known."""
        if not self.proofs:
            raise Illegal(Code.VARIANT_MEMORY, "was not looked at")
        joined = Reached(frozenset(), frozenset())
        for proof in self.proofs:
            if len(proof.parameters) != len(self.text.kernel.parameters):
                raise Illegal(Code.VARIANT_MEMORY, "has other parameters than its text")
            try:
                joined = joined.joined(reached(proof.uses, self._pointers))
            except NotReached as error:
                if error.is_order:
                    raise Illegal(Code.VARIANT_ORDER, f"its compiled code {error.what}") from error
                raise Illegal(Code.VARIANT_MEMORY, error.what) from error
        if self.text.kernel.needs_warps and joined.changed:
            name = self._pointers[min(joined.changed)]
            what = f"threads of a warp may exchange values through '{name}'"
            raise Illegal(Code.VARIANT_ORDER, what)
        return joined

    @cached_property
    def _pointers(self) -> Mapping[int, str]:
        return pointers_of(self.text.kernel)

    @cached_property
    def _named(self) -> frozenset[int]:
        """Positions of pointers that the text uses: perhaps where the compiler has no use."""
        words = {token.text for token in self.text.body}
        for file in self.text.texts.files:
            words |= {word for line in _DEFINES.findall(file.text) for word in _WORD.findall(line)}
        return frozenset(i for i, name in self._pointers.items() if name in words)

    def _is_open(self, position: int) -> bool:
        pointee = self.text.kernel.parameters[position].type.rpartition("*")[0]
        return "const" not in pointee.split() or "*" in pointee

    def _changes(self, pointers: Collection[int]) -> Changes:
        named = [*self._names(pointers)]
        edits = (Edit(span_of(token), f"__restrict__ {token.text}__{NAME}") for token, _ in named)
        variables = (f" {declaration} = {token.text}__{NAME};" for token, declaration in named)
        taken = (f"{name}__{NAME}" for name in self._pointers.values() if name)
        return Changes(tuple(edits), "".join(variables), taken=tuple(taken))

    def _names(self, pointers: Collection[int]) -> Iterator[tuple[Token, str]]:
        opener, closer = self.text.function.parameters
        declared = list(split_commas(self.text.syntax.tokens[opener + 1 : closer]))
        if len(declared) != len(self.text.kernel.parameters):
            raise not_repeated("its parameters are made by a macro")
        for position in sorted(pointers):
            parameter = self.text.kernel.parameters[position]
            token = _declared_pointer(declared[position], parameter.name)
            is_volatile = "volatile" in parameter.type
            if token is None or is_volatile or parameter.type.count("(") > 0:
                raise not_repeated(f"its parameter '{parameter.name}' is not written as a pointer")
            text = self.text.syntax.source[Span(declared[position][0].start, token.end)]
            yield token, one_line(text)


def _declared_pointer(tokens: Sequence[Token], name: str) -> Token | None:
    tokens = declared(tokens)
    texts = [token.text for token in tokens]
    if len(texts) < 3 or texts[-1] != name or "*" not in texts:
        return None
    star = len(texts) - 1 - texts[::-1].index("*")
    if not {*texts[star + 1 : -1]} <= {"const"}:
        return None
    of_type = tokens[:star]
    is_type = all(t.kind in ("IDENTIFIER", "NUMBER") or t.text in _IN_TYPE for t in of_type)
    return tokens[-1] if is_type and of_type else None
