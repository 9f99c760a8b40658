"""The proof about one function. Takes its text, gives a `Proof`.

Walks the statements in order, carrying the bounds under which each is reached: those of enclosing
conditions, and those left by early returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pycparser import c_ast
from pycparser.c_parser import ParseError

from cutune.core.codes import Code
from cutune.source.function.bindings import Bindings, Doubt, ParameterType, bind
from cutune.source.function.c_lines import parse_lines
from cutune.source.function.escapes import Escapes
from cutune.source.function.members import NO_MEMBERS, BoundMembers, lift_members
from cutune.source.function.normalise import LIBRARY_TYPES, NormalText, normalise
from cutune.source.function.parameters import parameter_of, returned_type, takes
from cutune.source.function.versions import separate
from cutune.source.program import DIMENSIONS, DimensionProof, Impurity, KernelParameter
from cutune.source.purity.proof import NO_DIMENSIONS, Proof
from cutune.source.purity.statements import Statements
from cutune.source.syntax.functions import SourceFunction
from cutune.source.syntax.tokens import Token
from cutune.source.unit.library import DECLARED
from cutune.source.unit.names import SCOPE, Names, NotC
from cutune.source.unit.structures import Structures
from cutune.source.unit.unit import FunctionText, Unit, UnitPart
from cutune.source.values.expressions import Expressions
from cutune.source.values.guards import guard
from cutune.source.values.polynomial import IntegerPolynomial, to_c
from cutune.source.values.values import CalledFunction, Findings, Value

_FORBIDDEN = {
    "__shared__": (Code.SHARED_MEMORY, ""),
    "asm": (Code.ASSEMBLY, ""),
    "__asm__": (Code.ASSEMBLY, ""),
    "__asm": (Code.ASSEMBLY, ""),
    "volatile": (Code.ORDERING, "volatile memory"),
    "__volatile__": (Code.ORDERING, "volatile memory"),
    "__cluster_dims__": (Code.COOPERATIVE, "a cluster"),
}


_Key = tuple[int, int]
_MAXIMAL_PROOFS = 4000
_MAXIMAL_DEPTH = 16


@dataclass
class Prover:
    """Proves functions of a unit, each once.

    A recursive call is assumed to be pure: the proof under way finds any impurity of the function.
    A proof that relies on this assumption about another function is not stored.
    """

    unit: Unit
    _proofs: dict[_Key, Proof] = field(default_factory=dict)
    _pending: list[_Key] = field(default_factory=list)
    _assumed: set[_Key] = field(default_factory=set)
    _count: int = 0

    @cached_property
    def structures(self) -> Structures:
        """The plain structures of the unit."""
        return Structures(self.unit)

    def prove(self, part: UnitPart, function: SourceFunction) -> Proof | None:
        """The proof about a function; None while it is being proven (recursion)."""
        key = (id(part), function.parameters[0])
        if key in self._pending:
            self._assumed.add(key)
            return None
        if key in self._proofs:
            return self._proofs[key]
        self._count += 1
        self._pending.append(key)
        job = _FunctionProof(self, self.unit.text(part, function))
        try:
            is_deep = len(self._pending) > _MAXIMAL_DEPTH or self._count > _MAXIMAL_PROOFS
            proof = job.given_up() if is_deep else job.run()
        except RecursionError:
            proof = job.given_up()
        finally:
            self._pending.remove(key)
        self._assumed.discard(key)
        if not self._assumed:
            self._proofs[key] = proof
        return proof

    def candidates(self, name: str, count: int) -> Sequence[tuple[UnitPart, SourceFunction]] | None:
        """Functions of a name that take so many arguments; None if no such name is defined."""
        base = name if name in self.unit.functions else name.rsplit(SCOPE, 1)[-1]
        found = self.unit.functions.get(base, ())
        fitting = [(p, f) for p, f in found if takes(p, f, count)]
        return fitting or None


class _FunctionProof:
    def __init__(self, prover: Prover, text: FunctionText) -> None:
        self.prover, self.unit, self.text = prover, prover.unit, text
        self.normal: NormalText | None = None
        self.expressions: Expressions | None = None

    def run(self) -> Proof:
        parsed = [parameter_of(tokens, self.unit.typedefs) for tokens in self.text.parameters]
        parameters = tuple(parameter for parameter, _ in parsed)
        types = [type_ for _, type_ in parsed]
        impurity = self.text.impurity or self._forbidden()
        if impurity is not None:
            return Proof(self.text, parameters, impurity, NO_DIMENSIONS)
        try:
            return self._proof(parameters, types)
        except NotC as error:
            return self._refused(parameters, error.what, error.token)
        except Doubt as error:
            return self._refused(parameters, error.what, self._token(error.node))
        except ParseError as error:
            return self._refused(parameters, *self._parse_error(str(error)))
        except RecursionError:
            return self._refused(parameters, "nested too deeply", self.text.body[0])

    def given_up(self) -> Proof:
        """The proof about a function that is not analysed."""
        return self._refused((), "too long a chain of calls", self.text.body[0])

    def _proof(self, parameters: tuple[KernelParameter, ...], types: list[ParameterType]) -> Proof:
        tree = self._parse([type_.name for type_ in types])
        normal = self.normal
        assert normal is not None
        bindings = self._bindings(tree, types)
        bound = self._members(tree, bindings, types)
        if bound.members:
            bindings = self._bindings(tree, [*types, *bound.parameters])
        if separate(tree.body, bindings):
            bindings = self._bindings(tree, [*types, *bound.parameters])
        self.expressions = Expressions(self.unit, bindings, callee=self._callee)
        result = Statements(self.expressions).function(tree.body)
        findings = self.expressions.findings
        impurity = self._impurity(findings) or self._unresolved(bindings, normal)
        limits = self._limits(findings)
        dimensions = [self._dimension(d, findings, limits.get(d)) for d in DIMENSIONS]
        return Proof(
            self.text,
            parameters,
            impurity,
            (dimensions[0], dimensions[1], dimensions[2]),
            bool(findings.effects),
            findings.reads,
            self._returned(result),
            limits,
            tree,
            bindings,
            bound,
            {dimension: what for dimension, (what, _) in findings.raw.items()},
        )

    def _bindings(self, tree: c_ast.FuncDef, types: Sequence[ParameterType]) -> Bindings:
        assert self.normal is not None
        bindings = bind(tree, types, self.normal.references, self.unit.typedefs)
        Escapes(self.prover.candidates, bindings).visit(tree.body)
        return bindings

    def _members(
        self, tree: c_ast.FuncDef, bindings: Bindings, types: Sequence[ParameterType]
    ) -> BoundMembers:
        # The type of a template parameter is not known, nor the object of a kernel's reference.
        is_kernel = self.text.function.is_kernel
        known = [
            replace(type_, value=())
            if self.text.type_parameters & {*type_.value} or (is_kernel and type_.is_reference)
            else type_
            for type_ in types
        ]
        structures = self.prover.structures
        return lift_members(tree.body, bindings, known, structures, self._members_of_called)

    def _members_of_called(self, name: str, count: int) -> list[BoundMembers] | None:
        candidates = self.prover.candidates(name, count)
        if candidates is None:
            return None
        proofs = [self.prover.prove(*candidate) for candidate in candidates]
        return [proof.bound if proof is not None else NO_MEMBERS for proof in proofs]

    def _parse(self, parameters: list[str]) -> c_ast.FuncDef:
        types = self.unit.types | self.text.type_parameters
        numbers = frozenset(self.text.template_parameters) - self.text.type_parameters
        # Of the file's variables only what would be taken for a type: others may be templates.
        shared = (self.unit.device_variables | self.unit.constants.keys()) & LIBRARY_TYPES - types
        names = Names(types, numbers | shared | frozenset(parameters))
        self.normal = normalise(parameters, self.text.body, names)
        unit = parse_lines(self.normal.text)
        return next(node for node in unit.ext if isinstance(node, c_ast.FuncDef))

    def _callee(self, name: str, count: int, node: c_ast.Node) -> CalledFunction | None:
        """The functions that a call may reach. Overloads are joined: each must be pure."""
        candidates = self.prover.candidates(name, count)
        if candidates is None:
            return None
        assert self.expressions is not None
        proofs = [self.prover.prove(*candidate) for candidate in candidates]
        for proof in proofs:
            if proof is not None:
                self._join(proof, self.expressions.findings, node)
        if len(proofs) == 1 and proofs[0] is not None:
            return CalledFunction(proofs[0].has_effects, proofs[0].result, proofs[0].reads)
        return CalledFunction(
            any(proof is None or proof.has_effects for proof in proofs),
            None,
            any(proof is None or proof.reads for proof in proofs),
        )

    def _returned(self, value: Value | None) -> Value | None:
        """The value that `return` gives, converted to the type that the function declares."""
        type_ = returned_type(self.text, self.unit.typedefs)
        if value is None or value.type is None or type_ is None or type_.bits < 32:
            return None
        assert self.expressions is not None
        return self.expressions.converted(value, type_, c_ast.EmptyStatement())

    def _join(self, proof: Proof, findings: Findings, node: c_ast.Node) -> None:
        if proof.impurity is not None:
            message = f"{proof.impurity.message} (in '{proof.text.name}')"
            findings.refuse(proof.impurity.code, message, node)
        for name, dimension in zip(DIMENSIONS, proof.dimensions, strict=True):
            if dimension.indexed:
                findings.indexed.add(name)
            if dimension.grid_stride:
                findings.strides.add(name)
            if dimension.impurity is not None:
                what = proof.raw[name]
                if "'" not in what:
                    what = f"{what}, in '{proof.text.name}',"
                findings.raw.setdefault(name, (what, node))

    # Reasons.

    def _forbidden(self) -> Impurity | None:
        parameters = (token for parameter in self.text.parameters for token in parameter)
        for token in (*self.text.head, *parameters, *self.text.body):
            if token.text in _FORBIDDEN and token.kind == "IDENTIFIER":
                code, what = _FORBIDDEN[token.text]
                return Impurity(code, code.template.format(what=what), token.span)
        return None

    def _impurity(self, findings: Findings) -> Impurity | None:
        if findings.refusal is None:
            return None
        code, what, node = findings.refusal
        message = what if what.endswith(")") else code.template.format(what=what)
        return Impurity(code, message, self._token(node).span)

    def _unresolved(self, bindings: Bindings, normal: NormalText) -> Impurity | None:
        """Without the compiler's preprocessor, an unknown name may be a macro."""
        if self.unit.is_expanded:
            return None
        known = self.unit.declared | DECLARED | frozenset(self.text.template_parameters)
        code = Code.UNRESOLVED_NAME
        for name, node in bindings.free.items():
            if not known & {name, name.split(SCOPE)[0], name.rsplit(SCOPE, 1)[-1]}:
                return Impurity(code, code.template.format(what=name), self._token(node).span)
        for name in sorted(normal.types - {"__auto"}):
            if not known & {name, name.split(SCOPE)[0]}:
                token = next(t for t in normal.lines if t.text == name)
                return Impurity(code, code.template.format(what=name), token.span)
        return None

    def _limits(self, findings: Findings) -> dict[str, IntegerPolynomial]:
        """The guards. With a stride the number of threads is part of what the kernel computes."""
        free = [d for d in DIMENSIONS if d not in findings.strides and d not in findings.raw]
        found = {d: guard(d, findings.effects) for d in free}
        return {d: limit for d, limit in found.items() if limit is not None}

    def _dimension(
        self, dimension: str, findings: Findings, limit: IntegerPolynomial | None
    ) -> DimensionProof:
        impurity = None
        if dimension in findings.raw:
            what, node = findings.raw[dimension]
            code = Code.BLOCK_DEPENDENT
            message = code.template.format(what=what, d=dimension)
            impurity = Impurity(code, message, self._token(node).span)
        return DimensionProof(
            dimension in findings.indexed,
            impurity,
            to_c(limit) if limit is not None else None,
            dimension in findings.strides,
        )

    def _refused(self, parameters: tuple[KernelParameter, ...], what: str, token: Token) -> Proof:
        code = Code.NOT_PROVEN
        impurity = Impurity(code, code.template.format(what=what), token.span)
        return Proof(self.text, parameters, impurity, NO_DIMENSIONS)

    def _token(self, node: c_ast.Node) -> Token:
        """The token that a node begins with."""
        while node.coord is None and node.children():
            node = node.children()[0][1]
        line = node.coord.line if node.coord is not None else 0
        return self._line(line)

    def _line(self, line: int) -> Token:
        lines: Sequence[Token] = self.normal.lines if self.normal is not None else ()
        token = lines[line - 1] if 0 < line <= len(lines) else None
        return token if token is not None and token.text else self.text.body[0]

    def _parse_error(self, message: str) -> tuple[str, Token]:
        """pycparser says `:line:column: before: token`."""
        fields = message.split(":")
        line = int(fields[1]) if len(fields) > 2 and fields[1].isdigit() else 0
        token = self._line(line)
        return f"the statement at '{token.text}'", token
