"""A kernel judged by its source and by proofs on its compiled code. Takes both, gives one `Kernel`.

A kernel is refused unless its compiled code is proven. A source that could be analysed must not
contradict the compiled code; otherwise the compiled code decides alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cutune.core.codes import Code
from cutune.proof.compiled import Compiled
from cutune.proof.entry_proof import EntryProof
from cutune.source.c_names import names_in
from cutune.source.function.members import MOST_ARGUMENTS
from cutune.source.program import (
    DIMENSIONS,
    DataParameter,
    DimensionProof,
    DistinctPlaces,
    Impurity,
    Kernel,
    Role,
)
from cutune.source.unit.integers import integer_type
from cutune.source.values.polynomial import PARAMETER, Atom, IntegerPolynomial, to_c

#: Reasons for which the source could not be analysed: the compiled code decides alone.
UNFOLLOWED = frozenset(
    {
        Code.NOT_PROVEN,
        Code.UNKNOWN_FUNCTION,
        Code.UNRESOLVED_NAME,
        Code.CONDITIONAL_CODE,
        Code.ASSEMBLY,
    }
)
#: What the source asks for; where the compiler has left nothing of it, or it is harmless while
#: warps are kept, the compiled code decides.
_SETTLED = frozenset(
    {
        Code.SHARED_MEMORY,
        Code.WARP_LEVEL,
        Code.BARRIER,
        Code.COOPERATIVE,
        Code.ORDERING,
        Code.ATOMIC_RESULT,
    }
)
#: How much tighter than the text a bound of the compiled code may be, as after `i += 2`.
_MOST_STEPS = 9
#: Instead of a place within a parameter.
_WHOLE = -1
_POINTER_BYTES = 8
#: From so many bits on, numbers are those of their type where they fit into 31 bits.
_LONG_BITS = 32
#: Of so many pointers a launch asks the driver once (`cutune_memory`); structures may hold more.
_MOST_ASKED = 16
Pairs = tuple[tuple[int, int], ...]
Names = Mapping[str, str]
"""Source names by place in the compiled code: `0:8:b32` is bytes 8 to 11 of parameter 0."""


@dataclass(frozen=True)
class MemberPlaces:
    """Members of a parameter, by place, where it is as long as the compiler has made it."""

    argument: int
    bytes: int
    names: Names


def confirmed(kernel: Kernel, compiled: Compiled, members: Sequence[MemberPlaces] = ()) -> Kernel:
    """A kernel as its source and its compiled code have it."""
    proofs = compiled.proofs.get(kernel.name, ())
    if not proofs:
        return _refused(kernel, Code.NOT_COMPILED, Code.NOT_COMPILED.template)
    instances = [_Instance(kernel, proof, _names(kernel, proof, members)) for proof in proofs]
    known = _Joined(kernel, instances).kernel_as_proven()
    is_template = bool(kernel.template_parameters)
    if is_template and not known.pure_dimensions and len({proof.name for proof in proofs}) > 1:
        known = _of_some(kernel, instances) or known
    return replace(known, proven_for=compiled.versions)


def without_meetings(kernel: Kernel) -> Kernel:
    """The kernel, as if nothing were known of threads that meet in memory."""
    return replace(
        kernel,
        needs_warps=False,
        may_meet=(),
        inner_pointers=(),
        distinct_places=(),
        single_thread=(),
        must_hold=False,
    )


def _of_some(kernel: Kernel, instances: Sequence[_Instance]) -> Kernel | None:
    """A template as its proven instances have it, if there are any."""
    found, unproven = [], []
    for name in dict.fromkeys(instance.proof.name for instance in instances):
        own = [instance for instance in instances if instance.proof.name == name]
        known = _Joined(kernel, own).kernel_as_proven()
        if known.pure_dimensions:
            found += own
        elif (reason := known.reason) is not None:
            unproven.append((name, reason))
        else:
            return None
    if not found:
        return None
    known = _Joined(kernel, found).kernel_as_proven()
    return replace(known, unproven=tuple(unproven)) if known.pure_dimensions else None


def _guarding(kernel: Kernel) -> set[str]:
    """The names of which guards are made."""
    guards = (dimension.guard for dimension in kernel.dimensions)
    return {name for guard in guards if guard is not None for name in names_in(guard)}


def _refused(kernel: Kernel, code: Code, message: str) -> Kernel:
    impurity = kernel.impurity or Impurity(code, message, kernel.span)
    return replace(kernel, impurity=impurity)


def _names(kernel: Kernel, proof: EntryProof, members: Sequence[MemberPlaces]) -> Names:
    """Where the scalar parameters lie, and the members of structures."""
    if len(proof.parameters) != len(kernel.parameters):
        return {}
    names: dict[str, str] = {}
    for index, (parameter, size) in enumerate(
        zip(kernel.parameters, proof.parameters, strict=True)
    ):
        kinds = [f"b{8 * size}"] if size >= 4 else [f"{sign}{8 * size}" for sign in "usb"]
        names |= {f"{index}:0:{kind}": parameter.name for kind in kinds}
    for one in members:
        if proof.parameters[one.argument] == one.bytes:
            names |= one.names
    types = {one.name: one.type for one in (*kernel.parameters, *kernel.members)}
    return {
        place: name
        for place, name in names.items()
        if _is_its_number(place.rpartition(":")[2], types.get(name, ""))
    }


def _is_its_number(kind: str, type_text: str) -> bool:
    """Does a load of this kind give the number that the parameter is?

    Of a `short` that is read without a sign, it is only where that is not negative. So it is asked
    of types that are not known (`_fits` in `cutune/source/rewrite/site_table.py`).
    """
    if int(kind[1:]) >= _LONG_BITS:
        return True
    integer = integer_type(type_text.split())
    is_signed = integer is not None and integer.signed
    return is_signed == (kind[0] != "u")


@dataclass(frozen=True)
class _Instance:
    """One entry, in words of the source."""

    kernel: Kernel
    proof: EntryProof
    names: Names

    def bounds(self, axis: int, looser: int = 0) -> dict[str, tuple[str, ...]]:
        """The bounds of a dimension, looser by `shift`, each with terms that must be >= 0."""
        found = {}
        for bound in self.proof.dimensions[axis].bounds:
            conditions = [self.text(c) for c in bound.conditions if not self._is_unsigned(c)]
            more = (looser + 1) * bound.step - 1
            text = self.text(bound.limit + IntegerPolynomial.constant(more))
            if text is not None and bound.step > 1:
                text = f"({text}) / {bound.step}" if " " in text else f"{text} / {bound.step}"
            if text is not None and None not in conditions:
                found[text] = tuple(c for c in conditions if c is not None)
        return found

    def _is_unsigned(self, value: IntegerPolynomial) -> bool:
        if len(value.terms) != 1 or len(value.terms[0][0]) != 1 or value.terms[0][1] < 0:
            return False
        name = self.names.get(value.terms[0][0][0].name)
        arguments = (*self.kernel.parameters, *self.kernel.members)
        types = [p.type for p in arguments if p.name == name]
        integer = integer_type(types[0].split()) if types else None
        return integer is not None and not integer.signed

    def text(self, value: IntegerPolynomial) -> str | None:
        """C over names of the source; None where a place has none."""
        terms = {}
        for monomial, coefficient in value.terms:
            named = [self.names.get(atom.name) for atom in monomial if atom.kind == PARAMETER]
            if len(named) < len(monomial) or None in named:
                return None
            terms[tuple(sorted(Atom(PARAMETER, str(name)) for name in named))] = coefficient
        return to_c(IntegerPolynomial.of(terms))

    def distinct_places(self) -> list[DistinctPlaces | None]:
        """Conditions for distinct places; None for one without names in the source."""
        found: list[DistinctPlaces | None] = []
        for spread in self.proof.spreads:
            larger, smaller = self.text(spread.larger), self.text(spread.smaller)
            is_known = larger is not None and smaller is not None
            found.append(
                DistinctPlaces(larger or "", smaller or "", spread.dimension) if is_known else None
            )
        return found


@dataclass(frozen=True)
class _Joined:
    kernel: Kernel
    instances: Sequence[_Instance]

    @property
    def proofs(self) -> list[EntryProof]:
        return [instance.proof for instance in self.instances]

    def kernel_as_proven(self) -> Kernel:
        refused = next((p.refused for p in self.proofs if p.refused is not None), None)
        text = self.kernel.impurity
        if refused is not None:
            if text is not None and text.code is not Code.NOT_PROVEN:
                return self.kernel
            # A source that could not be analysed is no reason.
            message = Code.UNPROVEN_CODE.template.format(what=refused.message)
            return _refused(replace(self.kernel, impurity=None), Code.UNPROVEN_CODE, message)
        is_followed = text is None
        if text is not None and text.code not in UNFOLLOWED | _SETTLED:
            return self.kernel
        kernel = replace(self.kernel, impurity=None)
        dimensions = [self._dimension(axis, is_followed) for axis in range(3)]
        kernel = replace(kernel, dimensions=(dimensions[0], dimensions[1], dimensions[2]))
        known = () if not is_followed else kernel.data_parameters
        if not is_followed or not _guarding(kernel) <= {one.name for one in known}:
            # The text has no sizes of types that an instance of a template alone knows.
            kernel = replace(kernel, data_parameters=self._data_parameters(known))
        return self._with_meetings(kernel)

    def _data_parameters(self, known: Sequence[DataParameter]) -> tuple[DataParameter, ...]:
        """Known sizes, others as the compiled code uses them: the strongest use in any instance."""
        found: dict[str, Role] = {}
        for instance in self.instances:
            for place, role in instance.proof.roles:
                name = instance.names.get(place)
                if name:
                    used = found.get(name, role)
                    found[name] = min(used, role, key=tuple(Role).index)
        found |= {one.name: one.role for one in known}
        order = (name for name in self.kernel.argument_names if name in found)
        return tuple(DataParameter(name, found[name]) for name in order)

    def _dimension(self, axis: int, is_followed: bool) -> DimensionProof:
        text = self.kernel.dimensions[axis]
        found = [proof.dimensions[axis] for proof in self.proofs]
        raw = next((one.raw for one in found if one.raw is not None), None)
        indexed = any(one.indexed for one in found)
        stride = any(one.grid_stride for one in found)
        # Where the text was not followed to a global id, the compiled code decides.
        is_followed = is_followed and text.impurity is None
        if raw is None and any(one.grid_kept for one in found):
            # Where the text was followed to a global id, that is a contradiction.
            if all(one.grid_kept for one in found) and not is_followed:
                return DimensionProof(True, grid_kept=True)
            raw = f"blockDim.{DIMENSIONS[axis]}"
        if raw is not None:
            return DimensionProof(indexed, self._block_dependent(axis, raw, is_followed))
        guard = None if stride else self._guard(axis, text, is_followed)
        if isinstance(guard, Impurity):
            return DimensionProof(indexed, guard)
        return DimensionProof(indexed, None, guard, stride or text.grid_stride)

    def _block_dependent(self, axis: int, raw: str, is_followed: bool) -> Impurity:
        """Why a dimension stays that the compiled code does not read as a global id alone."""
        text, code = self.kernel.dimensions[axis], Code.BLOCK_DEPENDENT
        message = code.template.format(what=raw, d=DIMENSIONS[axis])
        if is_followed and text.indexed:
            return self._contradiction(f"the compiled code {message}")
        return text.impurity or Impurity(code, message, self.kernel.span)

    def _contradiction(self, what: str) -> Impurity:
        code = Code.CONTRADICTION
        return Impurity(code, code.template.format(what=what), self.kernel.span)

    def _without_rows(self, kernel: Kernel) -> Kernel:
        """Refused where the grid is kept: what rows need cannot be asked at a launch."""
        code = Code.BLOCK_DEPENDENT
        dimensions = [
            DimensionProof(
                True,
                Impurity(code, code.template.format(what=f"blockDim.{d}", d=d), kernel.span),
            )
            if one.grid_kept
            else one
            for d, one in zip(DIMENSIONS, kernel.dimensions, strict=True)
        ]
        return replace(kernel, dimensions=(dimensions[0], dimensions[1], dimensions[2]))

    # Guards.

    def _guard(self, axis: int, text: DimensionProof, is_followed: bool) -> str | Impurity | None:
        """The guard of both; without one in the source, the shortest of the compiled code."""
        bounds = self._common_bounds(axis)
        if text.grid_stride and is_followed:
            return None
        if is_followed and text.guard is not None and text.guard in bounds:
            return _conditional(text.guard, bounds[text.guard])
        compared = [bound for bound in bounds if not _divides(bound)]
        if not is_followed or text.guard is None:
            # The text may say it in ways that are not read, as `i < n >> 2`.
            return next((_conditional(bound, held) for bound, held in bounds.items()), None)
        if not compared or _divides(text.guard):
            # Quotients are written in more ways than are compared.
            quotients = (bound for bound in bounds if _divides(bound) and _divides(text.guard))
            return next((_conditional(bound, bounds[bound]) for bound in quotients), None)
        for looser in range(_MOST_STEPS):
            held = self._common_bounds(axis, looser)
            if text.guard in held:
                return _conditional(text.guard, held[text.guard])
        name = DIMENSIONS[axis]
        known = ", ".join(compared)
        return self._contradiction(f"bounds {name} by {text.guard}, the compiled code by {known}")

    def _common_bounds(self, axis: int, looser: int = 0) -> dict[str, tuple[str, ...]]:
        found = [instance.bounds(axis, looser) for instance in self.instances]
        return {
            text: tuple(dict.fromkeys(c for one in found for c in one[text]))
            for text in found[0]
            if all(text in one for one in found)
        }

    # Threads that meet.

    def _with_meetings(self, kernel: Kernel) -> Kernel:
        needs_warps = kernel.needs_warps or any(proof.needs_warps for proof in self.proofs)
        meeting, conditions = _meeting(kernel, self.proofs), set()
        needs_warps = needs_warps or meeting is None
        for one in (one for instance in self.instances for one in instance.distinct_places()):
            if one is None:
                needs_warps = True
            else:
                conditions.add(one)
        asking = [proof for proof in self.proofs if proof.needs_warps or not needs_warps]
        single = {d for proof in asking for d in proof.single_thread}
        if needs_warps and any(proof.grid_kept for proof in kernel.dimensions):
            kernel = self._without_rows(kernel)
        must_hold = any(proof.must_hold for proof in self.proofs)
        if needs_warps and must_hold:
            # What it needs cannot be asked at a launch.
            return _refused(kernel, Code.SHARED_MEMORY, Code.SHARED_MEMORY.template)
        asked = _Meeting() if needs_warps or meeting is None else meeting
        return replace(
            kernel,
            needs_warps=needs_warps,
            may_meet=asked.pairs,
            inner_pointers=asked.inner,
            distinct_places=() if needs_warps else tuple(sorted(conditions, key=str)),
            single_thread=tuple(sorted(single)),
            max_threads=min(kernel.max_threads, *(proof.max_threads for proof in self.proofs)),
            must_hold=must_hold,
            keeps_shared=kernel.keeps_shared or any(proof.uses_shared for proof in self.proofs),
        )


@dataclass(frozen=True)
class _Meeting:
    """Pairs of positions of pointers that may meet, and the inner pointers among them."""

    pairs: Pairs = ()
    inner: Pairs = ()


def _meeting(kernel: Kernel, proofs: Sequence[EntryProof]) -> _Meeting | None:
    """What a launch asks about pointers; None where it cannot ask about one of them."""
    found: set[tuple[tuple[int, int], tuple[int, int]]] = set()
    for proof in proofs:
        for names in proof.pointers:
            first, second = (_pointer(name, proof) for name in names)
            if first is None or second is None:
                return None
            found.add((first, second))
    inner = sorted({one for pair in found for one in pair if one[1] != _WHOLE})
    before = len(kernel.parameters) + len(kernel.members)
    # Where the text does not list all parameters, it is not known what lies behind them.
    are_listed = all(len(proof.parameters) == len(kernel.parameters) for proof in proofs)
    if inner and (not are_listed or before + len(inner) > MOST_ARGUMENTS):
        return None
    if inner and len({one for pair in found for one in pair}) > _MOST_ASKED:
        return None
    positions = {one: before + index for index, one in enumerate(inner)}
    pairs = {(positions.get(one, one[0]), positions.get(two, two[0])) for one, two in found}
    return _Meeting(tuple(sorted(pairs)), tuple(inner))


def _pointer(place: str, proof: EntryProof) -> tuple[int, int] | None:
    """The position of a parameter, with `_WHOLE` or, of a structure, where in it a pointer begins.

    That is what the code reads, whatever the text says: the launch reads the same bytes.
    """
    index, offset, _ = place.split(":")
    if int(index) in proof.structures:
        is_inside = 0 <= int(offset) <= proof.parameters[int(index)] - _POINTER_BYTES
        return (int(index), int(offset)) if is_inside else None
    return (int(index), _WHOLE) if offset == "0" else None


def _divides(guard: str) -> bool:
    """Does the guard divide?"""
    return "/" in guard or "?" in guard


def _conditional(bound: str, conditions: Sequence[str]) -> str:
    """`n < 0 ? 0 : n + m`: 0 stands for no guard."""
    return "".join(f"{condition} < 0 ? 0 : " for condition in conditions) + bound
