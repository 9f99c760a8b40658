"""The configuration of a launch, resolved. Takes a launch and its function, gives formulas.

Names are replaced by what reaches the launch, to a few levels; see `definitions`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

from cutune.source.configuration.block_dependence import grid_form
from cutune.source.configuration.class_members import ClassMembers, template_argument
from cutune.source.configuration.definitions import Reaching, ReachingDefinition
from cutune.source.configuration.host_scopes import PARAMETER, HostVariable
from cutune.source.host_formula import (
    ONE,
    REAL_TYPES,
    Call,
    Cast,
    Formula,
    HostOperation,
    MemberAccess,
    Name,
    Number,
    Opaque,
    basic_size,
    constant,
    formula_of,
    is_real,
    number,
    parts,
    plain,
    rebuilt,
    text_of,
)
from cutune.source.program import DIMENSIONS, Configuration, Shape
from cutune.source.syntax.parse import Launch, Range, SourceFunction, Syntax
from cutune.source.syntax.tokens import Token, word_set
from cutune.source.unit.integers import integer_type
from cutune.source.unit.macros import Unexpandable
from cutune.source.unit.unit import Unit, split_commas, template_parameters

_DEEPEST = 12
#: Types that hold every number a configuration is made of.
_WIDE = 4
_ROUNDING = frozenset({"ceil", "ceilf", "floor", "floorf", "min", "max"})
_SPECIFIERS = word_set("static inline constexpr __host__ __device__ __forceinline__ const extern")
_UNKNOWN = Opaque("?")
#: Keys of names that mean the same in all functions of a file.
OF_FILE = ("macro ", "constant ", "member ")
#: The largest number of the 32 bits that a block holds.
_LARGEST = (1 << 32) - 1


@dataclass
class Configurations:
    """Resolves the launches of one unit."""

    unit: Unit
    _functions: dict[tuple[int, int], _FunctionFormulas] = field(default_factory=dict)

    def resolve(
        self, syntax: Syntax, launch: Launch, compiled: Iterable[tuple[Syntax, Launch]] = ()
    ) -> Configuration | None:
        """Resolve the configuration of a launch; None outside of functions.

        `compiled`: the same launch after preprocessing, which shows values of macros that
        the text that the user wrote does not.
        """
        if launch.function is None or launch.function.body is None or len(launch.configuration) < 2:
            return None
        try:
            return self._resolve(syntax, launch, compiled)
        except RecursionError:
            return None

    def by_calls(self, syntax: Syntax, launch: Launch) -> Configuration | None:
        """Resolve a configuration that the calls of the function around a launch give it.

        None where neither grid nor block is a parameter, or calls of this file do not agree. Names
        are those of the function. Others may call it, too: it is asked as the launch runs.
        """
        own = self.resolve(syntax, launch)
        if own is None or launch.function is None:
            return None
        formulas = self._formulas(syntax, launch)
        names = _parameter_names(syntax, launch.function)
        shapes = [own.grid, own.block]
        for axis, (first, last) in enumerate(launch.configuration[:2]):
            name = syntax.tokens[first].text
            if first == last and name in names and formulas.is_untouched(name, launch.callee[0]):
                given = self._given(syntax, launch.function, names, names.index(name))
                if given is None:
                    return None
                shapes[axis] = given
        if shapes == [own.grid, own.block]:
            return None
        forms = tuple(grid_form(g, shapes[1]) for g in shapes[0])
        return Configuration(shapes[0], shapes[1], own.shared, (forms[0], forms[1], forms[2]))

    def _given(
        self, syntax: Syntax, function: SourceFunction, names: Sequence[str], position: int
    ) -> Shape | None:
        """The shape that all calls of a function give one of its parameters."""
        found: list[Shape] = []
        for index, token in enumerate(syntax.tokens):
            if token.text != function.name or not (around := syntax.functions_around(index)):
                continue  # It is something else, or a declaration.
            end = syntax.brackets.partner[index + 1]
            if syntax.tokens[index + 1].text != "(" or around[-1] is function or end < index:
                return None
            caller = self._function(syntax, around[-1])
            given = [*split_commas(syntax.part((index + 2, end - 1)))]
            if position >= len(given):
                return None
            place = _Place(caller, index)
            known = {
                (argument.text, argument.key): name
                for name, tokens in zip(names, given, strict=False)
                if isinstance(argument := place.resolved(caller.formula(tokens)), Name)
            }
            x, y, z = (_renamed(f, known) for f in place.shape(caller.formula(given[position])))
            found.append((x, y, z))
        written = {tuple(map(text_of, shape)) for shape in found}
        return found[0] if len(written) == 1 else None

    def keeps_block(
        self, syntax: Syntax, launch: Launch, place: int, block: Formula, passed_as: str
    ) -> bool:
        """Is the variable at a place the width of the block in all of a launch?

        `passed_as`: the type of the kernel's parameter. A block has 32 bits of an integer.
        """
        variables = self._formulas(syntax, launch)
        variable = variables.variable(syntax.tokens[place].text, place)
        size = constant(block)
        is_whole = size is not None and size.denominator == 1 and size <= _LARGEST
        if variable is None:
            return is_whole
        own = integer_type(variable.type, self.unit.typedefs)
        passed = integer_type(passed_as.split(), self.unit.typedefs)
        is_short = own is not None and any(one and one.bits <= 32 for one in (own, passed))
        return (is_whole or is_short) and variables.stays(variable, launch.callee[0], launch.end)

    def _resolve(
        self, syntax: Syntax, launch: Launch, compiled: Iterable[tuple[Syntax, Launch]]
    ) -> Configuration:
        grid, block = self._shapes(syntax, launch)
        shared: Formula | None = None
        if len(launch.configuration) > 2:
            formulas = self._formulas(syntax, launch)
            shared = _Place(formulas, launch.callee[0]).resolved(
                formulas.read(launch.configuration[2])
            )
        if any(constant(size) is None for size in (*grid, *block)):
            shapes = [self._shapes(*seen) for seen in compiled]
            grid = _with_values(grid, [shape[0] for shape in shapes])
            block = _with_values(block, [shape[1] for shape in shapes])
        forms = tuple(grid_form(g, block) for g in grid)
        return Configuration(grid, block, shared, (forms[0], forms[1], forms[2]))

    def _shapes(self, syntax: Syntax, launch: Launch) -> tuple[Shape, Shape]:
        if launch.function is None or len(launch.configuration) < 2:
            return (_UNKNOWN,) * 3, (_UNKNOWN,) * 3
        formulas = self._formulas(syntax, launch)
        written = map(formulas.read, launch.configuration[:2])
        grid, block = map(_Place(formulas, launch.callee[0]).shape, written)
        return grid, block

    def _formulas(self, syntax: Syntax, launch: Launch) -> _FunctionFormulas:
        assert launch.function is not None
        return self._function(syntax, launch.function)

    def _function(self, syntax: Syntax, function: SourceFunction) -> _FunctionFormulas:
        key = (id(syntax), function.parameters[0])
        if key not in self._functions:
            self._functions[key] = _FunctionFormulas(syntax, function, self.unit, self._members)
        return self._functions[key]

    @cached_property
    def _members(self) -> ClassMembers:
        return ClassMembers(self.unit)


def _with_values(written: Shape, compiled: Sequence[Shape]) -> Shape:
    """Names get their values where only the preprocessed text shows that they are numbers."""
    found: list[Formula] = []
    for axis, size in enumerate(written):
        values = {constant(shape[axis]) for shape in compiled}
        value = next(iter(values)) if len(values) == 1 else None
        if value is not None and isinstance(plain(size), Name):
            key = size.key if isinstance(size, Name) else None
            found.append(Name(text_of(size), key, number(value)))
        else:
            found.append(size)
    return (found[0], found[1], found[2])


def _parameter_names(syntax: Syntax, function: SourceFunction) -> list[str]:
    """The names of a function's parameters in their order; empty for one without a name."""
    found = []
    for tokens in split_commas(
        syntax.part((function.parameters[0] + 1, function.parameters[1] - 1))
    ):
        texts = [token.text for token in tokens]
        head = tokens[: texts.index("=")] if "=" in texts else tokens
        words = [token.text for token in head if token.kind == "IDENTIFIER"]
        found.append(words[-1] if len(words) > 1 else "")
    return found


