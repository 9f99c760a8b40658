"""Rules for what copies call besides each other. Takes dependent declarations, refuses some.

That code is one for all value sets: state that outlives a call there might be of one set, and be
used with another. Such state has a declaration at file scope or one of few words; functions that no
name leads to are called through pointers, which few forms declare.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from cutune.tunables.clones.declarations import Declaration, Kind, PlainTypes
from cutune.tunables.clones.depending import Dependent, NotBySize

CONST_WORDS = frozenset({"const", "constexpr"})
_LASTING = ("static", "thread_local", "extern", "mutable")
#: The same words where they mean nothing that changes, or shared memory.
_KNOWN = (("static", "constexpr"), ("extern", "__attribute__"))
#: Words of functions that are called without their name.
_HIDDEN = frozenset({"operator", "~"})
_INDIRECT = frozenset({"virtual", "override", "final", "function"})
#: Words by which a function tells who calls it, or with which types.
_ASKING = frozenset(
    {"source_location", "__builtin_FUNCTION", "__builtin_source_location", "typeid"}
)
_OWN_NAME = frozenset({"__PRETTY_FUNCTION__", "__func__", "__FUNCTION__"})
#: Words for the place in the source that are no macros: copies would move it.
_OWN_PLACE = frozenset({"__builtin_LINE", "__builtin_FILE", "source_location"})


def check_reached(found: Dependent) -> None:
    """Raise NotBySize for called code that may hold something that outlives a call."""
    reached = _Reached(found)
    for one in reached.declarations:
        if places := sorted(_OWN_PLACE & one.words):
            raise NotBySize(f"the program uses '{places[0]}'", "use __LINE__ and __FILE__ there")
    for index in found.declarations:
        for version in found.versions.all:
            reached.check_calls(version.declarations[index])
    for index in reached.indices:
        reached.check(reached.declarations[index])


@dataclass(frozen=True)
class _Reached:
    found: Dependent

    @property
    def declarations(self) -> Sequence[Declaration]:
        return self.found.versions.own.declarations

    @cached_property
    def indices(self) -> tuple[int, ...]:
        """All declarations that names lead to, but for those that are written again."""
        words = frozenset[str]().union(
            *(self.found.versions.words(index) for index in self.found.declarations)
        )
        waiting = [
            index
            for index, one in enumerate(self.declarations)
            if _names(one) & words or _HIDDEN & {*one.texts}
        ]
        seen = {*self.found.declarations}
        while waiting:
            index = waiting.pop()
            if index not in seen:
                seen.add(index)
                further = self.declarations[index].words
                waiting += [i for i, one in enumerate(self.declarations) if _names(one) & further]
        return tuple(sorted(seen - {*self.found.declarations}))

    def check(self, one: Declaration) -> None:
        """Raise NotBySize where it may hold something that outlives a call, or leads back."""
        shown = one.name or min(one.names, default="")
        outer = self.found.of(self.found.outer).name
        if outer in one.words:
            raise NotBySize(
                f"'{outer}' calls '{shown}', which calls it again", "call it from outside alone"
            )
        if one.kind is Kind.VARIABLE:
            if not self._is_constant(one):
                raise NotBySize(
                    f"it uses the variable '{shown}'",
                    "pass it as an argument, or make it a constant",
                )
        elif one.kind is Kind.PROTOTYPE:
            if not any(one.names & d.names and d.kind is Kind.FUNCTION for d in self.declarations):
                raise NotBySize(
                    f"it uses '{shown}', which another source defines", "define it in this source"
                )
        elif one.kind is Kind.OTHER and not _is_type_template(one.texts):
            raise NotBySize(
                f"it uses something of '{' '.join(one.texts[:5])} …', whose form is not known",
                "declare one thing at a time there",
            )
        else:
            for text, following in pairwise(one.texts[max(one.body, 0) :]):
                # `static const` may be set by the first call.
                if text in _LASTING and (text, following) not in _KNOWN:
                    reason = f"it uses '{shown}', which holds '{text}'"
                    raise NotBySize(reason, "keep no state between calls")
            self.check_calls(one)

    def check_calls(self, one: Declaration) -> None:
        """Raise NotBySize where it may call what no name leads to, or ask who calls it."""
        texts, shown = one.texts, one.name or min(one.names, default="")
        words = sorted((_INDIRECT | _ASKING) & one.words)
        # `assert` ends the program with its name.
        words += sorted(b for a, b in pairwise(texts) if b in _OWN_NAME and a != "__extension__")
        pairs = [*enumerate(pairwise(texts))]
        pointers = any(pair == ("(", "*") and _ends_pointer(texts, at) for at, pair in pairs)
        members = ("::", "*") in pairwise(texts)
        if words or pointers or members:
            what = words[0] if words else "a pointer to a function"
            raise NotBySize(
                f"'{shown}' holds '{what}', so that it is not known what is called",
                "call functions by their names",
            )

    def _is_constant(self, one: Declaration) -> bool:
        """Constants of plain types, or arrays of them."""
        end = next(i for i, text in enumerate(one.texts) if text in ("=", "[", "{", ";"))
        head = [text for text in one.texts[:end] if text not in one.names]
        plain = [text for text in head if text not in ("static", "inline", "constexpr")]
        calls = {"static", "thread_local", "new", "__attribute__"} & {*one.texts[end:]}
        is_plain = "*" not in plain and PlainTypes(self.declarations).is_plain(plain)
        return bool(CONST_WORDS & {*head}) and is_plain and not calls


def _names(one: Declaration) -> frozenset[str]:
    """Return the names that lead to a declaration: of a type, those of its functions too."""
    if one.kind is not Kind.TYPE:
        return one.names
    called = (text for text, behind in pairwise(one.texts) if behind == "(")
    return one.names | {text for text in called if text.isidentifier()}


def _ends_pointer(texts: Sequence[str], opener: int) -> bool:
    """Is it `(*f)(`, `(*)(`, `(*f[2])(`?"""
    closer = closing(texts, opener)
    return texts[closer + 1 : closer + 2] == ("(",)


def closing(texts: Sequence[str], opener: int) -> int:
    """Return the index of the `)` of a `(`, or the last index without one."""
    depth = 0
    for at in range(opener, len(texts)):
        depth += (texts[at] == "(") - (texts[at] == ")")
        if depth == 0:
            return at
    return len(texts) - 1


def _is_type_template(texts: Sequence[str]) -> bool:
    """Is it `template <…> struct`, and not a template of variables?"""
    depth = 0
    for at, text in enumerate(texts[:-1]):
        depth += (text == "<") - (text == ">")
        if at and depth == 0 and text == ">":
            return texts[0] == "template" and texts[at + 1] in ("struct", "class", "union", "using")
    return False
