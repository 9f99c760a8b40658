"""The variants `beside_x2`, `beside_x4`: a block does what several blocks do, side by side.

    __global__ void reverse__beside_x2(const int *a, int *b, int n)
    { __shared__ __align__(16) int part_cutune0[256];
      __shared__ __align__(16) int part_cutune1[256];
      … if ((cutune_block * 2u + 1u) * 256u < unsigned(n)) {
        const uint3 cutune_at_0{…}, cutune_at_1{…};
        const int i_cutune0 = cutune_at_0.x * 256 + threadIdx.x;
        part_cutune0[threadIdx.x] = a_cutune0[i_cutune0];
        const int i_cutune1 = cutune_at_1.x * 256 + threadIdx.x;
        part_cutune1[threadIdx.x] = a_cutune1[i_cutune1];
        __syncthreads();
        b_cutune0[i_cutune0] = part_cutune0[255 - threadIdx.x];
        b_cutune1[i_cutune1] = part_cutune1[255 - threadIdx.x];
      } else … }

Takes the text of a kernel, gives text in which each piece between two barriers is there once for
each of several blocks, with variables and shared arrays of its own, so that loads of one need not
wait for those of the other. Barriers stand in the body, or in loops whose heads name nothing but
parameters, constants and the loop's own variable. Where not all blocks exist, those that do come
one after another, as in `cutune.proof.variants.repeat`.

What a name means is left to the compiler: a variable that is not seen here to be declared is
declared twice. All variables have the types that they have in the kernel, so that no function,
operator or template means something else. Each block has its own variable for each parameter. What
a loop's head names, and parameters that a macro names, blocks share; behind each piece the copy
asks whether such a variable has changed, and traps. Of one that nothing changes the compiler leaves
no such question, and a copy with a trap is refused (`repeat.changes_what_is_shared`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile

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
    "goto asm __asm__ __asm extern gridDim decltype typeof __typeof__ typeid this"
    " __builtin_constant_p __LINE__"
)
_UNROLL = re.compile(r"pragma unroll( \d+)?")
#: What begins an initial value, or the size of an array; what types are made of besides names.
_INITIAL = frozenset({"=", "[", "(", "{"})
#: Before a name of something else: of a member, or of another scope.
_WITHIN = (".", "->", "::")
_OF_TYPES = frozenset({"::", "<", ">", ",", "*", "&", "&&"})
#: What names begin with that a copy declares, those of places, and what its variables end with.
OWN, AT, INTERLEAVED = "cutune_", "cutune_at_", "_cutune"
_FIRST = "cutune_first_"
#: The strictest alignment that any access of shared memory asks for.
_ALIGNED = "__align__(16)"
#: Bits of real numbers, which are equal where NaN is not.
_BITS = {"float": "__float_as_uint", "double": "__double_as_longlong"}
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

    `shared`: declarations of shared arrays, each as many times as there are blocks.
    """

    shared: str
    together: str
    rest: str


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
        self.parameters = _parameters(text)
        #: Parameters of which each block has its own variable, and those that blocks share.
        named = {*self.parameters} & words
        self.own = {one for one in named if not self._is_shared(one)}
        self.common = sorted(one for one in named - self.own if self.parameters[one].may_change)
        # What names are joined of, or made texts of, is not read here.
        known = {BARRIER, _SHARED, "blockIdx", "gridDim", "##", "#", *_LEAVING, *_NEVER}
        hidden = macros_of(known | self.declared | {*self.shared}, text.texts.files)
        if found := sorted((words & hidden) - known - self.declared - {*self.shared}):
            raise not_repeated(f"the macro {found[0]} is about its blocks")
        self._check(self.items, is_outermost=True)
        if self._has_unseen():
            raise not_repeated("a macro that its files do not define leaves it")
        self.types = {one.name: one.type for one in text.kernel.parameters}
        for name in self.common:
            self._first(name)

    def _is_shared(self, parameter: str) -> bool:
        """Do blocks share a parameter: does a loop's head, or a macro of the body, name it?"""
        is_constant = not self.parameters[parameter].may_change
        if is_constant or parameter in _words_of_heads(self.items):
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
        if not names or names & (self.declared | {*self.shared, *self.parameters}):
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

    def _has_unseen(self) -> bool:
        """Has it more words that leave it, or that are refused, as the compiler sees it?"""
        told = _LEAVING | _NEVER | {BARRIER, _SHARED}
        written = Counter(token.text for token in self.text.body)
        for syntax in self.text.texts.expanded:
            for kernel in (one for one in syntax.kernels if one.name == self.text.kernel.name):
                first, last = kernel.braces
                seen = Counter(token.text for token in syntax.tokens[first:last])
                if any(seen[word] > written[word] for word in told):
                    return True
        return False

    # ---- writing

    def interleaved(self, factor: int) -> Interleaved:
        """Return the parts of a copy that does several blocks."""

        def own(number: int) -> Callable[[Token], str]:
            """Names of shared arrays are those of a block."""
            return lambda t: self._own(t.text, number) if t.text in self.shared else t.text

        numbers = range(factor)
        shared = " ".join(
            f"{_SHARED} {_ALIGNED} {self._joined(tokens, own(number))};"
            for tokens in self.shared.values()
            for number in numbers
        )
        first = "".join(f"{self._first(name)}; " for name in self.common)
        first += "".join(
            f"decltype({name}) {self._own(name, number)} = {name}; "
            for name in sorted(self.own)
            for number in numbers
        )
        together = first + "".join(self._written(self.items, factor, self.common))
        others = self._without_shared(self.text.body[1:-1])
        rest = " ".join(self._without_members(tokens, own(0)) for tokens in others)
        return Interleaved(shared, together, rest)

    def _first(self, name: str) -> str:
        """What keeps the first value of a variable; raises Illegal where none can be compared."""
        if name in self.types:
            declared = {one.name: one for one in self.text.kernel.parameters}[name]
            is_number = declared.integer is not None or declared.is_pointer
            if not is_number and declared.type not in _BITS:
                raise not_repeated("a parameter that its blocks share is no number")
        return f"const auto {_FIRST}{name} = {name}"

    def _unchanged(self, common: Sequence[str]) -> str:
        """What traps where a variable that blocks share has changed."""
        changed = [
            f"{bits}({name}) != {bits}({_FIRST}{name})"
            for name in common
            for bits in [_BITS.get(self.types.get(name, ""), "")]
        ]
        return f"if ({' || '.join(changed)}) __trap(); " if changed else ""

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

    def _written(self, items: Sequence[_Item], factor: int, common: Sequence[str]) -> Iterator[str]:
        """`common`: variables that blocks share, which nothing may change."""
        unchanged = self._unchanged(common)
        for item in items:
            match item:
                case _Barrier():
                    yield f"{BARRIER}(); "
                case _Loop(head, names, inner):
                    yield self._joined(head, lambda token: token.text)
                    yield " { "
                    yield "".join(f"{self._first(name)}; " for name in sorted(names))
                    within = [*(one for one in common if one not in names), *sorted(names)]
                    yield from self._written(inner, factor, within)
                    yield self._unchanged(within)
                    yield "} "
                    yield unchanged
                case _Piece(tokens):
                    is_left = any(token.text == "return" for token in tokens)
                    for number in range(factor):
                        piece = self._piece(tokens, number)
                        yield f"[&] {{ {piece} }}(); " if is_left else f"{piece} "
                        yield unchanged

    def _piece(self, tokens: Texts, number: int) -> str:
        own = self.declared | {*self.shared} | self.own

        def named(token: Token) -> str:
            if token.text == "blockIdx":
                return f"{AT}{number}"
            return self._own(token.text, number) if token.text in own else token.text

        return self._without_members(tokens, named)

    def _without_members(self, tokens: Texts, named: Callable[[Token], str]) -> str:
        """The text of tokens, in which names have others, but for those of members."""
        members = {after.start for before, after in pairwise(tokens) if before.text in _WITHIN}
        return self._joined(
            tokens, lambda token: token.text if token.start in members else named(token)
        )


@dataclass(frozen=True)
class _Parameter:
    """A parameter of the text. `may_change`: it is no constant of the grid."""

    name: Token
    may_change: bool


def _parameters(text: KernelText) -> dict[str, _Parameter]:
    """The parameters of a kernel by name; raises Illegal where one is no plain value."""
    opener, closer = text.function.parameters
    found = {}
    for part in filter(None, split_commas(text.syntax.tokens[opener + 1 : closer])):
        *words, name = declared(part)
        if not name.text.isidentifier() or any(one.text in "&(" for one in part):
            raise not_repeated("a parameter is no plain value")
        is_constant = any(one.text == "__grid_constant__" for one in words)
        found[name.text] = _Parameter(name, not is_constant)
    return found


def _words_of_heads(items: Sequence[_Item]) -> Iterator[str]:
    for item in items:
        if isinstance(item, _Loop):
            yield from (token.text for token in item.head)
            yield from _words_of_heads(item.items)


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
