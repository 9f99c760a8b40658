"""Settings that one process ran with in turn: which of its lines count."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cutune.core.processes import ProgramResult
from cutune.measure.program_runs import Run
from cutune.model.measurement.measurement import Origin
from cutune.search.regions import FailedSettings, MeasuredSettings, measure_several
from cutune.search.trials import EndedTrial, Status, Trial, Trials, read_measured
from cutune.search.workers.crew import Task, TaskOutcome
from tests.support.trial_files import ENDED, MEASURED, ORIGIN, silent, trials

TURNS = [{"m": 4, "R": 0}, {"m": 8, "R": 0}, {"m": 16, "R": 1}]


def line(turn: int, region: int = 1, m: int | None = None, **more: Any) -> str:
    values = {**TURNS[turn], **({} if m is None else {"m": m})}
    tunables = {
        name: {"value": value, "original": 0, "ambiguous": False, "data": {"n": 7}}
        for name, value in values.items()
    }
    whole = {"region": region, "turn": turn, "device": "a GPU", "milliseconds": 1.0 + turn}
    return json.dumps({**whole, "tunables": tunables, **more}) + "\n"


def found_in(log: str, status: int | None = 0) -> MeasuredSettings | FailedSettings:
    asked: list[Task] = []

    def performed(task: Task) -> TaskOutcome:
        asked.append(task)
        return TaskOutcome(ProgramResult(status, b"done\n"), log, 1.0)

    run = Run(("./program",), {}, statuses=frozenset({0}))
    found = measure_several(run, TURNS, Origin("a.cu", "0"), {"A": "b"}, 5.0, performed)
    (task,) = asked
    assert task.environment == {
        "A": "b",
        "CUTUNE_SET": "m=4,R=0",
        "CUTUNE_REPEAT": "m=8,R=0;m=16,R=1",
    }
    return found


def times_in(log: str) -> list[float | None]:
    found = found_in(log)
    assert isinstance(found, MeasuredSettings) and found.output == b"done\n"
    return [
        None if one is None else sum(m.milliseconds or 0 for m in one) for one in found.measured
    ]


def test_times_of_each_setting_are_added() -> None:
    visits = "".join(line(turn, region) for region in (1, 1, 2) for turn in range(3))
    assert times_in(visits) == [3, 6, 9]


@pytest.mark.parametrize(
    ("log", "times"),
    [
        ("", [None] * 3),
        (line(0) + line(1), [1, 2, None]),
        # Left in the middle: the second region was not reached with the third setting.
        (line(0) + line(1) + line(2) + line(0, 2) + line(1, 2), [2, 4, None]),
        # A value that was fixed before.
        (line(0) + line(1, m=4) + line(2), [1, None, 3]),
        # More often than with the first.
        (line(0) + line(1) + line(1) + line(2), [1, None, 3]),
    ],
)
def test_what_is_not_whole_or_not_as_asked_does_not_count(
    log: str, times: list[float | None]
) -> None:
    assert times_in(log) == times


@pytest.mark.parametrize(
    ("log", "status", "turn"),
    [
        ("", 1, 0),
        (line(0) + line(1), -6, 2),
        (line(0) + line(1)[:-9], -6, 1),
        (line(0) + line(1) + line(2), 1, 0),
        (line(0) + line(1) + line(2) + line(0, 2), 1, 1),
        (line(0) + line(1, error="too many resources") + line(2), 0, 1),
    ],
)
def test_what_was_at_work_when_it_failed(log: str, status: int, turn: int) -> None:
    assert found_in(log, status) == FailedSettings(turn)


def test_one_that_hangs() -> None:
    assert found_in(line(0), None) == FailedSettings(1)


def trial(size: str, block: int) -> Trial:
    return Trial(ORIGIN, "sm_90", {"n": size}, {"block": block})


def test_only_what_was_right_somewhere_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    kept = trials(path)
    shared = EndedTrial(Status.OK, "", (MEASURED,), (1.5,), is_compared=False)
    for one, ended in (
        (trial("1", 32), ENDED),
        (trial("2", 32), shared),
        (trial("2", 64), shared),
        (trial("1", 96), ENDED),
        (trial("2", 96), shared),
        (trial("3", 96), EndedTrial(Status.WRONG, "another number")),
    ):
        kept.begin(one)
        kept.end(one, ended)
    assert trials(path).known(trial("2", 64)) == shared
    # Both of 32, and of 96 the one that was compared.
    assert len(read_measured(path, ORIGIN, "collect", silent)) == 3


def test_workers_ask_while_others_begin() -> None:
    """One worker asks for all of its trials while another begins and ends processes."""
    own = [trial("400", block) for block in range(256)]
    kept, before = Trials(None, ORIGIN, silent), sys.getswitchinterval()

    def begin_and_end() -> None:
        for number in range(400):
            others = [trial(str(number), block) for block in (32, 64)]
            kept.part(kept.share(others)) if number % 2 else kept.share(others)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(1) as pool:
            beside = pool.submit(begin_and_end)
            while not beside.done():
                assert not any(map(kept.most_sharing, own))
            beside.result()
    finally:
        sys.setswitchinterval(before)
    assert kept.most_sharing(trial("398", 32)) == 1 and kept.most_sharing(trial("399", 32)) is None


def test_what_shares_a_process_that_never_ends_shares_smaller_ones(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    own, other = [trial("1", block) for block in range(256)], trial("2", 1)
    first = trials(path)
    all_ = first.share(own)
    assert {first.most_sharing(one) for one in own} == {16} and first.most_sharing(other) is None
    some = first.share(own[:16])
    again: Trials = trials(path)
    assert [again.most_sharing(one) for one in (own[15], own[16], other)] == [4, 16, None]
    assert again.known(own[0]) is None
    again.share(own[:3])
    assert again.most_sharing(own[0]) == 1 and again.most_sharing(own[3]) == 4
    first.part(some)
    assert first.most_sharing(own[0]) == 16
    first.part(all_)
    assert first.most_sharing(own[0]) is None and trials(path).most_sharing(own[15]) is None
