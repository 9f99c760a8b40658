"""Copies of a kernel's text under another name. Takes a kernel and the user's files, gives edits.

A transform changes parameters, the beginning of the body, and its end. The copy stands behind its
kernel, with `#line` so that messages and `__LINE__` stay right. Where the same text might mean
something else there is none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise, takewhile

from cutune.core.codes import Code
from cutune.core.source import Edit, Source, Span, apply_edits
from cutune.source.launches.callees import selector_name
from cutune.source.program import Impurity, Kernel
from cutune.source.rewrite.c_text import one_line
from cutune.source.syntax.directives import behind_template, closing
from cutune.source.syntax.parse import SourceFunction, Syntax
from cutune.source.syntax.tokens import Token
from cutune.source.unit.kernel_texts import KernelTexts, declared_early
from cutune.source.unit.macros import macros_of
from cutune.source.unit.unit import scope_around, split_commas
from cutune.toolchain.kernel_names import is_qualified, plain_name

#: Words by which a body may tell the copy from the kernel.
_TELLING = ("__func__", "__FUNCTION__", "__PRETTY_FUNCTION__", "__FUNCSIG__", "__FUNCDNAME__")
#: Words by which any function may tell its caller's name, or place.
_ASKING = re.compile(r"\b(?:__builtin_(?:FUNCTION|LINE|COLUMN|source_location)|source_location)\b")
_CONSTANT = frozenset({"const", "constexpr"})
#: What a subscript stands behind.
_VALUE = re.compile(r"(?!return$|case$|else$)\w+|[)\]]")
#: Words among parameters of which a function type does not say all, or says something else.
_NO_SELECTOR = frozenset({"...", "auto", "&", "&&"})


class Illegal(Exception):
    """Why there is no variant."""

    def __init__(self, code: Code, what: str) -> None:
        super().__init__(what)
        self.code, self.what = code, what


def left_out(kernel: Kernel, variant: str, code: Code, **words: str) -> tuple[str, Impurity]:
    """Return the name of a variant, and why the kernel has none."""
    message = code.template.format(variant=variant, **words)
    return variant, Impurity(code, message, kernel.span, words.get("what", ""))


def not_repeated(what: str) -> Illegal:
    """Return the error that a copy of the text may mean something else."""
    return Illegal(Code.VARIANT_TEXT, what)


@dataclass(frozen=True)
class Changes:
    """The changes in a copy. `taken`: names that it needs, which nothing else may have.

    `parameters`: edits of the source. `opening`, `closing`: text behind `{`, and before `}`.
    `head`: text before the name.
    """

    parameters: tuple[Edit, ...] = ()
    opening: str = ""
    closing: str = ""
    taken: tuple[str, ...] = ()
    head: str = ""

    def around(self, inner: Changes) -> Changes:
        return Changes(
            (*self.parameters, *inner.parameters),
            self.opening + inner.opening,
            inner.closing + self.closing,
            (*self.taken, *inner.taken),
            self.head + inner.head,
        )


@dataclass(frozen=True)
class KernelText:
    """The text of a kernel, among the user's files."""

    kernel: Kernel
    texts: KernelTexts
    #: How many kernels of its name there are, itself too.
    namesakes: int = 1

    @cached_property
    def _definition(self) -> tuple[Syntax, SourceFunction]:
        """The definition; raises Illegal where it is not the only one, or may not be repeated."""
        if is_qualified(self.kernel.name):
            raise Illegal(Code.VARIANT_NAMESAKE, plain_name(self.kernel.name))
        definitions = list(self.texts.definitions(self.kernel.name))
        if len(definitions) < self.namesakes:
            raise not_repeated("its definition is made by a macro")
        if self.namesakes > 1:
            definitions = [one for one in definitions if self._is_defined_by(*one)]
        if len(definitions) != 1:
            raise not_repeated("it has several definitions")
        syntax, function = definitions[0]
        if not self.texts.may_be_repeated(syntax, function):
            raise not_repeated("its text may mean something else where it is repeated")
        return syntax, function

    def _is_defined_by(self, syntax: Syntax, function: SourceFunction) -> bool:
        assert function.body is not None, "kernels of a syntax are defined"
        first, last = (syntax.tokens[i].start for i in (function.first, function.body[1]))
        here, there = map(os.path.realpath, (syntax.source.path, self.kernel.source.path))
        return here == there and first <= self.kernel.span.start < last

    @property
    def syntax(self) -> Syntax:
        return self._definition[0]

    @property
    def function(self) -> SourceFunction:
        return self._definition[1]

    @property
    def body(self) -> Sequence[Token]:
        """The body of the definition, from `{` to `}`."""
        assert self.function.body is not None, "kernels of a syntax are defined"
        first, last = self.function.body
        return self.syntax.tokens[first : last + 1]

    def lambdas_with(self, names: Collection[str]) -> Iterator[tuple[int, int]]:
        """Yield where lambdas of the body begin and end that name one of these."""
        words = [token.text for token in self.body]
        held = macros_of(names, self.texts.files).union(names)
        for at, (before, word) in enumerate(pairwise(words), 1):
            is_attribute = "[" in (before, words[min(at + 1, len(words) - 1)])
            if word == "[" and not is_attribute and _VALUE.fullmatch(before) is None:
                begin = _opener(words, closing(words, at))
                end = closing(words, begin)
                if not held.isdisjoint(words[begin:end]):
                    yield at, end

    def lets_lambdas_tell(self, names: Collection[str]) -> bool:
        """May it show that lambdas hold these, which a copy has as variables, and so are larger?

        It does not where each is called at once, or has a name that is only called.
        """
        words, held = [token.text for token in self.body], {*names}
        size = -1
        while size != (size := len(held)):
            for begin, end in self.lambdas_with(held):
                if words[end + 1] == "(":
                    continue
                if words[begin - 3] != "auto" or words[begin - 1] != "=":
                    return True
                held.add(words[begin - 2])
        called = held.difference(names)
        is_only_called = all(
            word not in called or behind == "(" or before == "auto"
            for before, word, behind in zip(words, words[1:], words[2:], strict=False)
        )
        hidden = macros_of(called, self.texts.files) - called
        return not (is_only_called and hidden.isdisjoint(words))

    def copy(self, name: str, changes: Changes) -> Edit:
        """Return the edit that inserts a copy; raises Illegal where it may mean something else."""
        self._check([name, *changes.taken])
        function, tokens = self.function, self.syntax.tokens
        opener, closer = self.body[0], self.body[-1]
        first = tokens[function.first]
        edits = [
            Edit(span_of(tokens[function.parameters[0] - 1]), changes.head + name),
            *changes.parameters,
            Edit.insert(opener.end, changes.opening),
            Edit.insert(closer.start, changes.closing),
        ]
        text = self.syntax.source[Span(first.start, closer.end)]
        shifted = [
            Edit(Span(e.span.start - first.start, e.span.end - first.start), e.text)
            for e in edits
            if e.text
        ]
        begin, end = (self.syntax.source.location(at).line for at in (first.start, closer.start))
        copy = apply_edits(Source("", text), shifted).text
        return Edit.insert(closer.end, f"\n#line {begin}\n{copy}\n#line {end}\n")

    def declaration(self, name: str) -> Edit | None:
        """Return the edit that declares a copy where its kernel is declared before its launches."""
        return declared_early(self.syntax, self.function, name)

    def selector(self) -> tuple[Source, Edit] | None:
        """Return the edit that inserts a function of its parameters that gives a kernel pointer.

        It is never called: with one behind each kernel of the name, its type says which of them the
        arguments of a launch choose. None where that is not certain. The text may be repeated.
        """
        name = selector_name(self.kernel.name)
        if any(name in file.text for file in self.texts.files):
            return None
        tokens, (opener, closer) = self.syntax.tokens, self.function.parameters
        head = tokens[self.function.first : opener]
        parts = [declared(part) for part in split_commas(tokens[opener + 1 : closer])]
        words = {token.text for part in parts for token in part}
        if words & _NO_SELECTOR or any(token.text == "requires" for token in head):
            return None
        source = self.syntax.source
        texts = (one_line(source[Span(one[0].start, one[-1].end)]) for one in parts if one)
        parameters = f"({', '.join(texts)})"
        end = behind_template([token.text for token in head])
        template = one_line(source[Span(head[0].start, head[end - 1].end)]) if end else ""
        text = f" {template} auto {name}{parameters} -> void (*){parameters};"
        return source, Edit.insert(self.body[-1].end, text)

    def _check(self, names: Collection[str]) -> None:
        """Raise Illegal where the text may mean something else if repeated with these names."""
        function, tokens = self.function, self.syntax.tokens
        opener, closer = function.parameters
        for name in names:
            if any(name in file.text for file in self.texts.files):
                raise not_repeated(f"the name {name} is taken")
        head = [token.text for token in tokens[function.first : opener]]
        is_special = any(head[i : i + 3] == ["template", "<", ">"] for i in range(len(head)))
        if is_special or head[-1] != self.kernel.name:
            raise not_repeated("it is specialised for template arguments")
        if scope_around(self.syntax, function.first) is None:
            raise not_repeated("it is defined in a class")
        if self.syntax.directives_within(function.first, closer):
            raise not_repeated("its head depends on an #if")
        words = [token.text for token in self.body]
        static, telling = (macros_of(one, self.texts.files) for one in (("static",), _TELLING))
        around = (words[max(0, i - 1) : i + 2] for i, word in enumerate(words) if word in static)
        if any(map(_CONSTANT.isdisjoint, around)):
            raise not_repeated("it has a static variable, of which a copy would have another")
        if told := sorted({*words} & telling):
            raise not_repeated(f"its text uses {told[0]}")
        if self.texts.hold(_ASKING):
            raise not_repeated("a function may ask for the name of its caller")


def _opener(words: Sequence[str], at: int) -> int:
    return words.index("{", at) if "{" in words[at:] else len(words) - 1


def declared(parameter: Sequence[Token]) -> Sequence[Token]:
    """Return a parameter without its default value."""
    return list(takewhile(lambda token: token.text != "=", parameter))


def span_of(token: Token) -> Span:
    return Span(token.start, token.end)
