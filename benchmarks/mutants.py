"""Mutation testing: what share of small faults in proof, fitting and emission do the tests notice?

mutmut makes the mutants, in the folder `mutants`, and switches between them. It would run the whole
suite twice in one process before the first of them, so running them is done here: all functions
that a test reaches are found in parallel, then mutants are drawn, and each is tested in a process
of its own by the quick tests that reach its function.

    pip install -e '.[dev,mutation]'
    python -m benchmarks.mutants make              # mutants, and what tests reach
    python -m benchmarks.mutants run results.jsonl --sample 1500 --limit 400
    python -m benchmarks.mutants table results.jsonl                  # score, and survivors
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.module_paths import module_paths

FOLDER = Path("mutants")
REACHED = FOLDER / "reached.jsonl"
TESTS = ("tests/unit", "tests/property", "tests/test_golden.py")
STAGES = ("proof", "fit", "emit")
OPTIONS = (
    *("-p", "benchmarks.mutants_plugin", "-p", "no:cacheprovider", "--capture=sys"),
    *("-m", "not gpu", "--hypothesis-profile=ci", "--continue-on-collection-errors"),
)
#: Of all mutants, with the same chance for each.
RANDOM_STATE = 20261126
_STRICT = re.compile(r",?\s*strict=\w+|\s|,(?=\s*\))")
#: One that takes longer alone than this many seconds is not run per mutant.
LONGEST_TEST = 20.0


def make(workers: int, files: Sequence[str]) -> None:
    """Write all mutants, then run the tests once to see what they reach."""
    from mutmut.__main__ import copy_also_copy_files, copy_src_dir, create_mutants  # noqa: PLC0415

    # mutmut itself sees which sources have changed.
    for stale in (FOLDER / "tests", FOLDER / "reached"):
        shutil.rmtree(stale, ignore_errors=True)
    FOLDER.mkdir(exist_ok=True)
    os.environ["MUTANT_UNDER_TEST"] = "mutant_generation"
    began = time.time()
    copy_src_dir()
    copy_also_copy_files()
    create_mutants(workers)
    compileall.compile_dir(FOLDER / "cutune", quiet=1, workers=workers)
    print(f"{len(mutants())} mutants made in {time.time() - began:.0f} s", flush=True)
    began = time.time()
    lines = FOLDER / "reached"
    lines.mkdir()
    pytest("-n", str(workers), "--dist", "worksteal", *files, CUTUNE_REACHED=str(lines.resolve()))
    tests = [json.loads(line) for file in sorted(lines.iterdir()) for line in file.open()]
    failed = [f"\n  {test['test']}" for test in tests if not test["passed"]]
    seconds = time.time() - began
    print(f"{len(tests)} tests in {seconds:.0f} s, {len(failed)} fail:", *failed, flush=True)
    again = {file_of(test["test"]) for test in tests}
    kept = [test for test in read_lines(REACHED) if file_of(test["test"]) not in again]
    write_lines(REACHED, kept + tests)


def file_of(test: str) -> str:
    """The file that a test stands in."""
    return test.partition("::")[0]


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Those of a file, if there is one."""
    return [json.loads(line) for line in file.open()] if file.exists() else []


def write_lines(file: Path, lines: Iterable[Mapping[str, object]]) -> None:
    """A line of JSON each."""
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))


def pytest(*arguments: str, **environment: str) -> None:
    """Run pytest on the mutants."""
    own = {key: value for key, value in os.environ.items() if key != "MUTANT_UNDER_TEST"}
    own |= {"PYTHONDONTWRITEBYTECODE": "", "OPENBLAS_NUM_THREADS": "1", **environment}
    own["PYTHONPATH"] = module_paths(FOLDER.resolve())
    subprocess.run(
        [sys.executable, "-m", "pytest", *OPTIONS, *arguments],
        cwd=FOLDER,
        env=own,
        check=False,
    )


def mutants() -> list[str]:
    """Names of all, in the order of the alphabet."""
    files = (json.loads(file.read_text()) for file in FOLDER.rglob("*.meta"))
    return sorted(name for file in files for name in file["exit_code_by_key"])


def in_random_order(names: Iterable[str]) -> list[str]:
    """Always the same; the first so many are a sample."""
    shuffled = list(names)
    random.Random(RANDOM_STATE).shuffle(shuffled)
    return shuffled


