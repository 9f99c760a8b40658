"""Mutated sources end in a program or a diagnostic: no exception, no hang, no lost byte.

    python -m tests.fuzz --minutes 10 --seed 1 [FOLDER …]

Takes the samples, the golden files and the sources below the given folders, mutates them, and puts
each through the whole front end with textual macros. Gives the failures, one per place in the code,
each with a minimised source. Time is CPU time, so that a busy machine changes nothing.
"""

from __future__ import annotations

import argparse
import io
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from rich.console import Console

from cutune.analysis.analyze import analyze
from cutune.cli.report.programs import print_programs, to_json
from cutune.cli.report.suggestions import print_suggestions, suggestions_to_json
from cutune.core.reading import read_source
from cutune.core.source import Source
from cutune.frontend.syntax.parse import parse
from cutune.frontend.syntax.tokens import lex
from cutune.passes.instrument_launches import InstrumentLaunches
from cutune.passes.replace_launches import ReplaceLaunches
from cutune.rewrite.pipeline import TranslationUnit, run_passes

ROOT = Path(__file__).parents[1]
LARGEST_FILE = 60_000
SECONDS_PER_SOURCE = 10.0
SECONDS_TO_MINIMISE = 60.0
DEEPEST = 3_000

#: What CUDA sources are made of, and what may confuse whoever reads them.
PIECES = """
<<< >>> << < >> > <<<1,1>>>(); ( ) { } [ ] ; , : ? . -> :: = == != && || ! ~ ++ -- += <<= # ##
" ' R"( )" R"x( L' u8" /* */ // \\ \\\n #if #endif #else #elif #if\x200 #define #include\x20"a.h"
#pragma\x20cutune #pragma\x20cutune\x20ignore #pragma\x20cutune\x20kernel\x20k\x20block(x:\x2032)
template template<typename\x20T> <T> <int,\x204> __global__ __device__ __shared__ __launch_bounds__(
__global__\x20void\x20k(int\x20n) threadIdx.x blockIdx.x*blockDim.x+threadIdx.x gridDim blockDim.y
__syncthreads(); if( if(i<n) else for(;;) while( do switch case default: return break; continue;
goto namespace struct class enum union operator operator() lambda [=](int\x20i){ auto asm volatile
int unsigned long\x20long float size_t dim3 const static extern extern\x20"C" typedef using sizeof(
0 1 0x 08 1.f 1e 99999999999999999999 -1 n i a[i] *p &p a.b a->b (int) static_cast<int>( {}
\xef\xbb\xbf \xff \x00 \x01 \x7f \r \r\n \t \f \v
"""
TOKENS = [*PIECES.split(), " ", "\n", "\x00", "\n#", "\\\n"]
#: Openers and closers for deep nesting.
NESTS = [
    *[
        ("(", ")"),
        ("{", "}"),
        ("[", "]"),
        ("a[", "]"),
        ("-", ""),
        ("!", ""),
        ("if(n)", ""),
        ("*", ""),
    ],
    *[
        ("T<", ">"),
        ("f(", ")"),
        ("(int)", ""),
        ("n?", ":n"),
        ("n+", "n"),
        ("{if(n)", "}"),
        ("a.", "a"),
    ],
    *[
        ("k<<<", ">>>()"),
        ("else if(n)", ";"),
        ("namespace a{", "}"),
        ("for(;;)", ";"),
        ("#if 1\n", "#endif\n"),
    ],
    *[
        ("template<class T>", ""),
        ("[=]{", "}"),
        ("do ", "while(n);"),
        ("a,", "a"),
        ("&&", ""),
        ("n<", "n"),
    ],
]


# ---- mutations: text in, text out


def _place(random_: random.Random, text: str) -> int:
    return random_.randint(0, len(text))


def _span(random_: random.Random, text: str, longest: int = 400) -> tuple[int, int]:
    start = _place(random_, text)
    return start, min(len(text), start + random_.randint(1, longest))


def _tokens(text: str) -> list[str]:
    return [token.text for token in lex(text)]


def delete_tokens(random_: random.Random, text: str) -> str:
    tokens = _tokens(text)
    start = random_.randrange(len(tokens) + 1)
    del tokens[start : start + random_.choice((1, 1, 1, 2, 5, 20))]
    return "".join(tokens)


def double_tokens(random_: random.Random, text: str) -> str:
    tokens = _tokens(text)
    start = random_.randrange(len(tokens) + 1)
    piece = tokens[start : start + random_.choice((1, 1, 2, 5, 20))]
    tokens[start:start] = piece * random_.choice((1, 1, 2, 50))
    return "".join(tokens)


