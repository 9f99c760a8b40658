"""Finding nvcc and asking it: with programs that pretend to be nvcc, without a compiler."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.toolchain import locate
from cutune.toolchain import nvcc as toolchain
from cutune.toolchain.dry_run import first_error
from cutune.toolchain.nvcc import (
    TOOLKIT_PACKAGES,
    Nvcc,
    find_nvcc,
    host_compiler,
    unless_asked,
    without_driver,
    without_target_flags,
)
from cutune.toolchain.preprocessed import files_of

FAKE = """#!/bin/sh
case "$*" in
*--version*) echo 'Cuda compilation tools, release 13.0, V13.0.88' ;;
*--list-gpu-code*) printf 'sm_75\\nsm_80\\nsm_90\\nsm_103\\nsm_100\\n' ;;
*fail*) echo "cannot open fail.cu" >&2; exit 3 ;;
*) echo "$*" ;;
esac
"""


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Hide the toolchain of the machine that runs the tests."""
    for name in ("CUDACXX", "CUDA_HOME", "CUDA_PATH", "NVCC_CCBIN", "CUDAHOSTCXX", "CXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path / "site"))
    original = locate.candidates
    monkeypatch.setattr(
        toolchain, "candidates", lambda: (c for c in original() if c[1] != "/usr/local/cuda")
    )


def fake_nvcc(path: Path, text: str = FAKE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def test_a_part_of_a_program_is_told_from_the_whole(tmp_path: Path) -> None:
    text = """#!/bin/sh
echo "/usr/bin/ld: Scrt1.o: in function \\`_start':" >&2
case "$*" in *whole*) ;; *) echo "undefined reference to \\`main'" >&2 ;; esac
exit 1
"""
    nvcc = Nvcc(fake_nvcc(tmp_path / "nvcc", text))
    with pytest.raises(CutuneError, match=r"all of its sources.*help projects") as caught:
        nvcc.check(["part.cu", "-o", "part"])
    assert caught.value.diagnostic.code is Code.NVCC_FAILED
    with pytest.raises(CutuneError) as caught:
        nvcc.check(["whole.cu", "-o", "whole"])
    assert "name all" not in caught.value.diagnostic.message


def test_no_nvcc_says_how_to_get_one() -> None:
    with pytest.raises(CutuneError) as caught:
        find_nvcc()
    assert caught.value.diagnostic.code is Code.MISSING_NVCC


def test_order_of_the_search(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wheel = fake_nvcc(tmp_path / "site/nvidia/cu13/bin/nvcc")
    assert find_nvcc() == Nvcc(wheel, "cutune[toolkit]")
    on_path = fake_nvcc(tmp_path / "path/nvcc")
    assert find_nvcc() == Nvcc(on_path, "PATH")
    home = fake_nvcc(tmp_path / "home/bin/nvcc")
    monkeypatch.setenv("CUDA_PATH", str(tmp_path / "home"))
    assert find_nvcc() == Nvcc(home, "$CUDA_PATH")
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "home"))
    assert find_nvcc() == Nvcc(home, "$CUDA_HOME")
    named = fake_nvcc(tmp_path / "named/nvcc")
    monkeypatch.setenv("CUDACXX", str(named))
    assert find_nvcc() == Nvcc(named, "$CUDACXX")
    option = fake_nvcc(tmp_path / "option/nvcc")
    assert find_nvcc(str(option)) == Nvcc(option, "--nvcc")


def test_another_compiler_in_cudacxx_is_not_ours(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    on_path = fake_nvcc(tmp_path / "path/nvcc")
    monkeypatch.setenv("CUDACXX", "/usr/bin/clang++")
    assert find_nvcc().path == on_path


@pytest.mark.parametrize("variable", [False, True])
def test_a_named_nvcc_must_exist(monkeypatch: pytest.MonkeyPatch, variable: bool) -> None:
    if variable:
        monkeypatch.setenv("CUDACXX", "/nowhere/nvcc")
    with pytest.raises(CutuneError) as caught:
        find_nvcc(None if variable else "/nowhere/nvcc")
    assert caught.value.diagnostic.code is Code.UNUSABLE_NVCC


def test_what_is_not_nvcc_is_told_apart(tmp_path: Path) -> None:
    other = fake_nvcc(tmp_path / "other", "#!/bin/sh\necho gcc 12\n")
    with pytest.raises(CutuneError) as caught:
        _ = Nvcc(other).version
    assert caught.value.diagnostic.code is Code.UNUSABLE_NVCC


def test_version_and_architectures(tmp_path: Path) -> None:
    nvcc = Nvcc(fake_nvcc(tmp_path / "bin/nvcc"))
    assert nvcc.version == "13.0.88"
    assert nvcc.architectures == (75, 80, 90, 100, 103)


@pytest.mark.parametrize(
    ("wanted", "given"),
    [("sm_90", "sm_90"), ("sm_89", "sm_80"), ("sm_70", "sm_75"), ("sm_120", "sm_103")],
)
def test_architecture_is_one_that_nvcc_knows(tmp_path: Path, wanted: str, given: str) -> None:
    assert Nvcc(fake_nvcc(tmp_path / "bin/nvcc")).architecture(wanted) == given


def test_wheels_need_their_library_folder(tmp_path: Path) -> None:
    path = fake_nvcc(tmp_path / "site/nvidia/cu13/bin/nvcc")
    (tmp_path / "site/nvidia/cu13/include").mkdir()
    (tmp_path / "site/nvidia/cu13/include/cuda_runtime.h").touch()
    (tmp_path / "site/nvidia/cu13/lib").mkdir()
    nvcc = Nvcc(path)
    assert nvcc.extra_flags == (f"-L{tmp_path}/site/nvidia/cu13/lib",)
    assert nvcc.run(["a.cu"]).stdout == f"-L{tmp_path}/site/nvidia/cu13/lib a.cu\n"


def test_wheels_lack_the_name_by_which_a_linker_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = fake_nvcc(tmp_path / "cu13/bin/nvcc")
    for name in ("include/cuda_runtime.h", "lib/libcudart.so.13"):
        (tmp_path / "cu13" / name).parent.mkdir()
        (tmp_path / "cu13" / name).touch()
    own, named = Nvcc(path).extra_flags
    script = Path(named.removeprefix("-L")) / "libcudart.so"
    assert own == f"-L{tmp_path}/cu13/lib"
    assert script.read_text() == f'INPUT("{tmp_path}/cu13/lib/libcudart.so.13")\n'
    (tmp_path / "cu13/lib/libcudart.so").touch()
    assert Nvcc(path).extra_flags == (own,)


def test_nvcc_without_a_host_compiler_is_told_as_that(tmp_path: Path) -> None:
    text = """#!/bin/sh
echo "nvcc fatal   : Failed to preprocess host compiler properties." >&2
exit 1
"""
    nvcc = Nvcc(fake_nvcc(tmp_path / "nvcc", text))
    with pytest.raises(CutuneError) as caught:
        nvcc.check(["a.cu"])
    assert caught.value.diagnostic.code is Code.MISSING_COMPILER
    fake_nvcc(tmp_path / "path/g++")
    with pytest.raises(CutuneError) as caught:
        nvcc.check(["a.cu"])
    assert caught.value.diagnostic.code is Code.NVCC_FAILED


def test_an_installed_toolkit_needs_nothing(tmp_path: Path) -> None:
    path = fake_nvcc(tmp_path / "cuda/bin/nvcc")
    (tmp_path / "cuda/include").mkdir()
    (tmp_path / "cuda/include/cuda_runtime.h").touch()
    (tmp_path / "cuda/lib64").mkdir()
    assert Nvcc(path).extra_flags == ()
    assert Nvcc(path).include_directories == (tmp_path / "cuda/include",)


def test_failure_carries_nvccs_own_message(tmp_path: Path) -> None:
    nvcc = Nvcc(fake_nvcc(tmp_path / "bin/nvcc"))
    with pytest.raises(CutuneError) as caught:
        nvcc.check(["fail.cu"])
    assert caught.value.diagnostic.code is Code.NVCC_FAILED
    assert "status 3" in caught.value.diagnostic.message
    assert "cannot open fail.cu" in caught.value.diagnostic.message


def test_a_failed_command_can_be_run_again(tmp_path: Path) -> None:
    path = tmp_path / "nvcc"
    path.write_text('#!/bin/sh\necho "$1: fatal error: gone" >&2\nexit 1\n')
    path.chmod(0o755)
    with pytest.raises(CutuneError) as caught:
        Nvcc(path).check(["dä r/文.cu", "-DA=f(1)"])
    head, said, ran = caught.value.diagnostic.message.splitlines()
    assert shlex.split(ran.partition("(status 1 of: ")[2][:-1])[-2:] == ["dä r/文.cu", "-DA=f(1)"]
    assert said == "dä r/文.cu: fatal error: gone"
    assert first_error("\n".join([head, "In file x:", said])) == said
    assert first_error(head) == head


@pytest.mark.parametrize(
    ("said", "remedy"),
    [
        ("nvcc fatal   : Unsupported gpu architecture 'sm_35'", "leave the option out"),
        (
            "error: when writing output to /t/a.ii: No space left on device",
            "set TMPDIR to a folder",
        ),
        ("error: when writing output to /t/a.ii: Invalid argument", "set TMPDIR to a folder"),
    ],
)
def test_known_errors_have_their_own_remedy(said: str, remedy: str, tmp_path: Path) -> None:
    path = tmp_path / "nvcc"
    path.write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 1\n')
    path.chmod(0o755)
    with pytest.raises(CutuneError) as caught:
        Nvcc(path).check(["-arch=sm_35", "a.cu"])
    message = caught.value.diagnostic.message
    assert first_error(message) == said
    assert remedy in message.splitlines()[-2]


def test_flags_of_the_users_build_without_its_target() -> None:
    flags = ["-O2", "-arch=sm_80", "-gencode", "arch=compute_70,code=sm_70", "-c", "-o", "a.o"]
    assert without_target_flags([*flags, "-DN=3", "-I", "inc", "--gpu-code=sm_80"]) == (
        "-O2",
        "-DN=3",
        "-I",
        "inc",
    )


@pytest.mark.parametrize(
    ("flags", "added"),
    [
        ((), ("-O2",)),
        (("-Ofast-compile", "min", "-DO3", "-Xptxas=-O3"), ("-O2",)),
        (("-O0",), ()),
        (("-O", "3"), ()),
        (("--optimize=1",), ()),
    ],
)
def test_the_users_level_of_optimisation_counts(
    flags: tuple[str, ...], added: tuple[str, ...]
) -> None:
    assert unless_asked("-O2", flags) == added


def test_the_driver_is_linked_without_being_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiler = tmp_path / "c++"
    monkeypatch.setenv("NVCC_CCBIN", str(compiler))
    monkeypatch.setenv("LIBRARY_PATH", "/opt/own")

    def found(answer: str) -> dict[str, str]:
        compiler.write_text(f"#!/bin/sh\necho {answer}\n")
        compiler.chmod(0o755)
        return without_driver(tmp_path / "workspace")

    assert found("/usr/lib/libcuda.so") == {}
    assert not (tmp_path / "workspace").exists()
    folder = tmp_path / "workspace" / "lib"
    assert found("libcuda.so") == {"LIBRARY_PATH": f"/opt/own:{folder}"}
    monkeypatch.delenv("LIBRARY_PATH")
    searched = found("libcuda.so")
    assert searched == {"LIBRARY_PATH": str(folder)}
    # What calls nothing of it is linked, and needs no driver where it runs.
    linker = shutil.which("g++", path=os.defpath)
    if linker is None:
        pytest.skip("no g++")
    source, program = tmp_path / "app.cpp", tmp_path / "app"
    source.write_text("int main() { return 0; }\n")
    link = [linker, str(source), "-lcuda", "-o", str(program)]
    around = {"PATH": os.defpath, **searched}
    subprocess.run(link, env=around, check=True)
    subprocess.run([str(program)], check=True)
    # What calls it is not: that is said now, not where it runs.
    source.write_text('extern "C" int cuInit(unsigned); int main() { return cuInit(0); }\n')
    done = subprocess.run(link, env=around, capture_output=True, check=False)
    assert done.returncode != 0 and b"cuInit" in done.stderr


def test_host_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(CutuneError) as caught:
        host_compiler()
    assert caught.value.diagnostic.code is Code.MISSING_COMPILER
    fallback = fake_nvcc(tmp_path / "path/g++")
    assert host_compiler() == str(fallback)
    monkeypatch.setenv("CXX", sys.executable)
    assert host_compiler() == sys.executable


def test_the_extra_toolkit_is_what_doctor_installs() -> None:
    text = (Path(__file__).parents[3] / "pyproject.toml").read_text()
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    assert tuple(extras["toolkit"]) == TOOLKIT_PACKAGES


def test_a_line_marker_begins_a_line() -> None:
    text = '# 1 "first"\nx # 2 "within"\n#line 3 "named" 1\n ## 4 "pasted"\r\n# 5 "a\\\\b\\"c" 2\n'
    assert files_of(text + '# 6 "<built-in>"') == ['a\\b"c', "first", "named"]
