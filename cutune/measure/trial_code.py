"""Code of trials. Takes PTX that is read, gives its entries, what these reach, and what they read.

A template is tried in each of its instances, with the types that its parameters have there. What
a structure holds that is passed by value become parameters of their own, as far as it is read: no
code is asked for addresses within it. Answers are kept by the code that they are about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from cutune import ptx
from cutune.emulator.build import digest_of_sources
from cutune.measure import tile_costs
from cutune.proof.confirm import parameters_in
from cutune.ptx.control_flow import call_target
from cutune.ptx.named_numbers import PointerParameters
from cutune.ptx.parse import parsed
from cutune.ptx.types import TYPE_BYTES, Function, Module
from cutune.source.kernel_variant import KernelVariant
from cutune.source.program import Kernel, KernelParameter
from cutune.source.unit.integers import PassedMember
from cutune.toolchain.cache import cache_folder, key_of
from cutune.toolchain.device import profile
from cutune.toolchain.kernel_names import base_name, is_named, renamed_entry

#: Registers that tell a thread where it is, and how many there are.
_PLACES = re.compile(r"%(?:n?tid|n?ctaid)\.[xyz]|%laneid")
_REGISTER = re.compile(r"%[A-Za-z]\w*(?:\.[a-z]\w*)?")
#: What tells a register of a scope of its own, as `low@21`, from others in instructions as read.
_NUMBERED = re.compile(r"(?<=\w)@\d+")


_WHOLE = re.MULTILINE | re.DOTALL
#: `ld.param.v2.u32 {%r1, %r2}, [kernel_param_0+8];`
_LOAD = r"\bld\.param((?:\.v[24])?)\.(\w+)\s+(\{{[^}}]*\}}|%\w+)\s*,\s*\[{name}(?:\+(\d+))?\]\s*;"
_DECLARED = r"\.param(?:\s+\.(?:align\s+\d+))?\s+\.b8\s+{name}\[(\d+)\]"
#: How the bits of numbers of two bytes are loaded, of which the compiler makes structures.
HALVES = {"half": "f16", "__half": "f16", "__nv_bfloat16": "bf16", "nv_bfloat16": "bf16"}
#: Begin the types of loads of real numbers, and of others; bits are loaded of both.
_REALS, _OTHERS = ("f", "bf"), ("u", "s")
Instances = list[tuple[Kernel, Mapping[str, str]]]


#: The architecture that PTX is for.
_TARGET = re.compile(r"^\.target\b.*$", re.MULTILINE)
#: The modules on which answers depend.
_JUDGES = (
    *sorted(Path(__file__).parent.glob("*trial*.py")),
    *sorted(Path(str(ptx.__file__)).parent.glob("*.py")),
    *(Path(str(one.__file__)) for one in (tile_costs, profile)),
)


def place_of_answer(text: str, about: str) -> Path:
    """Return where the answer about a text is kept, the same for all architectures."""
    made_of = (one.read_text("utf-8") for one in _JUDGES)
    code = _TARGET.sub("", text)
    key = key_of(*made_of, digest_of_sources(), repr(tile_costs.limits()), code, about)
    return cache_folder() / "tiles" / f"{key}.json"


class UnknownMember(Exception):
    """What a structure holds cannot be tried."""


def tried_code(
    text: str, kernel: Kernel, copies: Sequence[KernelVariant]
) -> tuple[str, Module, Instances]:
    """Return a text without structures as parameters, its module, and `instances_of`.

    Raises UnknownMember, PtxError.
    """
    module = parsed(text)
    instances = [*instances_of(module, kernel, [one.kernel for one in copies])]
    named = {name for one in copies if one.tile is not None for name in one.tile.names}
    split = _Split(text, kernel, named)
    if not split.held:
        return text, module, instances
    entries = dict.fromkeys(entry for _, of in instances for entry in of.values())
    text = split.text_of([*entries])
    return text, parsed(text), [(split.kernel_of(one), of) for one, of in instances]


@dataclass(frozen=True)
class _Split:
    """A text with a kernel that gets structures. `named`: members that a launch asks about."""

    text: str
    kernel: Kernel
    named: Collection[str]

    @cached_property
    def held(self) -> dict[int, tuple[int, Sequence[PassedMember]]]:
        """The bytes, and what they are, of arguments that are structures."""
        found: dict[int, tuple[int, Sequence[PassedMember]]] = {}
        for place, one in enumerate(self.kernel.parameters):
            if (words := " ".join(one.words)) in HALVES and not one.is_pointer:
                found[place] = 2, (PassedMember("", words, one.words, 0, 2, ()),)
        for structure in self.kernel.passed:
            if structure.unknown:
                name = f"{self.kernel.parameters[structure.argument].name}.{structure.unknown}"
                raise UnknownMember(f"it is not known what '{name}' is")
            found[structure.argument] = structure.bytes, structure.members
        return found

    @cached_property
    def _read(self) -> set[tuple[int, int]]:
        """The members that are read, and those that are named: argument, and first byte."""
        names = self.kernel.parameters
        return {
            (place, one.offset)
            for place, (_, members) in self.held.items()
            for one in members
            if one.is_integer and f"{names[place].name}.{one.path}" in self.named
        }

    def text_of(self, entries: Sequence[str]) -> str:
        """Return the text in which members are parameters of these entries."""
        pieces = {entry: self._entry(entry) for entry in entries}
        bodies = dict[str, str]()
        for entry, span in pieces.items():
            bodies[entry] = self._loaded(entry, self.text[slice(*span)])
        # Now it is known what any of them reads.
        text = self.text
        for entry, (first, last) in sorted(pieces.items(), key=lambda one: -one[1][0]):
            text = text[:first] + self._declared(entry, bodies[entry]) + text[last:]
        return text

    def kernel_of(self, instance: Kernel) -> Kernel:
        """Return a kernel, or an instance, whose parameters are members."""
        parameters = list[KernelParameter]()
        for place, one in enumerate(instance.parameters):
            if place not in self.held:
                parameters.append(one)
            for member in self._kept(place):
                words = () if member.is_pointer else member.words
                name = f"{one.name}.{member.path}" if member.path else one.name
                parameters.append(KernelParameter(name, member.type, alias_of=words))
        return replace(instance, parameters=tuple(parameters))

    def _kept(self, place: int) -> list[PassedMember]:
        _, members = self.held.get(place, (0, ()))
        return [one for one in members if (place, one.offset) in self._read]

    def _entry(self, entry: str) -> tuple[int, int]:
        found = re.search(rf"\.entry\s+{re.escape(entry)}\s*\(.*?^\}}", self.text, _WHOLE)
        if found is None:
            raise UnknownMember("its code is written otherwise")
        return found.span()

    def _loaded(self, entry: str, body: str) -> str:
        """The text of an entry in which members are loaded by their own names."""
        for place, (size, members) in self.held.items():
            name, own = f"{entry}_param_{place}", self.kernel.parameters[place].name
            at = {one.offset: one for one in members}
            declared = re.search(_DECLARED.format(name=re.escape(name)), body)
            if declared is None or int(declared[1]) != size:
                raise UnknownMember(f"'{own}' is compiled to something else than its text tells")

            def loads(
                match: re.Match[str], place: int = place, at: Mapping[int, PassedMember] = at
            ) -> str:
                return self._loads(match, entry, place, at)

            body = re.sub(_LOAD.format(name=re.escape(name)), loads, body)
            if len(re.findall(rf"\b{re.escape(name)}\b", body)) != 1:
                raise UnknownMember(f"it asks for places within the structure '{own}'")
        return body

    def _loads(
        self, match: re.Match[str], entry: str, place: int, at: Mapping[int, PassedMember]
    ) -> str:
        own, kind = self.kernel.parameters[place].name, match[2]
        before = match.string[: match.start()].rpartition("\n")[2].rpartition(";")[2]
        if before.strip():
            raise UnknownMember("its code is written otherwise")
        width, said = TYPE_BYTES.get(kind, 0), list[str]()
        for number, register in enumerate(re.findall(r"%\w+", match[3])):
            offset = int(match[4] or 0) + number * width
            member = at.get(offset)
            if member is None or member.bytes != width:
                raise UnknownMember(f"it reads a part of the structure '{own}' that is no member")
            name = f"{own}.{member.path}" if member.path else own
            if member.type.count("*") > 1:
                raise UnknownMember(f"'{name}' is a pointer to pointers")
            if member.is_integer and not member.steps:
                raise UnknownMember(
                    f"a launch cannot be asked for '{name}', an integer of arrays in arrays"
                )
            known = HALVES.get(" ".join(member.words), kind)
            is_real = not (member.is_integer or member.is_pointer)
            if known.startswith(_OTHERS if is_real else _REALS):
                raise UnknownMember(f"it reads '{name}' as something else")
            self._read.add((place, offset))
            said.append(f"ld.param.{known} {register}, [{entry}_param_{place}_{offset}];")
        return "\n".join(said)

    def _declared(self, entry: str, body: str) -> str:
        """The text of an entry that declares members as parameters."""
        for place in self.held:
            name = f"{entry}_param_{place}"
            each = [f".param .b{8 * one.bytes} {name}_{one.offset}" for one in self._kept(place)]
            found = re.search(_DECLARED.format(name=re.escape(name)), body)
            assert found is not None, "a structure that was found"
            first, last = found.span()
            if not each:
                # With the comma before it or behind it.
                rest = re.match(r"\s*,", body[last:])
                last += len(rest[0]) if rest else 0
                first = first if rest else len(body[:first].rstrip().removesuffix(","))
            body = body[:first] + ",\n".join(each) + body[last:]
        return body


def writes_to_constants(module: Module, entry: str, kernel: Kernel) -> bool:
    """Does an entry write through a pointer whose type says that it leads to constants?"""
    names = functions_reached(module, entry)
    functions = [module.functions[one] for one in names if one in module.functions]
    written = PointerParameters(module.functions[entry], functions).written
    types = (kernel.parameters[place].type for place in written if place >= 0)
    return any("const" in text.rpartition("*")[0].split() for text in types)


def instances_of(
    module: Module, kernel: Kernel, copies: Sequence[str]
) -> Iterator[tuple[Kernel, Mapping[str, str]]]:
    """Yield each instance of a kernel, and by their names the entries of it and of its copies."""
    names = [name for name, one in module.functions.items() if one.is_kernel]
    own = [name for name in names if is_named(name, kernel.name)]
    of_copies = {copy: [name for name in names if base_name(name) == copy] for copy in copies}
    for entry, types in zip(own, parameters_in(kernel, own), strict=True):
        entries = {kernel.name: entry}
        for copy, of_copy in of_copies.items():
            # One of a single instance may have other arguments.
            same = of_copy if len(own) == 1 else [renamed_entry(entry, copy)]
            if len(same) == 1 and same[0] in of_copy and len(of_copy) == len(own):
                entries[copy] = same[0]
        pairs = zip(kernel.parameters, types, strict=True)
        parameters = tuple(its if _are_alike(known, its) else known for known, its in pairs)
        yield replace(kernel, parameters=parameters), entries


def _are_alike(known: KernelParameter, own: KernelParameter) -> bool:
    """What a launch asks of pointers and integers it asks of those that are such everywhere."""
    are_integers = (known.integer is None) == (own.integer is None)
    return known.is_pointer == own.is_pointer and are_integers


def unknown_code(module: Module, entry: str) -> str:
    """Return what an entry reaches that is not known; "" if nothing."""
    for name in functions_reached(module, entry):
        function = module.functions.get(name)
        if function is None or function.body is None:
            return f"it calls '{base_name(name)}'"
        if strange := _strange_register(function):
            return f"it reads {strange}"
    return ""


def functions_reached(module: Module, entry: str) -> list[str]:
    """Return the functions that an entry calls, itself first."""
    names = [entry]
    for name in names:
        function = module.functions.get(name)
        instructions = function.instructions if function is not None else ()
        calls = (i for i in instructions if i.opcode == "call")
        names += [t for i in calls if (t := call_target(i)) and t not in names]
    return names


def _strange_register(function: Function) -> str:
    """One that a function reads beside its own, and those of indices and shapes; or ""."""
    named = (name for operand in function.operands for name in _REGISTER.findall(operand))
    others = (name for name in named if name not in function.registers)
    return next((name for name in others if not _PLACES.fullmatch(name)), "")


def as_written(instructions: str) -> str:
    """Return instructions with the names that registers have in the text, within their scopes."""
    return _NUMBERED.sub("", instructions)
