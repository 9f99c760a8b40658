"""What `inspect` is asked about: folders, compile commands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cutune.cli.command_line import Input, inputs_of
from cutune.core.diagnostics import CutuneError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("src/b.cu", "src/a.cu", "src/a.tuned.cu", "src/.cutune/a.cu", "src/b.tuned/b.cu"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def database(project: Path, *entries: object) -> Path:
    path = project / "build" / "compile_commands.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(entries))
    return path


def test_a_folder_is_the_sources_that_are_not_cutunes(project: Path) -> None:
    assert inputs_of(["src", "src/a.cu"]) == [Input("src/a.cu"), Input("src/b.cu")]


def test_a_command_says_how_its_source_is_compiled(project: Path) -> None:
    """As CMake writes them; other languages are left out, and the folder stands for the file."""
    path = database(
        project,
        {
            "directory": str(project / "build"),
            "command": "/cuda/bin/nvcc -forward-unknown-to-host-compiler -DN=4 -DS='\"a b\"' "
            "--options-file includes.rsp -O3 -std=c++17 -lineinfo "
            '"--generate-code=arch=compute_90,code=[compute_90,sm_90]" -Xcompiler=-fPIC,-g '
            "-MD -x cu -rdc=true -c ../src/a.cu -o a.o",
            "file": "../src/a.cu",
        },
        {"directory": "../src", "arguments": ["ccache", "nvcc", "-c", "b.cu"], "file": "b.cu"},
        {"directory": ".", "command": "c++ -c main.cpp", "file": "main.cpp"},
        {
            "directory": ".",
            "arguments": ["clang++", "-x", "cuda", "--cuda-gpu-arch=sm_80", "-Iown", "-c", "k.cc"],
            "file": "k.cc",
        },
    )
    (project / "build/includes.rsp").write_text("-I../include -isystem=/opt/include")
    wanted = [
        Input(
            "src/a.cu",
            (
                "--define-macro=N=4",
                '--define-macro=S="a b"',
                f"--include-path={project}/include",
                "--system-include=/opt/include",
                "--optimize=3",
                "--std=c++17",
                "--generate-code=arch=compute_90,code=[compute_90,sm_90]",
                "-Xcompiler=-fPIC",
                "--relocatable-device-code=true",
            ),
        ),
        Input("src/b.cu"),
        Input("build/k.cc", (f"--include-path={project}/build/own",)),
    ]
    assert inputs_of([str(path)]) == inputs_of(["build"]) == wanted


@pytest.mark.parametrize(
    "words",
    [
        ["/tmp/evil/nvcc", "-ccbin", "evil"],
        ["nvcc", "-Xcompiler=-fplugin=evil.so,-Bevil,-wrapper,evil"],
        ["nvcc", "-Xptxas", "evil", "-Xlinker=evil", "--qpp-config=evil", "-ldir", "evil"],
        ["nvcc", "--options-file", "evil.rsp", "@evil.rsp"],
        ["evil", "-Wp,evil", "-load", "evil"],
    ],
)
def test_a_project_names_nothing_that_runs(project: Path, words: list[str]) -> None:
    (project / "evil.rsp").write_text("-ccbin evil -Xcompiler -fplugin=evil.so")
    entry = {"directory": str(project), "arguments": [*words, "-c", "src/a.cu"], "file": "src/a.cu"}
    assert inputs_of([str(database(project, entry))]) == [Input("src/a.cu")]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[]", "CT028"),
        ('[{"directory": ".", "command": "c++ -c a.cpp", "file": "a.cpp"}]', "CT028"),
        ("", "CT001"),
        ("{", "CT001"),
        ('{"a": 1}', "CT001"),
        ("[1]", "CT001"),
        ("3", "CT001"),
        ("[" * 100000, "CT001"),
        ('[{"directory": ".", "file": "a.cu"}]', "CT001"),
        ('[{"directory": ".", "file": "a.cu", "arguments": 3}]', "CT001"),
        ('[{"directory": ".", "file": "a.cu", "command": "nvcc \'"}]', "CT001"),
    ],
)
def test_what_is_no_database_is_one_message(project: Path, text: str, code: str) -> None:
    path = database(project)
    path.write_text(text)
    with pytest.raises(CutuneError) as error:
        inputs_of([str(path)])
    assert error.value.diagnostic.code.number == code


def test_a_folder_without_sources_is_told_of(project: Path) -> None:
    (project / "empty").mkdir()
    with pytest.raises(CutuneError, match="'empty' names no CUDA source"):
        inputs_of(["empty"])
