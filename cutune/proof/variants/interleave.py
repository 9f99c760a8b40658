"""The variants `beside_x2`, `beside_x4`: a block does what several blocks do, side by side.

    __global__ void reverse__beside_x2(const int *const a, int *const b, int const n)
    { __shared__ int cutune_part[2][256]; …
      if ((cutune_block * 2u + 1u) * 256u < unsigned(n)) {
        auto &part_cutune0 = cutune_part[0], &part_cutune1 = cutune_part[1];
        const uint3 cutune_at_0{…}, cutune_at_1{…};
        const int i_cutune0 = cutune_at_0.x * 256 + threadIdx.x;
        part_cutune0[threadIdx.x] = a[i_cutune0];
        const int i_cutune1 = cutune_at_1.x * 256 + threadIdx.x;
        part_cutune1[threadIdx.x] = a[i_cutune1];
        __syncthreads();
        b[i_cutune0] = part_cutune0[255 - threadIdx.x];
        b[i_cutune1] = part_cutune1[255 - threadIdx.x];
      } else … }

Takes the text of a kernel, gives text in which each piece between two barriers is there once for
each of several blocks, with variables and shared arrays of its own, so that loads of one need not
wait for those of the other. Barriers stand in the body, or in loops whose heads name nothing but
parameters, constants and the loop's own variable. Where not all blocks exist, those that do come
one after another, as in `cutune.proof.variants.repeat`.

What a name means is left to the compiler: a variable that is not seen here to be declared is
declared twice. Each block has its own variable for each parameter. What a loop's head names, and
parameters that a macro names, are constants, so that a kernel that changes them does not compile in
this form. Text that could change a constant, or tell it from a variable, is refused: casts to
references, addresses of constants, overloads that take references.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise, takewhile

from cutune.core.source import Edit
from cutune.proof.variants.text import KernelText, declared, not_repeated
from cutune.source.syntax.directives import OPENERS, closing
from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.integers import INTEGER_WORDS
from cutune.source.unit.macros import macros_of
from cutune.source.unit.unit import split_commas

BARRIER, _SHARED = "__syncthreads", "__shared__"
#: Words that begin a statement which declares nothing for those behind it.
_STATEMENTS = word_set("if else for while do switch case default return break continue {")
#: Words with which a piece of the body may leave it, or change what is around it.
_LEAVING = word_set("break continue goto return")
_NEVER = word_set(
    "goto asm __asm__ extern gridDim decltype typeof __typeof__ __builtin_constant_p typeid this"
)
#: What a value ends with, before a binary `&`.
_VALUE = re.compile(r"(?!return$|case$|else$)\w+|[)\]]")
#: A type that is a reference under a name of its own.
_REFERENCE = re.compile(r"\busing\b[^;=]*=[^;]*&\s*;|\btypedef\b[^;]*&")
_FUNDAMENTAL = frozenset({"int", "float", "double", "char", "short", "long", "unsigned", "bool"})
_UNROLL = re.compile(r"pragma unroll( \d+)?")
#: What begins an initial value, or the size of an array; what types are made of besides names.
_INITIAL = frozenset({"=", "[", "(", "{"})
_RESTRICT = frozenset({"__restrict__", "__restrict"})
#: Before a name of something else: of a member, or of another scope.
_WITHIN = (".", "->", "::")
_OF_TYPES = frozenset({"::", "<", ">", ",", "*", "&", "&&"})
#: What names begin with that a copy declares, those of places, and what its variables end with.
OWN, AT, INTERLEAVED = "cutune_", "cutune_at_", "_cutune"
Texts = Sequence[Token]


@dataclass(frozen=True)
class _Piece:
    """Statements without a barrier."""

    tokens: Texts


@dataclass(frozen=True)
class _Barrier:
    pass


@dataclass(frozen=True)
class _Loop:
    """A loop with barriers. `head`: from `for` to `)`."""

    head: Texts
    names: frozenset[str]
    items: Sequence[_Item]


_Item = _Piece | _Barrier | _Loop


@dataclass(frozen=True)
class Interleaved:
    """The parts of a copy's body. `rest`: the body as it is, with the first of all shared arrays.

    `shared`: declarations of shared arrays, each as many times as there are blocks. `edits`: make
    parameters constants that blocks share.
    """

    shared: str
    together: str
    rest: str
    edits: tuple[Edit, ...]


class Body:
    """The body of a kernel, read; raises Illegal where several may not stand side by side."""

    def __init__(self, text: KernelText) -> None:
        self.text = text
        tokens = text.body[1:-1]
        function = text.function
        assert function.body is not None, "kernels of a syntax are defined"
        #: By the place of the token behind it.
        self.pragmas: dict[int, str] = {}
        for directive in text.syntax.directives_within(*function.body):
            unroll = _UNROLL.fullmatch(f"{directive.name} {directive.rest.strip()}")
            if unroll is None:
                raise not_repeated("its body has a directive")
            place = text.syntax.tokens[directive.index].start
            self.pragmas[place] = f'_Pragma("unroll{unroll[1] or ""}") '
        words = {token.text for token in tokens}
        if found := sorted(words & _NEVER):
            raise not_repeated(f"its body has '{found[0]}'")
        self.shared: dict[str, Texts] = {}
        self.declared: set[str] = set()
        self.items = [*self._items(tokens)]
        if not any(isinstance(item, _Barrier | _Loop) for item in self.items):
            raise not_repeated("it has no barrier of its own")
        if not self.shared:
            raise not_repeated("it declares no shared array")
        # They are declared before all else.
        of_arrays = {token.text for array in self.shared.values() for token in array}
        if self.declared & of_arrays or any(map(self._is_named_before, self.shared)):
            raise not_repeated("a name has another meaning before a shared array is declared")
        #: Parameters of which each block has its own variable, and how these are declared.
        self.parameters = _parameters(text)
        self.own = {one for one in {*self.parameters} & words if not self._is_fixed(one)}
        # What names are joined of is not read here.
        known = {BARRIER, _SHARED, "blockIdx", "gridDim", "##", *_LEAVING, *_NEVER}
        hidden = macros_of(known | self.declared | {*self.shared}, text.texts.files)
        if found := sorted((words & hidden) - known - self.declared - {*self.shared}):
            raise not_repeated(f"the macro {found[0]} is about its blocks")
        self._check(self.items, is_outermost=True)
        if self._is_left_unseen():
            raise not_repeated("a macro that its files do not define leaves it")
        fixed = self.parameters.keys() & words - self.own
        if constants := fixed | {*_names_of_heads(self.items)}:
            self._check_constants(constants)

    def _is_fixed(self, parameter: str) -> bool:
        """Do blocks share a parameter: does a loop's head, or a macro of the body, name it?"""
        if not self.parameters[parameter].how or parameter in _words_of_heads(self.items):
            return True
        macros = macros_of([parameter], self.text.texts.files) - {parameter}
        return any(token.text in macros for token in self.text.body)

    # ---- reading

    def _items(self, tokens: Texts) -> Iterator[_Item]:
        begin = at = 0
        while at < len(tokens):
            end = _end_of_statement(tokens, at)
            statement = tokens[at:end]
            special = self._special(statement)
            if special is not None or statement[0].text == _SHARED:
                if begin < at:
                    yield _Piece(tokens[begin:at])
                begin = end
                if special is not None:
                    yield special
                else:
                    self._note_shared(statement)
            else:
                self.declared |= {*_declared_names(statement)}
            at = end
        if begin < len(tokens):
            yield _Piece(tokens[begin:])

    def _special(self, statement: Texts) -> _Item | None:
        words = [token.text for token in statement]
        if words == [BARRIER, "(", ")", ";"]:
            return _Barrier()
        if words[0] != "for" or BARRIER not in words:
            return None
        close = _matching(statement, 1)
        if words[close + 1] != "{" or words[-1] != "}":
            raise not_repeated("a loop with a barrier has no braces")
        head = statement[: close + 1]
        names = frozenset(_declared_names(statement[2:close]))
        first = [*takewhile(lambda token: token.text != ";", statement[2:close])]
        if len(names) != len(_declarators(first)):
            raise not_repeated("nobody can tell what a loop with a barrier declares")
        known = len(self.shared)
        items = [*self._items(statement[close + 2 : -1])]
        if len(self.shared) > known:
            raise not_repeated("a shared array is declared in a loop")
        return _Loop(head, names, items)

    def _note_shared(self, statement: Texts) -> None:
        parts = [*split_commas(statement[1:-1])]
        first = next((i for i, token in enumerate(parts[0]) if token.text == "["), len(parts[0]))
        for part, at in zip(parts, [first - 1, *[0] * (len(parts) - 1)], strict=True):
            if not part[at:] or not part[at].text.isidentifier() or part[at].text in self.shared:
                raise not_repeated("a shared array is not plainly declared")
            plain = [token.text for token in takewhile(lambda t: t.text != "[", part)]
            if {*plain} & {"(", "*", "&"} or {"=", "{"} & {token.text for token in part}:
                raise not_repeated("a shared array is not plainly declared")
            self.shared[part[at].text] = [*parts[0][: first - 1], *part[at:]]

    def _is_named_before(self, name: str) -> bool:
        """Is a name in the text before the declaration of a shared array, or in its head?"""
        start = next(token.start for token in self.shared[name] if token.text == name)
        return any(token.text == name and token.start < start for token in self.text.body)

    # ---- asking

    def _check(self, items: Sequence[_Item], is_outermost: bool) -> None:
        for place, item in enumerate(items):
            match item:
                case _Loop(head, names, inner):
                    self._check_head(head, names)
                    self._check(inner, is_outermost=False)
                case _Piece(tokens):
                    words = {token.text for token in tokens}
                    if words & {BARRIER, _SHARED}:
                        raise not_repeated("a barrier or a shared array stands in a branch")
                    is_last = is_outermost and place == len(items) - 1
                    if "return" in words and not is_last:
                        raise not_repeated("it returns before its last barrier")
                    if words & {"break", "continue"} and not is_outermost:
                        raise not_repeated("a loop with a barrier is left")

    def _check_head(self, head: Texts, names: frozenset[str]) -> None:
        words = {token.text for token in head}
        if not names or names & (self.declared | {*self.shared}):
            raise not_repeated("the variable of a loop with a barrier has no name of its own")
        texts = [token.text for token in head]
        types = [*takewhile(lambda text: text not in names, texts[texts.index("(") + 1 :])]
        # A constant of a class calls other functions, and is made by one.
        if not types or not INTEGER_WORDS.issuperset(types):
            raise not_repeated("the variable of a loop with a barrier is not 'int' or the like")
        others = self.declared | {*self.shared, "blockIdx", "threadIdx", "[", "->", "&"}
        # An operand in parentheses stands behind an operator, the arguments of a call do not.
        before = (one.text for one, token in pairwise(head[1:]) if token.text == "(")
        is_calling = any(word[-1].isalnum() or word[-1] in "_)]}>" for word in before)
        if words & others or is_calling:
            raise not_repeated("the head of a loop with a barrier is not the same for all blocks")

    def _is_left_unseen(self) -> bool:
        """Has it more words that leave it as the compiler sees it than it has as it is written?"""
        written = Counter(token.text for token in self.text.body)
        for syntax in self.text.texts.expanded:
            for kernel in (one for one in syntax.kernels if one.name == self.text.kernel.name):
                first, last = kernel.braces
                seen = Counter(token.text for token in syntax.tokens[first:last])
                if any(seen[word] > written[word] for word in _LEAVING):
                    return True
        return False

    def _check_constants(self, names: Set[str]) -> None:
        """Raise Illegal where variables of these names could be changed though they are constants,
        or other functions be called for constants."""
        body, texts = self.text.body, self.text.texts
        words = [token.text for token in body]
        for before, word, after in zip(words, words[1:], words[2:], strict=False):
            if word in ("&", "&&") and after in (")", ">"):
                raise not_repeated("it has a cast to a reference")
            is_unary = _VALUE.fullmatch(before) is None
            if word == "&" and after in {*names, "("} and is_unary:
                raise not_repeated("it takes the address of a constant of the copy")
        for cast in pairwise(pairwise(words)):
            if cast == (("*", ")"), (")", "&")):
                raise not_repeated("it has a cast of an address")
        if any(_REFERENCE.search(file.text) for file in texts.files):
            raise not_repeated("a type may be a reference")
        for name in {word for word, after in pairwise(words) if after in ("(", "<")}:
            heads = [*texts.parameters(name)]
            is_told = len(heads) > 1 and any("&" in head for head in heads)
            if is_told or any(map(_is_for_any_type, heads)):
                raise not_repeated(f"the function {name} may tell constants from variables")

    # ---- writing

    def interleaved(self, factor: int) -> Interleaved:
        """Return the parts of a copy that does several blocks."""

        def several(token: Token) -> str:
            return f"{OWN}{token.text}[{factor}]" if token.text in self.shared else token.text

        arrays = (self._joined(tokens, several) for tokens in self.shared.values())
        shared = " ".join(f"{_SHARED} {array};" for array in arrays)
        own = "".join(
            f"auto &{self._own(name, number)} = {OWN}{name}[{number}]; "
            for name in self.shared
            for number in range(factor)
        )
        own += "".join(
            f"{self.parameters[name].how} {self._own(name, number)} = {name}; "
            for name in sorted(self.own)
            for number in range(factor)
        )
        together = own + "".join(self._written(self.items, factor, {}))
        first = "".join(f"auto &{name} = {OWN}{name}[0]; " for name in self.shared)
        others = self._without_shared(self.text.body[1:-1])
        rest = " ".join(self._joined(tokens, lambda token: token.text) for tokens in others)
        constants = (one for name, one in self.parameters.items() if name not in self.own)
        edits = tuple(Edit.insert(one.name.start, "const ") for one in constants)
        return Interleaved(shared, together, first + rest, edits)

    def _joined(self, tokens: Texts, written: Callable[[Token], str]) -> str:
        parts = list[str]()
        for index, token in enumerate(tokens):
            if index and tokens[index - 1].end != token.start:
                parts.append(" ")
            parts += [self.pragmas.get(token.start, ""), written(token)]
        return "".join(parts)

    def _own(self, name: str, number: int) -> str:
        return f"{name}{INTERLEAVED}{number}"

    def _without_shared(self, tokens: Texts) -> Iterator[Texts]:
        """The statements of a body but for those of shared arrays, wherever these stand."""
        begin = at = 0
        while at < len(tokens):
            if tokens[at].text == _SHARED:
                yield tokens[begin:at]
                begin = _end_of_statement(tokens, at)
            at += 1
        yield tokens[begin:]

    def _written(self, items: Sequence[_Item], factor: int, loops: dict[str, str]) -> Iterator[str]:
        for item in items:
            match item:
                case _Barrier():
                    yield f"{BARRIER}(); "
                case _Loop(head, names, inner):
                    own = {name: f"{name}{INTERLEAVED}" for name in names}
                    yield self._joined(head, lambda token: loops.get(token.text, token.text))
                    yield " { "
                    yield "".join(f"const auto {to} = {name}; " for name, to in own.items())
                    yield from self._written(inner, factor, loops | own)
                    yield "} "
                case _Piece(tokens):
                    is_left = any(token.text == "return" for token in tokens)
                    for number in range(factor):
                        piece = self._piece(tokens, number, loops)
                        yield f"[&] {{ {piece} }}(); " if is_left else f"{piece} "

    def _piece(self, tokens: Texts, number: int, loops: dict[str, str]) -> str:
        members = {after.start for before, after in pairwise(tokens) if before.text in _WITHIN}

        def own(token: Token) -> str:
            name = token.text
            if token.start in members:
                return name
            if name == "blockIdx":
                return f"{AT}{number}"
            if name in self.declared or name in self.shared or name in self.own:
                return self._own(name, number)
            return loops.get(name, name)

        return self._joined(tokens, own)


