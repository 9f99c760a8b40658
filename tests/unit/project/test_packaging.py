"""What is said of the package in several files is the same in all of them."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from cutune import __version__
from cutune.cli.doctor import EXTRAS

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def packages(extra: str) -> set[str]:
    return {
        re.split(r"[\[<>=~ ]", one)[0] for one in PROJECT["optional-dependencies"].get(extra, ())
    }


def test_doctor_looks_for_every_extra() -> None:
    of_developers = {"dev", "fuzz", "mutation", "packages", "wheels"}
    extras = {*PROJECT["optional-dependencies"]} - {"toolkit"} - of_developers
    assert extras == {*EXTRAS.values()}
    assert all(name in packages(extra) for name, extra in EXTRAS.items())


def test_the_citation_is_of_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", text, re.MULTILINE) == [__version__]


def test_a_forge_runs_what_changes_must_pass() -> None:
    """The same file, and every version of Python that the project takes from its lowest one on."""
    text = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert re.search(r"^ +- run: \.ci/run$", text, re.MULTILINE)
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert f'python: ["{lowest}", ' in text


def test_the_manual_page_needs_no_package() -> None:
    """The build of a wheel makes it where none is installed."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from cutune.cli.options import parser; "
        "from cutune.cli.parser import manual_page; print(manual_page(parser())[:3])"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == (".TH\n", 0), done.stderr
