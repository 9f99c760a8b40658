"""Formats of results: told apart, read, written, back again; damaged and hostile files.

All times are made up.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.main import main
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.source import Source
from cutune.lab.interchange.convert import FORMATS, ReadingOptions, convert, read_results
from cutune.lab.interchange.csv_table import Meaning
from cutune.lab.interchange.results import Metric, Result, Results, losses
from cutune.model.measurement.measurement import Origin
from cutune.search.regions import HostMeasurement
from cutune.search.trials import EndedTrial, Status, Trial, Trials

ENDINGS = {one.name: one.ending for one in FORMATS}
SIZES = {"n": 4096, "m": 17}


def unexpected(said: Diagnostic) -> None:
    raise AssertionError(said.render())


def results() -> Results:
    """Everything that a result may have, and each way to fail, at one size on one device."""
    failed = [
        Result({"tile": 8 + i, "mode": "slow"}, SIZES, status, device="GPU A")
        for i, status in enumerate(Status)
        if status is not Status.OK
    ]
    whole = Result(
        {"tile": 4, "mode": "fast"},
        SIZES,
        Status.OK,
        0.125,
        (0.125, 0.25),
        "GPU A",
        "",
        "abc",
        1.5,
        "2026-01-02 03:04:05+00:00",
        {"compile": 900.0, "framework": 1.25},
        {"GFLOP/s": Metric(12.5)},
    )
    return Results((whole, *failed), "blur", {"tile": (4, 8, 99), "mode": ("fast", "slow")})


def written(tmp_path: Path, found: Results, name: str) -> tuple[Path, list[str]]:
    said: list[Diagnostic] = []
    path = tmp_path / f"results{ENDINGS[name]}"
    convert(found, path, "", True, said.append)
    return path, [one.message for one in said]


def reread(path: Path) -> Results:
    return read_results(path, ReadingOptions(), unexpected)


def test_t4_holds_everything(tmp_path: Path) -> None:
    path, said = written(tmp_path, results(), "t4")
    assert (reread(path), said) == (results(), [])
    document = json.loads(path.read_text())
    allowed = {"timeout", "compile", "runtime", "correctness", "constraints", "correct"}
    for entry in document["results"]:
        assert {"configuration", "times", "invalidity", "correctness"} <= {*entry}
        assert entry["invalidity"] in allowed


@pytest.mark.parametrize(
    ("name", "lost"),
    [
        ("kernel-tuner", ""),
        ("trials", "timestamps, times of compiling and checking, quantities besides the time, "
         "values without a result"),
        ("csv", "times of compiling and checking, quantities besides the time, values without a "
         "result"),
        ("wisdom", "6 of 7 results (which have no time), single times, hashes of code, seconds "
         "spent, timestamps, times of compiling and checking, quantities besides the time, values "
         "without a result"),
    ],
)  # fmt: skip
def test_what_a_format_does_not_hold_is_said(tmp_path: Path, name: str, lost: str) -> None:
    path, said = written(tmp_path, results(), name)
    assert [one.partition("no place for: ")[2] for one in said] == ([lost] if lost else [])
    # What it holds is there: to T4 and back nothing more is lost.
    there = reread(path)
    assert losses(results(), there) == (lost.split(", ") if lost else [])
    again, _ = written(tmp_path, there, "t4")
    back, _ = written(tmp_path, reread(again), name)
    assert reread(back) == there


def test_trials_of_a_program_come_back_whole(tmp_path: Path) -> None:
    path, origin = tmp_path / "trials.jsonl", Origin("/a.cu", "0123")
    kept = Trials(path, origin, unexpected).load()
    for tile in (1, 2):
        trial = Trial(origin, "sm_90 -- ./a 100", {"n": "100"}, {"tile": tile, "R": "none"})
        one = HostMeasurement(
            origin, "GPU A", {"tile": tile, "R": "none"}, {"tile": {"n": 100}}, 0.5
        )
        kept.begin(trial)
        kept.end(trial, EndedTrial(Status.OK, "", (one,), (2.0, 3.0), "abc", True, False, "", 0.5))
    text = path.read_text()
    for name in ("t4", "trials"):
        found = read_results(path, ReadingOptions(), unexpected)
        assert found.results[0].sizes == {"n": 100} and found.results[0].device == "GPU A"
        path, said = written(tmp_path, found, name)
        assert said == []
    assert path.read_text() == text
    # A run that was killed leaves half a line.
    path.write_text(text + text.splitlines()[0][:50])
    said_of: list[Diagnostic] = []
    assert len(read_results(path, ReadingOptions(), said_of.append).results) == 2
    assert [one.code.number for one in said_of] == ["CT006"]


CACHE = """{
"device_name": "GPU A",
"kernel_name": "blur",
"problem_size": [
2048,
64
],
"tune_params_keys": ["tile", "u"],
"tune_params": {"tile": [8, 16], "u": ["a"]},
"objective": "time",
"cache": {
"8,a": {"tile": 8, "u": "a", "time": 0.04, "times": [0.04], "GFLOP/s": 2},
"16,a": {"tile": 16, "u": "a", "time": "InvalidConfig", "compile_time": 2},
"""


@pytest.mark.parametrize("ending", ["", "\n", ",", "}\n}", "}}\n"])
def test_caches_of_kernel_tuner_that_are_open(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(CACHE.rstrip("\n,") + ending)
    found = reread(path)
    assert [one.status for one in found.results] == [Status.OK, Status.LIMITS]
    assert found.results[0].sizes == {"x": 2048, "y": 64}
    assert found.results[0].measurements == {"GFLOP/s": Metric(2.0)}
    assert found.results[1].phases == {"compile": 2.0}
    # As Kernel Tuner opens it: without the last three characters, before which a record ends.
    closed = written(tmp_path, found, "kernel-tuner")[0].read_text().strip()
    assert closed.endswith("}\n}\n}") and json.loads(closed[:-3].rstrip() + "}}")


def test_a_table_of_someone_else(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("N,block,word,ms_0\n100,32,a,0.5\n100,64,b,\n")
    asked = ReadingOptions(meaning=Meaning(("N",), "ms_0"))
    first, second = read_results(path, asked, unexpected).results
    assert (first.configuration, first.sizes) == ({"block": 32, "word": "a"}, {"N": 100})
    assert (first.milliseconds, second.status) == (0.5, Status.RUNTIME)
    with pytest.raises(CutuneError, match="--time COLUMN"):
        read_results(path, ReadingOptions(), unexpected)


def test_a_word_like_a_number_is_told(tmp_path: Path) -> None:
    one = Result({"tile": "4", "on": True, "x": 0.5}, {}, Status.OK, 1.0)
    assert written(tmp_path, Results((one,)), "t4")[1] == []
    for name in ("csv", "trials"):
        (said,) = written(tmp_path, Results((one,)), name)[1]
        assert said.endswith("no place for: types of values")


def test_failures_keep_their_device(tmp_path: Path) -> None:
    devices = ("GPU A", "GPU B", "")
    both = [
        Result({"a": a}, {}, status, time, device=device)
        for device in devices
        for a, status, time in ((1, Status.OK, 1.0), (2, Status.WRONG, None))
    ]
    for name in ("t4", "csv", "trials"):
        path, said = written(tmp_path, Results(tuple(both)), name)
        assert said == [] and [one.device for one in reread(path).results] == [
            device for device in devices for _ in range(2)
        ]


def test_sizes_and_devices_are_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["n,device,w,status,ms", "1,GPU A,1,ok,2", "1,GPU A,2,ok,1", "2,GPU B,1,ok,5"]
    table, target = tmp_path / "a.csv", tmp_path / "b.cache.json"
    table.write_text("\n".join(rows))
    words = ["convert", str(table), str(target)]
    assert main(words) == 1
    error = capsys.readouterr().err
    assert "2 devices and 2 sizes" in error and "[CT823]" in error
    # The remedy works when it is followed.
    assert main([*words, "--only", "n=1", "--only", "device=GPU A"]) == 0
    assert len(reread(target).results) == 2 and reread(target).kernel == ""
    named = tmp_path / "named.cache.json"
    asked = ["--only", "n=2", "--kernel", "blur"]
    assert main(["convert", str(table), str(named), *asked]) == 0
    assert reread(named).kernel == "blur"
    assert main([*words, "--only", "n=1"]) == 1
    assert "--force [CT825]" in capsys.readouterr().err
    assert main([*words, "--only", "n=1", "--force"]) == 0
    assert main([*words, "--only", "n=3"]) == 1
    assert "n = 1, 2; device = GPU A, GPU B [CT827]" in capsys.readouterr().err
    assert main(["convert", str(table), str(tmp_path / "c.json")]) == 1
    assert "--to trials, kernel-tuner, wisdom, t4, csv [CT822]" in capsys.readouterr().err
    best = tmp_path / "best.wisdom"
    assert main(["convert", str(table), str(best), "--best"]) == 0
    assert [one.milliseconds for one in reread(best).results] == [1.0, 5.0]
    with pytest.raises(SystemExit):
        main([*words, "--only", "n"])


def test_parameters_stand_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    table, target = tmp_path / "a.csv", tmp_path / "b.cache.json"
    table.write_text("a,b,c,ms\n1,2,3,0.5\n")
    assert main(["convert", str(table), str(target), "--order", "c,a"]) == 0
    document = json.loads(target.read_text())
    assert document["tune_params_keys"] == ["c", "a", "b"] and [*document["cache"]] == ["3,1,2"]
    with pytest.raises(SystemExit):
        main(["convert", str(table), str(target), "--order", "d", "--force"])


def test_what_is_not_held_is_refused(tmp_path: Path) -> None:
    twice = (Result({"a": 1}, {}, Status.OK, 1.0),) * 2
    worded = (Result({"a": 1}, {"n": "many"}, Status.OK, 1.0),)
    named = (Result({"ms": 1}, {}, Status.OK, 1.0),)
    strange = (Result({"a": 'x"; evil()'}, {}, Status.OK, 1.0),)
    for name, bad in (
        ("kernel-tuner", twice),
        ("wisdom", worded),
        ("csv", named),
        ("trials", strange),
    ):
        with pytest.raises(CutuneError, match="write another format: --to t4"):
            written(tmp_path, Results(bad), name)
        assert written(tmp_path, Results(bad), "t4")[1] == []


def test_places_of_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(CACHE.replace('"tile": 16,', '"tile": [],'))
    with pytest.raises(CutuneError) as raised:
        reread(path)
    shown = raised.value.diagnostic.render()
    assert shown.startswith(f"{path}:13:9: error: this is no cache of Kernel Tuner: Expected")
    path.write_text(CACHE[:-20])
    with pytest.raises(CutuneError) as raised:
        reread(path)
    assert raised.value.diagnostic.render().startswith(f"{path}:13:")


HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 1 << 70, 1e300, [], {}, [[1]], "", "x\ny", "__import__('os')", "\x1b[31m"),
    {"a": {"b": []}},
)


def damaged(document: Any) -> Iterator[None]:
    """The document with each entry replaced, or removed, in turn."""
    items: list[Any] = [*document] if isinstance(document, dict) else [*range(len(document))]
    for key in items:
        entry = document[key]
        if isinstance(entry, (dict, list)):
            yield from damaged(entry)
        for value in HOSTILE:
            document[key] = value
            yield
        document[key] = entry


def read_safely(name: str, text: bytes) -> bool:
    """Is it read? Otherwise it ends in a diagnostic with a place."""
    (found,) = [one for one in FORMATS if one.name == name]
    source = Source("a", text.decode("latin-1"))
    try:
        found.read(source, Meaning(), lambda said: None)
    except CutuneError as error:
        shown = error.diagnostic.render()
        assert "[CT821]" in shown and "--from NAME" in shown and "\x1b" not in shown
        assert shown.startswith("a:1:1: ") or source.text == "" or error.diagnostic.span
        return False
    return True


@pytest.mark.parametrize("name", ENDINGS)
def test_damaged_files_end_in_one_message(tmp_path: Path, name: str) -> None:
    path, _ = written(tmp_path, results(), name)
    text = path.read_bytes()
    assert read_safely(name, text)
    torn = [read_safely(name, text[:cut]) for cut in range(0, len(text), 7)]
    assert not all(torn)
    for at in range(0, len(text), 11):
        for byte in (0, 0xFF, ord('"'), ord("\n")):
            read_safely(name, text[:at] + bytes([byte]) + text[at + 1 :])
    read_safely(name, b"[" * 100_000)
    read_safely(name, b'{"results": [{"configuration": NaN}]}')


@pytest.mark.parametrize("name", ["t4", "kernel-tuner", "wisdom", "trials"])
def test_hostile_entries_end_in_one_message(tmp_path: Path, name: str) -> None:
    path, _ = written(tmp_path, results(), name)
    is_lines = name in ("wisdom", "trials")
    text = path.read_text()
    lines = [json.loads(one) for one in text.splitlines()[:4]] if is_lines else [json.loads(text)]
    outcomes = set()
    for document in lines:
        for _ in damaged(document):
            changed = "\n".join(map(json.dumps, lines)) + "\n"
            outcomes.add(read_safely(name, changed.encode()))
    assert outcomes == {True, False}
