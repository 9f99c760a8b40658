"""`cutune nvcc` with nothing to do is nvcc; what it reads from a command line."""

from __future__ import annotations

import os
import pty
import shlex
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cutune import start
from cutune.toolchain import locate
from cutune.tuning.nvcc import command as settings
from cutune.tuning.nvcc import driver
from cutune.tuning.nvcc.command import Command, split_list
from cutune.tuning.nvcc.shadows import ShadowSource, restored_dependencies, with_copies
from tests.support.nvcc_combinations import COMPILING, FAILS, PASSIVE, lines

EVERY = [*lines(PASSIVE), *lines(COMPILING), *lines(FAILS)]

Run = Callable[..., list[str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """What nvcc would be run with; the process is not replaced."""
    for name in ("MODE", "WORKSPACE", "DEVICE", "STRICT", "NVCC_TRIED"):
        monkeypatch.delenv(f"CUTUNE_{name}", raising=False)
    monkeypatch.delenv("CUDACXX", raising=False)
    monkeypatch.chdir(tmp_path)
    nvcc = recording_nvcc(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(nvcc.parent), prepend=os.pathsep)
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)

    def run_driver(*words: str) -> list[str]:
        ran: list[list[str]] = []

        class Replaced(Exception):
            pass

        def execvp(_: str, argv: list[str]) -> None:
            ran.append(argv)
            raise Replaced

        with monkeypatch.context() as patched:
            patched.setattr(os, "execvp", execvp)
            with pytest.raises(Replaced):
                driver.main_nvcc(words)
        os.environ.pop(locate.TRIED)
        return ran[0]

    return run_driver


def recording_nvcc(folder: Path) -> Path:
    """An nvcc that writes its arguments and says what it was told to say."""
    folder.mkdir(parents=True)
    path = folder / "nvcc"
    path.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@"\necho "nvcc said" >&2\nexit "${FAKE_STATUS:-0}"\n'
    )
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_there_are_enough_combinations() -> None:
    assert len(set(EVERY)) == len(EVERY) >= 150


@pytest.mark.parametrize("line", EVERY)
def test_with_nothing_to_do_the_arguments_are_nvccs(line: str, run: Run, tmp_path: Path) -> None:
    words = shlex.split(line)
    expected = [str(tmp_path / "bin" / "nvcc"), *words]
    # No models, no mode, or a source that holds no launch: each time there is nothing to do.
    (tmp_path / "a.cu").write_text("int main() {}\n")
    for mode in ("tuned", "off", "instrument"):
        assert run(f"--cutune-mode={mode}", *words) == expected


@pytest.mark.parametrize("line", EVERY)
def test_a_command_line_stays_word_for_word(line: str) -> None:
    words = shlex.split(line)
    command = Command.parse(words)
    assert [w for item in command.items if item.first >= 0 for w in command.words_of(item)] == words


@pytest.mark.parametrize("line", lines(COMPILING))
def test_a_source_is_found_and_only_its_word_changes(line: str, tmp_path: Path) -> None:
    words = shlex.split(line)
    command = Command.parse(words)
    assert command.makes_host_code
    shadow = ShadowSource("/shadow.cu", ("-iquote,.",))
    changed = with_copies(command, {item.value: shadow for item in command.sources})
    names = [item.value for item in command.sources]
    assert len(names) in (1, 2)
    indices = {item.first for item in command.sources}
    masked = ["/shadow.cu" if i in indices else word for i, word in enumerate(words)]
    assert changed == [*masked, "-Xcompiler=-iquote,."]


@pytest.mark.parametrize("line", lines(PASSIVE))
def test_what_makes_no_host_code_is_left_alone(line: str) -> None:
    assert not Command.parse(shlex.split(line)).makes_host_code


@pytest.mark.parametrize(
    ("line", "outputs", "dependencies"),
    [
        ("-c a.cu", ["a.o"], []),
        ("-c sub/a.cu b.cu -MD", ["a.o", "b.o"], ["a.d", "b.d"]),
        ("-c a.cu -odir out -MMD", ["out/a.o"], ["out/a.d"]),
        ("-dc a.cu -o x.y.o -MD", ["x.y.o"], ["x.y.d"]),
        ("a.cu b.o", ["a.out"], []),
        ("a.cu -o prog -MD -MF d", ["prog"], ["d"]),
        ("-c --output-file=first a.cu -o second", ["second"], []),
        ("-E a.cu", [], []),
        ("--version", [], []),
    ],
)
def test_outputs_are_named_as_nvcc_names_them(
    line: str, outputs: list[str], dependencies: list[str]
) -> None:
    command = Command.parse(line.split())
    assert (command.outputs(), command.dependency_files()) == (outputs, dependencies)


