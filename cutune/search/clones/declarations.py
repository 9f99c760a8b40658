"""Splits a source into declarations. Takes preprocessed text, gives those of the user's files.

A declaration of no known form is `OTHER`, about which nothing may be assumed. The sets of words at
the top are of C++ and CUDA: they mean the same in each copy of a function.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from itertools import pairwise

from cutune.source.syntax.directives import CLOSER_OF, CLOSERS, OPENERS
from cutune.source.syntax.tokens import TRIVIA, Token, lex, word_set
from cutune.toolchain.preprocessed import BEGIN, masked, unescaped


def identifiers(text: str) -> frozenset[str]:
    """All names and keywords in a text."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", text))


#: All keywords of C++20 and of the GNU dialect.
KEYWORDS = word_set("""
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires return
    short signed sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    xor xor_eq""")
#: Statements, casts and types. What declares an entity of its own, asks for identity, or leaves a
#: function in another way than by `return` is not among them.
BODY = word_set("""
    alignof auto bool break case char const constexpr const_cast continue default delete do double
    else false float for if int long new nullptr reinterpret_cast return short signed sizeof
    static_assert static_cast switch true unsigned void volatile wchar_t while""")
#: Before the name of a function that is written again.
HEAD = word_set("""
    bool char const double float int long short signed static unsigned void inline __inline__
    __inline __restrict__ __restrict""")
#: Attributes that say where a function runs, and how it is compiled.
ATTRIBUTES = word_set("global device host launch_bounds noinline forceinline")
#: Integers, and other types that are passed by value.
INTEGERS = word_set("""
    bool char int long short signed unsigned size_t ptrdiff_t int8_t int16_t int32_t int64_t uint8_t
    uint16_t uint32_t uint64_t uint""")
PLAIN = INTEGERS | word_set("""
    float double cudaError_t cudaStream_t cudaEvent_t cudaTextureObject_t cudaSurfaceObject_t dim3
    uint2 uint3 uint4 int2 int3 int4 float2 float3 float4 double2""")
#: What stands before a call of a function, and never before a declaration of its name.
BEFORE_CALL = word_set("; { } ( ) , = += -= + - ! ? : || && == != < <= return else do")


_MARKER = re.compile(BEGIN + r'(?:line)? (\d+) "((?:[^"\\\n]|\\.)*)"[^\n]*\n?')
_OURS = re.compile(r"\s*#\s*pragma\s+cutune\b")
_TYPES = ("struct", "class", "union", "enum", "typedef", "using")
_NO_FUNCTIONS = ("__attribute__", "__launch_bounds__", "alignas", "decltype")
_BEFORE_BODY = frozenset({")", "const", "noexcept", "override", "final"})


class Kind(Enum):
    """What a declaration at file scope declares."""

    FUNCTION = auto()
    PROTOTYPE = auto()
    VARIABLE = auto()
    TYPE = auto()
    DIRECTIVE = auto()
    OTHER = auto()


class NotSplit(Exception):
    """The text has no declarations that can be told apart; the message says why."""


