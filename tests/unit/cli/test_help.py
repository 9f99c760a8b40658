"""What explains the command line: topics, the manual page, completion."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from cutune.cli.main import main
from cutune.cli.options import parser
from cutune.cli.parser import PAGES, SHELLS, completion, manual_page, text_on, topics
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError


def test_every_page_is_a_topic() -> None:
    pages = {page.resolve() for page in PAGES.rglob("*.md")}
    assert {page.resolve() for page in topics().values()} == pages
    assert {*parser().verbs()} <= {*topics()}


@pytest.mark.parametrize("topic", [*topics()])
def test_a_page_is_shown_as_it_stands(topic: str) -> None:
    text = text_on(topic, "--of-the-verb\n")
    assert text.startswith("# ") and "<!-- options" not in text
    if topic in parser().verbs():
        assert ("--of-the-verb" in text) == (topic != "nvcc")


def test_help_on_a_code_is_what_the_reference_says(capsys: pytest.CaptureFixture[str]) -> None:
    for code in Code:
        assert code.meaning in text_on(code.number.lower(), "")
    assert main(["help", "211"]) == 0
    assert capsys.readouterr().out.startswith("# CT211\n")


@pytest.mark.parametrize(
    ("topic", "further"),
    [("variant", "did you mean 'variants'?"), ("CT9999", "cutune help lists the topics")],
)
def test_a_topic_that_is_not_there(topic: str, further: str) -> None:
    with pytest.raises(CutuneError, match=re.escape(further)):
        text_on(topic, "")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (
            "vary",
            ["cutune tune ", "cutune inspect --vary NAME=V1,V2,…", "cutune help projects", "CT402"],
        ),
        ("atomicAdd", ["cutune help refused", "CT287"]),
        ("shared memory", ["cutune check --shared EXPRESSION", "cutune help annotations", "CT211"]),
        ("variant", ["cutune help variants", "CT270"]),
    ],
)
def test_any_words_are_searched(
    words: str, found: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["help", *words.split()]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert all(any(line.startswith(f"  {one}") for line in lines) for one in found), lines


@pytest.mark.parametrize("topic", ["xyzzy", "", " "])
def test_words_that_are_nowhere(topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", topic]) == 1
    assert "cutune help lists the topics [CT027]" in capsys.readouterr().err


def test_help_lists_verbs_and_topics(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == 0
    listed = re.findall(r"^  ([\w-]+) ", capsys.readouterr().out, re.MULTILINE)
    assert {*topics()} | {*parser().verbs()} <= {*listed}
    assert main(["help", "tune"]) == 0
    assert parser().verbs()["tune"].format_help() in capsys.readouterr().out


def options() -> list[tuple[str, argparse.Action]]:
    return [
        (name, action)
        for name, verb in parser().verbs().items()
        for action in verb.actions
        if action.option_strings and "--help" not in action.option_strings
    ]


def test_the_manual_page_has_every_option() -> None:
    page = manual_page(parser())
    spelled = page.replace("\\-", "-")
    assert all(one in spelled for _, action in options() for one in action.option_strings)
    if shutil.which("groff") is not None:
        command = ["groff", "-man", "-ww", "-z", "-Kutf8"]
        done = subprocess.run(command, input=page, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_of_completion_are_read(shell: str, tmp_path: Path) -> None:
    script = tmp_path / "cutune"
    script.write_text(completion(parser(), shell), encoding="utf-8")
    for _, action in options():
        for one in action.option_strings:
            assert one.lstrip("-") in script.read_text(encoding="utf-8")
    if shutil.which(shell) is not None:
        done = subprocess.run([shell, "-n", script], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("in", "inspect instrument"),
        ("tune --sp", "--space"),
        ("tune app.cu --model mw", "mwp-cwp"),
        ("help annot", "annotations"),
        ("emit --as ", "variants header flags"),
        ("select gem", "gemm.cu"),
    ],
)
def test_bash_completes(line: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "gemm.cu").write_text("")
    (tmp_path / "script").write_text(completion(parser(), "bash"), encoding="utf-8")
    words = ["cutune", *line.split(" ")]
    ask = f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}"
    command = f'. ./script; {ask}; _cutune; echo "${{COMPREPLY[*]}}"'
    done = subprocess.run(
        ["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == found.split()
