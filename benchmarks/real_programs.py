"""Do programs of a public collection end tuned? Draws, builds by their Makefiles, tunes, shakes.

    python -m benchmarks.real_programs draw [--state N] [--count N] \
        --collection DIR --names FILE WORK
    python -m benchmarks.real_programs tune [--limit S] WORK [NAME …]
    python -m benchmarks.real_programs shake [--limit S] WORK [NAME …]
    python -m benchmarks.real_programs table WORK

COUNT names are drawn from FILE by random.Random(STATE); with another `--state` they are drawn
from the rest, as many as `--count` says. Per program: `tune --make` with the first
command of `make -n run`, and `shake` of the sources that its Makefile compiles. What is varied is
what a user would: the first whole number that is larger than SMALL and is no number of repetitions
by the program's own usage message. Repetitions become 1 (the last number, where the program says
nothing), other numbers LARGE at most. Where a message advises an option (`try: …`), the program is
tuned once more with it, and where no launch can be tuned, once more with the pragmas that `inspect
--suggest` proposes inserted. Variants, which take most of the time, are left out.

A program is `tuned` where at least one launch site chooses its configuration in the tuned build.
What is found is appended to WORK/found.jsonl as it is found; the last line of a name counts.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from benchmarks.compile_lines import compiled_files
from cutune.core.processes import run_to_end

STATE, COUNT = 20261125, 60
LARGE, MIDDLE, SMALL = 2048, 1024, 256
MAKE = "make CC=nvcc NVCC=nvcc ARCH=sm_80"
SECONDS = 150.0
_CODE = re.compile(r"\[(CT\d+)\]")
#: Lines of the summary of `tune`, and what it says where nothing can be tuned.
_OUTCOME = re.compile(
    r"^  \S+:\d+ +(\S+) +(tuned|kept|refused|not modelled(?: +beyond)?)\b", re.MULTILINE
)
_COMPILED = re.compile(r"compiled (\d+) launch(?:es)? through cutune")
_REPEATS = re.compile("repe|iter|times|runs|loop|trial", re.IGNORECASE)
_ADVICE = re.compile(r"try: (--[^\[\n]+?)\s*(?:;|\[CT|$)", re.MULTILINE)


@dataclass(frozen=True)
class Ended:
    """How a verb ended. `status`: None where its time was over."""

    status: int | None
    output: str
    errors: str
    seconds: float


@dataclass(frozen=True)
class Found:
    """The result of a program.

    Attributes:
        launches, tunable: as the summary of `tune` counts them, else `inspect`.
        tuned: kernels that choose their configuration in the tuned build.
        shaken: what `shake` said first; empty where it was not asked.
        diagnostic: the first message of `tune` where nothing was tuned.
        codes: all codes that `tune` printed.
        advice: options that a message advised, and that were followed.
    """

    name: str
    builds: bool
    launches: int = 0
    tunable: int = 0
    tuned: tuple[str, ...] = ()
    status: int | None = 0
    seconds: float = 0.0
    shaken: str = ""
    diagnostic: str = ""
    codes: tuple[str, ...] = ()
    advice: str = ""
    command: str = ""


def drawn(names: Path, state: int = STATE, count: int = COUNT) -> list[str]:
    """The names that are drawn; with another state others than those of the first draw."""
    listed = sorted(names.read_text().split())
    first = random.Random(STATE).sample(listed, COUNT)
    left = listed if state == STATE else [name for name in listed if name not in first]
    return random.Random(state).sample(left, count)


def draw(collection: Path, chosen: Sequence[str], work: Path) -> None:
    """Copy the drawn programs, beside links to all others: some include files of others."""
    tree = work / "tree"
    tree.mkdir(parents=True)
    for path in collection.resolve().iterdir():
        if path.name in chosen:
            shutil.copytree(path, tree / path.name, symlinks=True)
        else:
            (tree / path.name).symlink_to(path)
    (work / "names.txt").write_text("\n".join(chosen) + "\n")


def run_command(folder: Path) -> tuple[str, list[str]]:
    """The template of `--run` and the options `--vary` for it."""
    return _template(make_run(folder), _usage(folder))


def make_run(folder: Path) -> list[str]:
    """The first command of `make run`, in words."""
    words = ["make", "-n", "-B", "run", *MAKE.split()[1:], "LAUNCHER="]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    for line in done.stdout.replace("\\\n", " ").splitlines():
        try:
            found = [w for w in shlex.split(line, comments=True) if w not in ("2>&1", "&")]
        except ValueError:
            continue
        if found and found[0].startswith("./"):
            return found
    return ["./main"]


def repetitions(folder: Path) -> int | None:
    """Which word of `make run` is a number of repetitions, where the program says so."""
    usage, words = _usage(folder), make_run(folder)
    if len(usage) != len(words) - 1:
        return None
    numbers = (k for k in range(1, len(words)) if words[k].isdigit())
    return next((k for k in numbers if _REPEATS.search(usage[k - 1])), None)


def _usage(folder: Path) -> list[str]:
    """The arguments by its usage text: `<width> <repeat>`; empty where it says nothing."""
    for path in sorted(filter(Path.is_file, folder.rglob("*.c*"))):
        text = path.read_text(errors="replace")
        if found := re.search(r"[Uu]sage[^;]*?((?:<[^>\n]+>[\s\"]*)+)", text):
            return re.findall(r"<([^>]+)>", found[1])
    return []


def _template(words: Sequence[str], usage: Sequence[str]) -> tuple[str, list[str]]:
    numbers = [k for k, word in enumerate(words) if k and word.isdigit()]
    named = len(usage) == len(words) - 1
    repeated = {
        k for k in numbers if _REPEATS.search(usage[k - 1] if named else _option(words[k - 1]))
    }
    changed = list(words)
    vary: list[str] = []
    for k in numbers:
        value = int(words[k])
        is_last = k == numbers[-1] and not (named or words[k - 1].startswith("-"))
        if k in repeated or is_last:
            changed[k] = "1"
        elif value > SMALL and not vary:
            changed[k] = "{n}"
            values = sorted({SMALL, min(value, MIDDLE), min(value, LARGE)})
            vary = ["--vary", "n=" + ",".join(map(str, values))]
        else:
            changed[k] = str(min(value, LARGE))
    quoted = (word if word == "{n}" else shlex.quote(word) for word in changed)
    return " ".join(quoted), vary


def _option(word: str) -> str:
    """The name of an option: `--iterations`."""
    return word if word.startswith("-") else ""


def cutune(arguments: Sequence[str], folder: Path, limit_s: float) -> Ended:
    """Run one verb; what it started ends with it."""
    begin = time.monotonic()
    command = [sys.executable, "-P", "-m", "cutune", *arguments]
    ended = run_to_end(command, os.environ, limit_s, folder)
    output, errors = (text.decode(errors="replace") for text in (ended.output, ended.errors))
    return Ended(ended.status, output, errors, round(time.monotonic() - begin, 1))


def _sources(folder: Path) -> tuple[list[str], list[str]]:
    """The sources of the Makefile, and the options of cutune for them."""
    files = compiled_files(folder)
    flags = [f"--nvcc-flag={flag}" for flag in next(iter(files.values()), [])]
    return [str(path.relative_to(folder)) for path in files if folder in path.parents], flags


def tuned(
    folder: Path,
    limit_s: float,
    options: Sequence[str] = ("--variants", "none"),
    make: str = MAKE,
    run: tuple[str, list[str]] | None = None,
) -> Found:
    """Tune one program, by the small runs that are given or that its Makefile suggests."""
    sources, flags = _sources(folder)
    template, vary = run or run_command(folder)
    asked = ["tune", "--make", make, "--clean", "make clean", "--run", template, *vary, *options]
    advice, inserted = "", 0
    for _ in range(4):
        shutil.rmtree(folder / ".cutune", ignore_errors=True)
        ended = cutune([*asked, *shlex.split(advice)], folder, limit_s)
        (folder / "tune.log").write_text(ended.errors + ended.output)
        outcomes = _OUTCOME.findall(ended.output)
        kernels = tuple(kernel for kernel, outcome in outcomes if _is_chosen(outcome))
        more = _ADVICE.search(ended.errors)
        if ended.status == 0 and kernels:
            break
        if more is not None and more[1] not in advice:
            advice = f"{advice} {more[1]}".strip()
        elif ended.status is None or inserted or not _is_refused(ended):
            break
        else:
            inserted = insert_pragmas(folder, sources, flags, limit_s)
            if not inserted:
                break
    if ended.status != 0:
        kernels = ()
    refused = sum(outcome == "refused" for _, outcome in outcomes)
    launches, tunable = len(outcomes), len(outcomes) - refused
    if not outcomes and (found := _COMPILED.search(ended.errors)):
        launches = int(found[1])
    elif not outcomes:
        inspected = cutune(["inspect", "--json", *sources, *flags], folder, limit_s)
        launches, tunable = _counts(inspected)
    codes = tuple(dict.fromkeys(_CODE.findall(ended.errors)))
    return Found(
        folder.name,
        "CT706" not in codes,
        launches,
        tunable,
        kernels,
        ended.status,
        ended.seconds,
        "",
        "" if kernels else _first(ended.errors, ended.status is None),
        codes,
        f"{advice} {inserted} pragmas of --suggest".strip() if inserted else advice,
        shlex.join([template, *vary]),
    )


def _is_chosen(outcome: str) -> bool:
    """Is it decided by a model, be it at the sizes of the runs alone?"""
    return outcome in ("tuned", "kept") or outcome.endswith("beyond")


def _is_refused(ended: Ended) -> bool:
    """Could no launch be tuned?"""
    return any(f"[{code}]" in ended.errors for code in ("CT415", "CT447", "CT503"))


def insert_pragmas(
    folder: Path, sources: Sequence[str], flags: Sequence[str], limit_s: float
) -> int:
    """Insert what `inspect --suggest` proposes; gives how many pragmas that were.

    Kernels in headers are annotated in the source that launches them, as is proposed.
    """
    ended = cutune(["inspect", "--suggest", "--json", *sources, *flags], folder, limit_s)
    try:
        proposed = [one for one in json.loads(ended.output)["suggestions"] if one["pragma"]]
    except (ValueError, KeyError, TypeError):
        return 0
    for one in sorted(proposed, key=lambda each: -each["line"]):
        path = folder / one["file"]
        lines = path.read_bytes().decode("latin-1").splitlines(keepends=True)
        lines.insert(one["line"] - 1, one["pragma"] + "\n")
        path.write_bytes("".join(lines).encode("latin-1"))
    return len(proposed)


def _counts(inspected: Ended) -> tuple[int, int]:
    try:
        launches = json.loads(inspected.output)["launches"]
    except (ValueError, KeyError, TypeError):
        return 0, 0
    return len(launches), sum(one["verdict"] != "refused" for one in launches)


def shaken(folder: Path, limit_s: float) -> str:
    """The first finding of `shake` about the sources of one program."""
    sources, flags = _sources(folder)
    template, vary = run_command(folder)
    command = " ".join(["./{program}", *template.split(" ")[1:]])
    own = [vary[0], vary[1].partition(",")[0]] if vary else []
    asked = ["shake", *sources, *flags, "--run", command, *own, "--seeds", "1", "--status", "any"]
    asked += ["--variants", "none"]
    ended = cutune(asked, folder, limit_s)
    (folder / "shake.log").write_text(ended.errors + ended.output)
    if ended.status is None:
        return "time-out"
    return (ended.output.splitlines() or [_first(ended.errors)])[0][:100]


def _first(text: str, timed_out: bool = False) -> str:
    """The first error; where there is none the first message, and what was done last."""
    lines = text.splitlines()
    coded = [line for line in lines if _CODE.search(line)]
    errors = [line for line in coded if "error:" in line]
    trace = [line for line in lines if line.startswith("Traceback")]
    first = (errors or trace or coded or lines or [""])[0]
    last = next((line for line in reversed(lines) if line.strip()), "")
    return f"time-out: {last[:150]}" if timed_out else first[:300]


def tune_all(work: Path, names: Sequence[str], limit_s: float) -> None:
    """Tune the drawn programs that were not tuned yet, or those named."""
    known = {one.name for one in read(work)}
    asked = (work / "names.txt").read_text().split()
    for name in names or [name for name in asked if name not in known]:
        try:
            found = tuned(work / "tree" / name, limit_s)
        except (OSError, ValueError) as error:
            found = Found(name, False, diagnostic=f"not judged: {error}")
        keep(work, found)


def shake_all(work: Path, names: Sequence[str], limit_s: float) -> None:
    """Shake the tuned programs that were not shaken yet, or those named."""
    for one in read(work):
        if one.name in names or (not names and one.tuned and not one.shaken):
            keep(work, replace(one, shaken=shaken(work / "tree" / one.name, limit_s)))


def keep(work: Path, found: Found) -> None:
    """Append what was found."""
    text = json.dumps(asdict(found))
    with (work / "found.jsonl").open("a") as file:
        file.write(text + "\n")
    print(text, flush=True)


def read(work: Path) -> list[Found]:
    """The last finding of each program, in the order of the first ones."""
    output = work / "found.jsonl"
    lines = output.read_text().splitlines() if output.exists() else []
    found: dict[str, Found] = {}
    for entry in map(json.loads, lines):
        lists = {name: tuple(value) for name, value in entry.items() if isinstance(value, list)}
        found[entry["name"]] = Found(**{**entry, **lists})
    return list(found.values())


def table(found: Sequence[Found]) -> Iterator[str]:
    """A line per program as Markdown, and the sums."""
    yield "| program | launches | tunable | tuned | seconds | same output | otherwise |"
    yield "|---|---|---|---|---|---|---|"
    for one in sorted(found, key=lambda each: each.name):
        ended = "does not build here" if not one.builds else one.diagnostic
        code = _CODE.search(ended)
        why = code[1] if code is not None and one.builds else ended.partition(":")[0]
        if not one.tuned and one.launches and not one.tunable:
            refusing = [c for c in one.codes if c.startswith("CT2") and c != "CT229"]
            why = f"refused: {', '.join(refusing)}"
        same = one.shaken.partition(":")[0]
        cells = (one.launches, one.tunable, len(one.tuned), f"{one.seconds:.0f}", same, why)
        yield f"| {' | '.join([one.name, *map(str, cells)])} |"
    building = [one for one in found if one.builds]
    sums = {
        "drawn": len(found),
        "build here": len(building),
        "with launches": sum(one.launches > 0 for one in building),
        "with a tunable launch": sum(one.tunable > 0 for one in building),
        "end tuned": sum(bool(one.tuned) for one in building),
        "same output": sum(one.shaken.startswith("same") for one in building),
    }
    yield ""
    yield ", ".join(f"{count} {what}" for what, count in sums.items())


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    verbs = parser.add_subparsers(dest="verb", required=True)
    drawing = verbs.add_parser("draw")
    drawing.add_argument("--collection", type=Path, required=True)
    drawing.add_argument("--names", type=Path, required=True)
    drawing.add_argument("--state", type=int, default=STATE)
    drawing.add_argument("--count", type=int, default=COUNT)
    drawing.add_argument("work", type=Path)
    for name in ("tune", "shake"):
        running = verbs.add_parser(name)
        running.add_argument("--limit", type=float, default=SECONDS)
        running.add_argument("work", type=Path)
        running.add_argument("names", nargs="*")
    verbs.add_parser("table").add_argument("work", type=Path)
    options = parser.parse_args()
    if options.verb == "draw":
        chosen = drawn(options.names, options.state, options.count)
        draw(options.collection, chosen, options.work)
    elif options.verb == "table":
        print(*table(read(options.work)), sep="\n")
    else:
        run = tune_all if options.verb == "tune" else shake_all
        run(options.work.resolve(), options.names, options.limit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
