"""Builds and runs what `benchmarks.bat_samples prepare` has written, on a machine with a GPU.

    python3 benchmarks/bat_runs.py check FOLDER OUTPUT.jsonl [SECONDS [BUILDS]]
    python3 benchmarks/bat_runs.py exhaustive FOLDER OUTPUT.jsonl [SECONDS [BUILDS]]

Run it where cutune's sources are; it needs nothing but Python and nvcc. `check` runs the drawn
configurations, a process each, and counts those that PASS. `exhaustive` times all that are listed,
twice, where programs have the same machine code one of them; several GPUs share the work. Each
result is a line of OUTPUT as soon as it is there. Called again, after SECONDS were over (570), it
goes on where it ended. Programs are kept in BUILDS (FOLDER/builds).
"""

from __future__ import annotations

import json
import os
import re
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

Json = dict[str, Any]
DRIVER = Path(__file__).with_name("bat_driver.cpp")
#: A configuration may take so long.
RUN_SECONDS = 60.0
#: Processes that use a GPU at once while nothing is timed.
AT_ONCE = 4
#: Launches of a region, unless one takes longer than so many milliseconds.
REPETITIONS, SLOW = 20, 5.0
SWEEPS = 2
_CUBIN, _MACHINE_CUDA = b"\x7fELF\x02\x01", 190


# ---- what is known


@dataclass
class Results:
    """Lines of JSON, those of earlier calls included."""

    path: Path
    end: float
    lines: list[Json] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def load(self) -> Results:
        """Read what is there; a line that was cut off does not count."""
        text = self.path.read_text() if self.path.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        if len(whole) < len(text):
            self.path.write_text(whole)
        self.lines = [json.loads(line) for line in whole.splitlines()]
        return self

    def add(self, line: Json) -> None:
        """Append one line."""
        with self._lock:
            self.lines.append(line)
            with self.path.open("a") as file:
                file.write(json.dumps(line) + "\n")

    @property
    def is_over(self) -> bool:
        """Is the time spent?"""
        return time.monotonic() > self.end

    def left(self, most: float) -> float:
        """Seconds for one process."""
        return max(1.0, min(most, self.end - time.monotonic()))


@dataclass(frozen=True)
class Folder:
    """Instrumented sources, the plan, and programs."""

    path: Path
    plan: Json
    builds: Path
    _locks: dict[str, threading.Lock] = field(default_factory=dict)

    @staticmethod
    def of(path: Path, builds: Path | None = None) -> Folder:
        """As it was prepared."""
        plan = json.loads((path / "plan.json").read_text())
        return Folder(path, plan, builds or path / "builds")

    def built(self, name: str, flags: Sequence[str], seconds: float, driven: bool) -> Path | str:
        """A program, compiled unless it is there; or why there is none."""
        source = self.path / f"{name}.tunables.cu"
        asked = json.dumps([source.read_text(), self.plan["flags"], *flags, driven])
        binary = self.builds / f"{name}-{sha256(asked.encode()).hexdigest()[:16]}"
        with self._locks.setdefault(binary.name, threading.Lock()):
            if binary.exists():
                return binary
            return self._compiled(str(source), flags, seconds, driven, binary)

    def _compiled(
        self, source: str, flags: Sequence[str], seconds: float, driven: bool, binary: Path
    ) -> Path | str:
        level = [] if any(re.match(r"-O\d", flag) for flag in flags) else ["-O2"]
        compiler = ["nvcc", *self.plan["flags"]]
        binary.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=binary.parent) as place:
            made, sample = str(Path(place) / "program"), str(Path(place) / "sample.o")
            steps = [[*compiler, *level, *flags, source, "-o", made]]
            if driven:
                steps = [
                    [*compiler, *level, *flags, "-Dmain=bat_main", "-c", source, "-o", sample],
                    [*compiler, sample, str(DRIVER), "-o", made],
                ]
            for step in steps:
                done = ended(step, {}, seconds)
                if done.status != 0:
                    return done.said
            os.replace(made, binary)
        return binary


@dataclass(frozen=True)
class Ended:
    """How a process ended."""

    status: int | None
    output: str
    said: str


