"""Names of kernels. Takes mangled names (Itanium C++ ABI), gives comparable and readable forms.

One kernel has several names: its host function `_ZN2nsL4fillEPi`, its entry `_ZN2ns4fillEPi`, and
with relocatable device code `__nv_static_25_ID_ZN2ns4fillEPi`. An unnamed namespace carries the
number of its module, which changes with the path of the source. c++filt makes `fill<float>` of
them where it is installed; without it a mangled name stays as it is.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from cutune.core.typed import TYPE_MARKS

#: What an unnamed namespace is called in PTX; the number of the module follows.
_UNNAMED = "_GLOBAL__N_"
_UNNAMED_LENGTH = re.compile(rf"\d+(?={_UNNAMED})")
#: Namespaces of Thrust and CUB carry the architectures for which all of a build is compiled.
_ARCHITECTURES = re.compile(r"\d*((?:THRUST|CUB)_\d+_SM)(?:_\d+)+_NS")
_STATIC = re.compile(r"__nv_static_(\d+)_")
#: Internal linkage ("L"), then the length of a name.
_LENGTH = re.compile(r"L?(\d+)")
#: Of types in a name.
LONGEST_TYPES = 1000


class _Name(NamedTuple):
    """The namespaces and the name, then the text of template arguments and parameters."""

    parts: tuple[str, ...]
    rest: str
    is_nested: bool


def renamed_entry(entry: str, other: str) -> str:
    """Return an entry's mangled name if its function were called `other`; all else stays."""
    name = _parsed(entry)
    if name is None:
        return other
    written = f"{len(name.parts[-1])}{name.parts[-1]}"
    before, _, _ = entry.removesuffix(name.rest).rpartition(written)
    return f"{before}{len(other)}{other}{name.rest}"


@lru_cache(maxsize=1 << 12)
def base_name(symbol: str) -> str:
    """Return `fill` of `_ZN2ns4fillIfEEvPT_`; a symbol that is no kernel's name stays as it is."""
    name = _parsed(symbol)
    return name.parts[-1] if name is not None else symbol


def namespaces(symbol: str) -> tuple[str, ...]:
    """Return `("ns",)` of `_ZN2ns4fillIfEEvPT_`."""
    name = _parsed(symbol)
    return name.parts[:-1] if name is not None else ()


def qualified_name(symbol: str) -> str:
    """Return `ns::fill` of `_ZN2ns4fillIfEEvPT_`, `::fill` at file scope; no unnamed namespace."""
    scopes = (part for part in namespaces(symbol) if not part.startswith(_UNNAMED))
    return qualified(tuple(scopes), base_name(symbol))


def qualified(scopes: Sequence[str], name: str) -> str:
    """Return a kernel's name where others share its last part; the last part is `plain_name`."""
    return "::".join((*scopes, name)) if scopes else f"::{name}"


def is_qualified(name: str) -> bool:
    return "::" in name


def overload(name: str, types: Sequence[str]) -> str:
    """Return a qualified name with the types of parameters, where others share even that."""
    written = re.sub(rf"[^\w${TYPE_MARKS}]", "_", ", ".join(types))
    return f"{name}({written[:LONGEST_TYPES]})"


def is_overload(name: str) -> bool:
    return name.endswith(")")


def scoped_name(name: str) -> str:
    """Return a kernel's name without types of parameters."""
    return name.partition("(")[0]


def plain_name(name: str) -> str:
    """Return the last part of a kernel's name, which its definition has."""
    return scoped_name(name).rpartition("::")[2]


def is_named(symbol: str, name: str) -> bool:
    """Is it the mangled name of a kernel of this name? Types of parameters are not compared."""
    named = scoped_name(name)
    return (qualified_name if is_qualified(named) else base_name)(symbol) == named


def may_mean(written: str, name: str) -> bool:
    """May what a user wrote be a kernel of this name? Blanks between words do not count."""
    known = (name, scoped_name(name), plain_name(name))
    return "".join(written.split()) in ("".join(one.split()) for one in known)


