"""Finds the declarations that depend on parameters, which are copied for each value set.

A declaration depends on a parameter if its preprocessed tokens differ between two values of it, or
if it names a constant or a type that depends on it. The functions that call a dependent function
are copied, too, up to one function of the host: the outermost one. A stand-in, which is a name in
place of a value, shows every use of the value but those in an `#if`. There real values are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from cutune.core.diagnostics import CutuneError
from cutune.core.reaching import reached
from cutune.passes import ReplaceTunables
from cutune.proof.compiled import UnitCompiler
from cutune.search.clones.declarations import (
    Declaration,
    Expanded,
    Kind,
    NotSplit,
    identifiers,
    split,
)
from cutune.source.program import Program, TunableConstant
from cutune.source.rewrite.pipeline import TranslationUnit, run_passes
from cutune.source.syntax.directives import directives_of, macros
from cutune.space.parameter import shown


class NotBySize(Exception):
    """A parameter has one value for all sizes; says why, and what would help."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.reason, self.remedy = reason, remedy

    @staticmethod
    def check_all(checks: Iterable[Callable[[], object]]) -> None:
        """Raise one for all that is wrong: whoever mends a source reads the whole list."""
        wrong: dict[str, str] = {}
        for check in checks:
            try:
                check()
            except NotBySize as problem:
                wrong[problem.reason] = problem.remedy
        if wrong:
            *others, (reason, remedy) = wrong.items()
            before = "".join(f"{one}; {its_remedy}; and " for one, its_remedy in others)
            raise NotBySize(f"{before}{reason}", remedy)


@dataclass(frozen=True)
class Versions:
    """The program, by the path of its source, at its own and other values of some parameters."""

    path: str
    own: Expanded
    others: tuple[Expanded, ...]

    @cached_property
    def all(self) -> tuple[Expanded, ...]:
        return (self.own, *self.others)

    def check(self) -> None:
        """Raise NotBySize where a header of others differs, or which declarations there are."""
        for other in self.others:
            if other.others != self.own.others:
                raise NotBySize(
                    "a header that is not the program's own differs with it",
                    "give it a name that no header uses",
                )
            if [d.frame for d in other.declarations] != [d.frame for d in self.own.declarations]:
                raise NotBySize(
                    "with another value there are other declarations",
                    "move the #if that asks for it into the functions",
                )

    def words(self, index: int) -> frozenset[str]:
        return frozenset().union(*(version.declarations[index].words for version in self.all))

    @cached_property
    def _users(self) -> Mapping[str, frozenset[int]]:
        users: dict[str, set[int]] = {}
        for index in range(len(self.own.declarations)):
            for word in self.words(index):
                users.setdefault(word, set()).add(index)
        return {word: frozenset(indices) for word, indices in users.items()}

    def direct(self) -> tuple[set[int], set[int]]:
        """Return constants and types that depend on the values, and functions that name them."""
        versions = enumerate(zip(*(version.declarations for version in self.all), strict=True))
        begun = [index for index, own in versions if len({one.texts for one in own}) > 1]
        found = {*reached(begun, self._users_of)}
        functions = {i for i in found if self.own.declarations[i].kind is Kind.FUNCTION}
        return found - functions, functions

    def _users_of(self, index: int) -> list[int]:
        """Return what depends on a declaration that depends on the values; raise NotBySize."""
        declaration = self.own.declarations[index]
        if declaration.kind is Kind.FUNCTION:
            return []
        if declaration.kind not in (Kind.VARIABLE, Kind.TYPE):
            text = " ".join(declaration.texts[:6])[:40]
            remedy = "let functions, constants and plain types alone use it"
            raise NotBySize(f"'{text} …' depends on it", remedy)
        return [user for name in declaration.names for user in self._users.get(name, ())]

    def callers(self, function: int, inside: set[int]) -> frozenset[int]:
        declaration = self.own.declarations[function]
        users = frozenset().union(*(self._users.get(n, frozenset()) for n in declaration.names))
        for user in users - inside:
            if self.own.declarations[user].kind is not Kind.FUNCTION:
                raise NotBySize(
                    f"'{declaration.name}' is named outside of functions",
                    "let it be defined before its first use, and called directly",
                )
        return users - inside

    def uncalled(self, functions: set[int]) -> list[int]:
        own, words = self.own.declarations, {index: self.words(index) for index in functions}
        return [f for f in functions if not any(own[f].names & words[g] for g in functions - {f})]

    def check_main(self, functions: Iterable[int], exposed: Iterable[int]) -> None:
        """Raise NotBySize where `main` is among functions that call the exposed ones."""
        if any(self.own.declarations[i].names == {"main"} for i in functions):
            names = sorted({self.own.declarations[i].name for i in exposed} - {"main"})
            used = " and ".join(f"'{name}'" for name in names) or "it"
            raise NotBySize(
                f"'main' uses {used}",
                "move all that depends on it into one function of the host, which main calls",
            )


