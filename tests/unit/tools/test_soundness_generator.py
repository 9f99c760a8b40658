"""The generator of programs that attack the proof, and the driver that tries them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cutune.toolchain.nvcc import find_nvcc
from tests.soundness.batches import Outcome, build, changed_lines, run, tuned
from tests.soundness.generated import Campaign, main, tried
from tests.soundness.generator import FAMILIES, GROUP, Generated, batch, source
from tests.soundness.minimise import minimised
from tests.support.cutune_runs import in_own_process

pytestmark = pytest.mark.usefixtures("all_headers")

ANY_BLOCK = Path(__file__).parents[2] / "corpus" / "native" / "any_block.cpp"


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_gives_the_same_programs(family: str) -> None:
    assert source(batch(7, 0, 40, family)) == source(batch(7, 0, 40, family))
    assert source(batch(7, 0, 40, family)) != source(batch(8, 0, 40, family))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_program_does_not_depend_on_its_batch(family: str) -> None:
    assert batch(3, 20, 10, family)[4] == FAMILIES[family](3, 24)


@pytest.mark.parametrize("family", FAMILIES)
def test_half_of_the_programs_follow_their_blocks(family: str) -> None:
    programs = batch(1, 0, 1000, family)
    share = sum(each.is_dependent for each in programs) / len(programs)
    assert 0.4 < share < 0.75


def test_tame_programs_hold_nothing_that_refuses_the_whole_file() -> None:
    tame, wild = source(batch(1, 0, GROUP)), source(batch(1, GROUP, GROUP))
    assert "operator" not in tame
    assert "operator" in wild


def test_minimising_leaves_what_matters() -> None:
    lines = "\n".join(str(number) for number in range(60))
    assert minimised(lines, lambda text: {"7", "31"} <= set(text.split())) == "7\n31"


def test_outcomes_are_compared_by_program() -> None:
    before = Outcome({"p1": ("p1 0",), "p2": ("p2 0",)}, 0)
    assert before.differing(Outcome({"p1": ("p1 0",), "p2": ("p2 1",)}, 0)) == ["p2"]
    assert before.differing(Outcome({"p1": ("p1 0",)}, 1)) == ["p2"]


def test_changed_lines_are_counted_in_any_form(tmp_path: Path) -> None:
    before, after = tmp_path / "before.cu", tmp_path / "after.cu"
    before.write_text("head\nnamespace p00001 {\nk<<<1, 2>>>();\nj<<<1, 2>>>();\n}\n")
    after.write_text("more\nhead\nnamespace p00001 {\nother(k)();\nj<<<1, 2>>>();\n}\n")
    assert changed_lines(before, after) == 1
    assert changed_lines(before, before) == 0


def test_programs_whose_launches_are_all_others_are_tuned(tmp_path: Path) -> None:
    texts = ("k<<<1, 2>>>();\nk<<<2, 2>>>();", "j<<<1, 2>>>();\nj<<<2, 2>>>();")
    programs = [Generated(f"p{at}", text, False) for at, text in enumerate(texts)]
    after = tmp_path / "after.cu"
    after.write_text(
        "namespace p0 {\nother(k)();\nother(k)();\n}  // p0\n"
        "namespace p1 {\nother(j)();\nj<<<2, 2>>>();\n}  // p1\n"
    )
    assert tuned(programs, after) == (programs[0],)


def test_an_original_that_fails_is_not_compared() -> None:
    lines = {"p1": ("p1 0",), "end": ("end 0",)}
    assert Outcome(lines, 0).is_healthy(["p1"])
    assert not Outcome(lines, 139).is_healthy(["p1"])
    assert not Outcome(lines, 0).is_healthy(["p1", "p2"])
    assert not Outcome({**lines, "end": ("end 700",)}, 0).is_healthy(["p1"])


@pytest.mark.nvcc
def test_a_campaign_that_changes_nothing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["generated", "--count", "2", "--shaker", "cp {source} {output}"]
    monkeypatch.setattr(sys, "argv", arguments)
    assert main() == 1


@pytest.mark.long
@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("family", "first"),
    [("any", 0), ("any", GROUP), ("any", 6 * GROUP), ("any", 9 * GROUP), ("collective", 0)],
)
def test_originals_are_well_defined(family: str, first: int, tmp_path: Path) -> None:
    built = build(find_nvcc(), batch(1, first, GROUP, family), tmp_path)
    assert len(built.programs) >= GROUP - 2
    for size in ("129", "1000"):
        done = in_own_process(["run", "--check", str(built.binary), size], tmp_path)
        assert done.returncode == 0, done.stderr
        assert "nothing found" in done.stderr


@pytest.mark.long
@pytest.mark.nvcc
@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_what_is_marked_independent_bears_any_block(tmp_path: Path) -> None:
    library = tmp_path / "any_block.so"
    compiler = ["g++", "-shared", "-fPIC", str(ANY_BLOCK), "-o", str(library), "-ldl"]
    subprocess.run(compiler, check=True)
    built = build(find_nvcc(), batch(1, 0, 2 * GROUP), tmp_path / "programs")
    differing: set[str] = set()
    for size in (300, 1000):
        before = run(built.binary, size, {})
        assert before.status == 0
        for seed in ("1", "2", "3"):
            environment = {"LD_PRELOAD": str(library), "ANY_BLOCK": seed}
            differing.update(before.differing(run(built.binary, size, environment)))
    dependent = {each.name for each in built.programs if each.is_dependent}
    assert differing <= dependent
    assert len(differing) >= len(built.programs) / 3


@pytest.mark.nvcc
def test_what_does_not_compile_is_left_out(tmp_path: Path) -> None:
    good, other = batch(1, 0, 2)
    broken = type(other)(other.name, other.text + "\nint f() { return nothing; }", False)
    built = build(find_nvcc(), [good, broken], tmp_path)
    assert built.programs == (good,)
    assert [each.name for each, _ in built.dropped] == [other.name]


@pytest.mark.long
@pytest.mark.nvcc
def test_a_changed_program_is_found(tmp_path: Path) -> None:
    # In place of cutune: the source with one launch given another block, unproven.
    text = (
        "import sys; text = open(sys.argv[1]).read();"
        " open(sys.argv[2], 'w').write(text.replace('tell(\"p00003\")',"
        " 'note(1); tell(\"p00003\")'))"
    )
    script = tmp_path / "shaker.py"
    script.write_text(text, encoding="ascii")
    campaign = Campaign(1, 1, 1, GROUP, f"{{python}} {script} {{source}} {{output}}")
    report = tried(find_nvcc(), campaign, 0, 5)
    assert [failure.program.name for failure in report.failures] == ["p00003"]
