"""The flow chart of a rational program and of the choice. Takes program and rule, gives steps.

A choice in an expression becomes a question with two answers; what stands between two of them is
one step. Definitions that the time does not need are left out, as in the emitted C.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction

from cutune.cli.page.page_facts import FlowChart, Line, Step
from cutune.model.emit.model import OUTPUTS, needed, simplify
from cutune.model.performance.constants import LAUNCH_BOUND
from cutune.model.rational.program import (
    NORMS,
    Cell,
    Constant,
    Definition,
    Expression,
    Operation,
    Operator,
    RationalProgram,
    Reference,
    TableEntry,
)
from cutune.model.selection.choose import SelectionRule

MINUS = "−"
_INFIX = {
    Operator.ADD: (" + ", 1),
    Operator.SUBTRACT: (f" {MINUS} ", 1),
    Operator.MULTIPLY: (" · ", 2),
    Operator.DIVIDE: (" / ", 2),
    Operator.REMAINDER: (" mod ", 2),
    Operator.LESS: (" < ", 0),
    Operator.LESS_EQUAL: (" ≤ ", 0),
    Operator.EQUAL: (" = ", 0),
}
_ATOM = 3
_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def flow_chart(
    program: RationalProgram,
    rule: SelectionRule,
    sizes: Iterable[str],
    variant_share: Fraction | None,
) -> FlowChart:
    """The program and its rule.

    Args:
        sizes: how the data parameters are called in the source.
        variant_share: of the kernel's own prediction, below which that of a variant has to lie;
            None: there is no choice among variants behind it.
    """
    written = simplify(program, OUTPUTS)
    read, varying = needed(written), written.per_candidate()
    own = [one for one in written.definitions if one.name in read]
    return FlowChart(
        tuple(sizes),
        program.candidate_count,
        tuple(_steps("once per launch", (d for d in own if d.name not in varying))),
        tuple(_steps("for each block", (d for d in own if d.name in varying))),
        tuple(_choice(rule, variant_share)),
    )


def _steps(title: str, definitions: Iterable[Definition]) -> Iterator[Step]:
    lines: list[Line] = []
    for definition in definitions:
        questions, value = _parted(definition)
        if questions and lines:
            yield Step(title, lines=tuple(lines))
            lines = []
        yield from questions
        if value is not None:
            lines.append(Line(definition.name, formula(value), definition.meaning))
    if lines:
        yield Step(title, lines=tuple(lines))


def _parted(definition: Definition) -> tuple[list[Step], Expression | None]:
    """The questions in a definition, and what is computed behind them, if there is more."""
    if _is_choice(definition.value):
        return [_question(definition.value, definition.name)], None
    questions: list[Step] = []

    def without(node: Expression) -> Expression:
        if _is_choice(node):
            name = f"{definition.name}{'′' * (len(questions) + 1)}"
            questions.append(_question(node, name))
            return Reference(name)
        if isinstance(node, Operation):
            return replace(node, operands=tuple(map(without, node.operands)))
        if isinstance(node, TableEntry):
            return replace(node, place=without(node.place))
        return node

    return questions, without(definition.value)


def _is_choice(node: Expression) -> bool:
    return isinstance(node, Operation) and node.operator is Operator.CHOICE


def _question(node: Expression, name: str) -> Step:
    assert isinstance(node, Operation)
    condition, if_true, if_false = map(formula, node.operands)
    return Step(f"{condition}?", f"{name} = {if_true}", f"{name} = {if_false}")


def formula(node: Expression) -> str:
    """An expression as mathematicians write it."""
    return _text(node)[0]


def _text(node: Expression) -> tuple[str, int]:
    """The text, and how strongly it holds together."""
    if isinstance(node, Constant):
        return _number(node.value)
    if isinstance(node, Reference):
        return node.name, _ATOM
    if isinstance(node, TableEntry):
        place = formula(node.place)
        return f"{node.table}[{place}{', block' if isinstance(node, Cell) else ''}]", _ATOM
    assert isinstance(node, Operation)
    if node.operator in _INFIX:
        return _infix(node.operator, *map(_text, node.operands))
    return _call(node.operator, ", ".join(map(formula, node.operands))), _ATOM


def _infix(operator: Operator, left: tuple[str, int], right: tuple[str, int]) -> tuple[str, int]:
    word, own = _INFIX[operator]
    first, second = left[0] if left[1] >= own else f"({left[0]})", right[0]
    if operator is Operator.ADD and second.startswith(MINUS):
        # What is added is a number below zero, or a product with one.
        return f"{first} {MINUS} {second[1:]}", own
    is_whole = right[1] > own and not second.startswith(MINUS)
    return f"{first}{word}{second if is_whole else f'({second})'}", own


def _call(operator: Operator, operands: str) -> str:
    if operator is Operator.FLOOR:
        return f"⌊{operands}⌋"
    if operator is Operator.CEILING:
        return f"⌈{operands}⌉"
    if operator in NORMS:
        return f"‖{operands}‖{str(NORMS[operator][0]).translate(_SUBSCRIPTS)}"
    return f"{operator.value}({operands})"


def _number(value: Fraction) -> tuple[str, int]:
    text = f"{float(value):.6g}"
    return (text, _ATOM) if value >= 0 else (f"{MINUS}{text[1:]}", 2)


def _choice(rule: SelectionRule, variant_share: Fraction | None) -> Iterator[Step]:
    """The decision when all times are known: `models.selection.choose` in words."""
    smaller, larger = rule.own_band.smaller, rule.own_band.larger
    limit = f"{float(smaller):.4g}"
    if smaller != larger:
        limit = f"{limit} ({float(larger):.4g} where the fastest block has more threads)"
    if larger > 0:
        question = f"time of the program's own block ≤ {limit} · the least time?"
        yield Step(question, "the program's own block stays", "another block is chosen")
    question = f"least time < {float(LAUNCH_BOUND * rule.floor_us):.3g} µs?"
    near = f"blocks within {float(rule.band) - 1:.1%} of the least time are equal"
    yield Step(
        question,
        "launching takes longer than the kernel: a fixed order of blocks decides",
        f"{near}, and a fixed order decides among them",
    )
    if variant_share is not None:
        condition = f"time of a variant < {float(variant_share):.2g} · time of the kernel itself"
        question = f"{condition}, and do its pointers allow it?"
        taken = "the variant is launched, in its own block"
        yield Step(question, taken, "the kernel itself is launched")
