"""Statements of a function. Takes AST nodes, gives the facts that hold after each.

Expressions are evaluated in the order of the text, under the bounds that enclosing conditions and
early returns have established.
"""

from __future__ import annotations

from collections.abc import Sequence

from pycparser import c_ast

from cutune.frontend.function.bindings import Doubt
from cutune.frontend.values.expressions import Expressions
from cutune.frontend.values.guards import NOTHING, Facts
from cutune.frontend.values.polynomial import IDENTITY, STRIDE
from cutune.frontend.values.values import Value


class Statements:
    """Evaluates statements; each gives the facts that hold after it, or None if none follows."""

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions

    def function(self, body: c_ast.Compound) -> Value | None:
        """Evaluate the body; gives the value of a function that is one `return`."""
        statements = body.block_items or []
        if len(statements) == 1 and isinstance(statements[0], c_ast.Return):
            if statements[0].expr is None:
                return None
            value = self.expressions.value(statements[0].expr)
            if value.type is not None and value.polynomial.kinds() <= {IDENTITY, STRIDE}:
                return value._replace(if_true=NOTHING, if_false=NOTHING)
            self.expressions.sink(value, statements[0].expr)
            return None
        self.statement(body)
        return None

    def statement(self, node: c_ast.Node | None) -> Facts | None:
        """Evaluate one statement under `expressions.facts`."""
        if node is None or isinstance(node, c_ast.EmptyStatement | c_ast.Typedef | c_ast.Pragma):
            return self.expressions.facts
        name = f"_{type(node).__name__.lower()}"
        method = getattr(self, name, None)
        if method is not None:
            result: Facts | None = method(node)
            return result
        if isinstance(node, c_ast.FuncCall):
            value = self.expressions.call(node, is_statement=True)
        else:
            value = self.expressions.value(node)
        self.expressions.sink(value, node)
        return self.expressions.facts

    def under(self, facts: Facts, node: c_ast.Node | None) -> Facts | None:
        """Evaluate a statement under further facts; gives what holds after it."""
        before = self.expressions.facts
        self.expressions.facts = before | facts
        after = self.statement(node)
        self.expressions.facts = before
        return after

    def _compound(self, node: c_ast.Compound) -> Facts | None:
        return self._sequence(node.block_items or [])

    def _sequence(self, statements: Sequence[c_ast.Node]) -> Facts | None:
        before = self.expressions.facts
        completes = True
        for statement in statements:
            after = self.statement(statement)
            if after is None:
                # What follows is dead, or reached by a label, which is refused.
                completes = False
            else:
                self.expressions.facts = after
        after = self.expressions.facts
        self.expressions.facts = before
        return after if completes else None

    def _decl(self, node: c_ast.Decl) -> Facts:
        expressions = self.expressions
        self._array_sizes(node.type)
        if node.init is not None:
            value = expressions.value(node.init)
            variable = expressions.bindings.of(node)
            if variable is None or variable.rank or isinstance(node.init, c_ast.InitList):
                expressions.sink(value, node.init)
            else:
                expressions.assign(variable, value, node.init)
        return expressions.facts

    def _array_sizes(self, type_: c_ast.Node) -> None:
        while isinstance(type_, c_ast.ArrayDecl):
            if type_.dim is not None:
                self.expressions.used(type_.dim)
            type_ = type_.type

    def _decllist(self, node: c_ast.DeclList) -> Facts:
        for declaration in node.decls:
            self._decl(declaration)
        return self.expressions.facts

    def _if(self, node: c_ast.If) -> Facts | None:
        condition = self.expressions.used(node.cond)
        then = self.under(condition.if_true, node.iftrue)
        otherwise = self.under(condition.if_false, node.iffalse)
        if then is None or otherwise is None:
            return otherwise if then is None else then
        return then & otherwise

    def _for(self, node: c_ast.For) -> Facts:
        if node.init is not None:
            self.statement(node.init)
        self._loop(node.cond, node.stmt, node.next)
        return self.expressions.facts

    def _while(self, node: c_ast.While) -> Facts:
        self._loop(node.cond, node.stmt, None)
        return self.expressions.facts

    def _loop(
        self, condition: c_ast.Node | None, body: c_ast.Node, step: c_ast.Node | None
    ) -> None:
        """A loop counts as an effect under its own condition: it might not end for other ids."""
        entered = NOTHING
        if condition is not None:
            entered = self.expressions.used(condition).if_true
        self.expressions.findings.effects.append(self.expressions.facts | entered)
        self.under(entered, body)
        if step is not None:
            self.under(entered, step)

    def _dowhile(self, node: c_ast.DoWhile) -> Facts:
        self.expressions.findings.effects.append(self.expressions.facts)
        self.statement(node.stmt)
        self.expressions.used(node.cond)
        return self.expressions.facts

    def _switch(self, node: c_ast.Switch) -> Facts:
        self.expressions.used(node.cond)
        if not isinstance(node.stmt, c_ast.Compound):
            raise Doubt(node, "a switch without braces")
        for case in node.stmt.block_items or []:
            if not isinstance(case, c_ast.Case | c_ast.Default):
                raise Doubt(case, "a statement before the first case")
            self._sequence(case.stmts or [])
        return self.expressions.facts

    def _return(self, node: c_ast.Return) -> None:
        if node.expr is not None:
            self.expressions.used(node.expr)

    def _break(self, node: c_ast.Break) -> None:
        """Control leaves the sequence."""

    def _continue(self, node: c_ast.Continue) -> None:
        """Control leaves the sequence."""

    def _goto(self, node: c_ast.Goto) -> Facts:
        raise Doubt(node, "goto")

    def _label(self, node: c_ast.Label) -> Facts:
        raise Doubt(node, "a label")

    def _case(self, node: c_ast.Case) -> Facts:
        raise Doubt(node, "a case inside another statement")

    _default = _case