def ended(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> Ended:
    """Run a command to its end; the status is None where it took too long."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Ended(None, "", f"longer than {seconds:.0f} seconds")
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    wrong = [line for line in lines if "error" in line or "FAILED" in line]
    return Ended(done.returncode, done.stdout, (wrong or lines or [""])[-1][:300])


def gpus() -> list[str]:
    """The numbers of the GPUs: of CUDA_VISIBLE_DEVICES, or of all; one where that is not known."""
    if asked := os.environ.get("CUDA_VISIBLE_DEVICES"):
        return asked.split(",")
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    except OSError:
        return ["0"]
    return [str(i) for i, _ in enumerate(listed.stdout.splitlines())] or ["0"]


# ---- check


def check(folder: Folder, results: Results) -> None:
    """All drawn configurations."""
    known = {(line["sample"], line["number"]) for line in results.lines}
    turns = threading.Semaphore(AT_ONCE * len(gpus()))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, sample in folder.plan["samples"].items():
            for number, one in enumerate(sample["check"]):
                if (name, number) not in known:
                    pool.submit(_checked, folder, results, turns, name, number, one)
    for name, sample in folder.plan["samples"].items():
        own = [line for line in results.lines if line["sample"] == name]
        passed = [line for line in own if line["passed"]]
        print(f"{name}: {len(passed)} PASS of {len(own)} run, {len(sample['check'])} drawn")
        for line in own:
            if not line["passed"]:
                print(f"  {line['values']}: {line['said']}")


def _checked(
    folder: Folder, results: Results, turns: threading.Semaphore, name: str, number: int, one: Json
) -> None:
    """One configuration, unless the time is over."""
    if results.is_over:
        return
    line = {"sample": name, "number": number, "values": one["values"]}
    built = folder.built(name, one["flags"], results.left(300), driven=False)
    if isinstance(built, str):
        # A build that the end of the time has cut off says nothing.
        if not results.is_over:
            results.add({**line, "passed": False, "said": f"not compiled: {built}"})
        return
    with turns:
        if results.is_over:
            return
        command = [str(built), *one["words"].split()]
        done = ended(command, {"CUTUNE_SET": one["host"]}, results.left(RUN_SECONDS))
    if done.status is None and results.is_over:
        return
    passed = done.status == 0 and done.output.startswith("PASSED")
    results.add({**line, "words": one["words"], "passed": passed, "said": done.said})


# ---- machine code


def kernel_codes(path: Path) -> dict[str, str]:
    """Per kernel of a program a hash of its machine code, and of how many registers it has."""
    data = path.read_bytes()
    found: dict[str, str] = {}
    at = data.find(_CUBIN, 1)
    while at >= 0:
        if struct.unpack_from("<H", data, at + 18)[0] == _MACHINE_CUDA:
            found.update(_texts(data[at:]))
        at = data.find(_CUBIN, at + 1)
    return found


def _texts(cubin: bytes) -> Iterator[tuple[str, str]]:
    """The sections `.text.KERNEL`; the high byte of sh_info is the number of registers."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQII", cubin, table + i * size) for i in range(count)]
    texts = headers[names][4]
    for name, _, _, _, offset, length, _, information in headers:
        start = texts + name
        word = cubin[start : cubin.index(b"\0", start)].decode()
        if word.startswith(".text."):
            content = cubin[offset : offset + length] + struct.pack("<I", information >> 24)
            yield word.removeprefix(".text."), sha256(content).hexdigest()[:16]


def kernels_of(lines: Iterable[Json], name: str) -> dict[int, dict[str, str]]:
    """Per program of a sample the code of its kernels."""
    return {
        line["program"]: line["kernels"]
        for line in lines
        if line["sample"] == name and "program" in line
    }


def code_of(codes: Mapping[str, str], host: str, kernel: str) -> str:
    """The code that a configuration runs: of one kernel, where the plan says which, or of all.

    `kernel` is a regular expression with values of the host in braces. A program without machine
    code, as one for the emulated device, is like no other.
    """
    values = dict(pair.split("=") for pair in host.split(",") if pair)
    wanted = re.compile(re.sub(r"\{(\w+)\}", lambda hole: values[hole[1]], kernel))
    own = sorted(item for item in codes.items() if not item[0] or wanted.search(item[0]))
    return sha256(json.dumps(own).encode()).hexdigest()[:16]


# ---- exhaustive


@dataclass(frozen=True)
class Batch:
    """Configurations of one program that are to be timed."""

    name: str
    sweep: int
    binary: Path
    words: str
    is_probed: bool
    #: Per setting of the host: its code.
    codes: Mapping[str, str]


def exhaustive(folder: Folder, results: Results) -> None:
    """All listed configurations, twice."""
    samples = folder.plan["samples"].items()
    plans = {name: one["exhaustive"] for name, one in samples if one["exhaustive"]}
    programs = {name: _programs(folder, results, name, plan) for name, plan in plans.items()}
    for sweep in range(SWEEPS):
        for is_alone in (False, True):
            batches = (
                batch
                for name, own in programs.items()
                if plans[name]["is_alone"] == is_alone
                for batch in _batches(results, name, sweep, plans[name], own)
            )
            _timed(results, batches, gpus()[:1] if is_alone else gpus())
    for name, plan in plans.items():
        _told(results, name, plan, programs[name])


def _programs(folder: Folder, results: Results, name: str, plan: Json) -> list[Path | str]:
    """The programs of a sample, in the order of the plan."""

    def built(program: Json) -> Path | str:
        if results.is_over:
            return "no time"
        return folder.built(name, program["flags"], results.left(300), driven=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(built, plan["programs"]))


