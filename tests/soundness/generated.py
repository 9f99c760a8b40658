"""No generated program changes its output, whatever blocks its launches get.

    python -m tests.soundness.generated --count 5000 --seed 1 --jobs 2 --keep FOLDER
    python -m tests.soundness.generated --family collective --count 3000 --seed 1

Programs of the generator are built in batches, as they are and with random blocks, and run on the
emulated device: every line must be the same. A program that differs is built alone to confirm it.
Gives the failures; status 1 where there are any, or where no launch was changed.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cutune.emulator.link import own_build_flags
from cutune.toolchain.nvcc import Nvcc, find_nvcc
from tests.soundness.batches import SHAKER, Built, build, changed_lines, run, shaken, tuned
from tests.soundness.generator import FAMILIES, Generated, batch, source

#: Of the programs of the family "collective" that do not follow the block, so many are tunable.
REQUIRED_PERCENT = 90
ORIGINAL_FAILS = "the original fails"
SIZES = (1, 31, 37, 64, 100, 128, 129, 200, 256, 300, 311, 500, 512, 640, 777, 1000, 1024, 1500)


@dataclass(frozen=True)
class Campaign:
    """What is generated and how it is tried.

    Attributes:
        seeds: random blocks per size.
        shaker: command that writes the program with random blocks.
    """

    seed: int
    seeds: int
    sizes: int
    per_batch: int
    shaker: str
    family: str = "any"

    def sizes_of(self, first: int) -> list[int]:
        """The sizes that a batch is run with."""
        return random.Random(f"{self.seed}/{first}").sample(SIZES, self.sizes)


@dataclass(frozen=True)
class Failure:
    """A program that differs, with the run that showed it."""

    program: Generated
    what: str

    @property
    def is_of_text(self) -> bool:
        """Do the launches' own blocks show it? Then what the text became is wrong, not a proof."""
        return "CUTUNE=off" in self.what


@dataclass(frozen=True)
class Report:
    """What a batch gave."""

    programs: tuple[Generated, ...]
    changed: int
    tuned: tuple[Generated, ...]
    dropped: tuple[tuple[Generated, str], ...]
    failures: tuple[Failure, ...]


def tried(nvcc: Nvcc, campaign: Campaign, first: int, count: int) -> Report:
    """One batch, from text to verdicts."""
    programs = batch(campaign.seed, first, count, campaign.family)
    with tempfile.TemporaryDirectory(prefix="cutune-") as folder:
        place = Path(folder)
        built = build(nvcc, programs, place / "all")
        sizes = campaign.sizes_of(first)
        suspects = differing(nvcc, built, campaign, sizes)
        failures, dropped = [], list(built.dropped)
        for number, each in enumerate(built.programs):
            if each.name in suspects:
                alone = build(nvcc, [each], place / str(number))
                found = differing(nvcc, alone, campaign, sizes)
                what = found.get(each.name, "")
                if what.startswith(ORIGINAL_FAILS):
                    dropped.append((each, what))
                elif what:
                    failures.append(Failure(each, what))
        # Each of them has been tried alone where they do not run together.
        is_tried = all(what.startswith(ORIGINAL_FAILS) for what in suspects.values())
        if suspects and not failures and not is_tried:
            # What shows only among others is a failure, too.
            name, what = next(iter(suspects.items()))
            accused = next((p for p in built.programs if p.name == name), built.programs[0])
            failures.append(Failure(accused, f"{what} (in its batch only)"))
        written = built.source.with_name("batch.shaken.cu")
        is_written = written.exists()
        changed = changed_lines(built.source, written) if is_written else 0
        others = tuned(built.programs, written) if is_written else ()
    return Report(built.programs, changed, others, tuple(dropped), tuple(failures))


def differing(nvcc: Nvcc, built: Built, campaign: Campaign, sizes: Sequence[int]) -> dict[str, str]:
    """Programs of a batch that do not give what they gave, and where."""
    binary, problem = shaken(nvcc, built, campaign.shaker)
    if problem:
        return {each.name: problem for each in built.programs}
    found: dict[str, str] = {}
    if binary is None:
        return found
    environments = [{"CUTUNE": "off"}]
    environments += [{"CUTUNE_SEED": str(seed)} for seed in range(1, campaign.seeds + 1)]
    for size in sizes:
        before = run(built.binary, size, {})
        if not before.is_healthy(each.name for each in built.programs):
            return {each.name: f"{ORIGINAL_FAILS} at n={size}" for each in built.programs}
        for environment in environments:
            after = run(binary, size, environment)
            words = " ".join(f"{name}={value}" for name, value in environment.items())
            for name in before.differing(after):
                found.setdefault(name, f"differs at n={size} with {words}")
            if before.status != after.status:
                name = list(after.lines)[-1] if after.lines else built.programs[0].name
                found.setdefault(name, f"status {before.status} became {after.status}, {words}")
    return found