def swap_tokens(random_: random.Random, text: str) -> str:
    tokens = _tokens(text)
    if not tokens:
        return text
    a = random_.randrange(len(tokens))
    b = random_.choice((random_.randrange(len(tokens)), min(len(tokens) - 1, a + 2)))
    tokens[a], tokens[b] = tokens[b], tokens[a]
    return "".join(tokens)


def replace_token(random_: random.Random, text: str) -> str:
    tokens = _tokens(text)
    if tokens:
        tokens[random_.randrange(len(tokens))] = random_.choice(TOKENS)
    return "".join(tokens)


def insert_piece(random_: random.Random, text: str) -> str:
    place = _place(random_, text)
    pieces = random_.choices(TOKENS, k=random_.choice((1, 1, 1, 2, 4)))
    return text[:place] + random_.choice(("", " ")).join(pieces) + text[place:]


def flip_byte(random_: random.Random, text: str) -> str:
    if not text:
        return text
    place = random_.randrange(len(text))
    flipped = chr(ord(text[place]) ^ (1 << random_.randrange(8)))
    return text[:place] + flipped + text[place + 1 :]


def cut_off(random_: random.Random, text: str) -> str:
    place = _place(random_, text)
    return random_.choice((text[:place], text[place:]))


def remove_span(random_: random.Random, text: str) -> str:
    start, end = _span(random_, text)
    return text[:start] + text[end:]


def move_span(random_: random.Random, text: str) -> str:
    start, end = _span(random_, text)
    place = _place(random_, text)
    return text[:place] + text[start:end] + text[place:]


def nest(random_: random.Random, text: str) -> str:
    """Deep nesting around a short piece, closed or not."""
    start, end = _span(random_, text, random_.choice((1, 20, 400)))
    opener, closer = random_.choice(NESTS)
    depth = random_.choice((3, 30, 300, DEEPEST))
    closed = random_.choice((depth, depth, 0, depth - 1))
    return text[:start] + opener * depth + text[start:end] + closer * closed + text[end:]


def other_line_ends(random_: random.Random, text: str) -> str:
    return text.replace("\n", random_.choice(("\r\n", "\r", "\\\n", " ")))


Mutation = Callable[[random.Random, str], str]
MUTATIONS: tuple[Mutation, ...] = (
    *(delete_tokens, double_tokens, swap_tokens, replace_token, insert_piece, flip_byte),
    *(cut_off, remove_span, move_span, nest, other_line_ends),
)


def mutated(random_: random.Random, text: str) -> str:
    """A few mutations, one after the other."""
    for _ in range(random_.choice((1, 1, 2, 3, 6))):
        text = random_.choice(MUTATIONS)(random_, text)
    return text


# ---- what must hold


class Hang(Exception):
    """The front end took too long."""


def check(text: str) -> None:
    """Put one source through the front end.

    Raises:
        Exception: whatever the front end should not have raised, or a broken promise.
    """
    assert "".join(token.text for token in lex(text)) == text, "tokens joined are not the text"
    source = Source("fuzz.cu", text)
    program = analyze(parse(source))
    for diagnostic in program.diagnostics:
        diagnostic.render()
    to_json([program])
    suggestions_to_json([program])
    console = Console(file=io.StringIO(), force_terminal=False)
    print_programs([program], console)
    print_suggestions([program], console)
    if any(diagnostic.is_error for diagnostic in program.diagnostics):
        return
    sites = program.tunable_launches
    routines = tuple((site.id, "cutune_select_any") for site in sites)
    for step in (InstrumentLaunches(), ReplaceLaunches(routines=routines)):
        unit = run_passes((step,), TranslationUnit(program))
        rewritten = unit.rewritten().text
        assert sites or rewritten == text, "nothing is tunable, but the text has changed"
        if rewritten != text:
            _, _, behind = rewritten.partition("#line 1 ")
            assert behind.count("\n") == text.count("\n") + 1, "lines were added or lost"


