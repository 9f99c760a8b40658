"""Linear algebra on one thread: matrices of samples are small, threads would wait for each other.

Gives a context in which the libraries of numpy and scipy start no threads.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache

import scipy.linalg  # noqa: F401 : it has a library of its own, which has to be loaded
from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[object]:
    """Within it, linear algebra runs on the thread that asks for it."""
    context: AbstractContextManager[object] = _libraries().limit(limits=1, user_api="blas")
    return context


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
