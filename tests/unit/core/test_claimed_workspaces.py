"""Several processes in one workspace: each waits for files of a name; no models are lost."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from cutune.core.diagnostics import Diagnostic
from cutune.core.progress import Reporter
from cutune.core.workspace import Workspace, append_lines
from cutune.model.fit.fitted_model import read_models, write_models
from cutune.tuning.stages import fit_collected

RECORDED = Path(__file__).parents[2] / "recorded" / "add_models.json"
FORK = multiprocessing.get_context("fork")


def silent(_: Diagnostic) -> None:
    """Nobody listens."""


def hold(folder: Path, is_held: Event) -> None:
    with Workspace(folder).claimed(["a", "b"], silent):
        is_held.set()
        time.sleep(60)


def append(folder: Path, number: int) -> None:
    for _ in range(40):
        append_lines(folder / "lines.jsonl", [{"n": number, "text": "x" * 3000}] * 5)


def save(folder: Path, number: int) -> None:
    """Save the models of a program of its own, as `tune` does."""
    workspace = Workspace(folder)
    for _ in range(10):
        with workspace.replacing_models():
            known = read_models(workspace.models) if workspace.models.exists() else []
            (model,) = read_models(RECORDED)
            origin = replace(model.kernel.origin, path=f"/{number}.cu")
            own = replace(model, kernel=replace(model.kernel, origin=origin))
            others = [one for one in known if one.kernel.place != own.kernel.place]
            write_models(workspace.models, [*others, own])


def at_once(work: Callable[[Path, int], None], folder: Path) -> None:
    processes = [FORK.Process(target=work, args=(folder, number)) for number in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0


def test_a_name_is_waited_for_until_its_holder_has_been_killed(tmp_path: Path) -> None:
    is_held = FORK.Event()
    holder = FORK.Process(target=hold, args=(tmp_path, is_held))
    holder.start()
    assert is_held.wait(60)
    said: list[str] = []
    with Workspace(tmp_path).claimed(["c"], silent):
        pass

    def warn(diagnostic: Diagnostic) -> None:
        said.append(diagnostic.code.number)
        assert holder.pid is not None
        os.kill(holder.pid, signal.SIGKILL)

    with Workspace(tmp_path).claimed(["b"], warn):
        assert said == ["CT019"]
    holder.join()


def test_lines_of_several_processes_do_not_mix(tmp_path: Path) -> None:
    at_once(append, tmp_path)
    lines = (tmp_path / "lines.jsonl").read_text().splitlines()
    assert len(lines) == 4 * 40 * 5 and all(map(json.loads, lines))


@pytest.mark.long
def test_no_models_of_others_are_lost(tmp_path: Path) -> None:
    at_once(save, tmp_path)
    paths = {model.kernel.origin.path for model in read_models(tmp_path / "models.json")}
    assert paths == {f"/{number}.cu" for number in range(4)}


def test_models_that_were_saved_meanwhile_stay(tmp_path: Path) -> None:
    save(tmp_path, 1)
    fit_collected(Reporter(), Workspace(tmp_path), [])
    assert [m.kernel.origin.path for m in read_models(tmp_path / "models.json")] == ["/1.cu"]
