"""Ctrl-C where compilers do not listen to it: their threads are not waited for until they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cutune.core.processes import GRACE_SECONDS

#: How long the compiler would go on, and how long it may.
LONG, SOON = 60, GRACE_SECONDS + 5
#: It says that it runs; cicc goes on without the nvcc that started it, and holds its output open.
DEAF = f"""#!{sys.executable}
import os, signal, sys, time
for one in (signal.SIGINT, signal.SIGTERM):
    signal.signal(one, signal.SIG_IGN)
if WAYS == "child" or os.fork() == 0:
    open(os.path.join(os.path.dirname(__file__), "pid"), "w").write(str(os.getpid()))
    time.sleep({LONG})
"""
LISTENING = DEAF.replace(", signal.SIGTERM)", ",)")
#: What verbs do: compilers run in threads, or where the command itself runs.
COMMAND = """import sys
from concurrent.futures import ThreadPoolExecutor
from cutune.core.processes import interruptible
from cutune.toolchain.compiler_commands import run_command, run_limited
how = {
    "run": lambda: run_command(["./nvcc"], {}),
    "limited": lambda: run_limited(["./nvcc"], {}, "a.cu"),
}
with interruptible():
    if sys.argv[2] == "here":
        how[sys.argv[1]]()
    with ThreadPoolExecutor() as pool:
        pool.submit(how[sys.argv[1]]).result()
"""


def is_running(pid: int) -> bool:
    with suppress(OSError):
        # pid (name) state …
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def interrupted(folder: Path, words: list[str]) -> tuple[int, float, int]:
    """The status of a command that is interrupted as it compiles, its seconds, and the compiler."""
    pid = folder / "pid"
    with subprocess.Popen(
        words, cwd=folder, stderr=subprocess.PIPE, start_new_session=True
    ) as process:
        last = time.monotonic() + LONG
        while not (pid.exists() and pid.read_text()):
            assert process.poll() is None and time.monotonic() < last
            time.sleep(0.05)
        start = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=LONG)
    return process.returncode, time.monotonic() - start, int(pid.read_text())


@pytest.mark.parametrize("ways", ["child", "orphan"])
@pytest.mark.parametrize("where", ["here", "thread"])
@pytest.mark.parametrize("how", ["run", "limited"])
def test_a_compiler_that_does_not_listen(how: str, where: str, ways: str, tmp_path: Path) -> None:
    # Those that hear SIGTERM take no time.
    text = DEAF if how == "run" else LISTENING
    compiler = tmp_path / "nvcc"
    compiler.write_text(text.replace("WAYS", repr(ways)))
    compiler.chmod(0o755)
    command = [sys.executable, "-c", COMMAND, how, where]
    status, seconds, pid = interrupted(tmp_path, command)
    assert status == -signal.SIGINT and seconds < SOON and not is_running(pid)


def test_a_verb(tmp_path: Path) -> None:
    compiler, source = tmp_path / "nvcc", tmp_path / "a.cu"
    compiler.write_text(LISTENING.replace("WAYS", "'orphan'"))
    compiler.chmod(0o755)
    source.write_text("__global__ void k() {}\nint main() { k<<<1, 32>>>(); }\n")
    words = [sys.executable, "-m", "cutune", "inspect", "--nvcc", str(compiler), str(source)]
    status, seconds, pid = interrupted(tmp_path, words)
    assert status == 130 and seconds < SOON and not is_running(pid)
