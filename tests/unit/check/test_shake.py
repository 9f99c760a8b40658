"""What `cutune shake` finds in a program that is run with many seeds."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.check.shake import Shaken, shake, trials_of
from cutune.check.verify import Conditions
from cutune.cli.comparing import named_trial
from cutune.cli.main import main
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from tests.support.shell_programs import PLAIN, runs, script

SAYS = 'echo "sum $1"'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs run beside their files, with no seed of the developer's."""
    monkeypatch.chdir(tmp_path)
    for name in ("CUTUNE_SEED", "CUTUNE_VARIANT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def shaken(
    original: str, changed: str, conditions: Conditions = PLAIN, jobs: int = 2, seeds: int = 8
) -> list[Shaken]:
    """What is found at sizes 1 and 2."""
    plans = [
        runs(script(Path(n), t), "1", "2") for n, t in (("first", original), ("other", changed))
    ]
    return list(shake(plans[0], plans[1], trials_of(range(1, seeds + 1)), conditions, jobs))


@pytest.mark.parametrize("jobs", [1, 4])
def test_the_same(jobs: int) -> None:
    found = shaken(SAYS, f"echo $CUTUNE$CUTUNE_SEED >> tried; {SAYS}", jobs=jobs)
    assert [one.trial for one in found] == [None, None]
    tried = Path("tried").read_text().split()
    assert sorted(tried) == sorted(2 * ["off", *map(str, range(1, 9))])


def test_progress_counts_the_original_and_each_seed_at_each_size() -> None:
    first, other = (runs(script(Path(n), SAYS), "1", "2") for n in ("first", "other"))
    told: list[tuple[str, int, int]] = []

    def note(what: str, done: int, total: int) -> None:
        told.append((what, done, total))

    found = list(shake(first, other, trials_of([1]), PLAIN, 2, note))
    assert [one.trial for one in found] == [None, None]
    # Per size the original, CUTUNE=off, and seed 1. The last number comes once, at the end.
    assert [done for _, done, _ in told if done == 6] == [6]
    assert told[0] == ("shaking", 0, 6) and told[-1] == ("shaking", 6, 6)
    assert {done for _, done, _ in told} == {*range(7)}


def test_the_original_runs_twice_per_size_whatever_the_seeds() -> None:
    shaken(f"echo $1 >> ran; {SAYS}", SAYS)
    assert Path("ran").read_text().split() == ["1", "1", "2", "2"]


@pytest.mark.parametrize("jobs", [1, 4])
def test_the_first_seed_that_differs_is_named(jobs: int) -> None:
    """Those behind it are much faster."""
    slow = '[ "$CUTUNE_SEED" = 3 ] && sleep 0.3'
    wrong = f'{slow}; [ "${{CUTUNE_SEED:-0}}" -ge 3 ] && echo 7; {SAYS}'
    found = shaken(SAYS, wrong, jobs=jobs)
    assert [str(one.trial) for one in found] == ["seed 3", "seed 3"]
    assert found[1].reason == "standard output, line 1: 'sum 2' became '7'"


def test_what_the_rewriting_alone_did_is_told_apart() -> None:
    wrong = f'[ "$CUTUNE" = off ] && echo 7; {SAYS}'
    assert {str(one.trial) for one in shaken(SAYS, wrong)} == {"CUTUNE=off"}


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ("kill -SEGV $$", "exit status 0 became end by SIGSEGV"),
        ("exit 1", "exit status 0 became exit status 1"),
        ("sleep 5", "it does not end"),
    ],
)
def test_a_program_that_ends_otherwise_differs(
    wrong: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cutune.check.shake._SECONDS", 0.2)
    monkeypatch.setattr("cutune.check.shake._TIMES_SLOWER", 0.0)
    found = shaken(SAYS, f'[ "$CUTUNE_SEED" = 2 ] && {wrong}; {SAYS}')
    assert [(str(one.trial), one.reason) for one in found] == 2 * [("seed 2", reason)]


def test_an_original_that_fails_is_an_error() -> None:
    with pytest.raises(CutuneError) as error:
        shaken("exit 1", "exit 1")
    assert error.value.diagnostic.code is Code.ORIGINAL_FAILED


def test_what_varies_is_left_out_with_every_seed() -> None:
    text = f'{SAYS}; echo "time $(date +%N) ns"'
    found = shaken(text, text)
    assert [one.trial for one in found] == [None, None]
    assert [d.code for one in found for d in one.remarks()] == [Code.LEFT_OUT, Code.LEFT_OUT]


def test_files_are_compared_one_run_after_the_other() -> None:
    conditions = replace(PLAIN, files=("out.txt",))
    writes = "echo start > out.txt; sleep 0.01; echo $1 >> out.txt"
    assert [one.trial for one in shaken(writes, writes, conditions, jobs=1)] == [None, None]
    wrong = f'{writes}; [ "$CUTUNE_SEED" = 4 ] && echo 3 > out.txt; true'
    found = shaken(writes, wrong, conditions, jobs=1)
    assert [str(one.trial) for one in found] == ["seed 4", "seed 4"]
    assert found[0].reason.startswith("'out.txt', line 1")


def test_seeds_of_the_environment_and_of_the_options() -> None:
    assert [str(trial) for trial in trials_of([1, 2])] == ["CUTUNE=off", "seed 1", "seed 2"]
    assert [dict(trial.variables) for trial in trials_of([7])] == [
        {"CUTUNE": "off"},
        {"CUTUNE_SEED": "7"},
    ]


def test_each_variant_is_forced_once() -> None:
    trials = trials_of([3, 4], ["restrict", "x2"])
    assert [str(trial) for trial in trials[3:]] == [
        "seed 3, variant restrict",
        "seed 3, variant x2",
    ]
    assert dict(trials[4].variables) == {"CUTUNE_SEED": "3", "CUTUNE_VARIANT": "x2"}
    assert trials_of([], ["x2"]) == trials_of([])


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({}, "None"),
        ({"CUTUNE_VARIANT": "x2"}, "None"),
        ({"CUTUNE_SEED": "07"}, "seed 7"),
        ({"CUTUNE_SEED": "7", "CUTUNE_VARIANT": ""}, "seed 7"),
        ({"CUTUNE_SEED": "7", "CUTUNE_VARIANT": "x2"}, "seed 7, variant x2"),
    ],
)
def test_the_environment_names_one_run(
    environment: dict[str, str], named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(named_trial()) == named


@pytest.mark.parametrize("wrong", [["--seeds", "-1"], ["--jobs", "0"], ["--status", "a"]])
def test_wrong_options(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["shake", "a.cu", *wrong])
    assert end.value.code == 2


def test_a_seed_is_an_integer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "CUTUNE_SEED", "seven")
    with pytest.raises(SystemExit) as end:
        main(["shake", "a.cu"])
    assert end.value.code == 2
