"""Statements of a function. Takes AST nodes, gives the bounds that hold after each.

Expressions are evaluated in the order of the text, under the bounds that enclosing conditions and
early returns have established.
"""

from __future__ import annotations

from collections.abc import Sequence

from pycparser import c_ast

from cutune.source.function.bindings import Doubt
from cutune.source.values.expressions import Expressions
from cutune.source.values.guards import NO_BOUNDS, GuardBounds
from cutune.source.values.polynomial import IDENTITY, STRIDE
from cutune.source.values.values import Value


class Statements:
    """Evaluates statements; each gives the bounds that hold after it, or None if none follows."""

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
                return value._replace(if_true=NO_BOUNDS, if_false=NO_BOUNDS)
            self.expressions.sink(value, statements[0].expr)
            return None
        self.statement(body)
        return None

    def statement(self, node: c_ast.Node | None) -> GuardBounds | None:
        """Evaluate one statement under `expressions.bounds`."""
        if node is None or isinstance(node, c_ast.EmptyStatement | c_ast.Typedef | c_ast.Pragma):
            return self.expressions.bounds
        name = f"_{type(node).__name__.lower()}"
        method = getattr(self, name, None)
        if method is not None:
            result: GuardBounds | None = method(node)
            return result
        if isinstance(node, c_ast.FuncCall):
            value = self.expressions.call(node, is_statement=True)
        else:
            value = self.expressions.value(node)
        self.expressions.sink(value, node)
        return self.expressions.bounds

    def under(self, bounds: GuardBounds, node: c_ast.Node | None) -> GuardBounds | None:
        """Evaluate a statement under further bounds; gives what holds after it."""
        before = self.expressions.bounds
        self.expressions.bounds = before | bounds
        after = self.statement(node)
        self.expressions.bounds = before
        return after

    def _compound(self, node: c_ast.Compound) -> GuardBounds | None:
        return self._sequence(node.block_items or [])

    def _sequence(self, statements: Sequence[c_ast.Node]) -> GuardBounds | None:
        before = self.expressions.bounds
        completes = True
        for statement in statements:
            after = self.statement(statement)
            if after is None:
                # What follows is dead, or reached by a label, which is refused.
                completes = False
            else:
                self.expressions.bounds = after
        after = self.expressions.bounds
        self.expressions.bounds = before
        return after if completes else None

    def _decl(self, node: c_ast.Decl) -> GuardBounds:
        expressions = self.expressions
        self._array_sizes(node.type)
        if node.init is not None:
            value = expressions.value(node.init)
            variable = expressions.bindings.of(node)
            if variable is None or variable.rank or isinstance(node.init, c_ast.InitList):
                expressions.sink(value, node.init)
            else:
                expressions.assign(variable, value, node.init)
        return expressions.bounds

    def _array_sizes(self, type_: c_ast.Node) -> None:
        while isinstance(type_, c_ast.ArrayDecl):
            if type_.dim is not None:
                self.expressions.used(type_.dim)
            type_ = type_.type

    def _decllist(self, node: c_ast.DeclList) -> GuardBounds:
        for declaration in node.decls:
            self._decl(declaration)
        return self.expressions.bounds

    def _if(self, node: c_ast.If) -> GuardBounds | None:
        condition = self.expressions.used(node.cond)
        then = self.under(condition.if_true, node.iftrue)
        otherwise = self.under(condition.if_false, node.iffalse)
        if then is None or otherwise is None:
            return otherwise if then is None else then
        return then & otherwise

    def _for(self, node: c_ast.For) -> GuardBounds:
        if node.init is not None:
            self.statement(node.init)
        self._loop(node.cond, node.stmt, node.next)
        return self.expressions.bounds

    def _while(self, node: c_ast.While) -> GuardBounds:
        self._loop(node.cond, node.stmt, None)
        return self.expressions.bounds

    def _loop(
        self, condition: c_ast.Node | None, body: c_ast.Node, step: c_ast.Node | None
    ) -> None:
        """A loop counts as an effect under its own condition: it might not end for other ids."""
        entered = NO_BOUNDS
        if condition is not None:
            entered = self.expressions.used(condition).if_true
        self.expressions.findings.effects.append(self.expressions.bounds | entered)
        self.under(entered, body)
        if step is not None:
            self.under(entered, step)

    def _dowhile(self, node: c_ast.DoWhile) -> GuardBounds:
        self.expressions.findings.effects.append(self.expressions.bounds)
        self.statement(node.stmt)
        self.expressions.used(node.cond)
        return self.expressions.bounds

    def _switch(self, node: c_ast.Switch) -> GuardBounds:
        self.expressions.used(node.cond)
        if not isinstance(node.stmt, c_ast.Compound):
            raise Doubt(node, "a switch without braces")
        for case in node.stmt.block_items or []:
            if not isinstance(case, c_ast.Case | c_ast.Default):
                raise Doubt(case, "a statement before the first case")
            self._sequence(case.stmts or [])
        return self.expressions.bounds

    def _return(self, node: c_ast.Return) -> None:
        if node.expr is not None:
            self.expressions.used(node.expr)

    def _break(self, node: c_ast.Break) -> None:
        """Control leaves the sequence."""

    def _continue(self, node: c_ast.Continue) -> None:
        """Control leaves the sequence."""

    def _goto(self, node: c_ast.Goto) -> GuardBounds:
        raise Doubt(node, "goto")

    def _label(self, node: c_ast.Label) -> GuardBounds:
        raise Doubt(node, "a label")

    def _case(self, node: c_ast.Case) -> GuardBounds:
        raise Doubt(node, "a case inside another statement")

    _default = _case
