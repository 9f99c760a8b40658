"""Trials: kept as they come, never run twice; programs of the same code are told."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from signal import SIGINT, SIGKILL, SIGTERM

import pytest

from cutune.core.diagnostics import Diagnostic
from cutune.core.processes import ended_by
from cutune.emulator.elf import code_hash
from cutune.model.measurement.measurement import Origin
from cutune.search.builds import Builds, Built, Effects
from cutune.search.trials import EndedTrial, Status, Trial, Trials, read_measured, read_trials
from cutune.toolchain.nvcc import host_compiler
from tests.support.trial_files import ENDED, MEASURED, ORIGIN, silent, trials

TRIAL = Trial(ORIGIN, "sm_90", {"n": "100"}, {"WPT": 4, "R": "none"})


def test_what_has_ended_is_known_again(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    first = trials(path)
    assert first.known(TRIAL) is None
    first.begin(TRIAL)
    assert first.known(TRIAL) is None
    first.end(TRIAL, ENDED)
    assert first.known(TRIAL) == trials(path).known(TRIAL) == ENDED
    assert read_measured(path, ORIGIN, "collect", silent) == [MEASURED]
    # The order of the parameters says nothing; everything else does.
    turned = Trial(ORIGIN, "sm_90", {"n": "100"}, {"R": "none", "WPT": 4})
    assert trials(path).known(turned) == ENDED
    other = (
        Trial(ORIGIN, "sm_80", TRIAL.sizes, TRIAL.configuration),
        Trial(ORIGIN, "sm_90", {"n": "1000"}, TRIAL.configuration),
        Trial(ORIGIN, "sm_90", TRIAL.sizes, {"WPT": 4, "R": 20}),
    )
    assert [trials(path).known(trial) for trial in other] == [None] * 3
    changed = Origin("/a.cu", "4567")
    again = Trial(changed, "sm_90", TRIAL.sizes, TRIAL.configuration)
    assert trials(path, changed).known(again) is None
    assert read_measured(path, changed, "collect", silent) == []


def test_what_never_ends_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    trials(path).begin(TRIAL)
    assert trials(path).known(TRIAL) is None, "once may have been an accident"
    trials(path).begin(TRIAL)
    known = trials(path).known(TRIAL)
    assert known is not None and known.status is Status.QUARANTINE
    trials(path).end(TRIAL, ENDED)
    assert trials(path).known(TRIAL) == ENDED


def test_being_stopped_is_no_fault_of_the_trial(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    for _ in range(3):
        kept = trials(path)
        kept.begin(TRIAL)
        kept.stop(TRIAL)
    assert trials(path).known(TRIAL) is None


def test_a_torn_line_loses_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    kept = trials(path)
    kept.begin(TRIAL)
    kept.end(TRIAL, ENDED)
    text = path.read_text()
    second = Trial(ORIGIN, "sm_90", {"n": "7"}, TRIAL.configuration)
    for cut in range(1, len(text.splitlines()[1]), 29):
        path.write_text(text + text.splitlines()[1][:cut])
        said: list[Diagnostic] = []
        resumed = Trials(path, ORIGIN, said.append).load()
        assert resumed.known(TRIAL) == ENDED and len(said) == 1
        resumed.begin(second)
        resumed.end(second, ENDED)
        reread = Trials(path, ORIGIN, said.append).load()
        assert reread.known(TRIAL) == reread.known(second) == ENDED
        assert len(path.read_text().splitlines()) == 5


def test_an_entry_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    """It says nothing of rules, seconds, and whether another trial's end was taken over."""
    path = tmp_path / "trials.jsonl"
    kept = trials(path)
    kept.begin(TRIAL)
    kept.end(TRIAL, ENDED)
    begin, entry = map(json.loads, path.read_text().splitlines())
    for name in ("copied", "rules", "seconds"):
        del entry[name]
    path.write_text(f"{json.dumps(begin)}\n{json.dumps(entry)}\n")
    assert trials(path).known(TRIAL) == ENDED
    ((read, ended),) = read_trials(path, ORIGIN, "collect", silent)
    assert (read.configuration, read.sizes, ended) == (TRIAL.configuration, TRIAL.sizes, ENDED)
    path.write_text(json.dumps({**entry, "seconds": "soon"}) + "\n")
    said: list[Diagnostic] = []
    assert Trials(path, ORIGIN, said.append).load().known(TRIAL) is None and len(said) == 1


