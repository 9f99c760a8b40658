"""Options for trials, several GPUs and measured times. Takes parsers of verbs, adds options."""

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


#: Instead of a model: the best measured block at the nearest sizes.
NEIGHBOURS = "neighbours"
#: Time that may be lost at a measured size for fewer intervals.
LIMIT_PERCENT = 4.0
#: The names of `search.techniques.registry`, which takes scipy to import; the first is the default.
TECHNIQUES = (
    *("local", "random", "brute_force", "annealing", "dual_annealing", "mcmc", "basin_hopping"),
    *("differential_evolution", "nelder_mead", "powell", "direct", "genetic", "tpe"),
)


def add_host_options(verb: argparse.ArgumentParser) -> None:
    """Options of `collect` and `tune` to time regions instead of counting the work of kernels."""
    host = verb.add_argument_group("parameters of the program")
    host.add_argument(
        "--tunables",
        nargs="?",
        const="",
        metavar="m,…",
        help="run FILE in every configuration of its parameters, or of these; on a GPU its "
        "regions are timed",
    )
    host.add_argument("--repetitions", type=int, default=3, metavar="COUNT", help="default: 3")
    host.add_argument(
        "--search",
        metavar="BUDGET",
        help="on a GPU: run not all configurations but 200 at each size, or 5%% of them, or those "
        "for which 10min are enough at all sizes",
    )
    host.add_argument(
        "--technique",
        metavar="NAME",
        help=f"how to search: {', '.join(TECHNIQUES)} (default: {TECHNIQUES[0]})",
    )
    host.add_argument(
        "--start",
        metavar="NAME=VALUE,…",
        help="where a search begins (default: the program's own values)",
    )
    host.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="COUNT",
        help="programs compiled at once (default: 1)",
    )
    host.add_argument(
        "--timeout",
        type=float,
        metavar="SECONDS",
        help="of one run (default: 10, and 20 times that of the program's own configuration)",
    )
    host.add_argument(
        "--tolerance",
        type=float,
        metavar="X",
        help="by which numbers of the output may differ from those of the program's own "
        "configuration, relative or absolute (default: 1e-5, and 0 for integers)",
    )
    host.add_argument("--ignore", metavar="REGEX", help="lines of the output that are no result")
    add_cluster_options(verb)


def add_table_options(fit: argparse.ArgumentParser) -> None:
    """Options of `fit` for measured times of a program's host tunables, or of any table."""
    fit.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="program whose host tunables or blocks were measured",
    )
    group = fit.add_argument_group("measured times as CSV")
    add_list(
        group,
        "--table",
        metavar="[NAME=]FILE",
        help="a table of measured times; several: loss when the choice of one device is used on "
        "another",
    )
    group.add_argument("--model", choices=(NEIGHBOURS,), help="neighbours: nearest neighbours")
    group.add_argument("--sizes", metavar="N,…", help="columns that hold sizes")
    group.add_argument("--choose", metavar="m,…", help="columns of what is chosen")
    group.add_argument("--given", metavar="R,…", help="columns on whose value the choice depends")
    group.add_argument("--time", metavar="ms", help="column of times; without it, rows are optima")
    add_list(group, "--where", metavar="COLUMN=TEXT", help="read only these rows")
    group.add_argument(
        "--allow",
        metavar="CONDITION",
        help="leave out configurations that do not satisfy it, for instance 'N >= 2 * m'",
    )
    group.add_argument(
        "--limit",
        type=float,
        default=LIMIT_PERCENT,
        metavar="PERCENT",
        help="time that may be lost at a measured size for fewer intervals (default: 4)",
    )
    group.add_argument(
        "--split", type=int, metavar="STATE", help="also the published procedure, on this split"
    )
    group.add_argument("-o", "--output", metavar="FILE", help="FILE.json, or C (FILE.h)")