def reports(campaign: Campaign, nvcc: Nvcc, first: int, count: int, jobs: int) -> Iterator[Report]:
    """All batches, `jobs` at a time."""
    starts = range(first, first + count, campaign.per_batch)

    def one(start: int) -> Report:
        return tried(nvcc, campaign, start, min(campaign.per_batch, first + count - start))

    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(one, starts)


def keep(folder: Path, failure: Failure) -> None:
    """Write a failing program as a source of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    head = f"// {failure.program.name}: {failure.what.splitlines()[0]}\n"
    text = head + source([failure.program])
    (folder / f"{failure.program.name}.cu").write_text(text, encoding="ascii")


def _options() -> argparse.Namespace:
    options = argparse.ArgumentParser(
        prog="python -m tests.soundness.generated",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--count", type=int, default=500, help="programs")
    options.add_argument("--first", type=int, default=0, help="number of the first one")
    options.add_argument("--seed", type=int, default=1, help="random state of the generator")
    options.add_argument("--jobs", type=int, default=1, help="batches at a time")
    options.add_argument("--per-batch", type=int, default=25, help="programs in one source")
    options.add_argument("--seeds", type=int, default=10, help="random blocks per size")
    options.add_argument("--sizes", type=int, default=2, help="sizes per batch")
    options.add_argument("--shaker", default=SHAKER, help="command that writes random blocks")
    options.add_argument("--keep", type=Path, help="folder for the programs that fail")
    options.add_argument("--family", choices=FAMILIES, default="any", help="which programs")
    return options.parse_args()


def main() -> int:
    """The command line; status 1 when any program differs."""
    chosen = _options()
    shaker = chosen.shaker + (" --associative-math" if chosen.family == "collective" else "")
    campaign = Campaign(
        chosen.seed, chosen.seeds, chosen.sizes, chosen.per_batch, shaker, chosen.family
    )
    nvcc = find_nvcc()
    own_build_flags(nvcc)  # the emulated device is built once, not by each job
    begun, programs, changed, dropped, failed, of_text = time.monotonic(), 0, 0, 0, 0, 0
    right, found = list[str](), set[str]()
    for report in reports(campaign, nvcc, chosen.first, chosen.count, chosen.jobs):
        programs += len(report.programs)
        right += [each.name for each in report.programs if not each.is_dependent]
        found |= {each.name for each in report.tuned}
        changed += report.changed
        for each, why in report.dropped:
            dropped += 1
            reason = why if why.startswith(ORIGINAL_FAILS) else f"it does not compile: {why}"
            print(f"{each.name}: left out, {reason}")
        for failure in report.failures:
            failed += 1
            of_text += failure.is_of_text
            print(f"{failure.program.name}: {failure.what}")
            if chosen.keep is not None:
                keep(chosen.keep, failure)
        seconds = time.monotonic() - begun
        print(
            f"{programs} programs, {changed} lines changed, {failed} differ, {seconds:.0f} s",
            flush=True,
        )
    ways = f"{failed} differ, {of_text} of them with their own blocks"
    print(f"{programs} programs of seed {chosen.seed}, {dropped} left out, {ways}")
    if changed == 0:
        print("no launch was changed: nothing has been tried")
    is_enough = chosen.family == "any" or _tell_tuned(right, found)
    return 1 if failed or changed == 0 or not is_enough else 0


def _tell_tuned(right: Sequence[str], found: Collection[str]) -> bool:
    """Say how many programs that do not follow the block are tunable: are these enough?"""
    refused = [name for name in right if name not in found]
    percent = 100 * (len(right) - len(refused)) // max(len(right), 1)
    print(f"{len(right) - len(refused)} of {len(right)} made right are tuned ({percent} %)")
    print("not tuned:", " ".join(refused) or "none")
    return percent >= REQUIRED_PERCENT


if __name__ == "__main__":
    sys.exit(main())
