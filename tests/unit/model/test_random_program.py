"""Programs whose launches draw blocks: which blocks, and what is written."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source, Span
from cutune.model.emit.programs import WIDTHS, random_blocks, random_program, random_programs
from cutune.proof.analysis.analyzer import Analyzer
from cutune.source.program import Impurity, Kernel, Program
from cutune.source.rewrite.output import Target
from tests.support.analyzed import analyzed

LINE = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = i;"
PLANE = f"{LINE} int j = blockIdx.y * blockDim.y + threadIdx.y; if (j < n) a[j] = i;"
LAUNCH = "void run(int n, float *a) { k<<<(n + 255) / 256, 256>>>(n, a); }\n"


def program(
    body: str = LINE, before: str = "", launch: str = LAUNCH, name: str = "a.cu"
) -> Program:
    text = f"{before}\n__global__ void k(int n, float *a) {{ {body} }}\n{launch}"
    return analyzed(Source(name, text))


def kernel(body: str = LINE, before: str = "") -> Kernel:
    found = program(body, before).kernel("k")
    assert found is not None
    return found


def annotated(words: str) -> str:
    return f"#pragma cutune kernel k {words}"


# Blocks.


def test_widths_are_even_and_odd_ones() -> None:
    assert WIDTHS[:8] == (1, 2, 3, 4, 5, 6, 7, 8)
    assert WIDTHS[-3:] == (512, 768, 1024)
    assert {100, 160, 384} < set(WIDTHS) and list(WIDTHS) == sorted(set(WIDTHS))


def test_of_a_line_each_width_is_drawn() -> None:
    assert random_blocks(kernel()) == tuple((width, 0, 0) for width in WIDTHS)


def test_of_a_plane_each_block_that_there_may_be() -> None:
    blocks = random_blocks(kernel(PLANE))
    assert {(1, 1, 0), (1024, 1, 0), (1, 1024, 0), (32, 32, 0), (7, 100, 0)} < set(blocks)
    assert max(x * y for x, y, _ in blocks) == 1024
    assert len(blocks) == sum(x * y <= 1024 for x in WIDTHS for y in WIDTHS)


def test_a_kernel_that_was_compiled_for_fewer_threads_gets_no_more() -> None:
    bounds = "__global__ __launch_bounds__(128) void"
    text = program().source.text.replace("__global__ void", bounds)
    (found,) = analyzed(Source("a.cu", text)).kernels
    assert [x for x, _, _ in random_blocks(found)] == [w for w in WIDTHS if w <= 128]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("block(x: 32, 96, 128)", [(32, 0, 0), (96, 0, 0), (128, 0, 0)]),
        ("block(x: 100..200)", [(w, 0, 0) for w in WIDTHS if 100 <= w <= 200]),
        ("where(x % 32 == 0)", [(w, 0, 0) for w in WIDTHS if w % 32 == 0]),
    ],
)
def test_an_annotation_says_which_blocks(words: str, expected: list[tuple[int, ...]]) -> None:
    assert list(random_blocks(kernel(before=annotated(words)))) == expected


@pytest.mark.parametrize(
    ("words", "is_judged"),
    [
        ("block(x: 32, 64)", True),
        ("block(x: 32..128) grid(keep)", True),
        ("block(x: 32, 64) where(x * y <= 512)", False),
    ],
)
def test_dimensions_that_stay_are_no_matter_unless_they_are_named(
    words: str, is_judged: bool
) -> None:
    found = kernel(before=annotated(words))
    x, y, z = found.dimensions
    kept = replace(y, indexed=True, impurity=Impurity(Code.SHARED_MEMORY, "", Span(0, 0)))
    assert bool(random_blocks(replace(found, dimensions=(x, kept, z)))) == is_judged


# Programs.


def test_each_launch_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = Target(tmp_path / "random.cu")
    written = random_program(Analyzer(), program(), 7, target)
    assert written == tmp_path / "random.cu"
    text = written.read_text()
    assert "cutune_select_random_1" in text and "7ull" in text
    (table,) = re.findall(r"cutune_random_1_blocks\[\d+\]=\{([^}]*)\}", text)
    assert [int(word) for word in table.split(",")] == [n for w in WIDTHS for n in (w, 0, 0)]
    (most,) = re.findall(r"cutune_random_1_most\[1\]=\{([^}]*)\}", text)
    assert most == "1024"
    drawn = re.sub(r"\s", "", text)
    assert re.search(
        r"unsignedshortcutune_random_1_blocks\[\d+\]=[^}]*},cutune_random_1_most", drawn
    )
    head = "inlinecutune_chosencutune_select_random_1("
    assert f"{head}constcutune_request*asked_,cutune_shortlist*){{" in drawn
    assert f"*asked_,cutune_random_1_blocks,{len(WIDTHS)}," in drawn
    assert 'cutune_print_variant("k","threads",*asked_,' in drawn
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("body", "draws"), [("a[i] = 1;", True), ("a[i] = t;", False)])
def test_the_number_of_threads_is_drawn_where_any_does(
    body: str, draws: bool, tmp_path: Path
) -> None:
    loop = 'int t = blockDim.x * gridDim.x; _Pragma("unroll 1")'
    loop += f" for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += t) {body}"
    text = random_program(Analyzer(), program(loop), 7, Target(tmp_path / "a.cu")).read_text()
    assert ("cutune_draw_threads" in text) is draws
    assert "cutune_try_threads" not in text


def test_a_seed_has_64_bits(tmp_path: Path) -> None:
    texts = [
        random_program(Analyzer(), program(), seed, Target(tmp_path / "a.cu")).read_text()
        for seed in (5, (1 << 64) + 5, 6)
    ]
    assert texts[0] == texts[1] != texts[2]


def test_where_nothing_may_be_tuned_nothing_is_written(tmp_path: Path) -> None:
    waits = program("__syncthreads(); a[threadIdx.x] = n;")
    with pytest.raises(CutuneError) as caught:
        random_program(Analyzer(), waits, 1, Target(tmp_path / "a.cu"))
    assert caught.value.diagnostic.code is Code.NOTHING_TUNABLE
    assert "a.cu" in str(caught.value.diagnostic)
    with pytest.raises(CutuneError):
        random_programs(Analyzer(), [waits], 1, [Target(tmp_path / "a.cu")])


def test_sources_without_launches_stay_as_they_are(tmp_path: Path) -> None:
    plain = program("a[threadIdx.x] = n;", name="b.cu")
    targets = [Target(tmp_path / name) for name in ("first.cu", "second.cu")]
    random_programs(Analyzer(), [program(), plain], 3, targets)
    first, second = (target.path.read_text() for target in targets)
    assert "cutune_select_random_1" in first
    assert "cutune_" not in second.replace("cutune_tuned", "")