@dataclass(frozen=True)
class Declaration:
    """One declaration at file scope, or in a namespace of the user: `scope`, from outside in.

    `path`: the file in which it begins. `tokens`: as the compiler gets them; pragmas are tokens of
    the kind `DIRECTIVE`. `body`: index of the `{` of a function; -1: it is none.
    """

    kind: Kind
    path: str
    tokens: tuple[Token, ...]
    names: frozenset[str]
    body: int = -1
    scope: tuple[str, ...] = ()

    @property
    def frame(self) -> object:
        """All that is equal in all versions of a program: all but its tokens."""
        return self.kind, self.path, self.names, self.scope

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of its tokens, by which declarations are compared."""
        return tuple(token.text for token in self.tokens)

    @cached_property
    def words(self) -> frozenset[str]:
        """All identifiers in it, those of pragmas too; cutune's own mean nothing to a compiler."""
        found = {token.text for token in self.tokens if token.kind == "IDENTIFIER"}
        directives = [token.text for token in self.tokens if token.kind == "DIRECTIVE"]
        pragmas = [text for text in directives if not _OURS.match(text)]
        return frozenset(found.union(*map(identifiers, pragmas)))

    @property
    def name(self) -> str:
        """The name of a function, or of a variable or type that declares one name alone."""
        return next(iter(self.names)) if len(self.names) == 1 else ""

    @property
    def is_on_device(self) -> bool:
        """Is it a kernel, or may the device call it?"""
        return bool({"global", "device"} & {*self._attributes})

    @property
    def is_kernel(self) -> bool:
        return "global" in self._attributes

    @property
    def is_on_host(self) -> bool:
        return not self.is_on_device or "host" in self._attributes

    @cached_property
    def _attributes(self) -> tuple[str, ...]:
        """`global` of `__attribute__((global))`."""
        head = self.texts[: max(self.body, 0)]
        places = (i for i, text in enumerate(head) if text == "__attribute__")
        return tuple(head[i + 3] for i in places if i + 3 < len(head))


@dataclass(frozen=True)
class Expanded:
    """Preprocessed text: `declarations` of the user's files, `others` without line markers."""

    declarations: tuple[Declaration, ...]
    others: str

    @cached_property
    def other_words(self) -> frozenset[str]:
        return identifiers(self.others)

    def is_plain(self, type_: Sequence[str]) -> bool:
        """Is it like `const Size`, `unsigned int`, `float *`, which are copied byte by byte?"""
        if type_ and type_[-1] == "*":
            return True
        words = [word for word in type_ if word not in ("const", "std", "::")]
        return bool(words) and all(word in PLAIN or self._is_own(word) for word in words)

    def _is_own(self, word: str) -> bool:
        named = [one for one in self.declarations if word in one.names]
        return len(named) == 1 and not named[0].scope and self.is_plain_type(named[0])

    def is_plain_type(self, one: Declaration) -> bool:
        """Is it like `typedef float T;`, `using T = float;`, `struct S { int n; float *a; };`?"""
        texts = one.texts
        if one.kind is not Kind.TYPE:
            return False
        if "{" not in texts:
            alias = texts[1:-2] if texts[0] == "typedef" else texts[3:-1]
            is_alias = texts[0] in ("typedef", "using") and all(map(_is_type_word, alias))
            return is_alias and self.is_plain(alias)
        opener = texts.index("{")
        is_named = opener == 2 or texts[1] == "__attribute__"
        inner = texts[opener + 1 : -2]
        if texts[0] != "struct" or not is_named or texts[-2] != "}":
            return False
        return all(self._is_member(piece) for piece in _pieces(inner))

    def _is_member(self, piece: Sequence[str]) -> bool:
        """member = type "*"* name ("[" … "]")* ("," …)?; a list has no bracket of another kind."""
        if {"(", "{", "=", ":", "&", "static", "mutable", "operator"} & {*piece}:
            return False
        end = next((i for i, t in enumerate(piece) if t in ("*", ",", "[")), len(piece))
        type_ = piece[:end] if piece[end : end + 1] == ("*",) else piece[: end - 1]
        is_pointer = piece[end : end + 1] == ("*",) and "," not in piece
        return all(map(_is_type_word, type_)) and (is_pointer or self.is_plain(type_))


def split(text: str, users: Collection[str]) -> Expanded:
    """Return the declarations of the user's files. Raises NotSplit where brackets do not match."""
    others: list[str] = []
    tokens: list[tuple[str, Token]] = []
    for path, part in _parts(text):
        if path in users:
            tokens += ((path, token) for token in lex(part, TRIVIA))
        elif part.strip():
            others.append(part)
            tokens.append((path, Token("INCLUDED", "", 0)))
    return Expanded(tuple(_declarations(tokens, ())), "".join(others))


