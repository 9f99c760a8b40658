"""Files that outlive a stage survive interruptions and refuse what they are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.workspace import (
    Workspace,
    append_lines,
    entries_of,
    read_document,
    read_lines,
    replace_file,
    write_document,
)


def test_a_torn_last_line_is_skipped_and_the_file_stays_usable(tmp_path: Path) -> None:
    path = tmp_path / "measurements.jsonl"
    append_lines(path, [{"schema": "s", "n": 1}])
    with path.open("ab") as file:
        file.write(b'{"schema": "s", "n"')
    append_lines(path, [{"schema": "s", "n": 2}, {"schema": "other", "n": 3}])
    warnings: list[Diagnostic] = []
    entries = list(read_lines(path, "s", lambda entry: entry, "cutune collect", warnings.append))
    assert [entry["n"] for entry in entries] == [1, 2]
    assert [w.code for w in warnings] == [Code.TORN_LINE]


def test_a_log_has_an_entry_per_line_end_alone(tmp_path: Path) -> None:
    path = tmp_path / "launches.jsonl"
    assert list(entries_of(path, "s")) == []
    lines = ['{"schema": "s", "name": "a\u2028b\u0085c"}', '["s"]', "{", '{"schema": "s"}', '{"sch']
    path.write_text("\n".join(lines), encoding="utf-8")
    assert list(entries_of(path, "s")) == [
        {"schema": "s", "name": "a\u2028b\u0085c"},
        {"schema": "s"},
    ]


def test_a_source_that_has_changed_is_tuned_by_the_same_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    workspace = Workspace(tmp_path / ".cutune").create()

    def again(path: str) -> str:
        return workspace.stale(path).diagnostic.message.partition("run again: ")[2]

    assert again("a.cu") == "cutune tune"
    workspace.note_command(["tune", "--make", "make -j2"])
    workspace.note_command(["tune", "b.cu", "--run", "./{program} {n}"], ["b.cu"])
    workspace.note_command(["fit"])
    assert again("a.cu") == "cutune tune --make 'make -j2'"
    assert again("b.cu") == "cutune tune b.cu --run './{program} {n}'"
    monkeypatch.chdir(tmp_path / "build")
    assert again("../a.cu") == f"cd {tmp_path} && cutune tune --make 'make -j2'"
    workspace.commands.write_text("[]\n")
    assert again("../a.cu") == "cutune tune"


def test_a_document_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    write_document(path, "cutune-models-1", {"models": []})
    assert read_document(path, "cutune-models-1", "cutune fit")["models"] == []
    for wanted in ("cutune-models-0", "cutune-choices-1", "cutune-choices-2"):
        with pytest.raises(CutuneError) as error:
            read_document(path, wanted, "cutune fit")
        assert error.value.diagnostic.code is Code.UNKNOWN_SCHEMA


def test_a_document_of_an_older_version_is_to_be_made_again(tmp_path: Path) -> None:
    path = tmp_path / "models.json"
    write_document(path, "cutune-models-9", {"models": []})
    with pytest.raises(CutuneError) as error:
        read_document(path, "cutune-models-10", "cutune fit")
    assert error.value.diagnostic.code is Code.DAMAGED_FILE
    assert "run again: cutune fit" in error.value.diagnostic.message


def test_a_missing_document_names_the_command_that_makes_it(tmp_path: Path) -> None:
    with pytest.raises(CutuneError) as error:
        read_document(tmp_path / "models.json", "cutune-models-1", "cutune fit")
    assert "cutune fit" in error.value.diagnostic.message


def test_a_failed_write_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.cu"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(CutuneError) as error:
        replace_file(path, b"new")
    assert "No space left on device" in error.value.diagnostic.message
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_missing_here_and_lies_below_is_named(tmp_path: Path) -> None:
    """Results lie beside the source, which often lies in a folder of its own."""
    below = tmp_path / "src" / ".cutune"
    below.mkdir(parents=True)
    write_document(below / "models.json", "cutune-models-1", {"models": []})
    (tmp_path / "lib" / ".cutune").mkdir(parents=True)  # without models
    with pytest.raises(CutuneError) as error:
        read_document(tmp_path / ".cutune" / "models.json", "cutune-models-1", "cutune tune FILE")
    assert error.value.diagnostic.code is Code.MISSING_STAGE
    message = error.value.diagnostic.message
    assert message.endswith(f"--workspace {below}") and "lib" not in message
