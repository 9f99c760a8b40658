"""ELF programs. Takes a path, gives the libraries and names that it needs, and the code it holds.

Layout: System V ABI, chapters 4 (sections) and 5 (dynamic linking). Only 64-bit little-endian
files, which is what nvcc makes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

_Fact = TypeVar("_Fact")
_ELF = b"\x7fELF\x02\x01"
_DYNAMIC_SECTION, _DYNAMIC_SYMBOLS = 6, 11
#: What a program does: its instructions, constants, and the code of its kernels.
_CODE = (".text", ".rodata", ".data", ".nv_fatbin")
_NEEDED, _SEARCH_PATH = 1, (15, 29)  # DT_NEEDED; DT_RPATH and DT_RUNPATH


@dataclass(frozen=True)
class Linkage:
    """Libraries that a file needs, folders searched for them, and names of its sections."""

    needed: tuple[str, ...]
    search_path: tuple[str, ...]
    sections: frozenset[str]


class _Section(NamedTuple):
    name: str
    kind: int
    offset: int
    size: int
    link: int


def read_linkage(path: Path) -> Linkage | None:
    """The linkage of a file; None if it is no 64-bit ELF file, such as a script. Raises OSError."""
    return _told(path, _linkage)


def read_imports(path: Path) -> frozenset[str] | None:
    """The names that a program takes from libraries; None for any other file. Raises OSError."""
    return _told(path, _imports)


def _told(path: Path, tell: Callable[[bytes], _Fact | None]) -> _Fact | None:
    """Read a 64-bit ELF file with `tell`; None for any other file, and for a damaged one."""
    data = path.read_bytes()
    if data[:6] != _ELF:
        return None
    try:
        return tell(data)
    except (struct.error, IndexError, ValueError):
        return None


def _imports(data: bytes) -> frozenset[str]:
    found: set[str] = set()
    sections = _sections(data)
    for table in sections:
        if table.kind == _DYNAMIC_SYMBOLS:
            strings, end = sections[table.link], table.offset + table.size
            symbols = struct.iter_unpack("<IBBHQQ", data[table.offset : end])
            undefined = (name for name, _, _, section, _, _ in symbols if section == 0 and name)
            found.update(_text(data, strings.offset + name) for name in undefined)
    return frozenset(found)


def is_loadable(path: Path) -> bool:
    """Is it a program, or a library that programs load?"""
    with path.open("rb") as file:
        head = file.read(18)
    return head[:6] == _ELF and head[16:] in (b"\x02\x00", b"\x03\x00")


def code_hash(path: Path) -> str:
    """Hash the code and constants of a program; empty for any other file. Raises OSError."""
    return _told(path, _hash_of_code) or ""


def _hash_of_code(data: bytes) -> str:
    content = sha256()
    for section in _sections(data):
        if section.name in _CODE:
            content.update(f"{section.name} {section.size} ".encode())
            content.update(data[section.offset : section.offset + section.size])
    return content.hexdigest()[:16]


def _sections(data: bytes) -> list[_Section]:
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    headers = [struct.unpack_from("<IIQQQQI", data, table + i * entry_size) for i in range(count)]
    names = headers[names_index][4]
    return [
        _Section(_text(data, names + name), kind, offset, size, link)
        for name, kind, _, _, offset, size, link in headers
    ]


def _linkage(data: bytes) -> Linkage:
    sections = _sections(data)
    needed: list[str] = []
    search_path: list[str] = []
    for section in sections:
        if section.kind != _DYNAMIC_SECTION:
            continue
        strings = sections[section.link]
        end = section.offset + section.size
        for tag, value in struct.iter_unpack("<QQ", data[section.offset : end]):
            if tag == _NEEDED:
                needed.append(_text(data, strings.offset + value))
            elif tag in _SEARCH_PATH:
                search_path += _text(data, strings.offset + value).split(":")
    names = frozenset(section.name for section in sections)
    return Linkage(tuple(needed), tuple(search_path), names)


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode("utf-8", "replace")
