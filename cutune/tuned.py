"""Runs a script with what `cutune tune SCRIPT` has written: kernels choose their thread blocks.

`python3 -m cutune.tuned script.py` runs it so; `import cutune.tuned`, at its beginning, does the
same from within.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

if __name__ == "__main__":  # Run by its path, it is found beside its package.
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from cutune.tuning.script_packages import begin
from cutune.tuning.script_session import LIBRARY, NOTE, Session, folder_of, run_script


def _is_off() -> bool:
    return "off" in os.environ.get("CUTUNE", "").split(",")


def _main(words: Sequence[str]) -> None:
    option = words[0] if len(words) > 2 and words[0] in (NOTE, LIBRARY) else ""
    script, *rest = words[2:] if option else words
    if option == NOTE:
        begin(Session.noting(words[1]))
    elif option == LIBRARY:
        begin(Session.with_library(words[1]))
    elif not _is_off():
        begin(Session.of(folder_of(script)))
    run_script(script, rest)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python3 -m cutune.tuned SCRIPT …")
    _main(sys.argv[1:])
elif not _is_off() and hasattr(sys.modules["__main__"], "__file__"):
    begin(Session.of(folder_of(str(sys.modules["__main__"].__file__))))
