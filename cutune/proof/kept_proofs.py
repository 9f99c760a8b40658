"""Proofs that were made before. Takes PTX and the name of an entry, gives what is kept of it.

A proof follows from the text, and from the code of the prover: both are in the key. Every verb
asks for the same ones. They lie in the user's cache, which holds code of the emulated device, too.
"""

from __future__ import annotations

import pickle
import sys
from base64 import b64decode, b64encode
from functools import cache
from pathlib import Path

from cutune.proof.entry_proof import EntryProof
from cutune.toolchain.cache import cache_folder, keep_text, kept_text, key_of

#: The rooms on whose code a proof depends.
_ROOMS = ("core", "ptx", "toolchain", "space", "source", "proof")


@cache
def _prover() -> str:
    """A digest of all that makes proofs."""
    root = Path(__file__).parents[1]
    files = sorted(file for room in _ROOMS for file in (root / room).rglob("*.py"))
    return key_of(sys.version, *(file.read_text("utf-8") for file in files))


def place_of_proof(text: str, entry: str) -> Path:
    return cache_folder() / "proofs" / key_of(_prover(), text, entry)


def kept_proof(place: Path) -> EntryProof | None:
    """The proof that is kept there; None where there is none, or it is damaged."""
    digest, _, kept = (kept_text(place) or "").partition("\n")
    if digest != key_of(kept):
        return None
    proof: EntryProof = pickle.loads(b64decode(kept))
    return proof


def keep_proof(place: Path, proof: EntryProof) -> None:
    kept = b64encode(pickle.dumps(proof)).decode("ascii")
    keep_text(place, f"{key_of(kept)}\n{kept}")
