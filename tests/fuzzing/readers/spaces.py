"""T1: spaces of other tuners, which are read, joined with conditions, drawn from and written."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from itertools import islice

from cutune.core.diagnostics import CutuneError
from cutune.source.syntax.tokens import word_set
from cutune.space.space import Space
from cutune.space.t1 import read_t1, to_t1
from tests.fuzzing.reader import Reader, Scratch

PIECES = sorted(
    word_set(
        r"""
    ConfigurationSpace TuningParameters Conditions Expression Parameters Name Values Type int string
    range( list( ) [ ] , for i in if x y z == != <= >= < > + - * / // % ** and or not min( max( abs(
    math.ceil( lambda 1 0 -1 2 1e999 99999999999999999999 1/0 'a' \"a\" True False None ( ) { } : "
    [i\ for\ i\ in\ range(9)] range(10**9) 2**2**2**9 x*y<=1024 x%y==0 __import__( . ; \\ \n \u0000
    """
    )
)
_VALUES = ("[1, 2, 4]", "list(range(32, 128 + 1, 32))", "[2**i for i in range(0, 6)]", [8, 16])
_CONDITIONS = ("x * y <= 64", "x % 2 == 0 or y > 3", "not (x < y) and z != 16", "min(x, z) >= 1")
_SCRATCH = Scratch()


def check(data: bytes) -> None:
    """Read a space, and use it as a search does."""
    path = _SCRATCH.file("space.json", data)
    try:
        found = read_t1(path)
        space = Space.of(found.parameters, found.conditions)
        assert space.size > 0
        rng = random.Random(1)
        for configuration in (*islice(space, 3), space.configuration(rng.randrange(space.size))):
            assert configuration in space
            for table in space.tables:
                row = table.index(configuration)
                assert row is not None
                table.nearest(row, 3)
        to_t1(space, {}, {})
    except CutuneError as error:
        error.diagnostic.render()


def seeds() -> Iterator[bytes]:
    """Spaces with all ways to write values and conditions."""
    for values in _VALUES:
        yield _space({"x": values, "y": "[1, 2, 3]"}, ["x >= y"])
    texts = {"x": _VALUES[0], "y": _VALUES[1], "z": _VALUES[3]}
    for condition in _CONDITIONS:
        yield _space(texts, [condition])
    yield _space({**texts, "mode": "['fast', 'slow']"}, _CONDITIONS)


def _space(values: Mapping[str, object], conditions: object) -> bytes:
    assert isinstance(conditions, (list, tuple))
    parameters = [{"Name": name, "Type": "int", "Values": one} for name, one in values.items()]
    listed = [{"Parameters": list(values), "Expression": text} for text in conditions]
    space = {"TuningParameters": parameters, "Conditions": listed}
    return json.dumps({"ConfigurationSpace": space}).encode()


READER = Reader(check, seeds, PIECES, 4_000)
