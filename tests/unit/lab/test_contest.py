"""Tuners compared: what is there, what they may ask, tables of recorded results, the verb.

The tables are made up: times are formulas of the configuration, and nothing was measured.
"""

from __future__ import annotations

import itertools
import json
import random
from importlib.util import find_spec
from pathlib import Path
from statistics import fmean

import pytest

from cutune.cli.main import main
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.lab.interchange.results import Result, Results
from cutune.lab.tuner_comparison.other_tuners import MOST_REFUSED, TimedSpace
from cutune.lab.tuner_comparison.tables import recorded_tables
from cutune.lab.tuner_comparison.tuners import TUNERS, Tuner, contenders
from cutune.search.compare import KnownTime, expected_of_chance, replayed
from cutune.search.techniques.registry import Run, Technique
from cutune.search.techniques.tries import Allowance, Rows, SearchEnd, Timed, Tries
from cutune.search.trials import Status
from cutune.space.parameter import ParameterOptions
from tests.support.json_documents import PAGE, documented, paths
from tests.support.shell_programs import script

SIZES = (2, 4, 8, 16, 32, 64)


def table(n: int = 100) -> Results:
    """`a * b == c * 8`, a switch, a word; the fastest is a = 8, b = 32, c = 32, on, fast."""
    found = []
    for a, b, c, on in itertools.product(SIZES, SIZES, SIZES, (0, 1)):
        for word in ("fast", "slow") if a * b == c * 8 else ():
            time = 1 + abs(a - 8) / 8 + abs(b - 32) / 16 + 0.3 * (1 - on) + (word == "slow") / 5
            is_ok = a != 64
            found.append(
                Result(
                    {"a": a, "b": b, "c": c, "on": on, "word": word},
                    {"n": n},
                    Status.OK if is_ok else Status.RUNTIME,
                    time if is_ok else None,
                    device="made up",
                    seconds=0.5,
                )
            )
    return Results(tuple(found), "made up")


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    rows = ["n,device,a,b,c,on,word,status,ms,seconds"]
    for n in (100, 200):
        for one in table(n).results:
            values = ",".join(map(str, one.configuration.values()))
            rows.append(f"{n},made up,{values},{one.status.value},{one.milliseconds or ''},0.5")
    path = tmp_path / "made.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_what_random_search_needs_is_exact() -> None:
    """Against all orders of seven times; two are within 5 % of the best."""
    known = {i: KnownTime(t, 0) for i, t in enumerate([3.0, 1.0, None, 7.0, 1.04, 2.0, 1.06])}
    orders = itertools.permutations(range(7))
    needed = [next(i for i, n in enumerate(order, 1) if n in (1, 4)) for order in orders]
    assert expected_of_chance(known) == pytest.approx(fmean(needed))


def test_tables_are_told_by_size_and_device() -> None:
    both = Results((*table(100).results, *table(200).results))
    first, second = recorded_tables(both, ParameterOptions())
    assert (first.where, second.where) == ("made up, n = 100", "made up, n = 200")
    assert first.space.size == len(first.known) == len(table().results)
    assert sorted(map(len, (one.names for one in first.space.tables))) == [1, 1, 3]
    # What is timed again counts as it was timed last.
    again = Result({"a": 1}, {}, Status.OK, 5.0)
    (repeated,) = recorded_tables(
        Results((Result({"a": 1}, {}, Status.OK, 2.0), again)), ParameterOptions()
    )
    assert [one.milliseconds for one in repeated.known.values()] == [5.0]


@pytest.mark.parametrize(
    ("results", "reason"),
    [
        ([Result({"a": 1}, {}, Status.WRONG)], "nothing in it has a time"),
        ([Result({"a": 1}, {}, Status.OK, 1), Result({"b": 1}, {}, Status.OK, 1)], "the same"),
    ],
)
def test_tables_that_cannot_be_compared(results: list[Result], reason: str) -> None:
    with pytest.raises(CutuneError, match=reason):
        list(recorded_tables(Results(tuple(results)), ParameterOptions()))


