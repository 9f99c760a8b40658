"""Mutations that know words: text in, text out. Bytes are read as latin-1, so that any is text."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Mutation = Callable[[random.Random, str, Sequence[str]], str]
_WORD = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|\s+|.", re.DOTALL)
DEEPEST = 3_000
#: Openers and closers for deep nesting.
NESTS = (
    *(("(", ")"), ("{", "}"), ("[", "]"), ("a[", "]"), ("-", ""), ("!", ""), ("if(n)", "")),
    *(("*", ""), ("T<", ">"), ("f(", ")"), ("(int)", ""), ("n?", ":n"), ("n+", "n")),
    *(("{if(n)", "}"), ("a.", "a"), ("k<<<", ">>>()"), ("else if(n)", ";"), ("&&", "")),
    *(("namespace a{", "}"), ("for(;;)", ";"), ("#if 1\n", "#endif\n"), ("a,", "a"), ("n<", "n")),
    *(("template<class T>", ""), ("[=]{", "}"), ("do ", "while(n);"), ('{"a":', "}"), ("not ", "")),
)


def words_of(text: str) -> list[str]:
    """The text in words, which joined are the text."""
    return _WORD.findall(text)


def _place(rng: random.Random, text: str) -> int:
    return rng.randint(0, len(text))


def _span(rng: random.Random, text: str, longest: int = 400) -> tuple[int, int]:
    start = _place(rng, text)
    return start, min(len(text), start + rng.randint(1, longest))


def delete_words(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    words = words_of(text)
    start = rng.randrange(len(words) + 1)
    del words[start : start + rng.choice((1, 1, 1, 2, 5, 20))]
    return "".join(words)


def double_words(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    words = words_of(text)
    start = rng.randrange(len(words) + 1)
    piece = words[start : start + rng.choice((1, 1, 2, 5, 20))]
    words[start:start] = piece * rng.choice((1, 1, 2, 50))
    return "".join(words)


def swap_words(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    words = words_of(text)
    if not words:
        return text
    a = rng.randrange(len(words))
    b = rng.choice((rng.randrange(len(words)), min(len(words) - 1, a + 2)))
    words[a], words[b] = words[b], words[a]
    return "".join(words)


def replace_word(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    words = words_of(text)
    if words:
        own = rng.random() < 0.4
        words[rng.randrange(len(words))] = rng.choice(words if own else pieces)
    return "".join(words)


def insert_piece(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    place = _place(rng, text)
    chosen = rng.choices(pieces, k=rng.choice((1, 1, 1, 2, 4)))
    return text[:place] + rng.choice(("", " ")).join(chosen) + text[place:]


def flip_byte(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    if not text:
        return text
    place = rng.randrange(len(text))
    flipped = chr(ord(text[place]) ^ (1 << rng.randrange(8)))
    return text[:place] + flipped + text[place + 1 :]


def cut_off(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    place = _place(rng, text)
    return rng.choice((text[:place], text[place:]))


def remove_span(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    start, end = _span(rng, text)
    return text[:start] + text[end:]


def move_span(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    start, end = _span(rng, text)
    place = _place(rng, text)
    return text[:place] + text[start:end] + text[place:]


def nest(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    """Deep nesting around a short piece, closed or not."""
    start, end = _span(rng, text, rng.choice((1, 20, 400)))
    opener, closer = rng.choice(NESTS)
    depth = rng.choice((3, 30, 300, DEEPEST))
    closed = rng.choice((depth, depth, 0, depth - 1))
    return text[:start] + opener * depth + text[start:end] + closer * closed + text[end:]


def other_line_ends(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    return text.replace("\n", rng.choice(("\r\n", "\r", "\\\n", " ")))


def replace_entry(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    """One entry of JSON, or of one of its lines, becomes another, is left out, or is doubled."""
    lines = text.splitlines(keepends=True)
    chosen = rng.randrange(len(lines)) if lines else 0
    for start, end in ((0, len(lines)), (chosen, chosen + 1)):
        try:
            document = json.loads("".join(lines[start:end]))
        except (ValueError, RecursionError):
            continue
        _change(rng, document)
        ending = "\n" if len(lines) > 1 else ""
        return "".join([*lines[:start], json.dumps(document) + ending, *lines[end:]])
    return replace_word(rng, text, pieces)


#: Values that readers may not expect.
STRANGE: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, -(2**31), 2**63, -(2**63), 2**64, 10**400, 0.5, -0.0),
    *(1e300, float("inf"), float("nan"), 1e-320, "", "a", "\x00", "\ud800", "a\nb", "1/0", "1e999"),
    *("*/", '"', "%n", "9" * 5000, [], {}, [[]], [{}], {"": None}, {"a": {"a": {}}}, [1, 2, 3]),
    *("nan", "-1", "0x10", "x" * 300, "𝒳", "é", "not", "n * n", "__import__", [None] * 50),
)


def _change(rng: random.Random, document: object) -> None:
    holders = list(_holders(document))
    if not holders:
        return
    holder = rng.choice(holders)
    if isinstance(holder, dict):
        key = rng.choice(list(holder))
        others: list[Any] = list(holder.values())
        action = rng.randrange(5)
        if action == 0:
            del holder[key]
        elif action == 1:
            holder[rng.choice([str(one)[:9] for one in STRANGE])] = holder[key]
        else:
            holder[key] = rng.choice(others if action == 2 else STRANGE)
        return
    place = rng.randrange(len(holder))
    action = rng.randrange(4)
    if action == 0:
        del holder[place]
    elif action == 1:
        holder[place:place] = holder[place : place + 1] * rng.choice((1, 2, 40))
    else:
        holder[place] = rng.choice(holder if action == 2 else STRANGE)


def _holders(document: object) -> Iterator[Any]:
    """All lists and objects that hold something."""
    stack = [document]
    while stack:
        one = stack.pop()
        if isinstance(one, (dict, list)) and one:
            yield one
            stack += one.values() if isinstance(one, dict) else one


MUTATIONS: tuple[Mutation, ...] = (
    *(delete_words, double_words, swap_words, replace_word, insert_piece, flip_byte),
    *(cut_off, remove_span, move_span, nest, other_line_ends, replace_entry),
)


def mutated(rng: random.Random, text: str, pieces: Sequence[str]) -> str:
    """A few mutations, one after the other."""
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        text = rng.choice(MUTATIONS)(rng, text, pieces)
    return text
