"""Variables that have the name of a type. Takes a function's tokens, gives the names.

`int half = 2;` declares a variable although `half` is a type of the toolkit. A name that is used
as a value stays one to the end of the block (C++ [basic.scope.hiding]). So a name is taken as a
variable if all its occurrences lie after such a use.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence

from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.names import BUILTIN_TYPES, C_KEYWORDS, partners

#: What cannot follow a type.
_AFTER_VALUE = word_set(
    """
    = ; ] + - / % ++ -- += -= *= /= %= &= |= ^= <<= == != <= || ? . -> | ^ <<
    """
)
_AFTER_DECLARATOR = frozenset({"[", ",", "(", "{"})
_OTHER_SCOPE = frozenset({".", "->", "::"})


def variable_names(tokens: Sequence[Token], types: Container[str]) -> Iterator[str]:
    """Those of the names that are local variables wherever they occur.

    Raises:
        NotC: brackets do not match.
    """
    occurrences: defaultdict[str, list[int]] = defaultdict(list)
    for index, token in enumerate(tokens):
        is_own = index == 0 or tokens[index - 1].text not in _OTHER_SCOPE
        if token.kind == "IDENTIFIER" and is_own and token.text in types:
            occurrences[token.text].append(index)
    if not occurrences or any(token.text == "typedef" for token in tokens):
        return
    pairs = partners(tokens)
    for name, places in occurrences.items():
        end = -1
        for index in places:
            if index > end:
                end = _scope_end(tokens, pairs, index) if _is_value(tokens, index) else -1
            if end < index:
                break
        else:
            yield name


def _is_value(tokens: Sequence[Token], index: int) -> bool:
    """declaration = type NAME …, or a place where no type can stand."""
    if not 0 < index < len(tokens) - 1:
        return False
    before, after = tokens[index - 1], tokens[index + 1].text
    is_after_type = before.kind == "IDENTIFIER" and (
        before.text in BUILTIN_TYPES or before.text not in C_KEYWORDS
    )
    if is_after_type and after in _AFTER_DECLARATOR:
        return True
    return after in _AFTER_VALUE or (after in ("[", ",") and _is_listed(tokens, index))


def _is_listed(tokens: Sequence[Token], index: int) -> bool:
    """A further declarator of type NAME ("=" …)? ("," "*"* NAME …)*, at the statement's level."""
    place = index - 1
    while place >= 0 and tokens[place].text not in (";", "{", "}", "(", ")", "<", "["):
        place -= 1
    first = tokens[place + 1 : place + 3]
    is_declaration = tokens[place].text in (";", "{", "}") and len(first) == 2
    return is_declaration and all(token.kind == "IDENTIFIER" for token in first)


def _scope_end(tokens: Sequence[Token], pairs: Mapping[int, int], index: int) -> int:
    """The last token of the block, or of the statement in whose head it stands."""
    opener = _opener(tokens, pairs, index)
    outer = _opener(tokens, pairs, opener)
    while outer >= 0 and tokens[opener].text != "{" and tokens[outer].text != "{":
        opener, outer = outer, _opener(tokens, pairs, outer)
    if opener < 0 or tokens[opener].text == "{":
        return pairs.get(opener, -1)
    if tokens[opener - 1].text not in ("for", "if", "while", "switch"):
        return pairs[outer] if outer >= 0 else -1
    place = pairs[opener] + 1
    while place < len(tokens) and tokens[place].text not in (";", "{"):
        place = pairs[place] + 1 if tokens[place].text in ("(", "[") else place + 1
    return pairs.get(place, place)


def _opener(tokens: Sequence[Token], pairs: Mapping[int, int], index: int) -> int:
    """The bracket around a token, or -1."""
    place = index - 1
    while place >= 0 and tokens[place].text not in ("(", "[", "{"):
        place = pairs[place] - 1 if tokens[place].text in (")", "]", "}") else place - 1
    return place
