"""The programs of tests/corpus/tiles, and of the second set: value sets, sources at other values.

Takes `tiles.json`, which the README beside it explains. Needs nothing but Python, so that
`benchmarks.tile_sweep` runs where cutune is not installed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).parents[1] / "tests" / "corpus"
#: The folders of programs, each with its `tiles.json`.
SETS = ("tiles", "tiles_second")

Values = tuple[int, ...]


@dataclass(frozen=True)
class TileProgram:
    """A program whose tiles are constants.

    Attributes:
        parameters: the values of each constant.
        where: a condition, in Python, that legal values keep.
        own: the values that are in the source.
        macros: parameters that are set by -D.
        texts: where the others are in the source, with names in braces.
        outputs: `exact` where results are the same bits for all values, or `float`.
        sizes: arguments of the judged runs.
        emulated: arguments that are small, and odd.
        is_unseen: is it left alone while the model is made?
        arguments: the parameters of the kernel that the arguments of a run are.
    """

    name: str
    parameters: Mapping[str, Sequence[int]]
    where: str
    own: Values
    macros: Sequence[str]
    texts: Sequence[str]
    outputs: str
    sizes: Mapping[str, Sequence[int]]
    emulated: Sequence[Sequence[int]]
    is_unseen: bool
    arguments: Sequence[str]
    of_set: str = SETS[0]

    @property
    def path(self) -> Path:
        """The source."""
        return CORPUS / self.of_set / f"{self.name}.cu"

    def value_sets(self) -> list[Values]:
        """All legal values, the own ones first."""
        legal = [values for values in product(*self.parameters.values()) if self._is_legal(values)]
        return sorted(legal, key=lambda values: values != self.own)

    def _is_legal(self, values: Values) -> bool:
        return bool(eval(self.where, {"__builtins__": {}}, self.named(values)))

    def named(self, values: Values) -> dict[str, int]:
        """Values by name."""
        return dict(zip(self.parameters, values, strict=True))

    def flags(self, values: Values) -> list[str]:
        """Options for nvcc; the own values need none."""
        named = self.named(values)
        return [f"-D{name}={named[name]}" for name in self.macros if values != self.own]

    def source(self, values: Values) -> str:
        """The program with these values where a macro does not set them."""
        text, own, named = self.path.read_text(), self.named(self.own), self.named(values)
        for pattern in self.texts:
            # Every place at once: a template's arguments are the same wherever it is used.
            before = pattern.format(**own)
            assert before in text, f"{self.path.name} has no {before}"
            text = text.replace(before, pattern.format(**named))
        return text


def tile_programs(of_set: str = SETS[0]) -> Iterator[TileProgram]:
    """All programs of a set, by name."""
    found: dict[str, Any] = json.loads((CORPUS / of_set / "tiles.json").read_text())
    for name, about in sorted(found.items()):
        yield TileProgram(**about | {"name": name, "own": tuple(about["own"]), "of_set": of_set})
