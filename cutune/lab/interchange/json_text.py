"""JSON within a file, with the place of each of its entries. Takes a source, gives checked data.

All that is wrong with it is one diagnostic, at the entry that is wrong (CT821).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.core.source import Source, Span
from cutune.core.typed import parsed, typed

T = TypeVar("T")
Path = tuple[str | int, ...]
#: What msgspec puts behind a reason: ` - at `$.results[3].times``.
_AT = re.compile(r" - at `(?:key in )?\$([^`]*)`$")
_STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]")
_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class JsonText:
    """A document or a line: a part of a source. `kind`: its format, as people call it."""

    source: Source
    kind: str
    start: int
    end: int

    @staticmethod
    def whole(source: Source, kind: str) -> JsonText:
        return JsonText(source, kind, 0, len(source.text))

    @staticmethod
    def lines(source: Source, kind: str) -> Iterator[JsonText]:
        """Yield each line that is not empty."""
        start = 0
        for line in source.text.split("\n"):
            if line.strip():
                yield JsonText(source, kind, start, start + len(line))
            start += len(line) + 1

    @property
    def bytes(self) -> bytes:
        return self.source.text[self.start : self.end].encode("latin-1")

    @cached_property
    def text(self) -> str:
        """The text in characters. Raises CT821 where it is no UTF-8."""
        try:
            return self.bytes.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self._at_byte("it is no UTF-8", error.start) from None

    def read(self, ending: str = "") -> Any:
        """Return its data. `ending`: what is missing at its end. Raises CT821."""
        try:
            return parsed(self.text + ending)
        except json.JSONDecodeError as error:
            raise self.wrong(f"no JSON: {error.msg}", error.pos) from None
        except ValueError as error:
            raise self.wrong(f"no JSON: {str(error)[:80]}", 0) from None

    def typed(self, kind: type[T], data: object, *path: str | int) -> T:
        """Return the value of a type that a part of the data stands for. Raises CT821."""
        try:
            return typed(kind, data)
        except ValueError as error:
            text = str(error)
            place = _AT.search(text)
            reason, steps = (text[: place.start()], place[1]) if place else (text, "")
            inner = tuple(int(i) if i else name for name, i in _STEP.findall(steps))
            named = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in inner)
            raise self.at(f"{reason}{f' in {named}' if named else ''}", *path, *inner) from None

    def at(self, reason: str, *path: str | int) -> CutuneError:
        return self.wrong(reason, self._offset(path))

    def wrong(self, reason: str, character: int) -> CutuneError:
        """Return the error of a place, which is counted in characters of the text."""
        return self._at_byte(reason, len(self.text[:character].encode()))

    def _at_byte(self, reason: str, offset: int) -> CutuneError:
        start = min(self.start + offset, max(self.end - 1, self.start))
        place = Span(start, start + 1) if self.source.text else None
        return CutuneError.at(Code.BAD_RESULTS, self.source, place, kind=self.kind, reason=reason)

    def _offset(self, path: Path) -> int:
        """Return where an entry begins, or the last one on the way to it that is there."""
        at = _skipped(self.text, 0)
        for step in path:
            entries = _entries(self.text, at)
            inner = next((place for key, place in entries if key == step), None)
            if inner is None:
                return at
            at = inner
        return at


def _entries(text: str, at: int) -> Iterator[tuple[str | int, int]]:
    """Yield the keys or numbers of an object's or list's entries, and where each value begins."""
    decoder, is_object = json.JSONDecoder(), text[at : at + 1] == "{"
    number, at = 0, _skipped(text, at + 1)
    # The text has been parsed before; one that was completed at its end stops earlier.
    while at < len(text) and text[at] not in "]}":
        key: str | int = number
        if is_object:
            key, at = decoder.raw_decode(text, at)
            at = _skipped(text, _skipped(text, at) + 1)
        yield key, at
        try:
            _, at = decoder.raw_decode(text, at)
        except ValueError:
            return
        at = _skipped(text, at)
        if text[at : at + 1] == ",":
            at = _skipped(text, at + 1)
        number += 1


def _skipped(text: str, at: int) -> int:
    blanks = _SPACE.match(text, at)
    return at if blanks is None else blanks.end()


def member(data: object, name: str) -> Any:
    """Return a member of an object; None where there is none."""
    return data.get(name) if isinstance(data, Mapping) else None