def _renamed(formula: Formula, known: Mapping[tuple[str, str | None], str]) -> Formula:
    """A formula of a call in the names of the function that is called.

    `known`: its parameters by what is given for them. Other variables of the caller mean nothing
    there, so that their values stand for them.
    """
    if isinstance(formula, Name):
        if (name := known.get((formula.text, formula.key))) is not None:
            return Name(name, formula.key)
        if (formula.key or "").startswith(OF_FILE):
            return formula
        return _UNKNOWN if formula.value is None else _renamed(formula.value, known)
    return rebuilt(formula, partial(_renamed, known=known))


@dataclass(frozen=True)
class _FunctionFormulas(Reaching):
    """Formulas as one function of the host writes them."""

    members: ClassMembers

    def read(self, tokens: Range) -> Formula:
        return self.formula(self.syntax.part(tokens))

    def formula(self, tokens: Sequence[Token]) -> Formula:
        return formula_of(tokens, self.size_of)

    def is_untouched(self, name: str, at: int) -> bool:
        """Has a parameter, at a place, the value that the call has given it?"""
        variable = self.variable(name, at)
        definition = self.reaching(variable, at) if variable is not None else None
        is_given = definition is not None and definition.value is None
        return is_given and variable is not None and variable.opening == PARAMETER

    def size_of(self, words: Sequence[str]) -> int | None:
        """The bytes of a basic type, which a macro or a `typedef` may stand for."""
        seen = list(words)
        for _ in range(5):
            size = basic_size(seen)
            if size is not None or len(seen) != 1:
                return size
            name = seen[0]
            macros = self.unit.macros.definitions.get(name, ())
            if len(macros) == 1 and not macros[0].conditional and macros[0].parameters is None:
                seen = [token.text for token in macros[0].body]
            elif name in self.unit.typedefs and not macros:
                seen = [*self.unit.typedefs[name]]
            else:
                return None
        return None

    def member(self, name: str, arguments: Sequence[Formula] | None) -> Formula | None:
        """A member of a class template; None where a template of the host names its own type."""
        if "::" not in name:
            return None
        head = self.syntax.tokens[self.function.first : self.function.parameters[0]]
        if name.rpartition("::")[0] in dict(template_parameters(head)):
            return None
        return self.members.formula(name, arguments, self.size_of)

    def converted(self, value: Formula, type_: Sequence[str]) -> Formula | None:
        """A value converted to the type of a variable; None where that is not certain."""
        if list(type_) == ["auto"]:
            return value
        size = self.size_of(type_)
        if size is None or size < _WIDE:
            return None
        becomes_real = type_[-1] in REAL_TYPES
        return Cast(" ".join(type_), value) if becomes_real != is_real(value) else value

    def is_closed(self, token: Token) -> bool:
        """Is it no macro, or one whose text stays together wherever it is put?"""
        macros = self.unit.macros.definitions.get(token.text, ())
        texts = [[one.text for one in macro.body] for macro in macros]
        return all(len(text) == 1 or (text[:1], text[-1:]) == (["("], [")"]) for text in texts)

    def gives_number(self, name: str) -> bool:
        """Does a function, or a macro, give a number rather than a `dim3`?"""
        if name.removeprefix("std::") in _ROUNDING or self.unit.macros.is_formula(name):
            return True
        functions = self.unit.functions.get(name.rsplit("::", maxsplit=1)[-1], ())
        types = ([q for q in f.qualifiers if q not in _SPECIFIERS] for _, f in functions)
        return bool(functions) and all(basic_size(words) is not None for words in types)


