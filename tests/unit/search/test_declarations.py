"""Declarations at file scope, by their forms: what is not known is not taken for harmless."""

from __future__ import annotations

import pytest

from cutune.search.clones.declarations import Expanded, Kind, NotSplit, split, written

USER = "app.cu"


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("int a = 1, *b, c[2] = {1, 2}, d{3};", Kind.VARIABLE, "a b c d"),
        ("static const int width = f(1);", Kind.VARIABLE, "width"),
        ("std::vector<int> cache;", Kind.VARIABLE, "cache"),
        ("struct State state;", Kind.VARIABLE, "state"),
        ("struct State *state = nullptr;", Kind.VARIABLE, "state"),
        ("__attribute__((device)) int done;", Kind.VARIABLE, "done"),
        ("int S::count = 0;", Kind.VARIABLE, "count"),
        ("extern int other;", Kind.VARIABLE, "other"),
        ("struct State { int n; };", Kind.TYPE, "State"),
        ("struct __attribute__((aligned(16))) State { int n; };", Kind.TYPE, "State"),
        ("struct State;", Kind.TYPE, "State"),
        ("enum Mode { SLOW, FAST };", Kind.TYPE, "Mode SLOW FAST"),
        ("typedef float Real;", Kind.TYPE, "Real"),
        ("using Real = float;", Kind.TYPE, "Real"),
        ("static void f(int n) { return; }", Kind.FUNCTION, "f"),
        ("struct State make(int n) { return {n}; }", Kind.FUNCTION, "make"),
        ("auto f(int n) -> int { return n; }", Kind.FUNCTION, "f"),
        ("int S::f() const { return n; }", Kind.FUNCTION, "S f"),
        ("__attribute__((global)) void k(int *a) { }", Kind.FUNCTION, "k"),
        ("void __attribute__((launch_bounds(128))) k(int *a) { }", Kind.FUNCTION, "k"),
        ("void f(int n);", Kind.PROTOTYPE, "f"),
        ("State state(3);", Kind.PROTOTYPE, "state"),
        # Forms that are not known: all names in them lead there.
        ("struct State { int n; } state;", Kind.OTHER, "State n state"),
        ("struct { int n; } state, other;", Kind.OTHER, "n state other"),
        ("enum { OFF, ON } mode;", Kind.OTHER, "OFF ON mode"),
        ("int (*call)(int) = f;", Kind.OTHER, "call f"),
        ("int (&all)[3] = values;", Kind.OTHER, "all values"),
        ("auto [a, b] = pair();", Kind.OTHER, "a b pair"),
        ("int f(int), x;", Kind.OTHER, "f x"),
        ("template <int N> int most = 0;", Kind.OTHER, "N most"),
        ("alignas(16) int room[4];", Kind.OTHER, "room"),
        ("static_assert(sizeof(int) == 4);", Kind.OTHER, ""),
        ("using namespace std;", Kind.OTHER, ""),
    ],
)
def test_a_declaration_is_known_by_its_form(text: str, kind: Kind, names: str) -> None:
    (found,) = written(text, USER)
    assert (found.kind, found.names) == (kind, frozenset(names.split()))


def test_namespaces_are_entered() -> None:
    text = 'namespace a { int x; namespace b { void f() { } } } extern "C" { int y; }'
    found = [(*one.names, len(one.scope)) for one in written(text, USER)]
    assert found == [("x", 1), ("f", 2), ("y", 1)]


def test_only_the_users_files_are_split() -> None:
    text = '# 1 "app.cu"\n# 1 "lib.h" 1\nint system;\n# 2 "app.cu" 2\nint own;\n'
    found = split(text, {USER})
    assert [one.name for one in found.declarations] == ["own"]
    assert "system" in found.other_words and "own" not in found.other_words


@pytest.mark.parametrize(
    "text",
    [
        "void f() {",
        "int a[2;",
        "int a",
        "} int a;",
        'void f() {\n# 1 "lib.h" 1\nint system;\n# 2 "app.cu" 2\n}\n',
    ],
)
def test_what_cannot_be_split_is_said(text: str) -> None:
    with pytest.raises(NotSplit):
        split(f'# 1 "app.cu"\n{text}', {USER})


@pytest.mark.parametrize(
    ("text", "is_plain"),
    [
        ("typedef float T;", True),
        ("typedef const Loud *T;", True),
        ("using T = unsigned int;", True),
        ("struct T { int n; float *a, b[4]; };", True),
        ("struct T { Loud *a, b; };", False),
        ("struct T { int n; float *a; unsigned int b[4], c; Inner inner; Loud *loud; };", True),
        ("struct T { Loud loud; };", False),
        ("struct T { int n = 3; };", False),
        ("struct T { int n; T(int n); };", False),
        ("struct T : Loud { int n; };", False),
        ("struct T { virtual int f(); };", False),
        ("union T { int n; float x; };", False),
        ("typedef struct { int n; } T;", False),
    ],
)
def test_plain_types_are_copied_byte_by_byte(text: str, is_plain: bool) -> None:
    """Of a list of members, all must be of the type itself."""
    around = "struct Inner { double x, y; }; struct Loud { Loud(const Loud &); };"
    found = written(f"{around} {text}", USER)
    assert Expanded(found, "").is_plain(["const", "T"]) is is_plain
