"""Constants on which launches depend, for `inspect`. Takes a `Program`, gives them by kernel.

Which values they may have follows from the configurations of the launches: whole numbers of threads
that CUDA launches, with as much shared memory as there is. Whether the kernel does the same with
them is known of copies that were tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cutune.core.codes import Code
from cutune.proof.variants.text import Illegal, KernelText
from cutune.proof.variants.tile_constants import TileConstant, constants_of
from cutune.proof.variants.tile_design import combinations
from cutune.proof.variants.tiles import is_near, tile_launches
from cutune.source.host_formula import Formula
from cutune.source.kernel_variant import value_text
from cutune.source.launches.kernel_copies import launched_alone
from cutune.source.program import DIMENSIONS, Kernel, LaunchSite, Program
from cutune.source.syntax.tokens import Token
from cutune.source.unit.kernel_texts import KernelTexts

_LOOPS = frozenset({"for", "while"})
_CHOSEN = "the block is chosen itself: the kernel does the same in any"


@dataclass(frozen=True)
class LaunchConstant:
    """A constant of a kernel.

    Attributes:
        kind: `macro`, `constant`, `template argument` or `number`.
        value: the program's own.
        uses: what depends on it: `block x`, `grid y`, `shared memory`, `loop`.
        allowed: other values with which there is a launch, alone or together with others.
        same: those with which the kernel does the same, as was tried.
        reason: why others are not used; "" if all are.
    """

    kernel: str
    name: str
    kind: str
    value: int
    uses: tuple[str, ...]
    allowed: tuple[int, ...]
    same: tuple[int, ...]
    reason: str

    @property
    def text(self) -> str:
        """A line about it."""
        parts = [
            f"{self.kernel}: {self.kind} {value_text(self.name, self.value)}"
            if self.kind != "number"
            else f"{self.kernel}: number {self.value}",
            f"in {', '.join(self.uses)}",
            f"may be {', '.join(map(str, self.allowed))}"
            if self.allowed
            else "may be nothing else",
        ]
        if self.same:
            parts.append(f"does the same with {', '.join(map(str, self.same))}")
        return "; ".join([*parts, self.reason] if self.reason else parts)


def launch_constants(program: Program) -> Iterator[LaunchConstant]:
    """Yield the constants of all kernels whose launches can be read."""
    texts = KernelTexts((program.source, *program.headers))
    for kernel, sites in launched_alone(program):
        if kernel.elsewhere is None and all(site.resolved is not None for site in sites):
            # A text that may not be repeated has no copies, and is not looked at.
            with suppress(Illegal):
                yield from _of_kernel(KernelText(kernel, texts), sites)


def _of_kernel(text: KernelText, sites: Sequence[LaunchSite]) -> Iterator[LaunchConstant]:
    constants = constants_of(text, sites)
    legal = [
        values
        for values in combinations([o.value for o in constants], [o.beside for o in constants])
        if any(
            not is_near(constants, values, tile)
            for asks in (False, True)
            for tile in tile_launches(text, sites, constants, values, asks)
        )
    ]
    reason = _reason(text.kernel)
    for place, one in enumerate(constants):
        allowed = {values[place] for values in legal} - {one.value}
        tried = (dict(copy.tile.values) for copy in text.kernel.tiles if copy.tile is not None)
        same = {values[one.inside] for values in tried if one.inside in values}
        left = reason if allowed - same else ""
        about = one.value, _uses(one, text.body, sites), (*sorted(allowed),), (*sorted(same),)
        yield LaunchConstant(text.kernel.name, one.inside, _kind(one), *about, left)


def _kind(one: TileConstant) -> str:
    words = {"macro": one.is_macro, "template argument": one.is_parameter, "number": one.is_number}
    return next((word for word, holds in words.items() if holds), "constant")


def _reason(kernel: Kernel) -> str:
    if not kernel.tiles and kernel.pure_dimensions:
        return _CHOSEN
    said = (why for _, why in kernel.variant_reasons if why.code is Code.VARIANT_TILE)
    told = "; ".join(dict.fromkeys(why.what for why in said))
    return told or (kernel.reason.message if kernel.reason is not None else "")


def _uses(one: TileConstant, body: Sequence[Token], sites: Sequence[LaunchSite]) -> tuple[str, ...]:
    found = dict.fromkeys(use for site in sites for use in _uses_in_launch(one, site))
    return (*found, *dict.fromkeys(_uses_in_body(one, body)))


def _uses_in_launch(one: TileConstant, site: LaunchSite) -> Iterator[str]:
    resolved = site.resolved
    assert resolved is not None, "a launch that is read"
    shapes: list[tuple[str, Formula]] = [
        (f"{word} {axis}", formula)
        for word, shape in (("block", resolved.block), ("grid", resolved.grid))
        for axis, formula in zip(DIMENSIONS, shape, strict=True)
    ]
    shapes += [("shared memory", resolved.shared)] if resolved.shared is not None else []
    for use, formula in shapes:
        if one.is_in(formula):
            yield use


def _uses_in_body(one: TileConstant, body: Sequence[Token]) -> Iterator[str]:
    name = str(one.value) if one.is_number else one.inside
    within, depth = "", 0
    for place, token in enumerate(body):
        if token.text in _LOOPS:
            within, depth = "loop", 0
        elif token.text == "__shared__":
            within, depth = "shared memory", 0
        depth += (token.text == "(") - (token.text == ")")
        is_end = token.text == ")" if within == "loop" else token.text == ";"
        if within and token.text == name:
            yield within
        if is_end and depth == 0 and body[place - 1].text not in _LOOPS:
            within = ""
