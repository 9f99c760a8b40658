"""`import cutune`: the examples of the documentation, and what a notebook shows of results."""

from __future__ import annotations

import doctest
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import cutune
from cutune.core.diagnostics import CutuneError
from cutune.model.measurement.sweep import RecordedSweep, write_sweep
from cutune.tuning import stages
from tests.support.reported_program import RECORDED, with_times

#: In the order in which they are run: later ones use what earlier ones have written.
CALLS = (cutune.inspect, cutune.tune, cutune.select, cutune.evaluate, cutune.Workspace)


@pytest.mark.long
@pytest.mark.nvcc
def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("add.cu").write_bytes((RECORDED / "add.cu").read_bytes())
    launches = (with_times(1024), with_times(2048))
    write_sweep(Path("sweep.json"), RecordedSweep("NVIDIA H200", "", "predicted", launches))
    runner, finder = doctest.DocTestRunner(), doctest.DocTestFinder(recurse=False)
    made: dict[str, Any] = {}
    for call in CALLS:
        (examples,) = finder.find(call, call.__name__, globs={})
        assert examples.examples, f"{call.__name__} has no example"
        assert runner.run(examples, clear_globs=False).failed == 0, call.__name__
        made |= examples.globs
    # What a notebook shows: parts of the report, with their style and without script.
    for name, words in (
        ("found", "add&lt;&lt;&lt;"),
        ("tuned", "On an NVIDIA H200, "),
        ("choice", "Predicted time of each block"),
        ("judgement", "Mean regret over 2 timed launches"),
        ("report", "On an NVIDIA H200, "),
    ):
        shown = made[name]._repr_html_()
        assert words in shown
        assert "@scope (.cutune)" in shown and "<script" not in shown
    assert repr(made["judgement"]).startswith("<2 launches, mean regret ")
    assert repr(made["choice"]).startswith("<add: ")
    assert repr(made["found"]) == "<add.cu: 1 launch, 1 tunable>"


@pytest.mark.long
@pytest.mark.nvcc
def test_nothing_is_measured_again_unless_something_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("add.cu").write_bytes((RECORDED / "add.cu").read_bytes())
    time.sleep(0.05)  # What was written just now may be written again.
    call = partial(cutune.tune, "add.cu", run="./{program} {n}", vary={"n": [64, 96]})
    first = call()
    text = first.sources[0].read_text()
    first.sources[0].unlink()
    monkeypatch.setattr(stages, "collect", None)
    second = call()
    assert second.sources == first.sources and second.sources[0].read_text() == text
    assert second.report.summary == first.report.summary
    with pytest.raises(TypeError):  # It is measured.
        call(again=True)


@pytest.mark.long
def test_names_are_loaded_when_they_are_used() -> None:
    code = "import sys, cutune; print('numpy' in sys.modules, cutune.select.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "select"]
    with pytest.raises(AttributeError, match=r"no attribute 'tuna'; it has .*, select, tune$"):
        cutune.tuna  # type: ignore[attr-defined] # noqa: B018


@pytest.mark.parametrize("vary", ["n=1,2", {"n": "1,2"}, {"n": 128}])
def test_values_that_are_no_lists_are_one_message(vary: Any) -> None:
    """The letters of a text would pass as values."""
    with pytest.raises(CutuneError, match="vary gives a list to each name"):
        cutune.tune("app.cu", vary=vary)


def test_a_call_without_sources_is_one_message() -> None:
    for call in (cutune.inspect, cutune.tune):
        with pytest.raises(CutuneError, match=f"{call.__name__}: name the sources"):
            call()


def test_verbs_are_found_by_their_names() -> None:
    """As by the completion of names in a notebook; they are loaded only when one is used."""
    assert dir(cutune) == sorted(cutune.__all__)
