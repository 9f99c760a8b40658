"""Stands in until launches can take random configurations: hooks that keep each launch's own."""

from __future__ import annotations

from pathlib import Path

from cutune.program import Program
from cutune.session import Session
from cutune.shadow import Target


def random_program(session: Session, program: Program, seed: int, target: Target) -> Path:
    """The program with hooks at its launches."""
    return target.write(session.instrument(program))
