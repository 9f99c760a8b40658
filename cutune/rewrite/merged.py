"""The same C++ with fewer tokens: declarations that follow each other as one, shorter casts.

`const double a = f(); const double b = a;` becomes `double a = f(), b = a;` in a function, which
nobody writes to there, and a template is inline without the word.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutune.rewrite.packed import Token

_BEFORE = {";", "{", "}"}
_NUMBERS = {"bool", "char", "double", "float", "int", "size_t", "unsigned"}
_BRACKETS = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def merged(tokens: Sequence[Token]) -> list[Token]:
    """The tokens with constants of one type, which follow each other, declared together."""
    found: list[Token] = []
    type_: tuple[str, ...] = ()
    is_local = _local(tokens)
    place = 0
    while place < len(tokens):
        begins = place == 0 or tokens[place - 1].text in _BEFORE or tokens[place - 1].is_directive
        head = _head(tokens, place) if begins else ()
        if not head:
            type_ = ()
            if tokens[place].text != "inline" or not _ends_template(found):
                found.append(tokens[place])
            place += 1
            continue
        end = _end(tokens, place)
        if head == type_:
            found[-1] = Token(",")
            place += len(head)
        elif is_local[place] and head[0] == "const" and not _is_number(tokens, place + len(head)):
            place += 1
        found += tokens[place : end + 1]
        type_, place = head, end + 1
    return found


def _local(tokens: Sequence[Token]) -> list[bool]:
    """Of each token: does it stand in a function?"""
    found: list[bool] = []
    scopes: list[bool] = []
    before = ""
    for token in tokens:
        if token.text == "}":
            scopes.pop()
        found.append(bool(scopes) and scopes[-1])
        if token.text == "{":
            scopes.append(found[-1] or before in (")", "const"))
        before = token.text
    return found


def _is_number(tokens: Sequence[Token], name: int) -> bool:
    """Is the value of a constant one word? Then it may be the size of an array."""
    return tokens[name + 2 : name + 4][-1:] == [Token(";")]


def _ends_template(before: Sequence[Token]) -> bool:
    """Do the tokens end in `template <…>` of something, which is no specialisation?"""
    if not before or before[-1].text != ">" or before[-2].text == "<":
        return False
    depth = 0
    for index in range(len(before) - 1, 0, -1):
        depth += {">": 1, "<": -1}.get(before[index].text, 0)
        if depth == 0:
            return before[index - 1].text == "template"
    return False


def _head(tokens: Sequence[Token], place: int) -> tuple[str, ...]:
    """The words before the name of a constant that is neither pointer nor reference."""
    words: list[str] = []
    while place < len(tokens) and (text := tokens[place].text).isidentifier():
        words.append(text)
        place += 1
    is_constant = len(words) > 2 and words[0] in ("const", "static") and "const" in words[:2]
    if not is_constant or place == len(tokens) or tokens[place].text not in ("=", "["):
        return ()
    return tuple(words[:-1])


def _end(tokens: Sequence[Token], place: int) -> int:
    """Where the statement ends."""
    depth = 0
    for index in range(place, len(tokens)):
        depth += _BRACKETS.get(tokens[index].text, 0)
        if depth == 0 and tokens[index].text == ";":
            return index
    return len(tokens) - 1


#: Types of several words; `cutune_launch.h` has names for them.
_LONG_CAST = ["static_cast", "<", "long", "long", ">", "("]
_WORD = ["unsigned", "long", "long"]
_WORD_CAST = ["static_cast", "<", *_WORD, ">", "("]


def with_short_casts(tokens: Sequence[Token]) -> list[Token]:
    """`static_cast<int>(a)` as `int(a)`: the same for numbers. Long names of types are short."""
    found: list[Token] = []
    place = 0
    while place < len(tokens):
        words = [token.text for token in tokens[place : place + 5]]
        if words[:2] == ["static_cast", "<"] and words[2] in _NUMBERS and words[3:] == [">", "("]:
            place += 2
            found.append(tokens[place])
            place += 2
        elif [token.text for token in tokens[place : place + 6]] == _LONG_CAST:
            found += [Token("cutune_long"), tokens[place + 5]]
            place += 6
        elif [token.text for token in tokens[place : place + 7]] == _WORD_CAST:
            found += [Token("cutune_word"), tokens[place + 6]]
            place += 7
        elif words[:3] == _WORD and words[3] != "cutune_word":
            found.append(Token("cutune_word"))
            place += 3
        else:
            found.append(tokens[place])
            place += 1
    return found
