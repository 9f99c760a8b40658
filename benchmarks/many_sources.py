"""A project of many sources, built by nvcc and by `cutune nvcc`: the time and memory that it adds.

    python -m benchmarks.many_sources [--sources 400] [--tuned N] [--jobs 2] [--folder FOLDER]

Sources are made: kernels of six kinds, each with host code that launches it; all include a header
of the project. Of two sources a kind differs in constants and in how many kernels there are. A
`main` calls all of them, `first` the first N. Timed are builds from nothing: nvcc's; `cutune nvcc`
without models; `tune --make` of `first`, which gives models of N sources; and `cutune nvcc` twice,
the second time with nothing changed since. Then one tuned source is changed, and built by both.
CPU time of all processes is what a machine that does other things cannot change.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

CUTUNE = f"{sys.executable} -P -m cutune"
_KINDS = (
    "y[i] = scaled(x[i], {a}.0f) + y[i];",
    "float s = 0; for (int j = 0; j < m; ++j) s += x[j * n + i] * {a}.0f; y[i] = s;",
    "float s = x[i]; if (i > 0 && i < n - 1) s = {a}.0f * (x[i - 1] + x[i + 1]); y[i] = s;",
    "float s = 0; for (int j = 0; j < m; ++j) s = fmaxf(s, x[i * m + j]); y[i] = s + {a}.0f;",
    "float s = x[i]; for (int j = 0; j < {a}; ++j) s = s * s - 0.5f; y[i] = s;",
    "y[n - 1 - i] = x[i] < {a}.0f ? sqrtf(fabsf(x[i])) : expf(-x[i]);",
)
_KERNEL = """
__global__ void k{number}_{kernel}(int n, int m, const float *x, float *y) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {{ {body} }}
}}
"""
_LAUNCH = "    k{number}_{kernel}<<<(n + 255) / 256, 256>>>(n, m, x, y);\n"
_HOST = """
static std::vector<std::string> words_{number}(const std::string &line) {{
    std::vector<std::string> found;
    std::istringstream stream(line);
    for (std::string word; stream >> word;) found.push_back(word);
    std::sort(found.begin(), found.end());
    return found;
}}

int run_{number}(int n, int m, const float *x, float *y) {{
{launches}    return (int)words_{number}("c a b").size();
}}
"""
_HEADER = """#pragma once
__device__ inline float scaled(float x, float by) { return by * x; }
"""
_INCLUDES = """#include "scaled.h"
#include <algorithm>
#include <sstream>
#include <string>
#include <vector>
"""
_MAIN = """#include <cstdio>
#include <cstdlib>
{declared}
int main(int argc, char **argv) {{
    int n = atoi(argv[1]), m = 16, sum = 0;
    float *x, *y;
    cudaMalloc(&x, m * n * sizeof(float));
    cudaMalloc(&y, n * sizeof(float));
    cudaMemset(x, 0, m * n * sizeof(float));
{calls}    printf("%d\\n", sum);
    return cudaDeviceSynchronize() != cudaSuccess;
}}
"""
_MAKEFILE = """NVCC ?= nvcc
app: main.o {all}
first: first.o {tuned}
app first:
\t$(NVCC) $^ -o $@
%.o: %.cu scaled.h
\t$(NVCC) -O2 -MD -c $< -o $@
clean:
\trm -f app first *.o *.d
"""


def write_project(folder: Path, sources: int, tuned: int) -> None:
    """Fill a folder with a project; `first` has so many of its sources."""
    (folder / "scaled.h").write_text(_HEADER)
    for number in range(sources):
        bodies = [_KINDS[(number + k) % len(_KINDS)] for k in range(1 + number % 4)]
        kernels = "".join(
            _KERNEL.format(number=number, kernel=k, body=body.format(a=2 + (number + k) % 7))
            for k, body in enumerate(bodies)
        )
        launches = "".join(_LAUNCH.format(number=number, kernel=k) for k in range(len(bodies)))
        text = _INCLUDES + kernels + _HOST.format(number=number, launches=launches)
        (folder / f"part_{number}.cu").write_text(text)
    objects = {}
    for name, count in (("main", sources), ("first", tuned)):
        numbers = range(count)
        declared = "".join(f"int run_{n}(int, int, const float *, float *);\n" for n in numbers)
        calls = "".join(f"    sum += run_{n}(n, m, x, y);\n" for n in numbers)
        (folder / f"{name}.cu").write_text(_MAIN.format(declared=declared, calls=calls))
        objects[name] = " ".join(f"part_{n}.o" for n in numbers)
    makefile = _MAKEFILE.format(all=objects["main"], tuned=objects["first"])
    (folder / "Makefile").write_text(makefile)


@dataclass(frozen=True)
class Cost:
    """Of a command and of all that it has started."""

    seconds: float
    cpu_seconds: float
    largest_mb: float

    @staticmethod
    def of(folder: Path, command: Sequence[str]) -> Cost:
        """Run it; an own process asks, since the largest is that of all children so far."""
        code = (
            "import resource as r, subprocess as s, sys; s.run(sys.argv[1:], check=True,"
            " stdout=s.DEVNULL); u = r.getrusage(r.RUSAGE_CHILDREN);"
            " print(u.ru_utime + u.ru_stime, u.ru_maxrss >> 10)"
        )
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-c", code, *command],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        cpu, largest = map(float, done.stdout.split())
        return Cost(time.monotonic() - began, cpu, largest)

    def show(self, name: str, own: Cost) -> None:
        """Print a line, in comparison with what nvcc needs."""
        print(
            f"  {name}: {self.seconds:.1f} s, {self.cpu_seconds:.1f} s of CPU"
            f" ({self.cpu_seconds / own.cpu_seconds:.2f} times nvcc's), {self.largest_mb:.0f} MB",
            flush=True,
        )


def main() -> None:
    """Print a line for each build."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.many_sources", description=__doc__)
    options.add_argument("--sources", type=int, default=400)
    options.add_argument("--tuned", type=int, help="sources that get models (default: all)")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--folder", type=Path, help="for the project (default: a temporary one)")
    asked = options.parse_args()
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    # What is installed has its modules compiled.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as temporary:
        folder = asked.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        write_project(folder, asked.sources, asked.tuned or asked.sources)
        _compare(folder, asked.jobs)


def _compare(folder: Path, jobs: int) -> None:
    make = ["make", f"-j{jobs}"]
    with_cutune = [*make, f"NVCC={CUTUNE} nvcc"]
    tune = [*CUTUNE.split(), "tune", "--make", " ".join([*make, "first"]), "--clean", "make clean"]
    tune += ["--run", "./first {n}", "--vary", "n=1000,3000", "--quiet"]
    own = None
    for name, command in (
        ("nvcc", make),
        ("cutune nvcc, no models", with_cutune),
        ("tune --make", tune),
        ("cutune nvcc, with models", with_cutune),
        ("cutune nvcc, nothing changed", with_cutune),
    ):
        if command is not tune:
            subprocess.run(["make", "clean"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        cost = Cost.of(folder, command)
        own = own or cost
        cost.show(name, own)
    changed = folder / "part_0.cu"
    own = None
    for name, command in (("nvcc, one changed", make), ("cutune nvcc, one changed", with_cutune)):
        changed.write_text(changed.read_text().replace('b")', 'b b")'))
        cost = Cost.of(folder, command)
        own = own or cost
        cost.show(name, own)


if __name__ == "__main__":
    main()
