"""All that may be reached, and what leads to itself. Takes what follows, gives each thing once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
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


def circles(following: Mapping[T, Iterable[T]]) -> Iterator[list[T]]:
    """Yield the largest groups of things that lead to each other, and each that leads to itself.

    `following`: all things, and what follows from each. Each is looked at once (Tarjan).
    """
    number, lowest = dict[T, int](), dict[T, int]()
    path, on_path = list[T](), set[T]()
    for start in following:
        if start in number:
            continue
        waiting = [(start, iter(following[start]))]
        number[start] = lowest[start] = len(number)
        path.append(start)
        on_path.add(start)
        while waiting:
            one, rest = waiting[-1]
            after = next((n for n in rest if n not in number or n in on_path), None)
            if after is None:
                waiting.pop()
                if waiting:
                    before = waiting[-1][0]
                    lowest[before] = min(lowest[before], lowest[one])
                if lowest[one] == number[one]:
                    group = path[path.index(one) :] if path[-1] != one else [one]
                    del path[-len(group) :]
                    on_path.difference_update(group)
                    if len(group) > 1 or one in following[one]:
                        yield group
            elif after in number:
                lowest[one] = min(lowest[one], number[after])
            else:
                number[after] = lowest[after] = len(number)
                path.append(after)
                on_path.add(after)
                waiting.append((after, iter(following[after])))
