"""Kernels of several namespaces that share a name. Takes kernels, gives each a name of its own.

`moments::mean` and `strain::mean` are two kernels. Where not the same is proven of both, they are
called by their qualified names, and a launch of `mean` belongs to that which the compiler says it
calls.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from cutune.core.diagnostics import CutuneError
from cutune.proof.analysis.host_calls import HostLaunch, launches_by_place
from cutune.source.launches.callees import last_name
from cutune.source.launches.verdicts import are_alike
from cutune.source.program import Kernel
from cutune.source.syntax.directives import renumbers
from cutune.source.syntax.parse import Launch, Syntax
from cutune.toolchain.kernel_names import (
    base_name,
    is_qualified,
    plain_name,
    qualified,
    qualified_name,
)

AskLaunches = Callable[[], Sequence[HostLaunch]]
"""The launches of a source as the compiler resolves them.

Raises CutuneError where it cannot be asked.
"""


def distinctly_named(
    declared: Iterable[Kernel], proven: Mapping[str, Sequence[Kernel]]
) -> list[Kernel]:
    """The kernels, with qualified names where that lets more launches be tuned.

    `proven`: what is proven of all kernels of each name together.
    """
    parted = {name for name, kernels in proven.items() if _are_parted(kernels)}
    return [
        replace(one, name=qualified(one.scope or (), one.name)) if one.name in parted else one
        for one in declared
    ]


def _are_parted(kernels: Sequence[Kernel]) -> bool:
    scopes = {kernel.scope for kernel in kernels}
    is_tunable = all(kernel.pure_dimensions for kernel in kernels) and are_alike(kernels)
    return len(scopes) > 1 and None not in scopes and not is_tunable


def by_last_name(by_name: Mapping[str, Sequence[Kernel]]) -> Mapping[str, Sequence[Kernel]]:
    """Also all kernels whose names end alike, by that end."""
    found: defaultdict[str, list[Kernel]] = defaultdict(list)
    for name, kernels in by_name.items():
        found[plain_name(name)] += kernels
    return {**found, **by_name}


def launched_kernels(
    syntax: Syntax, by_name: Mapping[str, Sequence[Kernel]], ask_launches: AskLaunches
) -> dict[int, str]:
    """Qualified names of kernels that launches call, by the first byte of the launch.

    Those are left out of which the compiler does not say for certain which one it is.
    """
    shared = {plain_name(name) for name in by_name if is_qualified(name)}
    names = {one.callee[0]: last_name(syntax.part(one.callee)) for one in syntax.launches}
    if shared.isdisjoint(names.values()) or renumbers(syntax.source.text):
        return {}
    try:
        places = launches_by_place(ask_launches())
    except CutuneError:
        return {}
    found, path = {}, os.path.realpath(syntax.source.path)
    for launch in syntax.launches:
        name, start = names[launch.callee[0]], syntax.tokens[launch.callee[0]].start
        line = syntax.source.location(start).line
        entries = {e for one in places[path, line] for e in one.entries}
        called = {qualified_name(entry) for entry in entries if base_name(entry) == name}
        if len(called) > 1:
            # Another launch of that line calls the other one.
            called = {one for one in called if _may_name(syntax, launch, one)}
        if name in shared and len(called) == 1 and called <= by_name.keys():
            found[start] = called.pop()
    return found


def _may_name(syntax: Syntax, launch: Launch, kernel: str) -> bool:
    words = [token.text for token in syntax.part(launch.callee)]
    written = "".join(words[: words.index("<")] if "<" in words else words)
    return f"::{kernel}".endswith(f"::{written.removeprefix('::')}")
