"""Constants that the block of a kernel follows. Takes its text and its launches, gives constants.

A macro, a `const` or `constexpr` number, an enumerator or a member of a structure that stands in
the configuration of a launch; an argument of the template; a number that is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.proof.variants.text import KernelText
from cutune.source.configuration.class_members import template_argument
from cutune.source.host_formula import (
    Formula,
    Name,
    Number,
    constant,
    names_of,
    parts,
)
from cutune.source.kernel_variant import BLOCK_OF
from cutune.source.program import Configuration, LaunchSite
from cutune.source.unit.unit import template_parameters
from cutune.toolchain.device.thread_block import Block
from cutune.toolchain.kernel_names import demangled

#: Macros, and constants outside of functions, by the keys of their names.
_MACRO = "macro "
#: Begins the names of numbers that are written: no name of C++ begins so.
NUMBER = "number "
_FREE = "free "
_OF_FILE = (_MACRO, "constant ", _FREE)
_NAME = re.compile(r"[A-Za-z_]\w*(?:::\w+)*")


@dataclass(frozen=True)
class TypeArgument:
    """The argument at a `place` of `Batch<16, 8>`, a type that a kernel's template takes.

    `parameter`: of the template.
    """

    parameter: str
    place: int
    #: The type, as the compiler writes it: its name, and its arguments.
    name: str
    arguments: tuple[str, ...]


@dataclass(frozen=True)
class TileConstant:
    """A constant of the kernel, by its `name` at the launch and the one that it has `inside`."""

    name: str
    inside: str
    value: int
    is_macro: bool = False
    is_parameter: bool = False
    #: Is it a number that is written, or a constant within the body, as large as the block?
    is_number: bool = False
    #: Has it a class or a namespace before its name, or is it an enumerator?
    is_member: bool = False
    #: How the kernel names a member of an argument of its template: `Shape::SIDE`.
    qualified: str = ""
    #: Where it is an argument of a type that is one of the kernel's template.
    of_type: TypeArgument | None = None
    #: By how much constants are larger that are computed from it.
    beside: tuple[int, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Is it a macro or a constant of the file, so that others may be computed from it?"""
        return not (self.is_parameter or self.is_number or self.is_member or self.of_type)

    def is_in(self, formula: Formula) -> bool:
        """Does a formula of a launch name it, or have its number?"""
        if self.name.startswith(NUMBER):
            return any(isinstance(p, Number) and p.value == self.value for p in parts(formula))
        return any(name.text == self.name for name in names_of(formula))


Values = Mapping[TileConstant, int]
"""Constants that have other values than the program's own."""


def constants_of(text: KernelText, sites: Sequence[LaunchSite]) -> list[TileConstant]:
    """The constants in the configuration of launches that the text of the kernel names.

    And all arguments of its template that are numbers: what it is compiled for tells them.
    """
    words = {token.text for token in text.body}
    of_template, of_types, types = _template_arguments(text, sites[0])
    found = {
        argument: TileConstant(argument, name, value, is_parameter=True)
        for argument, (name, value) in of_template.items()
        if name in words
    }
    for site in sites:
        for name in _names_in_configuration(site):
            key, inside = name.key or _FREE, name.text.rpartition("::")[2]
            if (argument := _of_type(name, types)) is not None:
                own = int(argument.arguments[argument.place])
                found[name.text] = TileConstant(name.text, inside, own, of_type=argument)
            if name.text in found or inside not in words or not key.startswith(_OF_FILE):
                continue
            # A macro that is defined under several conditions is not resolved.
            is_free, is_macro = key.startswith(_FREE), key.startswith(_MACRO)
            is_macro |= is_free and _defined(text, inside, is_macro=True) is not None
            known = constant(name)
            value = _defined(text, inside, is_macro) if known is None else known
            if value is not None and value == int(value) > 0:
                qualifier = of_types.get(name.text.rpartition("::")[0], "")
                found[name.text] = TileConstant(
                    name.text,
                    inside,
                    int(value),
                    is_macro,
                    is_member=is_free and not is_macro,
                    qualified=f"{qualifier}::{inside}" if qualifier else name.text,
                )
    _join_computed(found, [name for site in sites for name in _names_in_configuration(site)])
    configured = {name.text for site in sites for name in _names_in_configuration(site)}
    configured |= {f"{NUMBER}{value}" for site in sites for value in _numbers_in_block(site)}
    return [*found.values()] if configured & found.keys() else [*_numbers_of(sites)]


def _join_computed(found: dict[str, TileConstant], names: Sequence[Name]) -> None:
    """Leave out constants of the file that are computed from others of it, which they follow."""
    plain = {text for text, one in found.items() if one.is_plain}
    for name in names:
        if name.text not in found.keys() & plain or name.value is None:
            continue
        bases = {one.text for one in names_of(name.value)} & found.keys() & plain
        more = {found[name.text].value - found[base].value for base in bases if len(bases) == 1}
        for base in bases:
            beside = sorted({*found[base].beside, *more})
            found[base] = replace(found[base], beside=tuple(beside))
        if bases:
            del found[name.text]


