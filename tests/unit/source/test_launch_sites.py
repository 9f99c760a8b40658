"""Launch sites of several sources in one process."""

from __future__ import annotations

from cutune.core.source import Source
from cutune.source.program import Program, SiteKey, SiteNumbers, numbers_of
from tests.support.analyzed import analyzed


def program(path: str, launches: int) -> Program:
    body = "k<<<1, 32>>>();" * launches
    return analyzed(Source(path, f"__global__ void k() {{}}\nvoid f() {{ {body} }}\n"))


def test_numbers_of_sources_follow_each_other() -> None:
    programs = [program("/a.cu", 2), program("/b.cu", 0), program("/c.cu", 1)]
    numbers = list(numbers_of(programs))
    assert numbers == [SiteNumbers(0), SiteNumbers(2), SiteNumbers(2)]
    assert numbers[2].number(SiteKey("/c.cu", 1)) == 3


def test_a_program_is_written_with_numbers_for_ids() -> None:
    own = program("/a.cu", 2)
    assert [site.id for site in SiteNumbers(3).written(own).launches] == [4, 5]
    assert SiteNumbers().written(own) == own


def test_a_key_has_the_source_that_was_analyzed() -> None:
    (site,) = program("/a/../c.cu", 1).launches
    assert SiteKey.of(site.source, site) == SiteKey("/c.cu", 1)
