"""All that may be reached. Takes where to begin and what follows, gives each thing once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T", bound=Hashable)


def reached(starts: Iterable[T], following: Callable[[T], Iterable[T]]) -> Iterator[T]:
    """Yield these and all that follows from them, directly or not; what was found last first."""
    waiting, seen = [*starts], set[T]()
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            yield one
            waiting += following(one)
