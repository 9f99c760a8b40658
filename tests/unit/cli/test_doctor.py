"""What doctor prints and answers; looking at the machine itself is an end-to-end matter."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cutune.cli import doctor
from cutune.cli.doctor import BROKEN, FOUND, MISSING, Requirement
from cutune.cli.main import main
from cutune.toolchain.nvcc import TOOLKIT_PACKAGES

GOOD = Requirement("nvcc", FOUND, "13.0.88", needed=True)
ABSENT = Requirement("ncu", MISSING, "not on PATH", "install it")
BAD = Requirement("host compiler", BROKEN, "too new", "set CXX", needed=True)


def test_the_cache_is_cleared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ours, others = tmp_path / "cutune", tmp_path / "other" / "file"
    for path in (ours / "key" / "library.so", ours / "objects" / "a.o", others):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 100_000)
    assert main(["doctor", "--clear-cache"]) == 0
    assert main(["doctor", "--clear-cache"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"removed {ours}: 2 files, 0.2 MB",
        f"removed {ours}: 0 files, 0.0 MB",
    ]
    assert not ours.exists() and others.exists()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[Requirement]:
    findings: list[Requirement] = []
    monkeypatch.setattr(doctor, "examine", lambda nvcc: findings)
    monkeypatch.setattr(doctor, "_nvcc", lambda option: ("nvcc", ()))
    return findings


def test_all_is_well(machine: list[Requirement], capsys: pytest.CaptureFixture[str]) -> None:
    machine += [GOOD, ABSENT]
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines] == [
        ["ok", "nvcc", "13.0.88"],
        ["missing", "ncu", "not", "on", "PATH"],
        ["install", "it"],
    ]


def test_quiet_speaks_of_problems_alone(
    machine: list[Requirement], capsys: pytest.CaptureFixture[str]
) -> None:
    machine += [GOOD, ABSENT]
    assert main(["doctor", "--quiet", "--install-toolkit"]) == 0
    assert capsys.readouterr().out == ""
    machine.append(BAD)
    assert main(["doctor", "--quiet", "--install-toolkit"]) == 1
    printed = capsys.readouterr().out
    assert "set CXX" in printed
    assert "nvcc" not in printed


def test_a_line_has_the_columns_of_a_screen(
    machine: list[Requirement], capsys: pytest.CaptureFixture[str]
) -> None:
    place = "/home/somebody/projects/of/mine/.venv/bin/with/many/more/folders/python"
    remedies = f"{doctor.INSTALL_TOOLKIT}, give --nvcc PATH, or set CUDACXX"
    machine += [
        Requirement("Python", FOUND, f"3.11.7 ({place})"),
        Requirement("emulated device", FOUND, place),
        Requirement("nvcc", MISSING, "no nvcc found", remedies),
    ]
    assert main(["doctor"]) == 0
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= 80
    first, second, third, *others = printed.splitlines()
    assert first.split() == ["ok", "Python", "3.11.7"] and "..." in third
    assert second.strip().startswith("(/home/") and second.endswith("/folders/python)")
    assert " ".join(" ".join(others).split()) == f"missing nvcc no nvcc found {remedies}"
    machine[:] = [Requirement("a", FOUND, place[:53]), Requirement("b", FOUND, "")]
    assert main(["doctor"]) == 0
    assert place[:53] in capsys.readouterr().out
    assert main(["doctor", "--json"]) == 0
    assert place[:53] in capsys.readouterr().out


def test_json(machine: list[Requirement], capsys: pytest.CaptureFixture[str]) -> None:
    machine += [GOOD, BAD]
    assert main(["doctor", "--json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["schema"] == "cutune-doctor-1"
    assert [finding["state"] for finding in answer["findings"]] == ["found", "broken"]


@pytest.mark.usefixtures("machine")
def test_the_toolkit_is_installed_only_where_no_nvcc_is(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def run(command: list[str], check: bool) -> subprocess.CompletedProcess[str]:
        assert not check
        commands.append(command)
        return subprocess.CompletedProcess(command, 1)

    begun: list[str] = []
    monkeypatch.setattr("cutune.emulator.build.machine_library", lambda: begun.append("machine"))
    monkeypatch.setattr(subprocess, "run", run)
    assert main(["doctor", "--quiet", "--install-toolkit"]) == 0
    assert (commands, begun) == ([], [])
    monkeypatch.setattr(doctor, "_nvcc", lambda option: (None, ()))
    assert main(["doctor", "--quiet", "--install-toolkit"]) == 1
    ((python, *_, last),) = commands
    assert (python, last) == (sys.executable, TOOLKIT_PACKAGES[-1])
    assert begun == ["machine"], "compiled meanwhile"