def test_which_tuners_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Diagnostic] = []
    monkeypatch.setattr(Technique, "is_installed", property(lambda one: one.package != "pyatf"))
    names = [one.name for one in contenders([], "brute_force", said.append)]
    assert names == [
        "cutune local",
        "kernel_tuner genetic_algorithm",
        "opentuner AUCBanditMetaTechniqueA",
        "optuna tpe",
    ]
    assert [one.message for one in said] == [
        "not compared, because it is not installed: pyatf; run: pip install pyatf"
    ]
    said.clear()
    asked = contenders(["Kernel-Tuner", "optuna"], "pso", said.append)
    assert [one.name for one in asked] == ["cutune local", "kernel_tuner pso", "optuna tpe"]
    assert [one.message.partition(",")[0] for one in said] == [
        "optuna is compared with its own tpe"
    ]
    said.clear()
    asked = contenders(["kernel_tuner"], "genetic", said.append)
    assert [one.name for one in asked] == [
        "cutune local",
        "cutune genetic",
        "kernel_tuner genetic_algorithm",
    ]
    assert said == []
    with pytest.raises(CutuneError, match="did you mean 'opentuner'"):
        contenders(["opentunerr"], "brute_force", said.append)
    with pytest.raises(CutuneError, match="no technique of search is named 'telepathy'"):
        contenders([], "telepathy", said.append)


def test_what_is_not_allowed_costs_nothing_but_ends() -> None:
    (made,) = recorded_tables(table(), ParameterOptions())
    measured = []

    def measure(configuration: object) -> Timed:
        measured.append(configuration)
        return Timed(1.0)

    timed = TimedSpace(Tries(made.space, measure, Allowance(5)))
    values = [one.values for one in made.space.parameters]
    forbidden = [values[0].index(2), values[1].index(2), values[2].index(64), 0, 0]
    for _ in range(MOST_REFUSED):
        assert timed.at(forbidden) is None
    assert measured == []
    with pytest.raises(SearchEnd):
        timed.at(forbidden)
    start = made.space.rows(3)
    assert timed.at(timed.places(start)) == 1.0 and len(measured) == 1


@pytest.mark.parametrize("tuner", TUNERS[1:], ids=lambda tuner: tuner.name)
@pytest.mark.parametrize("named", ["", "genetic", "random", "annealing"])
def test_tuners_that_are_installed_search(tuner: Tuner, named: str) -> None:
    """Each measures what is allowed alone, and the same again from the same seeds."""
    name = tuner.named(named) if named else tuner.default
    if find_spec(tuner.package) is None:
        pytest.skip("not installed")
    if name is None:
        pytest.skip("it has none such")
    (made,) = recorded_tables(table(), ParameterOptions())
    state = random.getstate()
    once, again = (replayed(made.space, made.known, tuner.technique(name), 3) for _ in range(2))
    # OpenTuner does not repeat itself, although its random numbers begin alike.
    assert (once == again or tuner.name == "opentuner") and random.getstate() == state
    assert max(once.needed) <= made.space.size


def test_a_tuner_that_fails_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    def search(name: str) -> Run:
        def run(tries: Tries, start: Rows, generator: random.Random) -> None:
            print("searching")
            raise TypeError(f"'{name}' is broken")

        return run

    (made,) = recorded_tables(table(), ParameterOptions())
    broken = Tuner("opentuner", "opentuner", "bandit", search)
    with pytest.raises(CutuneError, match=r"'bandit' is broken.*another technique with -t"):
        replayed(made.space, made.known, broken.technique("bandit"), 1)
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "searching\n"), "standard output is for results"


def run(*words: str | Path) -> int:
    return main(["bat", "-q", *map(str, words)])