def run(
    results: Path, sample: int, skip: int, limit: float, workers: int, names: Iterable[str]
) -> None:
    """Test mutants that are drawn, or named. What is cut off is a smaller sample."""
    drawn = list(names) or in_random_order(mutants())[skip : skip + sample]
    seconds: dict[str, float] = {}
    tests: dict[str, list[str]] = defaultdict(list)
    for test in read_lines(REACHED):
        if test["passed"] and test["seconds"] < LONGEST_TEST:
            seconds[test["test"]] = test["seconds"]
            for function in test["reached"]:
                tests[function].append(test["test"])
    task = {
        "tests": {name: tests[name.partition("__mutmut_")[0]] for name in drawn},
        "seconds": seconds,
        "workers": workers,
        "limit": limit,
        "results": str(results.resolve()),
    }
    file = FOLDER / "task.json"
    file.write_text(json.dumps(task))
    files = sorted({file_of(test) for test in seconds})
    pytest("-p", "no:xdist", *files, CUTUNE_MUTANTS=str(file.resolve()))
    add_changes(results)


def add_changes(results: Path) -> None:
    """Add to each line of the results what the mutant changes."""
    from mutmut.mutation.diff_apply import get_diff_for_mutant  # noqa: PLC0415

    lines = read_lines(results)
    for line in lines:
        if line["mutant"] and line["status"] != "killed":
            module = line["mutant"].partition(".x")[0]
            path = Path(*module.split(".")).with_suffix(".py")
            line["change"] = get_diff_for_mutant(line["mutant"], path=path)
    write_lines(results, lines)


def is_assertion(change: str) -> bool:
    """Is `strict` of a `zip` all that it changes? It asserts what holds."""
    lines = [line for line in change.splitlines()[2:] if line[:1] in ("-", "+")]
    sides = ("".join(line[1:] for line in lines if line[0] == sign) for sign in "-+")
    before, after = (_STRICT.sub("", side) for side in sides)
    return "strict=" in change and before == after


def table(results: Path) -> Iterator[str]:
    """A row per stage, then the survivors."""
    lines = read_lines(results)
    unsure = {line["control"] for line in lines if line["control"] and line["status"] != "survived"}
    counts: dict[str, Counter[str]] = {stage: Counter() for stage in (*STAGES, "all")}
    survivors = []
    for line in (line for line in lines if line["mutant"]):
        status = line["status"].partition(" by ")[0]
        if line["killer"] in unsure:
            status = "survived"
        if status == "survived" and is_assertion(line.get("change", "")):
            status = "assertion"
        for stage in (line["mutant"].split(".")[1], "all"):
            counts[stage][status] += 1
        if status in ("survived", "no tests"):
            survivors.append(line)
    yield "| stage | mutants | killed | timed out | survived | not reached | of `strict` | score |"
    yield "|---|---|---|---|---|---|---|---|"
    for stage, count in counts.items():
        killed = count["killed"] + count["timeout"]
        share = killed / max(1, count.total() - count["assertion"])
        statuses = ("killed", "timeout", "survived", "no tests", "assertion")
        cells = " | ".join(str(count[status]) for status in statuses)
        yield f"| {stage} | {count.total()} | {cells} | {share:.1%} |"
    for line in survivors:
        yield f"\n# {line['mutant']}: {line['status']}, {line['tests']} tests"
        yield line.get("change", "")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("make").add_argument("files", nargs="*", default=TESTS, help="of tests")
    running = verbs.add_parser("run")
    running.add_argument("results", type=Path)
    running.add_argument("names", nargs="*", help="mutants; drawn when none is named")
    running.add_argument("--sample", type=int, default=1500)
    running.add_argument("--skip", type=int, default=0, help="so many of the sample")
    running.add_argument("--limit", type=float, default=3600.0, help="seconds for all")
    verbs.add_parser("table").add_argument("results", type=Path)
    asked = parser.parse_args()
    if asked.verb == "make":
        make(asked.workers, asked.files)
    elif asked.verb == "run":
        drawn = (asked.sample, asked.skip)
        run(asked.results, *drawn, asked.limit, asked.workers, asked.names)
    else:
        print(*table(asked.results), sep="\n")


if __name__ == "__main__":
    main()
