"""Texts that would never be read to their end: literals, exponents, macros."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from cutune.cli.main import main
from cutune.core.diagnostics import CutuneError
from cutune.core.processes import end
from cutune.toolchain import compiler_commands as running
from cutune.toolchain.nvcc import find_nvcc

GROWING = "#define A0 x + x\n" + "".join(
    f"#define A{i} A{i - 1} + A{i - 1}\n" for i in range(1, 40)
)
KERNEL = "__global__ void k(int n, float *a) { a[threadIdx.x] = n; }\n"


@pytest.mark.parametrize(
    "number", ["1e999999999", "1e-999999999", "0x1p999999999", "9" * 5000, "." + "1" * 9000]
)
def test_numbers_that_are_no_doubles(number: str, tmp_path: Path) -> None:
    source = tmp_path / "a.cu"
    launch = f"k<<<(int)ceil(n / {number}), {number}>>>(n, a);"
    source.write_text(f"{KERNEL}void f(int n, float *a) {{ dim3 b({number}); {launch} }}\n")
    # What nvcc does not compile ends in its message.
    assert main(["inspect", str(source), "--nvcc-flag=-w", "-q"]) == (number[:2] == "99")


@pytest.mark.long
@pytest.mark.nvcc
def test_macros_that_double_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "a.cu"
    source.write_text(f"{GROWING}int main() {{ int x = 1; return A39; }}\n")
    monkeypatch.setattr(running, "MOST_SECONDS", 2)
    with pytest.raises(CutuneError) as caught:
        find_nvcc().preprocess(source)
    assert caught.value.diagnostic.code.number == "CT711"
    monkeypatch.setattr(running, "MOST_SECONDS", 60)
    monkeypatch.setattr(running, "MOST_BYTES", 1000)
    source.write_text("#include <cstdio>\n")
    with pytest.raises(CutuneError) as caught:
        find_nvcc().preprocess(source)
    assert caught.value.diagnostic.code.number == "CT711"


def test_its_text_may_end_before_all_its_processes_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That it was ended is no news of somebody else who ends compilers."""

    def end_slowly(process: subprocess.Popen[bytes]) -> None:
        end(process)
        time.sleep(0.5)

    monkeypatch.setattr(running, "MOST_SECONDS", 0.1)
    monkeypatch.setattr(running, "end", end_slowly)
    with pytest.raises(CutuneError) as caught:
        running.run_limited(["/bin/sleep", "60"], {}, "a.cu")
    assert caught.value.diagnostic.code.number == "CT711"
