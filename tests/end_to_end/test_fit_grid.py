"""The rule by which a grid follows a changed block, as compiled: no thread is lost or doubled."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from cutune.toolchain.device.thread_block import keeps_warps
from tests.support.cutune_runs import host_program

pytestmark = pytest.mark.nvcc

FIXED, DIVIDE, GUARDED, KEPT = 0, 1, 2, 3
Triple = tuple[int, int, int]


@dataclass(frozen=True)
class Question:
    rule: Triple
    bound: Triple
    grid: Triple
    block: Triple
    new_block: Triple
    max_threads: int = 1024
    needs_warps: bool = False
    #: Dimensions in which a block must have one thread, or warps stay.
    single_thread: int = 0
    indexed: int = 7
    is_captured: bool = False
    #: Must each warp keep its threads because of the arguments?
    is_bound: bool = False
    #: What the compiled kernel allows.
    threads: int = 1024
    #: Does the kernel read 24 bits of the number of a block?
    is_narrow: bool = False

    @property
    def line(self) -> str:
        triples = (self.rule, self.bound, self.grid, self.block, self.new_block)
        numbers = [
            *(number for triple in triples for number in triple),
            self.max_threads,
            int(self.needs_warps),
            self.single_thread,
            self.indexed,
            int(self.is_captured),
            int(self.is_bound),
            self.threads,
            int(self.is_narrow),
        ]
        return " ".join(map(str, numbers))


@dataclass(frozen=True)
class Answer:
    allowed: bool
    grid: Triple
    guarded: Triple


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return host_program("fit_grid", tmp_path_factory.mktemp("fit"))


def ask(program: Path, questions: list[Question]) -> list[Answer]:
    text = "".join(f"{question.line}\n" for question in questions)
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True)
    answers = []
    for line in done.stdout.splitlines():
        allowed, x, y, z, bits = map(int, line.split())
        answers.append(Answer(allowed == 1, (x, y, z), (bits & 1, bits >> 1 & 1, bits >> 2 & 1)))
    return answers


def one(program: Path, question: Question) -> Answer:
    return ask(program, [question])[0]


@pytest.mark.parametrize(
    ("question", "grid"),
    [
        # A guard bound: any block that covers it.
        (Question((2, 0, 0), (1000, 0, 0), (4, 1, 1), (256, 1, 1), (96, 1, 1)), (11, 1, 1)),
        (Question((2, 2, 0), (100, 50, 0), (4, 7, 1), (32, 8, 1), (64, 4, 1)), (2, 13, 1)),
        # Fewer threads than the bound: each counts, the block has to divide them.
        (Question((2, 0, 0), (5000, 0, 0), (4, 1, 1), (256, 1, 1), (512, 1, 1)), (2, 1, 1)),
        (Question((2, 0, 0), (5000, 0, 0), (4, 1, 1), (256, 1, 1), (96, 1, 1)), None),
        # A bound that may have wrapped says nothing.
        (Question((2, 0, 0), (-1, 0, 0), (4, 1, 1), (256, 1, 1), (96, 1, 1)), None),
        (Question((2, 0, 0), (1 << 33, 0, 0), (4, 1, 1), (256, 1, 1), (96, 1, 1)), None),
        # The thread space: divisors only.
        (Question((1, 0, 0), (0, 0, 0), (4, 1, 1), (96, 1, 1), (128, 1, 1)), (3, 1, 1)),
        (Question((1, 0, 0), (0, 0, 0), (4, 1, 1), (96, 1, 1), (256, 1, 1)), None),
        # What is not pure stays.
        (Question((0, 1, 0), (0, 0, 0), (4, 8, 1), (32, 8, 1), (64, 4, 1)), None),
        (Question((0, 1, 0), (0, 0, 0), (4, 8, 1), (32, 8, 1), (32, 16, 1)), (4, 4, 1)),
        # The blocks stay, whatever their size.
        (Question((3, 0, 0), (0, 0, 0), (7, 2, 1), (96, 1, 1), (256, 1, 1)), (7, 2, 1)),
        (Question((2, 3, 0), (100, 0, 0), (4, 7, 1), (32, 8, 1), (64, 5, 1)), (2, 7, 1)),
        (Question((3, 0, 0), (0, 0, 0), (7, 2, 1), (96, 1, 1), (512, 1, 1), 256), None),
        # The program's own block keeps its own grid, whatever that is.
        (Question((2, 0, 0), (10, 0, 0), (4, 1, 1), (256, 1, 1), (256, 1, 1)), (4, 1, 1)),
        # Limits.
        (Question((2, 0, 0), (5000, 0, 0), (20, 1, 1), (256, 1, 1), (512, 1, 1), 256), None),
        (Question((2, 2, 0), (90, 90, 0), (9, 9, 1), (10, 10, 1), (64, 32, 1)), None),
        (Question((0, 2, 0), (0, 70000, 0), (1, 70, 1), (1, 1000, 1), (1, 1, 1)), None),
        (Question((2, 0, 0), (100, 0, 0), (1, 1, 1), (100, 1, 1), (0, 1, 1)), None),
        (Question((1, 0, 0), (0, 0, 0), (0, 1, 1), (32, 1, 1), (64, 1, 1)), None),
    ],
)
def test_cases(program: Path, question: Question, grid: Triple | None) -> None:
    answer = one(program, question)
    assert answer.allowed == (grid is not None)
    if grid is not None:
        assert answer.grid == grid


@pytest.mark.parametrize(
    ("block", "new_block", "is_allowed"),
    [
        ((32, 8, 1), (64, 2, 1), True),
        ((256, 1, 1), (32, 8, 2), True),
        ((32, 8, 1), (16, 16, 1), False),
        ((16, 16, 1), (32, 8, 1), False),
        ((16, 16, 1), (16, 4, 1), True),
        ((16, 16, 1), (16, 1, 2), False),
        ((16, 1, 2), (16, 2, 1), False),
        ((1, 1, 32), (1, 32, 1), False),
        ((24, 4, 1), (24, 8, 1), False),
        ((24, 4, 1), (24, 4, 1), True),
        ((96, 1, 1), (48, 2, 1), False),
    ],
)
def test_warps_keep_their_threads(
    program: Path, block: Triple, new_block: Triple, is_allowed: bool
) -> None:
    question = Question((2, 2, 2), (700, 90, 64), (99, 99, 99), block, new_block, 1024, True)
    assert one(program, question).allowed == is_allowed
    assert keeps_warps(block, new_block) == (is_allowed and block != (24, 4, 1))


@pytest.mark.parametrize(
    ("block", "new_block", "is_allowed"),
    [
        ((32, 8, 1), (16, 16, 1), True),
        ((16, 8, 2), (8, 16, 2), False),
        ((32, 4, 2), (64, 2, 2), True),
        ((32, 4, 2), (16, 8, 2), False),
        # Of other dimensions nothing is asked.
        ((8, 8, 1), (4, 16, 1), True),
    ],
)
def test_warps_keep_their_threads_where_blocks_are_several_deep(
    program: Path, block: Triple, new_block: Triple, is_allowed: bool
) -> None:
    question = Question((2, 2, 0), (700, 90, 64), (99, 99, 9), block, new_block, single_thread=4)
    assert one(program, question).allowed == is_allowed
    # The program's own block is always allowed.
    assert one(program, replace(question, new_block=block)).allowed


@pytest.mark.parametrize(
    ("question", "is_allowed"),
    [
        # Threads that the kernel cannot tell apart do the same work: in other warps they race.
        (Question((2, 0, 0), (99, 0, 0), (4, 1, 1), (32, 4, 1), (64, 4, 1), indexed=1), False),
        (Question((2, 0, 0), (99, 0, 0), (4, 2, 1), (32, 1, 1), (64, 1, 1), indexed=1), False),
        (Question((2, 0, 0), (99, 0, 0), (4, 1, 1), (32, 1, 1), (64, 1, 1), indexed=1), True),
        # A launch that fails goes on failing.
        (Question((0, 0, 1), (0, 0, 0), (1, 1, 1), (1, 1, 128), (1, 1, 64)), False),
        (Question((1, 0, 0), (0, 0, 0), (1, 1, 1), (2048, 1, 1), (1024, 1, 1)), False),
        (Question((1, 0, 0), (0, 0, 0), (8, 1, 1), (512, 1, 1), (256, 1, 1), 256), False),
        (Question((1, 0, 0), (0, 0, 0), (8, 1, 1), (512, 1, 1), (256, 1, 1), threads=256), False),
        (Question((1, 0, 0), (0, 0, 0), (8, 1, 1), (256, 1, 1), (512, 1, 1), threads=256), False),
        (Question((1, 0, 0), (0, 0, 0), (8, 1, 1), (128, 1, 1), (256, 1, 1), threads=256), True),
        (Question((1, 1, 0), (0, 0, 0), (8, 70000, 1), (32, 1, 1), (64, 1, 1)), False),
        # Ids that may not fit in 32 bits, before or after.
        (Question((1, 0, 0), (0, 0, 0), (1 << 21, 1, 1), (1024, 1, 1), (512, 1, 1)), False),
        (Question((1, 0, 0), (0, 0, 0), (1 << 19, 1, 1), (1024, 1, 1), (512, 1, 1)), True),
        (Question((1, 0, 0), (0, 0, 0), (1 << 20, 1, 1), (1024, 1, 1), (512, 1, 1)), False),
        (Question((3, 0, 0), (0, 0, 0), (1 << 22, 1, 1), (256, 1, 1), (512, 1, 1)), False),
        # Blocks whose numbers a kernel does not read as they are, before or after.
        *(
            (Question((1, 0, 0), (0, 0, 0), (before, 1, 1), *blocks, is_narrow=is_narrow), allowed)
            for is_narrow, before, blocks, allowed in (
                (False, 1 << 23, ((64, 1, 1), (128, 1, 1)), True),
                (True, 1 << 23, ((64, 1, 1), (128, 1, 1)), False),
                (True, 1 << 22, ((64, 1, 1), (128, 1, 1)), True),
                (True, 1 << 22, ((64, 1, 1), (32, 1, 1)), False),
                (True, 1 << 21, ((64, 1, 1), (32, 1, 1)), True),
            )
        ),
        (
            Question((0, 1, 0), (0, 0, 0), (1, 65536, 1), (1, 64, 1), (1, 128, 1), is_narrow=True),
            False,
        ),
        # Arguments by which threads of other warps may meet.
        (Question((1, 0, 0), (0, 0, 0), (8, 1, 1), (48, 1, 1), (96, 1, 1), is_bound=True), False),
        (Question((1, 0, 0), (0, 0, 0), (8, 1, 1), (32, 1, 1), (64, 1, 1), is_bound=True), True),
        (Question((1, 0, 0), (0, 0, 0), (8, 1, 1), (48, 1, 1), (96, 1, 1)), True),
        # In a graph bounds may change, so that all threads stay; arguments, too: so do warps.
        (Question((2, 0, 0), (99, 0, 0), (9, 1, 1), (32, 1, 1), (64, 1, 1)), True),
        (
            Question((2, 0, 0), (99, 0, 0), (9, 1, 1), (32, 1, 1), (64, 1, 1), is_captured=True),
            False,
        ),
        (
            Question((2, 0, 0), (99, 0, 0), (9, 1, 1), (32, 1, 1), (96, 1, 1), is_captured=True),
            True,
        ),
        (
            Question((2, 0, 0), (99, 0, 0), (6, 1, 1), (48, 1, 1), (96, 1, 1), is_captured=True),
            False,
        ),
    ],
)
def test_launches_that_have_to_stay(program: Path, question: Question, is_allowed: bool) -> None:
    assert one(program, question).allowed == is_allowed


def test_a_graph_keeps_all_threads(program: Path) -> None:
    captured = Question((2, 0, 0), (99, 0, 0), (9, 1, 1), (32, 1, 1), (96, 1, 1), is_captured=True)
    assert one(program, captured).grid == (3, 1, 1)
    assert one(program, replace(captured, is_captured=False)).grid == (2, 1, 1)


def random_questions(count: int) -> Iterator[Question]:
    generator = random.Random(7)

    def triple(*choices: int) -> Triple:
        return tuple(generator.choice(choices) for _ in range(3))  # type: ignore[return-value]

    for _ in range(count):
        yield Question(
            triple(FIXED, DIVIDE, GUARDED, KEPT),
            triple(-5, 1, 31, 32, 33, 100, 1000),
            triple(1, 2, 3, 4, 8, 33),
            triple(1, 2, 4, 7, 8, 32),
            triple(1, 2, 3, 4, 8, 16, 32),
        )


def test_the_same_effective_threads_run(program: Path) -> None:
    questions = list(random_questions(8000))
    answers = ask(program, questions)
    assert sum(answer.allowed for answer in answers) > 200
    for question, answer in zip(questions, answers, strict=True):
        if not answer.allowed or question.new_block == question.block:
            continue
        for axis in range(3):
            before = question.grid[axis] * question.block[axis]
            after = answer.grid[axis] * question.new_block[axis]
            bound = question.bound[axis]
            if question.rule[axis] == KEPT:
                assert answer.grid[axis] == question.grid[axis]
            elif question.rule[axis] == GUARDED and 0 < bound <= before:
                assert bound <= after < bound + question.new_block[axis]
            else:
                assert after == before
            if question.rule[axis] == FIXED:
                assert question.new_block[axis] == question.block[axis]
