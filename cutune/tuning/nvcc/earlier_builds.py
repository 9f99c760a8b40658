"""Proofs of an earlier build. Takes the inputs of a changed source, gives what it may keep.

Most changes are of host code, and leave the device code as it is. Whether they do, is known when
nvcc has compiled the rewritten source: it holds all kernels and copies that are launched. So the
rewritten source is made as if the device code were that of the earlier build, and compiled. If the
PTX that nvcc writes then is that of the earlier rewritten source, all holds that was proven of it,
and nothing was compiled for proofs. If not, all is made anew, without the earlier code.

What follows from the text is found each time. An earlier build counts only if cutune, compilers,
options, variables and models were the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from cutune.core.diagnostics import CutuneError
from cutune.core.typed import parsed, typed
from cutune.toolchain.built_code import without_asserted_lines, without_lines
from cutune.toolchain.cache import cache_folder, keep_text, kept_text, key_of
from cutune.toolchain.earlier_code import EarlierCode
from cutune.toolchain.preprocessed import without_lines as text_without_lines
from cutune.tuning.inputs import Inputs, digest

FOLDER = "earlier"


@dataclass(frozen=True)
class EarlierBuild:
    """The code of a build. `about`: see `Inputs.about`. `plain`: see `plain_digest`.

    `compiled`: what proofs were made of, see `EarlierCode`. `built`: digests of the PTX that nvcc
    wrote for the rewritten source, by the names of its files.
    """

    about: str
    plain: str
    compiled: dict[str, str]
    built: dict[str, str]


def earlier_build(name: str, inputs: Inputs) -> EarlierBuild | None:
    """The newest build of an equal request (`Request.name`), if what is assumed may still hold."""
    check, _, text = (kept_text(_place(name)) or "").partition("\n")
    if check != key_of(text):
        return None
    try:
        found = typed(EarlierBuild, parsed(text))
    except ValueError:
        return None
    return found if found.about == inputs.about and found.built else None


def plain_digest(inputs: Inputs) -> str:
    """A digest of what is compiled, without comments and lines; empty where these count."""
    plain = [text_without_lines(text) for text in inputs.texts]
    return digest(*plain) if plain and all(plain) else ""


@dataclass(frozen=True)
class Making:
    """A rewriting that was made now, of which more is kept once nvcc has compiled it.

    `assumed`: the build whose code it was made with; None: with its own. `keep`: keeps what was
    assumed, unless an input has changed meanwhile; was it kept?
    """

    name: str
    inputs: Inputs
    code: EarlierCode
    assumed: EarlierBuild | None
    keep: Callable[[], bool]

    @cached_property
    def _plain(self) -> str:
        return plain_digest(self.inputs)

    @property
    def is_alike(self) -> bool:
        """Do only comments and lines differ from what the assumed build compiled?"""
        return self.assumed is not None and self.assumed.plain == self._plain != ""

    def was_given(self) -> None:
        """Keep it: an object of the same text is known, so that what was assumed holds."""
        if self.assumed is not None and self.keep():
            self._keep_code(self.assumed.built)

    def was_compiled(self, folder: Path) -> bool:
        """Keep it if what was assumed holds; does it? `folder`: where nvcc has written PTX."""
        built = _digests(folder)
        if self.assumed is not None and built != self.assumed.built:
            return False
        if self.keep() and built is not None:
            self._keep_code(built)
        return True

    def _keep_code(self, built: Mapping[str, str]) -> None:
        with suppress(CutuneError):  # Not all of it compiles.
            code = self.code.found()
            build = EarlierBuild(self.inputs.about, self._plain, code, dict(built))
            text = json.dumps(asdict(build))
            keep_text(_place(self.name), f"{key_of(text)}\n{text}")


def _digests(folder: Path) -> dict[str, str] | None:
    """Digests of the PTX in a folder, without lines; None where some is not known."""
    found = {}
    for file in sorted(folder.glob("*.ptx")):
        text = without_lines(file.read_text(encoding="latin-1"))
        if text is None:
            return None
        found[file.name] = digest(without_asserted_lines(text))
    return found or None


def _place(name: str) -> Path:
    return cache_folder() / FOLDER / f"{name}.json"