def written(text: str, path: str) -> tuple[Declaration, ...]:
    """Return what a text that is not preprocessed declares. Raises NotSplit, as `split`."""
    return tuple(_declarations([(path, token) for token in lex(text, TRIVIA)], ()))


def _parts(text: str) -> Iterator[tuple[str, str]]:
    path, at = "", 0
    text = masked(text)
    for marker in _MARKER.finditer(text):
        yield path, text[at : marker.start()]
        path, at = unescaped(marker[2]), marker.end()
    yield path, text[at:]


_Read = tuple[str, Token]


def _declarations(tokens: Sequence[_Read], scope: tuple[str, ...]) -> Iterator[Declaration]:
    """declaration = directive | namespace | function | (token | bracketed)* ";"."""
    at = 0
    while at < len(tokens):
        path, token = tokens[at]
        if token.kind in ("DIRECTIVE", "INCLUDED") or token.text == ";":
            if token.kind == "DIRECTIVE":
                yield Declaration(Kind.DIRECTIVE, path, (token,), frozenset(), -1, scope)
            at += 1
            continue
        end, brace = _end(tokens, at)
        head = [token.text for _, token in tokens[at : max(brace, at)]]
        if brace >= 0 and _is_namespace(head):
            inner = (*scope, " ".join(head))
            yield from _declarations(tokens[brace + 1 : end - 1], inner)
        else:
            own = tuple(token for _, token in tokens[at:end])
            body = brace - at if brace >= 0 else -1
            kind, names = _declared(own, body)
            yield Declaration(kind, path, own, names, body, scope)
        at = end


def _end(tokens: Sequence[_Read], first: int) -> tuple[int, int]:
    """Return the index behind a declaration, and that of its `{`, or -1."""
    open_: list[str] = []
    brace = -1
    for at in range(first, len(tokens)):
        token = tokens[at][1]
        if token.kind == "INCLUDED":
            raise NotSplit("a file is included within a declaration")
        if token.text in OPENERS:
            if token.text == "{" and not open_:
                head = [t.text for _, t in tokens[first:at]]
                brace = at if _is_namespace(head) or _opens_body(head) else -1
            open_.append(CLOSER_OF[token.text])
        elif token.text in CLOSERS:
            if not open_ or token.text != open_.pop():
                raise NotSplit("brackets do not match")
            if brace >= 0 and not open_:
                return at + 1, brace
        elif token.text == ";" and not open_:
            return at + 1, -1
    raise NotSplit("brackets do not match" if open_ else "a declaration does not end")


def _is_namespace(head: Sequence[str]) -> bool:
    is_linkage = len(head) == 2 and head[0] == "extern" and head[1].startswith('"')
    return is_linkage or "namespace" in head[:2]


def _opens_body(head: Sequence[str]) -> bool:
    """Is a `{` behind these tokens that of a function? One with `-> T` or `: a(1)` counts too."""
    is_head = "(" in head and "=" not in _outside(head) and head[0] not in ("typedef", "using")
    if head[:1] and head[0] in _TYPES and head[-1] != ")":
        return False
    return is_head and (head[-1] in _BEFORE_BODY or ":" in head or "->" in head)


def _outside(texts: Sequence[str]) -> list[str]:
    depth, found = 0, []
    for text in texts:
        depth -= text in CLOSERS
        if depth == 0:
            found.append(text)
        depth += text in OPENERS
    return found


