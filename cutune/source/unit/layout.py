"""Where the members of plain structures lie. Takes a type, gives offsets as the compiler lays out.

Natural alignment only: users of an offset compare the size of the whole with the compiled one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cutune.source.unit.integers import integer_type
from cutune.source.unit.structures import Structure, Structures

_REAL_BYTES = {"float": 4, "double": 8, "half": 2, "__half": 2, "__nv_bfloat16": 2}
_REAL_BYTES |= {"nv_bfloat16": 2, "__half2": 4}
_POINTER_BYTES = 8
#: CUDA's vectors of two and four are aligned as a whole, up to so many bytes.
_MOST_ALIGNMENT = 16


class Layout(NamedTuple):
    """Size and alignment of a type, and where its scalar members lie: offset and bytes by name."""

    bytes: int
    alignment: int
    members: dict[str, tuple[int, int]]


def layout(structures: Structures, words: Sequence[str]) -> Layout | None:
    """The layout of a type; None where it is not known."""
    if "*" in words:
        return Layout(_POINTER_BYTES, _POINTER_BYTES, {})
    integer = integer_type(words, structures.unit.typedefs)
    if integer is not None:
        return Layout(integer.bits // 8, integer.bits // 8, {})
    if len(words) == 1 and words[0] in _REAL_BYTES:
        size = _REAL_BYTES[words[0]]
        return Layout(size, size, {})
    structure = structures.of(words)
    return _structure(structures, structure) if structure is not None else None


def _structure(structures: Structures, structure: Structure) -> Layout | None:
    offset, alignment = 0, 1
    members: dict[str, tuple[int, int]] = {}
    for name, words in structure.members.items():
        inner = layout(structures, words)
        if inner is None:
            return None
        offset += -offset % inner.alignment
        if not inner.members:
            members[name] = offset, inner.bytes
        for path, (place, size) in inner.members.items():
            members[f"{name}.{path}"] = offset + place, size
        offset += inner.bytes
        alignment = max(alignment, inner.alignment)
    if _is_vector(structure):
        alignment = max(alignment, min(offset, _MOST_ALIGNMENT))
    return Layout(offset + -offset % alignment, alignment, members)


def _is_vector(structure: Structure) -> bool:
    return (
        structure.path.count("::") == 1
        and structure.path[-1] in "24"
        and [*structure.members] == [*"xyzw"[: len(structure.members)]]
    )
