"""Mangled names of kernels, as three parts of the toolchain spell them."""

from __future__ import annotations

import pytest

from cutune.toolchain.kernel_names import (
    base_name,
    canonical,
    entry_name,
    is_among,
    is_instance,
    is_named,
    may_mean,
    parameter_types,
    plain_name,
    qualified_name,
    renamed_entry,
)


def sized(name: str) -> str:
    """A name as it is written within a mangled one."""
    return f"{len(name)}{name}"


UNNAMED = sized("_GLOBAL__N__d3fd4b23_4_a_cu__Z1kPii")
#: Host function, entry in whole-program mode, entry in relocatable code of another path.
SPELLINGS = [
    ("_Z1kPfi", "_Z1kPfi", "_Z1kPfi"),
    ("k", "k", "k"),
    ("_ZL4fillPi", "_Z4fillPi", "__nv_static_16__0a1b2c3d_4_a_cu__Z4fillPi"),
    (
        "_ZN2nsL4fillIfLi3EEEvPT_",
        "_ZN2ns4fillIfLi3EEEvPT_",
        "__nv_static_16__0a1b2c3d_4_a_cu__ZN2ns4fillIfLi3EEEvPT_",
    ),
    (
        f"_ZN{UNNAMED}4anonEPi",
        f"_ZN{sized('_GLOBAL__N__feb29947_4_a_cu__Z1kPii')}4anonEPi",
        f"_ZN{sized('_GLOBAL__N__feb29947_8_other_cu__Z1kPii')}4anonEPi",
    ),
    (
        f"_ZN2n1L3antIN2n1{UNNAMED}1QEEEvPT_",
        f"_ZN2n13antIN2n1{UNNAMED}1QEEEvPT_",
        f"_ZN2n13antIN2n1{sized('_GLOBAL__N__00000000_7_long_cu_39c0bc00')}1QEEEvPT_",
    ),
    ("_Z4modeIL4Mode1EEvPi", "_Z4modeIL4Mode1EEvPi", "_Z4modeIL4Mode1EEvPi"),
    ("_ZSt4fillPi", "_ZSt4fillPi", "_ZSt4fillPi"),
]


@pytest.mark.parametrize(("host", "entry", "relocatable"), SPELLINGS)
def test_one_kernel_has_one_canonical_name(host: str, entry: str, relocatable: str) -> None:
    assert canonical(host) == canonical(entry) == canonical(relocatable)
    assert is_among(relocatable, [host]) and is_among(host, {entry, "other"})


@pytest.mark.parametrize(
    ("host", "entry"), [(h, e) for h, e, _ in SPELLINGS if "_GLOBAL_" not in h]
)
def test_internal_linkage_is_not_part_of_an_entry(host: str, entry: str) -> None:
    assert entry_name(host) == entry


def test_architectures_are_not_part_of_a_name() -> None:
    """Thrust and CUB have namespaces that are called after them."""

    def turned(space: str, of: str = "7complexIfE") -> str:
        return canonical(f"_Z4turniN6thrust{len(space)}{space}{of}EPS2_")

    name = turned("THRUST_300001_SM_750_NS")
    assert name == turned("THRUST_300001_SM_800_900_NS")
    others = (turned("THRUST_300002_SM_750_NS"), turned("THRUST_300001_SM_750_NS", "4pairIffE"))
    assert name not in others
    assert turned("CUB_300001_SM_750_NS") == turned("CUB_300001_SM_750_800_NS") != name


def test_different_kernels_have_different_names() -> None:
    names = [
        *("_Z1kPf", "_Z1kPi", "_ZN2ns1kEPi", "_ZN35_GLOBAL__N__d3fd4b23_4_a_cu__Z1kPii1kEPi"),
        *("_Z1kIfEvPT_", "_Z1kIiEvPT_", "_Z1jPi", "k", "_Z1kIL4Mode1EEvPi", "_Z1kIL4Mode2EEvPi"),
    ]
    assert len({canonical(name) for name in names}) == len(names)
    assert not is_among("_Z1kPf", names[1:])


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z5scaleIfEvixPT_", "scale"),
        ("_ZN2ns2v15scaleILi4EEEvPi", "scale"),
        ("_ZNSt3abc1kEPi", "k"),
        ("__nv_static_16__0a1b2c3d_4_a_cu__Z4fillPi", "fill"),
        ("main_kernel", "main_kernel"),
        # No kernel is called so.
        ("_ZN3abcD1Ev", "_ZN3abcD1Ev"),
        ("_ZplRK1AS1_", "_ZplRK1AS1_"),
        ("_ZNK3abc3runEv", "_ZNK3abc3runEv"),
        ("_Z", "_Z"),
        ("_Z9short", "_Z9short"),
    ],
)
def test_base_names(symbol: str, name: str) -> None:
    assert base_name(symbol) == name


