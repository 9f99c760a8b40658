"""Names of C++ as C identifiers, and which of them are types.

Takes the tokens of a function body, gives tokens in which `a::b<c>` is one identifier, and the
identifiers that only their use shows to be types.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cutune.source.syntax.tokens import Token, word_set

#: Stands for `::` in a name.
SCOPE = "$"
NO_TOKEN = Token("IDENTIFIER", "", 0)
BUILTIN_TYPES = word_set(
    """
    int char short long float double void unsigned signed bool auto
    """
)
C_KEYWORDS = BUILTIN_TYPES | word_set(
    """
    if else for while do switch case default break continue return goto sizeof typedef struct
    union enum
    """
)
_CASTS = frozenset({"static_cast", "reinterpret_cast", "const_cast"})
#: A comparison with one of these names on its left is no template.
_OPERATORS_AFTER_VALUE = word_set(
    """
    = [ ; , ) + - * / % ++ -- += -= *= /= == != <= && || ? . & | ^ ]
    """
)


class NotC(Exception):
    """The text is beyond the normaliser."""

    def __init__(self, token: Token, what: str) -> None:
        super().__init__(what)
        self.token, self.what = token, what


@dataclass(frozen=True)
class Names:
    """What is known about identifiers before a function is read."""

    types: frozenset[str]
    variables: frozenset[str]


def word(text: str, like: Token, kind: str = "IDENTIFIER") -> Token:
    """A token that stands where `like` stands."""
    return Token(kind, text, like.start)


def partners(tokens: Sequence[Token]) -> dict[int, int]:
    """Matched brackets of a token list.

    Raises:
        NotC: they do not match.
    """
    stack: list[int] = []
    found: dict[int, int] = {}
    for index, token in enumerate(tokens):
        if token.text in ("(", "[", "{"):
            stack.append(index)
        elif token.text in (")", "]", "}"):
            if not stack or tokens[stack[-1]].text + token.text not in ("()", "[]", "{}"):
                raise NotC(token, "unbalanced brackets")
            opener = stack.pop()
            found[opener], found[index] = index, opener
    if stack:
        raise NotC(tokens[stack[-1]], "unbalanced brackets")
    return found


def fold_names(names: Names, tokens: list[Token]) -> list[Token]:
    """Write each qualified name, and each name with template arguments, as one identifier.

    Raises:
        NotC: a name of another form.
    """
    return _Folder(names, tokens).fold()


class _Folder:
    """Qualified names and template arguments become one identifier."""

    def __init__(self, names: Names, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.pairs = partners(tokens)
        self.variables = names.variables | frozenset(
            token.text
            for token, following in pairwise(tokens)
            if token.kind == "IDENTIFIER"
            and following.text in _OPERATORS_AFTER_VALUE
            and token.text not in names.types
        )

    def fold(self) -> list[Token]:
        """name = NAME ["<" … ">"] ("::" NAME ["<" … ">"])*."""
        out: list[Token] = []
        index = 0
        while index < len(self.tokens):
            token = self.tokens[index]
            if token.text in _CASTS:
                closer = self._closer(index + 1)
                if closer is None:
                    raise NotC(token, f"'{token.text}'")
                type_ = [t for t in self.tokens[index + 2 : closer] if t.text not in ("&", "&&")]
                inner = _Folder(Names(frozenset(), frozenset()), type_).fold()
                out += [word("(", token, "PUNCTUATION"), *inner, word(")", token, "PUNCTUATION")]
                index = closer + 1
            elif token.kind == "IDENTIFIER" and token.text not in C_KEYWORDS:
                name, index = self._name(index)
                out.append(name)
            else:
                out.append(token)
                index += 1
        return out

    def _name(self, index: int) -> tuple[Token, int]:
        first = self.tokens[index]
        parts = [first.text]
        index += 1
        while index < len(self.tokens):
            text = self.tokens[index].text
            if text == "<" and self.tokens[index - 1].kind == "IDENTIFIER":
                closer = self._arguments(index)
                if closer is None:
                    break
                index = closer + 1
            elif text == "::" and index + 1 < len(self.tokens):
                following = self.tokens[index + 1]
                if following.kind != "IDENTIFIER":
                    raise NotC(following, f"'::{following.text}'")
                parts.append(following.text)
                index += 2
            else:
                break
        return word(SCOPE.join(parts), first), index

    def _arguments(self, opener: int) -> int | None:
        """The `>` of template arguments, or None where `<` compares."""
        if self.tokens[opener - 1].text in self.variables:
            return None
        closer = self._closer(opener)
        if closer is None or closer + 1 >= len(self.tokens):
            return None
        inside = self.tokens[opener + 1 : closer]
        if not all(_may_be_template_argument(token) for token in inside):
            return None
        following = self.tokens[closer + 1]
        if following.kind in ("NUMBER", "STRING", "CHARACTER") or following.text in ("-", "!", "~"):
            return None
        return closer

    def _closer(self, opener: int) -> int | None:
        if opener >= len(self.tokens) or self.tokens[opener].text != "<":
            return None
        depth = 0
        for index in range(opener, min(len(self.tokens), opener + 300)):
            text = self.tokens[index].text
            depth += {"<": 1, ">": -1}.get(text, 0)
            if depth == 0:
                return index
            if text in (";", "{", "}", "&&", "||", "?", "=") and depth:
                return None
        return None


def _may_be_template_argument(token: Token) -> bool:
    return token.kind in ("IDENTIFIER", "NUMBER") or token.text in (
        *("::", ",", "*", "&", "<", ">", "(", ")", "+", "-", "/", "[", "]", "%"),
    )


_WITH_CONDITION = frozenset({"if", "while", "for", "switch"})


def types_by_use(tokens: Sequence[Token]) -> Iterable[str]:
    """Identifiers that can only be types: `T x`, `T * x =` at a statement's start, `(T) x`."""
    for index, token in enumerate(tokens):
        if token.kind != "IDENTIFIER" or token.text in C_KEYWORDS:
            continue
        before = tokens[index - 1] if index else NO_TOKEN
        if before.text in (".", "->", "struct", "union", "enum"):
            continue
        rest = tokens[index + 1 : index + 40]
        if _declares(rest) or _declares_pointer(before, rest):
            yield token.text
        is_condition = index > 1 and tokens[index - 2].text in _WITH_CONDITION
        if before.text == "(" and not is_condition and _casts(rest):
            yield token.text


def _declares(rest: Sequence[Token]) -> bool:
    """T NAME."""
    return bool(rest) and rest[0].kind == "IDENTIFIER" and rest[0].text not in C_KEYWORDS


def _declares_pointer(before: Token, rest: Sequence[Token]) -> bool:
    """T "*"+ NAME ("=" | ";" | "," | "[") at the start of a statement."""
    stars = 0
    while stars < len(rest) and rest[stars].text == "*":
        stars += 1
    if not stars or stars + 1 >= len(rest) or rest[stars].kind != "IDENTIFIER":
        return False
    starts = before.text in (";", "{", "}") or (before.text == "(" and stars > 1)
    return starts and rest[stars + 1].text in ("=", ";", ",", "[")


def _casts(rest: Sequence[Token]) -> bool:
    """ "(" T "*"* ")" operand: a name or number cannot follow a parenthesised value."""
    stars = 0
    while stars < len(rest) and rest[stars].text == "*":
        stars += 1
    if stars + 1 >= len(rest) or rest[stars].text != ")":
        return False
    operand = rest[stars + 1]
    is_operand = operand.kind in ("IDENTIFIER", "NUMBER") and operand.text not in C_KEYWORDS
    return is_operand or stars > 0
