"""Short names of variables. Takes tokens of cutune's own headers, gives what is renamed to what.

Only what is linked nowhere: parameters, local variables and members with data. Functions, types
and what is static keep their names, so that several sources of one program share them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from string import ascii_letters, ascii_lowercase

from cutune.frontend.syntax.words import word_set
from cutune.rewrite.packed import CppToken

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
