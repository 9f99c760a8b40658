"""The preprocessor's passes over a source: the text, and the errors, that nvcc gives."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.source.unit.preprocess import early_macros
from cutune.toolchain import preprocessed
from cutune.toolchain.nvcc import Nvcc, find_nvcc, target_flags
from cutune.toolchain.preprocessed import (
    definitions_before,
    device_pass,
    host_pass,
    marked_host_pass,
    text_without_lines,
)

pytestmark = [pytest.mark.nvcc, pytest.mark.usefixtures("short_headers")]
SOURCE = """\
#include "size.h"
#ifdef __CUDA_ARCH__
int architecture = __CUDA_ARCH__;
#else
int host = VALUE;
#endif
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "size.h").write_text("int size = 3;\n")
    return tmp_path


def refuse_nvcc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nvcc, "preprocess", None)


@pytest.mark.parametrize("name", ["app.cu", "of a user's (1).cu", "app.other", "app.cpp"])
@pytest.mark.parametrize(
    "flags",
    [
        ["-DVALUE=1"],
        ["-DVALUE=2", "-gencode", "arch=compute_80,code=sm_80", "-rdc=true", "-O2"],
        ["-DVALUE=3", "-arch=all"],
    ],
)
def test_the_text_is_that_of_nvcc(
    name: str, flags: list[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / name).write_text(SOURCE)
    nvcc = find_nvcc()
    device = [*target_flags(flags, "90"), "-E"]
    expected = nvcc.preprocess(name, flags), nvcc.preprocess(name, flags, device)
    assert "host" in expected[0] and 'size.h"' in expected[0]
    assert name.endswith("cpp") or "architecture = 900" in expected[1]
    refuse_nvcc(monkeypatch)
    assert (host_pass(nvcc, name, flags), device_pass(nvcc, name, flags, "90")) == expected


@pytest.mark.parametrize("flags", [["-DVALUE=1", "-MD"], ["--no-such-option"], []])
def test_nvcc_says_what_is_wrong(flags: list[str], folder: Path) -> None:
    (folder / "app.cu").write_text(SOURCE if flags else f'{SOURCE}#include "nowhere.h"\n')
    nvcc, said = find_nvcc(), []
    for expand in (nvcc.preprocess, lambda path, flags: host_pass(nvcc, path, flags)):
        with pytest.raises(CutuneError) as caught:
            expand("app.cu", flags)
        said.append(caught.value.diagnostic.message)
    assert said[0] == said[1]


def test_an_output_is_left_to_nvcc(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "app.cu").write_text(SOURCE)
    monkeypatch.setattr(preprocessed, "run_limited", None)
    host_pass(find_nvcc(), "app.cu", ["-o", "app.ii"])
    assert os.path.exists("app.ii")


def test_macros_that_are_there_before_a_source(folder: Path) -> None:
    (folder / "early.h").write_text("#define row 3\n#define chosen() 4\n#undef row\n#define last\n")
    flags = ["-Dthreads=3", "--pre-include", "early.h"]
    found = early_macros(definitions_before(find_nvcc(), flags))
    assert found.keys() >= {"threads", "row", "chosen", "last"}
    assert (found["threads"], found["chosen"], found["last"]) == (" 3", "() 4", "")
    assert not {"NULL", "assert", "size"} & found.keys()


def test_what_counts_is_left_where_it_comes_out(folder: Path) -> None:
    (folder / "a.cu").write_text("int a = VALUE, b = __LINE__, c = __FILE__[0];\n")
    text = marked_host_pass(find_nvcc(), "a.cu", ["-DVALUE=__COUNTER__", "-Xcompiler", "-Werror"])
    assert text is not None
    assert 'int a = __COUNTER__, b = __LINE__, c = "a.cu"[0];' in text


def test_text_without_lines_is_the_same_wherever_it_stands() -> None:
    text = '# 1 "a.cu"\nint a;\n# 1 "b.h" 1 3\nint b;\n'
    moved = '# 1 "a.cu"\n\n  \nint a;\n# 9 "b.h" 1 3\n\nint b;\n'
    assert text_without_lines(text) == text_without_lines(moved) == "int a;\nint b;\n"
    assert text_without_lines(text.replace("a;", "c;")) != text_without_lines(text)
    assert text_without_lines("int a = __builtin_LINE();\n") == ""


def _asserted(before: str = "", inside: str = "", behind: str = "", file: str = "a.cu") -> str:
    """As the preprocessor writes an assertion, which glibc since 2.38 expands to its place."""
    line = 1 + before.count("\n")
    own, of_glibc = f'\n# {line} "{file}"\n', f'\n# {line} "{file}" 3 4\n'
    asked = ", __builtin_FILE (), __builtin_LINE (), __extension__ __PRETTY_FUNCTION__))"
    call = f'(n > 0) ? void (0) : __assert_fail ({own}"n > 0"{of_glibc}{asked}{own}'
    return f'# 1 "{file}"\n{before}void f() {{ {call}{inside};}}\n{behind}int b;\n'


def test_lines_of_assertions_count() -> None:
    text = text_without_lines(_asserted())
    assert text and text == text_without_lines(_asserted(behind="\n\n"))
    # The line may be that where a macro's last argument ends.
    for other in (_asserted("\n"), _asserted(inside="\n"), _asserted(file="b.cu")):
        assert text_without_lines(other) not in ("", text)
    # A default argument has the line of a call, wherever that is.
    default = "void g(int line = __builtin_LINE());\n"
    assert text_without_lines(_asserted() + default) == ""


def test_lines_of_a_raw_string_are_its_own() -> None:
    text = 'auto a = R"(\n\n# 1 "a.cu"\n)";\n'
    fewer = text.replace("\n\n", "\n", 1), text.replace("# 1", "# 2")
    assert len({text_without_lines(text), *map(text_without_lines, fewer)}) == 3
