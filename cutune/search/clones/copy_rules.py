"""Rules for what may be copied. Takes the declarations that depend on parameters, refuses some.

The rules list what is known to mean the same under another name; compiled code is compared as well
(`prove_copies`). Other code that copies call is one for all value sets: state that outlives a call
there might be of one set, and be used with another. Such state has a declaration at file scope or
one of few words; functions that no name leads to are called through pointers, of few forms.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import partial
from itertools import pairwise

from cutune.core.reaching import reached
from cutune.search.clones.declarations import (
    ATTRIBUTES,
    BEFORE_CALL,
    BODY,
    HEAD,
    INTEGERS,
    KEYWORDS,
    PLAIN,
    Declaration,
    Kind,
)
from cutune.search.clones.dependence import Dependent, NotBySize
from cutune.source.syntax.directives import behind_template, closing
from cutune.source.syntax.tokens import Token, word_set

CONST_WORDS = frozenset({"const", "constexpr"})
_LASTING = ("static", "thread_local", "extern", "mutable")
#: The same words where they mean nothing that changes, or shared memory.
_KNOWN = (("static", "constexpr"), ("extern", "__attribute__"))
#: Words of functions that are called without their name.
_HIDDEN = frozenset({"operator", "~"})
_INDIRECT = frozenset({"virtual", "override", "final", "function"})
#: Words by which a function tells who calls it, or with which types.
_ASKING = word_set("source_location __builtin_FUNCTION __builtin_source_location typeid")
_OWN_NAME = frozenset({"__PRETTY_FUNCTION__", "__func__", "__FUNCTION__"})
#: Words for the place in the source that are no macros: copies would move it.
_OWN_PLACE = frozenset({"__builtin_LINE", "__builtin_FILE", "source_location"})
#: What may stand behind the `*` of a pointer that is passed on.
_OF_POINTERS = ("const", "__restrict__", "__restrict")
#: Behind `extern` it means nothing that outlives a call.
_SHARED = ("__attribute__", "(", "(", "shared")
#: Attributes of variables within a function.
_OF_VARIABLES = ("shared", "aligned", "unused")
_PRAGMA = re.compile(r"\s*#\s*pragma\s+(?:unroll|nounroll|cutune\s+region)\b")
#: Behind these `[` is an index; elsewhere it begins a lambda, of which each copy has one.
_INDEXED = (")", "]")
_HOME = "write it at file scope of the source itself"


def check(found: Dependent, data: Collection[str]) -> None:
    """Raise NotBySize for all that is not known to mean the same in a copy."""
    NotBySize.check_all(
        [
            *(partial(_check_declaration, found, index) for index in found.declarations),
            partial(_check_outermost, found, data),
            partial(_check_all_reached, found),
        ]
    )


def _check_declaration(found: Dependent, index: int) -> None:
    _check_form(found, index)
    for version in found.versions_of(index):
        if version.kind is Kind.FUNCTION:
            _check_body(found, version)
        else:
            _check_constant(found, version)


def _check_form(found: Dependent, index: int) -> None:
    _check_place(found, index)
    for version in found.versions_of(index):
        if version.kind is Kind.FUNCTION:
            _check_head(found, index, version)


def _check_outermost(found: Dependent, data: Collection[str]) -> None:
    # A head of another form, as of an operator or a template, cannot be read for the rest.
    _check_form(found, found.outer)
    NotBySize.check_all(
        [
            partial(_check_parameters, found),
            *(partial(_check_size, found, name) for name in data),
            partial(_check_outer, found),
            partial(_check_calls, found),
        ]
    )


def parameters_of(function: Declaration) -> dict[str, tuple[str, ...]]:
    """Return the type of each parameter, in tokens. Raises NotBySize for one of another form."""
    texts = function.texts[: function.body]
    opener = texts.index("(", texts.index(function.name))
    inner, depth, pieces = texts[opener + 1 : -1], 0, [list[str]()]
    for text in inner:
        depth += (text in ("(", "<", "[")) - (text in (")", ">", "]"))
        if text == "," and depth == 0:
            pieces.append([])
        else:
            pieces[-1].append(text)
    if pieces in ([[]], [["void"]]):
        return {}
    for piece in pieces:
        is_plain = len(piece) > 1 and piece[-1].isidentifier() and not {*piece} & {*"=[(", "..."}
        if not is_plain or piece[-1] in KEYWORDS or (len(piece) == 2 and piece[0] == "const"):
            raise NotBySize(
                f"'{function.name}' has the parameter '{' '.join(piece)}'",
                "write each of its parameters as a type and a name",
            )
    return {piece[-1]: tuple(piece[:-1]) for piece in pieces}


def _check_place(found: Dependent, index: int) -> None:
    """Refuse what is not at file scope of the source, or shares its name."""
    declaration = found.of(index)
    shown = ", ".join(sorted(declaration.names)) or " ".join(declaration.texts[:4])
    if declaration.path != found.versions.path:
        raise NotBySize(f"'{shown}' stands in a header", _HOME)
    if declaration.scope:
        raise NotBySize(f"'{shown}' stands in '{declaration.scope[-1]}'", _HOME)
    if not declaration.name:
        raise NotBySize(f"'{shown}' declares no or several names", "declare one name at a time")
    if sum(declaration.name in other.names for other in found.own) > 1:
        raise NotBySize(
            f"'{shown}' is declared twice, or overloaded",
            "declare it once, under a name of its own",
        )
    if declaration.name in found.versions.own.other_words:
        raise NotBySize(
            f"a header uses the name '{shown}' as well", "give it a name that no header uses"
        )


def _check_head(found: Dependent, index: int, declaration: Declaration) -> None:
    head = declaration.tokens[: declaration.body]
    texts = [token.text for token in head]
    at, name = 0, declaration.name
    before = texts[: texts.index(name)]
    if {"operator", "template", "extern", "~"} & {*texts} or "<" in before or "[" in before:
        raise _unplain_head(name, " ".join(before[:6]))
    while at < len(texts):
        if texts[at] == "__attribute__":
            if texts[at + 3] not in ATTRIBUTES:
                raise _unplain_head(name, texts[at + 3])
            at = closing(texts, at + 1) + 1
            continue
        word = head[at]
        is_known = word.kind != "IDENTIFIER" or word.text in HEAD
        if not is_known and (word.text in KEYWORDS or word.text.startswith("__")):
            raise _unplain_head(name, word.text)
        at += 1
    if texts[-1] != ")" or "..." in texts or "=" in texts:
        raise _unplain_head(name, " ".join(texts[-3:]))
    is_local = "static" in before or "inline" in before
    if index != found.outer and not is_local:
        raise NotBySize(f"another source may call '{name}'", "make it static")


def _check_body(found: Dependent, declaration: Declaration) -> None:
    name, tokens = declaration.name, declaration.tokens
    inside = tokens[declaration.body :]
    for at, token in enumerate(inside):
        if token.kind == "DIRECTIVE":
            if not _PRAGMA.match(token.text):
                raise _own_of_copy(name, token.text.strip())
        elif token.kind == "IDENTIFIER":
            _check_word(found, declaration, at + declaration.body)
        elif token.text == "[" and not _is_index(inside, at):
            raise _own_of_copy(name, "a lambda")
    called = {token.text for token in inside}
    for again in (name, found.of(found.outer).name):
        if again in called:
            itself = "itself" if again == name else f"'{again}' again"
            raise NotBySize(f"'{name}' calls {itself}", "write it as a loop")


def _check_word(found: Dependent, declaration: Declaration, at: int) -> None:
    tokens, name = declaration.tokens, declaration.name
    word = tokens[at].text
    before, behind = tokens[at - 1].text, tokens[at + 1].text
    if word == "extern" and declaration.texts[at + 1 : at + 5] == _SHARED:
        return
    if word == "__attribute__":
        if tokens[at + 3].text not in _OF_VARIABLES:
            raise _own_of_copy(name, tokens[at + 3].text)
    elif (
        (word in KEYWORDS and word not in BODY)
        or (word.startswith("__") and declaration.is_on_host)
        or word in ("__func__", "__FUNCTION__", "__PRETTY_FUNCTION__", "addressof")
    ):
        raise _own_of_copy(name, word)
    if word in found.names and before in ("::", ".", "->", "&"):
        raise _own_of_copy(name, f"{before}{word}")
    is_called = behind == "(" or tokens[at + 1].kind == "LAUNCH_OPEN"
    # What is set of a kernel, once or by another source, would be set of one copy.
    if word in found.functions and not is_called:
        raise NotBySize(f"'{name}' uses '{word}' without calling it", "call it directly")


def _check_constant(found: Dependent, declaration: Declaration) -> None:
    name, texts = declaration.name, declaration.texts
    if declaration.kind is Kind.VARIABLE:
        end = texts.index("=") if "=" in texts else len(texts)
        head = {*texts[:end]} - {name}
        if "=" not in texts or not CONST_WORDS & head or head - PLAIN - CONST_WORDS - {"static"}:
            raise NotBySize(
                f"the variable '{name}' depends on it", "make it a constant of a number"
            )
        calls = (a for a, b in pairwise(texts[end:]) if b == "(" and a.isidentifier())
        if {"{", "["} & {*texts[end:]} or any(calls):
            raise NotBySize(
                f"the value of '{name}' is not a plain expression", "write it without calls"
            )
    elif not found.versions.own.is_plain_type(declaration):
        raise NotBySize(
            f"the type '{name}' depends on it", "leave it a struct of plain members and arrays"
        )


# ---- the outermost function


def _check_parameters(found: Dependent) -> None:
    outer = found.of(found.outer)
    for name, type_ in parameters_of(outer).items():
        pointed = [word for word in type_ if word not in _OF_POINTERS][-1:]
        is_passed_on = pointed in (["*"], ["&"]) or found.versions.own.is_plain(type_)
        if "&&" in type_ or not is_passed_on:
            raise NotBySize(
                f"'{outer.name}' has the parameter '{' '.join((*type_, name))}'",
                "pass numbers, pointers, references or plain structs",
            )


def _check_size(found: Dependent, name: str) -> None:
    outer = found.of(found.outer)
    words = {*parameters_of(outer).get(name, ())} - {"const", "std", "::"}
    if not words or not words <= INTEGERS:
        raise NotBySize(
            f"'{outer.name}' has no integer parameter '{name}'",
            f"pass the size to it under the name {name}",
        )


def _check_outer(found: Dependent) -> None:
    outer = found.of(found.outer)
    at = outer.texts.index(outer.name)
    result = [t for t in outer.texts[:at] if t not in ("static", "inline", "const")]
    if result != ["void"] and not found.versions.own.is_plain(result):
        raise NotBySize(
            f"'{outer.name}' returns '{' '.join(result)}'", "return a number or nothing"
        )
    heads = {one.texts[: one.body] for one in found.versions_of(found.outer)}
    if len(heads) > 1:
        raise NotBySize(
            f"the head of '{outer.name}' depends on it",
            "keep what depends on it within the function",
        )
    head = {*outer.texts[: outer.body]} - {outer.name}
    if depending := sorted(head & found.names):
        raise NotBySize(
            f"a type in the head of '{outer.name}' depends on it: '{depending[0]}'",
            "keep what depends on it within the function",
        )


def _check_calls(found: Dependent) -> None:
    outer = found.of(found.outer).name
    for index in range(len(found.own)):
        if index in found.declarations:
            continue
        for version in found.versions_of(index):
            for at, token in enumerate(version.tokens):
                if token.text == outer and not _is_call(version.tokens, at):
                    reason = f"'{outer}' is used without being called"
                    raise NotBySize(reason, "call it directly everywhere")


# ---- what copies call


def _check_all_reached(found: Dependent) -> None:
    """Refuse called code that may hold something that outlives a call."""
    for one in found.own:
        if places := sorted(_OWN_PLACE & one.words):
            raise NotBySize(f"the program uses '{places[0]}'", "use __LINE__ and __FILE__ there")
    for index in found.declarations:
        for version in found.versions.all:
            _check_called(version.declarations[index])
    for index in _reached(found):
        _check_reached(found, found.own[index])


def _reached(found: Dependent) -> tuple[int, ...]:
    """All declarations that names lead to, but for those that are written again."""
    words = frozenset[str]().union(*(found.versions.words(index) for index in found.declarations))
    own = {index: one for index, one in enumerate(found.own) if index not in found.declarations}
    begun = [i for i, one in own.items() if _names(one) & words or _HIDDEN & {*one.texts}]

    def named(index: int) -> list[int]:
        return [i for i, one in own.items() if _names(one) & own[index].words]

    return tuple(sorted(reached(begun, named)))


def _check_reached(found: Dependent, one: Declaration) -> None:
    shown = one.name or min(one.names, default="")
    outer = found.of(found.outer).name
    if outer in one.words:
        raise NotBySize(
            f"'{outer}' calls '{shown}', which calls it again", "call it from outside alone"
        )
    if one.kind is Kind.VARIABLE:
        if not _is_constant(found, one):
            raise NotBySize(
                f"it uses the variable '{shown}'", "pass it as an argument, or make it a constant"
            )
    elif one.kind is Kind.PROTOTYPE:
        if not any(one.names & d.names and d.kind is Kind.FUNCTION for d in found.own):
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
        _check_called(one)


def _check_called(one: Declaration) -> None:
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


def _is_constant(found: Dependent, one: Declaration) -> bool:
    end = next(i for i, text in enumerate(one.texts) if text in ("=", "[", "{", ";"))
    head = [text for text in one.texts[:end] if text not in one.names]
    plain = [text for text in head if text not in ("static", "inline", "constexpr")]
    calls = {"static", "thread_local", "new", "__attribute__"} & {*one.texts[end:]}
    is_plain = "*" not in plain and found.versions.own.is_plain(plain)
    return bool(CONST_WORDS & {*head}) and is_plain and not calls


def _unplain_head(name: str, what: str) -> NotBySize:
    return NotBySize(
        f"'{name}' is declared with '{what}'",
        "declare it as a plain function: static, __global__, __device__, types and parameters",
    )


def _own_of_copy(name: str, what: str) -> NotBySize:
    reason = f"'{name}' uses '{what}', of which a copy might have another"
    return NotBySize(reason, "do without it there")


def _is_index(tokens: Sequence[Token], at: int) -> bool:
    before = tokens[at - 1]
    is_name = before.kind == "IDENTIFIER" and before.text not in KEYWORDS
    return at > 0 and (is_name or before.text in _INDEXED)


def _is_call(tokens: Sequence[Token], at: int) -> bool:
    behind = tokens[at + 1].text if at + 1 < len(tokens) else ""
    before = next((t.text for t in reversed(tokens[:at]) if t.kind != "DIRECTIVE"), "")
    return behind == "(" and before in BEFORE_CALL


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


def _is_type_template(texts: Sequence[str]) -> bool:
    """Is it `template <…> struct`, and not a template of variables?"""
    behind = behind_template(texts)
    return 0 < behind < len(texts) and texts[behind] in ("struct", "class", "union", "using")
