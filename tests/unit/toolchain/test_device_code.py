"""PTX that is kept: given again for the same text and options, and for nothing else."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.ptx.parse import parse
from cutune.ptx.types import WHOLE_PROGRAM
from cutune.toolchain import cache, device_code
from cutune.toolchain.cache import cache_folder, keep_text, kept_text
from cutune.toolchain.device_code import read_device_steps
from cutune.toolchain.nvcc import Nvcc, find_nvcc
from tests.support.noted_steps import noted_steps

pytestmark = pytest.mark.usefixtures("short_headers")

SAID = """\
#$ CICC_PATH=/cuda/nvvm/bin
#$ NVVMIR_LIBRARY_DIR=/cuda/nvvm/libdevice
#$ gcc -D__CUDA_ARCH__=800 -E -x c++ {flags} "cutune_source.cu" -o "/tmp/k/s.cpp1.ii"
#$ {cicc} -arch compute_80 --orig_src_path_name "s.cu" "/tmp/k/s.cpp1.ii" -o "/tmp/k/s.ptx"
"""


@pytest.mark.parametrize(
    ("cicc", "program"), [('"$CICC_PATH/cicc"', "/cuda/nvvm/bin/cicc"), ("cicc", "cicc")]
)
def test_the_steps_are_found(cicc: str, program: str) -> None:
    steps = read_device_steps(SAID.format(flags="-DX=1", cicc=cicc))
    assert steps.preprocess[0] == "gcc" and "-DX=1" in steps.preprocess
    assert steps.compile[0] == program and steps.expanded == Path("/tmp/k/s.cpp1.ii")
    assert steps.variables["NVVMIR_LIBRARY_DIR"] == "/cuda/nvvm/libdevice"


@pytest.mark.parametrize(
    "said",
    [
        "nvcc fatal   : no such option\n",
        SAID.format(flags="", cicc="other"),
        SAID.format(flags="", cicc="cicc") + SAID.format(flags="", cicc="cicc"),
        SAID.format(flags="-DX=$(id)", cicc="cicc"),
        SAID.format(flags="", cicc="cicc").replace('cpp1.ii" -o "/tmp/k/s.ptx', "other.ii"),
    ],
)
def test_anything_else_is_left_to_nvcc(said: str) -> None:
    with pytest.raises(CutuneError, match=r"steps|shell|no such"):
        read_device_steps(said)


def test_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_BYTES", 25)
    for time, name in enumerate(("0a", "1b", "2c", "0d")):
        keep_text(tmp_path / "ptx" / name, name * 5)
        os.utime(tmp_path / "ptx" / name, (time, time))
        assert kept_text(tmp_path / "ptx" / "0a") == "0a" * 5
    assert {path.name for path in (tmp_path / "ptx").iterdir()} == {"0a", "0d"}
    keep_text(tmp_path / "nowhere" / "ptx" / "0e", "e")
    assert kept_text(tmp_path / "nowhere" / "ptx" / "0e") is None


SOURCE = """\
__global__ void scale(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; // WORDS
    if (i < n) a[i] *= FACTOR;
}
"""


def ptx(nvcc: Nvcc, path: str, flags: Sequence[str] = (), architecture: str = "80") -> str:
    code = device_code.compiled(nvcc, path, flags, architecture)
    return code.ptx.removesuffix(WHOLE_PROGRAM)


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    return noted_steps(device_code, "run_any", tmp_path, monkeypatch)


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("flags", "whole"),
    [([], True), (["-rdc=false"], True), (["-rdc=true"], False), (["-dc"], False)],
)
def test_code_that_is_linked_with_other_code_is_not_whole(
    flags: list[str], whole: bool, tmp_path: Path
) -> None:
    path = tmp_path / "a.cu"
    path.write_text(SOURCE)
    for _ in ("compiled", "kept"):
        code = device_code.compiled(find_nvcc(), str(path), ["-DFACTOR=2", *flags])
        assert parse(code.ptx).is_whole is whole


@pytest.mark.nvcc
def test_the_same_text_is_compiled_once(tmp_path: Path, compiled: list[str]) -> None:
    nvcc, here, there = find_nvcc(), tmp_path / "a.cu", tmp_path / "other" / "b.cu"
    there.parent.mkdir()
    here.write_text(SOURCE)
    there.write_text(SOURCE.replace("WORDS", "a comment"))
    text = ptx(nvcc, str(here), ["-DFACTOR=2"])
    assert text == nvcc.ptx(here, ["-DFACTOR=2"])
    assert ptx(nvcc, str(there), ["-DFACTOR=2", "-I."]) == text
    assert compiled == ["gcc", "cicc", "gcc"]
    assert ptx(nvcc, str(here), ["-DFACTOR=3"]) != text
    ptx(nvcc, str(here), ["-DFACTOR=2", "-ftz=true"])
    assert ptx(nvcc, str(here), ["-DFACTOR=2"], "90") != text
    assert compiled.count("cicc") == 4
    (kept,) = {path for path in (cache_folder() / "ptx").iterdir() if path.read_text() == text}
    kept.unlink()
    assert ptx(nvcc, str(here), ["-DFACTOR=2"]) == text
    assert compiled.count("cicc") == 5


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("text", "flags"),
    [(SOURCE, ["-lineinfo"]), ("namespace { __device__ int factor; }\n" + SOURCE, [])],
)
def test_what_tells_of_a_place_is_not_kept(
    text: str, flags: list[str], tmp_path: Path, compiled: list[str]
) -> None:
    source = tmp_path / "a.cu"
    source.write_text(text.replace("FACTOR", "2" if flags else "factor"))
    for _ in range(2):
        assert ptx(find_nvcc(), str(source), flags) == find_nvcc().ptx(source, flags)
    assert compiled == ["gcc", "cicc"] * 2


@pytest.mark.nvcc
def test_code_that_asks_where_it_stands_is_kept_for_its_place(
    tmp_path: Path, compiled: list[str]
) -> None:
    source, text = tmp_path / "a.cu", SOURCE.replace("FACTOR", "__builtin_LINE()")
    source.write_text(text)
    first = ptx(find_nvcc(), str(source))
    assert ptx(find_nvcc(), str(source)) == first
    source.write_text("\n" + text)
    assert ptx(find_nvcc(), str(source)) == find_nvcc().ptx(source) != first
    assert compiled.count("cicc") == 2


#: The folder that nvcc writes to.
_FOLDER = re.compile(r"-o \S*/module\.ptx")


@pytest.mark.nvcc
@pytest.mark.parametrize(
    ("text", "said", "run"),
    [
        ("int main() { return nothing; }\n", 'identifier "nothing" is undefined', ["gcc", "cicc"]),
        ('#include "nothing.h"\n', "nothing.h: No such file", ["gcc"]),
    ],
)
def test_what_is_said_of_a_source_is_what_nvcc_says(
    text: str,
    said: str,
    run: list[str],
    tmp_path: Path,
    compiled: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, nvcc = tmp_path / "a.cu", find_nvcc()
    source.write_text(text)
    with pytest.raises(CutuneError) as own:
        nvcc.ptx(source, ["-DX"], "90")
    # It is not compiled once more to hear the same.
    monkeypatch.setattr(Nvcc, "ptx", None)
    with pytest.raises(CutuneError) as caught:
        ptx(nvcc, str(source), ["-DX"], "90")
    assert caught.value.diagnostic.code.number == "CT701"
    assert said in caught.value.diagnostic.message
    messages = [one.value.diagnostic.message for one in (own, caught)]
    assert _FOLDER.sub("", messages[0]) == _FOLDER.sub("", messages[1])
    assert compiled == run


@pytest.mark.nvcc
def test_a_source_of_the_host_has_no_code(tmp_path: Path) -> None:
    host = tmp_path / "a.cpp"
    host.write_text("int main() {}\n")
    assert ptx(find_nvcc(), str(host)) == ""


@pytest.mark.nvcc
def test_where_a_step_fails_without_a_word_nvcc_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "a.cu"
    source.write_text(SOURCE)

    def killed(
        command: Sequence[str], environment: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, -9, "", "")

    monkeypatch.setattr(device_code, "run_any", killed)
    assert ptx(find_nvcc(), str(source), ["-DFACTOR=2"]) == find_nvcc().ptx(source, ["-DFACTOR=2"])
