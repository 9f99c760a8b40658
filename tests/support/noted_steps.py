"""Which programs the tool starts while a test runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest


def noted_steps(
    module: ModuleType, function: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """The programs that a function of a module runs, as they are run; the cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    programs: list[str] = []
    run = getattr(module, function)

    def noted(command: Sequence[str], environment: Mapping[str, str]) -> object:
        programs.append(Path(command[0]).name)
        return run(command, environment)

    monkeypatch.setattr(module, function, noted)
    return programs
