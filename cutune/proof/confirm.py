"""A kernel as its compiled code has it. Takes a declared kernel and proofs, gives one `Kernel`.

The text of the kernel supplies names. What may change about its launches is what the compiled code
proves, in all instances and for all architectures.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, product

from cutune.core.codes import Code
from cutune.core.source import Span
from cutune.proof.compiled import ProvenCode
from cutune.proof.entry_proof import EntryProof
from cutune.proof.memory.called_functions import VIRTUAL_CALL
from cutune.proof.values.polynomial import PARAMETER, Atom, IntegerPolynomial, to_c
from cutune.source.candidates import BlockRange, BlockUse, FlatUse
from cutune.source.host_formula import names_in
from cutune.source.program import (
    DIMENSIONS,
    DataParameter,
    DimensionProof,
    DistinctPlaces,
    Impurity,
    Kernel,
    KernelParameter,
    Layout,
    Role,
)
from cutune.source.unit.integers import REAL_BYTES, integer_type
from cutune.toolchain.kernel_names import demangled, shown_parameters

#: Arguments of a launch are numbered by the bits of a word.
MOST_ARGUMENTS = 60
#: How much tighter than the known guard a bound of a copy may be, which does several ids.
_MOST_STEPS = 9
#: Instead of a place within a parameter.
_WHOLE = -1
_POINTER_BYTES = 8
#: From so many bits on, numbers are those of their type where they fit into 31 bits.
_LONG_BITS = 32
#: Of so many pointers a launch asks the driver once (`cutune_memory`); structures may hold more.
MOST_ASKED = 16
Pairs = tuple[tuple[int, int], ...]
Names = Mapping[str, str]
"""Source names by place in the compiled code: `0:8:b32` is bytes 8 to 11 of parameter 0."""


@dataclass(frozen=True)
class MemberPlaces:
    """Members of a parameter, by place, where it is as long as the compiler has made it."""

    argument: int
    bytes: int
    names: Names


def member_places(kernel: Kernel, layouts: Iterable[Layout]) -> list[MemberPlaces]:
    """Return where the kernel's members lie, of structures that are laid out so."""
    used, found = sorted({(m.argument, m.structure) for m in kernel.members}), []
    for argument, (structure, size, members) in product(dict(used), layouts):
        if (argument, structure) in used:
            names, prefix = dict[str, str](), kernel.parameters[argument].name
            for path, offset, width in members:
                names |= _named(argument, offset, width, f"{prefix}.{path}")
            found.append(MemberPlaces(argument, size, names))
    return found


def _named(argument: int, offset: int, size: int, name: str) -> dict[str, str]:
    kinds = [f"b{8 * size}"] if size >= 4 else [f"{sign}{8 * size}" for sign in "usb"]
    return {f"{argument}:{offset}:{kind}": name for kind in kinds}


def as_compiled(kernel: Kernel, proven: ProvenCode, members: Sequence[MemberPlaces] = ()) -> Kernel:
    """A kernel, as it is declared, with what is proven of its compiled code."""
    proofs = proven.proofs.get(kernel.name, ())
    if not proofs:
        return _refused(kernel, Code.NOT_COMPILED, Code.NOT_COMPILED.template)
    kernel = _with_integers(replace(kernel, impurity=None), [proof.name for proof in proofs])
    instances = [_Instance(kernel, proof, _names(kernel, proof, members)) for proof in proofs]
    known = _Joined(kernel, instances).kernel_as_proven()
    is_template = bool(kernel.template_parameters)
    if is_template and not known.pure_dimensions and len({proof.name for proof in proofs}) > 1:
        known = _of_some(kernel, instances) or known
    if known.members and len(known.argument_names) > MOST_ARGUMENTS:
        return as_compiled(replace(kernel, members=()), proven)
    return replace(known, proven_for=proven.versions)


