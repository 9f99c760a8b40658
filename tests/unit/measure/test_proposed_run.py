"""Runs that are proposed: options to paste, where a number of the command line is a size."""

from __future__ import annotations

import shlex
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.emulator.launch_log import LaunchRecord
from cutune.measure.program_runs import RecordedRun, plan_runs, try_smaller, try_two
from tests.support.replayed_kernels import recorded

LAUNCH = replace(recorded("gather"), parameters=struct.pack("<qiid", 1 << 40, 2000, 7, 3.0))


def run(command: str, launch: LaunchRecord = LAUNCH, **vary: list[str]) -> RecordedRun:
    return RecordedRun(plan_runs(command, vary, Path())[0], [launch])


@pytest.mark.parametrize(
    ("command", "proposed"),
    [
        ("./app 2000 100", "--run './app {n} 100' --vary n=250,500"),
        ("./app 100 --n=2000", "--run './app 100 --n={n}' --vary n=250,500"),
        ("./{program} 'a b' 2000", "--run './{program} '\"'\"'a b'\"'\"' {n}' --vary n=250,500"),
        # As it is written, and once.
        ("./app --n2000=2000", "--run './app --n2000={n}' --vary n=250,500"),
        ("./app 0002000", "--run './app {n}' --vary n=250,500"),
        # No number, one that no kernel is given, and one that is no size.
        ("./app data.txt", ""),
        ("./app 4000", ""),
        ("./app 7", ""),
    ],
)
def test_smaller_sizes(command: str, proposed: str) -> None:
    assert try_smaller(run(command)) == (f"; try: {proposed}" if proposed else "")


def test_small_numbers_become_a_little_smaller() -> None:
    deep = replace(LAUNCH, parameters=struct.pack("<i", 15))
    assert try_smaller(run("./app 15 7", deep)) == "; try: --run './app {n} 7' --vary n=9,12"


def test_what_is_proposed_is_a_plan_of_runs() -> None:
    proposed = try_two(run("./app 100 2000"))
    assert proposed == "; try: --run './app 100 {n}' --vary n=1000,2000"
    runs = plan_runs("./app 100 {n}", {"n": ["1000", "2000"]}, Path())
    assert [one.shown for one in runs] == ["./app 100 1000", "./app 100 2000"]


def test_sizes_that_vary_already_are_the_users() -> None:
    varied = run("./app {n} 2000", n=["2000"])
    assert try_smaller(varied) == ""


def test_a_run_that_was_counted_is_run_with_half_of_its_sizes_too() -> None:
    varied = run("./app {n} {m} {kind}", n=["16", "24"], m=["1"], kind=["a b"])
    assert try_two(varied) == "; try: --vary n=8,16 --vary m=1 --vary 'kind=a b'"


def test_launches_without_arguments_have_no_sizes() -> None:
    assert try_smaller(run("./app 2000", replace(LAUNCH, parameters=b""))) == ""


def test_an_example_is_no_advice() -> None:
    # Nobody can run what is only an example.
    assert "try:" not in try_two(run("./app data.txt"))
    assert "--run './app {n}'" in try_two(run("./app data.txt"))
    assert "--run './{program} {n}'" in try_two(run("./{program} data.txt"))
    # A program that gets no words may have its sizes in its text.
    read = (
        ", which the program has to read, as by atoi(argv[1]): --run './app {n}' --vary n=256,1024"
    )
    assert try_two(run("./app")) == read


@pytest.mark.parametrize("template", ["python3 {script} {n}", "A=1 python3 {script} {n}"])
def test_a_script_stands_for_several_words(template: str) -> None:
    """Those that run it are not shown."""
    words = ("run.py", "k={x}", "at={program}", "a b.py")
    (made,) = plan_runs(template, {"n": ["5"]}, Path("k"), script=words)
    started = shlex.join(["run.py", "k={x}", "at=k", "a b.py"])
    line = template.replace("{script}", started).replace("{n}", "5")
    assert made.command == (("/bin/sh", "-c", line) if made.shell else (*shlex.split(line),))
    assert made.shown == template.replace("{script}", "'a b.py'").replace("{n}", "5")


def test_a_script_is_proposed_by_its_name() -> None:
    words = ("run.py", "at={program}", "app.py")
    (made,) = plan_runs("python3 {script} 2000", {}, Path("k"), script=words)
    proposed = "; try: --run 'python3 {script} {n}' --vary n=1000,2000"
    assert try_two(RecordedRun(made, [LAUNCH])) == proposed