#: parameter = ("P" | "K")* (length letters | repetition | built-in type). "r" is `restrict` within
#: a type, and the name of a vendor's type stands behind "u".
_PARAMETER = re.compile(r"([PK]*)(?:(\d+)|(S[\dA-Z]*_)|([a-qstv-z]))")


def parameter_types(symbol: str) -> tuple[tuple[str, int], ...] | None:
    """Return each parameter's type as `::name` or its letter, and how many pointers lead to it.

    `const` is left out. None for other types than names at file scope, and for templates.
    """
    name = _parsed(symbol)
    if name is None or name.rest.startswith("I"):
        return None
    text, at = name.rest.removeprefix("E"), 0
    #: What is repeated by its place: namespaces, and each type that is no built-in one.
    repeated: list[tuple[str, int] | None] = [None for part in name.parts[:-1] if part != "std"]
    found: list[tuple[str, int]] = []
    while at < len(text):
        match = _PARAMETER.match(text, at)
        if match is None:
            return None
        at, (before, length, repetition, letter) = match.end(), match.groups()
        base: tuple[str, int] | None
        if length:
            base = f"::{text[at : at + int(length)]}", 0
            at += int(length)
            repeated.append(base)
        elif repetition:
            place = int(repetition[1:-1], 36) + 1 if repetition[1:-1] else 0
            base = repeated[place] if place < len(repeated) else None
        else:
            base = letter, 0
        if base is None:
            return None
        for layer in reversed(before):
            base = base[0], base[1] + (layer == "P")
            repeated.append(base)
        found.append(base)
    return () if found == [("v", 0)] else tuple(found)


def is_instance(symbol: str) -> bool:
    """Is it the name of an instance of a template?"""
    name = _parsed(symbol)
    return name is not None and name.rest.startswith("I")


def entry_name(symbol: str) -> str:
    """Return the name in PTX of a host function's kernel: it does not show internal linkage."""
    name = _parsed(symbol)
    if name is None:
        return symbol
    written = "".join("St" if part == "std" else f"{len(part)}{part}" for part in name.parts)
    return f"_Z{'N' if name.is_nested else ''}{written}{name.rest}"


def canonical(symbol: str) -> str:
    """Return the part that all names of one kernel share, whatever the path and kind of build."""
    name = _parsed(symbol)
    if name is None:
        return symbol
    parts = (_UNNAMED if part.startswith(_UNNAMED) else part for part in name.parts)
    rest = re.sub(r"L(?=\d)", "", _without_modules(name.rest))
    return _ARCHITECTURES.sub(r"\1", "::".join(parts) + f" {rest}")


def is_among(symbol: str, entries: Collection[str]) -> bool:
    """Is the kernel one of these, though they may come from another build?"""
    return canonical(symbol) in {canonical(entry) for entry in entries}


def may_call(symbol: str, told: Collection[str], known: Collection[str]) -> bool:
    """May a launch call this kernel, if the host calls those that it launches by the names `told`?

    `known`: the names in compiled code. The host has other ones for instances of a template whose
    arguments are lambdas; such a name may stand for any instance.
    """
    if not told or is_among(symbol, told):
        return True
    return is_among(symbol, known) and not all(is_among(name, known) for name in told)


def _parsed(symbol: str) -> _Name | None:
    """name = "_Z" "N" part+ rest | "_Z" "St"? part rest; the last is what a kernel is called."""
    if static := _STATIC.match(symbol):
        symbol = symbol[static.end() + int(static[1]) + 1 :]
    if not symbol.startswith("_Z"):
        return None
    is_nested = symbol.startswith("_ZN")
    at, parts = 3 if is_nested else 2, []
    for part, end in _parts(symbol, at):
        parts.append(part)
        at = end
        if not is_nested and part != "std":
            break
    is_complete = at < len(symbol) and (not is_nested or symbol[at] in "EI")
    if not is_complete or not parts or parts[-1] == "std":
        return None
    return _Name(tuple(parts), symbol[at:], is_nested)


