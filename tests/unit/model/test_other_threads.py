"""Another number of threads, where any number does the same; and launches with few blocks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutune.cli.report.choices import choice_table, print_choice
from cutune.model.emit.selection import emit_selection
from cutune.model.fit.fitted_model import FittedModel, read_models
from cutune.model.measurement.measurement import NO_OTHERS
from cutune.model.selection.choose import MORE_BLOCKS, idle_text
from cutune.model.selection.chooser import Chooser
from cutune.model.selection.variants import VariantChooser
from cutune.toolchain.device.profile import DeviceProfile

H200 = DeviceProfile.named("h200")
#: `for (int i = id; i < n; i += threads) b[i] = 2 * a[i] + b[i];`, run with 256 threads.
(SAXPY,) = read_models(Path(__file__).parents[2] / "recorded" / "strided_models.json")
SIZES = {"n": 1_000_000, "T.x": 256}


def strided(working: str | None, threads: int = 256) -> FittedModel:
    """The model, if so many threads have work, and the program has always had this number."""
    recorded = tuple((sizes, (threads, 1, 1)) for sizes, _ in SAXPY.kernel.recorded)
    kernel = replace(SAXPY.kernel, working=(working, None, None), recorded=recorded)
    return replace(SAXPY, kernel=kernel)


def test_as_many_threads_as_fill_the_gpu() -> None:
    choice = Chooser(strided("n"), H200, any_threads=True).choose(SIZES)
    own = Chooser(strided("n"), H200).choose(SIZES)
    assert choice.has_other_threads and not choice.kept_original and not choice.idle
    assert choice.grid[0] * choice.block[0] >= 2048 * H200.sm_count
    assert choice.own_ms == own.predicted_ms(own.original)
    assert "any number of threads does the same" in choice.reason
    assert not own.has_other_threads and own.grid[0] * own.block[0] == 256


def test_the_program_s_own_launch_is_shown_with_its_grid(
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = strided("n")
    choice = VariantChooser(model, H200, any_threads=True).choose({**SIZES, "n": 100_000})
    assert choice.chosen.launch_bound and choice.gain is not None and choice.gain > 2
    print_choice(model, choice)
    head, _, *rows = capsys.readouterr().out.splitlines()
    assert "hardly matters" not in head
    own = [row.split() for row in rows if "(own)" in row]
    (launched,) = [row.split() for row in rows if " * " in row]
    assert [(block, grid) for block, _, grid, *_ in own] == [("256", "1")]
    assert launched[2] == head.split()[-1] != "1"


@pytest.mark.parametrize(
    ("working", "sizes"),
    [
        (None, SIZES),
        (NO_OTHERS, SIZES),
        # More than a launch asks for would not be exact.
        ("n * 1000", SIZES),
        # As many as have work are there.
        ("n", {"n": 256, "T.x": 256}),
        # The GPU is full.
        ("n", {"n": 1_000_000, "T.x": 2048 * 132}),
    ],
)
def test_the_number_of_threads_stays(working: str | None, sizes: dict[str, int]) -> None:
    choice = Chooser(strided(working), H200, any_threads=True).choose(sizes)
    assert not choice.has_other_threads


def test_that_the_gpu_is_idle_is_told() -> None:
    choice = Chooser(strided(None), H200, any_threads=True).choose(SIZES)
    assert choice.idle.startswith("launches 1 block: 131 of 132 multiprocessors idle, predicted ")
    assert choice.reason.startswith(choice.idle)
    assert [*choice_table([strided(None)], H200).idle] == [SAXPY.kernel.entry]
    full = Chooser(strided(None, 1 << 18), H200, any_threads=True)
    assert not full.choose({"n": 1_000_000, "T.x": 1 << 18}).idle
    assert not choice_table([strided("n")], H200).idle


@pytest.mark.parametrize(("working", "is_asked"), [("n", False), (None, False), (NO_OTHERS, True)])
def test_a_routine_answers_for_other_threads_where_counts_tell(
    working: str | None, is_asked: bool
) -> None:
    text = emit_selection([strided(working)], [H200]).text
    assert ("asked_->guarded >> 3 != 0" in text) == is_asked


@pytest.mark.parametrize(
    ("blocks", "gain", "text"),
    [
        (1, None, "launches 1 block: 131 of 132 multiprocessors idle"),
        (2, 1.02, "launches 2 blocks: 130 of 132 multiprocessors idle"),
        (
            33,
            7.519,
            "launches 33 blocks: 99 of 132 multiprocessors idle,"
            " predicted 7.52 times as fast with enough threads",
        ),
        (34, 3.0, ""),
        (0, None, ""),
    ],
)
def test_few_blocks(blocks: int, gain: float | None, text: str) -> None:
    assert idle_text(blocks, 132, gain) == (f"{text}; {MORE_BLOCKS}" if text else "")
