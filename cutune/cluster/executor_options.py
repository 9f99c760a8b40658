"""Options for several GPUs. Takes the parsers of verbs that run trials, adds options."""

from __future__ import annotations

import argparse

from cutune.core.options import add_list

LOCAL, DASK, SLURM = "local", "dask", "slurm"
#: The names of these options.
WORKER_OPTION_NAMES = ("executor", "gpus", "scheduler", "workers", "sbatch")


def add_cluster_options(verb: argparse.ArgumentParser) -> None:
    """Options for several GPUs."""
    group = verb.add_argument_group("several GPUs for the trials of parameters")
    group.add_argument(
        "--executor",
        choices=(LOCAL, DASK, SLURM),
        help="what runs trials: processes here (default), workers of dask, jobs of Slurm",
    )
    group.add_argument(
        "--gpus",
        metavar="0,1",
        help="a worker for each of these GPUs of this machine, as nvidia-smi numbers them",
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="with dask: the workers of this scheduler, which have a GPU each",
    )
    group.add_argument(
        "--workers", type=int, metavar="COUNT", help="with slurm: so many jobs, of one GPU each"
    )
    add_list(
        group,
        "--sbatch",
        metavar="OPTION",
        help="with slurm: an option of sbatch, such as --sbatch=--partition=gpu",
    )
