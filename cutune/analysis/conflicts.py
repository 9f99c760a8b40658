"""Where threads of a warp may hand values to each other. Takes the AST of one function.

Programs have relied on the threads of a warp running in step: one reads what its neighbour has
written or is about to write, without a barrier. Such a program goes on working where each warp
keeps its threads. An array is looked at where it is read and written: at places that differ, or,
for a kernel, at one place that several threads may share. Arrays are told apart by the pointer
that they are reached through.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from pycparser import c_ast

from cutune.analysis import known
from cutune.analysis.bindings import Bindings, Variable, own_memory
from cutune.analysis.polynomial import IDENTITY
from cutune.analysis.unit import BUILTINS, Unit
from cutune.analysis.values import Value
from cutune.program import DIMENSIONS

#: An array, and the subscripts that lead to one of its elements.
_Place = tuple[str, tuple[str, ...], frozenset[str]]
_BUILTINS = frozenset({"threadIdx", "blockIdx"})
_LINEAR = frozenset({"+", "-", "*", "<<"})
_DEEPEST = 12
_NOWHERE: frozenset[str] = frozenset()


class Conflicts(c_ast.NodeVisitor):  # type: ignore[misc]
    """Collects the places that are read and written.

    Args:
        values: what is known of the variables.
        writes: may a function of this name, called with so many arguments, write memory?
    """

    def __init__(
        self,
        bindings: Bindings,
        values: Mapping[Variable, Value],
        unit: Unit,
        writes: Callable[[str, int], bool | None],
    ) -> None:
        self.bindings, self.values = bindings, values
        self.unit, self.writes = unit, writes
        self.read: defaultdict[str, set[_Place]] = defaultdict(set)
        self.written: defaultdict[str, set[_Place]] = defaultdict(set)
        self.versions: defaultdict[Variable, int] = defaultdict(int)

    def found(self, indexed: frozenset[str], is_kernel: bool) -> bool:
        """May threads meet in memory? `indexed`: the dimensions that tell them apart."""
        for array, written in self.written.items():
            read = self.read[array]
            if read and len(read | written) > 1:
                return True
            if is_kernel and any(not indexed <= ids for _, _, ids in read & written):
                return True
        return False

    # What is done, in the order of the text.

    def visit_Assignment(self, node: c_ast.Assignment) -> None:
        self.visit(node.rvalue)
        self._changes(node.lvalue, is_read=node.op != "=")

    def visit_UnaryOp(self, node: c_ast.UnaryOp) -> None:
        if node.op in ("++", "p++", "--", "p--"):
            self._changes(node.expr, is_read=True)
        elif node.op == "*":
            self._touch(node, self.read)
            self.visit(node.expr)
        elif node.op == "&":
            self._visit_subscripts(node.expr)
        elif node.op != "sizeof":
            self.visit(node.expr)

    def visit_ArrayRef(self, node: c_ast.ArrayRef) -> None:
        self._touch(node, self.read)
        self._visit_subscripts(node)

    def visit_StructRef(self, node: c_ast.StructRef) -> None:
        self._touch(node, self.read)
        self._visit_subscripts(node)

    def visit_Decl(self, node: c_ast.Decl) -> None:
        if node.init is not None:
            self.visit(node.init)

    def visit_FuncCall(self, node: c_ast.FuncCall) -> None:
        arguments = node.args.exprs if node.args is not None else ()
        for argument in arguments:
            self.visit(argument)
        name = str(getattr(node.name, "name", ""))
        writes = self.writes(name, len(arguments))
        if writes is None or known.is_atomic(name):
            return
        texts = [self._subscript(argument, 0) for argument in arguments]
        subscripts = tuple(text for text, _ in texts)
        ids = _NOWHERE.union(*(dimensions for _, dimensions in texts))
        for argument in arguments:
            place = self._pointer(argument, 0) if self._is_address(argument) else None
            if place is not None:
                called = (place[0], (name, *subscripts), ids | place[2])
                self.read[place[0]].add(called)
                if writes:
                    self.written[place[0]].add(called)

    def _is_address(self, node: c_ast.Node) -> bool:
        """Does an argument look like a pointer (rather than an element)?"""
        if isinstance(node, c_ast.BinaryOp):
            return self._is_address(node.left) or self._is_address(node.right)
        if isinstance(node, c_ast.Cast):
            return self._is_address(node.expr)
        if isinstance(node, c_ast.StructRef):
            return isinstance(node.name, c_ast.ID) and node.name.name not in BUILTINS
        return isinstance(node, c_ast.ID) or (isinstance(node, c_ast.UnaryOp) and node.op == "&")

    def _changes(self, lvalue: c_ast.Node, is_read: bool) -> None:
        variable = self.bindings.of(lvalue)
        if variable is not None and not variable.is_reference:
            self.versions[variable] += 1
            return
        self._visit_subscripts(lvalue)
        if is_read:
            self._touch(lvalue, self.read)
        self._touch(lvalue, self.written)

    def _visit_subscripts(self, lvalue: c_ast.Node) -> None:
        node = lvalue
        while isinstance(node, c_ast.ArrayRef | c_ast.StructRef):
            if isinstance(node, c_ast.ArrayRef):
                self.visit(node.subscript)
            node = node.name
        if not isinstance(node, c_ast.ID):
            self.visit(node.expr if isinstance(node, c_ast.UnaryOp) else node)

    def _touch(self, lvalue: c_ast.Node, places: defaultdict[str, set[_Place]]) -> None:
        place = self._place(lvalue, 0)
        if place is not None:
            places[place[0]].add(place)

    # Places.

    def _place(self, node: c_ast.Node, depth: int) -> _Place | None:
        """Where an lvalue lies; None for the thread's own variables, or where it is not known."""
        if own_memory(self.bindings, node) is not None or depth > _DEEPEST:
            return None
        if isinstance(node, c_ast.ArrayRef):
            return self._with(self._pointer(node.name, depth), node.subscript, depth)
        if isinstance(node, c_ast.UnaryOp) and node.op == "*":
            return self._pointer(node.expr, depth)
        if isinstance(node, c_ast.StructRef):
            inner = self._pointer if node.type == "->" else self._place
            return inner(node.name, depth)
        variable = self.bindings.of(node)
        if variable is not None and variable.is_reference:
            if variable.values and not variable.is_parameter:
                # What it is bound to; later values are stored there.
                return self._place(variable.values[0], depth + 1)
            return (_key(variable), (), _NOWHERE)
        return None

    def _pointer(self, node: c_ast.Node, depth: int) -> _Place | None:
        """Where a pointer leads to."""
        if depth > _DEEPEST:
            return None
        if isinstance(node, c_ast.Cast):
            place = self._pointer(node.expr, depth)
            return place and (place[0], ("cast", *place[1]), place[2])
        if isinstance(node, c_ast.BinaryOp) and node.op == "+":
            left = self._pointer(node.left, depth)
            if left is not None:
                return self._with(left, node.right, depth)
            return self._with(self._pointer(node.right, depth), node.left, depth)
        if isinstance(node, c_ast.UnaryOp) and node.op == "&":
            return self._place(node.expr, depth)
        if isinstance(node, c_ast.StructRef | c_ast.ArrayRef):
            return self._member(node, depth)
        if not isinstance(node, c_ast.ID):
            return None
        variable = self.bindings.of(node)
        if variable is None:
            return (node.name, (), _NOWHERE) if node.name not in BUILTINS else None
        if variable.rank or not (variable.is_pointer or variable.is_parameter or variable.is_auto):
            return None
        if variable.is_parameter and variable.type is not None:
            return None
        if variable.is_parameter or not variable.values:
            version = (str(self.versions[variable]),) if self.versions[variable] else ()
            return (_key(variable), version, _NOWHERE)
        start = self._pointer(variable.values[0], depth + 1)
        if start is None or variable.is_constant:
            return start
        return (start[0], (*start[1], _key(variable), str(self.versions[variable])), start[2])

    def _member(self, node: c_ast.Node, depth: int) -> _Place | None:
        """A pointer that is itself read from an object or an array."""
        if isinstance(node, c_ast.ArrayRef):
            return self._with(self._pointer(node.name, depth), node.subscript, depth)
        root = self._pointer(node.name, depth)
        return root and (f"{root[0]}.{node.field.name}", root[1], root[2])

    def _with(self, place: _Place | None, subscript: c_ast.Node, depth: int) -> _Place | None:
        if place is None:
            return None
        text, ids = self._subscript(subscript, depth)
        return (place[0], (*place[1], text), place[2] | ids)

    # Subscripts.

    def _subscript(self, node: c_ast.Node, depth: int) -> tuple[str, frozenset[str]]:
        """Text that is the same for the same value, and the ids that the value is linear in."""
        if depth > _DEEPEST:
            return f"deep {id(node)}", _NOWHERE
        if isinstance(node, c_ast.ID):
            return self._name(node, depth)
        if isinstance(node, c_ast.Constant):
            return str(node.value), _NOWHERE
        if isinstance(node, c_ast.Cast):
            return self._subscript(node.expr, depth)
        if isinstance(node, c_ast.StructRef) and isinstance(node.name, c_ast.ID):
            is_built_in = node.name.name in _BUILTINS and self.bindings.of(node.name) is None
            ids = frozenset({node.field.name}) if is_built_in else _NOWHERE
            return f"{self._name(node.name, depth)[0]}.{node.field.name}", ids
        children = [self._subscript(child, depth + 1) for _, child in node.children()]
        texts = [text for text, _ in children]
        operator = str(getattr(node, "op", type(node).__name__))
        if operator in ("+", "*"):
            texts.sort()
        if isinstance(node, c_ast.FuncCall):
            name = str(getattr(node.name, "name", ""))
            is_linear = name == "__construct" or self.unit.adds_and_multiplies(name)
        else:
            is_linear = operator in _LINEAR or isinstance(node, c_ast.ExprList)
        ids = _NOWHERE.union(*(ids for _, ids in children)) if is_linear else _NOWHERE
        return f"{operator}({', '.join(texts)})", ids

    def _name(self, node: c_ast.ID, depth: int) -> tuple[str, frozenset[str]]:
        variable = self.bindings.of(node)
        if variable is None:
            return node.name, _NOWHERE
        value = self.values.get(variable)
        ids = _NOWHERE
        if value is not None and value.type is not None:
            ids = frozenset(a.name for a in value.polynomial.atoms if a.kind == IDENTITY)
        for first in variable.values[:1]:
            if not ids and depth <= _DEEPEST:
                ids = self._subscript(first, depth + 1)[1]
        if variable.is_constant and variable.values and value is not None and ids:
            return str(value.polynomial.terms), ids & frozenset(DIMENSIONS)
        return f"{_key(variable)}@{self.versions[variable]}", ids & frozenset(DIMENSIONS)


def _key(variable: Variable) -> str:
    return variable.name if variable.is_parameter else f"{variable.name} {id(variable)}"
