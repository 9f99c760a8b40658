"""Values of expressions. Takes AST nodes, gives polynomials, and collects what breaks a proof.

Each expression is evaluated once, in the order of the text. Where a value is used other
than in an integer polynomial (a subscript, a comparison, a call, a store into a variable that
changes), no raw built-in may remain in it; `blockIdx.d * blockDim.d + threadIdx.d` is the id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pycparser import c_ast

from cutune.core.codes import Code
from cutune.source.function.bindings import Doubt, own_memory
from cutune.source.program import DIMENSIONS
from cutune.source.unit import library as known
from cutune.source.unit.integers import (
    INT,
    UNSIGNED,
    IntegerType,
    common,
    integer_type,
    literal_type,
    literal_value,
    promoted,
)
from cutune.source.values.guards import KNOWN, NO_BOUNDS, GuardBounds, compared, quotient, row_of
from cutune.source.values.polynomial import BLOCK_SIZE, GRID_SIZE, IntegerPolynomial, TooLarge
from cutune.source.values.values import CalledFunction, Value
from cutune.source.values.variables import BUILTINS, Variables

_SIZE_T = IntegerType(64, False)
_COMPARISONS = {"<", "<=", ">", ">=", "==", "!="}


@dataclass
class Expressions(Variables):
    """Evaluates the expressions of one function. `callee` looks a called function up."""

    callee: Callable[[str, int, c_ast.Node], CalledFunction | None] = field(kw_only=True)

    # Expressions.

    def used(self, node: c_ast.Node) -> Value:
        """Evaluate an expression whose value is used, so that it must not depend on the block."""
        return self.sink(self.value(node), node)

    def value(self, node: c_ast.Node) -> Value:
        """Evaluate an expression."""
        method = _METHODS.get(type(node))
        if method is None:
            raise Doubt(node, f"a {type(node).__name__}")
        try:
            return method(self, node)
        except TooLarge:
            raise Doubt(node, "too long an index expression") from None

    def under(self, bounds: GuardBounds, node: c_ast.Node) -> Value:
        """Evaluate an expression that is reached only under further bounds."""
        before = self.bounds
        self.bounds = before | bounds
        value = self.value(node)
        self.bounds = before
        return value

    def _identifier(self, node: c_ast.ID) -> Value:
        variable = self.bindings.of(node)
        if variable is not None:
            return self.read(variable)
        if node.name in BUILTINS:
            for dimension in DIMENSIONS:
                self.findings.indexed.add(dimension)
                self.findings.raw.setdefault(dimension, (node.name, node))
        if node.name in self.unit.shared_variables:
            self.findings.refuse(Code.SHARED_MEMORY, "", node)
        if node.name in self.unit.constants:
            constant, type_ = self.unit.constants[node.name]
            return Value(IntegerPolynomial.constant(constant), type_, True)
        return self.opaque()

    def _constant(self, node: c_ast.Constant) -> Value:
        integer = literal_value(node.value) if "int" in node.type else None
        if integer is None:
            return self.opaque(INT if node.type == "char" else None, True)
        return Value(IntegerPolynomial.constant(integer), literal_type(node.value), True)

    def _binary(self, node: c_ast.BinaryOp) -> Value:
        if node.op in ("&&", "||"):
            return self._logical(node)
        left, right = self.value(node.left), self.value(node.right)
        if node.op in _COMPARISONS:
            return self._comparison(node, left, right)
        uniform = left.uniform and right.uniform
        if left.type is None or right.type is None:
            self.sink(left, node.left)
            self.sink(right, node.right)
            return self.opaque(None, uniform)
        if node.op in ("+", "-", "*"):
            return self._ring(node, left, right)
        shift = right.polynomial.literal
        if node.op == "<<" and shift is not None and 0 <= shift < 31:
            factor = IntegerPolynomial.constant(1 << shift)
            return Value(left.polynomial * factor, promoted(left.type), uniform)
        if node.op == "/":
            type_, divisor = common(left.type, right.type), right.polynomial.literal
            if divisor is not None and divisor > 0 and left.polynomial.kinds() <= KNOWN:
                return Value(quotient(left.polynomial, divisor), type_, True)
            row = row_of(left.polynomial, right.polynomial)
            if row is not None:
                return self.divided(row, type_)
        self.sink(left, node.left)
        self.sink(right, node.right)
        is_shift = node.op in ("<<", ">>")
        return self.opaque(
            promoted(left.type) if is_shift else common(left.type, right.type), uniform
        )

    def _ring(self, node: c_ast.BinaryOp, left: Value, right: Value) -> Value:
        assert left.type is not None and right.type is not None
        type_ = common(left.type, right.type)
        left = self.converted(left, type_, node.left)
        right = self.converted(right, type_, node.right)
        a, b = left.polynomial, right.polynomial
        uniform = left.uniform and right.uniform
        try:
            result = {"+": a.__add__, "-": a.__sub__, "*": a.__mul__}[node.op](b)
        except TooLarge:
            self.sink(left, node.left)
            self.sink(right, node.right)
            return self.opaque(type_, uniform)
        return Value(result, type_, uniform)

    def _logical(self, node: c_ast.BinaryOp) -> Value:
        left = self.used(node.left)
        is_and = node.op == "&&"
        right = self.under(left.if_true if is_and else left.if_false, node.right)
        self.sink(right, node.right)
        value = self.opaque(INT, left.uniform and right.uniform)
        both_true, both_false = left.if_true | right.if_true, left.if_false | right.if_false
        if is_and:
            return value._replace(if_true=both_true, if_false=left.if_false & right.if_false)
        return value._replace(if_true=left.if_true & right.if_true, if_false=both_false)

    def _comparison(self, node: c_ast.BinaryOp, left: Value, right: Value) -> Value:
        self.sink(left, node.left)
        self.sink(right, node.right)
        value = self.opaque(INT, left.uniform and right.uniform)
        if left.type is None or right.type is None:
            return value
        type_ = common(left.type, right.type)
        left = self.converted(left, type_, node.left)
        right = self.converted(right, type_, node.right)
        if_true, if_false = compared(node.op, left.polynomial, right.polynomial, self.range_of)
        return value._replace(if_true=if_true, if_false=if_false)

    def _unary(self, node: c_ast.UnaryOp) -> Value:
        if node.op in ("sizeof", "_Alignof"):
            return self.opaque(_SIZE_T, True)
        if node.op == "&":
            return self._address(node.expr)
        if node.op in ("++", "p++", "--", "p--"):
            self._store(node.expr)
            variable = self.bindings.of(node.expr)
            return self.opaque(variable.type if variable else None)
        if node.op == "!":
            value = self.used(node.expr)
            return self.opaque(INT, value.uniform)._replace(
                if_true=value.if_false, if_false=value.if_true
            )
        value = self.value(node.expr)
        if node.op in ("-", "+") and value.type is not None:
            polynomial = -value.polynomial if node.op == "-" else value.polynomial
            type_ = promoted(value.type)
            value = self.converted(value, type_, node)
            return value._replace(polynomial=polynomial, if_true=NO_BOUNDS, if_false=NO_BOUNDS)
        self.sink(value, node.expr)
        if node.op == "*":
            self.access(value.uniform)
            return self.opaque()
        return self.opaque(promoted(value.type) if value.type else None, value.uniform)

    def _address(self, lvalue: c_ast.Node) -> Value:
        """`&lvalue`: its subscripts are evaluated, memory is not read."""
        uniform = self._subscripts(lvalue)
        return self.opaque(None, uniform)

    def _subscripts(self, node: c_ast.Node) -> bool:
        """Evaluate the parts of an lvalue; is its address the same in all threads?"""
        return self._place(node, own_memory(self.bindings, node) is not None)

    def _place(self, node: c_ast.Node, is_own: bool) -> bool:
        if isinstance(node, c_ast.ArrayRef):
            index = self.used(node.subscript)
            return self._place(node.name, is_own) and index.uniform
        if isinstance(node, c_ast.StructRef):
            if node.type == "->":
                return self.used(node.name).uniform
            return self._place(node.name, is_own)
        if isinstance(node, c_ast.UnaryOp) and node.op == "*":
            return self.used(node.expr).uniform
        if isinstance(node, c_ast.ID) and self.bindings.of(node) is None:
            self._identifier(node)
            return True
        variable = self.bindings.of(node)
        return self.used(node).uniform or (variable is not None and variable.rank > 0 and is_own)

    def _element(self, node: c_ast.Node) -> Value:
        """Read `a[i]`, `s.m` or `p->m`."""
        if isinstance(node, c_ast.StructRef) and isinstance(node.name, c_ast.ID):
            name, member = node.name.name, node.field.name
            if name in BUILTINS and self.bindings.of(node.name) is None:
                return self._builtin(name, member, node)
        uniform = self._subscripts(node)
        if not self._is_own(node):
            self.access(uniform)
        own = own_memory(self.bindings, node)
        return self.opaque(None, uniform and own is not None and own.is_parameter)

    def _is_own(self, lvalue: c_ast.Node) -> bool:
        """Is it a variable's own memory, or was it counted where a reference was bound?"""
        if own_memory(self.bindings, lvalue) is not None:
            return True
        while isinstance(lvalue, c_ast.StructRef) and lvalue.type == ".":
            lvalue = lvalue.name
        variable = self.bindings.of(lvalue)
        return variable is not None and variable.is_reference

    def _builtin(self, name: str, dimension: str, node: c_ast.Node) -> Value:
        if dimension not in DIMENSIONS:
            raise Doubt(node, f"{name}.{dimension}")
        self.findings.indexed.add(dimension)
        if name == GRID_SIZE:
            self.findings.strides.add(dimension)
        uniform = name in (GRID_SIZE, BLOCK_SIZE)
        return Value(IntegerPolynomial.atom(name, dimension), UNSIGNED, uniform)

    def _assignment(self, node: c_ast.Assignment) -> Value:
        value = self.value(node.rvalue)
        variable = self.bindings.of(node.lvalue)
        if variable is not None and not variable.is_reference and node.op == "=":
            self.assign(variable, value, node.rvalue)
            return self.assigned(variable)
        self.sink(value, node.rvalue)
        self._store(node.lvalue)
        return self.opaque(variable.type if variable else None)

    def _store(self, lvalue: c_ast.Node) -> None:
        variable = self.bindings.of(lvalue) if isinstance(lvalue, c_ast.ID) else None
        if variable is not None:
            if variable.is_reference:
                self.access(uniform=False)
            return
        self._subscripts(lvalue)
        if own_memory(self.bindings, lvalue) is None:
            self.access(uniform=False)

    def _cast(self, node: c_ast.Cast) -> Value:
        value = self.value(node.expr)
        type_ = node.to_type.type
        if isinstance(type_, c_ast.TypeDecl) and isinstance(type_.type, c_ast.IdentifierType):
            words = type_.type.names
            if words == ["void"]:
                return value
            integer = integer_type(words, self.unit.typedefs)
            if integer is not None:
                return self.converted(value, integer, node.expr)
        self.sink(value, node.expr)
        return self.opaque(None, value.uniform)

    def _choice(self, node: c_ast.TernaryOp) -> Value:
        condition = self.used(node.cond)
        left = self.under(condition.if_true, node.iftrue)
        right = self.under(condition.if_false, node.iffalse)
        self.sink(left, node.iftrue)
        self.sink(right, node.iffalse)
        both = left.type is not None and right.type is not None
        type_ = common(left.type, right.type) if both and left.type and right.type else None
        return self.opaque(type_, condition.uniform and left.uniform and right.uniform)

    def _list(self, node: c_ast.ExprList | c_ast.InitList) -> Value:
        values = [self.used(expression) for expression in node.exprs or ()]
        is_list = isinstance(node, c_ast.InitList)
        return self.opaque() if is_list or not values else values[-1]

    # Calls.

    def call(self, node: c_ast.FuncCall, is_statement: bool = False) -> Value:
        """Evaluate a call. `is_statement`: its value is not used."""
        arguments: Sequence[c_ast.Node] = node.args.exprs if node.args is not None else ()
        values = [self.used(argument) for argument in arguments]
        uniform = all(value.uniform for value in values)
        if isinstance(node.name, c_ast.StructRef):
            self._object(node.name)
            name = node.name.field.name
        elif isinstance(node.name, c_ast.ID) and self.bindings.of(node.name) is None:
            name = node.name.name
        else:
            self.findings.refuse(Code.UNKNOWN_FUNCTION, "a function value", node)
            return self.opaque()
        callee = self.callee(name, len(arguments), node)
        if callee is not None:
            if callee.has_effects or callee.reads:
                self.access(uniform and not callee.has_effects)
            return callee.result or self.opaque()
        return self._library_call(name, node, uniform, is_statement)

    def _object(self, node: c_ast.StructRef) -> None:
        """The object of a member function, which may read it."""
        uniform = self.used(node.name).uniform if node.type == "->" else self._subscripts(node.name)
        if not self._is_own(node):
            self.access(uniform)

    def _library_call(
        self, name: str, node: c_ast.FuncCall, uniform: bool, is_statement: bool
    ) -> Value:
        if known.is_atomic(name):
            self.access(uniform=False)
            if not is_statement:
                self.findings.refuse(Code.ATOMIC_RESULT, name, node)
            return self.opaque()
        code = known.refusal(name)
        if code is not None:
            self.findings.refuse(code, name, node)
        elif name in ("__construct", "__init") or name in self.unit.formulas:
            return self.opaque(None, uniform)
        elif known.has_effect(name):
            self.access(uniform=False)
        elif isinstance(node.name, c_ast.StructRef) or not known.is_pure(name):
            self.findings.refuse(Code.UNKNOWN_FUNCTION, f"'{name.replace('$', '::')}'", node)
        return self.opaque(None, uniform)


_METHODS: dict[type, Callable[[Expressions, c_ast.Node], Value]] = {
    c_ast.ID: Expressions._identifier,
    c_ast.Constant: Expressions._constant,
    c_ast.BinaryOp: Expressions._binary,
    c_ast.UnaryOp: Expressions._unary,
    c_ast.ArrayRef: Expressions._element,
    c_ast.StructRef: Expressions._element,
    c_ast.Assignment: Expressions._assignment,
    c_ast.Cast: Expressions._cast,
    c_ast.TernaryOp: Expressions._choice,
    c_ast.ExprList: Expressions._list,
    c_ast.InitList: Expressions._list,
    c_ast.FuncCall: Expressions.call,
}
