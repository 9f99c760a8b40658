"""What `select` is asked: words to sizes, sizes to extents; and which answers are impossible."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import pytest

from cutune.cli.page.facts import kernel_facts
from cutune.cli.report.choices import choice_table
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.model.fit.fitted_model import FittedModel, SizeRange
from cutune.model.selection.chooser import (
    FACTOR_SIZES,
    STREAMING_SIZES,
    USUAL_SIZES,
    Chooser,
    ask,
    parse_size,
    parse_sizes,
    sizes_as_run,
    threads_alone,
    usual_sizes,
)
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block
from tests.support.replayed_kernels import fitted, measured

H200 = DeviceProfile.named("h200")
#: It has one size, which bounds its threads in x.
COPY = fitted(*measured("copy"))
PRODUCT = replace(
    COPY,
    looped=True,
    reached=COPY.reached * 4,
    classes=COPY.classes * 4,
    variants=(),
    kernel=replace(
        COPY.kernel,
        parameters=("n", "c", "h", "w"),
        positions=(0, 1, 2, 3),
        guards=("n * c * h * w", None, None),
        recorded=(((2, 4, 16, 16), (2048, 1, 1)),),
    ),
)
Recorded = tuple[tuple[tuple[int, ...], Block], ...]


def unguarded(recorded: Recorded, kept: bool = False) -> FittedModel:
    """The same kernel, if nothing but its launches told how many threads it has."""
    return replace(
        COPY,
        kernel=replace(
            COPY.kernel,
            guards=(None, None, None),
            variable_extents=(True, False, False),
            grid_kept=(kept, False, False),
            recorded=recorded,
        ),
    )


def code_of(model: FittedModel, named: Mapping[str, int], every: int | None = None) -> Code:
    with pytest.raises(CutuneError) as caught:
        ask(model, named, every)
    return caught.value.diagnostic.code


def test_words_are_names_and_positive_integers() -> None:
    assert parse_sizes(["n=64", "T.x=100", "shape.rows=7"]) == {
        "n": 64,
        "T.x": 100,
        "shape.rows": 7,
    }
    assert parse_size("2147483647", "n=1024") == (1 << 31) - 1


@pytest.mark.parametrize("word", ["n", "=64", "n=", "n=-1", "n=0", "n=1.5", "n=2147483648", "4=4"])
def test_other_words_are_refused(word: str) -> None:
    with pytest.raises(CutuneError) as caught:
        parse_sizes([word])
    assert caught.value.diagnostic.code is Code.BAD_SIZE


def test_a_number_alone_may_be_meant_for_all_sizes() -> None:
    with pytest.raises(CutuneError, match="write it as NAME=1024, or --all-sizes 4096"):
        parse_sizes(["4096"])


def test_vectors_that_the_same_threads_stride_over_are_shown_long() -> None:
    always = ((10_000,), (2048, 1, 1)), ((40_000,), (2048, 1, 1))
    short = ((1000,), (2048, 1, 1)), ((40_000,), (2048, 1, 1))
    grows = ((10_000,), (2048, 1, 1)), ((40_000,), (8192, 1, 1))
    many = ((1000,), (8192, 1, 1)), ((40_000,), (8192, 1, 1))
    shown = [
        usual_sizes(replace(unguarded(recorded), looped=True))
        for recorded in (always, short, many, grows)
    ]
    assert shown == [STREAMING_SIZES, USUAL_SIZES, STREAMING_SIZES, USUAL_SIZES]


def test_where_nothing_can_be_asked_for_the_sizes_of_the_runs_are_shown() -> None:
    """Its threads are 1024 or 2048 at one size: no other size says how many there are."""
    model = unguarded((((1000,), (2048, 1, 1)), ((1000,), (1024, 1, 1)), ((9000,), (2048, 1, 1))))
    model = replace(model, reached=model.reached * 2, variants=())
    shown = choice_table([model], H200)
    sizes = ["n = 1000, T.x = 1024", "n = 1000, T.x = 2048", "n = 9000, T.x = 2048"]
    assert [row.size for row in shown.rows] == sizes
    assert all(row.speed_up is not None for row in shown.rows)  # blocks were compared
    (question,) = shown.questions
    assert question.endswith("ask: cutune select copy n=… T.x=…")
    # At these its own block is as good as any: that is said, not that it chooses.
    assert [*shown.kept] == [COPY.kernel.entry]
    followed = choice_table([COPY], H200)
    assert not followed.questions and len(followed.rows) == len(usual_sizes(COPY))


def test_whole_blocks_with_a_thread_per_id_follow_from_two_runs() -> None:
    """Its grid is computed from its size, and it has no test of its id. Its own block has 256."""
    model = unguarded((((1000,), (1024, 1, 1)), ((5000,), (5120, 1, 1))))
    assert ask(model, {"n": 100_000}, None).extents == (100_096, 1, 1)
    assert ask(model, {}, 256).extents == (256, 1, 1)
    model = replace(model, reached=model.reached * 2, variants=())
    assert [row.size for row in choice_table([model], H200).rows] == [
        "100000",
        "1000000",
        "10000000",
    ]
    # One run, a size that is not met, or blocks that are kept: no rule.
    for recorded in (
        (((1000,), (1024, 1, 1)),),
        (((1000,), (1024, 1, 1)), ((5000,), (5376, 1, 1))),
    ):
        assert code_of(unguarded(recorded), {"n": 100_000}) is Code.MISSING_SIZE
    kept = unguarded((((1000,), (1024, 1, 1)), ((5000,), (5120, 1, 1))), kept=True)
    assert code_of(kept, {"n": 100_000}) is Code.MISSING_SIZE


def test_a_block_per_row_follows_from_two_runs() -> None:
    model = unguarded((((64,), (64, 1, 1)), ((128,), (128, 1, 1))), kept=True)
    assert ask(model, {"n": 4096}, None).extents == (4096, 1, 1)
    assert code_of(unguarded((((64,), (64, 1, 1)),), kept=True), {"n": 4096}) is Code.MISSING_SIZE


def test_messages_name_variables_as_users_do() -> None:
    kernel = unguarded((((64,), (64, 1, 1)), ((64,), (96, 1, 1)))).kernel
    assert kernel.as_asked([("n", 3), ("extent_x", 4)]) == {"n": 3, "T.x": 4}
    kept = unguarded((((64,), (4, 1, 1)),), kept=True).kernel
    assert kept.as_asked([("extent_x", 4)]) == {"G.x": 4}


def without_size(*threads: int) -> FittedModel:
    """The same kernel without its size, launched with so many threads."""
    model = unguarded(tuple(((), (each, 1, 1)) for each in threads))
    kernel = replace(model.kernel, parameters=(), positions=())
    return replace(model, kernel=kernel, classes=())


def test_threads_are_the_size_of_a_kernel_that_has_no_other() -> None:
    model = without_size(1024, 5120)
    assert threads_alone(model.kernel) == "T.x"
    assert ask(model, {}, 100_000).extents == (100_096, 1, 1)
    assert ask(model, {"T.x": 512}, 100_000).extents == (512, 1, 1)
    assert code_of(model, {}) is Code.MISSING_SIZE
    # Always as many: it has no size at all.
    always = without_size(1024)
    assert threads_alone(always.kernel) == ""
    assert ask(always, {}, 100_000).extents == (1024, 1, 1)
    assert not threads_alone(COPY.kernel)


def test_where_nothing_is_known_of_usual_sizes_those_of_the_runs_are_shown() -> None:
    """Counts at one size, which is none that a GPU is used for, and fitted numerically."""
    kernel = replace(COPY.kernel, recorded=(((300,), (512, 1, 1)),))
    model = replace(COPY, kernel=kernel, is_exact=False, reached=(SizeRange(300, 300),))
    model = replace(model, variants=())
    shown = choice_table([model], H200)
    assert [row.size for row in shown.rows] == ["n = 300"]
    assert (shown.questions, shown.fixed) == ([], {})
    assert shown.rows[0].speed_up is not None and "at the sizes shown" in shown.kept[kernel.entry]
    # Who asks for others is told that nothing is known of them.
    asked = choice_table([model], H200, [4096000])
    assert [(row.size, row.speed_up) for row in asked.rows] == [("4096000", None)]
    assert "run it at larger ones" in asked.kept[kernel.entry]
    facts = kernel_facts(model, H200, ("k", "copy", "copy.cu"))
    assert facts is not None and [one.label for one in facts.sizes] == ["n=300"]
    assert facts.sizes[0].gain is not None


def test_a_size_that_never_varied_stays_where_others_are_usual() -> None:
    """Counted on its data with four channels in each run; and a kernel known in one mode."""
    ranges = (SizeRange(2, 4), SizeRange(4, 4), SizeRange(16, 32), SizeRange(16, 32))
    on_data = replace(PRODUCT, kernel=replace(PRODUCT.kernel, on_data=True), reached=ranges)
    shown = choice_table([on_data], H200)
    assert [row.size for row in shown.rows] == [f"{n}, c = 4" for n in FACTOR_SIZES[1]]
    assert all(row.speed_up is not None for row in shown.rows)
    assert shown.fixed == {COPY.kernel.entry: {"c": 4}}
    # Who asks for another value is told that nothing is known of it.
    assert [row.speed_up for row in choice_table([on_data], H200, [64]).rows] == [None]
    about = {"fixed_arguments": (("mode", 1),), "required_names": ("mode",)}
    kernel = replace(COPY.kernel, **about, required_arguments=((3, 1),))  # type: ignore[arg-type]
    shown = choice_table([replace(COPY, kernel=kernel, variants=())], H200)
    assert [row.size for row in shown.rows] == [f"{n}, mode = 1" for n in STREAMING_SIZES]
    assert shown.questions == ["copy: not modelled beyond mode = 1"]


def test_few_of_many_runs_stand_for_all() -> None:
    one = (((100 * k,), (512 * (8 - k), 1, 1)) for k in range(1, 8))
    asked = sizes_as_run(unguarded(tuple(one)))
    assert asked == [{"n": 100 * k, "T.x": 512 * (8 - k)} for k in (7, 4, 1)]
    blocks = sizes_as_run(unguarded((((100,), (4, 1, 1)),), kept=True))
    assert blocks == [{"n": 100, "G.x": 4}]
    assert sizes_as_run(COPY)[0].keys() == {"n"}


def test_the_product_of_usual_sizes_is_usual_too() -> None:
    for guard, largest in (
        ("n * c", 4096),
        ("n * c * h", 512),
        ("n * c * h * w", 100),
        ("n * c * h * w * w", 40),
        ("n * c * h * h * w * w", 20),
    ):
        kernel = replace(PRODUCT.kernel, guards=(guard, None, None))
        assert usual_sizes(replace(PRODUCT, kernel=kernel))[-1] == largest, guard


def test_more_threads_than_a_tuned_program_asks_about_keep_their_block() -> None:
    large = Chooser(PRODUCT, H200).choose({"n": 40, "c": 64, "h": 1000, "w": 1000})
    assert large.kept_original and not large.ranked
    assert "n * c * h * w from 1 to 2147483648 only" in large.reason
    assert Chooser(PRODUCT, H200).choose({"n": 20, "c": 64, "h": 1000, "w": 1000}).ranked


def test_names_may_be_written_in_either_case() -> None:
    assert ask(COPY, {"N": 1000}, None) == ask(COPY, {"n": 1000}, None)
    assert ask(COPY, {"n": 1000}, None).extents == (1000, 1, 1)
    both = replace(COPY, kernel=replace(COPY.kernel, parameters=("n", "N"), positions=(0, 1)))
    assert ask(both, {"n": 8, "N": 9}, None).sizes == {"n": 8, "N": 9}


def test_without_a_guard_the_program_launches_whole_blocks_of_its_own() -> None:
    kernel = replace(COPY.kernel, guards=(None, None, None), covers=("n", None, None))
    assert kernel.original == (256, 1, 1)
    assert ask(replace(COPY, kernel=kernel), {"n": 1000}, None).extents == (1024, 1, 1)


def test_one_value_may_stand_for_all_that_are_not_named() -> None:
    assert ask(COPY, {}, 500).sizes == {"n": 500}
    assert ask(COPY, {"n": 7}, 500).sizes == {"n": 7}


def test_names_that_the_kernel_does_not_have_are_refused() -> None:
    assert code_of(COPY, {"m": 3}) is Code.UNKNOWN_SIZE
    assert code_of(COPY, {}) is Code.MISSING_SIZE


def test_launches_tell_how_many_threads_there_are() -> None:
    model = unguarded(tuple(((n,), (4 * n, 1, 1)) for n in (64, 96, 128)))
    assert ask(model, {"n": 1000}, None).extents == (4000, 1, 1)
    # What is said comes first.
    assert ask(model, {"n": 1000, "T.x": 96}, None).extents == (96, 1, 1)


@pytest.mark.parametrize(
    "recorded",
    [
        (((64,), (256, 1, 1)),),  # one size tells nothing of others
        (((64,), (256, 1, 1)), ((64,), (512, 1, 1))),  # it does not follow from the size
        (((64,), (256, 1, 1)), ((128,), (128, 1, 1))),  # there would be none at larger sizes
    ],
)
def test_else_they_have_to_be_said(recorded: Recorded) -> None:
    model = unguarded(recorded)
    assert code_of(model, {"n": 1000}) is Code.MISSING_SIZE
    assert ask(model, {"n": 1000, "T.x": 96}, None).extents == (96, 1, 1)


def test_where_the_grid_is_kept_blocks_are_asked_for() -> None:
    model = unguarded((((64,), (4, 1, 1)),), kept=True)
    assert code_of(model, {"n": 1000, "T.x": 4}) is Code.UNKNOWN_SIZE
    assert ask(model, {"n": 1000, "G.x": 4}, None).extents == (4, 1, 1)


def test_a_launch_without_threads_is_impossible() -> None:
    shrunk = replace(COPY, kernel=replace(COPY.kernel, guards=("(n - 100)", None, None)))
    assert code_of(shrunk, {"n": 100}) is Code.IMPOSSIBLE_GRID
    assert ask(shrunk, {"n": 101}, None).extents == (1, 1, 1)


def test_more_blocks_than_cuda_allows_are_impossible() -> None:
    # In y there may be 65,535.
    fixed = replace(
        COPY.kernel, guards=(None, "n", None), free=(True, False, False), original=(256, 1, 1)
    )
    chooser = Chooser(replace(COPY, kernel=fixed), H200)
    assert chooser.choose({"n": 65_535}).grid[1] == 65_535
    with pytest.raises(CutuneError) as caught:
        chooser.choose({"n": 65_536})
    assert caught.value.diagnostic.code is Code.IMPOSSIBLE_GRID


def test_a_chooser_answers_as_a_single_question_does() -> None:
    chooser = Chooser(COPY, H200)
    for n in (1000, 1 << 20, 1 << 26):
        choice = chooser.choose({"n": n})
        assert choice == Chooser(COPY, H200).choose({}, every=n)
        assert choice.block in COPY.blocks
        assert choice.grid == (-(-n // choice.block[0]), 1, 1)


def test_many_sizes_at_once_are_answered_as_one_by_one() -> None:
    fixed = replace(
        COPY.kernel, guards=(None, "n", None), free=(True, False, False), original=(256, 1, 1)
    )
    chooser = Chooser(replace(COPY, kernel=fixed), H200)
    asked = [({"n": 70_000}, None), ({}, 1000), ({"m": 3}, None), ({"n": 60_000}, None)]
    large, small, unknown, other = chooser.choose_each(asked)
    assert isinstance(large, CutuneError) and isinstance(unknown, CutuneError)
    assert large.diagnostic.code is Code.IMPOSSIBLE_GRID
    assert unknown.diagnostic.code is Code.UNKNOWN_SIZE
    assert (small, other) == (chooser.choose({"n": 1000}), chooser.choose({"n": 60_000}))
    assert small != other
    assert chooser.choose_each([]) == []


def test_a_size_that_is_no_argument_is_explained() -> None:
    """With numbers in their places, as it says, what is to be added is enough."""
    model = unguarded((((64,), (64, 1, 1)), ((64,), (96, 1, 1))))
    with pytest.raises(CutuneError, match=r"…: n=… T\.x=…; T\.x: threads of all blocks") as caught:
        ask(model, {}, None)
    words = re.findall(r"[\w.]+=…", str(caught.value))
    assert ask(model, parse_sizes([word.replace("…", "1024") for word in words]), None)
    with pytest.raises(CutuneError, match=r"…: n=…$"):
        ask(COPY, {}, None)
