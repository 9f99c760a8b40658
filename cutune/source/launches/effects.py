"""Host expressions that are harmless to repeat. Takes the tokens of a launch, says which are not.

Known to be harmless are names of variables, literals, members, casts and arithmetic of built-in
types, and functions that are one such formula. Everything else is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import takewhile

from cutune.source.configuration.host_scopes import PARAMETER, HostFunction, HostVariable
from cutune.source.host_formula import basic_size
from cutune.source.launches.callees import NUMBER, Callees, begins_lambda
from cutune.source.syntax.directives import closing, template_end
from cutune.source.syntax.parse import Launch, SourceFunction, Syntax
from cutune.source.syntax.tokens import Token, begin_of, word_set
from cutune.source.unit.integers import QUALIFIERS, integer_type
from cutune.source.unit.kernels import Structures
from cutune.source.unit.macros import Unexpandable
from cutune.source.unit.unit import Unit, UnitPart, outside_bodies, scope_around, split_commas

#: Words of types that are neither integers nor structures of CUDA.
_PLAIN = word_set("float double bool void cudaStream_t dim3 auto")
_INTEGERS = word_set("int char short long unsigned signed size_t const")
_NO_TYPE = word_set("return static extern inline constexpr const using typedef thread_local std ::")


@dataclass(frozen=True)
class Declared:
    """A variable outside of functions, or a member; `words`: what stands before its name."""

    words: tuple[str, ...]
    is_class_constant: bool


@dataclass(frozen=True)
class HostTypes:
    """Types that variables, members and parameters of one unit have: are they built in?"""

    unit: Unit
    _declared: dict[str, tuple[Declared, ...]] = field(default_factory=dict)

    @cached_property
    def callees(self) -> Callees:
        return Callees(self.unit)

    def is_word(self, name: str) -> bool:
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
        integer = integer_type(names, self.unit.typedefs)
        if integer is not None or {*names} <= (_PLAIN - {"auto"}) | {"long"}:
            return True
        alias = self.unit.typedefs.get(names[0]) if len(names) == 1 else None
        if alias is not None and depth < _DEEPEST:
            return self.is_plain(alias, depth + 1)
        return basic_size(names) is not None

    def has_plain(self, words: Sequence[str], member: str) -> bool:
        """Is it a structure that is known, with such a member?"""
        names = [w for w in words if w not in (*_NO_TYPE, "&", "&&")]
        structure = Structures(self.unit).of(names)
        inner = structure.members.get(member) if structure is not None else None
        return inner is not None and self.is_plain(inner)

    def bound(
        self, value: Sequence[str], variable_words: Callable[[str], Sequence[str]]
    ) -> list[tuple[str, ...]]:
        """The types that `auto [a, b] = value` gives its names, where that is certain.

        value = NAME | type ("{" … "}" | "(" … ")").
        """
        words = [word for word in value if word not in ("std", "::")]
        end = next((at for at, word in enumerate(words) if word in ("{", "(")), len(words))
        if len(words) == 1:
            words = [*variable_words(words[0])]
        elif 0 < end < len(words) and closing(words, end) == len(words) - 1:
            words = words[:end]
            known = {self._returned(*one) for one in self.unit.functions.get(words[-1], ())}
            words = [*known.pop()] if len(known) == 1 else words
        words = [word for word in words if word not in (*_NO_TYPE, "&", "&&")]
        if not {"tuple_size", *words[:1]}.isdisjoint(self._own_templates):
            return []
        if words[:1] in (["pair"], ["tuple"], ["array"]) and words[1:2] == ["<"]:
            inner = [Token("", word, 0) for word in words[2:-1]]
            each = [tuple(token.text for token in one) for one in split_commas(inner)]
            is_array = words[0] == "array" and len(each) == 2 and each[1][0].isdecimal()
            return [each[0]] * int(each[1][0]) if is_array else each
        structure = Structures(self.unit).of(words)
        return [] if structure is None else [tuple(one) for one in structure.members.values()]

    @cached_property
    def _own_templates(self) -> frozenset[str]:
        """Names of classes of the user that are templates, or instances of them."""
        tokens = [part.syntax.tokens for part in self.unit.parts]
        return frozenset(
            name.text
            for each in tokens
            for before, word, name in zip(each, each[1:], each[2:], strict=False)
            if (word.text in ("struct", "class") and before.text == ">") or word.text == "using"
        ) | frozenset("tuple_size" for each in tokens for t in each if t.text == "tuple_size")

    def _returned(self, part: UnitPart, function: SourceFunction) -> tuple[str, ...]:
        head = part.syntax.tokens[function.first : function.parameters[0] - 1]
        return tuple(t.text for t in head if t.text not in _NO_TYPE)

    def declared(self, name: str) -> tuple[Declared, ...]:
        """All variables and members of a name that stand outside of functions."""
        if name not in self._declared:
            found = (d for part in self.unit.parts for d in self._find(part.syntax, name))
            self._declared[name] = tuple(dict.fromkeys(found))
        return self._declared[name]

    def _find(self, syntax: Syntax, name: str) -> Iterator[Declared]:
        places = list(outside_bodies(syntax))
        tokens = [syntax.tokens[place] for place in places]
        for index, token in enumerate(tokens[:-1]):
            if token.text != name or tokens[index + 1].text not in ("=", ";", ",", "[", "{"):
                continue
            # A body in front of it ends what stands there.
            begin = begin_of(syntax.tokens, places[index], _ENDS)
            head = [t.text for t in syntax.tokens[begin : places[index]]]
            if not head or "(" in head or head[0] in ("using", "typedef", "enum", "struct"):
                continue
            if "," in head:
                # A further declarator: the type stands before the name of the first one.
                first_end = next(i for i, word in enumerate(head) if word in ("=", "[", "{", ","))
                head = head[: first_end - 1]
            is_constant = bool({"static", "constexpr"} & {*head})
            in_class = is_constant and scope_around(syntax, places[index]) is None
            yield Declared(tuple(head), in_class)

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


_OPERATORS = word_set(
    """
    + - * / % << < > <= >= == != && || ! ~ & | ^ ? : ( ) [ ] . -> , ::
    """
)
_CASTS = word_set("static_cast reinterpret_cast const_cast sizeof alignof")
_WORDS = word_set("true false nullptr this NULL typename template")
#: Functions of the standard library that compute a number from numbers, and do nothing else.
_LIBRARY = word_set("""
    abs ceil ceilf exp2 fabs floor floorf fmax fmin labs llabs log2 lround max min pow round sqrt
    sqrtf
