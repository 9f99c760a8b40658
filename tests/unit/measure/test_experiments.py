"""Launches that are counted while a program runs. The programs here write the log of such a run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path
from unittest.mock import patch

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.progress import Reporter
from cutune.emulator.launch_log import SCHEMA, LaunchRecord, LoggedBlock, site_counters
from cutune.measure import counted_on_data as counting
from cutune.measure.candidate_trials import (
    ASSERTED_BUDGET,
    FEWEST_CANDIDATES,
    thinned,
    with_fewer_candidates,
    with_fewer_trials,
)
from cutune.measure.counted_on_data import (
    BUDGET,
    SAMPLED_CANDIDATES,
    SAMPLED_THREADS,
    counted_on_data,
)
from cutune.measure.emulated_runs import TRACING, CountedRun, Experiment
from cutune.measure.program_runs import RecordedRun, Run
from cutune.measure.replay.subjects import Subject
from cutune.model.fit.fit import fit_model
from cutune.model.fit.fitted_model import FittedModel, SizeRange
from cutune.model.measurement.measurement import RUN, Measurement, Purpose
from cutune.toolchain.device.profile import DeviceProfile
from cutune.toolchain.device.thread_block import Block
from tests.support.replayed_kernels import POINTERS, recorded, subject

H200 = DeviceProfile.named("h200")
OWN = (256, 1, 1)
GATHER = replace(subject("gather"), kernel=replace(subject("gather").kernel, on_data=True))
BLOCKS = GATHER.kernel.candidates()


def counted(n: int, block: Block, work: int = 100) -> LaunchRecord:
    """A launch of `gather` with a block: what its second load met."""
    array = POINTERS[0]
    place = GATHER.code.site_indices[GATHER.kernel.memory[1].site]
    low = array.base + array.delta + 8
    values = (10, n, 2, 10, 40, 40, 30, 30, 600, 200, 0, 50, 9, low, low + 4 * n)
    names = (counter.name for counter in site_counters())
    site = {"site": place, **dict(zip(names, values, strict=True))}
    code = LoggedBlock(GATHER.code.block_indices[0], n // 32, n)
    record = recorded("gather", n, block)
    return replace(record, warp_instructions=work, blocks=(code,), sites=(site,))


def sweep(n: int, blocks: Sequence[Block] = BLOCKS, work: int = 100) -> list[LaunchRecord]:
    """A launch as it was asked for, with each candidate, and once more."""
    asked = counted(n, OWN, work)
    return [asked, *(counted(n, b, work) for b in blocks if b != OWN), asked]


def line(record: LaunchRecord) -> str:
    entry = {
        **asdict(record),
        "schema": SCHEMA,
        "parameters": record.parameters.hex(),
        "counters": {
            "executed_blocks": record.executed_blocks,
            "working_threads": record.working_threads,
            "blocks": record.blocks,
            "sites": record.sites,
        },
    }
    return json.dumps(entry) + "\n"


@dataclass(frozen=True)
class Logs:
    """A folder of logs, and the runs that give them."""

    folder: Path

    def run(self, n: int, records: Iterable[LaunchRecord], status: int = 0) -> Run:
        """A run at that size, which logs these launches."""
        path = self.folder / f"{n}.jsonl"
        path.write_text("".join(map(line, records)))
        script = f'cp {shlex.quote(str(path))} "$CUTUNE_LAUNCH_LOG"; exit {status}'
        return Run(("sh", "-c", script, "program", "{n}"), {"n": str(n)})


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path)


def experiments(run: Run, launches: int = 5, is_extra: bool = False) -> list[Experiment]:
    made = CountedRun(0, run, (GATHER,), launches, is_extra).made(H200)
    return made.get("gather", [])


def test_each_launch_is_told_with_its_candidates(logs: Logs) -> None:
    first, second = experiments(logs.run(1000, [*sweep(1000), *sweep(2000)]))
    assert {*first.by_block} == {*second.by_block} == {*BLOCKS}
    assert first.asked == first.by_block[OWN]
    assert {r.working_threads for r in second.by_block.values()} == {2000}
    assert (first.work, second.work) == (100, 100)


def test_launches_of_other_sites_and_torn_ones_are_left_out(logs: Logs) -> None:
    other = [replace(record, site=2) for record in sweep(1000)]
    assert experiments(logs.run(1000, other)) == []
    # The time was over before the second launch was made again.
    (first,) = experiments(logs.run(1000, [*sweep(1000), *sweep(2000)[:-1]]))
    assert first.asked.working_threads == 1000
    # No candidate may be launched here.
    assert experiments(logs.run(1000, sweep(1000, ()))) == []


def test_what_is_counted_of_a_launch_until_the_time_is_over_counts(logs: Logs) -> None:
    (found,) = experiments(logs.run(1000, sweep(1000)[:4]))
    assert {*found.by_block} == {OWN, *[block for block in BLOCKS if block != OWN][:3]}
    assert experiments(logs.run(1000, sweep(1000)[:1])) == []
    ((kept, _),), said = on_data([logs.run(1000, sweep(1000)[:4])], at(1000))
    assert {*kept.kernel.candidates()} - {*kept.kernel.rejected} == {*found.by_block}
    assert said == [Code.FEWER_COUNTED, Code.ONE_SIZE]


def test_looking_at_addresses_takes_time_too(logs: Logs) -> None:
    (found,) = experiments(logs.run(1000, sweep(1000)))
    touched = (600 + 200) // 20 + 50
    assert found.effort == len(BLOCKS) * (100 + TRACING * touched)


def test_the_program_is_told_what_to_sweep(logs: Logs) -> None:
    kept = logs.folder / "environment"
    tell = (
        f'cat "$CUTUNE_CANDIDATES" > {kept}; echo $CUTUNE_MODE $CUTUNE_COUNT $CUTUNE_LAUNCH_LIMIT'
    )
    without = replace(GATHER, kernel=replace(GATHER.kernel, rejected=((64, 1, 1),)))
    run = Run(("sh", "-c", f"{tell} $CUTUNE_LOG_LIMIT >> {kept}"), {})
    assert CountedRun(0, run, (without,), 3).made(H200) == {"gather": []}
    *candidates, mode = kept.read_text().splitlines()
    assert candidates == [f"1 {x} {y} {z}" for x, y, z in BLOCKS if x != 64]
    # A log that is cut off within a launch would lose it.
    assert mode.split() == ["sweep", "trace", "3", str(3 * (2 + len(BLOCKS)))]


def test_only_runs_that_were_asked_for_have_to_end_well(logs: Logs) -> None:
    run = logs.run(1000, sweep(1000), status=3)
    with pytest.raises(CutuneError) as caught:
        experiments(run)
    assert caught.value.diagnostic.code is Code.RUN_FAILED
    assert experiments(run, is_extra=True) == []


# ---- measurements of these launches


def on_data(
    runs: Sequence[Run], launches: Sequence[Sequence[LaunchRecord]], *subjects: Subject
) -> tuple[list[tuple[Subject, list[Measurement]]], list[Code]]:
    """What was measured, and what was said."""
    said: list[Diagnostic] = []
    recorded = list(map(RecordedRun, runs, launches))
    measured = counted_on_data(recorded, subjects or [GATHER], H200, Reporter(said.append))
    return list(measured), [diagnostic.code for diagnostic in said]


def at(*sizes: int) -> list[list[LaunchRecord]]:
    """One launch in each run, with as much work as it has elements."""
    return [[replace(recorded("gather", n), warp_instructions=n)] for n in sizes]


def test_the_largest_launch_and_a_smaller_one_are_measured(logs: Logs) -> None:
    sizes = (1000, 4000)
    runs = [logs.run(n, sweep(n, work=n)) for n in sizes]
    ((found, measured),), said = on_data(runs, at(*sizes))
    assert said == []
    assert found == GATHER
    by_purpose = {
        purpose: {m.sizes for m in measured if m.purpose == purpose}
        for purpose in (Purpose.COUNTS, Purpose.SMALLER, Purpose.FEATURES)
    }
    small, large = ((("n", n),) for n in sizes)
    assert by_purpose == {
        Purpose.COUNTS: {small, large},
        Purpose.SMALLER: {small},
        Purpose.FEATURES: {large},
    }
    assert {m.source for m in measured} == {RUN}
    assert {m.block for m in measured if m.purpose == Purpose.FEATURES} == {*BLOCKS}
    assert {m.block for m in measured if m.purpose == Purpose.COUNTS} == {OWN}


def test_launches_of_a_single_run_tell_how_work_grows(logs: Logs) -> None:
    """Where the largest launches have one size, the others of these runs tell of theirs."""
    # The first hardly fills a block, and of the second time was over.
    made = [*sweep(96, work=96), *sweep(2000, BLOCKS[:3], 2000)]
    made += [record for n in (1000, 1500, 4000) for record in sweep(n, work=n)]
    launches = [[replace(recorded("gather", n), warp_instructions=n) for n in (1000, 4000)]]
    ((_, measured),), said = on_data([logs.run(4000, made)], launches)
    assert said == []
    found = {(m.purpose, dict(m.sizes)["n"]) for m in measured}
    assert {n for purpose, n in found if purpose == Purpose.COUNTS} == {1000, 1500, 4000}
    assert {n for purpose, n in found if purpose == Purpose.SMALLER} == {1500}
    model = fit_model(GATHER.kernel, measured)
    assert isinstance(model, FittedModel) and model.reached == (SizeRange(1000, 4000, 1),)


def counted_at(logs: Logs, rounds: Mapping[int, int]) -> list[Measurement]:
    """Runs with so many elements, of which each thread goes so many rounds."""
    runs = [logs.run(n, sweep(n, work=n)) for n in rounds]
    ((_, measured),), _ = on_data(runs, at(*rounds))
    return [
        replace(m, lanes=tuple(rounds[dict(m.sizes)["n"]] * lanes for lanes in m.lanes))
        for m in measured
    ]


#: Small launches tell nothing of a loop that they do not repeat.
SMALL, LARGE = {100: 90, 400: 1}, {1000: 1, 4000: 1}


def test_where_small_launches_are_unlike_larger_ones_these_decide(logs: Logs) -> None:
    small, large = counted_at(logs, SMALL), counted_at(logs, LARGE)
    alone, both = (fit_model(GATHER.kernel, one) for one in (large, [*small, *large]))
    assert isinstance(alone, FittedModel) and isinstance(both, FittedModel)
    assert both.instructions == alone.instructions
    assert both.reached == (SizeRange(400, 4000, 1),)


def test_all_launches_tell_where_several_sizes_vary(logs: Logs) -> None:
    """Each thread goes m rounds: no size stays at the value that the largest launches have."""
    rounds = {1000: 3, 2000: 3, 4000: 1, 8000: 2, 9000: 2}
    kernel = replace(GATHER.kernel, parameters=("n", "m"), positions=(0, 0))
    launches = [
        replace(m, sizes=(("n", n := dict(m.sizes)["n"]), ("m", rounds[n])))
        for m in counted_at(logs, rounds)
    ]
    model = fit_model(kernel, launches)
    assert isinstance(model, FittedModel)
    assert model.reached == (SizeRange(1000, 9000, 1), SizeRange(1, 3, 1))
    few, many = (model.instructions({"n": 100000, "m": m}) for m in (2, 40))
    assert many == 20 * few


def test_otherwise_larger_sizes_are_proposed(logs: Logs) -> None:
    said = fit_model(GATHER.kernel, counted_at(logs, SMALL))
    assert isinstance(said, Diagnostic) and said.code is Code.POOR_FIT
    most = GATHER.kernel.recorded[0][0][0]
    assert f"such as {2 * most},{4 * most},{8 * most} where n was {most} at most" in said.message


def test_counters_go_where_the_code_has_them(logs: Logs) -> None:
    runs = [logs.run(1000, sweep(1000, work=1000))]
    ((_, measured),), _ = on_data(runs, at(1000))
    index, second, store = measured[0].sites
    assert (index.executions, store.executions) == (0, 0)  # the log has nothing of them
    assert (second.lanes, second.array, second.low, second.high) == (1000, 0, 8, 4008)
    assert measured[0].lanes[0] == 1000
    assert not any(measured[0].lanes[1:])


def test_candidates_that_cannot_be_launched_there_are_left_out(logs: Logs) -> None:
    few = [block for block in BLOCKS if block[0] <= 512]
    runs = [logs.run(n, sweep(n, few, work=n)) for n in (1000, 4000)]
    ((found, measured),), _ = on_data(runs, at(1000, 4000))
    assert {*found.kernel.rejected} == {*BLOCKS} - {*few}
    assert {m.block for m in measured} == {*few}


def sampled(record: LaunchRecord) -> LaunchRecord:
    """The same, of which every other block was executed."""
    return replace(record, grid=(8, 1, 1), executed_blocks=4)


def test_of_kernels_that_take_too_long_some_blocks_are_counted(logs: Logs) -> None:
    launches = [[replace(recorded("gather"), warp_instructions=BUDGET)]]
    runs = [logs.run(1000, map(sampled, sweep(1000)))]
    ((found, measured),), said = on_data(runs, launches)
    assert said == [Code.FEWER_COUNTED, Code.SAMPLED, Code.ONE_SIZE]
    assert len(BLOCKS) - len(found.kernel.rejected) == SAMPLED_CANDIDATES
    assert found.kernel.is_sampled and not GATHER.kernel.is_sampled
    assert {m.working_threads for m in measured} == {2000}
    _, second, _ = measured[0].sites
    assert (second.lanes, second.low, second.high) == (2000, 8, 4008)
    assert measured[0].executed_blocks == 8 and measured[0].lanes[0] == 2000


def test_what_fails_all_the_same_is_left_alone(logs: Logs) -> None:
    launches = [[replace(recorded("gather"), warp_instructions=BUDGET)]]
    run = logs.run(1000, [])
    assert on_data([run], launches) == ([], [Code.DATA_DEPENDENT])
    # Nothing may be executed.
    run = replace(logs.run(1000, sweep(1000)), launches_only=True)
    assert on_data([run], launches) == ([], [Code.DATA_DEPENDENT])


def test_where_time_was_over_nothing_is_said_of_blocks(logs: Logs) -> None:
    said: list[Diagnostic] = []
    made = [RecordedRun(logs.run(1000, sweep(1000)[:1]), at(1000)[0])]
    for seconds in (0, counting.COUNTING_SECONDS):
        with patch.object(counting, "monotonic", side_effect=count(0, seconds)):
            assert [*counted_on_data(made, [GATHER], H200, Reporter(said.append))] == []
    in_time, late = (one.message for one in said)
    assert "no other block fits its launches and gives the same" in in_time
    assert f"to run it with {SAMPLED_CANDIDATES} blocks takes too long; choose smaller" in late


def test_the_program_is_told_how_much_to_execute(logs: Logs) -> None:
    kept = logs.folder / "environment"
    run = Run(("sh", "-c", f"echo $CUTUNE_SAMPLED_THREADS >> {kept}"), {})
    launches = [[replace(recorded("gather"), warp_instructions=work)] for work in (BUDGET, 1)]
    on_data([run], launches[:1])
    on_data([run], launches[1:])
    # Not even executed once: so much that there is time for a part of each of its 40 blocks.
    cut = replace(recorded("gather", 40 * 1024, (1024, 1, 1)), warp_instructions=0)
    on_data([replace(run, is_cut=True)], [[cut]])
    on_data([replace(run, is_cut=True)], [[replace(cut, grid=(4000, 1, 1))]])
    few = str(40 * 1024 // SAMPLED_CANDIDATES)
    assert kept.read_text().split() == [str(SAMPLED_THREADS), "0", few, str(SAMPLED_THREADS)]


def test_sizes_that_do_not_tell_the_work_are_refused(logs: Logs) -> None:
    alike = [*sweep(1000, work=100), *sweep(1000, work=500)]
    assert on_data([logs.run(1000, alike)], at(1000)) == ([], [Code.DATA_DEPENDENT])
    steady = [*sweep(1000, work=100), *sweep(1000, work=400)]
    found, said = on_data([logs.run(1000, steady)], at(1000))
    assert (len(found), said) == (1, [Code.ONE_SIZE])


def test_few_small_launches_among_large_ones_do_not_matter(logs: Logs) -> None:
    launches = [record for work in (10, 400, 500) for record in sweep(1000, work=work)]
    ((found, _),), said = on_data([logs.run(1000, launches)], at(1000))
    assert (found, said) == (GATHER, [Code.ONE_SIZE])
    many = [record for work in (100, 100, 100, 500, 500) for record in sweep(1000, work=work)]
    assert on_data([logs.run(1000, many)], at(1000)) == ([], [Code.DATA_DEPENDENT])


def unrun(launches: Sequence[Sequence[LaunchRecord]]) -> list[RecordedRun]:
    return [RecordedRun(Run((), {}), one) for one in launches]


def test_as_many_candidates_are_counted_as_there_is_time_for(logs: Logs) -> None:
    work = BUDGET // 7
    launches = [[replace(recorded("gather"), warp_instructions=n * work)] for n in (1, 2)]
    kept = with_fewer_candidates(GATHER, unrun(launches), BUDGET).kernel
    blocks = [block for block in kept.candidates() if block not in kept.rejected]
    assert {*blocks} >= {OWN, (32, 1, 1), (1024, 1, 1)} and len(blocks) == 7
    runs = [logs.run(1000, sweep(1000, blocks, work))]
    ((found, measured),), said = on_data(runs, launches[:1])
    assert said == [Code.FEWER_COUNTED, Code.ONE_SIZE]
    assert found.kernel == kept
    assert {m.block for m in measured} == {*blocks}


def test_as_many_asserted_candidates_are_tried_as_there_is_time_for(logs: Logs) -> None:
    asserted = replace(GATHER, kernel=replace(GATHER.kernel, asserted=True))
    run = logs.run(1000, [])

    def left(subject: Subject, run: Run, *works: int) -> int:
        launches = [replace(recorded("gather"), warp_instructions=work) for work in works]
        kernel = with_fewer_trials(subject, RecordedRun(run, launches)).kernel
        return len(kernel.candidates()) - len(kernel.rejected)

    work = ASSERTED_BUDGET // 8
    assert [left(asserted, run, *[work] * count) for count in (1, 2, 3)] == [8, 6, 6]
    assert left(asserted, run, work // 100) == left(GATHER, run, 100 * work) == len(BLOCKS)
    # Not executed: the run was too long for it, or nothing had to be.
    assert left(asserted, replace(run, is_cut=True), 0) == FEWEST_CANDIDATES
    assert left(asserted, replace(run, launches_only=True), 0) == len(BLOCKS)


def test_all_candidates_are_counted_where_there_is_time(logs: Logs) -> None:
    work = BUDGET // len(BLOCKS)
    launches = [[replace(recorded("gather"), warp_instructions=work)]]
    assert with_fewer_candidates(GATHER, unrun(launches), BUDGET) is GATHER
    assert with_fewer_candidates(GATHER, unrun([[]]), BUDGET) is GATHER


def test_only_candidates_that_can_be_launched_are_chosen() -> None:
    """7813 blocks of 128 threads: four other blocks of whole warps divide them."""
    threads = ((), (7813 * 128, 1, 1))
    kernel = replace(
        GATHER.kernel,
        guards=(None, None, None),
        variable_extents=(True, False, False),
        original=(128, 1, 1),
        recorded=(threads,),
    )
    kept = thinned(replace(GATHER, kernel=kernel), 12).kernel
    blocks = {block[0] for block in kept.candidates() if block not in kept.rejected}
    assert blocks == {32, 64, 128, 416, 832}


def test_the_smallest_block_is_counted_where_the_grid_stays() -> None:
    kernel = replace(GATHER.kernel, grid_kept=(True, False, False), rejected=((32, 1, 1),))
    launches = [[replace(recorded("gather"), warp_instructions=BUDGET // 6)]]
    kept = with_fewer_candidates(replace(GATHER, kernel=kernel), unrun(launches), BUDGET).kernel
    blocks = {block for block in kept.candidates() if block not in kept.rejected}
    assert len(blocks) == 6 and (64, 1, 1) in blocks and (32, 1, 1) not in blocks


# ---- variants of these kernels

PAIRS = replace(
    GATHER,
    kernel=replace(GATHER.kernel, entry="gather__x2", variant="x2", coarsen=(2, 1, 1)),
)


def with_pairs(n: int, most: int = len(BLOCKS)) -> list[LaunchRecord]:
    """A launch with all candidates of the kernel, and so many of its variant."""
    *made, again = sweep(n, work=n)
    copies = (replace(counted(n // 2, b), kernel="gather__x2") for b in BLOCKS[:most])
    # A larger block has more threads without work.
    idle = [replace(one, thread_instructions=n + one.block[0]) for one in copies]
    return [*made, *idle, again]


def test_variants_are_counted_in_the_runs_of_their_kernel(logs: Logs) -> None:
    sizes = (1000, 4000)
    runs = [logs.run(n, with_pairs(n)) for n in sizes]
    ((kernel, own), (variant, measured)), said = on_data(runs, at(*sizes), GATHER, PAIRS)
    assert (kernel, variant, said) == (GATHER, PAIRS, [])
    assert {m.entry for m in own} == {"gather"}
    assert {m.entry for m in measured} == {"gather__x2"}
    assert [m.block for m in measured if m.purpose == Purpose.FEATURES] == [*BLOCKS]
    counts = [m for m in measured if m.purpose == Purpose.COUNTS]
    # Sizes are those of the launch that the program asks for.
    assert [dict(m.sizes)["n"] for m in counts] == [1000, 4000]
    assert {m.block for m in counts} == {min(BLOCKS)}


def test_a_variant_that_was_not_counted_in_all_of_them_is_left_out(logs: Logs) -> None:
    sizes = (1000, 4000)
    runs = [logs.run(1000, with_pairs(1000)), logs.run(4000, sweep(4000))]
    ((kernel, _),), said = on_data(runs, at(*sizes), GATHER, PAIRS)
    assert (kernel, said) == (GATHER, [])
    # It may have been counted in few blocks before time was over.
    runs = [logs.run(n, with_pairs(n, most)) for n, most in zip(sizes, (9, 4), strict=True)]
    (_, (variant, _)), said = on_data(runs, at(*sizes), GATHER, PAIRS)
    assert ({*variant.kernel.remaining()}, said) == ({*BLOCKS[:4]}, [])


def test_a_run_with_variants_may_fail(logs: Logs) -> None:
    run = logs.run(1000, with_pairs(1000))
    fails = f'grep -q @ "$CUTUNE_CANDIDATES" && exit 3; {run.words[2]}'
    run = replace(run, words=(*run.words[:2], fails, *run.words[3:]))
    ((kernel, _),), said = on_data([run], at(1000), GATHER, PAIRS)
    assert (kernel, said) == (GATHER, [Code.ONE_SIZE])
