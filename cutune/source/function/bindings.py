"""Which variable an identifier means. Takes the AST of one function, gives `Bindings`.

Each variable lists everything that may change it. A variable with one assignment can then be
replaced by its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pycparser import c_ast

from cutune.source.unit.integers import IntegerType, integer_type


class Doubt(Exception):
    """A construct about which nothing is proven."""

    def __init__(self, node: c_ast.Node, what: str) -> None:
        super().__init__(what)
        self.node, self.what = node, what


#: Expressions that are lvalues where an operand is one.
_TRANSPARENT = (c_ast.TernaryOp, c_ast.Assignment, c_ast.Cast, c_ast.ExprList, c_ast.UnaryOp)


@dataclass(eq=False)
class DeviceVariable:
    """A parameter or local variable. `values` are the expressions assigned with plain `=`."""

    name: str
    type: IntegerType | None
    is_parameter: bool = False
    is_reference: bool = False
    is_pointer: bool = False
    #: Declared `auto`: it has the type of its value.
    is_auto: bool = False
    #: Number of array dimensions of its own.
    rank: int = 0
    values: list[c_ast.Node] = field(default_factory=list)
    #: `+=`, `++` and the like: (operator, right-hand side or None).
    steps: list[tuple[str, c_ast.Node | None]] = field(default_factory=list)
    #: Its address is taken, a part of it is assigned, or it is bound to a reference.
    escapes: bool = False
    #: The variable itself escapes, not only an array in it or what a pointer in it points to.
    members_escape: bool = False

    @property
    def is_constant(self) -> bool:
        """Does it keep the value of its only assignment (or of the launch)?"""
        if self.escapes or self.steps:
            return False
        return not self.values if self.is_parameter else len(self.values) == 1

    @property
    def keeps_members(self) -> bool:
        """Of a parameter: do its members keep their values from the launch?"""
        return not (self.values or self.steps or self.members_escape)


@dataclass
class Bindings:
    """`variables[id(node)]` is the variable of an `ID` or `Decl` node; the rest is free."""

    variables: dict[int, DeviceVariable] = field(default_factory=dict)
    parameters: dict[str, DeviceVariable] = field(default_factory=dict)
    #: Free identifiers with one node each, callees left out.
    free: dict[str, c_ast.ID] = field(default_factory=dict)

    def of(self, node: c_ast.Node) -> DeviceVariable | None:
        """The variable that an identifier names."""
        return self.variables.get(id(node))


@dataclass(frozen=True)
class ParameterType:
    """What the declaration of a parameter says."""

    name: str
    integer: IntegerType | None
    is_pointer: bool
    is_reference: bool
    #: The words of a type that is given by value, or by reference to what stays as it is.
    value: tuple[str, ...] = ()


def bind(
    function: c_ast.FuncDef,
    parameters: Sequence[ParameterType],
    references: frozenset[str],
    typedefs: Mapping[str, Sequence[str]],
) -> Bindings:
    """Resolve all identifiers of a function."""
    binder = _Binder(references, typedefs)
    scope: dict[str, DeviceVariable] = {}
    for parameter in parameters:
        variable = DeviceVariable(
            parameter.name,
            None if parameter.is_pointer or parameter.is_reference else parameter.integer,
            is_parameter=True,
            is_reference=parameter.is_reference,
            is_pointer=parameter.is_pointer,
        )
        scope[parameter.name] = binder.bindings.parameters[parameter.name] = variable
    binder.scopes.append(scope)
    binder.visit(function.body)
    return binder.bindings


def escape(bindings: Bindings, lvalue: c_ast.Node) -> None:
    """Something may change the variable behind an lvalue (memory behind a pointer is none).

    Raises:
        Doubt: it is an integer that the caller gives, which bounds may speak of.
    """
    node, is_part = lvalue, True
    while isinstance(node, c_ast.StructRef | c_ast.ArrayRef):
        is_part = is_part and isinstance(node, c_ast.StructRef) and node.type == "."
        node = node.name
    variable = bindings.of(node)
    if variable is not None:
        if variable.is_parameter and variable.type is not None:
            raise Doubt(node, f"'{variable.name}', which may change unseen")
        variable.members_escape = variable.members_escape or is_part
        # What a pointer points to is no part of it.
        if node is lvalue or not (variable.is_pointer and not variable.rank):
            variable.escapes = True
    elif isinstance(node, _TRANSPARENT) and not (
        isinstance(node, c_ast.UnaryOp) and node.op == "*"
    ):
        # `c ? i : j` and the like: any of the names in it.
        for _, child in node.children():
            if child is not getattr(node, "cond", None):
                escape(bindings, child)


class _Binder(c_ast.NodeVisitor):  # type: ignore[misc]
    def __init__(self, references: frozenset[str], typedefs: Mapping[str, Sequence[str]]) -> None:
        self.bindings = Bindings()
        self.scopes: list[dict[str, DeviceVariable]] = []
        self.references = references
        self.typedefs = typedefs

    def visit_Compound(self, node: c_ast.Compound) -> None:
        self._scoped(node)

    def visit_For(self, node: c_ast.For) -> None:
        self._scoped(node)

    def _scoped(self, node: c_ast.Node) -> None:
        self.scopes.append({})
        self.generic_visit(node)
        self.scopes.pop()

    def visit_Decl(self, node: c_ast.Decl) -> None:
        if node.name is None:
            return
        if node.init is not None:
            self.visit(node.init)
        self.visit(node.type)
        if node.name in self.scopes[-1]:
            raise Doubt(node, f"'{node.name}' is declared twice")
        variable = self._variable(node)
        self.scopes[-1][node.name] = variable
        self.bindings.variables[id(node)] = variable
        if node.init is not None and not variable.rank:
            if isinstance(node.init, c_ast.InitList):
                variable.escapes = True
            else:
                variable.values.append(node.init)
            if node.name in self.references:
                escape(self.bindings, node.init)

    def _variable(self, node: c_ast.Decl) -> DeviceVariable:
        type_, rank = node.type, 0
        while isinstance(type_, c_ast.ArrayDecl):
            rank, type_ = rank + 1, type_.type
        is_reference = node.name in self.references
        is_pointer = isinstance(type_, c_ast.PtrDecl) and not is_reference
        words: Sequence[str] = ()
        if isinstance(type_, c_ast.TypeDecl) and isinstance(type_.type, c_ast.IdentifierType):
            words = type_.type.names
        is_plain = not (is_pointer or is_reference or rank)
        return DeviceVariable(
            node.name,
            integer_type(words, self.typedefs) if is_plain else None,
            is_reference=is_reference,
            is_pointer=is_pointer,
            is_auto=list(words) == ["__auto"] and is_plain,
            rank=rank,
        )

    def visit_Typename(self, node: c_ast.Typename) -> None:
        return

    def visit_TypeDecl(self, node: c_ast.TypeDecl) -> None:
        return

    def visit_StructRef(self, node: c_ast.StructRef) -> None:
        self.visit(node.name)

    def visit_FuncCall(self, node: c_ast.FuncCall) -> None:
        if isinstance(node.name, c_ast.ID):
            variable = self._look_up(node.name.name)
            if variable is not None:
                self.bindings.variables[id(node.name)] = variable
        else:
            self.visit(node.name)
        if node.args is not None:
            self.visit(node.args)

    def visit_ID(self, node: c_ast.ID) -> None:
        variable = self._look_up(node.name)
        if variable is None:
            self.bindings.free.setdefault(node.name, node)
        else:
            self.bindings.variables[id(node)] = variable

    def visit_Assignment(self, node: c_ast.Assignment) -> None:
        self.visit(node.lvalue)
        self.visit(node.rvalue)
        variable = self.bindings.of(node.lvalue)
        if variable is None:
            escape(self.bindings, node.lvalue)
        elif node.op == "=":
            variable.values.append(node.rvalue)
        else:
            variable.steps.append((node.op, node.rvalue))

    def visit_UnaryOp(self, node: c_ast.UnaryOp) -> None:
        if node.op in ("sizeof", "_Alignof"):
            return
        self.visit(node.expr)
        if node.op == "&":
            escape(self.bindings, node.expr)
        elif node.op in ("++", "p++", "--", "p--"):
            variable = self.bindings.of(node.expr)
            if variable is None:
                escape(self.bindings, node.expr)
            else:
                variable.steps.append((node.op[-2:], None))

    def _look_up(self, name: str) -> DeviceVariable | None:
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None


def own_memory(bindings: Bindings, lvalue: c_ast.Node) -> DeviceVariable | None:
    """The variable whose own memory an lvalue lies in; None for memory behind a pointer."""
    node, subscripts = lvalue, 0
    while isinstance(node, c_ast.StructRef | c_ast.ArrayRef):
        if isinstance(node, c_ast.StructRef):
            if node.type != "." or subscripts:
                return None
        else:
            subscripts += 1
        node = node.name
    variable = bindings.of(node) if isinstance(node, c_ast.ID) else None
    if variable is None or variable.is_reference or subscripts > variable.rank:
        return None
    return variable
