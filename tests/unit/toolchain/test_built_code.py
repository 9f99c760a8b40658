"""Device code as programs hold it: with lines, for any place, and never for another one's names."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.ptx.types import WHOLE_PROGRAM
from cutune.toolchain import built_code, dry_run
from cutune.toolchain.built_code import (
    BuiltCode,
    from_text,
    ptx_without_lines,
    to_text,
    without_asserted_lines,
)
from cutune.toolchain.cache import cache_folder
from cutune.toolchain.device_code import compiled
from cutune.toolchain.nvcc import find_nvcc

pytestmark = pytest.mark.usefixtures("all_headers")

HEADER = "__device__ inline float twice(float x) { return __ldg(&x) + x; }\n"
SOURCE = """\
#include "twice.h"
__device__ float factor[4];
struct Shape { __device__ virtual float area() { return twice(2.0f); } };
template <typename T> __global__ void scale(int n, T *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    Shape shape;
    if (i < n) a[i] = twice(a[i]) * factor[n % 4] + shape.area();
}
void run(int n, float *a) { scale<<<n, 32>>>(n, a); }
"""


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def written(folder: Path, text: str = SOURCE, name: str = "app.cu") -> str:
    folder.mkdir(exist_ok=True)
    (folder / "twice.h").write_text(HEADER)
    (folder / name).write_text(text)
    return str(folder / name)


@pytest.mark.nvcc
def test_without_lines_it_is_what_is_compiled_without(tmp_path: Path) -> None:
    source, nvcc = written(tmp_path / "app"), find_nvcc()
    for _ in range(2):  # What is kept gives the same.
        code = compiled(nvcc, source, for_programs=True)
        assert code.ptx == nvcc.ptx(source) + WHOLE_PROGRAM
        assert code.built is not None and ".loc" in code.built.ptx
        assert "__device_stub__Z5scaleIfEviPT_" in code.built.stub


@pytest.mark.nvcc
def test_elsewhere_it_is_of_the_files_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, nvcc = written(tmp_path / "first"), find_nvcc()
    one = compiled(nvcc, first, for_programs=True).built
    assert one is not None and f'"{first}"' in one.ptx
    (tmp_path / "second").mkdir()
    monkeypatch.chdir(tmp_path / "second")
    written(tmp_path / "second", name="other.cu")
    monkeypatch.setattr(built_code, "with_outputs", None)  # Nothing is compiled any more.
    other = compiled(nvcc, "other.cu", for_programs=True).built
    assert other is not None and "first" not in other.ptx + other.stub
    place = str(tmp_path / "second" / "other.cu")
    assert other.ptx == one.ptx.replace(first, place).replace("/first/", "/second/")


def lines(code: BuiltCode | None) -> list[int]:
    """The lines of the source that code is of; what has none is of line 0."""
    assert code is not None
    return [int(line) for line in re.findall(r"\.loc\s+1 ([1-9]\d*)", code.ptx)]


@pytest.mark.nvcc
@pytest.mark.parametrize("before", ["\n", "// A comment.\n" * 20])
def test_other_lines_are_other_code(before: str, tmp_path: Path) -> None:
    source, nvcc = written(tmp_path / "app"), find_nvcc()
    first = compiled(nvcc, source, for_programs=True)
    written(tmp_path / "app", before + SOURCE)
    second = compiled(nvcc, source, for_programs=True)
    moved = before.count("\n")
    assert second.ptx == first.ptx
    assert lines(second.built) == [line + moved for line in lines(first.built)]


@pytest.mark.nvcc
def test_for_lines_alone_nothing_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, nvcc = written(tmp_path / "app"), find_nvcc()
    first = compiled(nvcc, source)
    monkeypatch.setattr(built_code, "with_outputs", None)
    assert compiled(nvcc, source, for_programs=True) == first
    assert first.built is None


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("namespace {\n" + SOURCE.replace("void run", "}\nvoid run"), []),
        (SOURCE, ["-rdc=true"]),
        (SOURCE, ["-lineinfo"]),
        (SOURCE, ["-G"]),
    ],
)
def test_what_is_of_one_place_is_not_for_programs(
    text: str, flags: list[str], tmp_path: Path
) -> None:
    code = compiled(find_nvcc(), written(tmp_path / "app", text), flags, for_programs=True)
    plain = find_nvcc().ptx(tmp_path / "app" / "app.cu", flags)
    assert code.built is None and code.ptx.removesuffix(WHOLE_PROGRAM) == plain


@pytest.mark.nvcc
@pytest.mark.parametrize("damage", ["", "[]", "{}", '{"ptx": 1, "stub": "", "options": []}'])
def test_what_is_damaged_is_not_read(damage: str, tmp_path: Path) -> None:
    source, nvcc = written(tmp_path / "app"), find_nvcc()
    before = compiled(nvcc, source, for_programs=True)
    (kept,) = (cache_folder() / "ptx").glob("*.json")
    kept.write_text(damage)
    after = compiled(nvcc, source, for_programs=True)
    assert after.ptx == before.ptx and after.built is None


def test_code_of_unknown_files_is_not_kept() -> None:
    code = BuiltCode('\t.file\t1 "/a/b.cu"\n', "", ())
    kept = to_text(code, {"/a/b.cu": 0})
    assert kept is not None and json.loads(kept)["ptx"] == '\t.file\t1 "0"\n'
    assert from_text(kept, {"/c/d.cu": 0}) == BuiltCode('\t.file\t1 "/c/d.cu"\n', "", ())
    assert to_text(code, {"/a/c.cu": 0}) is None


def test_what_is_left_of_lines_is_not_taken_for_code() -> None:
    assert ptx_without_lines("\t.loc\t1 2 3\n\tret;\n") == "\tret;\n\n"
    assert ptx_without_lines("\tret;\n") == "\tret;\n"
    assert ptx_without_lines("\t.loc\t1 2 3\n\t.section\t.debug_info\n\t{\n\t}\n") is None


def test_variables_are_no_steps() -> None:
    said = '#$ _SPACE_= \n#$ CICC_PATH=/a\n#$ rm b.c\n#$ "$CICC_PATH/cicc" "c d" -o e\n'
    steps, variables = dry_run.commands(said)
    assert steps == [("/a/cicc", "c d", "-o", "e")] and variables == {"CICC_PATH": "/a"}
    assert dry_run.is_cicc(steps[0])
    with pytest.raises(CutuneError, match="shell"):
        dry_run.commands("#$ gcc a.c | cat\n")


@pytest.mark.nvcc
def test_only_the_line_of_an_assertion_is_left_out(tmp_path: Path) -> None:
    text = (
        "#include <cassert>\n{}__global__ void k(int n, int *a) {{ assert(n > {}); a[0] = n; }}\n"
    )
    found = []
    for lines, least in (("", 0), ("\n\n", 0), ("", 1)):
        source = tmp_path / "app.cu"
        source.write_text(text.format(lines, least))
        found.append(find_nvcc().ptx(source))
    plain, moved, other = map(without_asserted_lines, found)
    assert found[0] != found[1] and plain == moved != other
    assert without_asserted_lines("\tret;\n") == "\tret;\n"
