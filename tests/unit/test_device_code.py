"""PTX that is kept: given again for the same text and options, and for nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.toolchain import device_code, dry_run
from cutune.toolchain.cache import cache_folder
from cutune.toolchain.device_code import ptx, read_steps
from cutune.toolchain.nvcc import find_nvcc

SAID = """\
#$ CICC_PATH=/cuda/nvvm/bin
#$ NVVMIR_LIBRARY_DIR=/cuda/nvvm/libdevice
#$ gcc -D__CUDA_ARCH__=800 -E -x c++ {flags} "cutune_source.cu" -o "/tmp/k/s.cpp1.ii"
#$ {cicc} -arch compute_80 --orig_src_path_name "s.cu" "/tmp/k/s.cpp1.ii" -o "/tmp/k/s.ptx"
"""


@pytest.mark.parametrize(
    ("cicc", "program"),
    [('"$CICC_PATH/cicc"', "/cuda/nvvm/bin/cicc"), ("cicc", "cicc")],
)
def test_the_steps_are_found(cicc: str, program: str) -> None:
    steps = read_steps(SAID.format(flags="-DX=1", cicc=cicc))
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
        read_steps(said)


def test_the_oldest_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_code, "MOST_BYTES", 25)
    for time, name in enumerate("abc"):
        device_code._keep(tmp_path / "ptx" / name, name * 10)
        os.utime(tmp_path / "ptx" / name, (time, time))
        assert device_code._read(tmp_path / "ptx" / "a") == "a" * 10
    assert {path.name for path in (tmp_path / "ptx").iterdir()} == {"a", "c"}
    device_code._keep(tmp_path / "nowhere" / "ptx" / "d", "d")
    assert device_code._read(tmp_path / "nowhere" / "ptx" / "d") is None


SOURCE = """\
__global__ void scale(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; // WORDS
    if (i < n) a[i] *= FACTOR;
}
"""


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The programs that run; the cache is empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    programs: list[str] = []
    run = dry_run.run

    def noted(command: Sequence[str], environment: Mapping[str, str]) -> None:
        programs.append(Path(command[0]).name)
        run(command, environment)

    monkeypatch.setattr(device_code, "run", noted)
    return programs


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


@pytest.mark.nvcc
def test_what_nvcc_says_is_its_own(tmp_path: Path) -> None:
    source, host = tmp_path / "a.cu", tmp_path / "a.cpp"
    source.write_text("int main() { return nothing; }\n")
    with pytest.raises(CutuneError) as caught:
        ptx(find_nvcc(), str(source))
    assert caught.value.diagnostic.code.number == "CT701"
    assert 'identifier "nothing" is undefined' in caught.value.diagnostic.message
    host.write_text("int main() {}\n")
    assert ptx(find_nvcc(), str(host)) == ""
