"""Where copies cannot be tried they are refused for that, and tried next time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cutune import measure
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.progress import Progress
from cutune.core.source import Edit, Source, Span
from cutune.emulator import build
from cutune.measure import tile_trials
from cutune.source.kernel_variant import KernelVariant
from tests.support.analyzed import analyzed

SOURCE = Source("a.cu", "__global__ void k(int n) {}\n")
COPY = KernelVariant("TILE_8", "k_8", SOURCE, Edit(Span(0, 0), ""), "tile")


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    measure._build_machine.cache_clear()
    yield
    measure._build_machine.cache_clear()


def test_copies_are_tried_where_it_was_missing_before(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    def build_it(progress: Progress) -> None:
        progress(build.BUILDING, 0, 1)
        if not built:
            raise CutuneError.at(Code.MISSING_COMPILER)

    said: list[str] = []

    def progress(activity: str, done: int, total: int) -> None:
        said.append(activity)

    monkeypatch.setattr(build, "machine_library", build_it)
    monkeypatch.setattr(tile_trials, "copies_that_do_the_same", lambda *asked: (asked[2], {}))
    (kernel,) = analyzed(SOURCE).kernels
    found, reasons = measure.try_copies("", kernel, [COPY], progress)
    assert found == [] and said == [build.BUILDING]
    assert reasons["TILE_8"].startswith("the emulated device is missing: ")
    built.append("now")
    assert measure.try_copies("", kernel, [COPY], progress) == ([COPY], {})


def test_a_fault_of_cutune_leaves_the_kernel_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OverflowError("too big")

    monkeypatch.setattr(build, "machine_library", lambda _: None)
    monkeypatch.setattr(tile_trials, "copies_that_do_the_same", fail)
    (kernel,) = analyzed(SOURCE).kernels
    found, reasons = measure.try_copies("", kernel, [COPY])
    assert found == [] and "OverflowError('too big')" in reasons["TILE_8"]
