"""Programs that end in every way: in time, too late, by a signal, with others left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from pathlib import Path
from threading import Event, Timer, get_ident

import pytest

from cutune.core.diagnostics import CutuneError
from cutune.core.processes import (
    GRACE_SECONDS,
    ProgramResult,
    awaited,
    end,
    ending_in_order,
    run_to_end,
    signal_name,
)
from cutune.measure.program_runs import Run, check_kernels, needs_shell, plan_runs, run_program

LONG = 60.0


def python(code: str, seconds: float = LONG) -> ProgramResult:
    return run_to_end([sys.executable, "-c", code], os.environ, seconds)


def shell(script: str, seconds: float = LONG) -> ProgramResult:
    return run_to_end(["/bin/sh", "-c", script], os.environ, seconds)


def failure(
    script: str, seconds: float = LONG, statuses: frozenset[int] | None = frozenset({0})
) -> str:
    run = Run(("/bin/sh", "-c", script), {}, statuses=statuses)
    with pytest.raises(CutuneError) as caught:
        run_program(run, os.environ, seconds=seconds)
    return caught.value.diagnostic.message


def test_a_program_that_ends_well() -> None:
    assert shell("echo out; echo err >&2") == ProgramResult(0, b"out\n", b"err\n")


def test_it_has_this_environment_alone_and_nothing_to_read() -> None:
    ended = run_to_end(["/bin/sh", "-c", 'cat; echo "$HOME|$A"'], {"A": "1"}, LONG)
    assert ended == ProgramResult(0, b"|1\n")


def test_it_runs_in_a_folder_until_nobody_waits_for_it(tmp_path: Path) -> None:
    assert run_to_end(["pwd"], os.environ, 60, tmp_path).output_text == f"{tmp_path}\n"
    is_over = Event()
    Timer(0.3, is_over.set).start()
    began = time.monotonic()
    ended = run_to_end(["sleep", "60"], os.environ, 60, tmp_path, is_over)
    assert ended.timed_out and time.monotonic() - began < 30
    # One that ends by itself is not awaited for longer, and one that does not, no longer than told.
    assert run_to_end(["true"], os.environ, 60, None, Event()).status == 0
    assert run_to_end(["sleep", "60"], os.environ, 0.5, None, Event()).timed_out


def test_a_status() -> None:
    ended = shell("echo out; exit 3")
    assert ended == ProgramResult(3, b"out\n")
    assert not ended.timed_out


def test_an_end_by_a_signal() -> None:
    ended = shell("echo out; kill -SEGV $$")
    assert (ended.status, ended.output) == (-signal.SIGSEGV, b"out\n")
    assert signal_name(-signal.SIGSEGV) == "SIGSEGV"
    assert signal_name(-200) == "signal 200"


def test_a_program_that_does_not_end_in_time() -> None:
    ended = python("print('out', flush=True); import time; time.sleep(600)", 1.0)
    assert ended == ProgramResult(None, b"out\n")
    assert ended.timed_out


@pytest.mark.long
def test_what_a_script_started_ends_with_it(tmp_path: Path) -> None:
    late = tmp_path / "late"
    started = time.monotonic()
    ended = shell(f"(sleep 2; touch '{late}') & sleep 600; echo never", 0.5)
    assert ended.timed_out
    assert time.monotonic() - started < LONG
    time.sleep(2.5)
    assert not late.exists()


def test_what_a_script_starts_meanwhile_ends_with_it() -> None:
    """Each of the many would say at its end that it was left."""
    one = "{ sleep 5; echo left; } &"
    script = f"echo; i=0; while [ $i -lt 300 ]; do {one} i=$((i + 1)); done; wait"
    started = subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE)
    assert started.stdout is not None and started.stdout.readline()
    end(started)
    assert started.stdout.read() == b""


@pytest.mark.long
def test_a_program_that_ends_is_not_kept_by_what_it_left_behind() -> None:
    started = time.monotonic()
    ended = shell("sleep 60 & echo $!")
    assert time.monotonic() - started < LONG / 2
    assert ended.status == 0
    os.kill(int(ended.output), signal.SIGKILL)


def test_output_that_comes_just_after_the_end_counts() -> None:
    ended = shell(f"(sleep {GRACE_SECONDS / 4}; echo late) & echo early")
    assert ended == ProgramResult(0, b"early\nlate\n")


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_another_thread_gets_ends_what_is_awaited(told: signal.Signals) -> None:
    future: Future[None] = Future()
    release = Timer(LONG, future.set_result, (None,))
    release.start()
    # nohup has it ignored, and that is left.
    before = signal.signal(told, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt), ending_in_order():
            # While this thread sleeps.
            Timer(0.3, lambda: signal.pthread_kill(get_ident(), told)).start()
            awaited(future)
    finally:
        signal.signal(told, before)
    assert not future.done()
    release.cancel()


def test_what_is_awaited_gives_its_result_or_its_error() -> None:
    future: Future[int] = Future()
    Timer(0.0, future.set_result, (7,)).start()
    assert awaited(future) == 7
    failed: Future[int] = Future()
    # That is what a wait ends with, too.
    Timer(0.0, failed.set_exception, (TimeoutError("its own"),)).start()
    with pytest.raises(TimeoutError, match="its own"):
        awaited(failed)


def test_output_that_is_no_text() -> None:
    ended = python(r"import os; os.write(1, b'\xff\x00a'); os.write(2, b'\xc3')")
    assert (ended.output, ended.errors) == (b"\xff\x00a", b"\xc3")
    assert (ended.output_text, ended.errors_text) == ("\ufffd\0a", "\ufffd")


def test_much_output_on_both_streams() -> None:
    size = 1 << 23
    ended = python(
        f"import os, sys; sys.stdout.write('a' * {size}); sys.stderr.write('b' * {size})"
    )
    assert (ended.status, len(ended.output), len(ended.errors)) == (0, size, size)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/no/such/program", "no such program"),
        ("no-such-program", "no such program"),
        ("./ap", "no such program; did you mean 'app'?"),
        ("./kernels", "no such program; build it first, or name its source: kernels.cu"),
        (".", "it is a folder; name a program in it"),
        ("text", "it is not executable; if it is a program, make it so: chmod +x ./text"),
        ("./data", "it is no program of this machine, and no script that begins with #!"),
        ("./app", "the interpreter that it names is missing"),
    ],
)
def test_what_is_no_program_is_not_started(
    command: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    contents = {"app": "#!/no/such\n", "data": "data", "text": "", "kernels.cu": ""}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
        (tmp_path / name).chmod(0o755 if name in ("app", "data") else 0o644)
    ended = run_to_end([command], os.environ, LONG)
    assert (ended.status, ended.not_started) == (None, why)
    assert not ended.timed_out


def test_a_program_of_this_folder_needs_no_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "app"
    program.write_text("#!/bin/sh\necho here\n")
    assert "it is not executable" in run_to_end(["app"], os.environ, LONG).not_started
    program.chmod(0o755)
    assert run_to_end(["app"], os.environ, LONG) == ProgramResult(0, b"here\n")


def test_messages_say_why_a_run_failed_and_what_it_printed_last() -> None:
    failed = failure("seq 7; echo no >&2; exit 3").splitlines()
    assert "status 3" in failed[0]
    assert failed[1:] == ["3", "4", "5", "6", "7", "no"]
    assert "ended by SIGKILL" in failure("kill -KILL $$")
    assert failure("echo said; sleep 60", 0.5).endswith("no end within 0.5 s")
    assert "try: --status 3" in failed[0]


def test_a_run_may_end_with_the_statuses_that_were_named() -> None:
    for statuses in (frozenset({0, 3}), None):
        run_program(Run(("/bin/sh", "-c", "exit 3"), {}, statuses=statuses), os.environ)
    assert "status 3" in failure("exit 3", statuses=frozenset({1}))


def test_kernels_that_were_skipped_let_a_check_of_the_program_fail() -> None:
    run_program(Run(("/bin/sh", "-c", "exit 3"), {}, launches_only=True), os.environ)


def test_a_run_that_is_cut_may_end_in_any_way_but_must_start() -> None:
    run_program(Run(("/bin/sh", "-c", "kill -KILL $$"), {}, is_cut=True), os.environ)
    with pytest.raises(CutuneError):
        run_program(Run(("./missing",), {}, is_cut=True), os.environ)


@pytest.mark.parametrize(
    ("template", "is_for_shell"),
    [
        ("./{program} {n}", False),
        ("./app 'a | b' \\$x \"c; d\"", False),
        ("cd build && ./app {n}", True),
        ("OMP_NUM_THREADS=1 ./app", True),
        ("./app < in.txt", True),
        ('./app "$HOME/x"', True),
        ("./app --size=3", False),
    ],
)
def test_what_a_shell_has_to_read(template: str, is_for_shell: bool) -> None:
    assert needs_shell(template) == is_for_shell


def test_a_shell_gets_values_that_are_quoted_and_its_signals_are_told() -> None:
    (run,) = plan_runs("echo {x} && kill -SEGV $$", {"x": ["a; b"]}, Path())
    assert run.command[:2] == ("/bin/sh", "-c")
    assert run.shown == "echo 'a; b' && kill -SEGV $$"
    (run,) = plan_runs("(kill -SEGV $$); exit 139", {}, Path())
    with pytest.raises(CutuneError, match="SIGSEGV"):
        run_program(run, os.environ)


@pytest.mark.parametrize(
    ("where", "helps"),
    [
        ("at 0x200000000190 reaches past an allocation of 400 bytes", True),
        ("at 0x200000001000, which is in no allocation", True),
        ("at 0x0, which is in no allocation", False),
        ("at 0x7f8, which is in no allocation", False),
        ("at 0x200000000190, which was freed", False),
        ("at shared address 0x400, but the block has 1024 bytes", False),
    ],
)
def test_longer_allocations_are_advised_where_they_help(where: str, helps: bool) -> None:
    said = f"cutune: illegal address: kernel _Z1kPf, block (0, 0, 0): load of 4 bytes {where}"
    with pytest.raises(CutuneError) as caught:
        check_kernels(Run(("./app",), {}), ProgramResult(0, b"", said.encode()))
    message = caught.value.diagnostic.message
    assert "mend it" in message and ("CUTUNE_OVERRUN" in message) == helps
