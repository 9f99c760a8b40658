"""Chooses the workers of a command line. Takes parsed options, gives `Workers`.

Nothing of dask is imported unless the options name it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.search.tunables.verb_options import DASK, LOCAL, SLURM
from cutune.search.workers.crew import Workers
from cutune.search.workers.local import LocalWorkers, check_gpus

#: A GPU as `CUDA_VISIBLE_DEVICES` has it: a number, or the beginning of a UUID.
_GPU = re.compile(r"[0-9]{1,4}|(?:GPU|MIG)-[0-9A-Za-z/-]{1,80}")

Refuse = Callable[[str], NoReturn]


def workers_of(
    options: argparse.Namespace, is_on_gpu: bool, folder: Path, refuse: Refuse
) -> Workers:
    """Return the workers of the options; without any option one for this machine.

    Their output goes to `folder`; `refuse` ends with a message about wrong usage. Raises CT421,
    CT837, CT838, and as `dask_workers` and `slurm_jobs`.
    """
    executor = options.executor or (DASK if options.scheduler else LOCAL)
    gpus = _gpus(options.gpus, refuse)
    if options.scheduler and (executor != DASK or gpus):
        refuse("--scheduler is for --executor dask, whose workers have their GPUs: no --gpus")
    if executor == SLURM and (gpus or options.workers is None or options.workers < 1):
        refuse("--executor slurm needs --workers COUNT, at least 1, and no --gpus")
    if executor != SLURM and (options.workers is not None or options.sbatch):
        refuse("--workers and --sbatch are for --executor slurm; on this machine: --gpus 0,1")
    if executor == DASK and not gpus and not options.scheduler:
        refuse("--executor dask needs --scheduler ADDRESS, or GPUs of this machine: --gpus 0,1")
    if gpus and is_on_gpu:
        check_gpus(gpus)
    if executor == LOCAL:
        return LocalWorkers(gpus)
    try:
        if executor == SLURM:
            from cutune.search.workers.slurm_jobs import slurm_workers

            return slurm_workers(options.workers, options.sbatch, is_on_gpu, folder / SLURM)
        from cutune.search.workers.dask_workers import connected, own_workers

        return connected(options.scheduler) if options.scheduler else own_workers(gpus)
    except ModuleNotFoundError as error:
        package = "dask-jobqueue" if error.name == "dask_jobqueue" else "distributed"
        raise CutuneError.at(Code.EXECUTOR_NEEDS, name=executor, package=package) from error


def _gpus(text: str | None, refuse: Refuse) -> tuple[str, ...]:
    if text is None:
        return ()
    gpus = tuple(word.strip() for word in text.split(","))
    # 1 and 01 are one GPU.
    plain = tuple(str(int(one)) if one.isascii() and one.isdigit() else one for one in gpus)
    if not all(map(_GPU.fullmatch, plain)) or len({*plain}) < len(plain):
        refuse(f"--gpus takes numbers of GPUs, each once, as 0,1, not '{text}'")
    return plain
