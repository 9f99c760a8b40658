"""ELF programs. Takes a path, gives the libraries and names that it needs, and the code it holds.

Layout: System V ABI, chapters 4 (sections) and 5 (dynamic linking). Only 64-bit little-endian
files, which is what nvcc makes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

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


@dataclass(frozen=True)
class _Section:
    name: int
    kind: int
    offset: int
    size: int
    link: int


def read_linkage(path: Path) -> Linkage | None:
    """The linkage of a file; None if it is not a 64-bit ELF file, for instance a script.

    Raises:
        OSError: when it cannot be read.
    """
    return _told(path, _linkage)


def read_imports(path: Path) -> frozenset[str] | None:
    """The names that a program takes from libraries; None where that cannot be told.

    Raises:
        OSError: when it cannot be read.
    """
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
    sections, _ = _sections(data)
    tables = [section for section in sections if section.kind == _DYNAMIC_SYMBOLS]
    return frozenset(name for table in tables for name in _undefined(data, sections, table))


def _undefined(data: bytes, sections: list[_Section], table: _Section) -> Iterator[str]:
    strings, end = sections[table.link], table.offset + table.size
    for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", data[table.offset : end]):
        if section == 0 and name:
            yield _text(data, strings.offset + name)


def is_loadable(path: Path) -> bool:
    """Is it a program, or a library that programs load?"""
    with path.open("rb") as file:
        head = file.read(18)
    return head[:6] == _ELF and head[16:] in (b"\x02\x00", b"\x03\x00")


def code_hash(path: Path) -> str:
    """Hash the code and the constant data of a program, of host and devices.

    Empty where that cannot be told, for instance of a script.

    Raises:
        OSError: when the file cannot be read.
    """
    return _told(path, _hash_of_code) or ""


def _hash_of_code(data: bytes) -> str:
    sections, names = _sections(data)
    content = sha256()
    for section in sections:
        name = _text(data, names.offset + section.name)
        if name in _CODE:
            content.update(f"{name} {section.size} ".encode())
            content.update(data[section.offset : section.offset + section.size])
    return content.hexdigest()[:16]


def _sections(data: bytes) -> tuple[list[_Section], _Section]:
    """All sections, and the one that holds their names."""
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 0x3A)
    sections = [_section(data, table + i * entry_size) for i in range(count)]
    return sections, sections[names_index]


def _linkage(data: bytes) -> Linkage:
    sections, names = _sections(data)
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
    found = frozenset(_text(data, names.offset + section.name) for section in sections)
    return Linkage(tuple(needed), tuple(search_path), found)


def _section(data: bytes, at: int) -> _Section:
    name, kind = struct.unpack_from("<II", data, at)
    offset, size, link = struct.unpack_from("<QQI", data, at + 0x18)
    return _Section(name, kind, offset, size, link)


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode("utf-8", "replace")
