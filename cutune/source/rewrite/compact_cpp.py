"""C++ of cutune's own in little space. Takes readable text, gives tokens, and tokens as text.

What `cutune/include` holds is copied into every tuned program: without comments, without
declarations that nothing needs, with short names for variables, and with fewer tokens. Lines are
filled up to `WIDTH` columns; a preprocessor line stays a line of its own.

Variables are renamed that are linked nowhere: parameters, local variables and members with data.
Functions, types and what is static keep their names, so that sources that are linked share them.
Declarations are left out that have a name of cutune's: functions that are inline or static,
structures, and aliases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product, takewhile
from string import ascii_letters, ascii_lowercase

from cutune.source.rewrite.c_text import one_line
from cutune.source.syntax.directives import CLOSERS, OPENERS, behind_template
from cutune.source.syntax.tokens import TRIVIA, lex, word_set

WIDTH = 160

#: A raw string, in which nothing is joined; and what joins two lines.
_SPLICE = re.compile(r'(R"([^\s()\\]{0,16})\((?:.|\n)*?\)\2")|\\[ \t]*\n')
_WORD = re.compile(r"[A-Za-z_0-9$\x80-\U0010ffff]")
#: `[[` begins an attribute, `<:` is a bracket, `??=` another character; there are no comments left.
_READ_OTHERWISE = frozenset({"[[", "<:", "<%", "%:", "??", "//", "/*"})


def packed_text(tokens: Iterable[str]) -> str:
    """Write tokens as text, in filled lines, that is read as these tokens again."""
    return "".join(f"{line}\n" for line in _lines(tokens))


def cpp_tokens(text: str) -> list[str]:
    """Return the tokens of C++ text without its comments; a preprocessor line is one token."""
    tokens: list[str] = []
    end = 0
    for kind, piece, start in lex(_SPLICE.sub(lambda found: found[1] or "", text), TRIVIA):
        if kind == "DIRECTIVE":
            tokens.append(one_line(piece))
        elif start == end and tokens and tokens[-1] + piece in (">>", ">=", ">>="):
            tokens[-1] += piece
        else:
            tokens.append(piece)
        end = start + len(piece)
    return tokens


def _is_directive(token: str) -> bool:
    return token.startswith("#")


def _lines(tokens: Iterable[str]) -> Iterator[str]:
    line, last = "", ""
    for token in tokens:
        if _is_directive(token):
            yield from filter(None, (line, token))
            line, last = "", ""
            continue
        blank = " " if last and _needs_blank(last, token) else ""
        if line and len(line) + len(blank) + len(token) > WIDTH:
            yield line
            line, blank = "", ""
        line, last = line + blank + token, token
    if line:
        yield line


@cache
def _needs_blank(left: str, right: str) -> bool:
    if left[-1] in "\"'" or right[0] in "\"'":
        # A word is a prefix or a suffix of the literal that it touches.
        return any(_WORD.match(character) for character in (left[-1], right[0]))
    return left + right[0] in _READ_OTHERWISE or cpp_tokens(left + right)[0] != left


_BEFORE = {";", "{", "}"}
_NUMBERS = ("bool", "char", "double", "float", "int", "size_t", "unsigned")


def with_joined_declarations(tokens: list[str]) -> list[str]:
    """Declare constants of one type, which follow each other, together.

    `const double a = f(); const double b = a;` becomes `double a = f(), b = a;` in a function:
    nobody writes to these there. A template is inline without the word.
    """
    joined: list[str] = []
    type_: tuple[str, ...] = ()
    is_local = _in_functions(tokens)
    place = 0
    while place < len(tokens):
        head = _constant_head(tokens, place)
        if not head:
            type_ = ()
            if tokens[place] != "inline" or not _ends_template(joined):
                joined.append(tokens[place])
            place += 1
            continue
        end, name = _statement_end(tokens, place), place + len(head)
        # Where its value is one word it may be the size of an array.
        is_size = tokens[name + 2 : name + 4][-1:] == [";"]
        if head == type_:
            joined[-1] = ","
            place = name
        elif is_local[place] and head[0] == "const" and not is_size:
            place += 1
        joined += tokens[place : end + 1]
        type_, place = head, end + 1
    return joined


def _in_functions(tokens: Sequence[str]) -> list[bool]:
    """For each token: does it stand in the body of a function?"""
    inside: list[bool] = []
    scopes: list[bool] = []
    before = ""
    for token in tokens:
        if token == "}":
            scopes.pop()
        inside.append(bool(scopes) and scopes[-1])
        if token == "{":
            scopes.append(inside[-1] or before in (")", "const"))
        before = token
    return inside


def _ends_template(before: Sequence[str]) -> bool:
    """Does a `template <…>` end there?"""
    if not before or before[-1] != ">" or before[-2] == "<":
        return False
    depth = 0
    for index in range(len(before) - 1, 0, -1):
        depth += {">": 1, "<": -1}.get(before[index], 0)
        if depth == 0:
            return before[index - 1] == "template"
    return False


def _constant_head(tokens: list[str], place: int) -> tuple[str, ...]:
    """The words before the name of a constant that begins there; none of pointer or reference."""
    before = tokens[place - 1] if place else ";"
    if before not in _BEFORE and not _is_directive(before):
        return ()
    words = [*takewhile(str.isidentifier, (tokens[i] for i in range(place, len(tokens))))]
    is_constant = len(words) > 2 and words[0] in ("const", "static") and "const" in words[:2]
    is_given = tokens[place + len(words) : place + len(words) + 1] in (["="], ["["])
    return tuple(words[:-1]) if is_constant and is_given else ()


def _statement_end(tokens: Sequence[str], place: int) -> int:
    depth = 0
    for index in range(place, len(tokens)):
        depth += (tokens[index] in OPENERS) - (tokens[index] in CLOSERS)
        if depth == 0 and tokens[index] == ";":
            return index
    return len(tokens) - 1


_WORD_TYPE = ["unsigned", "long", "long"]
#: Casts, without the parenthesis, and what they become; `cutune_launch.h` has names for long types.
_SHORT_CASTS = (
    *((["static_cast", "<", name, ">"], name) for name in _NUMBERS),
    (["static_cast", "<", "long", "long", ">"], "cutune_long"),
    (["static_cast", "<", *_WORD_TYPE, ">"], "cutune_word"),
)


def with_short_casts(tokens: Sequence[str]) -> list[str]:
    """Write `static_cast<int>(a)` as `int(a)`, which is equal for numbers, and types in a word.

    What is compared with `nullptr` is compared with 0.
    """
    shortened: list[str] = []
    place = 0
    while place < len(tokens):
        token, length = tokens[place], 1
        if token == "static_cast":
            for words, name in _SHORT_CASTS:
                if tokens[place : place + len(words) + 1] == [*words, "("]:
                    token, length = name, len(words)
        elif tokens[place : place + 3] == _WORD_TYPE and tokens[place + 3] != "cutune_word":
            token, length = "cutune_word", 3
        elif token == "nullptr" and shortened[-1:] in (["=="], ["!="]):
            token = "0"
        shortened.append(token)
        place += length
    return shortened


_VARIABLE = re.compile(r"(?!cutune_|cuda)(?:[a-z][a-z0-9_]*|[A-Z][a-z]+)")
#: Words of C++, of its libraries and of attributes.
_FOREIGN = word_set(
    """
    asm auto bool break case catch char class cold const constexpr continue decltype default delete
    dim3 do double else enum explicit extern false final float for friend if inline int long
    namespace new noexcept noinline nullptr operator override private protected public return short
    signed size_t sizeof static static_assert static_cast std stderr struct switch template this
    thread_local throw true try type typedef typename uint3 uintptr_t union unsigned using value
    virtual void volatile while x y z
    """
)


def short_names(tokens: Sequence[str], kept: Collection[str]) -> dict[str, str]:
    """Choose new names of variables, the shorter the more often one occurs; `kept` names stay."""
    linked = {*kept, *_FOREIGN, *_linked(tokens)}
    words = Counter(token for token in tokens if _VARIABLE.fullmatch(token))
    variables = [word for word, _ in words.most_common() if word not in linked]
    taken = {*tokens, *kept}
    # Names like `a_`, `aa_`: no macro is called like this.
    names = (*ascii_letters, *map("".join, product(ascii_lowercase, ascii_letters)))
    free = (f"{name}_" for name in names if f"{name}_" not in taken)
    pairs = zip(variables, free, strict=False)
    return {word: name for word, name in pairs if len(name) < len(word)}


def with_names(tokens: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """Give words of tokens new names."""
    return [names.get(token, token) for token in tokens]


def _linked(tokens: Sequence[str]) -> Iterator[str]:
    """Names of functions, types and what is static; also all that directives name."""
    is_static = False
    for before, token, behind in zip(["", *tokens], tokens, [*tokens[1:], ""], strict=False):
        if _is_directive(token):
            yield from re.findall(r"\w+", token)
        is_static = token == "static" or (is_static and token not in ("(", "=", ";", "{"))
        is_called = behind == "(" and not token.endswith("_")
        if is_called or is_static or behind == "<" or before in ("::", "template"):
            yield token


_CUTUNE_NAME = re.compile(r"cutune_\w*", re.IGNORECASE)
_INLINE = {"inline", "static", "CUTUNE_OP"}


@dataclass(frozen=True)
class _Declaration:
    """Tokens in a row; those without a name always stay.

    `taken`: words of the parameters that each call of a function gives.
    """

    tokens: tuple[str, ...]
    name: str | None = None
    taken: frozenset[str] = frozenset()


def without_unused(tokens: Sequence[str], wanted: Iterable[str]) -> list[str]:
    """Leave out declarations that neither `wanted` nor another one that stays needs.

    A function that takes a structure which nothing else needs is never called.
    """
    declarations = list(_declarations(tokens))
    optional = {one.name for one in declarations if one.name is not None}
    reached, waiting = set(wanted), declarations
    stay: set[int] = set()
    while needed := [
        one
        for one in waiting
        if one.name is None or (one.name in reached and one.taken & optional <= reached)
    ]:
        stay |= {id(one) for one in needed}
        waiting = [one for one in waiting if id(one) not in stay]
        words = (token for one in needed for token in one.tokens)
        reached.update(name for word in words for name in _CUTUNE_NAME.findall(word))
    return [token for one in declarations if id(one) in stay for token in one.tokens]


def _declarations(tokens: Sequence[str]) -> Iterator[_Declaration]:
    """Yield directives, declarations, and the beginnings and ends of namespaces."""
    start, depth = 0, 0
    for place, token in enumerate(tokens):
        following = tokens[place + 1] if place + 1 < len(tokens) else ""
        if _is_directive(token):
            is_end = start == place
        elif token in OPENERS:
            # A namespace begins: its brace is not counted, so that what it holds stands alone.
            is_end = depth == 0 and tokens[start] in ("namespace", "extern")
            depth += not is_end
        elif token in CLOSERS:
            ends_namespace = depth == 0
            depth -= not ends_namespace
            ends_body = token == "}" and depth == 0 and following not in (";", ",")
            is_end = ends_namespace or ends_body
        else:
            is_end = token == ";" and depth == 0
        if is_end:
            yield _named(tuple(tokens[start : place + 1]))
            start = place + 1
    if start < len(tokens):
        yield _Declaration(tuple(tokens[start:]))


def _named(tokens: tuple[str, ...]) -> _Declaration:
    """A declaration with its name, if it is one that may be left out."""
    words = tokens[behind_template(tokens) :]
    taken: Sequence[str] = ()
    name = ""
    if words and words[0] in ("struct", "class", "using") and words[-1] == ";":
        name = words[1]
    elif "(" in words and words[-1] == "}":
        head = words[: words.index("(")]
        if not _INLINE.isdisjoint(head) and "=" not in head:
            name, taken = head[-1], _always_taken(words[len(head) : words.index("{")])
    if not _CUTUNE_NAME.fullmatch(name) or _is_directive(tokens[0]):
        return _Declaration(tokens)
    return _Declaration(tokens, name, frozenset(taken))


def _always_taken(parameters: Sequence[str]) -> Sequence[str]:
    """The words of parameters without one that has a default, which calls need not give."""
    if "=" not in parameters:
        return parameters
    before = parameters[: parameters.index("=")]
    return before[: max((i for i, word in enumerate(before) if word == ","), default=0)]
