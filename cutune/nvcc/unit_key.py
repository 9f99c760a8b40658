"""The name of a source in a workspace. Takes a command and one of its sources; starts quickly."""

from __future__ import annotations

import os

from cutune.nvcc.command import Command, Item
from cutune.nvcc.options import DECIDES_TEXT

#: The folder of a workspace that holds one folder per key.
UNITS = "units"
#: Stands in that of a source whose kernels others launch.
LENDS = "lends"


def unit_key(command: Command, source: Item) -> str:
    """The key of a source: a hash of its path, macros and forced headers."""
    # Most calls have no workspace, and start quicker without.
    import hashlib  # noqa: PLC0415

    deciding = [(i.name, i.value) for i in command.items if i.name in DECIDES_TEXT]
    deciding += [
        ("compiler-options", value)
        for value in command.values("compiler-options")
        if value.startswith(("-D", "-U", "-include"))
    ]
    identity = repr((os.path.realpath(source.value), deciding))
    return hashlib.sha256(identity.encode(errors="surrogateescape")).hexdigest()[:16]