def _numbers_of(sites: Sequence[LaunchSite]) -> Iterator[TileConstant]:
    """The sizes of a block that is written in numbers, or by a variable of the host."""
    known = map(usual, sites)
    blocks = {whole_shape(one.block) if one is not None else None for one in known}
    if len(blocks) == 1 and (block := blocks.pop()) is not None:
        for size in sorted({*block} - {1}):
            yield TileConstant(f"{NUMBER}{size}", f"{BLOCK_OF}{size}", size, is_number=True)


def usual(site: LaunchSite) -> Configuration | None:
    """The configuration that a launch may have. A copy is launched only where it has it."""
    return site.by_calls or site.resolved


def _names_in_configuration(site: LaunchSite) -> Iterator[Name]:
    resolved = usual(site)
    assert resolved is not None, "a launch that is open"
    shared = (resolved.shared,) if resolved.shared is not None else ()
    for formula in (*resolved.block, *resolved.grid, *shared):
        yield from names_of(formula)


def _defined(text: KernelText, name: str, is_macro: bool) -> int | None:
    """The one number that the files of a program define a name as, under whatever condition.

    The command line may say otherwise: then the block that is compiled is another one.
    """
    about = re.escape(name)
    macro = rf"^[ \t]*#[ \t]*define[ \t]+{about}[ \t]+(\w+)[ \t]*(?://.*)?\r?$"
    pattern = re.compile(macro if is_macro else rf"\b{about}\s*=\s*(\w+)\s*[,;}}]", re.M)
    found = {match[1] for file in text.texts.files for match in pattern.finditer(file.text)}
    numbers = [int(one) for one in found if one.isdigit()]
    return numbers[0] if len(numbers) == 1 else None


def _of_type(name: Name, types: Mapping[str, TypeArgument]) -> TypeArgument | None:
    """The argument of a type that a name of the host stands for, if it is a number above 0."""
    known = template_argument(name.key)
    if known is None or known[1] not in types:
        return None
    found = replace(types[known[1]], place=known[0])
    is_told = found.place < len(found.arguments)
    written = found.arguments[found.place] if is_told else ""
    return found if written.isdigit() and constant(name) == int(written) > 0 else None


def _template_arguments(
    text: KernelText, site: LaunchSite
) -> tuple[dict[str, tuple[str, int]], dict[str, str], dict[str, TypeArgument]]:
    """Arguments of the template at a launch, with its parameters, and the values of numbers.

    Names of numbers, members of a structure too, and numbers that are written once; and types, the
    parameters of these, and what they are made of.
    """
    each = demangled([*dict.fromkeys(text.kernel.entries)], parameters=True)
    rows = [_arguments_in(shown) for shown in each]
    if len({*map(len, rows)}) != 1:
        return {}, {}, {}
    # What differs between instances is not one constant.
    values = ["" if len({*column}) > 1 else column[0] for column in zip(*rows, strict=True)]
    arguments = _arguments_in(site.callee)
    tokens = text.syntax.tokens[text.function.first : text.function.parameters[0]]
    parameters = list(template_parameters(tokens))
    if not len(values) == len(parameters) >= len(arguments):
        return {}, {}, {}
    # The others are found by the arguments of the launch.
    arguments += [""] * (len(parameters) - len(arguments))
    triples = [*zip(arguments, parameters, values, strict=True)]
    numbers = {
        f"{NUMBER}{argument}" if argument == value else argument: (name, int(value))
        for argument, (name, is_type), value in triples
        if not is_type and value.isdigit() and int(value) > 0
        if _NAME.fullmatch(argument) or (argument == value and arguments.count(argument) == 1)
    }
    of_types = {argument: name for argument, (name, is_type), _ in triples if is_type}
    types = {
        argument: TypeArgument(name, 0, value.partition("<")[0], tuple(_arguments_in(value)))
        for argument, (name, is_type), value in triples
        if is_type and "<" in value and "(" not in value
    }
    return numbers, of_types, types


def _arguments_in(text: str) -> list[str]:
    """The arguments between the first `<` and the `>` that closes it."""
    found, depth = [""], 0
    for character in text[text.find("<") + 1 :] if "<" in text else "":
        depth += {"<": 1, ">": -1}.get(character, 0)
        if depth < 0:
            break
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    return [one.strip() for one in found]


def _numbers_in_block(site: LaunchSite) -> Iterator[int]:
    resolved = usual(site)
    assert resolved is not None, "a launch that is open"
    for part in (part for formula in resolved.block for part in parts(formula)):
        if isinstance(part, Number) and part.value.denominator == 1:
            yield int(part.value)


def whole_shape(shape: Sequence[Formula]) -> Block | None:
    """Three formulas as a block; None where one is no positive number."""
    values = [constant(one) for one in shape]
    known = [int(v) for v in values if v is not None and v.denominator == 1 and v > 0]
    return (known[0], known[1], known[2]) if len(known) == 3 else None
