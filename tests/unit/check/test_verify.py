"""What `cutune verify` finds in two programs, and when it cannot tell."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cutune.check.verify import Baseline, Conditions, baseline, verify
from cutune.cli.main import main
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.measure.agreement import Agreement
from cutune.toolchain.device.profile import DeviceProfile
from tests.support.shell_programs import PLAIN, runs, script

#: A number that no other run has.
COUNT = 'echo x >> "$0.count"; wc -l < "$0.count"'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs run beside their files."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def compared(
    original: str, tuned: str, conditions: Conditions = PLAIN
) -> tuple[Baseline, Diagnostic | None]:
    first, second = script(Path("original"), original), script(Path("tuned"), tuned)
    (found,) = verify(runs(first), runs(second), conditions)
    return found


def refused(original: str, conditions: Conditions = PLAIN) -> Diagnostic:
    """Why nothing can be compared with this program."""
    with pytest.raises(CutuneError) as found:
        compared(original, original, conditions)
    return found.value.diagnostic


@pytest.mark.parametrize(
    ("tuned", "said"),
    [
        ('echo "sum $1.0"; echo 3 > out.txt', None),
        ('echo "sum $1.1"; echo 3 > out.txt', "standard output, line 1"),
        ('echo "sum $1.0"; echo 3 > out.txt; echo oops >&2', "standard error"),
        ('echo "sum $1.0"; echo 3 > out.txt; exit 4', "exit status 0 became exit status 4"),
        ('echo "sum $1.0"; echo 3 > out.txt; kill -SEGV $$', "became end by SIGSEGV"),
        ('echo "sum $1.0"', "'out.txt', lines: 1 became 0"),
    ],
)
def test_programs(tuned: str, said: str | None) -> None:
    conditions = replace(PLAIN, files=("out.txt",))
    _, difference = compared('echo "sum $1.0"; echo 3 > out.txt', tuned, conditions)
    assert (difference is None) == (said is None)
    if difference is not None and said is not None:
        assert said in difference.message and difference.code is Code.OUTPUT_DIFFERS


@pytest.mark.parametrize(
    ("original", "reason"),
    [
        ("echo 1; exit 3", "exit status 3; if that is right, add --status 3"),
        ("echo 1; kill -SEGV $$", "end by SIGSEGV"),
    ],
)
def test_an_original_that_fails_is_an_error(original: str, reason: str) -> None:
    found = refused(original)
    assert found.code is Code.ORIGINAL_FAILED and reason in found.message
    assert "differ" not in found.message


def test_other_statuses_can_be_success() -> None:
    for statuses in (None, frozenset({0, 3})):
        conditions = replace(PLAIN, statuses=statuses)
        assert compared("echo 1; exit 3", "echo 1; exit 3", conditions)[1] is None
        assert compared("echo 1; exit 3", "echo 1; exit 4", conditions)[1] is not None
    assert refused("kill -SEGV $$", replace(PLAIN, statuses=None)).code is Code.ORIGINAL_FAILED


def test_a_status_that_varies_is_an_error() -> None:
    text = f"exit $({COUNT})"
    found = refused(text, replace(PLAIN, statuses=None))
    assert found.code is Code.ORIGINAL_FAILED
    assert "exit status 1 in one run, exit status 2 in another" in found.message


def test_a_kernel_that_fails_unseen_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the emulated device a program may go on as if nothing had happened."""
    monkeypatch.setattr("cutune.check.verify.program_environment", lambda program: {})
    conditions = replace(PLAIN, device=DeviceProfile.named("h200"))
    said = "cutune: illegal address: kernel k"
    found = refused(f"echo 1; echo '{said}' >&2", conditions)
    assert found.code is Code.ORIGINAL_FAILED and "illegal address: kernel k" in found.message
    # Whatever else a program says there is its own matter.
    assert compared("echo trap >&2", "echo trap >&2", conditions)[1] is None


def test_what_varies_by_itself_is_left_out_and_named() -> None:
    text = f'echo "sum 7"; echo "time $({COUNT}) ms"'
    known, difference = compared(text, text)
    assert difference is None
    (remark,) = known.remarks()
    assert remark.code is Code.LEFT_OUT
    assert "numbers in 1 line of standard output (2)" in remark.message
    assert compared(text, text.replace("sum 7", "sum 8"))[1] is not None
    assert compared(text, text.replace(" ms", " s"))[1] is not None