def _parts(symbol: str, at: int) -> Iterator[tuple[str, int]]:
    while True:
        if symbol.startswith("St", at):
            at += 2
            yield "std", at
        elif (length := _LENGTH.match(symbol, at)) is not None:
            at = length.end() + int(length[1])
            yield symbol[length.end() : at], at
        else:
            return


def _without_modules(text: str) -> str:
    """Return template arguments and parameters without modules' numbers in unnamed namespaces."""
    pieces, at = [], 0
    for match in _UNNAMED_LENGTH.finditer(text):
        digits = match[0]
        # The digits may begin with those that end the name before.
        room = len(text) - match.end()
        fitting = (d for i in range(len(digits)) if len(_UNNAMED) < int(d := digits[i:]) <= room)
        length = min(fitting, key=int, default="")
        if length:
            pieces += [text[at : match.end() - len(length)], _UNNAMED]
            at = match.end() + int(length)
    return "".join([*pieces, text[at:]])


#: Longer template arguments are cut.
LONGEST = 48


def demangled(names: Sequence[str], parameters: bool = False) -> list[str]:
    """Return names as in the source where c++filt is installed, else the mangled names."""
    tool = shutil.which("c++filt")
    if tool is None or not names:
        return list(names)
    command = tool, *([] if parameters else ["-p"])
    return [*(_filtered(command, "\n".join(names)) or names)]


@lru_cache(maxsize=256)
def _filtered(command: tuple[str, ...], names: str) -> tuple[str, ...]:
    """What c++filt makes of names, a line each, or nothing; the same ones are often asked for."""
    done = subprocess.run(command, input=names, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    return tuple(lines) if done.returncode == 0 and len(lines) == 1 + names.count("\n") else ()


def shown_parameters(shown: str) -> list[str]:
    """Return the types of parameters in `void f<int>(int*, float)`, a name with its parameters."""
    if not shown.endswith(")"):
        return []
    found, depth = [""], 0
    for character in reversed(shown[:-1]):
        depth += (character in ")>]}") - (character in "(<[{")
        if depth < 0:
            break
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] = character + found[-1]
    return [one.strip() for one in reversed(found) if one.strip()]


def whole_instance_names(kernels: Sequence[str], entries: Sequence[str]) -> list[str]:
    """Unique names of kernels by their entries: with template arguments, or with parameters too."""
    whole = demangled(entries, parameters=True)
    short = [k + _bracketed(k, text, "<>", "") for k, text in zip(kernels, whole, strict=True)]
    count = Counter(name for name, _ in {*zip(short, entries, strict=True)})
    return [
        name if count[name] == 1 else name + _bracketed(kernel, text, "()", f" ({text})")
        for name, kernel, text in zip(short, kernels, whole, strict=True)
    ]


def instance_names(kernels: Sequence[str], entries: Sequence[str]) -> list[str]:
    """Names of instances, cut so that they fit into a table, and unique still."""
    whole = whole_instance_names(kernels, entries)
    cut: dict[str, str] = {}
    for shorten in (brief, _without_middle, str):
        left = {*whole} - cut.keys()
        count = Counter(map(shorten, left))
        cut |= {name: shorten(name) for name in left if count[shorten(name)] == 1}
    return [cut[name] for name in whole]


def brief(name: str) -> str:
    """Cut a name so that it fits into a table."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _without_middle(name: str) -> str:
    half = LONGEST // 2
    return name if len(name) <= LONGEST else f"{name[: LONGEST - half - 1]}…{name[-half:]}"


def _bracketed(kernel: str, text: str, pair: str, otherwise: str) -> str:
    """`<float>` behind `scale` in `void scale<float>(int, float*)`, if the pair is `<>`."""
    start = text.find(kernel + pair[0])
    if start < 0:
        return otherwise
    start, depth = start + len(kernel), 0
    for index in range(start, len(text)):
        depth += {pair[0]: 1, pair[1]: -1}.get(text[index], 0)
        if depth == 0:
            return text[start : index + 1]
    return text[start:]
