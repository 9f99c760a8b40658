"""What depends on parameters. Takes the program at several values, gives what is written again.

A declaration depends on a parameter if the compiler gets other tokens for it at another value, or
if it names a constant or type that depends. All of that, and the functions between, must be called
through one function of the host: the outermost one. What is allowed in them is listed
(`allowed.py`); where anything else stands, the parameter has one value for all sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.tunables.clones.declarations import Declaration, Expanded, Kind


class NotBySize(Exception):
    """Why a parameter has one value for all sizes, and what would help."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy


@dataclass(frozen=True)
class Versions:
    """The program at several values of some parameters.

    Attributes:
        path: of the source.
        own: at the program's own values. others: at others.
    """

    path: str
    own: Expanded
    others: tuple[Expanded, ...]

    @cached_property
    def all(self) -> tuple[Expanded, ...]:
        """All versions."""
        return (self.own, *self.others)

    def check(self) -> None:
        """Raises:
        NotBySize: versions differ in more than the inside of the source's own declarations.
        """
        for other in self.others:
            if other.others != self.own.others:
                raise NotBySize(
                    "a header that is not the program's own differs with it",
                    "give it a name that no header uses",
                )
            if [_frame(d) for d in other.declarations] != [
                _frame(d) for d in self.own.declarations
            ]:
                raise NotBySize(
                    "with another value there are other declarations",
                    "move the #if that asks for it into the functions",
                )

    def texts(self, index: int) -> frozenset[tuple[str, ...]]:
        """The tokens of a declaration in all versions."""
        return frozenset(version.declarations[index].texts for version in self.all)

    def words(self, index: int) -> frozenset[str]:
        """The identifiers of a declaration in all versions."""
        return frozenset().union(*(version.declarations[index].words for version in self.all))

    @cached_property
    def differing(self) -> tuple[int, ...]:
        """The declarations whose tokens depend on the values."""
        count = len(self.own.declarations)
        return tuple(i for i in range(count) if len(self.texts(i)) > 1)


def _frame(declaration: Declaration) -> object:
    """What must be the same in all versions."""
    return declaration.kind, declaration.path, declaration.names, declaration.scope


@dataclass(frozen=True)
class Dependent:
    """What is written again for each value set.

    Attributes:
        declarations: numbers among those of the program, in order.
        outer: the function through which everything else is called.
    """

    versions: Versions
    declarations: tuple[int, ...]
    outer: int

    def of(self, index: int) -> Declaration:
        """A declaration, at the program's own values."""
        return self.versions.own.declarations[index]

    @property
    def names(self) -> frozenset[str]:
        """The names of all of them."""
        return frozenset().union(*(self.of(index).names for index in self.declarations))


def dependent(versions: Versions, parameters: Iterable[str]) -> Dependent:
    """What depends on the parameters, and how it is reached.

    Raises:
        NotBySize: it is not called through one function of the host alone.
    """
    versions.check()
    graph = _Graph(versions)
    constants, functions = graph.direct(versions.differing)
    if not functions:
        name = next(iter(parameters))
        raise NotBySize(f"no function depends on {name}", "remove its pragma")
    while True:
        graph.check_main(functions, ())
        exposed = {f: used for f in functions if (used := graph.callers(f, functions))}
        # Where nothing here calls any of them, another source may call one that nothing calls.
        outer = [*exposed] if exposed else graph.uncalled(functions)
        if len(outer) == 1 and not graph.own[outer[0]].is_on_device:
            return Dependent(versions, tuple(sorted((*constants, *functions))), outer[0])
        if not exposed:
            names = " and ".join(f"'{graph.own[index].name}'" for index in sorted(outer))
            if not outer:
                raise NotBySize("functions that depend on it call each other", "write a loop")
            raise NotBySize(
                f"{names} depend on it, and other sources may call each",
                "call all through one function of the host",
            )
        callers = {caller for found in exposed.values() for caller in found}
        graph.check_main(callers, exposed)
        functions |= callers


@dataclass(frozen=True)
class _Graph:
    """Which declarations name which."""

    versions: Versions

    @property
    def own(self) -> Sequence[Declaration]:
        return self.versions.own.declarations

    @cached_property
    def _users(self) -> Mapping[str, frozenset[int]]:
        """The declarations that hold a word."""
        found: dict[str, set[int]] = {}
        for index in range(len(self.own)):
            for word in self.versions.words(index):
                found.setdefault(word, set()).add(index)
        return {word: frozenset(users) for word, users in found.items()}

    def direct(self, differing: Iterable[int]) -> tuple[set[int], set[int]]:
        """Constants and types that depend on the values, and functions that name them."""
        constants, functions = set[int](), set[int]()
        waiting = list(differing)
        while waiting:
            index = waiting.pop()
            declaration = self.own[index]
            if index in constants or index in functions:
                continue
            if declaration.kind is Kind.FUNCTION:
                functions.add(index)
            elif declaration.kind in (Kind.VARIABLE, Kind.TYPE):
                constants.add(index)
                for name in declaration.names:
                    waiting += self._users.get(name, ())
            else:
                raise NotBySize(
                    f"{_shown(declaration)} depends on it",
                    "let functions, constants and plain types alone use it",
                )
        return constants, functions

    def callers(self, function: int, inside: set[int]) -> frozenset[int]:
        """The functions outside that name a function."""
        declaration = self.own[function]
        users = frozenset().union(*(self._users.get(n, frozenset()) for n in declaration.names))
        for user in users - inside:
            if self.own[user].kind is not Kind.FUNCTION:
                raise NotBySize(
                    f"'{declaration.name}' is named outside of functions",
                    "let it be defined before its first use, and called directly",
                )
        return users - inside

    def uncalled(self, functions: set[int]) -> list[int]:
        """Those of some functions that none of the others names."""
        return [
            index
            for index in functions
            if not any(
                self.own[index].names & self.versions.words(other) for other in functions - {index}
            )
        ]

    def check_main(self, functions: Iterable[int], exposed: Iterable[int]) -> None:
        """Raises:
        NotBySize: `main` is among these functions, and uses those that are exposed.
        """
        if any(self.own[i].names == {"main"} for i in functions):
            names = sorted({self.own[i].name for i in exposed} - {"main"})
            used = " and ".join(f"'{name}'" for name in names) or "it"
            raise NotBySize(
                f"'main' uses {used}",
                "move all that depends on it into one function of the host, which main calls",
            )


def _shown(declaration: Declaration) -> str:
    text = " ".join(declaration.texts[:6])
    return f"'{text[:40]} …'"
