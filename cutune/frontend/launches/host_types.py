"""Types of the host's variables. Takes a unit, says which are built in.

Reading such a variable, or computing with it, runs no code of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from cutune.frontend.launches.callees import Callees
from cutune.frontend.syntax.functions import SourceFunction
from cutune.frontend.syntax.parse import Syntax
from cutune.frontend.syntax.words import word_set
from cutune.frontend.unit.integers import QUALIFIERS, integer_type
from cutune.frontend.unit.structures import Structures
from cutune.frontend.unit.unit import Unit, outside_bodies, split_commas

#: Words of types that are neither integers nor structures of CUDA.
_PLAIN = word_set("float double bool void cudaStream_t dim3 auto")
_INTEGERS = word_set("int char short long unsigned signed size_t const")
_NO_TYPE = word_set("return static extern inline constexpr const using typedef thread_local std ::")
_DEEPEST = 5


@dataclass(frozen=True)
class Declared:
    """A variable outside of functions, or a member of a class.

    Attributes:
        words: what stands before its name.
        is_plain: see `HostTypes.is_plain`.
        is_class_constant: is it a `static` or `constexpr` member?
    """

    words: tuple[str, ...]
    is_plain: bool
    is_class_constant: bool


@dataclass(frozen=True)
class HostTypes:
    """Answers for one unit."""

    unit: Unit
    _declared: dict[str, tuple[Declared, ...]] = field(default_factory=dict)

    @cached_property
    def _callees(self) -> Callees:
        return Callees(self.unit)

    def is_word(self, name: str) -> bool:
        """Is it the name of a built-in type?"""
        return name in _INTEGERS or self.is_plain([name])

    def is_plain(self, words: Sequence[str], depth: int = 0) -> bool:
        """Is a type built in: a number, a pointer, a vector of numbers?"""
        if "volatile" in words or "(" in words:
            return False
        if "*" in words or "[" in words:
            return True
        names = [w for w in words if w not in QUALIFIERS and w not in (*_NO_TYPE, "&", "&&")]
        if not names or "<" in names:
            return False
        if integer_type(names, self.unit.typedefs) is not None:
            return True
        if set(names) <= (_PLAIN - {"auto"}) | {"long"}:
            return True
        alias = self.unit.typedefs.get(names[0]) if len(names) == 1 else None
        if alias is not None and depth < _DEEPEST:
            return self.is_plain(alias, depth + 1)
        return len(names) == 1 and names[0] in _VECTORS

    def has_plain(self, words: Sequence[str], member: str) -> bool:
        """Is it a structure that is known, with such a member?"""
        names = [w for w in words if w not in (*_NO_TYPE, "&", "&&")]
        structure = Structures(self.unit).of(names)
        inner = structure.members.get(member) if structure is not None else None
        return inner is not None and self.is_plain(inner)

    def declared(self, name: str) -> tuple[Declared, ...]:
        """All variables and members of a name that stand outside of functions."""
        if name not in self._declared:
            parts = self.unit.parts
            found = (d for part in parts for d in self._find(part.syntax, name))
            self._declared[name] = tuple(dict.fromkeys(found))
        return self._declared[name]

    def _find(self, syntax: Syntax, name: str) -> Iterator[Declared]:
        tokens = list(outside_bodies(syntax))
        for index, token in enumerate(tokens[:-1]):
            if token.text != name or tokens[index + 1].text not in ("=", ";", ",", "[", "{"):
                continue
            first = index
            while first > 0 and tokens[first - 1].text not in (";", "{", "}", ":"):
                first -= 1
            head = [t.text for t in tokens[first:index]]
            if not head or "(" in head or head[0] in ("using", "typedef", "enum", "struct"):
                continue
            if "," in head:
                # A further declarator: the type stands before the name of the first one.
                first_end = next(i for i, word in enumerate(head) if word in ("=", "[", "{", ","))
                head = head[: first_end - 1]
            is_constant = bool({"static", "constexpr"} & {*head})
            in_class = is_constant and self._is_in_class(syntax, token.start)
            yield Declared(tuple(head), self.is_plain(head), in_class)

    def _is_in_class(self, syntax: Syntax, start: int) -> bool:
        place = next(i for i, token in enumerate(syntax.tokens) if token.start == start)
        return self._callees.scope_of(syntax, place) is None

    def is_declared(self, name: str) -> bool:
        """Does the program declare anything of that name outside of functions?"""
        return bool(self._callees.signatures(name)) or bool(self.declared(name))

    def is_only_declared(self, name: str) -> bool:
        """May there be a function of that name whose body is not seen?"""
        bodies = len({f.parameters for _, f in self.unit.functions.get(name, ())})
        return len(self._callees.signatures(name)) > bodies

    def plain_parameters(self, syntax: Syntax, function: SourceFunction) -> frozenset[str] | None:
        """The names of a function's parameters, if it takes numbers by value."""
        first, last = function.parameters
        head = [t.text for t in syntax.tokens[function.first : first]]
        types = {head[i + 1] for i, word in enumerate(head[:-1]) if word in ("typename", "class")}
        found = set()
        for tokens in split_commas(syntax.tokens[first + 1 : last]):
            texts = [token.text for token in tokens]
            words = [t for t in texts[:-1] if t not in ("const", "&")]
            is_plain = self.is_plain(words) or (len(words) == 1 and words[0] in types)
            if not is_plain or "=" in texts:
                return None
            found.add(texts[-1])
        return frozenset(found)


_VECTORS = frozenset(
    f"{base}{width}"
    for base in (
        *("char", "uchar", "short", "ushort", "int", "uint", "long", "ulong", "float", "double"),
        *("longlong", "ulonglong"),
    )
    for width in range(1, 5)
)
