"""The command line: one verb per stage.

Exit status: 0 done, 1 errors in the input, 2 wrong usage.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence

from cutune.cli.common import parse, show
from cutune.cli.usage.parser import VERBS
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic
from cutune.core.processes import CompilerKilled

#: Of what cannot be written: a full device, a quota, an error of the device.
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EIO))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb; the status for the shell."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if words[:1] == ["nvcc"]:
        from cutune.tuning.nvcc.driver import main_nvcc

        return main_nvcc(words[1:])
    options = parse(words)
    try:
        status: int = next(v for v in VERBS if v.name == options.verb).handler()(options)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader of a pipe went away; that is its right.
        sys.stderr.close()
        return 1
    except OSError as error:
        if error.filename is not None or error.errno not in _FULL:
            raise
        # Whatever else is in the buffer goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        reason = error.strerror
        show(Diagnostic.at(Code.UNWRITABLE_FILE, path="standard output", reason=reason))
        return 1
    except CutuneError as error:
        show(error.diagnostic)
        return 1
    except CompilerKilled as error:
        show(error.diagnostic)
        return 128 + error.signal
    except KeyboardInterrupt:
        return 130
