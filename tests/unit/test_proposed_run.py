"""Runs that are proposed: options to paste, where a number of the command line is a size."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from cutune.collect.proposed_run import smaller_sizes, two_sizes
from cutune.collect.run import Run, plan_runs
from cutune.emulator.launch_log import LaunchRecord

LAUNCH = LaunchRecord(
    sequence=0,
    site=1,
    kernel="scale",
    module="m",
    grid=(8, 1, 1),
    block=(256, 1, 1),
    shared=0,
    parameters=struct.pack("<qiid", 1 << 40, 2000, 7, 3.0),
    pointers=(),
    warp_instructions=0,
    thread_instructions=0,
    executed_blocks=None,
    working_threads=0,
    blocks=(),
    sites=(),
)


def run(command: str, **vary: list[str]) -> Run:
    return plan_runs(command, vary, Path("app"))[0]


@pytest.mark.parametrize(
    ("command", "proposed"),
    [
        ("./app 2000 100", "--run './app {n} 100' --vary n=250,500"),
        ("./app 100 --n=2000", "--run './app 100 --n={n}' --vary n=250,500"),
        ("./{program} 'a b' 2000", "--run './{program} '\"'\"'a b'\"'\"' {n}' --vary n=250,500"),
        # No number, one that no kernel is given, and one that is no size.
        ("./app data.txt", ""),
        ("./app 4000", ""),
        ("./app 7", ""),
    ],
)
def test_smaller_sizes(command: str, proposed: str) -> None:
    assert smaller_sizes(run(command), [LAUNCH]) == proposed


def test_what_is_proposed_is_a_plan_of_runs() -> None:
    proposed = two_sizes(run("./app 100 2000"), [LAUNCH])
    assert proposed == "--run './app 100 {n}' --vary n=1000,2000"
    runs = plan_runs("./app 100 {n}", {"n": ["1000", "2000"]}, Path("app"))
    assert [one.shown for one in runs] == ["./app 100 1000", "./app 100 2000"]


def test_sizes_that_vary_already_are_the_users() -> None:
    varied = run("./app {n} 2000", n=["2000"])
    assert two_sizes(varied, [LAUNCH]) == ""


def test_launches_without_arguments_have_no_sizes() -> None:
    assert two_sizes(run("./app 2000"), [replace(LAUNCH, parameters=b"")]) == ""