@dataclass(frozen=True)
class Dependent:
    """The declarations that are copied, by number; all others are called through `outer`."""

    versions: Versions
    declarations: tuple[int, ...]
    outer: int

    @property
    def own(self) -> Sequence[Declaration]:
        return self.versions.own.declarations

    def of(self, index: int) -> Declaration:
        """Return a declaration as it is at the program's own values."""
        return self.own[index]

    def versions_of(self, index: int) -> Iterable[Declaration]:
        """Return a declaration as it is at all values, each text once."""
        versions = (version.declarations[index] for version in self.versions.all)
        return {version.texts: version for version in versions}.values()

    @cached_property
    def functions(self) -> frozenset[str]:
        own = (self.of(index) for index in self.declarations)
        return frozenset(one.name for one in own if one.kind is Kind.FUNCTION)

    @property
    def names(self) -> frozenset[str]:
        return frozenset().union(*(self.of(index).names for index in self.declarations))


def dependent(versions: Versions, parameters: Iterable[str]) -> Dependent:
    """Return what depends on the parameters. Raises NotBySize without one outermost function."""
    versions.check()
    own = versions.own.declarations
    constants, functions = versions.direct()
    if not functions:
        name = next(iter(parameters))
        raise NotBySize(f"no function depends on {name}", "remove its pragma")
    while True:
        versions.check_main(functions, ())
        exposed = {f: callers for f in functions if (callers := versions.callers(f, functions))}
        # Where nothing here calls any of them, another source may call one that nothing calls.
        outer = [*exposed] or versions.uncalled(functions)
        if len(outer) == 1 and not own[outer[0]].is_on_device:
            return Dependent(versions, tuple(sorted((*constants, *functions))), outer[0])
        if not exposed:
            raise _without_outermost([own[index].name for index in sorted(outer)])
        outside = frozenset[int]().union(*exposed.values())
        versions.check_main(outside, exposed)
        functions |= outside


def _without_outermost(names: Sequence[str]) -> NotBySize:
    if not names:
        return NotBySize("functions that depend on it call each other", "write a loop")
    shown = " and ".join(f"'{name}'" for name in names)
    return NotBySize(
        f"{shown} depend on it, and other sources may call each",
        "call all through one function of the host",
    )


Texts = Mapping[str, str]
"""Parameter → the text of its value."""

#: Begins the stand-in for a value: a name that shows where the value is used.
_STAND_IN = "cutune_value_of_"
#: Values of a parameter that are tried where an `#if` tests it. The chosen values are checked again
#: before a program is written.
MOST_SHOWN = 8
_CONDITIONS = ("if", "elif", "ifdef", "ifndef")


def plain_unit(program: Program, values: Texts) -> TranslationUnit:
    """Return the program as it is compiled for some values alone."""
    # With a prelude, places in it are those of the source.
    unit = TranslationUnit(program).with_prelude("// values\n")
    return run_passes([ReplaceTunables(values=values)], unit)


def expanded(compiler: UnitCompiler, unit: TranslationUnit) -> Expanded:
    """Return a preprocessed program. Raises CutuneError for nvcc, NotBySize for odd brackets."""
    users = {unit.program.source.path, *(header.path for header in unit.program.headers)}
    try:
        return split(compiler.preprocessed(unit), users)
    except NotSplit as problem:
        raise NotBySize(str(problem), "write whole declarations in each file") from None


def versions(
    compiler: UnitCompiler,
    program: Program,
    constants: Sequence[TunableConstant],
    fixed: Texts,
    sets: Iterable[Texts] | None = None,
) -> Versions:
    """Return the program at sets of values of some parameters, others being `fixed`.

    Without sets at those that show what depends on them. Raises CutuneError, NotBySize.
    """
    if sets is None:
        tested = (one for one in constants if _is_tested(program, one.name))
        sets = [{one.name: shown(v)} for one in tested for v in one.parameter.values[:MOST_SHOWN]]
    own = expanded(compiler, plain_unit(program, fixed))
    stand_ins = {one.name: _STAND_IN + one.name for one in constants}
    others = []
    for values in (stand_ins, *sets):
        try:
            others.append(expanded(compiler, plain_unit(program, {**fixed, **values})))
        except CutuneError:  # an #error: no program has these values
            continue
    if not others:
        raise NotBySize("the program is not preprocessed at another value", "remove its pragma")
    return Versions(program.source.path, own, tuple(others))


def _is_tested(program: Program, name: str) -> bool:
    """Does a condition of the preprocessor name it, perhaps through macros?"""
    files = (program.source, *program.headers)
    directives = [one for file in files for one in directives_of(file.text)]
    names, before = {name}, 0
    while len(names) > before:
        before = len(names)
        names |= {m.name for m in macros(directives) if names & identifiers(m.body_text)}
    return any(names & identifiers(one.rest) for one in directives if one.name in _CONDITIONS)