def _with_integers(kernel: Kernel, entries: Sequence[str]) -> Kernel:
    """The kernel in which parameters of a template's types are integers if all instances say so.

    Of less than 32 bits it would not see what the launch is given.
    """
    each = parameters_in(kernel, [*dict.fromkeys(entries)])
    parameters = list(kernel.parameters)
    for place, types in enumerate(zip(*each, strict=True)):
        known, widths = parameters[place], [one.integer.bits if one.integer else 0 for one in types]
        if known.integer is None and not known.is_pointer and min(widths) >= 32:
            parameters[place] = replace(known, alias_of=types[0].words)
    return replace(kernel, parameters=tuple(parameters))


def parameters_in(kernel: Kernel, entries: Sequence[str]) -> list[tuple[KernelParameter, ...]]:
    """Return the parameters in each of these instances of a template, with the types there.

    As they are written, where that is not told.
    """
    shown = demangled(entries, parameters=True) if kernel.template_parameters else entries
    written = kernel.parameters
    return [
        tuple(replace(one, type=t, alias_of=()) for one, t in zip(written, types, strict=True))
        if len(types) == len(written)
        else written
        for types in map(shown_parameters, shown)
    ]


def _of_some(kernel: Kernel, instances: Sequence[_Instance]) -> Kernel | None:
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


def _refused(kernel: Kernel, code: Code, message: str, span: Span | None = None) -> Kernel:
    return replace(kernel, impurity=Impurity(code, message, span or kernel.span), members=())


def _span(kernel: Kernel, proof: EntryProof, line: int) -> Span | None:
    source, place = kernel.source, proof.locate(line) if line else None
    first, last = (source.location(at).line for at in (kernel.span.start, kernel.span.end - 1))
    while place is not None:
        is_here = os.path.realpath(place.file) == os.path.realpath(source.path)
        if is_here and first <= place.line <= last:
            text = source.line_text(place.line)
            start = source.line_start(place.line) + len(text) - len(text.lstrip())
            return Span(start, start + len(text.split("//")[0].strip()))
        place = place.call
    return None


def _names(kernel: Kernel, proof: EntryProof, members: Sequence[MemberPlaces]) -> Names:
    if len(proof.parameters) != len(kernel.parameters):
        return {}
    names: dict[str, str] = {}
    for index, size in enumerate(proof.parameters):
        if name := kernel.parameters[index].name:
            names |= _named(index, 0, size, name)
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
    kernel: Kernel
    proof: EntryProof
    names: Names

    def bounds(self, axis: int, looser: int = 0) -> dict[str, tuple[str, ...]]:
        """Bounds of a dimension, `looser` by so many steps, each with terms that must be >= 0."""
        found = {}
        for bound in self.proof.dimensions[axis].bounds:
            conditions = [self.text(c) for c in bound.conditions if not self._is_unsigned(c)]
            more = (looser + 1) * bound.step - 1
            text = self.text(bound.limit + more)
            if text is not None and bound.step > 1:
                text = f"({text}) / {bound.step}" if " " in text else f"{text} / {bound.step}"
            if text is not None and None not in conditions:
                found[text] = tuple(c for c in conditions if c is not None)
        return found

    def _is_unsigned(self, value: IntegerPolynomial) -> bool:
        match value.terms:
            case (((atom,), factor),) if factor > 0:
                name = self.names.get(atom.name)
                arguments = (*self.kernel.parameters, *self.kernel.members)
                words = next((one.type.split() for one in arguments if one.name == name), [])
                integer = integer_type(words)
                return integer is not None and not integer.signed
        return False

    def free_up_to(self, axis: int) -> tuple[str, ...]:
        """The limits of loops that any number of threads may share; none where it may not."""
        found = [self.text(limit) for limit in self.proof.dimensions[axis].free_up_to]
        return tuple(text for text in found if text is not None) if None not in found else ()

    def text(self, value: IntegerPolynomial) -> str | None:
        terms = {}
        for monomial, coefficient in value.terms:
            named = [self.names.get(atom.name) for atom in monomial if atom.kind == PARAMETER]
            if len(named) < len(monomial) or None in named:
                return None
            terms[tuple(sorted(Atom(PARAMETER, str(name)) for name in named))] = coefficient
        return to_c(IntegerPolynomial.of(terms))

    def distinct_places(self) -> Iterator[DistinctPlaces | None]:
        for spread in self.proof.spreads:
            larger, smaller = self.text(spread.larger), self.text(spread.smaller)
            if larger is None or smaller is None:
                yield None
            else:
                yield DistinctPlaces(larger, smaller, spread.dimension)


