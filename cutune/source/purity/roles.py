"""Roles of integer parameters. Takes the proof about a kernel, gives its data parameters.

A simple flow analysis. An expression is a sum of signed products; a parameter's role depends on its
side of a comparison, or on the varying factor beside it in an address. A comparison is read as it
holds where the work is done: one that leads out of the work is negated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

from pycparser import c_ast

from cutune.source.c_names import names_in
from cutune.source.function.bindings import Bindings, DeviceVariable
from cutune.source.function.members import called_members
from cutune.source.program import DataParameter, Role
from cutune.source.purity.leaving import ends_loop, leaves, only_leaves
from cutune.source.purity.proof import Proof
from cutune.source.purity.prove import Prover
from cutune.source.values.polynomial import PARAMETER, QUOTIENT, IntegerPolynomial

_STRONGEST_FIRST = tuple(Role)
_COMPARISONS = frozenset({"<", "<=", ">", ">=", "==", "!="})
_BUILTINS = frozenset({"threadIdx", "blockIdx", "blockDim", "gridDim"})
_MAXIMAL_TERMS = 64


class Term(NamedTuple):
    """A product: its sign, the parameters in it, and whether it differs between evaluations."""

    sign: int
    parameters: frozenset[str]
    varies: bool


def data_parameters(prover: Prover, proof: Proof) -> tuple[DataParameter, ...]:
    """The integer parameters, and members, that reach a condition or an address, in their order."""
    roles = _Roles(prover).of(proof)
    names = [argument.name for argument in (*proof.parameters, *proof.bound.members)]
    return tuple(DataParameter(name, roles[name]) for name in names if name in roles)


@dataclass
class _Roles:
    """Roles per function, each found once; within recursion a function gives none."""

    prover: Prover
    _known: dict[int, dict[str, Role]] = field(default_factory=dict)

    def of(self, proof: Proof) -> dict[str, Role]:
        """The roles of a function's integer parameters."""
        if proof.tree is None or proof.bindings is None:
            return {}
        if id(proof) not in self._known:
            self._known[id(proof)] = {}
            self._known[id(proof)] = self._found(proof, proof.bindings, proof.tree)
        return self._known[id(proof)]

    def _found(self, proof: Proof, bindings: Bindings, tree: c_ast.FuncDef) -> dict[str, Role]:
        flow = _Flow(self, bindings)
        for limit in proof.limits.values():
            flow.guard(limit)
        flow.body(tree.body)
        integers = {n for n, v in bindings.parameters.items() if v.type is not None}
        return {
            name: min(found, key=_STRONGEST_FIRST.index)
            for name, found in flow.roles.items()
            if name in integers
        }

    def callees(self, name: str, count: int) -> list[Proof]:
        """The proofs about the functions that a call may reach."""
        candidates = self.prover.candidates(name, count) or ()
        found = (self.prover.prove(*candidate) for candidate in candidates)
        return [proof for proof in found if proof is not None]


