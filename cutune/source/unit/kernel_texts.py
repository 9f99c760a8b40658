"""Text of kernels: may it be repeated, and does it make numbers of pointers? Takes files.

The compiler supposes that a pointer made of a number leads to nothing that a `__restrict__` pointer
leads to, and that `a + (b - a)` is something behind `a`. Compiled code no longer shows either. So
nothing may be done with a pointer but to add numbers to it, to access what is there, and to hand it
on. The text is read without types: what may be a pointer counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cutune.core.source import Edit, Source
from cutune.source.syntax.directives import Macro, closing, renumbers
from cutune.source.syntax.parse import SourceFunction, Syntax, parse
from cutune.source.syntax.reach import Reach
from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.macros import MacroTable, Unsteady
from cutune.source.unit.unit import split_commas, template_parameters

#: Ways from pointers to numbers that need no more than these words.
_TELLING = word_set("""
    union memcpy __builtin_memcpy memmove bit_cast uintptr_t intptr_t
    __builtin_bit_cast bitwise_cast addressof __builtin_addressof
""")
#: Types that are no pointers, and that none fits into.
_SMALL = frozenset({"float", "double", "int", "unsigned", "char", "short", "bool", "const"})
_OTHERS = frozenset({"half", "__half", "int32_t", "uint32_t", "uint", "void"})
_WIDE = frozenset({"long", "size_t", "int64_t", "uint64_t", "ptrdiff_t", "ulong", "ssize_t"})
_VECTORS = frozenset(
    f"{kind}{n}"
    for kind in ("float", "double", "int", "uint", "char", "uchar")
    for n in range(2, 5)
)
_ARITHMETIC = _SMALL | _OTHERS | _WIDE | _VECTORS
_IN_TYPE = frozenset({"::", "<", ">", ",", "*", "&"})
_BUILTINS = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
_ASSEMBLY = frozenset({"asm", "__asm", "__asm__"})
_TYPE_OF = ("decltype", "typeof", "__typeof__")
#: Without a suffix of the program's own, whose operator may give anything.
_PLAIN_NUMBER = re.compile(r"(?:0[xXbB][0-9a-fA-F']+|[0-9][0-9']*)[uUlLzZ]*")
_MEMBERS = (".", "->", "::")
#: Behind these words an operand begins.
_BEFORE_OPERANDS = frozenset({"return", "case", "else", "do", "throw", "co_return"})
_STATEMENT = frozenset({";", "{", "}"})
_QUALIFIERS = frozenset({"const", "volatile", "__restrict__", "__restrict", "restrict"})


@dataclass(frozen=True)
class PointerNumbers:
    """Device code of these files; `expanded`: as the compiler sees them, where it was asked."""

    files: Sequence[Syntax]
    expanded: Sequence[Syntax] = ()

    def reason(
        self, syntax: Syntax, kernel: SourceFunction, entries: Collection[str]
    ) -> str | None:
        """Why a kernel, with these mangled names, may make a number of a pointer; or None."""
        called = self._reach.called(syntax, kernel, entries)
        found = (self._made_in(syntax, one) for syntax, one in [(syntax, kernel), *called])
        return next(filter(None, found), None)

    @cached_property
    def _reach(self) -> Reach:
        return Reach(self.files, self.expanded)

    @cached_property
    def _macros(self) -> MacroTable:
        return MacroTable.of(macro for syntax in self.files for macro in syntax.macros)

    @cached_property
    def _outside(self) -> _Names:
        """Names declared outside function bodies: members, functions, other names of types."""
        names = _Names()
        for syntax in self.files:
            bodies = [one.body for one in syntax.functions if one.body is not None]
            bodies += [one.parameters for one in syntax.functions]
            kept: list[Token] = []
            index = 0
            for first, last in sorted(bodies):
                kept += syntax.tokens[index : first + 1]
                index = max(index, last)
            kept += syntax.tokens[index:]
            names.declare(kept)
            _declare_types(names, kept)
            for one in syntax.functions:
                before = syntax.tokens[one.first : one.parameters[0] - 1]
                if before and before[-1].text in ("*", "&"):
                    names.pointers.add(one.name)
            names.members |= names.pointers
        return names

    def _made_in(self, syntax: Syntax, function: SourceFunction) -> str | None:
        names = self._outside.copied()
        (opener, closer), (_, last) = function.parameters, function.braces
        generic = {
            name
            for name, is_type in template_parameters(syntax.tokens[function.first : opener])
            if is_type and not function.is_kernel
        }
        for parameter in split_commas(syntax.tokens[opener + 1 : closer]):
            names.declare_parameter([token.text for token in parameter], generic)
        if function.is_kernel:
            names.own |= names.pointers - self._outside.pointers
        # Between the parameters and the body a constructor has its initialisers.
        found = self._made([*syntax.tokens[closer : last + 1]], names, ())
        return f"in '{function.name}' {found}" if found is not None else None

    def _made(self, tokens: list[Token], names: _Names, within: tuple[str, ...]) -> str | None:
        names = names.copied()
        names.declare(tokens)
        if any(token.text in ("struct", "class") for token in tokens):
            names.members |= names.pointers
        reader = _Reader(tokens, names)
        for index, token in enumerate(tokens):
            if (found := reader.made_at(index)) is not None:
                return found
            if token.kind != "IDENTIFIER" or token.text in within:
                continue
            for macro in self._macros.definitions.get(token.text, ()):
                inner = names.of_parameters(macro, list(split_commas(reader.arguments(index))))
                if (found := self._made([*macro.body], inner, (*within, token.text))) is not None:
                    return found
        return None


@dataclass
class _Names:
    pointers: set[str] = field(default_factory=set)
    #: Arrays of pointers, and pointers to pointers.
    arrays: set[str] = field(default_factory=set)
    numbers: set[str] = field(default_factory=set)
    #: Types that are pointers, and other names of types.
    types: set[str] = field(default_factory=set)
    aliases: set[str] = field(default_factory=set)
    #: Pointers that are members, and those that are parameters of the kernel.
    members: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)

    def copied(self) -> _Names:
        return _Names(*({*names} for names in vars(self).values()))

    def of_parameters(self, macro: Macro, arguments: Sequence[Sequence[Token]]) -> _Names:
        """These, and parameters of a macro whose arguments are such."""
        inner = self.copied()
        for name, argument in zip(macro.parameters or (), arguments, strict=False):
            if _Reader(argument, self).has_pointer(0, len(argument)):
                inner.pointers.add(name)
                if self.own & {token.text for token in argument}:
                    inner.own.add(name)
        return inner

    def declare(self, tokens: Sequence[Token]) -> None:
        texts = [token.text for token in tokens]
        for index, token in enumerate(tokens):
            if token.text == "(" and index > 0 and texts[index - 1] == "]":
                # The parameters of a lambda, perhaps.
                for parameter in split_commas(_Reader(tokens, self).arguments(index - 1)):
                    self.declare_parameter([one.text for one in parameter], ())
            if token.kind == "IDENTIFIER" and index > 0:
                self._declare_name(tokens, texts, index)

    def _declare_name(self, tokens: Sequence[Token], texts: Sequence[str], index: int) -> None:
        name, before = texts[index], texts[index - 1]
        following = texts[index + 1] if index + 1 < len(texts) else ""
        if before in _ARITHMETIC:
            self.numbers.add(name)
        star = index - 1
        while star > 0 and texts[star] in _QUALIFIERS:
            star -= 1
        if texts[star] in ("*", "&", "&&") and _is_declaration(texts, star):
            self.pointers.add(name)
            if following == "[" or texts[star - 1] == "*":
                self.arrays.add(name)
        elif before in self.types or (
            before == "auto"
            and following in ("=", "(", "{")
            and _Reader(tokens, self).has_pointer(index + 1, _statement_end(texts, index))
        ):
            self.pointers.add(name)

    def declare_parameter(self, texts: list[str], generic: Collection[str]) -> None:
        """Take a parameter into account; `generic`: types that may be any."""
        if "=" in texts:
            texts = texts[: texts.index("=")]
        words = [text for text in texts if text.isidentifier() and text not in _QUALIFIERS]
        if not words:
            return
        if {"*", "["} & {*texts} or {*texts} & ({*generic, "auto"} | self.types):
            self.pointers.add(words[-1])
        elif words[0] in _ARITHMETIC:
            self.numbers.add(words[-1])
        if texts.count("*") > 1 or ("*" in texts and "[" in texts):
            self.arrays.add(words[-1])


def _is_declaration(texts: Sequence[str], star: int) -> bool:
    index = star - 1
    while index >= 0 and texts[index] in ("*", "&", *_QUALIFIERS):
        index -= 1
    if index < 0 or texts[index] == ",":
        return texts[star] == "*"
    while index >= 0 and (texts[index].isidentifier() or texts[index] in ("::", "<", ">")):
        if texts[index] in _BEFORE_OPERANDS:
            return False
        index -= 1
    is_loop = index > 0 and texts[index] == "(" and texts[index - 1] == "for"
    return index < 0 or texts[index] in _STATEMENT or texts[index] == ":" or is_loop


def _is_closed(texts: Sequence[str]) -> bool:
    """Is each `>` the end of a `<`? So it is in a type, and not in `(bits >> i) & mask`."""
    depth = 0
    for text in texts:
        depth += {"<": 1, ">": -1}.get(text, 0)
        if depth < 0:
            return False
    return depth == 0


def _statement_end(texts: Sequence[str], first: int) -> int:
    return next((i for i in range(first, len(texts)) if texts[i] == ";"), len(texts))


def _declare_types(names: _Names, tokens: Sequence[Token]) -> None:
    """`typedef T *NAME;`, `using NAME = T *;`: other names of pointers."""
    texts = [token.text for token in tokens]
    for index, text in enumerate(texts):
        if text not in ("typedef", "using"):
            continue
        end = _statement_end(texts, index)
        name = texts[end - 1] if text == "typedef" else texts[index + 1]
        (names.types if "*" in texts[index:end] else names.aliases).add(name)


@dataclass(frozen=True)
class _Reader:
    tokens: Sequence[Token]
    names: _Names

    @cached_property
    def texts(self) -> list[str]:
        return [token.text for token in self.tokens]

    def made_at(self, index: int) -> str | None:
        text = self.texts[index]
        if text in _TELLING:
            return f"is '{text}'"
        is_binary = index > 0 and self._ends_operand(index - 1)
        if text == "-" and is_binary and self._is_pointer(index + 1):
            return "a pointer is subtracted"
        if self._is_moved_back(index):
            return f"'{text}' is moved back"
        if text == "&" and not is_binary and self._is_bare(index + 1):
            return "the address of a pointer is taken"
        if text == "(" and not is_binary:
            return self._cast(index + 1, self._end(index))
        if text == "reinterpret_cast" and self._text(index + 1) == "<":
            return self._cast(index + 2, self._opener(index) - 1)
        if text in _ASSEMBLY:
            opener = self._opener(index)
            is_told = self.has_pointer(opener, self._end(opener))
            return "a pointer is handed to inline assembly" if is_told else None
        return self._call(index) if self._text(index + 1) == "(" else None

    def _call(self, index: int) -> str | None:
        text = self.texts[index]
        is_type = text in _WIDE | self.names.types | self.names.aliases
        if not (is_type or text == "distance") or not self._is_pointer(index + 1):
            return None
        return f"a pointer is {'subtracted' if text == 'distance' else 'cast to a number'}"

    def _is_moved_back(self, index: int) -> bool:
        """Does `p - n`, `p[-n]`, `--p` begin here, of a parameter of the kernel?"""
        before, following = self._text(index - 1), self._text(index + 1)
        if self.texts[index] not in self.names.own or before in _MEMBERS:
            return False
        is_element = before == "*" and not self._ends_operand(index - 2)
        if following == "[":
            return self._text(index + 2) == "-"
        if following == "-" and self._is_pointer(index + 2):
            return False  # which is said of the operator
        return before == "--" or (following in ("-", "-=", "--") and not is_element)

    def _cast(self, first: int, last: int) -> str | None:
        """A cast to the type that these tokens are, if they are one; `last`: the bracket."""
        kind, operand = self.texts[first:last], last + 1
        is_type = kind and (
            (all(text.isidentifier() or text in _IN_TYPE for text in kind) and _is_closed(kind))
            or kind[0] in _TYPE_OF
        )
        if not is_type or {*kind} <= _SMALL | _OTHERS or not self._begins_operand(operand):
            return None
        if "*" not in kind or "&" in kind:
            is_made = self._is_pointer(operand) or self._is_call_with_pointer(operand)
            return "a pointer is cast to a number" if is_made else None
        while self._text(operand) == "(":
            operand += 1
        if self._text(operand) == "&":
            name, behind = self._text(operand + 1), self._text(operand + 2)
            is_element = behind == "[" and name not in self.names.arrays
            if not is_element and name not in self.names.numbers - self.names.pointers:
                return "an address is cast"
        return "an array of pointers is cast" if self._text(operand) in self.names.arrays else None

    def _is_pointer(self, index: int) -> bool:
        while self._text(index) in ("+", "~", "const"):
            index += 1
        if self._text(index) == "(":
            return self.has_pointer(index, self._end(index))
        if self._text(index) == "&":
            return True
        if self._text(index).endswith("_cast"):
            return "*" in self.texts[index : self._opener(index)]
        while self._text(index + 1) in _MEMBERS:
            index += 2
        return self._is_bare(index)

    def _is_call_with_pointer(self, index: int) -> bool:
        while self._text(index + 1) in _MEMBERS:
            index += 2
        is_call = self._text(index + 1) == "(" and self.tokens[index].kind == "IDENTIFIER"
        return is_call and self.has_pointer(index + 2, self._end(index + 1))

    def has_pointer(self, first: int, last: int) -> bool:
        """May any of these tokens be a pointer, that is not looked behind?"""
        return any(self._is_bare(index) for index in range(first, last))

    def _is_bare(self, index: int) -> bool:
        name, following = self._text(index), self._text(index + 1)
        if name == "this":
            return following != "->"
        if index > 0 and self.texts[index - 1] in _MEMBERS:
            is_index = index > 1 and self.texts[index - 2] in _BUILTINS
            return name in self.names.members and following != "[" and not is_index
        if name in self.names.arrays:
            return True
        # No pointer is multiplied: `(float)*p` reads what is there.
        is_read = following in ("[", "->", ".") or (index > 0 and self.texts[index - 1] == "*")
        return name in self.names.pointers and not is_read

    def arguments(self, index: int) -> Sequence[Token]:
        is_call = self._text(index + 1) == "("
        return self.tokens[index + 2 : self._end(index + 1)] if is_call else ()

    def _opener(self, index: int) -> int:
        return self.texts.index("(", index) if "(" in self.texts[index:] else index

    def _end(self, opener: int) -> int:
        return closing(self.texts, opener)

    def _text(self, index: int) -> str:
        return self.texts[index] if 0 <= index < len(self.texts) else ""

    def _ends_operand(self, index: int) -> bool:
        if index < 0:
            return False
        kind, text, _ = self.tokens[index]
        is_name = kind in ("IDENTIFIER", "NUMBER") and text not in _BEFORE_OPERANDS
        return is_name or text in (")", "]")

    def _begins_operand(self, index: int) -> bool:
        if self._text(index) == "&" and _PLAIN_NUMBER.fullmatch(self._text(index + 1)):
            return False  # `(mask) & 1`: a number has no address.
        is_word = any(t.kind in ("IDENTIFIER", "NUMBER") for t in self.tokens[index : index + 1])
        return is_word or self._text(index) in ("(", "&", "*", "~", "+")


#: Macros that are put away, directives that change nothing.
_STATEFUL = re.compile(r"\b(?:push|pop)_macro\b")
_UNROLL = re.compile(r"[ \t]*#[ \t]*pragma[ \t]+(?:no)?unroll\b")
_CONDITIONS = frozenset({"if", "ifdef", "ifndef", "elif", "else", "endif"})


@dataclass(frozen=True)
class KernelTexts:
    """The user's files, each parsed once; `expanded`: as the compiler sees them."""

    files: tuple[Source, ...]
    parsed: dict[str, Syntax] = field(default_factory=dict)
    expanded: tuple[Syntax, ...] = ()
    unsteady: Unsteady | None = None
    parse: Callable[[Source], Syntax] = parse
    _held: dict[re.Pattern[str], bool] = field(default_factory=dict)

    def hold(self, pattern: re.Pattern[str]) -> bool:
        """Is it found in any of the files? They are searched once."""
        if pattern not in self._held:
            self._held[pattern] = any(pattern.search(file.text) for file in self.files)
        return self._held[pattern]

    def definitions(self, name: str) -> Iterator[tuple[Syntax, SourceFunction]]:
        for file in self.files:
            if "__global__" not in file.text or name not in file.text:
                continue
            syntax = self._syntax(file)
            if syntax.brackets.unbalanced is not None:
                continue
            yield from ((syntax, one) for one in syntax.kernels if one.name == name)

    def _syntax(self, file: Source) -> Syntax:
        if file.path not in self.parsed:
            self.parsed[file.path] = self.parse(file)
        return self.parsed[file.path]

    @cached_property
    def pointer_numbers(self) -> PointerNumbers:
        return PointerNumbers([self._syntax(file) for file in self.files], self.expanded)

    def may_be_repeated(self, syntax: Syntax, function: SourceFunction) -> bool:
        """May its text be repeated, without changing the meaning of what follows?"""
        first, last = function.first, function.braces[1]
        if self.hold(_STATEFUL) or renumbers(syntax.source.text):
            return False
        directives = syntax.directives_within(first, last)
        if not all(d.name in _CONDITIONS or _UNROLL.match(d.token.text) for d in directives):
            return False
        # What stands in parentheses is text that a macro is given.
        around = {syntax.tokens[index].text for index in syntax.around(first)}
        if "(" in around or not all(
            _is_plain_call(syntax, index) for index in namesakes_in(syntax, function)
        ):
            return False
        return (self.unsteady or Unsteady(self.files)).counted(syntax, (first, last)) is None