""")
#: Types of the standard library whose values have no state: to make one does nothing.
_TAGS = word_set("bool_constant integral_constant true_type false_type")
#: Is said of one that may be of a class with operators of its own.
VARIABLE = "the variable "
_DEEPEST = 4
_ENDS = frozenset({";", "{", "}", ":"})


def doubt(types: HostTypes, syntax: Syntax, launch: Launch) -> str | None:
    """The first part of a launch that is not known to be harmless; None: there is none."""
    if launch.function is None:
        return "code outside of functions"
    around = HostFunction(syntax, launch.function)
    parts = [(one, one in launch.arguments) for one in (*launch.configuration, *launch.arguments)]
    found = (_Place(types, around, one[0]).doubt(syntax.part(one), is_any) for one, is_any in parts)
    return next(filter(None, found), None)


@dataclass(frozen=True)
class _Place:
    types: HostTypes
    around: HostFunction
    at: int
    #: Names that are known besides: parameters of a function that is read.
    given: frozenset[str] = frozenset()
    depth: int = 0

    def doubt(self, tokens: Sequence[Token], may_be_any: bool = False) -> str | None:
        """Name a part that may have an effect. `may_be_any`: may a bare name be of any type?"""
        unit = self.types.unit
        try:
            expanded = tokens if unit.is_expanded else unit.macros.expand(tokens)
        except Unexpandable as error:
            return f"macro '{error}'"
        is_path = may_be_any and self._is_path(expanded)
        return None if is_path else next(self._doubts(_without_tags(expanded)), None)

    def _doubts(self, tokens: Sequence[Token]) -> Iterator[str]:
        for index, token in enumerate(tokens):
            before = tokens[index - 1].text if index else ""
            following = tokens[index + 1].text if index + 1 < len(tokens) else ""
            if begins_lambda(tokens, index):
                yield "a lambda"
            elif token.text == ">" and following == ">" and tokens[index + 2 : index + 3]:
                # `>>=` and `>=` come as single characters.
                if tokens[index + 2].text == "=":
                    yield "'>>='"
            elif token.kind == "IDENTIFIER":
                if not self._is_known(tokens, index, before, following):
                    is_part = before in (".", "->", "::") or following in (".", "->", "::", "(")
                    is_variable = not is_part and self._variable(token.text) is not None
                    yield f"{VARIABLE if is_variable else ''}'{token.text}'"
            elif token.kind == "NUMBER":
                # Any other is a literal of the user's: 3_rows.
                if not NUMBER.fullmatch(token.text):
                    yield f"'{token.text}'"
            elif token.text == "=":
                if before not in (">", "<", "=", "!"):
                    yield "'='"
            elif token.kind not in ("STRING", "CHARACTER") and token.text not in _OPERATORS:
                yield f"'{token.text}'"

    def _is_known(self, tokens: Sequence[Token], index: int, before: str, following: str) -> bool:
        name = tokens[index].text
        if before == "." and index > 1:
            return self._is_member(tokens, index)
        is_qualified = before == "::" and not _is_of_std(tokens, index)
        if before == "->" or is_qualified or (following == "::" and name != "std"):
            return False
        if following in ("(", "<") and name in _CASTS:
            return True
        if name in _WORDS or name == "std" or self.types.is_word(name):
            return True
        if following == "(" or (following == "<" and _is_template_call(tokens, index + 1)):
            return self._is_formula_call(name)
        if before == "::":
            return False
        # Its object is judged together with the member.
        return (following == "." and self._is_variable(name)) or self._is_plain(name)

    def _is_path(self, tokens: Sequence[Token]) -> bool:
        """path = NAME (("." | "->") NAME)*, of which nothing but the first name is looked up."""
        texts = [token.text for token in tokens]
        if len(texts) % 2 == 0:
            return False
        steps = {*texts[1::2]}
        if any(token.kind != "IDENTIFIER" for token in tokens[::2]) or not steps <= {".", "->"}:
            return False
        if texts[0] in _WORDS:
            return True
        # A class used as a pointer has an operator of its own.
        count = texts.count("->")
        if count > 1 or (count and not self._has_type(texts[0], lambda words: "*" in words)):
            return texts[0] == "this" and count == 1
        return self._is_variable(texts[0])

    def _is_variable(self, name: str) -> bool:
        if name in self.given or self._variable(name) is not None:
            return True
        declared = self.types.declared(name)
        # A constant of a class need not be defined anywhere.
        return bool(declared) and not any(d.is_class_constant for d in declared)

    def _is_plain(self, name: str) -> bool:
        variable = self._variable(name)
        if name not in self.given and variable is not None and variable.type[-1:] == ("auto",):
            if variable.initialiser is None or variable.opening != "=" or self.depth >= _DEEPEST:
                return False
            tokens = self.around.syntax.part(variable.initialiser)
            inner = replace(self, at=variable.initialiser[0], depth=self.depth + 1)
            return inner.doubt(tokens) is None
        return name in self.given or self._has_type(name, self.types.is_plain)

    def _has_type(self, name: str, test: Callable[[Sequence[str]], bool]) -> bool:
        """Does a test hold for the words of the type of a name, whichever variable is meant?"""
        variable = self._variable(name)
        known = [declared.words for declared in self.types.declared(name)]
        words = known if variable is None else [self._words(variable)]
        return bool(words) and all(map(test, words))

    def _variable(self, name: str) -> HostVariable | None:
        return self.around.variable(name, self.at)

    def _words(self, variable: HostVariable) -> tuple[str, ...]:
        syntax, function = self.around.syntax, self.around.function
        if not variable.type and variable.opening != PARAMETER:
            return self._inner_words(variable)
        if variable.opening != PARAMETER:
            star = ("*",) if syntax.tokens[variable.declared - 1].text == "*" else ()
            return (*variable.type, *star)
        first, last = function.parameters
        for tokens in split_commas(syntax.tokens[first + 1 : last]):
            texts = [*takewhile(lambda text: text != "=", (token.text for token in tokens))]
            if variable.name in texts:
                return tuple(text for text in texts if text != variable.name)
        return variable.type

    def _inner_words(self, variable: HostVariable) -> tuple[str, ...]:
        """The type of a parameter of a lambda, or of a name in `auto [a, b] = …`."""
        syntax, place = self.around.syntax, variable.declared
        around = syntax.innermost(place)
        closer = syntax.brackets.partner[around]
        if syntax.tokens[around].text == "(":
            for tokens in split_commas(syntax.part((around + 1, closer - 1))):
                texts = [*takewhile(lambda text: text != "=", (token.text for token in tokens))]
                if texts[-1:] == [variable.name]:
                    return tuple(texts[:-1])
            return ()
        names = [token.text for token in syntax.part((around + 1, closer - 1))]
        tokens = [*takewhile(lambda t: t.text != ";", syntax.tokens[closer + 1 :])]
        if not tokens or tokens[0].text not in ("=", "{", "("):
            return ()
        value = tokens[1:] if tokens[0].text == "=" else tokens[1:-1]
        found = self.types.bound([token.text for token in value], self._variable_words)
        return found[names.index(variable.name) // 2] if 2 * len(found) == len(names) + 1 else ()

    def _variable_words(self, name: str) -> tuple[str, ...]:
        variable = self._variable(name)
        return () if variable is None else self._words(variable)

    def _is_member(self, tokens: Sequence[Token], index: int) -> bool:
        """NAME "." NAME, of a structure that is known, and of a built-in type."""
        base = tokens[index - 2]
        if base.kind != "IDENTIFIER" or (index > 2 and tokens[index - 3].text in (".", "->")):
            return False
        member = tokens[index].text
        return self._has_type(base.text, lambda words: self.types.has_plain(words, member))

    def _is_formula_call(self, name: str) -> bool:
        definitions = self.types.unit.functions.get(name, ())
        signatures = self.types.callees.signatures(name)
        if not definitions:
            return name in _LIBRARY and not signatures and not self.types.declared(name)
        bodies = {function.parameters for _, function in definitions}
        if self.depth >= _DEEPEST or len(signatures) > len(bodies):
            return False  # One may have a body that is not seen.
        return all(self._is_formula(part.syntax, f) for part, f in definitions)

    def _is_formula(self, syntax: Syntax, function: SourceFunction) -> bool:
        first, last = function.braces
        body = syntax.tokens[first + 1 : last]
        texts = [token.text for token in body]
        if texts[:1] != ["return"] or texts.count(";") != 1 or texts[-1] != ";":
            return False
        given = self.types.plain_parameters(syntax, function)
        around = HostFunction(syntax, function)
        inner = _Place(self.types, around, first, given or frozenset(), self.depth + 1)
        return given is not None and inner.doubt(body[1:-1]) is None


def _is_of_std(tokens: Sequence[Token], index: int) -> bool:
    """Does `std::` stand before a name, as the namespace that is not within another?"""
    words = [token.text for token in tokens[max(index - 3, 0) : index]]
    return words[-2:] == ["std", "::"] and words[:-2] != ["::"]


def _without_tags(tokens: Sequence[Token]) -> list[Token]:
    """Leave out each `std::bool_constant<…>{}`: its arguments are known when it is compiled."""
    left, place = list[Token](), 0
    while place < len(tokens):
        end = _behind_tag(tokens, place)
        left += tokens[place : place + 1] if end < 0 else ()
        place = max(end, place + 1)
    return left


def _behind_tag(tokens: Sequence[Token], place: int) -> int:
    """tag = "std" "::" NAME ("<" … ">")? ("{" "}" | "(" ")"); the place behind it, or -1."""
    before, *words = (token.text for token in tokens[max(place - 1, 0) : place + 3])
    words = words if place else [before, *words]
    is_named = words[:2] == ["std", "::"] and not _TAGS.isdisjoint(words[2:])
    if not is_named or (place and before == "::"):
        return -1
    end = place + 3
    if [token.text for token in tokens[end : end + 1]] == ["<"]:
        end = template_end(tokens, range(end, len(tokens)), ("{", "(", ";")) + 1
    is_made = [token.text for token in tokens[end : end + 2]] in (["{", "}"], ["(", ")"])
    return end + 2 if end > 0 and is_made else -1


def _is_template_call(tokens: Sequence[Token], opener: int) -> bool:
    """NAME "<" … ">" "("."""
    closer = template_end(tokens, range(opener, len(tokens)), ("&&", "||", ";", ")"))
    return closer >= 0 and [token.text for token in tokens[closer + 1 : closer + 2]] == ["("]