def test_what_varies_seldom_is_found_before_it_counts() -> None:
    """The first two runs agree, as those of a coarse clock do; a third one settles it."""
    counted = f'n=$({COUNT}); echo "sum 7"; echo "time $((n / 3)) ms"'
    known, difference = compared(counted, 'echo "sum 7"; echo "time 5 ms"')
    assert difference is None
    assert [remark.code for remark in known.remarks()] == [Code.LEFT_OUT]
    assert compared(counted, 'echo "sum 8"; echo "time 5 ms"')[1] is not None


def test_more_runs_settle_what_varies_seldom_beside_what_always_does() -> None:
    """Times of few digits are the same in several runs, and show in another line that they vary."""
    times = f'n=$({COUNT}); echo "sum 7"; echo "a $n s"; echo "b $((n / 7)) s"'
    assert compared(times, 'echo "sum 7"; echo "a 5 s"; echo "b 5 s"')[1] is None
    assert compared(times, 'echo "sum 8"; echo "a 5 s"; echo "b 5 s"')[1] is not None
    # Where nothing varies, two more runs are enough.
    alone = times.replace("a $n s", "a 5 s")
    Path("original.count").unlink()
    assert compared(alone, 'echo "sum 7"; echo "a 5 s"; echo "b 5 s"')[1] is not None
    assert len(Path("original.count").read_text().split()) == 4


def test_where_all_lines_vary_nothing_is_compared() -> None:
    found = refused(COUNT)
    assert found.code is Code.NOTHING_COMPARED and "--tolerance" in found.message
    ignoring = replace(PLAIN, agreement=Agreement(ignored="^[0-9]"))
    known, difference = compared(f"echo sum; {COUNT}", "echo sum; echo 3", ignoring)
    assert difference is None and not list(known.remarks())


def test_a_file_counts_where_all_lines_vary() -> None:
    conditions = replace(PLAIN, files=("out.txt",))
    assert (
        compared(f"{COUNT}; echo 7 > out.txt", f"{COUNT}; echo 7 > out.txt", conditions)[1] is None
    )
    assert compared(f"{COUNT}; echo 7 > out.txt", f"{COUNT}; echo 8 > out.txt", conditions)[1]


def test_lines_that_come_and_go_are_an_error() -> None:
    found = refused(f"seq $({COUNT})")
    assert found.code is Code.VARYING_LENGTH
    assert "has 1 lines in one run and 2 in another" in found.message


@pytest.mark.parametrize("ignored", [None, "."])
def test_programs_that_write_nothing_are_told_apart_by_their_status(ignored: str | None) -> None:
    text = "true" if ignored is None else "echo 1"
    conditions = replace(PLAIN, agreement=Agreement(ignored=ignored))
    known, difference = compared(text, text, conditions)
    assert difference is None
    assert [remark.code for remark in known.remarks()] == [Code.ONLY_STATUS]


def test_a_program_may_print_its_own_name() -> None:
    assert compared('echo "usage: $0 N"', 'echo "usage: $0 N"')[1] is None
    assert compared('echo "usage: $0 N"', 'echo "usage: $0 M"')[1] is not None


def test_variables_for_tuned_programs_reach_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTUNE", "off")
    monkeypatch.setenv("CUTUNE_SEED", "3")
    (run,) = runs(script(Path("original"), 'echo "$CUTUNE$CUTUNE_SEED."'))
    assert baseline(run, PLAIN).outcome.contents["standard output"] == b".\n"


@pytest.mark.nvcc
def test_the_verb(capsys: pytest.CaptureFixture[str]) -> None:
    script(Path("original"), 'echo "sum $1"')
    script(Path("tuned"), "echo sum 1")
    command = ["verify", "./original", "./tuned", "--run", "./{program} {n}", "--vary", "n=1,2"]
    assert main(command) == 1
    output = capsys.readouterr()
    assert output.out == "same: n=1\ndiffers: n=2\n" and "line 1" in output.err
    assert main([*command, "--ignore", "sum"]) == 0
    script(Path("tuned"), "exit 3")
    assert main([*command[:1], "./tuned", *command[2:]]) == 1
    output = capsys.readouterr()
    assert "[CT433]" in output.err and "differs" not in output.out + output.err


@pytest.mark.parametrize("wrong", [["--status", "x"], ["--ignore", "("]])
def test_wrong_options(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["verify", "./original", "./tuned", *wrong])
    assert end.value.code == 2


def test_without_a_gpu_none_is_compared(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Programs that ignore the error would agree on it."""
    monkeypatch.setattr("cutune.measure.gpu_sweep.DRIVER", "libno-such-driver.so")
    script(Path("original"), "echo no CUDA-capable device is detected")
    assert main(["verify", "./original", "./original", "--on", "gpu"]) == 1
    output = capsys.readouterr()
    assert "[CT015]" in output.err and output.out == ""