def test_options_come_from_files_and_variables_too(tmp_path: Path) -> None:
    (tmp_path / "inner").write_text("-x cu 'with blank.cpp'\n")
    (tmp_path / "outer").write_text(f"-DA -optf {tmp_path}/inner\n")
    command = Command.parse(["-optf", f"{tmp_path}/outer"], before="-c", after="-DB=2")
    assert command.has(["compile"])
    assert command.values("define-macro") == ["A", "B=2"]
    assert [item.value for item in command.sources] == ["with blank.cpp"]
    assert command.words == ("-optf", f"{tmp_path}/outer")


def test_a_source_in_a_response_file_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "whole"
    file.write_text("-DA=1 a.cu -lineinfo\n")
    command = Command.parse(["-c", f"--options-file={file}", "-w"])
    shadow = ShadowSource("/shadow.cu", ())
    changed = with_copies(command, {"a.cu": shadow})
    assert changed == ["-c", "--define-macro", "A=1", "/shadow.cu", "--generate-line-info", "-w"]


def test_values_of_a_list() -> None:
    assert split_list("a,b") == ["a", "b"]
    assert split_list("a\\,b,c") == ["a,b", "c"]
    assert split_list('X="1,2",Y') == ['X="1,2"', "Y"]


def test_status_and_output_are_nvccs(tmp_path: Path) -> None:
    nvcc = recording_nvcc(tmp_path / "bin")
    command = [sys.executable, "-m", "cutune", "nvcc", f"--cutune-nvcc={nvcc}", "-c", "x y.cu"]
    done = subprocess.run(
        command, env={**os.environ, "FAKE_STATUS": "37"}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (37, b"-c\nx y.cu\n", b"nvcc said\n")


def test_cmake_and_ccache_put_the_compiler_first(run: Run, tmp_path: Path) -> None:
    nvcc = recording_nvcc(tmp_path / "other")
    assert run(str(nvcc), "-c", "a.cu") == [str(nvcc), "-c", "a.cu"]
    assert run("ccache", str(nvcc), "-c", "a.cu") == ["ccache", str(nvcc), "-c", "a.cu"]
    script = str(recording_nvcc(tmp_path / "scripts").rename(tmp_path / "wrap.sh"))
    assert run(script, str(nvcc), "-c", "a.cu") == [script, str(nvcc), "-c", "a.cu"]
    assert run("a.o", str(nvcc))[1:] == ["a.o", str(nvcc)]
    # A source may be called so.
    assert run("nvcc.cu", "-c")[1:] == ["nvcc.cu", "-c"]


def test_an_nvcc_that_is_cutune_itself_is_passed_over(tmp_path: Path) -> None:
    """A script named nvcc may run `cutune nvcc`; it finds the next one on PATH."""
    real = recording_nvcc(tmp_path / "real")
    script = tmp_path / "first" / "nvcc"
    script.parent.mkdir()
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m cutune nvcc "$@"\n')
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{script.parent}:{real.parent}:{os.environ['PATH']}"}
    for name in ("CUDACXX", "CUDA_HOME", "CUDA_PATH"):
        environment.pop(name, None)
    done = subprocess.run(
        [str(script), "-c", "a.cu"], env=environment, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"-c\na.cu\n")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("--cutune-mode=fast", ""),
        ("--cutune-mode=tuned,emulate", "emulated"),
        ("--cutune-mod=off", "--cutune-mode"),
        ("--cutune-unheard-of=1", ""),
        ("--cutune-variants=al", "all"),
    ],
)
def test_a_wrong_option_of_cutunes_own(
    word: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert driver.main_nvcc([word]) == 2
    said = capsys.readouterr().err
    assert "known: " in said and "[CT023]" in said
    assert (f"did you mean '{meant}'?" in said) if meant else ("did you mean" not in said)


@pytest.mark.parametrize("has_lib64", [False, True])
def test_nvcc_of_a_wheel_finds_its_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_lib64: bool
) -> None:
    """It looks in `lib64`, where there is one."""
    monkeypatch.setenv("LIBRARY_PATH", "/own")
    for name in ("include/cuda_runtime.h", "lib/libcudart_static.a", "bin/nvcc"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).touch()
    if has_lib64:
        (tmp_path / "lib64").mkdir()
    driver.find_libraries(str(tmp_path / "bin/nvcc"))
    found = "/own" if has_lib64 else f"/own:{tmp_path}/lib"
    assert os.environ["LIBRARY_PATH"] == found


