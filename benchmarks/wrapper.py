"""`cutune nvcc` with nothing to do: the time that it adds, and whether all is as nvcc does it.

Every command line of `tests/support/nvcc_combinations.py` is run by the real nvcc and through
cutune, in a fresh folder of the same name. Compared are status, messages and the files that appear,
once the temporary names and addresses that nvcc makes up at each run are masked.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from cutune.toolchain.nvcc import find_nvcc
from tests.support.nvcc_combinations import COMPILING, FAILS, PASSIVE, lines

REPETITIONS = 21
CUTUNE = [sys.executable, "-P", "-m", "cutune", "nvcc"]
SOURCE = """#include "here.h"
__global__ void k(int n, float *a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = N;
}
"""
MAIN = "int main() { k<<<1, 32>>>(0, 0); return cudaDeviceSynchronize() != cudaSuccess; }\n"
FILES = {
    "a.cu": SOURCE + MAIN,
    "b.cu": SOURCE.replace("void k", "void other"),
    "bad.cu": SOURCE + "int oops(\n",
    "c.cpp": '#include "here.h"\nint unused() { return 0; }\n',
    "a.cu.txt": "int unused() { return 0; }\n",
    "here.h": "#ifndef N\n#define N 1\n#endif\n",
    "sub/a.cu": SOURCE + MAIN,
    "sub/here.h": "#define N 2\n",
    "inc/forced.h": "#define FORCED\n",
    "options.txt": "-DN=3 -Iinc\n",
    "more.txt": "-lineinfo\n",
    "whole.txt": "-DN=4\n",
    "obj/kept": "",
    "keep/kept": "",
    "lib/kept": "",
}
_MASKS = (
    (rb"tmpxft_[0-9a-f]{8}_[0-9a-f]{8}", b"tmpxft"),
    (rb"_[0-9a-f]{8}_\d+_[a-c]_cu_[0-9a-f]{8}(_\d+)?", b"_module"),
    (rb"\d+\.\d+ ms", b"ms"),
)


def main() -> None:
    """Both."""
    nvcc = str(find_nvcc().path)
    _show_added_time(nvcc)
    _show_differences(nvcc)


def _show_added_time(nvcc: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _fill(Path(folder))
        for words in (["--version"], ["--dryrun", "-c", "a.cu"]):
            seconds: dict[str, list[float]] = {}
            for _ in range(REPETITIONS):
                for name, command in (("nvcc", [nvcc]), ("cutune", CUTUNE)):
                    start = time.perf_counter()
                    subprocess.run([*command, *words], cwd=folder, capture_output=True, check=True)
                    seconds.setdefault(name, []).append(time.perf_counter() - start)
            medians = {name: statistics.median(times) for name, times in seconds.items()}
            added = 1000 * (medians["cutune"] - medians["nvcc"])
            print(f"  {shlex.join(words)}: {added:.0f} ms more than nvcc (median)")


def _show_differences(nvcc: str) -> None:
    every = [*lines(PASSIVE), *lines(COMPILING), *lines(FAILS)]
    differing = 0
    for line in every:
        expected, found = (_outcome(command, line) for command in ([nvcc], CUTUNE))
        names = _differing(expected, found)
        # Compressed debugging information holds temporary names, which cannot be masked.
        if names and (names := names - _differing(expected, _outcome([nvcc], line))):
            differing += 1
            print(f"  differs: {line}: {', '.join(sorted(names))}", flush=True)
    print(f"  {len(every)} command lines, {differing} differ")


def _differing(expected: dict[str, bytes], found: dict[str, bytes]) -> set[str]:
    names = expected.keys() | found.keys()
    return {name for name in names if expected.get(name) != found.get(name)}


def _outcome(command: list[str], line: str) -> dict[str, bytes]:
    # Identifiers that nvcc writes into objects depend on the folder's name and the files' times.
    folder = str(Path(tempfile.gettempdir()) / "cutune-wrapper-benchmark")
    shutil.rmtree(folder, ignore_errors=True)
    try:
        place = Path(folder) / "work"
        _fill(place)
        done = subprocess.run(
            [*command, *shlex.split(line)],
            cwd=place,
            env={**os.environ, "CUTUNE_MODE": "tuned"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        found = {"status": str(done.returncode).encode()}
        found |= {"standard output": done.stdout, "standard error": done.stderr}
        for path in sorted(place.rglob("*")):
            if path.is_file() and path.suffix != ".csv":
                found[str(path.relative_to(place))] = path.read_bytes()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return {key: _masked(value, folder) for key, value in found.items()}


def _masked(content: bytes, folder: str) -> bytes:
    content = content.replace(folder.encode(), b"FOLDER")
    for pattern, text in _MASKS:
        content = re.sub(pattern, text, content)
    return content


def _fill(place: Path) -> None:
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
        os.utime(place / name, (0, 0))


if __name__ == "__main__":
    main()
