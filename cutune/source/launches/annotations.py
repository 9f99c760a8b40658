"""Annotated kernels. Takes kernels by name and pragmas, gives the kernels as annotated.

An annotation refines what was proven. It may also replace a proof that shared memory, barriers or
built-ins have prevented: the user asserts that any thread block gives the same results in the
dimensions named. An annotation that cannot be applied has no effect at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise, product
from typing import NoReturn

from lark import Token, Tree

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, known_names
from cutune.source.candidates import BlockRange, candidate_blocks
from cutune.source.configuration.block_dependence import is_bounded
from cutune.source.host_formula import names_in as names_in_c
from cutune.source.program import DIMENSIONS, DataParameter, DimensionProof, Kernel, Role
from cutune.source.syntax.directives import Pragma
from cutune.source.syntax.parse import Syntax
from cutune.source.unit.integers import integer_type
from cutune.space.annotation import (
    AnnotationError,
    DimensionAnnotation,
    Expression,
    KernelAnnotation,
    SizeIndexAnnotation,
    Values,
    names_in,
    read_annotation,
    read_condition,
)
from cutune.toolchain.device.thread_block import LARGEST, WARP
from cutune.toolchain.kernel_names import may_mean

Typedefs = Mapping[str, Sequence[str]]
ByName = Mapping[str, Sequence[Kernel]]

#: What the user may assert to be harmless; unknown calls may not be, unless the code that is run
#: says what they call. Warp-level code is where each warp keeps its threads.
ASSERTABLE = frozenset(
    {
        Code.SHARED_MEMORY,
        Code.BARRIER,
        Code.BLOCK_DEPENDENT,
        Code.WARP_LEVEL,
        Code.RACE,
        Code.BLOCK_RESULT,
        Code.UNKNOWN_TARGET,
    }
)
_POWERS = [1 << exponent for exponent in range(11)]


def annotated(
    syntax: Syntax, by_name: ByName, typedefs: Typedefs
) -> tuple[ByName, tuple[Diagnostic, ...]]:
    """The kernels with the annotations of a file applied, and what could not be."""
    found = dict(by_name)
    diagnostics = []
    whole: dict[str, _Application] = {}
    for pragma in syntax.pragmas:
        try:
            said = _kernel_annotation(pragma, by_name)
        except AnnotationError as error:
            place = syntax.source, pragma.token.span
            diagnostics.append(Diagnostic.at(Code.BAD_ANNOTATION, *place, reason=str(error)))
            continue
        if said is not None:
            # Of each clause the last one counts.
            clauses = {name: value for name, value in vars(said).items() if value is not None}
            earlier = whole[said.kernel].said if said.kernel in whole else said
            merged = replace(earlier, **clauses)
            whole[said.kernel] = _Application(syntax, pragma, merged, typedefs)
    for name, application in whole.items():
        for its in [one for one in by_name if may_mean(name, one)] or [name]:
            try:
                found[its] = application.kernels(by_name, its)
                diagnostics += filter(None, map(application.left_out, found[its]))
            except CutuneError as error:
                diagnostics.append(error.diagnostic)
    return found, tuple(diagnostics)


def _kernel_annotation(pragma: Pragma, by_name: ByName) -> KernelAnnotation | None:
    match read_annotation(pragma.text):
        case KernelAnnotation() as annotation:
            return annotation
        case SizeIndexAnnotation(name, index):
            names = [p.name for kernel in by_name.get(name, ())[:1] for p in kernel.parameters]
            return KernelAnnotation(name, (names[index] if index < len(names) else str(index),))
        case DimensionAnnotation(name, count):
            sizes = {d: Values((), (1, LARGEST)) for d in DIMENSIONS[:count]}
            return KernelAnnotation(name, block=sizes)
    return None


@dataclass(frozen=True)
class _Application:
    """One annotation; every method raises `CutuneError` where it cannot be applied."""

    syntax: Syntax
    pragma: Pragma
    said: KernelAnnotation
    typedefs: Typedefs

    def kernels(self, by_name: ByName, name: str) -> list[Kernel]:
        known = by_name.get(name, ())
        if not known:
            names = known_names(self.said.kernel, by_name)
            self._refuse(Code.UNKNOWN_ANNOTATED_KERNEL, name=self.said.kernel, known=names)
        try:
            return [self._applied(kernel) for kernel in known]
        except RecursionError:
            self._refuse(Code.BAD_ANNOTATION, reason="nested too deeply")

    def _refuse(self, code: Code, **values: str) -> NoReturn:
        message = code.template.format(**values)
        raise CutuneError(Diagnostic(code, message, self.syntax.source, self.pragma.token.span))

    def _applied(self, kernel: Kernel) -> Kernel:
        if kernel.impurity is not None and kernel.impurity.code not in ASSERTABLE:
            message = kernel.impurity.message
            self._refuse(Code.USELESS_ANNOTATION, kernel=kernel.name, message=message)
        if self.said.associative and not kernel.reassociates:
            # What is not proven of it is something else, with a place of its own.
            found = f": it {kernel.impurity.message}" if kernel.impurity is not None else ""
            self._refuse(Code.NOT_ASSOCIATIVE, kernel=kernel.name, reason=found)
        grid = self._grid(kernel)
        named = {d for d in DIMENSIONS if d in grid or d in (self.said.block or {})}
        dimensions = [
            self._dimension(kernel, axis, d in named, grid.get(d))
            for axis, d in enumerate(DIMENSIONS)
        ]
        asserted = tuple(
            d
            for d, new, proven in zip(DIMENSIONS, dimensions, kernel.dimensions, strict=True)
            if d in named and (d not in kernel.pure_dimensions or _goes_further(new, proven))
        )
        # What is proven of blocks with one thread in a dimension holds as long as it stays.
        is_wider = not {*kernel.single_thread}.isdisjoint(asserted)
        shared = self.said.shared
        changed = replace(
            kernel,
            impurity=None,
            dimensions=(dimensions[0], dimensions[1], dimensions[2]),
            asserted=asserted,
            allowed=self._allowed(kernel),
            # Who says that blocks give the same results says that orders do.
            is_associative=bool(self.said.associative or self.said.block),
            shared=self._shared(),
            keeps_shared=kernel.keeps_shared if shared is None else shared.data == "keep",
            needs_warps=kernel.needs_warps or kernel.warp_level or is_wider,
        )
        if not changed.pure_dimensions:
            self._refuse(Code.NO_ANNOTATED_DIMENSION, kernel=kernel.name)
        self._check_candidates(changed)
        return replace(changed, data_parameters=self._data(kernel, changed))

    def _dimension(
        self, kernel: Kernel, axis: int, named: bool, said: DimensionProof | None
    ) -> DimensionProof:
        proven = kernel.dimensions[axis]
        if not named:
            # Where nothing was proven, nothing is known to be harmless.
            return DimensionProof(True, kernel.impurity) if kernel.impurity is not None else proven
        if kernel.impurity is None and not proven.indexed:
            self._refuse(Code.UNINDEXED_DIMENSION, kernel=kernel.name, d=DIMENSIONS[axis])
        return said or replace(proven, indexed=True, impurity=None)

    # grid(…)

    def _grid(self, kernel: Kernel) -> dict[str, DimensionProof]:
        """Apply each formula: `ceil(g / x)` gives a guard bound, `g / x` and `keep` none."""
        formulas = self.said.grid or ()
        if len(formulas) > len(DIMENSIONS):
            self._refuse(Code.UNKNOWN_GRID_FORMULA, d="z")
        sizes = self.said.block or {}
        found: dict[str, DimensionProof] = {}
        for d, formula in zip(DIMENSIONS, formulas, strict=False):
            if sizes and d not in sizes:
                continue  # It keeps its block, and so its grid.
            if formula.data == "keep":
                found[d] = DimensionProof(True, grid_kept=True)
                continue
            is_rounded = formula.data == "call" and formula.children[0] == "ceil"
            term = formula.children[1] if is_rounded else formula
            if formula.data == "number" and not sizes:
                continue
            numerator = _numerator(term, d)
            text = _to_c(numerator) if numerator is not None else None
            if numerator is None or text is None:
                self._refuse(Code.UNKNOWN_GRID_FORMULA, d=d)
            for name in sorted(names_in(numerator)):
                self._check_integer(kernel, name)
            found[d] = DimensionProof(True, guard=text if is_rounded else None)
        return found

    # shared(…)

    def _shared(self) -> str | None:
        """Bytes as C text over x, y and z, which overflows for no block."""
        if self.said.shared is None or self.said.shared.data == "keep":
            return None
        text = _to_c(self.said.shared)
        foreign = names_in(self.said.shared) - {*DIMENSIONS}
        if text is None or foreign or not is_bounded(text):
            self._refuse(Code.UNKNOWN_SHARED_FORMULA)
        return text

    # data(…)

    def _data(self, proven: Kernel, changed: Kernel) -> tuple[DataParameter, ...]:
        """The sizes: those named, else those inferred; a guard's parameters always are."""
        roles = {parameter.name: parameter.role for parameter in proven.data_parameters}
        if self.said.data is not None:
            for name in self.said.data:
                self._check_integer(proven, name)
            sizes = {*self.said.data}
        elif proven.impurity is not None and not roles:
            sizes = set(self._integers(proven))
        else:
            sizes = {*proven.sizes}
        proofs = zip(changed.dimensions, changed.free, strict=True)
        guards = [dimension.guard or "" for dimension, is_free in proofs if is_free]
        bounds = {*names_in_c(" ".join(guards))} & {*self._integers(proven)}
        # What bounds a loop decides about the work, be it named or not.
        roles |= {n: Role.BRANCH for n, r in roles.items() if r is Role.BOUND and n not in sizes}
        others = {name for name, role in roles.items() if not DataParameter(name, role).is_size}
        # What is named as a size is one.
        new = sizes - {name for name, role in roles.items() if DataParameter(name, role).is_size}
        roles |= dict.fromkeys(new, Role.BOUND) | dict.fromkeys(bounds, Role.GUARD)
        named = (name for name in proven.argument_names if name in sizes | bounds | others)
        return tuple(DataParameter(name, roles[name]) for name in named)

    def _integers(self, kernel: Kernel) -> list[str]:
        types = ((p.name, p.type.replace("::", "$").split()) for p in kernel.parameters)
        found = [name for name, words in types if integer_type(words, self.typedefs) is not None]
        return [*found, *(member.name for member in kernel.members)]

    def _check_integer(self, kernel: Kernel, name: str) -> None:
        known = self._integers(kernel)
        if name in known:
            return
        if "." in name:
            self._refuse(Code.MEMBER_PARAMETER, name=name)
        named = known_names(name, known)
        self._refuse(Code.UNKNOWN_PARAMETER, name=name, kernel=kernel.name, known=named)

    # block(…) and where(…)

    def _allowed(self, kernel: Kernel) -> BlockRange:
        if self.said.where is not None:
            for name in sorted(names_in(read_condition(self.said.where)) - {*DIMENSIONS}):
                self._refuse(Code.UNKNOWN_CONDITION, name=name)
        sizes = self.said.block or {}
        proven = kernel.allowed.proven if kernel.allowed is not None else ()
        return BlockRange(sizes.get("x"), sizes.get("y"), sizes.get("z"), self.said.where, proven)

    def _check_candidates(self, kernel: Kernel) -> None:
        for sizes in product(*([0] if is_free else _POWERS for is_free in kernel.free)):
            shape = (sizes[0], sizes[1], sizes[2])
            found = candidate_blocks(
                kernel.free, shape, "paper", kernel.max_threads, kernel.allowed, kernel.warp_level
            )
            if any(block != shape for block in found):
                return
        if kernel.warp_level:
            self._refuse(Code.WARPS_NOT_KEPT, kernel=kernel.name)
        self._refuse(Code.EMPTY_CANDIDATES)

    def left_out(self, kernel: Kernel) -> Diagnostic | None:
        """The widths that it names and no candidate has, because warps stay whole."""
        listed = kernel.allowed.listed(0) if kernel.allowed is not None else ()
        widths = ", ".join(str(width) for width in listed if width % WARP)
        if not (widths and kernel.warp_level):
            return None
        place = self.syntax.source, self.pragma.token.span
        return Diagnostic.at(Code.PARTIAL_WARPS, *place, kernel=kernel.name, widths=widths)