def namesakes_in(syntax: Syntax, function: SourceFunction) -> Iterator[int]:
    """Where the name of a function stands in its own body, of which it may mean another one."""
    first, last = function.braces
    return (i for i in range(first, last) if syntax.tokens[i].text == function.name)


def _is_plain_call(syntax: Syntax, index: int) -> bool:
    before, _, after = (token.text for token in syntax.tokens[index - 1 : index + 2])
    return after in ("(", "<") and before not in (*_MEMBERS, "&")


def declared_early(syntax: Syntax, function: SourceFunction, name: str) -> Edit | None:
    """The edit that declares a copy of this name behind the first declaration of a kernel.

    A kernel that is defined behind its launches has one; a template is left alone.
    """
    tokens, partner = syntax.tokens, syntax.brackets.partner
    for index in range(function.first):
        if tokens[index].text != function.name or tokens[index + 1].text != "(":
            continue
        first, end = index, partner[index + 1] + 1
        while first and tokens[first - 1].text not in _STATEMENT:
            first -= 1
        head = [token.text for token in tokens[first:index]]
        is_whole = tokens[end].text == ";" and not syntax.directives_within(first, end)
        is_local = any(syntax.functions_around(index))
        if is_whole and "__global__" in head and "template" not in head and not is_local:
            words = [*head, name, *(token.text for token in tokens[index + 1 : end])]
            return Edit.insert(tokens[end].end, f" {' '.join(words)};")
    return None