def guarded(action: Callable[[], None], seconds: float) -> BaseException | None:
    """Run it with a limit of CPU time; what it raised, or None."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise Hang(f"no end within {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        action()
    except Exception as error:
        return error
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return None


@dataclass(frozen=True)
class Failure:
    """A source that breaks a promise. Failures of one `place` are taken for one."""

    place: str
    message: str
    text: str
    trace: str

    @staticmethod
    def of(error: BaseException, text: str) -> Failure:
        """What is known about a failure; a hang stops anywhere, so it has no place of its own."""
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if "cutune" in frame.filename] or list(frames)
        place = "hang" if isinstance(error, Hang) else f"{type(error).__name__} in {own[-1].name}"
        trace = "".join(traceback.format_exception(error, limit=-12))
        return Failure(place, f"{type(error).__name__}: {error}", text, trace)


def failure_of(text: str, seconds: float, checked: Callable[[str], None] = check) -> Failure | None:
    """The failure of one source, if it has one."""
    error = guarded(lambda: checked(text), seconds)
    return Failure.of(error, text) if error is not None else None


# ---- minimising


def minimise(
    failure: Failure,
    checked: Callable[[str], None] = check,
    seconds: float = SECONDS_TO_MINIMISE,
    limit: float = SECONDS_PER_SOURCE,
) -> Failure:
    """Leave out lines, then tokens, in ever smaller pieces, as long as the same failure remains."""
    stop_at = time.process_time() + seconds
    for split in (lambda text: text.splitlines(keepends=True), _tokens, list):
        pieces: list[str] = split(failure.text)
        size = max(1, len(pieces) // 2)
        while True:
            start = 0
            while start < len(pieces):
                if time.process_time() > stop_at:
                    return failure
                kept = pieces[:start] + pieces[start + size :]
                found = failure_of("".join(kept), limit, checked)
                if found is not None and found.place == failure.place:
                    failure, pieces = found, kept
                else:
                    start += size
            if size == 1:
                break
            size //= 2
    return failure


# ---- the run


@dataclass
class Report:
    """What a run has seen."""

    sources: int = 0
    failures: tuple[Failure, ...] = ()


def texts_of(folders: Sequence[Path]) -> list[str]:
    """The sources to mutate, in an order that does not depend on the machine."""
    own = [*ROOT.glob("samples/**/*.cu"), *ROOT.glob("tests/golden/**/*.cu")]
    found = [path for folder in folders for path in folder.rglob("*.cu*") if path.is_file()]
    paths = [*sorted(own), *sorted(found)]
    return [read_source(path).text for path in paths if path.stat().st_size <= LARGEST_FILE]


def cases(random_: random.Random, texts: Sequence[str]) -> Iterator[str]:
    """Mutated sources without end; now and then two are joined."""
    while True:
        text = random_.choice(texts)
        if random_.random() < 0.1:
            text += random_.choice(texts)
        yield mutated(random_, text)


def run(
    texts: Sequence[str],
    seed: int,
    minutes: float,
    most: int | None = None,
    checked: Callable[[str], None] = check,
    show: Callable[[str], None] = lambda line: None,
) -> Report:
    """Check sources until the CPU time is used up, or `most` of them."""
    report, begun = Report(), time.process_time()
    known: set[str] = set()
    for number, text in enumerate(cases(random.Random(seed), texts)):
        used = time.process_time() - begun
        if used > 60 * minutes or number == most:
            return report
        if number % 1000 == 999:
            show(f"{number + 1} sources, {used / 60:.1f} min, {len(known)} failures")
        report.sources += 1
        failure = failure_of(text, SECONDS_PER_SOURCE, checked)
        if failure is not None and failure.place not in known:
            known.add(failure.place)
            show(f"source {number} of seed {seed}: {failure.message} ({failure.place})")
            report.failures += (minimise(failure, checked),)
    raise AssertionError("there always is another case")


def main() -> int:
    """The command line; status 1 when anything failed."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("folders", nargs="*", type=Path, help="further sources to mutate")
    options.add_argument("--minutes", type=float, default=1.0, help="CPU time to spend")
    options.add_argument("--seed", type=int, default=1, help="random state of the mutations")
    options.add_argument("--keep", type=Path, help="folder for the minimised sources")
    chosen = options.parse_args()
    texts = texts_of(chosen.folders)
    print(f"{len(texts)} sources to mutate, seed {chosen.seed}", flush=True)
    report = run(texts, chosen.seed, chosen.minutes, show=lambda line: print(line, flush=True))
    for number, failure in enumerate(report.failures):
        print(f"\n{failure.message}\n{failure.trace}\n{failure.text[:2000]!r}")
        if chosen.keep is not None:
            chosen.keep.mkdir(parents=True, exist_ok=True)
            (chosen.keep / f"{number}.cu").write_bytes(failure.text.encode("latin-1"))
    print(f"{report.sources} sources, {len(report.failures)} failures, seed {chosen.seed}")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