def _goes_further(said: DimensionProof, proven: DimensionProof) -> bool:
    if said.grid_kept:
        return not proven.grid_kept
    return said.guard is not None and said.guard != proven.guard


def _numerator(tree: Expression | Token, d: str) -> Expression | None:
    """quotient = term "/" d; the term."""
    if not isinstance(tree, Tree) or tree.data != "term":
        return None
    *rest, sign, divisor = tree.children
    return _product(rest) if sign == "/" and divisor == Tree("name", [d]) else None


def _product(factors: list[Expression | Token]) -> Expression:
    first = factors[0]
    return first if len(factors) == 1 and isinstance(first, Tree) else Tree("term", factors)


def _to_c(tree: Expression | Token) -> str | None:
    """An integer expression as C text, `/` as C's; None for what is not an integer."""
    if isinstance(tree, Token):
        return str(tree)
    children = tree.children
    if tree.data in ("number", "name"):
        return str(children[0])
    if tree.data == "call":
        return _call_to_c(str(children[0]), children[1:])
    # The bound is computed in the user's program, which must not stop at a division by 0.
    divisors = (divisor for sign, divisor in pairwise(children) if sign in ("/", "%"))
    if tree.data not in ("term", "expression") or not all(map(_is_positive, divisors)):
        return None
    texts = [text for child in children if (text := _to_c(child)) is not None]
    return f"({' '.join(texts)})" if len(texts) == len(children) else None


def _is_positive(tree: Expression | Token) -> bool:
    return isinstance(tree, Tree) and tree.data == "number" and int(str(tree.children[0])) > 0


def _call_to_c(name: str, arguments: Sequence[Expression | Token]) -> str | None:
    if name in ("ceil", "floor"):
        tree = arguments[0]
        if len(arguments) != 1:
            return None
        if name == "floor" or not isinstance(tree, Tree) or tree.data != "term":
            return _to_c(tree)
        *rest, sign, last = tree.children
        if sign != "/":
            return _to_c(tree)
        above = _to_c(_product(rest))
        below = _to_c(last) if _is_positive(last) else None
        return f"(({above} + {below} - 1) / {below})" if above and below else None
    texts = [text for one in arguments if (text := _to_c(one)) is not None]
    if len(texts) != len(arguments):
        return None
    order = "<" if name == "min" else ">"
    return reduce(lambda a, b: f"({a} {order} {b} ? {a} : {b})", texts)
