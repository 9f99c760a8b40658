"""What is said of a size that no run varied: only what can be written is named."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from cutune.cli.report.choices import beyond, closing_line
from cutune.measure.program_runs import RunPlan

FREED = "to free C, try: --run './{program} {b} {C} {h}' and --vary C=4,8"


@pytest.mark.parametrize(
    ("run", "vary", "fixed", "said"),
    [
        ("./{program} {b} 4 {h}", {"b": ["2"], "h": ["4", "8"]}, {"C": 4}, FREED),
        ("./{program} {b} 4 {h}", {"b": ["2"], "h": ["8"]}, {"g.C": 4}, FREED[len("to free C") :]),
        # An option of the command line that has that value, and no other.
        ("./{program} {c}", {"c": ["4"]}, {"C": 4}, "give it other values: --vary c=4,8"),
        # Two words may be it; none is.
        ("./{program} 4 4", {}, {"C": 4}, "write {C} for it in --run, and --vary C=4,8"),
        ("./{program} 4 {c}", {"c": ["4"], "d": ["4"]}, {"C": 4}, "write {C} for it in --run"),
        ("./{program} 40 x4", {}, {"C": 4}, "no word of --run is C: where the program reads it"),
        ("./{program} {n}", {"n": ["4", "8"]}, {"C": -1}, "no word of --run is C"),
        ("./app --c=4 {C}", {"C": ["7", "9"]}, {"C": 4}, "--c={C_} {C}' and --vary C_=4,8"),
        ("./{program} {C}", {"C": ["2", "4"]}, {"C": 4}, "give it larger values: --vary C=4,8"),
        ("./app 0", {}, {"mode": 0}, "to free mode, try: --run './app {mode}' and --vary mode=0,1"),
    ],
)  # fmt: skip
def test_the_line_says_what_to_write(
    run: str, vary: dict[str, list[str]], fixed: dict[str, int], said: str
) -> None:
    line = closing_line("k", fixed, RunPlan(run, vary, "all"))
    (name, value), *_ = fixed.items()
    assert line.startswith(f"k: not modelled beyond {name} = {value}; ")
    assert said in line


def test_numbers_of_threads_are_no_words_of_the_command_line() -> None:
    line = closing_line("k", {"C": 4, "T.x": 256}, RunPlan("./app 4", {}, "all"))
    assert line.startswith("k: not modelled beyond C = 4, T.x = 256; to free C, try: --run")
    assert line.count("--vary") == 1
    line = closing_line("k", {"T.x": 256}, RunPlan("./app 256", {}, "all"))
    assert line == "k: not modelled beyond T.x = 256"


def test_a_structure_of_several_numbers_is_no_word_either() -> None:
    line = closing_line("k", {"d": 1 << 70 | 3, "C": 4}, RunPlan("./app 4", {}, "all"))
    assert line.count("--vary") == 1 and "to free C" in line


def test_what_the_line_says_can_be_pasted() -> None:
    plan = RunPlan("./{program} {b} 4 {h}", {"b": ["2"], "h": ["8", "9"]}, "all")
    words = shlex.split(closing_line("k", {"C": 4}, plan))
    run = words[words.index("--run") + 1]
    name, _, values = words[words.index("--vary") + 1].partition("=")
    vary = {**plan.vary, name: values.split(",")}
    runs = RunPlan(run, vary, "all").runs(Path("app"))
    assert {one.command[1:] for one in runs} == {("2", c, h) for c in "48" for h in "89"}


def test_not_all_of_many_sizes_are_named() -> None:
    assert beyond(dict(zip("abcdef", range(6), strict=True))) == (
        "beyond a = 0, b = 1, c = 2, d = 3, …"
    )
    assert closing_line("k", {"C": 4}, None) == "k: not modelled beyond C = 4"
