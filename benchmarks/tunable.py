"""How many launches are tunable: `python -m benchmarks.tunable [--json FILE] [--against FILE]`.

    python -m benchmarks.tunable --folder DIR --names FILE [--seed N --count 60 | --all]
    python -m benchmarks.tunable --folder DIR --names FILE --all --repositories --follow

Without a folder, the samples and all judge sets are counted. With one, programs of a public
collection: names are drawn from the file by random.Random(seed), and what the Makefile in DIR/NAME
compiles with nvcc is inspected with its options, or all .cu files where it says nothing. A table
per set and the refusals by code are printed, with `--repositories` one per program: each `.cu` file
with a launch is then inspected alone, in sight of all folders that hold headers. `--follow` inserts
the pragmas of `--suggest` (`benchmarks.followed_pragmas`) and counts what they helped. `--against`
an earlier JSON file lists the launches that were gained and lost, too.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from benchmarks.compile_lines import compile_options, compiled_files
from benchmarks.followed_pragmas import KINDS, followed
from benchmarks.launch_verdicts import (
    Inspected,
    LaunchVerdict,
    ProgramFiles,
    Unit,
    inspected,
    read,
    to_document,
)
from cutune.core.reading import read_source
from cutune.source.launches.callees import last_name
from cutune.source.syntax.parse import parse
from tests.support.swept_programs import JUDGES, SAMPLES, set_name

SEED = 21
COUNT = 60
LIMIT_S = 120.0
SYSTEM = Path("/usr/include")
HEADERS = (".h", ".hpp", ".cuh")
_COMPILED_AS = re.compile(r"^//\s+nvcc\s+(.*?)-o\s", re.MULTILINE)


def main(arguments: Sequence[str] = ()) -> int:
    """Inspect, print, write; 1 where launches were lost against an earlier run."""
    options = _options(arguments)
    if options.folder is None:
        programs, settings = list(own_programs()), {}
    else:
        names = options.names.read_text().split()
        settings = {"seed": "all" if options.all else options.seed}
        if not options.all:
            names = random.Random(options.seed).sample(names, min(options.count, len(names)))
            print(f"  {len(names)} programs, random.Random({options.seed})")
        found_by = repository if options.repositories else public_program
        programs = [found_by(options.folder, name) for name in names]
    found = []
    for program in programs:
        follow = partial(followed, program, limit_s=options.limit, more=options.flag)
        found.append(
            inspected(program, options.limit, options.flag, follow if options.follow else None)
        )
        if options.progress:
            print(_progress(found[-1]), file=sys.stderr, flush=True)
    print(*_table(found), sep="\n")
    if options.json is not None:
        options.json.write_text(json.dumps(to_document(found, settings), indent=1) + "\n")
    if options.against is None:
        return 0
    gained, lost = changes(read(options.against), [one for each in found for one in each.launches])
    for what, launches in (("gained", gained), ("lost", lost)):
        for one in launches:
            print(f"  {what} {_line(one)}")
    print(f"  {len(gained)} gained, {len(lost)} lost")
    return 1 if lost else 0


def own_programs() -> Iterator[ProgramFiles]:
    """The samples and the judge sets, with the options of the command line that they name."""
    for folder in (SAMPLES, SAMPLES.parent / "tridiagonal", *JUDGES):
        for path in sorted(folder.glob("*.cu")):
            named = _COMPILED_AS.search(path.read_text(encoding="latin-1"))
            words = shlex.split(named[1]) if named is not None else []
            unit = Unit((path.name,), tuple(compile_options(words, folder)))
            yield ProgramFiles(set_name(folder), path.stem, folder, (unit,))


def public_program(collection: Path, name: str) -> ProgramFiles:
    """The units of DIR/NAME, those with the same options together."""
    folder = collection.resolve() / name
    compiled = compiled_files(folder)
    if not any(path.suffix == ".cu" for path in compiled):
        flags = [f"-I{path}" for path in (folder, folder.parent / "include") if path.is_dir()]
        compiled = {path: ["-std=c++17", *flags] for path in sorted(folder.rglob("*.cu"))}
    by_flags: dict[tuple[str, ...], list[str]] = {}
    for path, options in compiled.items():
        # Other files hold host code only, unless an option says that they are CUDA.
        if path.suffix == ".cu" or "cu" in options or "-x=cu" in options:
            own = str(path.relative_to(folder)) if folder in path.parents else str(path)
            by_flags.setdefault(tuple(options), []).append(own)
    units = (Unit(tuple(files), flags) for flags, files in by_flags.items())
    return ProgramFiles("public", name, folder, tuple(units))


def repository(collection: Path, name: str) -> ProgramFiles:
    """Each `.cu` file with a launch, and those that define its kernels, in sight of all headers."""
    folder = collection.resolve() / name
    headers = {path.parent for suffix in HEADERS for path in folder.rglob(f"*{suffix}")}
    roots = {path for word in ("include", "src") for path in folder.rglob(word) if path.is_dir()}
    seen = [path for path in (folder, *sorted(headers | roots)) if not _hides_system(path)]
    flags = ("-std=c++17", *(f"-I{path}" for path in seen))
    parsed = {path: parse(read_source(str(path))) for path in sorted(folder.rglob("*.cu"))}
    defined = {path: {kernel.name for kernel in syntax.kernels} for path, syntax in parsed.items()}
    units = []
    for path, syntax in parsed.items():
        launched = {last_name(syntax.part(launch.callee)) for launch in syntax.launches}
        missing = launched - defined[path]
        files = [path, *(other for other, own in defined.items() if own & missing)]
        if "<<<" in syntax.source.text:
            units.append(Unit(tuple(str(one.relative_to(folder)) for one in files), flags))
    return ProgramFiles(name, name, folder, tuple(units))


def _hides_system(folder: Path) -> bool:
    """Would its headers be read in place of the system's, such as an `unistd.h` for Windows?"""
    return any((SYSTEM / path.name).exists() for path in folder.glob("*.h"))


