"""Watches the inputs of a request while it is answered; gives them, if none changed meanwhile."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from cutune.tuning.cache.digests import files_digest, is_untouched_since
from cutune.tuning.cache.inputs import Inputs, Request, inputs_of

#: The clock of files is read less often than ours.
_CLOCK_NANOSECONDS = 20_000_000


@dataclass(frozen=True)
class Keeper:
    """A request that is being answered. `started`: when, by the clock of files."""

    request: Request
    inputs: Future[Inputs]
    started: int

    @staticmethod
    def begin(request: Request) -> Keeper | None:
        """Look at all inputs while the request is answered; None if they cannot be known."""
        if request.unknown:
            return None
        return Keeper.watching(request)

    @staticmethod
    def watching(request: Request) -> Keeper:
        """Look at all inputs, where options of the linker do not matter."""
        started = time.time_ns() - _CLOCK_NANOSECONDS
        pool = ThreadPoolExecutor(1)
        inputs = pool.submit(inputs_of, request)
        pool.shutdown(wait=False)
        return Keeper(request, inputs, started)

    def wait(self) -> None:
        """Until all inputs were read, or could not be."""
        self.inputs.exception()

    def settled(self) -> Inputs | None:
        """The inputs, unless one may have changed since.

        Raises:
            CutuneError: they cannot be read.
        """
        inputs = self.inputs.result()
        read = [*inputs.files, *inputs.others]
        is_same = files_digest(inputs.files) == inputs.digests["files"]
        return inputs if is_same and is_untouched_since(read, self.started) else None
