"""The same C++ with fewer tokens: declarations that follow each other as one, shorter casts.

`const double a = f(); const double b = a;` becomes `double a = f(), b = a;` in a function, which
nobody writes to there, and a template is inline without the word.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutune.rewrite.packed import CppToken

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
    """Does each token stand in a function?"""
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
