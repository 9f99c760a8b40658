"""Variables that called functions may change through references. Takes the AST of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pycparser import c_ast

from cutune.source.function.bindings import Bindings, escape
from cutune.source.syntax.functions import SourceFunction
from cutune.source.unit.unit import UnitPart, split_commas

Candidates = Callable[[str, int], Sequence[tuple[UnitPart, SourceFunction]] | None]


class Escapes(c_ast.NodeVisitor):  # type: ignore[misc]
    """Variables that a called function may change through a reference."""

    def __init__(self, candidates: Candidates, bindings: Bindings) -> None:
        self.candidates, self.bindings = candidates, bindings

    def visit_FuncCall(self, node: c_ast.FuncCall) -> None:
        self.generic_visit(node)
        arguments = node.args.exprs if node.args is not None else ()
        if isinstance(node.name, c_ast.StructRef):
            escape(self.bindings, node.name)
            name = node.name.field.name
        else:
            name = str(getattr(node.name, "name", ""))
        for part, function in self.candidates(name, len(arguments)) or ():
            first, last = function.parameters
            parameters = split_commas(part.syntax.tokens[first + 1 : last])
            for argument, tokens in zip(arguments, parameters, strict=False):
                texts = {token.text for token in tokens}
                if texts & {"&", "&&"} and "const" not in texts:
                    escape(self.bindings, argument)
