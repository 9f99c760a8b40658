"""The variant `restrict`: a copy whose pointer parameters are `__restrict__`.

Before:

    __global__ void scale(int n, const float *A, float *B)
    {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        if (i < n) B[i] = 2 * A[i];
    }

After, behind it:

    #line 1
    __global__ void scale__restrict(int n, const float *__restrict__ A__restrict,
                                    float *__restrict__ B__restrict)
    { const float *A = A__restrict; float *B = B__restrict;
        …
    }
    #line 5

The body has variables of the types that it had: overloads, templates and `decltype` see no
difference. To the compiler they are the same pointers.

`__restrict__` asserts: what is changed while the kernel runs, and accessed through one of these
pointers, is accessed through that pointer alone. The proof shows that the kernel accesses nothing
but what lies behind its pointers, and who asks at the launch must show that the allocation of each
pointer that is written through holds no other pointer. Pointers that are only read may be equal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.core.codes import Code
from cutune.core.edits import Edit, apply_edits
from cutune.core.source import Source, Span
from cutune.frontend.launches.texts import KernelTexts
from cutune.frontend.program import Impurity, Kernel, KernelParameter, KernelVariant
from cutune.frontend.syntax.functions import SourceFunction
from cutune.frontend.syntax.parse import Syntax
from cutune.frontend.syntax.tokens import Token
from cutune.frontend.unit.macros import macros_of
from cutune.frontend.unit.unit import split_commas
from cutune.proof.entry import EntryProof
from cutune.proof.memory.pointers import NotReached, Reached, reached
from cutune.rewrite.one_line import one_line

NAME = "restrict"
_DEFINES = re.compile(r"^[ \t]*#[ \t]*define\b(?:[^\\\n]|\\\r?\n|\\.)*", re.MULTILINE)
_WORD = re.compile(r"\w+")
_RESTRICT = re.compile(r"\b(?:__restrict__|__restrict|restrict)\b")
#: Words by which a body may tell the copy from the kernel.
_TELLING = ("__func__", "__FUNCTION__", "__PRETTY_FUNCTION__", "__FUNCSIG__", "__FUNCDNAME__")
#: Words by which any function may tell who calls it.
_ASKING = re.compile(r"\b(?:__builtin_FUNCTION|__builtin_source_location|source_location)\b")
_IN_TYPE = frozenset({"::", "<", ">", ",", "*", "const"})


def restrict(
    kernel: Kernel, proofs: Sequence[EntryProof], texts: KernelTexts
) -> KernelVariant | Impurity:
    """The variant of a kernel, or why it has none. `proofs`: of all its instances."""
    try:
        return _Restricted(kernel, proofs, texts).variant()
    except _Illegal as illegal:
        message = illegal.code.template.format(variant=NAME, what=illegal.what)
        return Impurity(illegal.code, message, kernel.span)


class _Illegal(Exception):
    """Why there is no variant."""

    def __init__(self, code: Code, what: str) -> None:
        super().__init__(what)
        self.code, self.what = code, what


def _unreached(found: NotReached) -> _Illegal:
    if found.is_order:
        return _Illegal(Code.VARIANT_ORDER, f"its compiled code {found.what}")
    return _Illegal(Code.VARIANT_MEMORY, found.what)


def _not_repeated(what: str) -> _Illegal:
    return _Illegal(Code.VARIANT_TEXT, what)


@dataclass(frozen=True)
class _Restricted:
    kernel: Kernel
    proofs: Sequence[EntryProof]
    texts: KernelTexts

    def variant(self) -> KernelVariant:
        """The variant.

        Raises:
            _Illegal: there is none.
        """
        found = self._reached()
        pointers = found.pointers | self._named
        written = found.written | {i for i in self._named - found.pointers if self._is_open(i)}
        if not written and len(pointers) < 2:
            raise _Illegal(Code.VARIANT_USELESS, "it reads through one pointer")
        unrestricted = {i for i in pointers if not _is_restricted(self.kernel.parameters[i])}
        if not unrestricted:
            raise _Illegal(Code.VARIANT_USELESS, "its pointers are __restrict__")
        return KernelVariant(
            NAME,
            self.name,
            self.syntax.source,
            self._edit(unrestricted),
            tuple(sorted(pointers)),
            tuple(sorted(written)),
        )

    @property
    def name(self) -> str:
        """The name of the copy."""
        return f"{self.kernel.name}__{NAME}"

    # What the compiled code says.

    def _reached(self) -> Reached:
        """What all instances together access.

        Raises:
            _Illegal: that is not known of one of them.
        """
        if not self.proofs:
            raise _Illegal(Code.VARIANT_MEMORY, "was not looked at")
        joined = Reached(frozenset(), frozenset())
        for proof in self.proofs:
            if len(proof.parameters) != len(self.kernel.parameters):
                raise _Illegal(Code.VARIANT_MEMORY, "has other parameters than its text")
            found = reached(proof.uses, self._pointers)
            if isinstance(found, NotReached):
                raise _unreached(found)
            joined = joined.joined(found)
        if self.kernel.needs_warps and joined.changed:
            name = self._pointers[min(joined.changed)]
            what = f"threads of a warp may exchange values through '{name}'"
            raise _Illegal(Code.VARIANT_ORDER, what)
        return joined

    @cached_property
    def _pointers(self) -> Mapping[int, str]:
        parameters = enumerate(self.kernel.parameters)
        return {index: one.name for index, one in parameters if one.is_pointer}

    # What the text says.

    @cached_property
    def _definition(self) -> tuple[Syntax, SourceFunction]:
        """The only definition in the user's files.

        Raises:
            _Illegal: there is none, there are several, or its text means something else elsewhere.
        """
        found = list(self.texts.definitions(self.kernel.name))
        if not found:
            raise _not_repeated("its definition is made by a macro")
        if len(found) > 1:
            raise _not_repeated("it has several definitions")
        syntax, function = found[0]
        if not self.texts.may_be_repeated(syntax, function):
            raise _not_repeated("its text may mean something else where it is repeated")
        return syntax, function

    @property
    def syntax(self) -> Syntax:
        """The file of the definition."""
        return self._definition[0]

    @property
    def function(self) -> SourceFunction:
        """The definition."""
        return self._definition[1]

    @property
    def _body(self) -> Sequence[Token]:
        assert self.function.body is not None, "kernels of a syntax are defined"
        first, last = self.function.body
        return self.syntax.tokens[first : last + 1]

    @cached_property
    def _named(self) -> frozenset[int]:
        """Positions of pointers that the text uses: perhaps where the compiler has no use."""
        words = {token.text for token in self._body}
        for file in self.texts.files:
            words |= {word for line in _DEFINES.findall(file.text) for word in _WORD.findall(line)}
        return frozenset(i for i, name in self._pointers.items() if name in words)

    def _is_open(self, position: int) -> bool:
        """May it be written through, as far as its type says?"""
        pointee = self.kernel.parameters[position].type.rpartition("*")[0]
        return "const" not in pointee.split() or "*" in pointee

    def _edit(self, pointers: Collection[int]) -> Edit:
        self._check()
        function, tokens = self.function, self.syntax.tokens
        assert function.body is not None, "kernels of a syntax are defined"
        first, last = tokens[function.first], tokens[function.body[1]]
        edits = [Edit(_span(tokens[function.parameters[0] - 1]), self.name)]
        opener, variables = tokens[function.body[0]], ""
        for token, declaration in self._names(pointers):
            edits.append(Edit(_span(token), f"__restrict__ {token.text}__{NAME}"))
            variables += f" {declaration} = {token.text}__{NAME};"
        edits.append(Edit.insert(opener.end, variables))
        text = self.syntax.source[Span(first.start, last.end)]
        shifted = [
            Edit(Span(e.span.start - first.start, e.span.end - first.start), e.text) for e in edits
        ]
        begin, end = (self.syntax.source.location(at).line for at in (first.start, last.start))
        copy = apply_edits(Source("", text), shifted).text
        return Edit.insert(last.end, f"\n#line {begin}\n{copy}\n#line {end}\n")

    def _check(self) -> None:
        """Raises:
        _Illegal: the text, under another name, may mean something else.
        """
        function, tokens = self.function, self.syntax.tokens
        opener, closer = function.parameters
        for name in (self.name, *(f"{name}__{NAME}" for name in self._pointers.values() if name)):
            if any(name in file.text for file in self.texts.files):
                raise _not_repeated(f"the name {name} is taken")
        if tokens[opener - 1].text != self.kernel.name:
            raise _not_repeated("it is specialised for template arguments")
        head = [token.text for token in tokens[function.first : opener]]
        if any(head[i : i + 3] == ["template", "<", ">"] for i in range(len(head))):
            raise _not_repeated("it is specialised for template arguments")
        if not _is_in_namespaces(self.syntax, function.first):
            raise _not_repeated("it is defined in a class")
        if self.syntax.directives_within(function.first, closer):
            raise _not_repeated("its head depends on an #if")
        number = self.texts.pointer_numbers.reason(self.syntax, function)
        if number is not None:
            raise _not_repeated(number)
        telling = macros_of(_TELLING, self.texts.files)
        told = sorted({token.text for token in self._body} & telling)
        if told:
            raise _not_repeated(f"its text uses {told[0]}")
        if any(_ASKING.search(file.text) for file in self.texts.files):
            raise _not_repeated("a function may ask for the name of its caller")

    def _names(self, pointers: Collection[int]) -> Iterator[tuple[Token, str]]:
        """The names of these parameters, where they are declared, and those declarations.

        Raises:
            _Illegal: a declaration is not known to be one of a pointer.
        """
        opener, closer = self.function.parameters
        declared = list(split_commas(self.syntax.tokens[opener + 1 : closer]))
        if len(declared) != len(self.kernel.parameters):
            raise _not_repeated("its parameters are made by a macro")
        for position in sorted(pointers):
            parameter = self.kernel.parameters[position]
            token = _declared_pointer(declared[position], parameter.name)
            is_volatile = "volatile" in parameter.type
            if token is None or is_volatile or parameter.type.count("(") > 0:
                raise _not_repeated(f"its parameter '{parameter.name}' is not written as a pointer")
            text = self.syntax.source[Span(declared[position][0].start, token.end)]
            yield token, one_line(text)


def _span(token: Token) -> Span:
    return Span(token.start, token.end)


def _is_restricted(parameter: KernelParameter) -> bool:
    """Is the pointer itself `__restrict__`, not what it points to?"""
    return _RESTRICT.search(parameter.type.rpartition("*")[2]) is not None


def _declared_pointer(tokens: Sequence[Token], name: str) -> Token | None:
    """The name in `const T * const NAME`; None for any other declaration."""
    texts = [token.text for token in tokens]
    if "=" in texts:
        tokens, texts = tokens[: texts.index("=")], texts[: texts.index("=")]
    if len(texts) < 3 or texts[-1] != name or "*" not in texts:
        return None
    star = len(texts) - 1 - texts[::-1].index("*")
    if not {*texts[star + 1 : -1]} <= {"const"}:
        return None
    of_type = tokens[:star]
    is_type = all(t.kind in ("IDENTIFIER", "NUMBER") or t.text in _IN_TYPE for t in of_type)
    return tokens[-1] if is_type and of_type else None


def _is_in_namespaces(syntax: Syntax, index: int) -> bool:
    """Is the place in nothing but namespaces and linkage specifications?"""
    tokens, partner, index = syntax.tokens, syntax.brackets.partner, index - 1
    while index >= 0:
        text = tokens[index].text
        if text in (")", "]", "}") and partner[index] >= 0:
            index = partner[index] - 1
            continue
        if text in ("(", "[") or (text == "{" and not _opens_namespace(syntax, index)):
            return False
        index -= 1
    return True


def _opens_namespace(syntax: Syntax, brace: int) -> bool:
    tokens, first = syntax.tokens, brace
    while first > 0 and tokens[first - 1].text not in (";", "{", "}"):
        first -= 1
    words = [token.text for token in tokens[first:brace]]
    is_linkage = len(words) > 1 and words[-2] == "extern" and tokens[brace - 1].kind == "STRING"
    return is_linkage or "namespace" in words