def test_what_cost_nothing_is_told() -> None:
    ended = [
        EndedTrial(Status.COMPILE),
        EndedTrial(Status.LIMITS),
        EndedTrial(Status.OK, is_copied=True),
    ]
    assert not any(one.has_run for one in ended)
    assert all(EndedTrial(one).has_run for one in (Status.OK, Status.WRONG, Status.TIMEOUT))


def test_entries_of_another_kind_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "trials.jsonl"
    trials(path).end(TRIAL, ENDED)
    entry = json.loads(path.read_text())
    del entry["measured"]
    with path.open("a") as file:
        file.write(json.dumps({**entry, "trial": "other"}) + "\n")
    said: list[Diagnostic] = []
    assert Trials(path, ORIGIN, said.append).load().known(TRIAL) == ENDED
    assert [one.code.number for one in said] == ["CT006"]


@pytest.mark.parametrize(
    "changes",
    [{"trial": ["a"]}, {"event": "none"}, {"sizes": 5}, {"configuration": {"tile": [1]}}],
    ids=str,
)
def test_an_entry_that_is_damaged_is_skipped(tmp_path: Path, changes: dict[str, object]) -> None:
    path = tmp_path / "trials.jsonl"
    kept = trials(path)
    kept.begin(TRIAL)
    kept.end(TRIAL, ENDED)
    entry = json.loads(path.read_text().splitlines()[0])
    with path.open("a") as file:
        file.write(json.dumps({**entry, **changes}) + "\n")
    said: list[Diagnostic] = []
    assert Trials(path, ORIGIN, said.append).load().known(TRIAL) == ENDED
    assert len(read_trials(path, ORIGIN, "collect", said.append)) == 1
    assert [one.code.number for one in said] == ["CT006"] * 2


def test_parameters_without_effect_are_told() -> None:
    """A makes a difference; B makes none; C does where A is 2; D was never compared."""
    with ThreadPoolExecutor(1) as pool:
        builds = Builds(None, None, None, None, Path(), None, pool)  # type: ignore[arg-type]
        codes = {(1, 1, 1): "x", (1, 2, 1): "x", (1, 1, 2): "x", (2, 1, 1): "y", (2, 1, 2): "z"}
        for (a, b, c), code in codes.items():
            values = (("A", a), ("B", b), ("C", c), ("D", 1))
            builds._known[values] = pool.submit(Built, Path(), "", code)
        failed = (("A", 3), ("B", 1), ("C", 1), ("D", 1))
        builds._known[failed] = pool.submit(Built, Path(), "no such type")
        for built in builds._known.values():
            built.result()
    assert builds.effects() == Effects(5, 3, ("B",))


def test_a_compiler_that_is_ended_has_not_failed() -> None:
    """As nvcc 13.0 and GCC say it."""
    told = {
        "nvcc error   : 'gcc' died due to signal 2 \n": SIGINT,
        "nvcc: Terminated\n\nCompilation ter": SIGTERM,
        "nvcc error   : 'cicc' died due to signal 9 (Kill signal)": SIGKILL,
        "gcc: fatal error: Killed signal terminated program cc1plus\ncompilation ter": SIGKILL,
    }
    own = (
        "nvcc error   : 'cicc' died due to signal 11 (Invalid memory reference)",
        "a.cu: error: 2",
        "a.cu:1:10: fatal error: b.h: No such file\ncompilation terminated.",
    )
    for said, signal in told.items():
        assert ended_by(1, said) is signal and ended_by(0, said) is None
    assert not any(ended_by(1, said) for said in own)
    assert ended_by(-SIGKILL, "") is SIGKILL and ended_by(-11, "") is None


def test_code_is_the_same_where_only_names_differ(tmp_path: Path) -> None:
    def compiled(name: str, text: str) -> str:
        source, binary = tmp_path / f"{name}.c", tmp_path / f"{name}.o"
        source.write_text(text)
        subprocess.run([host_compiler(), "-c", source, "-o", binary], check=True)
        return code_hash(binary)

    first = compiled("first", "static int g(int x) { return x; } int f(void) { return g(1); }")
    same = compiled("second", "static int h(int y) { return y; } int f(void) { return h(1); }")
    different = compiled("third", "static int g(int x) { return x; } int f(void) { return g(2); }")
    assert first == same != different and first != ""
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\n")
    assert code_hash(script) == ""
    script.write_bytes((tmp_path / "first.o").read_bytes()[:200])
    assert code_hash(script) == ""
