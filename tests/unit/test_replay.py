"""Launches made again without data: what is counted, where arrays lie, what is not repeated."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from cutune.collect.replay.plan import Replay
from cutune.collect.replay.replay import recorded_extents, replayable
from cutune.core.diagnostics import CutuneError
from cutune.fit.measurement.measurement import COUNTS, FEATURES, REPLAYED
from tests.replayed import POINTERS, described, loaded, recorded, subject

COPY, GATHER = loaded()[0].kernels["copy"], loaded()[0].kernels["gather"]


def test_all_blocks_of_a_counted_launch_run() -> None:
    found = subject("columns").replayer().run(COUNTS, {"n": 100}, (32, 1, 1))
    assert (found.grid, found.executed_blocks, found.working_threads) == ((4, 1, 1), 4, 100)
    load, store = found.sites
    assert (load.lanes, store.lanes) == (100 * 100, 100)
    assert (load.executions, store.executions) == (4 * 100, 4)
    assert (found.source, found.sizes) == (REPLAYED, (("n", 100),))


def test_arrays_keep_the_place_in_a_line_that_they_had() -> None:
    found = subject("copy").replayer().run(FEATURES, {"n": 64}, (32, 1, 1), trace_every=1)
    load, store = found.sites
    # 128 bytes of each warp lie in two lines where the array begins in the middle of one.
    assert (load.array, load.low, load.high) == (0, POINTERS[0].delta, POINTERS[0].delta + 256)
    assert (store.array, store.low, store.high) == (1, 0, 256)
    assert (load.lines, store.lines) == (4, 2)


def test_a_launch_is_made_once_for_all_that_ask() -> None:
    asked = subject("copy")
    first = asked.replayer().run(COUNTS, {"n": 100}, (32, 1, 1))
    twin = replace(asked, kernel=replace(asked.kernel, entry="twin"))
    second = twin.replayer().run(FEATURES, {"n": 100}, (32, 1, 1))
    assert len(asked.made) == 1
    assert second == replace(first, entry="twin", purpose=FEATURES)
    assert twin.replayer().run(COUNTS, {"n": 100}, (64, 1, 1)).block == (64, 1, 1)
    assert len(asked.made) == 2


def test_what_is_known_is_not_replayed() -> None:
    asked = subject("copy")
    plan = Replay(COUNTS, {"n": 100}, (32, 1, 1), 1)
    known = replace(asked.replayer().replay(plan, {}), working_threads=7)
    asked.made.clear()
    assert asked.replayer().replay(plan, {known.key: known}) == known
    assert asked.made == {}


def test_of_large_launches_a_few_blocks_run() -> None:
    replayer = subject("copy").replayer()
    plan = Replay(FEATURES, {"n": 1 << 20}, (256, 1, 1), 1)
    inside = replayer.replay(plan, {})
    assert inside.grid == (4096, 1, 1)
    assert inside.executed_blocks < 64
    assert inside.working_threads == 256 * inside.executed_blocks
    spread = replayer.replay(replace(plan, is_spread=True), {})
    assert inside.executed_blocks < spread.executed_blocks < 4096
    counted = replayer.replay(replace(plan, purpose=COUNTS, sizes={"n": 1 << 12}), {})
    assert counted.executed_blocks == 16


def test_where_inner_blocks_have_no_work_others_are_asked() -> None:
    asked = subject("copy")
    # As many threads as before, but only the first ones find work.
    extent = replace(asked.kernel, guards=(None,) * 3, variable_extents=(True, False, False))
    plan = Replay(FEATURES, {"n": 4096, "extent_x": 1 << 18}, (256, 1, 1), 1)
    found = replace(asked, kernel=extent).replayer().replay(plan, {})
    assert found.grid == (1024, 1, 1)
    assert 0 < found.working_threads < 256 * found.executed_blocks


def test_a_launch_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cutune.collect.replay.replay.INSTRUCTION_LIMIT", 1000)
    with pytest.raises(CutuneError) as caught:
        subject("columns").replayer().run(COUNTS, {"n": 1000}, (256, 1, 1))
    assert caught.value.diagnostic.code.number.startswith("CT4")


def test_extents_are_blocks_where_their_number_is_kept() -> None:
    record = recorded("copy", n=1000)
    assert recorded_extents(record, (False, False, False)) == (1024, 1, 1)
    assert recorded_extents(record, (True, False, False)) == (4, 1, 1)


def test_sizes_that_are_too_narrow_are_held() -> None:
    words = struct.pack("<b7x", 100) + recorded("copy").parameters[8:]
    record = replace(recorded("copy"), parameters=words)
    first = replace(COPY.parameters[0], type="s8", size=1)
    code = replace(COPY, parameters=(first, *COPY.parameters[1:]))
    found = replayable(described("copy"), record, code)
    assert (found.parameters, found.required_arguments, found.fixed_arguments) == (
        (),
        ((0, 100),),
        (("n", 100),),
    )


def test_sizes_that_can_grow_stay() -> None:
    assert replayable(described("copy"), recorded("copy"), COPY) == described("copy")