@pytest.mark.parametrize("symbol", ["_Z1kIfEvPT_", "_ZN2ns4fillIfLi3EEEvPT_", "_ZSt4fillIiEvPT_"])
def test_instances_of_templates(symbol: str) -> None:
    assert is_instance(symbol)


@pytest.mark.parametrize("symbol", ["_Z1kPfi", "k", "_ZN2ns1kE1I", "_Z4fillSt6vectorIiE"])
def test_others_are_no_instances(symbol: str) -> None:
    assert not is_instance(symbol)


@pytest.mark.parametrize(
    ("entry", "other", "expected"),
    [
        ("_Z4gemmiPf", "gemm__restrict", "_Z14gemm__restrictiPf"),
        ("_ZN4gemm4gemmILi4EEEvPf", "gemm__restrict", "_ZN4gemm14gemm__restrictILi4EEEvPf"),
        ("_ZN2nsL4gemmEPN2ns4gemmE", "gemm__restrict", "_ZN2nsL14gemm__restrictEPN2ns4gemmE"),
        ("gemm", "gemm__restrict", "gemm__restrict"),
    ],
    ids=["plain", "in a namespace of its name", "with a type of its name", "extern C"],
)
def test_an_entry_under_another_name(entry: str, other: str, expected: str) -> None:
    assert renamed_entry(entry, other) == expected


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z1kPfi", "::k"),
        ("k", "::k"),
        ("_ZN2nsL4fillIfLi3EEEvPT_", "ns::fill"),
        ("_ZN2n12n2L4fillEPf", "n1::n2::fill"),
        (f"_ZN{UNNAMED}4anonEPi", "::anon"),
        (f"_ZN2ns{UNNAMED}4anonEPi", "ns::anon"),
    ],
)
def test_a_qualified_name_tells_kernels_of_namespaces_apart(symbol: str, name: str) -> None:
    assert qualified_name(symbol) == name
    assert plain_name(name) == base_name(symbol) == plain_name(plain_name(name))
    assert is_named(symbol, name) and is_named(symbol, plain_name(name))
    assert not is_named(symbol, f"other{name}") and not is_named(symbol, f"other::{name}")


@pytest.mark.parametrize(
    ("symbol", "types"),
    [
        ("_Z1kv", []),
        ("_Z1kPKfPfiy", [("f", 1), ("f", 1), ("i", 0), ("y", 0)]),
        # In their order Kf, PKf, pair, Ppair: a repetition counts from none.
        (
            "_Z1kPKfS0_4pairPS1_S2_",
            [("f", 1), ("f", 1), ("::pair", 0), ("::pair", 1), ("::pair", 1)],
        ),
        # Of `d`, a structure, and of double.
        ("_Z1kP1dPd", [("::d", 1), ("d", 1)]),
        # Of `pair *__restrict__ *`, and of a vendor's type.
        ("_Z1kPrP4pair", None),
        ("_Z1ku6__bf16", None),
        ("_ZN2ns1kEPfPS0_", [("f", 1), ("f", 2)]),
        ("_Z1kIfEvPT_", None),
        ("_Z1kN2ns1AE", None),
        ("_Z1kPFviE", None),
        ("k", None),
    ],
)
def test_types_of_parameters_are_read(symbol: str, types: list[tuple[str, int]] | None) -> None:
    found = parameter_types(symbol)
    assert found == (tuple(types) if types is not None else None)


def test_an_overload_is_named_with_or_without_blanks() -> None:
    name = "a::b::k(const float *, c::T)"
    assert plain_name(name) == "k" and is_named("_ZN1a1b1kEPKfN1c1TE", name)
    for written in ("k", "a::b::k", "a::b::k(const float*,c::T)"):
        assert may_mean(written, name)
    assert not may_mean("a::b::k(float*,c::T)", name) and not may_mean("b::k", name)