def test_ctrl_c_is_a_status(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it comes, as while nvcc is at work."""

    def interrupted(_: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(sys, "argv", ["cutune", "nvcc", "-c", "a.cu"])
    monkeypatch.setattr(driver, "main_nvcc", interrupted)
    assert start.main() == 130


def test_modes_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTUNE_MODE", "instrument,emulated")
    assert settings.read_settings([])[0].modes == {"instrument", "emulated"}
    assert settings.read_settings(["--cutune-mode=off"])[0].modes == frozenset()
    # The variable is also read by instrumented programs, which know other words.
    monkeypatch.setenv("CUTUNE_MODE", "sweep")
    assert settings.read_settings([])[0].modes == {"tuned"}


@pytest.mark.parametrize(
    ("variable", "value", "meant"),
    [
        ("CUTUNE_MODE", "tunde", "did you mean 'tuned'?"),
        ("CUTUNE_VARIANTS", "non", "known: all, none; did you mean 'none'?"),
        ("CUTUNE_STRICT", "yes", "known: 0, 1"),
        ("CUTUNE_ASSOCIATIVE_MATH", "on", "known: 0, 1"),
    ],
)
def test_a_variable_with_another_value_is_told_of(
    variable: str,
    value: str,
    meant: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    plain, _ = settings.read_settings([])
    monkeypatch.setenv(variable, "")
    assert settings.read_settings([])[0] == plain
    monkeypatch.setenv(variable, value)
    assert driver.main_nvcc(["-c", "a.cu"]) == 2
    said = capsys.readouterr().err
    assert value in said and meant in said


def test_archives_are_outputs_of_a_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are removed before the build is made again, as objects are."""
    nvcc = recording_nvcc(tmp_path / "bin")
    monkeypatch.setenv("CUTUNE_NVCC_OUTPUTS", str(tmp_path / "outputs"))
    monkeypatch.setenv("CUTUNE_NVCC_TRIED", "")
    monkeypatch.setattr(driver, "run_instead", lambda launcher, words: 0)
    monkeypatch.chdir(tmp_path)
    words = (f"--cutune-nvcc={nvcc}", "-lib", "a.o", "-o", "lib/liba.a")
    assert driver.main_nvcc([*words, "--cutune-mode=tuned"]) == 0
    assert not (tmp_path / "outputs").exists()
    assert driver.main_nvcc([*words, "--cutune-mode=instrument,emulated"]) == 0
    assert (tmp_path / "outputs").read_text() == f"{tmp_path}/lib/liba.a\n"


def test_a_switch_takes_no_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert driver.main_nvcc(["--cutune-strict=no", "-c", "a.cu"]) == 2
    assert "--cutune-strict takes no value" in capsys.readouterr().err


@pytest.mark.parametrize("modes", ["instrument,tuned", "shaken,tuned", "shaken,instrument"])
def test_what_a_program_cannot_be_at_once(modes: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert driver.main_nvcc([f"--cutune-mode={modes}"]) == 2
    assert "either instrumented, tuned or shaken" in capsys.readouterr().err


def test_macros_of_torch_do_not_make_another_source() -> None:
    def key(*words: str) -> str:
        command = Command.parse([*words, "-c", "ops.cu"])
        return settings.unit_key(command, command.sources[0])

    added = (
        "-DTORCH_EXTENSION_NAME=ops",
        "-D__CUDA_NO_HALF_OPERATORS__",
        "-DTORCH_API_INCLUDE_EXTENSION_H",
    )
    assert key(*added) == key("-std=c++20", "--define-macro", "TORCH_EXTENSION_NAME=other") == key()
    assert len({key(), key("-DN=1"), key("-DN=2", *added), key("-UTORCH_EXTENSION_NAME")}) == 4


def test_variants_are_left_out_by_an_option_or_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert settings.read_settings([])[0].variants
    assert not settings.read_settings(["--cutune-variants=none"])[0].variants
    monkeypatch.setenv("CUTUNE_VARIANTS", "none")
    assert not settings.read_settings([])[0].variants
    assert settings.read_settings(["--cutune-variants=all"])[0].variants


def test_a_program_that_was_never_tuned_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("app.cu").write_text("k<<<1, 32>>>();")
    Path("host.o").write_bytes(b"\0main\0")
    Path("app.o").write_bytes(b"\0cudaLaunchKernel\0")
    Path("tuned.o").write_bytes(b"\0cudaLaunchKernel\0cutune_select_k\0")

    def said(*words: str) -> bool:
        return driver.links_untuned(Command.parse(words), None)

    assert said("app.cu") and said("-o", "app", "app.o", "host.o")
    assert not said("-c", "app.cu") and not said("host.o") and not said("missing.o")
    assert not said("tuned.o", "app.o")
    # A workspace that is named and not there is none.
    assert driver.links_untuned(Command.parse(["app.cu"]), "elsewhere") is True
    Path("elsewhere").mkdir()
    assert driver.links_untuned(Command.parse(["app.cu"]), "elsewhere") is False
    Path(".cutune").mkdir()
    assert not said("app.cu") and not said("app.o")


@pytest.mark.parametrize("is_terminal", [True, False])
def test_that_is_said_on_a_terminal(tmp_path: Path, is_terminal: bool) -> None:
    """A stand-in for nvcc, and the two ends of a terminal or of a pipe."""
    (tmp_path / "app.cu").write_text("k<<<1, 32>>>();")
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    subprocess.run(
        [sys.executable, "-m", "cutune", "nvcc", "--cutune-nvcc=/bin/true", "app.cu", "-o", "app"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(driver.__file__).parents[3])},
        stderr=theirs,
        check=True,
    )
    os.close(theirs)
    try:
        text = os.read(ours, 4096).decode()
    except OSError:  # an empty terminal that nobody holds
        text = ""
    os.close(ours)
    assert ("nothing of 'app' was tuned yet" in text) is is_terminal
    assert ("--run './app …'" in text) is is_terminal


def test_nothing_heavy_is_imported() -> None:
    script = (
        "import sys; from cutune.tuning.nvcc.driver import something_to_do\n"
        "from cutune.tuning.nvcc.command import read_settings\n"
        "from cutune.tuning.nvcc.command import Command\n"
        "something_to_do(Command.parse(['-c', 'a.cu']), read_settings([])[0])\n"
        "heavy = {'numpy', 'lark', 'pycparser', 'scipy', 'rich', 'argparse', 'dataclasses',"
        " 'subprocess', 'tempfile', 'json', 'hashlib', 'cutune.core.diagnostics'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    # -S: what the installation itself imports at start-up is not ours.
    command = [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, '.'); {script}"]
    root = Path(driver.__file__).parents[3]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_what_rewrites_imports_nothing_that_measures() -> None:
    script = (
        "import sys, cutune.model.emit.programs, cutune.tuning.nvcc.rewriting\n"
        "measuring = ('scipy', 'cutune.measure', 'cutune.search.tunables')\n"
        "print([name for name in sys.modules if name.startswith(measuring)])"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_dependencies_name_the_users_files() -> None:
    written = (
        "a.o : /shadow/a.cu \\\n    /usr/include/x.h \\\n    /own/cutune.h \\\n    src/a.cu \\\n"
        "    ./h\\ 1.h\n\n/usr/include/x.h:\n\n/own/cutune.h:\n\nsrc/a.cu:\n"
    )
    names = {"/shadow/a.cu": "src/a.cu", "/own/cutune.h": None, "./h 1.h": "h 1.h"}
    restored = restored_dependencies(written, lambda p: names.get(p, p), ["src/a.cu"])
    assert restored == (
        "a.o : src/a.cu \\\n    /usr/include/x.h \\\n    h\\ 1.h\n\n/usr/include/x.h:\n\n"
    )


def test_workspaces_beside_the_source_come_before_those_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("project/shared", "project/build", "elsewhere"):
        (tmp_path / folder / ".cutune").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "project" / "build")
    source = str(tmp_path / "project" / "shared" / "a.cu")
    found = [Path(place).parent.name for place in settings.workspaces_of(source, None)]
    assert found == ["shared", "build"]
    assert settings.workspaces_of(source, "asked") == ["asked"]
