"""C++ of cutune's own in little space. Takes readable text, gives tokens, and tokens as text.

What `cutune/include` holds is copied into every tuned program: without comments, without
declarations that nothing needs, with short names for variables, and with fewer tokens. Lines are
filled up to `WIDTH` columns; a preprocessor line stays a line of its own.

Variables are renamed that are linked nowhere: parameters, local variables and members with data.
Functions, types and what is static keep their names, so that several sources of one program share
them. Declarations are left out that have a name of cutune's: functions that are inline or static,
structures, and aliases.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from string import ascii_letters, ascii_lowercase
from typing import NamedTuple

from cutune.source.syntax.tokens import word_set

WIDTH = 160

#: Literals first: what looks like a comment in them is none, and the other way round.
_RAW = r'\b(?:u8|[uUL])?R"(?P<delimiter>[^\s()\\]{0,16})\((?:.|\n)*?\)(?P=delimiter)"'
_STRING = r'"(?:\\(?:.|\n)|[^"\\\n])*"'
_CHARACTER = r"'(?:\\(?:.|\n)|[^'\\\n])*'"
_NUMBER = r"\.?\d(?:[eEpP][+-]|'(?=\w)|[\w.])*"
_SPLICE = r"\\[ \t]*\n"
_COMMENT = r"//(?:\\[ \t]*\n|.)*|/\*(?:.|\n)*?\*/"
_UNJOINED = re.compile(
    rf"(?P<raw>{_RAW})|(?P<literal>{_STRING}|\b{_NUMBER}|{_CHARACTER})|(?P<comment>{_COMMENT})"
    rf"|{_SPLICE}"
)
_WORD = re.compile(r"[A-Za-z_0-9$\x80-\U0010ffff]")
_PUNCTUATOR = (
    r"%:%:|\.\.\.|<<=|>>=|->\*|<=>|::|\.\*|->|\+\+|--|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||##"
    r"|<:|:>|<%|%>|%:|."
)
_TOKEN = re.compile(
    rf"(?P<blank>[ \t\f\v\r]+)|(?P<line>\n)|{_RAW}|(?:\b(?:u8|[uUL]))?(?:{_STRING}|{_CHARACTER})"
    rf"|{_NUMBER}|[A-Za-z_$\x80-\U0010ffff][\w$]*|{_PUNCTUATOR}"
)


class CppToken(NamedTuple):
    """A token of C++, or a preprocessor line as a whole."""

    text: str
    is_directive: bool = False


def packed_text(tokens: Iterable[CppToken]) -> str:
    """Write tokens as text, in filled lines, that is read as these tokens again."""
    return "".join(f"{line}\n" for line in _lines(tokens))


def cpp_tokens(text: str) -> list[CppToken]:
    """Return the tokens of C++ text, without its comments."""
    return list(_tokens(_without_comments(text)))


def _without_comments(text: str) -> str:
    """Comments are blanks, and spliced lines one line."""

    def replacement(found: re.Match[str]) -> str:
        if found["raw"] is not None:
            return found[0]
        if found["literal"] is not None:
            return re.sub(_SPLICE, "", found[0])
        return " " if found["comment"] is not None else ""

    return _UNJOINED.sub(replacement, text)


def _tokens(text: str) -> Iterator[CppToken]:
    line_begins, place = True, 0
    while found := _TOKEN.match(text, place):
        place = found.end()
        if found["line"] is not None:
            line_begins = True
        elif found["blank"] is None:
            if line_begins and found[0] in ("#", "%:"):
                directive, place = _directive(text, found.start())
                yield CppToken(directive, is_directive=True)
                continue
            line_begins = False
            yield CppToken(found[0])


def _directive(text: str, start: int) -> tuple[str, int]:
    """A preprocessor line, blanks outside of literals reduced to one, and where it ends."""
    parts: list[str] = []
    place = start
    while (found := _TOKEN.match(text, place)) and found["line"] is None:
        parts.append(" " if found["blank"] is not None else found[0])
        place = found.end()
    return "".join(parts).strip(), place


def _lines(tokens: Iterable[CppToken]) -> Iterator[str]:
    line, last = "", ""
    for token, is_directive in tokens:
        if is_directive:
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


def _needs_blank(left: str, right: str) -> bool:
    """Would two tokens be read as others if nothing stood between them?"""
    if left[-1] in "\"'" or right[0] in "\"'":
        # A word is a prefix or a suffix of the literal that it touches.
        return any(_WORD.match(character) for character in (left[-1], right[0]))
    # `[[` begins an attribute, `??=` is another character, and there are no comments left.
    if left[-1] + right[0] in ("[[", "??", "//", "/*"):
        return True
    found = _TOKEN.match(left + right)
    return found is None or found[0] != left


_BEFORE = {";", "{", "}"}
_NUMBERS = ("bool", "char", "double", "float", "int", "size_t", "unsigned")
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def with_joined_declarations(tokens: Sequence[CppToken]) -> list[CppToken]:
    """Declare constants of one type, which follow each other, together.

    `const double a = f(); const double b = a;` becomes `double a = f(), b = a;` in a function:
    nobody writes to these there. A template is inline without the word.
    """
    joined: list[CppToken] = []
    type_: tuple[str, ...] = ()
    is_local = _in_functions(tokens)
    place = 0
    while place < len(tokens):
        begins = place == 0 or tokens[place - 1].text in _BEFORE or tokens[place - 1].is_directive
        head = _head(tokens, place) if begins else ()
        if not head:
            type_ = ()
            if tokens[place].text != "inline" or not _ends_template(joined):
                joined.append(tokens[place])
            place += 1
            continue
        end = _end(tokens, place)
        if head == type_:
            joined[-1] = CppToken(",")
            place += len(head)
        elif is_local[place] and head[0] == "const" and not _is_number(tokens, place + len(head)):
            place += 1
        joined += tokens[place : end + 1]
        type_, place = head, end + 1
    return joined


def _in_functions(tokens: Sequence[CppToken]) -> list[bool]:
    inside: list[bool] = []
    scopes: list[bool] = []
    before = ""
    for token in tokens:
        if token.text == "}":
            scopes.pop()
        inside.append(bool(scopes) and scopes[-1])
        if token.text == "{":
            scopes.append(inside[-1] or before in (")", "const"))
        before = token.text
    return inside


def _is_number(tokens: Sequence[CppToken], name: int) -> bool:
    """Is the value of a constant one word? Then it may be the size of an array."""
    return tokens[name + 2 : name + 4][-1:] == [CppToken(";")]


def _ends_template(before: Sequence[CppToken]) -> bool:
    """Do the tokens end in `template <…>` of something, which is no specialisation?"""
    if not before or before[-1].text != ">" or before[-2].text == "<":
        return False
    depth = 0
    for index in range(len(before) - 1, 0, -1):
        depth += {">": 1, "<": -1}.get(before[index].text, 0)
        if depth == 0:
            return before[index - 1].text == "template"
    return False


def _head(tokens: Sequence[CppToken], place: int) -> tuple[str, ...]:
    """The words before the name of a constant that is neither pointer nor reference."""
    words: list[str] = []
    while place < len(tokens) and (text := tokens[place].text).isidentifier():
        words.append(text)
        place += 1
    is_constant = len(words) > 2 and words[0] in ("const", "static") and "const" in words[:2]
    if not is_constant or place == len(tokens) or tokens[place].text not in ("=", "["):
        return ()
    return tuple(words[:-1])


def _end(tokens: Sequence[CppToken], place: int) -> int:
    depth = 0
    for index in range(place, len(tokens)):
        depth += _BRACKETS.get(tokens[index].text, 0)
        if depth == 0 and tokens[index].text == ";":
            return index
    return len(tokens) - 1


_WORD_TYPE = ["unsigned", "long", "long"]
#: Casts, without the parenthesis, and what they become; `cutune_launch.h` has names for long types.
_SHORT_CASTS = (
    *((["static_cast", "<", name, ">"], name) for name in _NUMBERS),
    (["static_cast", "<", "long", "long", ">"], "cutune_long"),
    (["static_cast", "<", *_WORD_TYPE, ">"], "cutune_word"),
)


def with_short_casts(tokens: Sequence[CppToken]) -> list[CppToken]:
    """Write `static_cast<int>(a)` as `int(a)`, which is equal for numbers, and types in a word."""
    texts = [token.text for token in tokens]
    shortened: list[CppToken] = []
    place = 0
    while place < len(tokens):
        token, length = tokens[place], 1
        if token.text == "static_cast":
            for words, name in _SHORT_CASTS:
                if texts[place : place + len(words) + 1] == [*words, "("]:
                    token, length = CppToken(name), len(words)
        elif texts[place : place + 3] == _WORD_TYPE and texts[place + 3] != "cutune_word":
            token, length = CppToken("cutune_word"), 3
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


def short_names(tokens: Sequence[CppToken], kept: Collection[str]) -> dict[str, str]:
    """Choose new names of variables, the shorter the more often one occurs; `kept` names stay."""
    linked = {*kept, *_FOREIGN, *_linked(tokens)}
    words = Counter(token.text for token in tokens if _VARIABLE.fullmatch(token.text))
    variables = [word for word, _ in words.most_common() if word not in linked]
    taken = {token.text for token in tokens} | {*kept}
    free = (name for name in _new_names() if name not in taken)
    pairs = zip(variables, free, strict=False)
    return {word: name for word, name in pairs if len(name) < len(word)}


def with_names(tokens: Iterable[CppToken], names: Mapping[str, str]) -> list[CppToken]:
    """Give words of tokens new names."""
    return [CppToken(names.get(text, text), directive) for text, directive in tokens]


def _new_names() -> Iterator[str]:
    """Names like `a_`, `aa_`: no macro is called like this."""
    for letter in ascii_letters:
        yield f"{letter}_"
    for pair in product(ascii_lowercase, ascii_letters):
        yield f"{''.join(pair)}_"


def _linked(tokens: Sequence[CppToken]) -> Iterator[str]:
    """Functions, what is static, what belongs to another scope, and words of macros."""
    is_static = False
    for before, token, behind in zip(
        ("", *(token.text for token in tokens)), tokens, (*tokens[1:], CppToken("")), strict=False
    ):
        if token.is_directive:
            yield from re.findall(r"\w+", token.text)
        is_static = token.text == "static" or (is_static and token.text not in ("(", "=", ";", "{"))
        is_called = behind.text == "(" and not token.text.endswith("_")
        if is_called or is_static or behind.text == "<" or before in ("::", "template"):
            yield token.text


_CUTUNE_NAME = re.compile(r"cutune_\w*", re.IGNORECASE)
_OPENING, _CLOSING = {"(", "[", "{"}, {")", "]", "}"}
_INLINE = {"inline", "static", "CUTUNE_OP"}


@dataclass(frozen=True)
class _Declaration:
    """Tokens in a row; those without a name always stay."""

    tokens: tuple[CppToken, ...]
    name: str | None = None
    #: Names in the parameters of a function.
    taken: frozenset[str] = frozenset()

    def names(self) -> set[str]:
        return {name for token in self.tokens for name in _CUTUNE_NAME.findall(token.text)}


def without_unused(tokens: Sequence[CppToken], wanted: Iterable[str]) -> list[CppToken]:
    """Leave out declarations that neither `wanted` nor another one that stays needs.

    A function that takes a structure which nothing else needs is never called.
    """
    declarations = list(_declarations(tokens))
    optional = {one.name for one in declarations if one.name is not None}
    reached, waiting = set(wanted), declarations
    stay: set[int] = set()
    while True:
        needed = [
            one
            for one in waiting
            if one.name is None or (one.name in reached and one.taken & optional <= reached)
        ]
        if not needed:
            return [token for one in declarations if id(one) in stay for token in one.tokens]
        stay |= {id(one) for one in needed}
        waiting = [one for one in waiting if id(one) not in stay]
        reached = reached.union(*(one.names() for one in needed))


def _declarations(tokens: Sequence[CppToken]) -> Iterator[_Declaration]:
    start, depth = 0, 0
    for place, token in enumerate(tokens, 1):
        if token.is_directive:
            ends = start == place - 1
        elif token.text in _OPENING:
            depth += 1
            # What stands in a namespace stands alone.
            ends = depth == 1 and tokens[start].text in ("namespace", "extern")
            depth -= ends
        elif token.text in _CLOSING:
            # The brace of a namespace closes nothing that was counted.
            is_last = depth == 0
            depth -= not is_last
            followed = place < len(tokens) and tokens[place].text in (";", ",")
            ends = is_last or (token.text == "}" and depth == 0 and not followed)
        else:
            ends = token.text == ";" and depth == 0
        if ends:
            yield _named(tuple(tokens[start:place]))
            start = place
    if start < len(tokens):
        yield _Declaration(tuple(tokens[start:]))


def _named(tokens: tuple[CppToken, ...]) -> _Declaration:
    every = [token.text for token in tokens]
    words = every[_behind_template(every) :]
    taken: Sequence[str] = ()
    name = ""
    if words and words[0] in ("struct", "class", "using") and words[-1] == ";":
        name = words[1]
    elif "(" in words and words[-1] == "}":
        head = words[: words.index("(")]
        if not _INLINE.isdisjoint(head) and "=" not in head:
            name, taken = head[-1], _always_taken(words[len(head) : words.index("{")])
    if not _CUTUNE_NAME.fullmatch(name) or tokens[0].is_directive:
        return _Declaration(tokens)
    return _Declaration(tokens, name, frozenset(taken))


def _always_taken(parameters: Sequence[str]) -> Sequence[str]:
    """The words of parameters without one that has a default, which calls need not give."""
    if "=" not in parameters:
        return parameters
    before = parameters[: parameters.index("=")]
    return before[: max((i for i, word in enumerate(before) if word == ","), default=0)]


def _behind_template(words: Sequence[str]) -> int:
    if not words or words[0] != "template":
        return 0
    depth = 0
    for place, word in enumerate(words[1:], 1):
        depth += {"<": 1, ">": -1, ">>": -2}.get(word, 0)
        if depth == 0:
            return place + 1
    return 0