@dataclass(frozen=True)
class _Place:
    """A token of a function at which the names of a formula are replaced by what reaches it.

    `depth`: how many definitions led there.
    """

    function: _FunctionFormulas
    token: int
    depth: int = 0

    @property
    def inner(self) -> _Place:
        """For a part of what is resolved here."""
        return replace(self, depth=self.depth + 1)

    def before(self, definition: ReachingDefinition) -> _Place:
        """For the value of a definition that reaches this place."""
        return replace(self.inner, token=definition.at)

    def shape(self, formula: Formula) -> Shape:
        x, y, z = (self.component(formula, axis) for axis in range(3))
        return (x, y, z)

    # Scalars.

    def resolved(self, formula: Formula) -> Formula:
        if self.depth > _DEEPEST:
            return _UNKNOWN
        match formula:
            case Name():
                return self._name(formula)
            case MemberAccess(Name(text), axis) if axis in DIMENSIONS:
                if self.function.variable(text, self.token) is not None:
                    return self.component(Name(text), DIMENSIONS.index(axis))
                return Name(f"{text}.{axis}", self._free(f"{text}.{axis}"))
            case MemberAccess(base, member):
                text = f"{text_of(base)}.{member}"
                return Name(text, self._free(text) if isinstance(base, Name) else None)
            case HostOperation(operator, operands):
                return HostOperation(operator, tuple(map(self.inner.resolved, operands)))
            case Call(name, arguments):
                if (returned := self.function.member(name, arguments)) is not None:
                    return self.inner.resolved(returned)
                return Call(name, tuple(map(self.inner.resolved, arguments)))
            case Cast(type_, operand):
                return Cast(type_, self.inner.resolved(operand))
        return formula

    def _name(self, name: Name) -> Name:
        text = name.text
        if template_argument(name.key) is not None:
            return name
        variable = self.function.variable(text, self.token)
        if variable is not None:
            return self._variable(variable)
        if text in self.function.unit.macros.definitions:
            return self._macro(text)
        if (known := self._constant(text)) is not None:
            return known
        if (value := self.function.member(text, None)) is not None:
            return Name(text, f"member {text}", self.inner.resolved(value))
        return Name(text, self._free(text))

    def _constant(self, text: str) -> Name | None:
        """A constant of the file, with those from which it is computed."""
        key, unit = f"constant {text}", self.function.unit
        if text in unit.constants:
            return Name(text, key, number(unit.constants[text]))
        if self.depth > _DEEPEST or text not in unit.computed_constants:
            return None

        def named(formula: Formula) -> Formula:
            if isinstance(formula, Name):
                return self.inner._constant(formula.text) or _UNKNOWN
            return rebuilt(formula, named)

        value = named(self.function.formula(unit.computed_constants[text]))
        is_known = (constant(value) or 0) > 0 and _is_sum(value)
        return Name(text, key, value) if is_known else None

    def _variable(self, variable: HostVariable) -> Name:
        definition = self.function.reaching(variable, self.token)
        if definition is None:
            return Name(variable.name, self._now(variable))
        key = _key(definition)
        if definition.value is None or definition.value[1] < definition.value[0]:
            return Name(variable.name, key)
        found = self.before(definition).resolved(self.function.read(definition.value))
        return Name(variable.name, key, self.function.converted(found, variable.type))

    def _macro(self, name: str) -> Name:
        """A macro that has one certain meaning is looked through."""
        macro, *others = self.function.unit.macros.definitions[name]
        if others or macro.parameters is not None or not macro.body:
            return Name(name)
        key = f"macro {name}"
        if macro.conditional:
            return Name(name, key)
        try:
            tokens = self.function.unit.macros.expand(macro.body)
        except Unexpandable:
            return Name(name)
        value = self.inner.resolved(self.function.formula(tokens))
        if constant(value) is None:
            return Name(name, None, value)
        # Macros in parentheses, or of one number, are what their names stand for in a formula.
        of_names = self.inner.resolved(self.function.formula(macro.body))
        is_whole = _is_sum(of_names) and all(map(self.function.is_closed, macro.body))
        same = is_whole and constant(of_names) == constant(value)
        return Name(name, key, of_names if same else value)

    # Components of `dim3`.

    def component(self, formula: Formula, axis: int) -> Formula:
        if self.depth > _DEEPEST:
            return _UNKNOWN
        match formula:
            case Call("dim3" | "", arguments):
                return self._argument(arguments, axis)
            case Name(text):
                variable = self.function.variable(text, self.token)
                if variable is not None:
                    return self._variable_component(variable, axis)
                return self._free_component(formula, axis)
            case Call(name, arguments) if (
                value := self.function.member(name, arguments)
            ) is not None:
                return self.inner.component(value, axis)
            case HostOperation("?:", (condition, *choices)):
                decides = self.inner.resolved(condition)
                if_true, if_false = (self.inner.component(one, axis) for one in choices)
                operands = (decides, if_true, if_false)
                return if_true if if_true == if_false else HostOperation("?:", operands)
        if axis == 0:
            return self.inner.resolved(formula)
        match formula:
            case Number() | HostOperation() | Cast():
                return ONE
            case Call(name, _) if self.function.gives_number(name):
                return ONE
        return _UNKNOWN

    def _argument(self, arguments: Sequence[Formula], axis: int) -> Formula:
        """`dim3(x, y, z)`: what is left out is 1; one argument may be a `dim3` itself."""
        if len(arguments) == 1:
            return self.inner.component(arguments[0], axis)
        return self.inner.resolved(arguments[axis]) if axis < len(arguments) else ONE

    def _free_component(self, name: Name, axis: int) -> Formula:
        found = self._name(name)
        if found.value is not None:
            if axis > 0 and constant(found) is not None:
                return ONE
            if isinstance(found.value, Call):
                return self.inner.component(found.value, axis)
        if axis == 0:
            return found
        if name.text in self.function.unit.macros.symbols:
            return ONE
        return Name(f"{name.text}.{DIMENSIONS[axis]}", f"{self._free(name.text)}.{axis}")

    def _variable_component(self, variable: HostVariable, axis: int) -> Formula:
        if variable.type[-1:] != ("dim3",) and variable.type != ("auto",):
            scalar = self._variable(variable)
            if basic_size(variable.type) is None and self.function.size_of(variable.type) is None:
                # A class, say, which becomes a `dim3` in some way.
                return Name(variable.name, scalar.key) if axis == 0 else _UNKNOWN
            return scalar if axis == 0 else ONE
        name = f"{variable.name}.{DIMENSIONS[axis]}"
        definition = self.function.reaching(variable, self.token, DIMENSIONS[axis])
        if definition is None:
            now = self._now(variable)
            return Name(name, f"{now}.{axis}" if now is not None else None)
        key = f"{_key(definition)}.{axis}"
        if definition.value is None:
            return Name(name, key)
        value = self._defined_component(definition, definition.value, axis)
        if variable.type == ("auto",) and axis == 0 and not isinstance(value, Opaque):
            return Name(variable.name, _key(definition), value)
        return Name(name, key, value)

    def _defined_component(
        self, definition: ReachingDefinition, value: Range, axis: int
    ) -> Formula:
        place = self.before(definition)
        if definition.is_component:
            return place.resolved(self.function.read(value))
        if not definition.is_constructor:
            return place.component(self.function.read(value), axis)
        parts = split_commas(self.function.syntax.part(value))
        return place._argument([*map(self.function.formula, parts)], axis)

    # Keys: two names with one key have one value.

    def _free(self, text: str) -> str:
        """A value defined elsewhere may change between two places, but not within one launch."""
        return f"free {text}@{self.token}"

    def _now(self, variable: HostVariable) -> str | None:
        """Two readings at one place give the same value, whatever definition reaches it."""
        is_volatile = "volatile" in variable.type
        return None if is_volatile else f"{variable.identity} read at {self.token}"


def _is_sum(formula: Formula) -> bool:
    """Is it made of whole numbers, by sums, differences and products alone?"""
    return all(
        (isinstance(one, Number) and not one.is_real)
        or isinstance(one, Name)
        or (isinstance(one, HostOperation) and one.operator in ("+", "-", "*"))
        for one in parts(formula)
    )


def _key(definition: ReachingDefinition) -> str:
    return f"{definition.variable}:{definition.at}"
