"""Searches of `bat` that build and run what they ask for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.main import main
from cutune.lab.tuner_comparison import live
from cutune.lab.tuner_comparison import live as counted
from cutune.search import regions
from cutune.search.regions import FailedRun, MeasuredRun
from tests.support.cutune_runs import QUICK
from tests.support.json_documents import PAGE, documented, paths

pytestmark = pytest.mark.nvcc

BENCHMARK = """\
#include <cstdio>
#include <cstdlib>

#pragma cutune tune(WPT: 1, 4, 8)
#ifndef WPT
#define WPT 1
#endif
#if WPT == 8
#error no program is made of eight
#endif

__global__ void scale(int n, float *a) {
    int first = (blockIdx.x * blockDim.x + threadIdx.x) * WPT;
    for (int i = first; i < first + WPT && i < n; i++) a[i] *= 2;
}

int main(int argc, char **argv) {
    int n = 640 * atoi(argv[2]);
    float *a;
    cudaMallocManaged(&a, n * sizeof(float));
    for (int i = 0; i < n; i++) a[i] = i;
#pragma cutune tune(block: 32, 64, 128) data(n)
    int block = 32;
#pragma cutune region begin
    scale<<<(n + block * WPT - 1) / (block * WPT), block>>>(n, a);
    cudaDeviceSynchronize();
#pragma cutune region end
    printf("%g\\n", block == 128 ? 0 : a[n - 1]);
}
"""
WORDS = ("bat", "-b", "scale", "--on", "emulated", "-q", *QUICK)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "bench marks"
    path.mkdir()
    (path / "scale.cu").write_text(BENCHMARK)
    return path


def contest(folder: Path, *words: object) -> int:
    return main([*map(str, (*WORDS, "--folder", folder, *words))])


def trials(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / ".cutune" / "counted.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def begun(folder: Path) -> list[str]:
    return [one["trial"] for one in trials(folder) if one["event"] == "begin"]


@pytest.mark.long
def test_contenders_are_measured_alike(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever a search has tried is tried once; fewest instructions have those of WPT = 4."""
    asked = ("-a", "cutune", "-t", "random", "--search", "12", "--searches", "2")
    assert contest(folder, *asked, "--json") == 0
    said = capsys.readouterr()
    document = json.loads(said.out)
    listed = documented("bat --search")
    assert {*paths(document, listed)} == listed and f"`{document['schema']}`" in PAGE.read_text()
    (one,) = document["contests"]
    assert (one["where"], one["unit"]) == ("size = 1", "warp instructions")
    assert [own["search"] for own in one["contenders"]] == ["cutune local", "cutune random"]
    every = [found for own in one["contenders"] for found in own["found"]]
    assert [found["evaluations"] for found in every] == [6] * 4, "three do not compile"
    assert {found["best"]["WPT"] for found in every} == {4}
    assert len({found["cost"] for found in every}) == 1
    for found in every:
        known = [cost for cost in found["curve"] if cost is not None]
        assert known == sorted(known, reverse=True) and known[-1] == found["cost"]
        assert found["curve"][found["found_after"] - 1] == found["cost"]
    # Two of wrong results, and three that do not compile.
    assert "2 runs wrote something else" in said.err and "(3 compile)" in said.err
    assert len(begun(folder)) == len({*begun(folder)}) == 9
    assert not (folder / ".cutune" / "trials.jsonl").exists()
    devices = {m["device"] for one in trials(folder) for m in one.get("measured", ())}
    assert devices == {counted.DEVICE}

    # Again, with another budget: nothing is run that was.
    assert contest(folder, *asked[:4], "--search", "3", "--searches", "1", "-v") == 0
    said = capsys.readouterr()
    assert said.out.startswith("scale, size = 1: 9 configurations, in warp instructions\nbest of")
    assert "\n  cutune local: " in said.out and "\n  cutune random: " in said.out
    assert max(map(len, said.out.splitlines())) <= 80
    assert len(begun(folder)) == 9


@pytest.mark.long
def test_a_contest_that_is_stopped_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C in the third run."""
    measure_run, left = regions.measure_run, iter([False, False, True])

    def interrupted(*asked: Any, **how: Any) -> MeasuredRun | FailedRun:
        if next(left, False):
            raise KeyboardInterrupt
        return measure_run(*asked, **how)

    monkeypatch.setattr(counted, "measure_run", interrupted)
    asked = ("-a", "cutune", "--search", "3", "--searches", "1", "--json", "--tune", "WPT=1")
    assert contest(folder, *asked) == 130
    events = [one["event"] for one in trials(folder)]
    assert events.count("begin") == events.count("end") + events.count("stop") > 0
    ended = {one["trial"] for one in trials(folder) if one["event"] == "end"}
    before = len(begun(folder))
    capsys.readouterr()
    assert contest(folder, *asked) == 0
    (one,) = json.loads(capsys.readouterr().out)["contests"]
    assert [found["evaluations"] for own in one["contenders"] for found in own["found"]] == [3]
    assert not ended & {*begun(folder)[before:]}


@pytest.mark.long
def test_a_search_of_some_seconds_ends_by_what_its_trials_took(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where all of them are known: then they take no time, and count as before."""
    asked = ("-a", "cutune", "--searches", "1", "--json", "--tune", "WPT=1")
    assert contest(folder, *asked, "--search", "12") == 0
    path = folder / ".cutune" / "counted.jsonl"
    lines = [{**one, "seconds": 2.0} if "seconds" in one else one for one in trials(folder)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    capsys.readouterr()
    assert contest(folder, *asked, "--search", "3s") == 0
    (one,) = json.loads(capsys.readouterr().out)["contests"]
    (found,) = one["contenders"][0]["found"]
    assert (found["evaluations"], found["seconds"]) == (2, 4.0)


def test_a_benchmark_that_never_ends_well(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "scale.cu").write_text(BENCHMARK.replace("    printf(", "    return 3;\n    printf("))
    assert (
        contest(folder, "-a", "cutune", "--search", "2", "--searches", "1", "--tune", "WPT=1") == 1
    )
    said = capsys.readouterr()
    assert "[CT422]" in said.err and said.err.count("error:") == 1 and said.out == ""


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--search", "none"), 1, "[CT815]"),
        (("--search", "5", "--searches", "0"), 2, "--searches at least 1"),
        (("--search", "5", "--plot", "a.svg"), 2, "takes no --replay and no --plot"),
        (("--search", "5", "--replay", "a.csv"), 2, "takes no --replay and no --plot"),
        (("--search", "5", "--gpus", "0"), 2, "need --on gpu"),
        (("--search", "5", "-a", "nobody"), 1, "[CT828]"),
        (("--search", "5", "-t", "nothing"), 1, "[CT816]"),
        (("--search", "5", "-b", "other"), 1, "[CT832]"),
        ((), 2, "are those of --search BUDGET, as in --search 50"),
    ],
)
def test_wrong_words(
    folder: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], status: int, said: str
) -> None:
    try:
        found = contest(folder, *words)
    except SystemExit as error:
        found = int(error.code or 0)
    errors = capsys.readouterr().err
    assert found == status and said in errors and errors.count("error:") == 1


def test_the_best_so_far() -> None:
    assert list(live._so_far([None, 3.0, 4.0, None, 2.0])) == [None, 3.0, 3.0, 3.0, 2.0]
