"""Kernels in words of the source: what is proven of their entries, in all instances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from cutune.core.codes import Code
from cutune.core.source import Source
from cutune.proof.analysis.analyze import analyze
from cutune.proof.compiled import ProvenCode
from cutune.proof.confirm import MemberPlaces, as_compiled
from cutune.proof.entry_proof import EntryDimension, EntryProof, Refused
from cutune.proof.source_lines import SourceLine
from cutune.proof.values.id_bounds import IdBound
from cutune.proof.values.launch_conditions import Spread
from cutune.proof.values.polynomial import OPAQUE, PARAMETER, IntegerPolynomial
from cutune.source.program import (
    DataParameter,
    DimensionProof,
    DistinctPlaces,
    Kernel,
    MemberParameter,
    Role,
)
from cutune.source.syntax.parse import parse
from cutune.source.unit.unit_texts import UnitTexts

LINE = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = i;"


def kernel(body: str = LINE, head: str = "") -> Kernel:
    text = f"{head} __global__ void k(int n, unsigned m, float *a, float *b) {{ {body} }}"
    return analyze(UnitTexts.read(parse(Source("a.cu", text)))).kernels[0]


def of(name: str, kind: str = PARAMETER) -> IntegerPolynomial:
    return IntegerPolynomial.atom(kind, name)


N, M = of("0:0:b32"), of("1:0:b32")
UNNAMED = of("9:0:b32")
ONE = IntegerPolynomial.constant(1)
NONE = EntryDimension(False)


def below(*limits: IntegerPolynomial, **more: Any) -> EntryDimension:
    return EntryDimension(True, None, tuple(IdBound(limit) for limit in limits), **more)


def proof(x: EntryDimension | None = None, y: EntryDimension = NONE, **more: Any) -> EntryProof:
    more = {"name": "_Z1k", "parameters": (4, 4, 8, 8)} | more
    return EntryProof(dimensions=(x or below(N), y, NONE), **more)


def judged(kernel: Kernel, *proofs: EntryProof, members: Sequence[MemberPlaces] = ()) -> Kernel:
    return as_compiled(kernel, ProvenCode({"k": proofs}, (80, 90)), members)


def x_of(found: Kernel) -> DimensionProof:
    return found.dimensions[0]


# Guards.


def test_the_first_bound_is_the_guard() -> None:
    found = judged(kernel(), proof(below(N, M), roles=(("0:0:b32", Role.GUARD),)))
    assert (found.pure_dimensions, x_of(found).guard) == (("x",), "n")
    assert found.proven_for == (80, 90)
    assert found.data_parameters == (DataParameter("n", Role.GUARD),)
    assert x_of(judged(kernel(), proof(below(M, N)))).guard == "m"
    # One that has no name in the source is none.
    assert x_of(judged(kernel(), proof(below(UNNAMED)))).guard is None
    assert x_of(judged(kernel(), proof(below()))).guard is None
    quarter = IdBound(N - ONE - ONE - ONE, step=4)
    assert x_of(judged(kernel(), proof(EntryDimension(True, None, (quarter,))))).guard == "n / 4"


@pytest.mark.parametrize(
    ("limit", "guard"),
    [
        (N, "n"),
        (N - ONE, "n"),
        (N - IntegerPolynomial.constant(8), "n"),
        (N - IntegerPolynomial.constant(9), "n - 9"),
        (N + ONE, "n + 1"),
        (M, "m"),
    ],
)
def test_the_guard_of_a_kernel_is_that_of_its_copy_too(
    limit: IntegerPolynomial, guard: str
) -> None:
    own = judged(kernel(), proof(below(N)))
    assert x_of(judged(own, proof(below(limit)))).guard == guard


def test_conditions_of_a_bound_are_asked_too() -> None:
    bound = IdBound(N, (M - ONE, N - M))
    found = judged(kernel(), proof(EntryDimension(True, None, (bound,))))
    assert x_of(found).guard == "m - 1 < 0 ? 0 : n - m < 0 ? 0 : n"
    # What is unsigned is not below 0.
    unsigned = judged(kernel(), proof(EntryDimension(True, None, (IdBound(N, (M,)),))))
    assert x_of(unsigned).guard == "n"
    signed = judged(kernel(), proof(EntryDimension(True, None, (IdBound(N, (N,)),))))
    assert x_of(signed).guard == "n < 0 ? 0 : n"
    negative = judged(kernel(), proof(EntryDimension(True, None, (IdBound(N, (-M,)),))))
    assert x_of(negative).guard == "-m < 0 ? 0 : n"
    # One that has no name in the source cannot be asked.
    nameless = judged(kernel(), proof(EntryDimension(True, None, (IdBound(N, (UNNAMED,)),))))
    assert x_of(nameless).guard is None


def test_a_bound_holds_in_all_instances() -> None:
    assert x_of(judged(kernel(), proof(below(N, M)), proof(below(N)))).guard == "n"
    both = judged(kernel(), proof(below(N, M)), proof(below(M)))
    assert x_of(both).guard == "m"
    neither = judged(kernel(), proof(below(N)), proof(below(M)))
    assert x_of(neither).guard is None
    conditional = [
        proof(EntryDimension(True, None, (IdBound(N, (condition,)),)))
        for condition in (M - ONE, N - ONE, M - ONE)
    ]
    assert x_of(judged(kernel(), *conditional)).guard == "m - 1 < 0 ? 0 : n - 1 < 0 ? 0 : n"


def test_strides_have_no_guard() -> None:
    found = x_of(judged(kernel(), proof(below(N, grid_stride=True))))
    assert (found.grid_stride, found.guard, found.impurity) == (True, None, None)


def test_a_free_grid_is_one_in_all_instances() -> None:
    def free(*limits: IntegerPolynomial) -> EntryProof:
        return proof(EntryDimension(True, grid_stride=True, free_up_to=limits))

    assert x_of(judged(kernel(), free(N), free(N))).grid_free == "n"
    assert x_of(judged(kernel(), free(N, M - ONE))).grid_free == (
        "n < 1 ? 0 : m - 1 < 1 ? 0 : n + m - 1"
    )
    for others in ([free(M)], [free(N, M)], [free()], [free(N), free()]):
        assert x_of(judged(kernel(), free(N), *others)).grid_free is None
    # One that has no name in the source cannot be asked.
    assert x_of(judged(kernel(), free(N, UNNAMED))).grid_free is None


def test_parameters_have_their_strongest_use_in_any_instance() -> None:
    uses = (("0:0:b32", Role.BOUND), ("1:0:b32", Role.BRANCH), ("9:0:b32", Role.GUARD))
    # A pointer that is compared is no size.
    stronger = (("1:0:b32", Role.STRIDE), ("0:0:b32", Role.COUNTER), ("2:0:b64", Role.BOUND))
    found = judged(kernel(), proof(below(M), roles=uses), proof(below(M), roles=stronger))
    assert (found.impurity, found.pure_dimensions, x_of(found).guard) == (None, ("x",), "m")
    assert found.data_parameters == (
        DataParameter("n", Role.BOUND),
        DataParameter("m", Role.STRIDE),
    )


def test_without_compiled_code_nothing_is_proven() -> None:
    found = kernel()
    assert found.impurity is not None and found.impurity.code is Code.NO_COMPILED_CODE
    assert found.pure_dimensions == () and found.data_parameters == ()


def test_what_is_not_compiled_is_refused() -> None:
    found = as_compiled(kernel(), ProvenCode({}, (80,)))
    assert found.impurity is not None and found.impurity.code is Code.NOT_COMPILED
    assert found.impurity.message == Code.NOT_COMPILED.template


def test_what_is_refused_in_one_instance_is_refused() -> None:
    refused = proof(refused=Refused(Code.SHARED_MEMORY, "uses shared memory"))
    found = judged(kernel(), proof(), refused)
    assert found.impurity is not None and found.impurity.code is Code.SHARED_MEMORY
    assert found.impurity.message == "uses shared memory"
    other = judged(kernel(), proof(refused=Refused(Code.NOT_PROVEN, "holds something")))
    assert other.impurity is not None and other.impurity.code is Code.UNPROVEN_CODE
    assert "holds something" in other.impurity.message


def test_where_a_rule_is_broken_is_the_line_that_the_instruction_came_from() -> None:
    own = kernel("\nint i = 0;\n  a[threadIdx.x] = i; // here\n")
    call = SourceLine("a.cu", 3)
    lines = {
        1: SourceLine("a.cu", 3),
        2: SourceLine("other.h", 1, call),
        3: SourceLine("other.h", 3),
        4: SourceLine("a.cu", 9),
    }
    for line, text in ((1, "a[threadIdx.x] = i;"), (2, "a[threadIdx.x] = i;"), (3, ""), (4, "")):
        raw = EntryDimension(True, "threadIdx.x", line=line)
        for broken in (
            judged(own, proof(raw, locate=lines.get)).dimensions[0],
            judged(own, proof(refused=Refused(Code.BARRIER, "", line), locate=lines.get)),
        ):
            assert broken.impurity is not None
            assert own.source[broken.impurity.span] == text or broken.impurity.span == own.span
            assert (broken.impurity.span == own.span) == (not text)


def test_indices_that_the_compiled_code_uses_otherwise() -> None:
    raw = EntryDimension(True, "threadIdx.x")
    told = x_of(judged(kernel(), proof(raw))).impurity
    assert told is not None and told.code is Code.BLOCK_DEPENDENT
    assert told.message == Code.BLOCK_DEPENDENT.template.format(what="threadIdx.x", d="x")
    # In a dimension that the kernel has nothing to do with.
    other = judged(kernel(), proof(y=EntryDimension(True, "threadIdx.y")))
    assert (other.pure_dimensions, x_of(other).guard) == (("x",), "n")
    assert other.dimensions[1].impurity is not None


def test_rows_are_shared() -> None:
    kept = EntryDimension(True, grid_kept=True)
    found = x_of(judged(kernel(), proof(kept)))
    assert (found.grid_kept, found.impurity, found.guard) == (True, None, None)
    mixed = x_of(judged(kernel(), proof(kept), proof())).impurity
    assert mixed is not None
    # What rows need cannot be asked where warps keep their threads.
    warps = x_of(judged(kernel(), proof(kept, needs_warps=True)))
    assert warps.impurity is not None and warps.impurity.code is Code.BLOCK_DEPENDENT
    assert "blockDim.x" in warps.impurity.message and not warps.grid_kept
    raw = EntryDimension(True, "threadIdx.y")
    beside = judged(kernel(), proof(kept, y=raw, needs_warps=True)).dimensions
    assert [one.impurity is not None for one in beside] == [True, True, False]


# Templates.


def test_of_a_template_only_some_instances_may_be_proven() -> None:
    template = kernel(LINE, "template <class t>")
    assert template.template_parameters
    refused = proof(name="_Z1kf", refused=Refused(Code.SHARED_MEMORY, "uses shared memory"))
    found = judged(template, proof(), refused)
    assert found.pure_dimensions == ("x",)
    ((name, reason),) = found.unproven
    assert (name, reason.code) == ("_Z1kf", Code.SHARED_MEMORY)
    # Not where one instance is refused on one architecture alone, or all are.
    assert judged(template, proof(), replace(refused, name="_Z1k")).pure_dimensions == ()
    assert judged(template, refused, replace(refused, name="_Z1ki")).pure_dimensions == ()
    assert judged(kernel(), proof(), refused).pure_dimensions == ()


def test_of_a_template_without_proven_instances_nothing_is_left() -> None:
    """What a copy is compared with is a kernel that is proven already."""
    proven = judged(kernel(LINE, "template <class t>"), proof())
    assert proven.pure_dimensions == ("x",)
    refused = proof(refused=Refused(Code.SHARED_MEMORY, "uses shared memory"))
    found = judged(proven, refused, replace(refused, name="_Z1ki"))
    assert (found.pure_dimensions, found.unproven) == ((), ())


def test_of_instances_that_are_tunable_in_different_dimensions_none_is() -> None:
    template = kernel(LINE, "template <class t>")
    raw = EntryDimension(True, "threadIdx")
    own = [proof(name="_Z1k", y=raw), proof(raw, below(M), name="_Z1kf")]
    assert all(judged(template, one).pure_dimensions for one in own)
    found = judged(template, *own)
    assert (found.pure_dimensions, found.unproven) == ((), ())
    refused = proof(name="_Z1kd", refused=Refused(Code.SHARED_MEMORY, "uses shared memory"))
    assert judged(template, *own, refused).unproven == ()


# Threads that meet.


def test_what_a_launch_asks() -> None:
    spread = Spread(IntegerPolynomial.constant(4) * M, IntegerPolynomial.constant(4), 0)
    found = judged(
        kernel(),
        proof(pointers=(("2:0:b64", "3:0:b64"),), spreads=(spread,), single_thread=("z",)),
        proof(max_threads=512, single_thread=("y",)),
    )
    assert found.may_meet == ((2, 3),)
    assert found.distinct_places == (DistinctPlaces("4 * m", "4", 0),)
    assert (found.single_thread, found.max_threads) == (("y", "z"), 512)
    assert not found.needs_warps and found.inner_pointers == ()


@pytest.mark.parametrize(
    "more",
    [
        {"needs_warps": True, "pointers": (("2:0:b64", "3:0:b64"),)},
        # Nothing that the source has a name for, or that is a pointer.
        {"spreads": (Spread(UNNAMED, ONE, 0),), "pointers": (("2:0:b64", "3:0:b64"),)},
        {"spreads": (Spread(ONE, UNNAMED, 0),), "single_thread": ("y",)},
        {"spreads": (Spread(of("any", OPAQUE), ONE, 0),)},
        {"pointers": (("2:0:b64", "3:4:b64"),)},
        {"pointers": (("2:0:b64", "3:8:b64"),), "structures": frozenset({3})},
        {"pointers": (("2:0:b64", "3:4:b64"),), "structures": frozenset({3})},
    ],
)
def test_where_that_cannot_be_asked_warps_keep_their_threads(more: dict[str, Any]) -> None:
    found = judged(kernel(), proof(**more))
    assert found.needs_warps
    assert (found.may_meet, found.distinct_places, found.single_thread) == ((), (), ())


def test_where_warps_are_counted_blocks_have_no_thread_beside() -> None:
    found = judged(kernel(), proof(needs_warps=True, single_thread=("y",)))
    assert found.needs_warps
    assert found.single_thread == ("y",)


def test_shared_memory_of_rows_is_kept() -> None:
    assert judged(kernel(), proof(uses_shared=True)).keeps_shared
    assert not judged(kernel(), proof()).keeps_shared


def test_pointers_in_structures_come_behind_the_arguments() -> None:
    pointers = (("2:0:b64", "3:8:b64"), ("3:0:b64", "3:8:b64"))
    own = proof(pointers=pointers, structures=frozenset({3}), parameters=(4, 4, 8, 24))
    found = judged(kernel(), own)
    assert found.inner_pointers == ((3, 0), (3, 8))
    assert found.may_meet == ((2, 5), (4, 5))
    # Where the text does not list all parameters it is not known what lies behind them.
    assert judged(kernel(), replace(own, parameters=(4, 4, 8, 24, 8))).needs_warps
    # They come behind the members of structures, too.
    with_members = replace(kernel(), members=(MemberParameter("s.n", "int", 3, "s", ()),))
    places = MemberPlaces(3, 24, {"3:16:b32": "s.n"})
    used = replace(own, roles=(("3:16:b32", Role.BOUND),))
    assert judged(with_members, used, members=[places]).may_meet == ((2, 6), (5, 6))
    # Of others nothing is asked.
    assert judged(with_members, own, members=[places]).may_meet == ((2, 5), (4, 5))
    many = tuple((f"3:{8 * n}:b64", f"3:{8 * n + 8}:b64") for n in range(16))
    large = replace(own, parameters=(4, 4, 8, 8 * 17), pointers=many)
    assert judged(kernel(), large).needs_warps
    assert not judged(kernel(), replace(large, pointers=many[:-1])).needs_warps


# Names.


def test_parameters_have_names_by_their_size() -> None:
    # Of a short one it is told how it is read.
    short = proof(below(of("0:0:s16")), parameters=(2, 4, 8, 8))
    assert x_of(judged(kernel(), short)).guard == "n"
    longer = proof(below(of("0:0:b32")), parameters=(8, 4, 8, 8))
    assert x_of(judged(kernel(), longer)).guard is None
    # A number with a sign that is read without one is another number, and the other way round.
    for place, guard in (("0:0:u16", None), ("1:0:u16", "m"), ("1:0:s16", None)):
        other_kind = proof(below(of(place)), parameters=(2, 2, 8, 8))
        assert x_of(judged(kernel(), other_kind)).guard == guard
    # Nothing is known where there are others than the source lists.
    other = proof(below(N), parameters=(4, 4, 8))
    assert x_of(judged(kernel(), other)).guard is None


def test_members_have_names_where_the_structure_is_as_long() -> None:
    places = MemberPlaces(3, 16, {"3:8:b32": "s.n"})
    inner = of("3:8:b32")
    for size, guard in ((16, "s.n"), (24, None)):
        one = proof(below(inner), parameters=(4, 4, 8, size))
        assert x_of(judged(kernel(), one, members=[places])).guard == guard
    # Parameters keep theirs.
    scalar = proof(below(N), parameters=(4, 4, 8, 16))
    assert x_of(judged(kernel(), scalar, members=[places])).guard == "n"
