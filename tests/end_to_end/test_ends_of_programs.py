"""`cutune run` says which signal ended a program, and how to limit one that does not end."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.emulator import run

pytestmark = pytest.mark.nvcc


def script(folder: Path, text: str) -> str:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_the_signal_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main_run([script(tmp_path, "kill -SEGV $$")]) == 139
    assert "SIGSEGV" in capsys.readouterr().err
    assert run.main_run([script(tmp_path, "exit 139")]) == 139
    assert "SIG" not in capsys.readouterr().err


def test_a_limit_is_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "LONG_SECONDS", 0)
    program = script(tmp_path, "sleep 1")
    run.main_run([program], limit=5)
    assert "--limit" not in capsys.readouterr().err
    run.main_run([program])
    assert "--limit N" in capsys.readouterr().err
