"""What `cutune verify` takes for the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.cli import main
from cutune.verify import Agreement


@pytest.mark.parametrize(
    ("first", "second", "agreement", "reason"),
    [
        (b"a 1\n", b"a 1\n", Agreement(identical=True), None),
        (b"a 1.0\n", b"a 1.0000001\n", Agreement(), None),
        (b"a 1.0\n", b"a 1.0000001\n", Agreement(identical=True), "line 1: 'a 1.0' became"),
        (b"x\na 1.0\n", b"x\na 1.01\n", Agreement(), "line 2: 'a 1.0' became 'a 1.01'"),
        (b"a 1.0\n", b"a 1.01\n", Agreement(relative=0.1), None),
        (b"0.0\n", b"1e-9\n", Agreement(), "line 1"),
        (b"0.0\n", b"1e-9\n", Agreement(absolute=1e-8), None),
        (b"1 2\n", b"1\n", Agreement(), "line 1"),
        (b"1\n", b"1\n2\n", Agreement(), "lines: 1 became 2"),
        (b"nan -inf\n", b"nan -inf\n", Agreement(), None),
        (b"nan\n", b"1.0\n", Agreement(), "line 1"),
        (b"PASS\n", b"FAIL\n", Agreement(relative=10), "line 1"),
        (b"t 3 s\n1\n", b"t 4 s\n1\n", Agreement(identical=True, ignored="^t "), None),
        (b"\xff\x00", b"\xff\x01", Agreement(), "line 1"),
    ],
)
def test_outputs(first: bytes, second: bytes, agreement: Agreement, reason: str | None) -> None:
    found = agreement.difference(first, second)
    assert (found is None) == (reason is None)
    if found is not None and reason is not None:
        assert reason in found


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("tuned", "status", "said"),
    [
        ('echo "sum $1.0"; echo 3 > out.txt', 0, ""),
        ('echo "sum $1.1"; echo 3 > out.txt', 1, "standard output, line 1"),
        ('echo "sum $1.0"; echo 3 > out.txt; echo oops >&2', 1, "standard error"),
        ('echo "sum $1.0"; echo 3 > out.txt; exit 4', 1, "exit status 0 became 4"),
        ('echo "sum $1.0"', 1, "'out.txt', lines: 1 became 0"),
    ],
)
def test_programs(
    tuned: str,
    status: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    script(tmp_path / "original", 'echo "sum $1.0"; echo 3 > out.txt')
    script(tmp_path / "tuned", tuned)
    command = ["verify", "./original", "./tuned", "--on", "gpu", "--file", "out.txt"]
    assert main([*command, "--run", "./{program} {n}", "--vary", "n=1,2"]) == status
    output = capsys.readouterr()
    assert said in output.err
    assert output.out.count("n=1") == output.out.count("n=2") == 1