def _joined(uses: Sequence[BlockUse]) -> BlockUse:
    first, *others = uses
    return replace(
        next((use for use in uses if use.sharing_line), first),
        widths=first.widths.intersection(*(use.widths for use in others)),
        follows_block=any(use.follows_block for use in uses),
        order=next((use.order for use in uses if use.order[1]), first.order),
        reads=frozenset[str]().union(*(use.reads for use in uses)),
        singles_out=any(use.singles_out for use in uses),
        flat=reduce(FlatUse.joined, (use.flat for use in uses)),
        flat_y=reduce(FlatUse.joined, (use.flat_y for use in uses)),
        flat_z=reduce(FlatUse.joined, (use.flat_z for use in uses)),
        layers=reduce(FlatUse.joined, (use.layers for use in uses)),
        adds_rounded=any(use.adds_rounded for use in uses),
        is_long=any(use.is_long for use in uses),
    )


@dataclass(frozen=True)
class _Joined:
    kernel: Kernel
    instances: Sequence[_Instance]

    @property
    def proofs(self) -> list[EntryProof]:
        return [instance.proof for instance in self.instances]

    def kernel_as_proven(self) -> Kernel:
        own = replace(
            self.kernel,
            max_threads=min(self.kernel.max_threads, *(p.max_threads for p in self.proofs)),
            warp_level=any(proof.warp_level for proof in self.proofs),
            block_use=_joined([proof.block_use for proof in self.proofs]),
        )
        refused = [(p, p.refused) for p in self.proofs if p.refused is not None]
        if refused:
            first = refused[0][1]
            code, message = first.code, first.message
            lines = [(p, one.line) for p, one in refused]
            if code is Code.NOT_PROVEN:
                code = Code.UNPROVEN_CODE
                message = code.template.format(what=message)
            if code is Code.SHARED_MEMORY:
                message += f": {own.block_use.sharing}" if own.block_use.sharing else ""
                if own.block_use.flat.is_of_block:
                    message += f"; {own.block_use.flat.obstacle}"
                lines = [*((p, p.block_use.sharing_line) for p in self.proofs), *lines]
            span = self._span(lines)
            return _refused(own, code, _with_called(message, self.kernel, span), span)
        x, y, z = map(self._dimension, range(3))
        kernel = replace(own, dimensions=(x, y, z), data_parameters=self._data_parameters())
        return self._with_meetings(self._with_used_members(kernel))

    def _with_used_members(self, kernel: Kernel) -> Kernel:
        parameters = (*kernel.data_parameters, *self.kernel.data_parameters)
        used = {parameter.name for parameter in parameters}
        for places in filter(None, self._distinct_places()):
            used.update(names_in(f"{places.larger} {places.smaller}"))
        return replace(kernel, members=tuple(m for m in kernel.members if m.name in used))

    def _data_parameters(self) -> tuple[DataParameter, ...]:
        found: dict[str, Role] = {}
        for instance in self.instances:
            for place, role in instance.proof.roles:
                if name := instance.names.get(place):
                    found[name] = min(found.get(name, role), role, key=tuple(Role).index)
        arguments = (*self.kernel.parameters, *self.kernel.members)
        scalars = (one for one in arguments if one.name in found and not one.is_pointer)
        integers = (one.name for one in scalars if REAL_BYTES.keys().isdisjoint(one.type.split()))
        return tuple(DataParameter(name, found[name]) for name in integers)

    def _dimension(self, axis: int) -> DimensionProof:
        found = [proof.dimensions[axis] for proof in self.proofs]
        raw = next((one.raw for one in found if one.raw is not None), None)
        indexed = any(one.indexed for one in found)
        stride = any(one.grid_stride for one in found)
        if raw is None and any(one.grid_kept for one in found):
            if all(one.grid_kept for one in found):
                return DimensionProof(True, grid_kept=True)
            raw = f"blockDim.{DIMENSIONS[axis]}"
        if raw is not None:
            return DimensionProof(indexed, self._block_dependent(axis, raw))
        guard = None if stride else self._guard(axis)
        limits, *others = {instance.free_up_to(axis) for instance in self.instances}
        # The threads that have work where any number of them does the same, in all instances.
        free = _together(limits) if limits and not others else None
        if any(one.in_one_round for one in found):
            return DimensionProof(indexed, None, guard, stride, idle_from=free)
        return DimensionProof(indexed, None, guard, stride, grid_free=free)

    def _block_dependent(self, axis: int, raw: str) -> Impurity:
        """Why a dimension stays that the compiled code does not read as a global id alone."""
        code = Code.BLOCK_DEPENDENT
        message = code.template.format(what=raw, d=DIMENSIONS[axis])
        by_rows = next((proof.not_by_rows for proof in self.proofs if proof.not_by_rows), "")
        if by_rows:
            message += f"; of blocks with a row each it is not proven for {by_rows}"
        lines = ((proof, proof.dimensions[axis].line) for proof in self.proofs)
        return Impurity(code, message, self._span(lines) or self.kernel.span)

    def _span(self, lines: Iterable[tuple[EntryProof, int]]) -> Span | None:
        spans = (_span(self.kernel, proof, line) for proof, line in lines)
        return next((span for span in spans if span is not None), None)

    def _without_rows(self, kernel: Kernel) -> Kernel:
        """Refuse dimensions whose grid is kept: a launch cannot ask what rows need."""
        x, y, z = (
            DimensionProof(True, self._unasked(axis)) if one.grid_kept else one
            for axis, one in enumerate(kernel.dimensions)
        )
        return replace(kernel, dimensions=(x, y, z))

    def _unasked(self, axis: int) -> Impurity:
        found = self._block_dependent(axis, f"blockDim.{DIMENSIONS[axis]}")
        why = "blocks with a row each need what a launch cannot be asked, as an end that is loaded"
        return replace(found, message=f"{found.message}; {why}")

    def _guard(self, axis: int) -> str | None:
        """The guard that the kernel has already, where it holds; else the first bound."""
        known = self.kernel.dimensions[axis].guard
        for looser in range(_MOST_STEPS if known is not None else 0):
            if known in self._common_bounds(axis, looser):
                return known
        return next(iter(self._common_bounds(axis)), None)

    def _common_bounds(self, axis: int, looser: int = 0) -> list[str]:
        first, *others = (instance.bounds(axis, looser) for instance in self.instances)
        common = [bound for bound in first if all(bound in other for other in others)]
        each = [dict.fromkeys(c for one in (first, *others) for c in one[b]) for b in common]
        # `n < 0 ? 0 : n + m`: 0 stands for no guard.
        chosen = ("".join(f"{condition} < 0 ? 0 : " for condition in one) for one in each)
        return [condition + bound for condition, bound in zip(chosen, common, strict=True)]

    def _needed_shared(self) -> tuple[tuple[int, int], ...]:
        """The most that an instance needs of dynamic shared memory, by the threads of a block."""
        pairs = (zip(proof.widths, proof.shared_bytes, strict=False) for proof in self.proofs)
        # Of one width the greatest comes last.
        return tuple(sorted(dict(sorted(chain(*pairs))).items()))

    def _distinct_places(self) -> set[DistinctPlaces | None]:
        return {one for instance in self.instances for one in instance.distinct_places()}

    def _with_meetings(self, kernel: Kernel) -> Kernel:
        meeting, places = _meeting(kernel, self.proofs), self._distinct_places()
        needs_warps = meeting is None or None in places or any(p.needs_warps for p in self.proofs)
        conditions = {one for one in places if one is not None}
        asking = [proof for proof in self.proofs if proof.needs_warps or not needs_warps]
        single = {d for proof in asking for d in proof.single_thread}
        if needs_warps and any(proof.grid_kept for proof in kernel.dimensions):
            kernel = self._without_rows(kernel)
        must_hold = any(proof.must_hold for proof in self.proofs)
        is_asked = must_hold or not needs_warps
        may_meet, inner = meeting if is_asked and meeting is not None else ((), ())
        widths = [frozenset(proof.widths) for proof in self.proofs if proof.widths]
        common = frozenset.intersection(*widths) if widths else None
        # What it needs cannot be asked at a launch, or each instance is proven for other blocks.
        cannot_ask = must_hold and (meeting is None or None in places)
        if cannot_ask or common == frozenset():
            return _refused(kernel, Code.SHARED_MEMORY, Code.SHARED_MEMORY.template)
        return replace(
            kernel,
            needs_warps=needs_warps,
            may_meet=may_meet,
            inner_pointers=inner,
            distinct_places=tuple(sorted(conditions, key=str)) if is_asked else (),
            single_thread=tuple(sorted(single)),
            must_hold=must_hold,
            narrow_blocks=any(proof.narrow_blocks for proof in self.proofs),
            allowed=BlockRange(proven=tuple(sorted(common))) if common else None,
            reassociates=any(proof.reassociates for proof in self.proofs),
            keeps_shared=any(
                p.keeps_shared or (p.uses_shared and not p.shared_bytes) for p in self.proofs
            ),
            needed_shared=self._needed_shared(),
        )