def changes(
    before: Sequence[LaunchVerdict], after: Sequence[LaunchVerdict]
) -> tuple[list[LaunchVerdict], list[LaunchVerdict]]:
    """Launches of both runs that became tunable, and those that no longer are, as they now are."""
    known = {one.place: one for one in before}
    differing = [
        one for one in after if one.place in known and known[one.place].is_tunable != one.is_tunable
    ]
    programs = {(one.set, one.program) for one in after}
    places = {one.place for one in after}
    gone = [
        one
        for one in before
        if one.is_tunable and one.place not in places and (one.set, one.program) in programs
    ]
    return (
        [one for one in differing if one.is_tunable],
        [*(one for one in differing if not one.is_tunable), *gone],
    )


def _table(found: Sequence[Inspected]) -> Iterator[str]:
    sets = dict.fromkeys(one.set for one in found)
    width = max(map(len, (*sets, "all")), default=0)
    yield (
        f"  {'set':{width}}  programs  launches  tunable  by pragma  by constant"
        "  with a tunable one  failed  CPU s"
    )
    for name in sets:
        yield _row(name, width, [one for one in found if one.set == name])
    if len(sets) > 1:
        yield _row("all", width, found)
    launches = [launch for one in found for launch in one.launches]
    codes = Counter(one.code or "-" for one in launches if not one.is_tunable)
    yield "  refused: " + (", ".join(f"{c} {n}" for c, n in codes.most_common()) or "none")
    unread = [f"{one.set}/{one.program}" for one in found if one.messages]
    if unread:
        yield f"  in part not read by nvcc: {', '.join(unread)}"
    for one in found:
        yield from (f"  in vain: {one.set}/{one.program}: {pragma}" for pragma in one.vain)
        yield from (f"  failed: {one.set}/{one.program}: {failure}" for failure in one.failures)


def _row(name: str, width: int, found: Sequence[Inspected]) -> str:
    launches = [launch for one in found for launch in one.launches]
    tunable = sum(one.is_tunable for one in launches)
    pragma, constant = (sum(one.pragma == kind for one in launches) for kind in KINDS)
    some = sum(any(launch.is_tunable for launch in one.launches) for one in found)
    failed = sum(len(one.failures) for one in found)
    cpu = sum(one.cpu_seconds for one in found)
    return (
        f"  {name:{width}}  {len(found):8}  {len(launches):8}  {tunable:7}  {pragma:9}"
        f"  {constant:11}  {some:18}"
        f"  {failed:6}  {cpu:5.0f}"
    )


def _progress(one: Inspected) -> str:
    tunable = sum(launch.is_tunable for launch in one.launches)
    return f"{one.program}: {tunable} of {len(one.launches)}, {one.wall_seconds:.1f} s"


def _line(one: LaunchVerdict) -> str:
    why = "" if one.is_tunable else f" {one.reason} [{one.code}]"
    return f"{one.set}/{one.program} {one.file}:{one.line} {one.kernel}{why}"


def _options(arguments: Iterable[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--names", type=Path, help="a file with a name per line")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--all", action="store_true", help="every name")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--against", type=Path)
    parser.add_argument("--limit", type=float, default=LIMIT_S, help="seconds per file")
    parser.add_argument("--repositories", action="store_true", help="file by file, a set each")
    parser.add_argument("--follow", action="store_true", help="insert what --suggest prints")
    parser.add_argument("--flag", action="append", default=[], help="given to every compilation")
    parser.add_argument("--progress", action="store_true")
    options = parser.parse_args(list(arguments))
    if (options.folder is None) != (options.names is None):
        parser.error("--folder and --names go together")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