def _batches(
    results: Results, name: str, sweep: int, plan: Json, programs: Sequence[Path | str]
) -> Iterator[Batch]:
    """The rest of a sweep, not yet timed: of the same code and setting one configuration."""
    known = {
        (line["code"], line["host"])
        for line in results.lines
        if (line["sample"], line.get("sweep")) == (name, sweep)
    }
    kernels = kernels_of(results.lines, name)
    for number, (program, binary) in enumerate(zip(plan["programs"], programs, strict=True)):
        if isinstance(binary, str):
            continue
        if number not in kernels:
            # By this line a table gives each configuration the time of its code.
            codes = kernel_codes(binary) or {"": binary.name}
            results.add({"sample": name, "program": number, "kernels": codes})
            kernels[number] = codes
        own = {}
        for host in program["hosts"]:
            code = code_of(kernels[number], host, plan["kernel"])
            if (code, host) not in known:
                known.add((code, host))
                own[host] = code
        if own:
            yield Batch(name, sweep, binary, plan["words"], plan["is_probed"], own)


def _timed(results: Results, batches: Iterable[Batch], devices: Sequence[str]) -> None:
    """Each GPU takes one batch after the other."""
    waiting, lock = iter(batches), threading.Lock()

    def work(gpu: str) -> None:
        while not results.is_over:
            with lock:
                batch = next(waiting, None)
            if batch is None:
                return
            left = list(batch.codes)
            while left and not results.is_over:
                left = _run(results, batch, left, gpu)

    with ThreadPoolExecutor(len(devices)) as pool:
        list(pool.map(work, devices))


def _run(results: Results, batch: Batch, hosts: Sequence[str], gpu: str) -> list[str]:
    """Time configurations in one process; those that are left where one of them ended it."""
    with tempfile.TemporaryDirectory() as place:
        environment = {
            **os.environ,
            "CUDA_VISIBLE_DEVICES": gpu,
            "CUDA_MODULE_LOADING": "EAGER",
            "CUTUNE_OUTPUT": str(Path(place) / "regions"),
        }
        slow = SLOW if batch.is_probed else 0
        words = [*batch.words.split(), str(REPETITIONS), str(slow)]
        with subprocess.Popen(
            [str(batch.binary), *words],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            for index, host in enumerate(hosts):
                answer = "" if results.is_over else _answer(process, host, results)
                if not answer and results.is_over:
                    process.kill()
                    return list(hosts[index:])
                line = {"sample": batch.name, "sweep": batch.sweep, "code": batch.codes[host]}
                results.add({**line, "host": host, "gpu": gpu, **_read(answer)})
                if not answer or answer.split("\t")[0] != "0":
                    process.kill()
                    return list(hosts[index + 1 :])
            process.kill()
    return []


def _answer(process: subprocess.Popen[bytes], host: str, results: Results) -> str:
    """The driver's line about one setting; empty where it ended, or takes too long."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(host.encode() + b"\n")
        process.stdin.flush()
    except BrokenPipeError:
        return ""
    ready, _, _ = select.select([process.stdout], [], [], results.left(RUN_SECONDS))
    return process.stdout.readline().decode().rstrip("\n") if ready else ""


def _read(answer: str) -> Json:
    """Status and milliseconds per repetition."""
    if not answer:
        return {"status": None, "milliseconds": None}
    status, count, region = answer.split("\t")
    time_of_all = json.loads(region)["milliseconds"] if region else None
    milliseconds = None if time_of_all is None else time_of_all / int(count)
    return {"status": int(status), "milliseconds": milliseconds}


def _told(results: Results, name: str, plan: Json, programs: Sequence[Path | str]) -> None:
    """Counts, and the fastest of each sweep."""
    known = [line for line in results.lines if line["sample"] == name]
    wanted = {
        (code_of(codes, host, plan["kernel"]), host)
        for number, codes in kernels_of(known, name).items()
        for host in plan["programs"][number]["hosts"]
    }
    failures = [one for one in programs if isinstance(one, str)]
    total = sum(len(program["hosts"]) for program in plan["programs"])
    print(
        f"{name}: {len(programs)} programs, {len(failures)} not built; {total} configurations, "
        f"{len(wanted)} of different code and host values"
    )
    for reason in sorted(set(failures)):
        print(f"  not built: {reason}")
    for sweep in range(SWEEPS):
        own = [line for line in known if line.get("sweep") == sweep]
        times = [line for line in own if line["milliseconds"] is not None]
        print(f"  sweep {sweep}: {len(own)} run, {sum(one['status'] != 0 for one in own)} failed")
        if times:
            best = min(times, key=lambda line: float(line["milliseconds"]))
            print(f"    {best['milliseconds']:.5f} ms: {best['host']}, code {best['code']}")


def main(arguments: Sequence[str]) -> None:
    """The command line."""
    kind, folder, output = arguments[0], Path(arguments[1]), Path(arguments[2])
    seconds = float(arguments[3]) if len(arguments) > 3 else 570.0
    builds = Path(arguments[4]) if len(arguments) > 4 else None
    output.parent.mkdir(parents=True, exist_ok=True)
    results = Results(output, time.monotonic() + seconds).load()
    {"check": check, "exhaustive": exhaustive}[kind](Folder.of(folder, builds), results)


if __name__ == "__main__":
    main(sys.argv[1:])
