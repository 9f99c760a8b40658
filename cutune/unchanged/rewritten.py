"""Kept rewritten sources: what `cutune nvcc` compiles again where nothing has changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from cutune.core.workspace import Json, make_folder, write_text
from cutune.unchanged.digests import text_of
from cutune.unchanged.inputs import UNKNOWN, Request, inputs_of
from cutune.unchanged.keeper import Keeper
from cutune.unchanged.store import found_in, save_in

#: The kind of result, and how many are kept.
REWRITTEN, MOST_REWRITTEN = "rewritten", 256


@dataclass(frozen=True)
class KeptRewriting:
    """A source as it was rewritten.

    Attributes:
        inputs: see `Inputs`.
        shadow: how it is compiled, for who compiles it; None where it is compiled as it is.
        texts: those of all files that were written.
    """

    inputs: dict[str, str]
    shadow: Json | None
    texts: dict[str, str]

    @staticmethod
    def keep(keeper: Keeper, shadow: Json | None, files: Iterable[str]) -> None:
        """Keep what was just made, unless an input has changed since."""
        try:
            inputs = keeper.settled()
            if inputs is not None:
                texts = {path: text_of(path) for path in files}
                document = asdict(KeptRewriting(inputs.digests, shadow, texts))
                save_in(REWRITTEN, keeper.request.name, document, MOST_REWRITTEN)
        except UNKNOWN:
            return  # It is made again then.

    def write(self) -> None:
        """Write all files.

        Raises:
            CutuneError: CT002.
        """
        for path, text in self.texts.items():
            file = Path(path)
            make_folder(file.parent)
            write_text(file, text)


def rewriting_for(request: Request) -> KeptRewriting | None:
    """The kept rewriting of a request; None where there is none, or an input has changed."""
    try:
        found = found_in(REWRITTEN, request.name, KeptRewriting)
        still = found is not None and found.inputs == inputs_of(request).digests
        return found if still else None
    except UNKNOWN:
        return None
