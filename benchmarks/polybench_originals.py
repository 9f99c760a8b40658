"""The original PolyBench/GPU programs, tuned through the compiler wrapper, timed on a GPU.

    python -m benchmarks.polybench_originals build COLLECTION FOLDER [PROGRAM …]
    python3 FOLDER/time_originals.py FOLDER OUTPUT     # on the GPU; without its CUDA, common
    python -m benchmarks.polybench_originals table OUTPUT …

COLLECTION is a checkout of sgrauerg/polybenchGpu. Its sizes are macros, and so are the strides of
its arrays: each program is tuned and built at five of them, with nvcc and with `cutune nvcc`.
Models are made of its launches at this size, replayed on the emulated device; nothing is timed
before the result is. Variants are chosen as well; plan.json names those of each program.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.time_originals import WAYS

HERE = Path(__file__).parent
#: With the calls that newer toolkits lack.
FLAGS = ("-O3", "-DcudaThreadSynchronize=cudaDeviceSynchronize")
#: Data sizes, and for programs whose kernels take long, smaller ones.
SIZES = (512, 1000, 1024, 2048, 3000)
SLOW = dict.fromkeys(("2MM", "3MM", "SYR2K", "SYRK", "GEMM"), (256, 512, 1000, 1024, 1500))
VERY_SLOW = dict.fromkeys(("CORR", "COVAR", "3DCONV", "DOITGEN"), (128, 256, 300, 400, 512))
#: CORR, COVAR and GEMVER launch floor(N / 256) blocks: only multiples of 256 are computed in full.
WHOLE = {
    "CORR": (256, 512, 768, 1024, 1280),
    "COVAR": (256, 512, 768, 1024, 1280),
    "GEMVER": (512, 1024, 1536, 2048, 3072),
}
SIZE_MACRO = re.compile(r"^(\s*#\s*define\s+(?:N[IJKLMXYQRP]?|M|LENGTH|SIZE)\s+)\d+", re.MULTILINE)
STEPS_MACRO = re.compile(r"^(\s*#\s*define\s+(?:TSTEPS|TMAX)\s+)\d+", re.MULTILINE)
STEPS = 20
_MANGLED = re.compile(rb"_Z(\d+)(\w+)")


def sizes_of(name: str) -> Sequence[int]:
    """At which sizes a program is built."""
    return {**SLOW, **VERY_SLOW, **WHOLE}.get(name, SIZES)


def build(collection: Path, folder: Path, only: Sequence[str]) -> None:
    """Tune every program at five sizes, and build it in both ways; what is there stays.

    The first size of all programs comes first: what was not built to its end can be run, too.
    """
    shutil.copytree(collection / "common", folder / "common", dirs_exist_ok=True)
    (folder / "bin").mkdir(exist_ok=True)
    shutil.copy(HERE / "launch_times.cpp", folder)
    shutil.copy(HERE / "time_originals.py", folder)
    listed = folder / "plan.json"
    plan = json.loads(listed.read_text()) if listed.exists() else []
    known = {(case["program"], case["size"]) for case in plan}
    wanted = [case for case in _cases(collection, only) if case not in known]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tried = [pool.submit(_tried, collection, folder, *case) for case in wanted]
        for made in (done.result() for done in as_completed(tried)):
            if made is None:
                continue
            plan.append(made)
            print(made["program"], made["size"], ", ".join(made["variants"]), flush=True)
            listed.write_text(json.dumps(sorted(plan, key=_in_order), indent=1))


def _tried(collection: Path, folder: Path, name: str, size: int) -> dict[str, Any] | None:
    try:
        return _built(collection / "CUDA" / name, folder, size)
    except subprocess.CalledProcessError as error:
        print(f"{name} {size}: {(error.stderr or '').strip()[-300:]}", flush=True)
        return None


def _cases(collection: Path, only: Sequence[str]) -> Iterator[tuple[str, int]]:
    folders = sorted(path for path in (collection / "CUDA").iterdir() if path.is_dir())
    names = [path.name for path in folders if not only or path.name in only]
    for sizes in zip(*map(sizes_of, names), strict=True):
        yield from zip(names, sizes, strict=True)


def _in_order(case: dict[str, Any]) -> tuple[str, int]:
    return case["program"], case["size"]


def _built(program: Path, folder: Path, size: int) -> dict[str, Any]:
    """Both programs at one size, and the variants that the tuned one holds."""
    copy = folder / "CUDA" / f"{program.name}-{size}"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(program, copy)
    source = next(copy.glob("*.cu"))
    # The check on the host takes minutes; it is looked at elsewhere (`public_programs`).
    _edit(source, re.compile(r"^#define RUN_ON_CPU", re.MULTILINE), "")
    # It prints what was computed then, which takes longer still.
    _edit(source, re.compile(r"^(\s*)print_array\(", re.MULTILINE), r"\1if (0) print_array(")
    _resize(copy, size)
    _cutune("tune", "-q", source.name, *_defines(), "--launches-only", at=source)
    names = {}
    for word, compiler in (("original", ("nvcc",)), ("tuned", _wrapper())):
        names[word] = f"{program.name}-{size}.{word}"
        command = [*compiler, *FLAGS, "-arch=sm_90", "-cudart", "shared", source.name]
        _run([*command, "-o", str(folder / "bin" / names[word])], copy)
    before, after = (_functions(folder / "bin" / name) for name in names.values())
    variants = sorted(name for name in after - before if name.partition("__")[0] in before)
    return {"program": program.name, "size": size, **names, "variants": variants}


def _functions(binary: Path) -> set[str]:
    """Names of functions outside of namespaces, as the symbols of a program hold them."""
    return {name[: int(size)].decode() for size, name in _MANGLED.findall(binary.read_bytes())}


def _wrapper() -> tuple[str, ...]:
    return (sys.executable, "-m", "cutune", "nvcc", "--cutune-mode=tuned")


def _cutune(verb: str, *words: str, at: Path) -> None:
    _run([sys.executable, "-m", "cutune", verb, *words], at.parent)


def _defines() -> list[str]:
    return [word for flag in FLAGS if flag.startswith("-D") for word in ("-D", flag[2:])]


def _run(command: Sequence[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True)


def _resize(folder: Path, size: int) -> None:
    for path in (*folder.glob("*.cuh"), *folder.glob("*.cu")):
        _edit(path, SIZE_MACRO, rf"\g<1>{size}")
        _edit(path, STEPS_MACRO, rf"\g<1>{STEPS}")


def _edit(path: Path, pattern: re.Pattern[str], replacement: str) -> None:
    text = path.read_text(encoding="utf-8", errors="surrogateescape")
    edited = pattern.sub(replacement, text)
    if edited != text:
        path.write_text(edited, encoding="utf-8", errors="surrogateescape")


def table(outputs: Sequence[Path]) -> None:
    """Time of all launches as they were by that of the tuned program, per program and size.

    Of several outputs of the same programs the runs of all count. Where both launch the same
    kernels in the same blocks they do the same on the GPU: what they differ by is noise of the
    measurement.
    """
    entries = _merged(outputs)
    ways = [way for way in WAYS if way != "original" and all(way in entry for entry in entries)]
    gained = "".join(f"{way:>9}" for way in ways)
    print(f"program    size     as it was        tuned    gain:{gained}  launches")
    gains: dict[str, list[list[float]]] = defaultdict(list)
    changes = []
    for entry in entries:
        before, tuned = _total(entry["original"]), _total(entry["tuned"])
        gains[entry["program"]].append([before / _total(entry[way]) for way in ways])
        changes.append(entry["blocks"]["tuned"] != entry["blocks"]["original"])
        changed = "other" if changes[-1] else "same"
        print(
            f"{entry['program']:9} {entry['size']:5} {before:12.1f} {tuned:12.1f} us"
            f" {_columns(gains[entry['program']][-1])}  {changed}"
        )
    for program, found in gains.items():
        print(f"{program:9} {_columns(_geometric_mean(np.array(found)))}")
    everything = np.array([gain for found in gains.values() for gain in found])
    for which, rows in (("all", everything), ("other launches", everything[changes])):
        for way, column in zip(ways, rows.T, strict=True) if len(rows) else ():
            share = np.mean(column >= 0.97)
            print(
                f"{way}, {which}: {len(column)} cases, geometric mean"
                f" {_geometric_mean(column):.2f}, least {column.min():.2f},"
                f" at least 0.97: {100 * share:.0f} %"
            )


def _columns(gains: Iterable[float]) -> str:
    return " ".join(f"{gain:8.2f}" for gain in gains)


def _geometric_mean(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of gains one below the other, for each column."""
    return np.asarray(np.exp(np.log(gains).mean(axis=0)))


def _merged(outputs: Sequence[Path]) -> list[dict[str, Any]]:
    merged: dict[tuple[str, int], dict[str, Any]] = {}
    for output in outputs:
        for line in (output / "times.jsonl").read_text().splitlines():
            entry = json.loads(line)
            known = merged.setdefault((entry["program"], entry["size"]), entry)
            if known is not entry:
                for way in WAYS:
                    if way in known or way in entry:
                        known[way] = known.get(way, []) + entry.get(way, [])
    return [merged[key] for key in sorted(merged)]


def _total(runs: Sequence[Sequence[float]]) -> float:
    """Of each launch the least of all runs, added."""
    return float(np.array(runs).min(axis=0).sum())


if __name__ == "__main__":
    if sys.argv[1] == "build":
        build(Path(sys.argv[2]), Path(sys.argv[3]).absolute(), sys.argv[4:])
    else:
        table([Path(word) for word in sys.argv[2:]])
