"""Members of structures as parameters of their own. Takes the AST of a function, changes it.

`grid.nx`, where `grid` is a parameter that nothing changes, becomes an integer parameter of that
name for all later analyses. A structure stays as it is where a use of one of its integers may be
hidden: as a whole, by a method, from an array in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pycparser import c_ast

from cutune.source.function.bindings import Bindings, DeviceVariable, ParameterType
from cutune.source.program import MemberParameter
from cutune.source.unit.structures import IntegerMember, Structure, Structures

#: Arguments of a launch are numbered by the bits of a word.
MOST_ARGUMENTS = 60
#: What the extents of a launch are called: `T.x`, `G.x`.
_EXTENT = re.compile(r"[TG]\.[xyz]")
_ELEMENT = re.compile(r"(\w+)\[(\d+)\]")


@dataclass(frozen=True)
class BoundMembers:
    """Which structures a function sees through, by position and type, and what it reads of them."""

    structures: frozenset[tuple[int, str]] = frozenset()
    members: tuple[MemberParameter, ...] = ()
    #: The same members as what a function has parameters of.
    parameters: tuple[ParameterType, ...] = ()


NO_MEMBERS = BoundMembers()
Callees = Callable[[str, int], Sequence[BoundMembers] | None]
"""What each of the functions sees that a call may reach; None where they are not known."""


def lift_members(
    body: c_ast.Compound,
    bindings: Bindings,
    parameters: Sequence[ParameterType],
    structures: Structures,
    callees: Callees,
) -> BoundMembers:
    """Let names of parameters stand for integer members, where no use of one goes unseen.

    Afterwards the names of the function must be bound anew.
    """
    known: dict[DeviceVariable, _Object] = {}
    for position, parameter in enumerate(parameters):
        structure = structures.of(parameter.value)
        variable = bindings.parameters[parameter.name]
        if structure is not None and variable.keeps_members:
            integers = {member.name: member for member in structures.integers(structure)}
            known[variable] = _Object(position, structure, integers)
    uses = _Uses(bindings, structures, callees, known)
    if known:
        uses.look(body)
    found = {
        f"{variable.name}.{name}": (object_, member)
        for variable, object_ in known.items()
        if variable not in uses.doubtful
        for name, member in object_.integers.items()
        if f"{variable.name}.{name}" in uses.read
    }
    is_clear = not any(_EXTENT.fullmatch(name) for name in found)
    if len(parameters) + len(found) > MOST_ARGUMENTS or not is_clear:
        return NO_MEMBERS
    uses.replace(found.keys())
    clear = (object_ for variable, object_ in known.items() if variable not in uses.doubtful)
    return BoundMembers(
        frozenset((object_.position, object_.structure.path) for object_ in clear),
        tuple(
            MemberParameter(
                name, member.type, object_.position, object_.structure.path, member.steps
            )
            for name, (object_, member) in found.items()
        ),
        tuple(
            ParameterType(name, member.integer, is_pointer=False, is_reference=False)
            for name, (_, member) in found.items()
        ),
    )


def called_members(
    call: c_ast.FuncCall,
    names: Sequence[str],
    members: Iterable[MemberParameter],
    bindings: Bindings,
) -> Iterator[tuple[str, str]]:
    """Members that a called function reads: the name of each here, and its name there.

    `names`: those of its parameters.
    """
    arguments: Sequence[c_ast.Node] = call.args.exprs if call.args is not None else ()
    for member in members:
        if member.argument >= len(arguments):
            continue
        variable = bindings.of(arguments[member.argument])
        if variable is not None and variable is bindings.parameters.get(variable.name):
            yield variable.name + member.name.removeprefix(names[member.argument]), member.name


@dataclass(frozen=True)
class _Object:
    """A parameter that is a structure, with the integers in it."""

    position: int
    structure: Structure
    integers: Mapping[str, IntegerMember]


@dataclass
class _Uses:
    """Finds what a function does with its structures."""

    bindings: Bindings
    structures: Structures
    callees: Callees
    known: Mapping[DeviceVariable, _Object]
    #: Those of which an integer may be used unseen.
    doubtful: set[DeviceVariable] = field(default_factory=set)
    #: The full names of members that are read, here or in called functions.
    read: set[str] = field(default_factory=set)
    #: Node, name of its child, and the full name of the member that the child is.
    _places: list[tuple[c_ast.Node, str, str]] = field(default_factory=list)
    #: Arguments of which a called function sees no more than members.
    _passed: set[int] = field(default_factory=set)

    def look(self, node: c_ast.Node) -> None:
        """Note every use below a node."""
        if isinstance(node, c_ast.FuncCall):
            self._call(node)
        for place, child in node.children():
            variable, path = self._chain(child)
            if variable is None:
                self.look(child)
            elif ".".join(path) in self.known[variable].integers:
                name = ".".join((variable.name, *path))
                self._places.append((node, place, name))
                self.read.add(name)
            elif id(child) not in self._passed and not self._is_harmless(variable, path):
                self.doubtful.add(variable)

    def _chain(self, node: c_ast.Node) -> tuple[DeviceVariable | None, tuple[str, ...]]:
        """chain = NAME ("." NAME)* of a structure that is known."""
        path: tuple[str, ...] = ()
        while isinstance(node, c_ast.StructRef) and node.type == ".":
            path = (node.field.name, *path)
            node = node.name
        variable = self.bindings.of(node)
        return (variable, path) if variable in self.known else (None, ())

    def _is_harmless(self, variable: DeviceVariable, path: Sequence[str]) -> bool:
        structure = self.known[variable].structure
        return bool(path) and self.structures.holds_no_integer(structure, path)

    def _call(self, node: c_ast.FuncCall) -> None:
        """A function that takes the structure as it is may see its members as this one does."""
        arguments: Sequence[c_ast.Node] = node.args.exprs if node.args is not None else ()
        for position, argument in enumerate(arguments):
            variable = self.bindings.of(argument)
            if variable is None or variable not in self.known:
                continue
            name = node.name.name if isinstance(node.name, c_ast.ID) else ""
            called = self.callees(name, len(arguments)) or (NO_MEMBERS,)
            what = (position, self.known[variable].structure.path)
            if all(what in bound.structures for bound in called):
                self._passed.add(id(argument))
                members = (m for bound in called for m in bound.members)
                own = (m for m in members if m.argument == position)
                self.read |= {".".join((variable.name, *m.name.split(".")[1:])) for m in own}

    def replace(self, names: Container[str]) -> None:
        """Put names of parameters in the place of members that have these names."""
        for node, place, name in self._places:
            if name not in names:
                continue
            element = _ELEMENT.fullmatch(place)
            before = getattr(node, element[1])[int(element[2])] if element else getattr(node, place)
            after = c_ast.ID(name, before.coord)
            if element:
                getattr(node, element[1])[int(element[2])] = after
            else:
                setattr(node, place, after)