@dataclass
class _Flow(c_ast.NodeVisitor):  # type: ignore[misc]
    functions: _Roles
    bindings: Bindings
    roles: dict[str, set[Role]] = field(default_factory=dict)
    #: Conditions that were judged, with the reading; a comparison elsewhere is judged at the end.
    _judged: set[tuple[int, Role, bool]] = field(default_factory=set)
    _elsewhere: list[c_ast.BinaryOp] = field(default_factory=list)
    _in_loop: bool = False
    _breaks_loop: bool = False
    _expanding: set[DeviceVariable] = field(default_factory=set)
    _known_terms: dict[DeviceVariable, list[Term]] = field(default_factory=dict)

    def body(self, node: c_ast.Compound) -> None:
        """Judge a whole function."""
        self.visit(node)
        judged = {number for number, _, _ in self._judged}
        for comparison in self._elsewhere:
            if id(comparison) not in judged:
                self._comparison(comparison, Role.BRANCH, False)

    def add(self, names: Iterable[str], role: Role) -> None:
        """Note one use."""
        for name in names:
            self.roles.setdefault(name, set()).add(role)

    def guard(self, limit: IntegerPolynomial) -> None:
        """Parameters added in a guard are sizes; subtracted ones count launches."""
        for monomial, coefficient in limit.terms:
            role = Role.GUARD if coefficient > 0 else Role.COUNTER
            self.add((a.name for a in monomial if a.kind == PARAMETER), role)
            for text in (a.name for a in monomial if a.kind == QUOTIENT):
                for term in re.split(r"(?=[+-] )", text):
                    subtracted = Role.COUNTER if term.startswith("-") else role
                    self.add(names_in(term), subtracted)

    # Conditions.

    def visit_If(self, node: c_ast.If) -> None:
        branches = [branch for branch in (node.iftrue, node.iffalse) if branch is not None]
        ends = any(ends_loop(b, self._in_loop, self._breaks_loop) for b in branches)
        for negated in _readings(node):
            self._condition(node.cond, Role.BOUND if ends else Role.BRANCH, negated)
        self.generic_visit(node)

    def visit_TernaryOp(self, node: c_ast.TernaryOp) -> None:
        self._condition(node.cond, Role.BRANCH)
        self.generic_visit(node)

    def visit_Switch(self, node: c_ast.Switch) -> None:
        self._condition(node.cond, Role.BRANCH)
        before, self._breaks_loop = self._breaks_loop, False
        self.generic_visit(node)
        self._breaks_loop = before

    def visit_For(self, node: c_ast.For) -> None:
        if node.cond is not None:
            self._condition(node.cond, Role.BOUND)
        before = self._in_loop, self._breaks_loop
        self._in_loop = self._breaks_loop = True
        self.generic_visit(node)
        self._in_loop, self._breaks_loop = before

    visit_While = visit_DoWhile = visit_For

    def _condition(self, node: c_ast.Node, plain: Role, negated: bool = False) -> None:
        """`plain` is the role of a parameter compared with nothing that varies."""
        if (id(node), plain, negated) in self._judged:
            return
        self._judged.add((id(node), plain, negated))
        if isinstance(node, c_ast.BinaryOp) and node.op in ("&&", "||"):
            self._condition(node.left, plain, negated)
            self._condition(node.right, plain, negated)
        elif isinstance(node, c_ast.UnaryOp) and node.op == "!":
            self._condition(node.expr, plain, not negated)
        elif isinstance(node, c_ast.BinaryOp) and node.op in _COMPARISONS:
            self._comparison(node, plain, negated)
        elif (tested := self._flag(node)) is not None:
            self._condition(tested, plain, negated)
        else:
            for term in self.terms(node):
                self.add(term.parameters, plain)

    def _flag(self, node: c_ast.Node) -> c_ast.Node | None:
        """The condition that a variable stands for: `bool inside = i < n`."""
        variable = self.bindings.of(node)
        if variable is None or variable.is_parameter or not variable.is_constant:
            return None
        (value,) = variable.values
        is_negation = isinstance(value, c_ast.UnaryOp) and value.op == "!"
        is_test = isinstance(value, c_ast.BinaryOp) and value.op in {"&&", "||", *_COMPARISONS}
        return value if is_negation or is_test else None

    def _comparison(self, node: c_ast.BinaryOp, plain: Role, negated: bool) -> None:
        left, right = self.terms(node.left), self.terms(node.right)
        if (node.op in (">", ">=")) is not negated:
            left, right = right, left
        has_counterpart = all(any(t.varies or t.parameters for t in side) for side in (left, right))
        varies = any(term.varies for term in (*left, *right))
        if not has_counterpart and not varies:
            self.add((n for term in (*left, *right) for n in term.parameters), plain)
            return
        is_equality = node.op in ("==", "!=")
        for side, larger in ((left, -1), (right, 1)):
            for term in side:
                is_bound = term.sign * larger > 0 and not is_equality
                is_loop_end = is_equality and plain is Role.BOUND
                role = Role.BOUND if is_bound or is_loop_end else Role.COUNTER
                self.add(term.parameters, role)

    def visit_BinaryOp(self, node: c_ast.BinaryOp) -> None:
        if node.op in _COMPARISONS:
            self._elsewhere.append(node)
        self.generic_visit(node)

    # Addresses.

    def visit_ArrayRef(self, node: c_ast.ArrayRef) -> None:
        self._address(node.subscript)
        if isinstance(node.name, c_ast.ID):
            self._address(node.name)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: c_ast.UnaryOp) -> None:
        if node.op == "*":
            self._address(node.expr)
        self.generic_visit(node)

    def visit_StructRef(self, node: c_ast.StructRef) -> None:
        if node.type == "->":
            self._address(node.name)
        self.visit(node.name)

    def _address(self, node: c_ast.Node) -> None:
        for term in self.terms(node):
            self.add(term.parameters, Role.STRIDE if term.varies else Role.OFFSET)

    # Calls.

    def visit_FuncCall(self, node: c_ast.FuncCall) -> None:
        self.generic_visit(node)
        name = getattr(node.name, "name", None)
        arguments: Sequence[c_ast.Node] = node.args.exprs if node.args is not None else ()
        if not isinstance(name, str):
            return
        for proof in self.functions.callees(name, len(arguments)):
            roles = self.functions.of(proof)
            for parameter, argument in zip(proof.parameters, arguments, strict=False):
                if parameter.is_pointer:
                    self._address(argument)
                elif parameter.name in roles:
                    for term in self.terms(argument):
                        self.add(term.parameters, roles[parameter.name])
            for name, inner in self._passed(node, proof):
                if inner in roles:
                    self.add((name,), roles[inner])

    def _passed(self, node: c_ast.FuncCall, proof: Proof) -> Iterator[tuple[str, str]]:
        """Members that a called function reads of a structure that it gets."""
        names = [parameter.name for parameter in proof.parameters]
        return called_members(node, names, proof.bound.members, self.bindings)

    # Expressions as sums of products.

    def terms(self, node: c_ast.Node) -> list[Term]:
        """The signed products that an expression is a sum of."""
        found = self._terms(node)
        return found if len(found) <= _MAXIMAL_TERMS else [self._product(node)]

    def _terms(self, node: c_ast.Node) -> list[Term]:
        if isinstance(node, c_ast.Cast):
            return self.terms(node.expr)
        if isinstance(node, c_ast.ID):
            return self._variable(node)
        if isinstance(node, c_ast.UnaryOp) and node.op in ("-", "+"):
            sign = -1 if node.op == "-" else 1
            return [t._replace(sign=t.sign * sign) for t in self.terms(node.expr)]
        if isinstance(node, c_ast.BinaryOp) and node.op in ("+", "-"):
            sign = -1 if node.op == "-" else 1
            right = [t._replace(sign=t.sign * sign) for t in self.terms(node.right)]
            return self.terms(node.left) + right
        if isinstance(node, c_ast.BinaryOp) and node.op == "*":
            factors = self.terms(node.left), self.terms(node.right)
            return [
                Term(a.sign * b.sign, a.parameters | b.parameters, a.varies or b.varies)
                for a, b in product(*factors)
            ]
        return [self._product(node)]

    def _product(self, node: c_ast.Node) -> Term:
        """Any other expression counts as one product of all its parts."""
        if isinstance(node, c_ast.ArrayRef):
            # A loaded value; its address is judged by itself.
            return Term(1, frozenset(), True)
        names: set[str] = set()
        varies = isinstance(node, c_ast.FuncCall)
        if isinstance(node, c_ast.FuncCall) and isinstance(node.name, c_ast.ID):
            arguments = node.args.exprs if node.args is not None else ()
            for proof in self.functions.callees(node.name.name, len(arguments)):
                names |= {name for name, _ in self._passed(node, proof)}
        for _, child in node.children():
            for term in self._product(child), *(self._terms(child) if _is_name(child) else ()):
                names |= term.parameters
                varies |= term.varies
        if isinstance(node, c_ast.ID):
            varies |= node.name in _BUILTINS
        return Term(1, frozenset(names), varies)

    def _variable(self, node: c_ast.ID) -> list[Term]:
        variable = self.bindings.of(node)
        if variable is None:
            return [Term(1, frozenset(), node.name in _BUILTINS)]
        if variable.is_parameter and not variable.values and not variable.steps:
            return [Term(1, frozenset({variable.name}), False)]
        if variable in self._expanding:
            return [Term(1, frozenset(), True)]
        if variable not in self._known_terms:
            self._expanding.add(variable)
            self._known_terms[variable] = self._expanded(variable)
            self._expanding.discard(variable)
        return self._known_terms[variable]

    def _expanded(self, variable: DeviceVariable) -> list[Term]:
        found = [term for value in variable.values for term in self.terms(value)]
        if variable.is_constant:
            return found
        own = frozenset({variable.name}) if variable.is_parameter else frozenset()
        steps = (t for _, step in variable.steps if step is not None for t in self.terms(step))
        names = frozenset(name for term in steps for name in term.parameters)
        return [*found[:_MAXIMAL_TERMS], Term(1, own, bool(own)), Term(1, names, True)]


def _is_name(node: c_ast.Node) -> bool:
    return isinstance(node, c_ast.ID)


def _readings(node: c_ast.If) -> tuple[bool, ...]:
    """Is the condition negated where the work is done? Both, where both branches do work."""
    stays = node.iffalse is None or not leaves(node.iffalse)
    if leaves(node.iftrue) and stays:
        return (True,) if only_leaves(node.iftrue) else (False, True)
    is_empty = node.iffalse is not None and only_leaves(node.iftrue)
    return (True,) if is_empty and stays else (False,)