def test_the_verb_compares(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plot = recorded.with_name("plot.svg")
    words = ("-b", "made", "-a", "cutune", "--replay", recorded)
    assert run(*words, "-t", "random", "-v", "--plot", plot) == 0
    said = capsys.readouterr().out
    assert said.count("made, made up, n = ") == 2
    heads = [line.split() for line in said.splitlines() if line.startswith(" technique")]
    assert heads == [["technique", "configurations", "seconds", "score"]] * 2
    rows = [line for line in said.splitlines() if line.startswith("  cutune local: ")]
    assert [len(line.split()) for line in rows] == [22, 22], "20 repetitions"
    assert max(map(len, said.splitlines())) <= 80
    assert "cutune random" in plot.read_text()
    assert run(*words, "--only", "n=200", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    (one,) = document["comparisons"]
    assert one["configurations"] == len(table().results)
    (search,) = one["searches"]
    needed = [known for known in search["evaluations"] if known is not None]
    assert search["seconds"][0] == search["evaluations"][0] * 0.5 and len(needed) == 20
    assert 0 < search["score"] <= 1
    listed = documented("bat")
    assert {*paths(document, listed)} == listed and f"`{document['schema']}`" in PAGE.read_text()


def test_the_space_may_be_given(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tune = [f"--tune={name}=2,4,8,16,32,64" for name in "abc"]
    space = recorded.with_name("space.json")
    entries = [{"Name": name, "Values": "[2, 4, 8, 16, 32, 64]"} for name in "abc"]
    entries += [{"Name": "on", "Values": "[0, 1]"}, {"Name": "word", "Values": "['fast', 'slow']"}]
    condition = {"Parameters": ["a", "b", "c"], "Expression": "a * b == c * 8"}
    document = {"ConfigurationSpace": {"TuningParameters": entries, "Conditions": [condition]}}
    space.write_text(json.dumps(document))
    words = ("-a", "cutune", "--replay", recorded, "--only", "n=100")
    assert run(*words, "--space", space) == 0
    assert f"{len(table().results)} configurations" in capsys.readouterr().out
    assert run(*words, *tune) == 1
    assert "of 216 configurations are recorded; leave --space out" in capsys.readouterr().err


def test_wrong_words(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-b", "maid", "--replay", recorded) == 1
    assert "did you mean 'made'? [CT832]" in capsys.readouterr().err
    assert run("-b", "maid", "-a", "cutune", "--folder", recorded.parent) == 1
    assert "known: none [CT832]" in capsys.readouterr().err
    assert run("-a", "cutune", "--folder", recorded.with_name("nowhere")) == 1
    assert "there is no such folder here: name one by --folder [CT832]" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run("--replay", recorded, "--replay", recorded)
    for words in (("-s", "0"), ("-s", "10"), ("-s", "big")):
        with pytest.raises(SystemExit):
            run(*words, "--replay", recorded)
    recorded.write_text("a,b\n1,2,3\n")
    assert run("--replay", recorded, "--time", "a", "-a", "cutune") == 1
    assert "made.csv:2:1: error: this is no table of results" in capsys.readouterr().err


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    """One tuner's example, as BAT lays it out; what it runs writes down how it was called."""
    folder = tmp_path / "tuning_examples" / "toy" / "sort"
    folder.mkdir(parents=True)
    config = {"build": ["touch built"], "run": "./tune", "results": ["best-sort-results.json"]}
    (folder / "config.json").write_text(json.dumps(config))
    script(
        folder / "tune",
        'test -e built || exit 3\necho "called $*"\n'
        'echo "{\\"PROBLEM_SIZE\\": $2, \\"TUNING_TECHNIQUE\\": \\"$4\\", \\"BLOCK\\": 64}" '
        "> best-sort-results.json\necho a,b > all.csv",
    )
    return tmp_path / "tuning_examples"


def test_examples_of_the_suite_run(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = examples.with_name("kept")
    words = ("--examples", examples, "--results", results)
    assert run(*words, "-b", "sort", "-a", "toy", "-s", "2", "-t", "genetic", "-v") == 0
    said = capsys.readouterr().out
    assert "called --size 2 --technique genetic" in said
    assert "PROBLEM_SIZE = 2, TUNING_TECHNIQUE = genetic, BLOCK = 64" in said
    kept = sorted(str(path.relative_to(results)).partition("/")[2] for path in results.rglob("*.*"))
    assert kept == ["toy/sort/all.csv", "toy/sort/best-sort-results.json"]
    # BAT's defaults.
    assert run(*words) == 0
    assert "PROBLEM_SIZE = 1, TUNING_TECHNIQUE = brute_force" in capsys.readouterr().out


def test_examples_that_fail(examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--examples", examples, "--results", examples.with_name("kept"))
    config = examples / "toy" / "sort" / "config.json"
    text = config.read_text()
    for wrong, said in (
        (text.replace("touch built", "rm nothing-there"), "[CT833]"),
        (text.replace("./tune", "./not-there"), "no such program; correct it"),
        (text.replace('"run"', '"ran"'), f"{config}:1:1: error: this is no config.json of BAT"),
        (text.replace('"./tune"', '" "'), "[CT821]"),
        (text[:-3], "[CT821]"),
        (text.replace("best-sort", "no-sort"), "[CT001]"),
    ):
        config.write_text(wrong)
        assert run(*words) == 1
        assert said in capsys.readouterr().err
    assert run(*words, "-a", "toys") == 1
    assert "did you mean 'toy'? [CT832]" in capsys.readouterr().err
    assert run("--examples", examples / "toy") == 1
    assert "config.json" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        run(*words, "--json")
