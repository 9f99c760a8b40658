"""Names that tell instances of a kernel apart."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from cutune.toolchain.kernel_names import (
    LONGEST,
    brief,
    demangled,
    instance_names,
    shown_parameters,
)

MANGLED = ["_Z5scaleIfEvixPT_", "_ZN2ns5scaleIdLi4EEEvixPT_", "_Z1kif", "_Z1kid", "main_kernel"]
KERNELS = ["scale", "scale", "k", "k", "main_kernel"]


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="no c++filt")
def test_template_arguments_else_parameter_types() -> None:
    assert instance_names(KERNELS, MANGLED) == [
        *("scale<float>", "scale<double, 4>", "k(int, float)", "k(int, double)", "main_kernel")
    ]
    assert instance_names(["k"], ["_Z1kif"]) == ["k"]
    # Two sources with the same kernel: not for a name to tell apart.
    assert instance_names(["k", "k"], ["_Z1kif", "_Z1kif"]) == ["k", "k"]
    assert instance_names([], []) == []


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="no c++filt")
def test_the_same_names_are_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = demangled(MANGLED)
    kept = [*first]
    first.clear()
    monkeypatch.setattr(subprocess, "run", None)
    assert demangled(MANGLED) == kept


def test_without_a_demangler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    names = instance_names(KERNELS, MANGLED)
    assert len(set(names)) == len(names) and names[-1] == "main_kernel"


def test_long_names_are_cut() -> None:
    assert brief("k") == "k"
    assert len(brief("k" * 100)) == LONGEST and brief("k" * 100).endswith("…")


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="no c++filt")
def test_long_names_are_told_apart_by_what_is_kept_of_them() -> None:
    outer, tail = "z" * LONGEST, "y" * LONGEST
    ends = [f"_Z1kIN{LONGEST}{outer}3{name}EEvT_" for name in ("one", "two")]
    first, second = instance_names(["k", "k"], ends)
    assert first.endswith("::one>") and second.endswith("::two>")
    assert len(first) == len(second) == LONGEST and "…" in first
    # Neither beginning nor end tells these apart.
    middles = [f"_Z1kIN{LONGEST}{outer}3{name}{LONGEST}{tail}EEvT_" for name in ("one", "two")]
    first, second = instance_names(["k", "k"], middles)
    assert first != second and "…" not in first


@pytest.mark.parametrize(
    ("shown", "types"),
    [
        ("void scale<float>(int, float*)", ["int", "float*"]),
        ("void k<Pair<int, 4>, (2)>(Pair<int, 4> const*, unsigned long)", 2),
        ("void each<main::{lambda(int)#1}>(int, main::{lambda(int, char)#1})", 2),
        ("void f<int (*)(int)>(int (*)(int), int (&) [4])", ["int (*)(int)", "int (&) [4]"]),
        ("k()", []),
        ("_Z1kif", []),
    ],
)
def test_types_of_parameters(shown: str, types: list[str] | int) -> None:
    found = shown_parameters(shown)
    assert found == types if isinstance(types, list) else len(found) == types