#: `object->name(`, `object.name(`
_MEMBER_CALL = re.compile(r"(?:->|\.)\s*(?:template\s+)?([A-Za-z_]\w*)\s*\(")


def _with_called(message: str, kernel: Kernel, span: Span | None) -> str:
    if VIRTUAL_CALL not in message or span is None:
        return message
    names = dict.fromkeys(_MEMBER_CALL.findall(kernel.source[span]))
    reached = [name for name in names if f"::{name}(" in message]
    known = reached or [*names]
    if len(known) != 1:
        return message
    return message.replace(VIRTUAL_CALL, f"{VIRTUAL_CALL} of '{known[0]}'")


def _meeting(kernel: Kernel, proofs: Sequence[EntryProof]) -> tuple[Pairs, Pairs] | None:
    """Positions of pointers that may meet, and the inner ones; None where none can be asked."""
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
    if inner and len({one for pair in found for one in pair}) > MOST_ASKED:
        return None
    positions = {one: before + index for index, one in enumerate(inner)}
    pairs = {(positions.get(one, one[0]), positions.get(two, two[0])) for one, two in found}
    return tuple(sorted(pairs)), tuple(inner)


def _pointer(place: str, proof: EntryProof) -> tuple[int, int] | None:
    """Parameter, and place in it (`_WHOLE`: all), of a pointer, as the code reads it."""
    index, offset, _ = place.split(":")
    if int(index) in proof.structures:
        is_inside = 0 <= int(offset) <= proof.parameters[int(index)] - _POINTER_BYTES
        return (int(index), int(offset)) if is_inside else None
    return (int(index), _WHOLE) if offset == "0" else None


def _together(limits: Sequence[str]) -> str:
    """Limits of which each has to be more than 0: their sum is as large as any."""
    if len(limits) == 1:
        return limits[0]
    return "".join(f"{limit} < 1 ? 0 : " for limit in limits) + " + ".join(limits)
