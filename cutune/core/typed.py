"""JSON as dataclasses, checked: all files that cutune reads again come through here.

Takes data and a type, gives a value, or says where one is wrong.

A type is a dataclass, whose annotations say what may stand in a file: bounds of numbers, forms of
names. So nothing that a file says gets further than its type allows: not into a program either.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Annotated, Any, TypeVar

import msgspec

T = TypeVar("T")
Meta = msgspec.Meta
_LETTER = r"[A-Za-z_$\x80-\xff]"
_WORD = rf"{_LETTER}[\w$\x80-\xff]{{0,199}}"

#: An identifier of C++ in the bytes of a source, which are decoded as latin-1.
Name = Annotated[str, Meta(pattern=rf"(?a)\A{_WORD}\Z")]
#: The same, or nothing.
NameOrNone = Annotated[str, Meta(pattern=rf"(?a)\A({_WORD})?\Z")]
#: A name that may be one of a member: `grid.nx`, `p->n`.
MemberName = Annotated[str, Meta(pattern=rf"(?a)\A{_WORD}((\.|->){_WORD}){{0,9}}\Z")]
#: What types of parameters are written with, but for words. Nothing of it ends a comment or a text.
TYPE_MARKS = r" ,*&<>:\[\]()"
_TYPES = rf"\([\w$\x80-\xff{TYPE_MARKS}]{{0,1000}}\)"
#: A name that may stand in namespaces, and say of which types parameters are.
QualifiedName = Annotated[str, Meta(pattern=rf"(?a)\A(::)?{_WORD}(::{_WORD}){{0,9}}({_TYPES})?\Z")]
#: A word of an option or a macro's value: no text of these characters begins or ends anything.
Word = Annotated[str, Meta(pattern=r"(?a)\A[\w.+-]{1,64}\Z")]
#: A symbol of the linker, a hash.
Symbol = Annotated[str, Meta(pattern=r"\A[\w$.@-]{0,4096}\Z")]
#: Text for people, or a path: it is quoted wherever it is written.
Text = Annotated[str, Meta(max_length=4096)]
#: Text for people that fits in a line: no control characters.
Label = Annotated[str, Meta(pattern=r"\A[^\x00-\x1f\x7f-\x9f\u2028\u2029]{1,200}\Z")]
#: A formula of integers. Who reads it knows what it may hold.
Formula = Annotated[str, Meta(max_length=2000)]

#: How often something is there, or how large it is.
Count = Annotated[int, Meta(ge=0, lt=1 << 62)]
#: What a 64-bit integer of C++ holds, but for the lowest, which has no literal.
Integer = Annotated[int, Meta(ge=-(1 << 63) + 1, le=(1 << 63) - 1)]
#: A small number: an index, a degree, a place.
Small = Annotated[int, Meta(ge=0, lt=1 << 16)]
#: An index, or -1: none.
Index = Annotated[int, Meta(ge=-1, lt=1 << 31)]
#: The number of a launch site.
SiteNumber = Annotated[int, Meta(ge=0, lt=1 << 31)]
#: A measured or fitted quantity.
Quantity = Annotated[float, Meta(ge=0, le=1e30)]
#: A time, which was measured and so is not 0.
Time = Annotated[float, Meta(gt=0, le=1e30)]

_RATIONAL = re.compile(r"-?\d{1,1000}(?:/\d{1,1000}|(?:\.\d{1,50})?(?:e[+-]?\d{1,2})?)", re.ASCII)
#: Doubles hold products of numbers up to this.
_LARGEST = Fraction(1 << 200)


def one_of(*words: str) -> Meta:
    """Return the bound of a text that has to be one of these words."""
    return Meta(pattern=rf"\A({'|'.join(map(re.escape, words))})\Z")


def typed(kind: type[T], data: object) -> T:
    """Return the value of a type that JSON data hold. Raises ValueError: says what is wrong."""
    try:
        return msgspec.convert(data, kind, dec_hook=_convert)
    except RecursionError as error:
        raise ValueError("too deep") from error


def _convert(kind: type[T], value: object) -> T:
    if kind is not Fraction:  # by this msgspec is told that a type has no hook
        raise NotImplementedError(kind)
    return rational(value)  # type: ignore[return-value]


def rational(value: object) -> Fraction:
    """Return the number that a file writes as `3`, `0.25`, `1e-3` or `2/3`; else a ValueError."""
    text = str(value)
    if isinstance(value, bool) or not _RATIONAL.fullmatch(text):
        raise ValueError(f"Expected a number, got {text[:40]!r}")
    try:
        number = Fraction(text)
    except ZeroDivisionError as error:
        raise ValueError("Expected a number, got a division by zero") from error
    if abs(number) > _LARGEST:
        raise ValueError(f"Expected a number up to 2^200, got {text[:40]!r}")
    return number


#: Escapes in JSON, of pairs for one character, or of what no name of a file holds: NUL, and halves
#: of pairs, but those that stand for a byte.
_ESCAPES = re.compile(
    r"""\\(?: u d[89ab][\da-f]{2} \\u d[c-f][\da-f]{2}
         | (?P<refused> u (?: 0000 | d[89ab] | dc[0-7] | d[d-f] ))
         | . )""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def parsed(text: str | bytes) -> Any:
    """Return the data of JSON text.

    Raises:
        ValueError: no JSON, too deep, a number like NaN, or text that is none to the system.
    """
    text = text if isinstance(text, str) else text.decode("utf-8-sig")
    refused = "\\u" in text and any(one["refused"] for one in _ESCAPES.finditer(text))
    require(not refused, "text holds NUL, or half of a character")
    try:
        return json.loads(text, parse_constant=lambda word: require(False, f"{word} is no number"))
    except RecursionError as error:
        raise ValueError("too deep") from error


def require(condition: object, what: str) -> None:
    """Raise a ValueError unless a condition on the entries of a file holds, which `what` says."""
    if not condition:
        raise ValueError(what)
