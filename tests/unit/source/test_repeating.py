"""Which regions may run again, and why others may not."""

from __future__ import annotations

import pytest

from cutune.core.source import Source
from cutune.source.syntax.parse import parse
from cutune.source.tunable_pragmas import Tunables, tunables_of

PROGRAM = """\
#define BLOCKS (n + m - 1) / m
int solve(int n, float *x) {
#pragma cutune tune(m: 4, 8) data(n)
    int m = 5;
    BEFORE
#pragma cutune region begin repeat
    fill<<<BLOCKS, m>>>(n, x);
#pragma cutune region end
    BEHIND
    return m;
}
"""


def found_in(before: str = "", behind: str = "", program: str = PROGRAM) -> Tunables:
    text = program.replace("BEFORE", before).replace("BEHIND", behind)
    return tunables_of([parse(Source("program.cu", text))])


@pytest.mark.parametrize(
    "before",
    [
        "",
        "step(n, m, x);",
        "if (step(n, m, x)) return 1;",
        "if (step(n, m, x)) { return 1; }",
        "if (n > 3) step(n, (n + m - 1) / m, x);",
        "for (int i = 0; i < 2; ++i) step(n, m, x);",
        "for (int i = 0; i < 2; ++i) { if (own[i].prepare(x + i, m)) return 1; }",
        "CHECK(step(n, {m, n}, x));",
        'printf("m = %d\\n", m);',
        "fill<<<n / 4, m>>>(n, x);",
        "fill<<<BLOCKS, 32>>>(n, x);",
        "int blocks = n, other[2] = {n, problem.m};",
        "problem.m = 4;",
        "std::vector<int> found(n); while (n > 3) --n;",
    ],
)
def test_calls_and_what_has_nothing_to_do_with_it_are_harmless(before: str) -> None:
    found = found_in(before, "int later = m;")
    assert found.diagnostics == ()
    (region,) = found.regions
    assert region.may_repeat and region.assigned == ("m",)


@pytest.mark.parametrize(
    "before",
    [
        "int blocks = (n + m - 1) / m;",
        "blocks = f(m);",
        "int blocks(f(m));",
        "dim3 block(m);",
        "dim3 block{m};",
        "Problem p = {n, m};",
        "int all[2][1] = {{f(m)}, {0}};",
        "std::vector<float> room(n * m);",
        "Room *room(m);",
        "float room[m];",
        "int blocks = BLOCKS;",
        "total += m;",
        "step(n, m++, x);",
        'scanf("%d", &m);',
        "if (m == 8) return 3;",
        "if (f(m)) n = 3;\n    else n = 4;",
        "for (int i = 0; i < m; ++i) step(n, i, x);",
        "while (f(m)) --n;",
        "switch (m) { case 4: n = 3; }",
        "auto again = [=] { return m; };",
        "again([&](int i) { n = i * m; });",
        "x = n > 3 ? 1 : f(m);",
        "int m;",
        "return n ? m : 3;",
    ],
)
def test_what_is_computed_in_between_stops_it(before: str) -> None:
    found = found_in(before)
    (said,) = found.diagnostics
    assert said.code.number == "CT266"
    assert "line 5 computes with 'm' outside of it; move that statement into" in said.message
    (region,) = found.regions
    assert not region.may_repeat and region.assigned == ()
    # The remedy.
    (region,) = found_in(program=PROGRAM.replace("repeat\n", f"repeat\n{before}\n")).regions
    assert region.may_repeat


@pytest.mark.parametrize(
    ("around", "stops"),
    [
        ("for (int i = 0; i < n; ++i) {", False),
        ("for (int i = 0; i < n / m; ++i) {", True),
        ("if (n > 3) {", False),
        ("if (f(m)) {", True),
        ("if (f(m)) { step(n); } else {", True),
        ("if (f(m)) if (n) {", True),
        ("{", False),
        ("run([&] {", True),
        ("run([&](int i) {", True),
    ],
)
def test_what_stands_around_it(around: str, stops: bool) -> None:
    found = found_in(around, "}" + ");" * around.startswith("run"))
    assert [region.may_repeat for region in found.regions] == [not stops]
    assert len(found.diagnostics) == stops


def test_what_stands_behind_it_in_a_loop_comes_before_it() -> None:
    loop = "for (int i = 0; i < n; ++i) {"
    assert found_in(loop, "blocks = m; }").diagnostics
    assert found_in("do {", "} while (n < m);").diagnostics
    assert not found_in(loop, "step(n, m, x); }").diagnostics
    assert not found_in("{", "blocks = m; }").diagnostics


@pytest.mark.parametrize(
    ("declared", "reason"),
    [
        ("const int m = 5;", "'m' is const; drop const"),
        ("int const m = 5;", "'m' is const; drop const"),
        ("m = 5;", "'m' is not declared in a block around it; write int m = VALUE; there"),
        ("int m = 5, blocks = n / m;", "line 4 computes with 'm'"),
    ],
)
def test_declarations_that_stop_it(declared: str, reason: str) -> None:
    (said,) = found_in(program=PROGRAM.replace("int m = 5;", declared)).diagnostics
    assert reason in said.message


def test_those_of_other_functions_and_inside_are_not_assigned() -> None:
    program = """\
inline int chosen(int n) {
#pragma cutune tune(a: 4, 8) data(n)
    const int a = 5;
    return a;
}
void solve(int n, float *x) {
#pragma cutune region begin repeat
#pragma cutune tune(b: 4, 8) data(n)
    const int b = 5;
    const int blocks = n / b;
    step(chosen(n), b, blocks, x);
#pragma cutune region end
}
"""
    found = found_in(program=program)
    assert found.diagnostics == ()
    assert [(one.may_repeat, one.assigned) for one in found.regions] == [(True, ())]


def test_without_the_word_nothing_changes() -> None:
    found = found_in("int blocks = n / m;", program=PROGRAM.replace(" repeat", ""))
    assert found.diagnostics == ()
    assert [region.may_repeat for region in found.regions] == [False]
