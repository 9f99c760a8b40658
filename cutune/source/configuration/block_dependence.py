"""How a launch depends on its block. Takes a resolved configuration, gives grid forms and C text.

The form of a grid is shown only: which rule changes the block of a launch depends on the proof
about the kernel and on the numbers at run time. Dynamic shared memory is a formula of the block's
x, y and z, computed with 64-bit integers, in which it cannot overflow. Its user compares the value
for the program's own thread block with what the program asks for, and leaves the launch alone where
they differ.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from cutune.source.host_formula import (
    REAL_TYPES,
    Call,
    Cast,
    Formula,
    HostOperation,
    Name,
    Number,
    Opaque,
    basic_size,
    children,
    constant,
    formula_of,
    is_real,
    names_of,
    number,
    parts,
    plain,
    renamed,
    text_of,
)
from cutune.source.program import DIMENSIONS, Configuration, GridForm
from cutune.source.syntax.tokens import lex_significant
from cutune.toolchain.device.thread_block import WARP

_CEILINGS = frozenset({"ceil", "ceilf", "std::ceil", "std::ceilf", "lceil"})
_CLAMPS = frozenset({"min", "max", "std::min", "std::max", "fmin", "fmax"})


def grid_form(grid: Formula, block: Sequence[Formula]) -> GridForm:
    """Classify one component of a grid."""
    value, reader = constant(grid), _GridReader(block)
    if value == 1:
        return GridForm.SINGLE
    if reader.is_named(grid):
        return GridForm.OTHER
    found = reader.form(plain(grid))
    if found is not None:
        return found
    if value is not None:
        return GridForm.CONSTANT
    # Is the origin of every leaf known, and is it more than one unknown name?
    seen = plain(grid)
    is_leaf = isinstance(seen, Name | Opaque) or not children(seen)
    is_unknown = any(isinstance(part, Opaque) and part.text == "?" for part in parts(seen))
    return GridForm.UNKNOWN if is_leaf or is_unknown else GridForm.INDEPENDENT


@dataclass(frozen=True)
class _GridReader:
    """Looks for the components of a block in formulas."""

    block: Sequence[Formula]

    def form(self, formula: Formula) -> GridForm | None:
        match formula:
            case Call(name, (argument,)) if name in _CEILINGS:
                if self._quotient(plain(argument)) is not None:
                    return GridForm.FLOAT_CEILING
            case Call(name, arguments) if name not in _CLAMPS:
                return GridForm.HELPER if any(map(self._holds, arguments)) else None
            case HostOperation("/" | ">>", (_, divisor)):
                if (numerator := self._quotient(formula)) is not None:
                    value = constant(divisor)
                    if value is not None and formula.operator == ">>":
                        value = constant(_power(value))
                    is_ceiling = self._rounds_up(list(_terms(numerator, 1)), value)
                    return GridForm.CEILING if is_ceiling else GridForm.TRUNCATING
            case HostOperation("+", _):
                if (found := self._sum_form(formula)) is not None:
                    return found
            case HostOperation("?:", (_, if_true, if_false)):
                forms = {self.form(plain(if_true)), self.form(plain(if_false))}
                if forms == {GridForm.TRUNCATING, GridForm.ONE_MORE}:
                    return GridForm.CEILING
        return GridForm.OTHER if self._holds(formula) else None

    def _holds(self, formula: Formula) -> bool:
        for part in parts(formula):
            match part:
                case HostOperation("/" | "%" | ">>", operands) if self.is_block(operands[-1]):
                    return True
                case Call(_, arguments) if any(map(self.is_block, arguments)):
                    return True
                case Name() if self.is_block(part) and not isinstance(plain(part), Opaque):
                    return True
        return False

    def _quotient(self, formula: Formula) -> Formula | None:
        """numerator "/" block; the numerator. A product with 1/block is no division of integers."""
        match formula:
            case HostOperation("/", (numerator, denominator)) if self.is_block(denominator):
                return numerator
            case HostOperation(">>", (numerator, shift)):
                places = constant(shift)
                if places is not None and self.is_block(_power(places)):
                    return numerator
        return None

    def _sum_form(self, formula: HostOperation) -> GridForm | None:
        """quotient "+" 1, quotient "+" (remainder test)."""
        terms = list(_terms(formula, 1))
        numerators = [self._quotient(plain(term)) if sign > 0 else None for term, sign in terms]
        quotients = [numerator for numerator in numerators if numerator is not None]
        pairs = zip(terms, numerators, strict=True)
        others = [signed for signed, numerator in pairs if numerator is None]
        if len(quotients) != 1 or len(others) != 1 or others[0][1] < 0:
            return None
        (other, _), numerator = others[0], quotients[0]
        if constant(other) == 1:
            summands = ((constant(term), sign) for term, sign in _terms(numerator, 1))
            is_less_one = any(value is not None and sign * value == -1 for value, sign in summands)
            return GridForm.CEILING if is_less_one else GridForm.ONE_MORE
        return GridForm.CEILING if self._tests_remainder(other) else None

    def _tests_remainder(self, formula: Formula) -> bool:
        """`n % block != 0`, `n % block > 0`, `!!(n % block)`, `n % block ? 1 : 0`."""
        test = plain(formula)
        is_test = isinstance(test, HostOperation) and test.operator in ("!=", ">", "?:", "!", "&&")
        return is_test and any(
            isinstance(part, HostOperation)
            and part.operator == "%"
            and self.is_block(part.operands[1])
            for part in parts(test)
        )

    def _rounds_up(self, terms: Sequence[tuple[Formula, int]], block: Fraction | None) -> bool:
        """numerator = n + block - 1, perhaps folded; where all terms are known, any may be n."""
        known = [(t, sign) for t, sign in terms if constant(t) is not None or self.is_block(t)]
        if len(known) < len(terms):
            return self._is_rounding(known, block)
        return any(
            sign > 0 and self._is_rounding([*terms[:number], *terms[number + 1 :]], block)
            for number, (_, sign) in enumerate(terms)
        )

    def _is_rounding(self, terms: Sequence[tuple[Formula, int]], block: Fraction | None) -> bool:
        """block - 1; what is added besides belongs to what is divided."""
        constants: list[Fraction] = []
        blocks = 0
        for term, sign in terms:
            value = constant(term)
            if value is not None and not (isinstance(term, Name) and self.is_block(term)):
                constants.append(sign * value)
            else:
                blocks += sign
        if blocks == 1:
            return -1 in constants or sum(constants) == -1
        return blocks == 0 and block is not None and sum(constants) == block - 1 and block > 1

    def is_block(self, formula: Formula) -> bool:
        if self.is_named(formula):
            return True
        value = constant(formula)
        if value is not None and value > 1 and value in map(constant, self.block):
            return True
        while isinstance(formula, Cast):
            formula = formula.operand
        match formula:
            case HostOperation("*", (left, right)):
                return all(self.is_block(factor) for factor in (left, right))
            case Name(_, _, definition) if definition is not None and value is None:
                return self.is_block(definition)
        return False

    def is_named(self, formula: Formula) -> bool:
        labels = {*_labels(formula)}
        return any(not labels.isdisjoint(_labels(size)) for size in self.block)


def _power(places: Fraction) -> Formula:
    return number(Fraction(2) ** min(31, int(places)))


def _terms(formula: Formula, sign: int) -> Iterator[tuple[Formula, int]]:
    seen = formula
    while isinstance(seen, Cast) and not is_real(seen):
        seen = seen.operand
    definition = plain(seen) if isinstance(seen, Name) else None
    if isinstance(definition, HostOperation) and (
        definition.operator in ("+", "-") or constant(seen) is None
    ):
        seen = definition
    match seen:
        case HostOperation("+", (left, right)):
            yield from _terms(left, sign)
            yield from _terms(right, sign)
        case HostOperation("-", (left, right)):
            yield from _terms(left, sign)
            yield from _terms(right, -sign)
        case _:
            yield seen, sign


def _labels(formula: Formula | None) -> Iterator[str]:
    while formula is not None:
        match formula:
            case Cast(_, operand):
                formula = operand
            case Name(text, key, value):
                yield text
                if key is not None:
                    yield key
                formula = value
            case _:
                return


#: No launch asks for more; a larger factor is a mistake.
_LARGEST_LITERAL = 1 << 24
_LARGEST_VALUE = 1 << 61
_LARGEST_SIZE = {"x": 1024, "y": 1024, "z": 64}
_OPERATORS = frozenset({"+", "-", "*", "/", "%", "<", ">"})


def inferred_formula(configuration: Configuration, arguments: Container[str]) -> str | None:
    """What follows from the launch's own definitions, or None where several could.

    `arguments`: the names in its arguments. A name in both may be a size of the data.
    """
    if configuration.shared is None:
        return None
    block = configuration.block
    found = _in_block(configuration.shared, block)
    if found is None:
        return None
    used = {name.text for name in names_of(found)}
    for d, size in zip(DIMENSIONS, block, strict=True):
        if d not in used and constant(size) != 1:
            # A number in the formula may be that of this dimension in disguise.
            return None
        named = (name.text.split(".")[0] for name in names_of(size))
        if d in used and any(name in arguments for name in named):
            return None
    text = text_of(found)
    return text if is_bounded(text) else None


def needed_formula(
    needed: Sequence[tuple[int, int]], configuration: Configuration | None
) -> str | None:
    """What a launch has to ask for, by what its kernel is proven to need per width of the block.

    What it asks for beyond that with its own block, other blocks get as well. None where it asks
    for too little, or where what is needed does not grow evenly.
    """
    if configuration is None or configuration.shared is None or not needed:
        return None
    asked, own = constant(configuration.shared), constant(configuration.block[0])
    if asked is not None and asked >= max(size for _, size in needed):
        return str(int(asked))
    found = _through(needed)
    if found is None or asked is None or own is None:
        return found
    spare = int(asked) - (bytes_of(found, int(own)) or 0)
    return None if spare < 0 else f"{found} + {spare}" if spare else found


def _through(points: Sequence[tuple[int, int]]) -> str | None:
    """The line through all points whose x are whole warps, as C text."""
    (first, least), (last, most) = points[0], points[-1]
    step, rest = divmod((most - least) * WARP, max(last - first, WARP))
    base = least - first // WARP * step
    if rest or base < 0 or any(y != base + x // WARP * step for x, y in points):
        return None
    text = f"x * {step // WARP}" if step % WARP == 0 else f"x / {WARP} * {step}"
    return f"{text} + {base}" if base else text


def bytes_of(text: str, width: int) -> int | None:
    """Return what a formula gives for blocks of so many threads in x; None where it is unknown."""
    values = {"x": str(width), "y": "1", "z": "1"}
    value = constant(formula_of(lex_significant(renamed(text, values)), basic_size))
    return int(value) if value is not None else None


def is_bounded(text: str) -> bool:
    """Is the value of a formula far from the limits of 64-bit integers for every block?"""
    largest = _largest(formula_of(lex_significant(text), basic_size))
    return largest is not None and largest < _LARGEST_VALUE


def _in_block(formula: Formula, block: Sequence[Formula]) -> Formula | None:
    """The formula over x, y and z alone, in integers."""
    axes = [d for d, size in zip(DIMENSIONS, block, strict=True) if _is_same(formula, size)]
    if axes:
        return Name(axes[0]) if len(axes) == 1 else None
    match formula:
        case Number(literal, is_floating):
            is_whole = literal.denominator == 1 and not is_floating
            return formula if is_whole and literal <= _LARGEST_LITERAL else None
        case Name(_, _, value):
            return _in_block(value, block) if value is not None else None
        case Cast(type_, operand):
            words = type_.split()
            is_wide = (basic_size(words) or 0) >= 4 and words[-1] not in REAL_TYPES
            return _in_block(operand, block) if is_wide and not is_real(operand) else None
        case Call(name, (left, right)) if name.removeprefix("std::") in ("min", "max"):
            sign = "<" if name.endswith("min") else ">"
            found = [part for one in (left, right) if (part := _in_block(one, block)) is not None]
            test = HostOperation(sign, tuple(found))
            return HostOperation("?:", (test, *found)) if len(found) == 2 else None
        case HostOperation(operator, operands):
            found = [part for o in operands if (part := _in_block(o, block)) is not None]
            return _operation(operator, found) if len(found) == len(operands) else None
    return None


def _operation(operator: str, operands: list[Formula]) -> Formula | None:
    if operator == "?:" and isinstance(operands[0], HostOperation) and operands[0].operator in "<>":
        return HostOperation(operator, tuple(operands))
    if len(operands) != 2:
        return None
    left, right = operands
    value = constant(right)
    if operator in ("/", "%") and (value is None or value <= 0):
        return None
    if operator == "<<" and value is not None and 0 <= value < 20:
        return HostOperation("*", (left, number(1 << int(value))))
    if operator in ("<=", ">="):
        # Integers: a <= b is a < b + 1.
        low, high = (left, right) if operator == "<=" else (right, left)
        return HostOperation("<", (low, HostOperation("+", (high, number(1)))))
    return HostOperation(operator, (left, right)) if operator in _OPERATORS else None


def _is_same(formula: Formula, size: Formula) -> bool:
    """Is it certain that both have the same value, because they are the same name's?"""
    keys = {part.key for part in _renamed(size) if isinstance(part, Name)} - {None}
    if isinstance(formula, Name):
        return formula.key is not None and formula.key in keys
    # The whole expression of the block's size stands in the formula.
    target = list(_renamed(size))[-1]
    if not isinstance(target, HostOperation) or constant(target) is not None:
        return False
    names = [part for part in parts(target, through_names=False) if isinstance(part, Name)]
    return formula == target and bool(names) and all(name.key is not None for name in names)


def _renamed(formula: Formula) -> list[Formula]:
    """A formula and what it merely renames, as an integer of any width."""
    renamed = [formula]
    while True:
        match renamed[-1]:
            case Cast(_, operand) as cast if not is_real(cast) and not is_real(operand):
                renamed.append(operand)
            case Name(_, _, value) if value is not None:
                renamed.append(value)
            case _:
                return renamed


def _largest(formula: Formula) -> int | None:
    """A bound of the absolute value of the formula and all its parts."""
    match formula:
        case Number(value, False):
            return int(value) if value <= _LARGEST_LITERAL else None
        case Name(text, _, _):
            return _LARGEST_SIZE.get(text)
        case HostOperation(operator, operands):
            bounds = [bound for part in operands if (bound := _largest(part)) is not None]
            if len(bounds) < len(operands):
                return None
            bound = sum(bounds) + 1
            if operator == "*":
                bound = bounds[0] * bounds[-1]
            elif operator in ("?:", "/", "%", "<", ">"):
                bound = max(*bounds, 1)
            return bound if bound < _LARGEST_VALUE else None
    return None