@dataclass(frozen=True)
class _Parameter:
    """A parameter. `how`: words that declare a variable of its type; empty: nobody can tell."""

    name: Token
    how: str


def _parameters(text: KernelText) -> dict[str, _Parameter]:
    """The parameters of a kernel by name; raises Illegal where one is no plain value."""
    opener, closer = text.function.parameters
    found = {}
    for part in filter(None, split_commas(text.syntax.tokens[opener + 1 : closer])):
        name = declared(part)[-1]
        if not name.text.isidentifier() or any(one.text in "&(" for one in part):
            raise not_repeated("a parameter is no plain value")
        found[name.text] = _Parameter(name, _how([one.text for one in declared(part)[:-1]]))
    return found


def _how(words: Sequence[str]) -> str:
    """The words that declare a variable of a type, which promises nothing of its pointer."""
    if "*" not in words:
        return "" if "__grid_constant__" in words else " ".join(words)
    behind = {*takewhile(lambda word: word != "*", reversed(words))}
    if behind - _RESTRICT - {"const"}:
        return ""
    return "const auto" if "const" in behind else "auto"


def _words_of_heads(items: Sequence[_Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, _Loop):
            yield from (token.text for token in item.head)
            yield from _words_of_heads(item.items)


def _names_of_heads(items: Sequence[_Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, _Loop):
            yield from item.names
            yield from _names_of_heads(item.items)


def _matching(tokens: Texts, at: int) -> int:
    end = at + closing([token.text for token in tokens[at:]], 0)
    if end == len(tokens):
        raise not_repeated("its brackets do not match")
    return end


def _end_of_statement(tokens: Texts, at: int) -> int:
    """The place behind a statement, roughly: `if (…) {…} else …` are two."""
    index = at
    while index < len(tokens):
        text = tokens[index].text
        if text in OPENERS:
            index = _matching(tokens, index)
            is_body = text == "{" and tokens[at].text in _STATEMENTS
            if is_body and tokens[at].text != "do":
                return index + 1
        elif text == ";":
            return index + 1
        index += 1
    return len(tokens)


def _declarators(declaration: Texts) -> Sequence[Texts]:
    """The parts of a declaration: at all commas, unless what follows one is no declarator.

    So `int a = x < y, b = 2` has two, and `pair<x, y> a` has one.
    """
    parts, begin, at = list[Texts](), 0, 0
    while at < len(declaration):
        if declaration[at].text in OPENERS:
            at = _matching(declaration, at)
        elif declaration[at].text == ",":
            parts.append(declaration[begin:at])
            begin = at + 1
        at += 1
    parts.append(declaration[begin:])
    return parts if all(map(_is_declarator, parts[1:])) else [*split_commas(declaration)]


def _is_declarator(part: Texts) -> bool:
    """Is it a name behind stars, with its size or initial value?"""
    rest = [token.text for token in part]
    while rest and rest[0] in ("*", "&", "const"):
        del rest[0]
    if not rest or not rest[0].isidentifier():
        return False
    del rest[0]
    while rest and rest[0] in OPENERS:
        del rest[: closing(rest, 0) + 1]
    return not rest or rest[0] == "="


def _declared_names(statement: Texts) -> Iterator[str]:
    """The names that a statement declares, if it is a plain declaration."""
    if not statement or statement[0].text in _STATEMENTS:
        return
    # Of the head of a loop the first part alone.
    end = next((i for i, token in enumerate(statement) if token.text == ";"), len(statement))
    for number, part in enumerate(_declarators(statement[:end])):
        words = [*takewhile(lambda word: word not in _INITIAL, (token.text for token in part))]
        is_plain = all(word in _OF_TYPES or word[:1].isalnum() or word[:1] == "_" for word in words)
        *before, name = words or [""]
        has_type = number > 0 or (before[:1] != [] and before[0].isidentifier())
        if not (is_plain and name.isidentifier() and has_type):
            return
        yield name


def _is_for_any_type(head: Sequence[str]) -> bool:
    """Has a function a parameter that may be a reference to a constant, by its argument?"""
    parameters = " ".join(head).split(",")
    words = (one.split() for one in parameters if "&" in one)
    return any("const" not in one and _FUNDAMENTAL.isdisjoint(one) for one in words)
