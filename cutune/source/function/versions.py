"""Variables that take values in turn, as a variable for each. Takes the AST of a function.

In `int i = id; if (i >= n) return; i = i / width; …` the last assignment becomes a declaration of
another variable, and the first one keeps its value: what is known of it holds to the end. So it is
where the order of the text is that of execution: every assignment is a statement of the function's
own sequence, in no loop and under no condition, and nothing else refers to the variable's place.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy

from pycparser import c_ast

from cutune.source.function.bindings import Bindings, DeviceVariable

_STEPS = {"++": "+", "p++": "+", "--": "-", "p--": "-"}


def separate(body: c_ast.Compound, bindings: Bindings) -> bool:
    """Give each value a variable of its own. Was there such a variable? Bindings are then stale."""
    statements = body.block_items or []
    declared = {id(one): (one, var) for one, var in _declared(statements, bindings)}
    assigned = [_assigned(statement, bindings) for statement in statements]
    chosen = {
        id(variable): declaration
        for declaration, variable in declared.values()
        if _is_in_sequence(declaration, variable, assigned)
    }
    if not chosen:
        return False
    names: dict[int, str] = {}
    for place, statement in enumerate(statements):
        variable = assigned[place]
        if variable is None or id(variable) not in chosen:
            _rename(statement, bindings, names)
            continue
        value = _value(statement)
        _rename(value, bindings, names)
        count = sum(one is variable for one in assigned[: place + 1])
        names[id(variable)] = f"{variable.name}__value_{count + 1}"
        statements[place] = _declaration(chosen[id(variable)], names[id(variable)], value)
    return True


def _declared(
    statements: list[c_ast.Node], bindings: Bindings
) -> Iterator[tuple[c_ast.Decl, DeviceVariable]]:
    """Integers that the function's own sequence declares."""
    for statement in statements:
        if isinstance(statement, c_ast.Decl):
            variable = bindings.of(statement)
            if variable is not None and variable.type is not None and not variable.escapes:
                yield statement, variable


def _is_in_sequence(
    declaration: c_ast.Decl, variable: DeviceVariable, assigned: list[DeviceVariable | None]
) -> bool:
    """Are there several assignments, each a statement of the sequence?"""
    seen = sum(one is variable for one in assigned)
    first = int(declaration.init is not None)
    return seen + first > 1 and seen + first == len(variable.values) + len(variable.steps)


def _assigned(statement: c_ast.Node, bindings: Bindings) -> DeviceVariable | None:
    """The variable that a statement gives another value, if that is what it does."""
    if isinstance(statement, c_ast.Assignment):
        return bindings.of(statement.lvalue)
    if isinstance(statement, c_ast.UnaryOp) and statement.op in _STEPS:
        return bindings.of(statement.expr)
    return None


def _value(statement: c_ast.Node) -> c_ast.Node:
    """What the variable becomes, as an expression."""
    if isinstance(statement, c_ast.UnaryOp):
        one = c_ast.Constant("int", "1", statement.coord)
        return c_ast.BinaryOp(_STEPS[statement.op], statement.expr, one, statement.coord)
    if statement.op == "=":
        return statement.rvalue
    place, operator = statement.coord, statement.op.removesuffix("=")
    return c_ast.BinaryOp(operator, statement.lvalue, statement.rvalue, place)


def _declaration(first: c_ast.Decl, name: str, value: c_ast.Node) -> c_ast.Decl:
    """A variable of the same type, with this value."""
    declaration = deepcopy(first)
    declaration.name = declaration.type.declname = name
    declaration.init, declaration.coord = value, value.coord
    return declaration


def _rename(node: c_ast.Node, bindings: Bindings, names: dict[int, str]) -> None:
    """Let reads of the variables read their present values."""
    variable = bindings.of(node) if isinstance(node, c_ast.ID) else None
    if variable is not None and id(variable) in names:
        node.name = names[id(variable)]
    for _, child in node.children():
        _rename(child, bindings, names)
