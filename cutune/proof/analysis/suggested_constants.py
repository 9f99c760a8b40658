"""Which constant a launch's block is made of, and other values for it. Takes a launch, gives it.

For kernels that are right with one block alone: `dim3 block(TILE, TILE)` follows the shared arrays
of the kernel when TILE does. Only what is easy to see: a name in the block, or in what is said of a
variable there, of which the user's files have one definition, a number.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import prod

from cutune.source.host_formula import constant
from cutune.source.program import LaunchSite, Program
from cutune.source.syntax.parse import Syntax, parse
from cutune.source.tunables import declared_constant
from cutune.toolchain.device.thread_block import LARGEST, WARP

#: Other values are so many times the program's own, or that part of it.
FACTORS = (4, 2, 1)
_OPENERS = ("(", "{")


@dataclass(frozen=True)
class ProposedConstant:
    """A macro or constant: its name, where it is defined, and what may be tried, as written."""

    name: str
    path: str
    line: int
    values: tuple[int, ...]

    @property
    def pragma(self) -> str:
        """The line to insert before its definition."""
        return f"#pragma cutune tune({self.name}: {', '.join(map(str, self.values))})"


def constant_of_block(program: Program, site: LaunchSite, most: int) -> ProposedConstant | None:
    """The one constant in the block of a launch; None where there is none, or more than one.

    Args:
        most: threads that a block of the kernel may have.
    """
    if len(site.configuration) < 2 or site.resolved is None:
        return None
    extents = [constant(extent) for extent in site.resolved.block]
    known = [int(extent) for extent in extents if extent is not None]
    files = [parse(source) for source in (program.source, *program.headers)]
    own = next((file for file in files if file.source == site.source), None)
    if own is None or len(known) < len(extents):
        return None
    defined = [
        (name, found) for name in _names(own, site) if (found := _definitions(files, name)) != []
    ]
    if len(defined) != 1 or len(defined[0][1]) != 1:
        return None
    ((name, ((file, at, value),)),) = defined
    powers = sum(extent == value for extent in known)
    values = tuple(_values(value, prod(known), powers, min(most, LARGEST)))
    if value < 2 or not powers or len(values) < 2:
        return None
    return ProposedConstant(name, file.source.path, file.source.location(at).line, values)


def _values(value: int, threads: int, powers: int, most: int) -> Iterator[int]:
    """Values that leave the block at least a warp."""
    smaller = [value // factor for factor in FACTORS if value % factor == 0]
    for other in [*smaller, *(value * factor for factor in reversed(FACTORS[:-1]))]:
        if other == value or WARP <= threads * other**powers // value**powers <= most:
            yield other


def _names(syntax: Syntax, site: LaunchSite) -> list[str]:
    """The names in the block, and in the definitions of those that are variables before it."""
    left, found = (
        _words(syntax, site.configuration_spans[1].start, site.configuration_spans[1].end),
        [],
    )
    while left:
        name = left.pop()
        if name not in found:
            found.append(name)
            left += _said_of(syntax, name, site.span.start)
    return found


def _words(syntax: Syntax, start: int, end: int) -> list[str]:
    inside = (token.text for token in syntax.tokens if start <= token.start < end)
    return [text for text in inside if text.isidentifier()]


def _said_of(syntax: Syntax, name: str, before: int) -> list[str]:
    """The names in `NAME(…)`, `NAME{…}` and `NAME = …` of functions before a place."""
    tokens, found = syntax.tokens, list[str]()
    for index, token in enumerate(tokens[:-1]):
        if token.start >= before:
            break
        behind, partner = tokens[index + 1].text, syntax.brackets.partner[index + 1]
        if token.text != name or not (behind == "=" or (behind in _OPENERS and partner > index)):
            continue
        end = partner if behind != "=" else _end(syntax, index + 2)
        found += _words(syntax, tokens[index + 2].start, tokens[end].start)
    return found


def _end(syntax: Syntax, index: int) -> int:
    """The `;` or `,` behind a value."""
    while index + 1 < len(syntax.tokens) and syntax.tokens[index].text not in (";", ","):
        index = max(index + 1, syntax.brackets.partner[index] + 1)
    return min(index, len(syntax.tokens) - 1)


def _definitions(files: Collection[Syntax], name: str) -> list[tuple[Syntax, int, int]]:
    """File, place and value of each `#define NAME 16` and `constexpr int NAME = 16;`."""
    return [(file, at, value) for file in files for at, value in _in_file(file, name)]


def _in_file(syntax: Syntax, name: str) -> Iterator[tuple[int, int]]:
    for macro in syntax.macros:
        if macro.name == name:
            is_number = macro.parameters is None and len(macro.body) == 1
            yield macro.body_start, _number(macro.body[0].text) if is_number else 0
    texts = [token.text for token in syntax.tokens]
    for index, text in enumerate(texts[:-3]):
        if text == name and texts[index + 1] == "=" and texts[index + 3] == ";":
            declared = declared_constant(syntax, _statement(texts, index))
            if declared == (name, index + 2):
                yield syntax.tokens[index].start, _number(texts[index + 2])


def _statement(texts: list[str], index: int) -> int:
    """Where the statement of a token begins."""
    while index and texts[index - 1] not in (";", "{", "}"):
        index -= 1
    return index


def _number(text: str) -> int:
    """A literal without a suffix; 0 where it is something else."""
    return int(text) if text.isdigit() else 0