def _declared(tokens: Sequence[Token], body: int) -> tuple[Kind, frozenset[str]]:
    texts = [token.text for token in tokens]
    words = frozenset(t.text for t in tokens if t.kind == "IDENTIFIER") - KEYWORDS
    if body >= 0:
        return Kind.FUNCTION, _function_names(tokens, body)
    if "template" in texts[:1] or "friend" in texts[:1]:
        return Kind.OTHER, words
    if texts[0] in _TYPES and _is_type(texts):
        return Kind.TYPE, _type_names(texts)
    if texts[0] == "using":
        # It declares nothing: names that it brings in lead to their own declarations.
        return Kind.OTHER, frozenset()
    if variables := _variables(tokens):
        return Kind.VARIABLE, frozenset(variables)
    if "{" not in texts and (name := _prototype(tokens)):
        return Kind.PROTOTYPE, frozenset({name})
    return Kind.OTHER, words


def _function_names(tokens: Sequence[Token], body: int) -> frozenset[str]:
    head = tokens[:body]
    name = _before_parameters(head)
    index = next((i for i, token in enumerate(head) if token.text == name), 0)
    names = {name}
    while index > 1 and head[index - 1].text == "::":
        index -= 2
        names.add(head[index].text)
    return frozenset(names)


def _prototype(tokens: Sequence[Token]) -> str:
    """Return the name of `T f(…);`, or of a variable that is written so; else ""."""
    name = _before_parameters(tokens)
    index = next((i for i, token in enumerate(tokens) if token.text == name), 0)
    outside = _outside([token.text for token in tokens])
    if index < 1 or index + 2 >= len(tokens) or {",", "="} & {*outside}:
        return ""
    return "" if tokens[index + 2].text in ("*", "&", "(", "^") else name


def _before_parameters(tokens: Sequence[Token]) -> str:
    """Return the name before the first bracket that is not an attribute's."""
    depth = 0
    for token, following in pairwise(tokens):
        depth += (token.text == "(") - (token.text == ")")
        is_name = token.kind == "IDENTIFIER" and token.text not in _NO_FUNCTIONS
        if depth == 0 and following.text == "(" and is_name:
            return token.text
    return ""


def _is_type(texts: Sequence[str]) -> bool:
    if texts[0] == "using":
        return len(texts) > 2 and texts[2] == "="
    if texts[0] == "typedef":
        return "(" not in _outside(texts)
    # `struct S;` and `struct S : T { … };`: no name of a variable stands behind.
    return texts[-2] == "}" if "{" in texts else len(texts) == 3


def _type_names(texts: Sequence[str]) -> frozenset[str]:
    opener = texts.index("{") if "{" in texts else len(texts)
    # Enumerators are names of the scope around.
    words = [*_outside(texts[:opener]), *(texts[opener:] if "enum" in texts else [])]
    names = {text for text in words if text.isidentifier()}
    if texts[0] == "typedef":
        names.add([text for text in _outside(texts) if text.isidentifier()][-1])
    return frozenset(names) - KEYWORDS - {"__attribute__"}


def _variables(tokens: Sequence[Token]) -> list[str]:
    """Return the names of `T a = 1, b[2], c{3};`; none where it is something else."""
    names: list[str] = []
    depth, seen_value = 0, False
    texts = [token.text for token in tokens]
    if texts[0] in _TYPES and "{" in texts:
        return []
    for index, token in enumerate(tokens):
        text = token.text
        if depth == 0 and text in ("=", "[", "{", ",", ";") and not seen_value:
            before = tokens[index - 1]
            if before.kind != "IDENTIFIER" or index < 2:
                return []
            names.append(before.text)
            seen_value = True
        is_attribute = tokens[index - 1].text == "__attribute__"
        if depth == 0 and text == "(" and not seen_value and not is_attribute:
            return []
        if depth == 0 and text == ",":
            seen_value = False
        depth += (text in OPENERS) - (text in CLOSERS)
    return names


def _is_type_word(text: str) -> bool:
    return text.isidentifier() or text in ("*", "::")


def _pieces(texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the parts before each semicolon; all of it ends with one."""
    piece: list[str] = []
    for text in texts:
        if text == ";":
            yield tuple(piece)
            piece = []
        else:
            piece.append(text)
    if piece:
        yield ("(", *piece)
