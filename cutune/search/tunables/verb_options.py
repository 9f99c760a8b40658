"""Options for trials, several GPUs and measured times. Takes parsers of verbs, adds options."""

from __future__ import annotations

import argparse

from cutune.core.options import add_list, add_option

LOCAL, DASK, SLURM = "local", "dask", "slurm"
WORKER_OPTION_NAMES = ("executor", "gpus", "scheduler", "workers", "sbatch")


def add_cluster_options(verb: argparse.ArgumentParser) -> None:
    group = verb.add_argument_group("several GPUs for the trials of parameters")
    executors = "what runs trials: processes here (default), workers of dask, jobs of Slurm"
    add_option(group, "--executor", executors, choices=(LOCAL, DASK, SLURM))
    gpus = "a worker for each of these GPUs of this machine, as nvidia-smi numbers them"
    add_option(group, "--gpus 0,1", gpus)
    scheduler = "with dask: the workers of this scheduler, which have a GPU each"
    add_option(group, "--scheduler ADDRESS", scheduler)
    add_option(group, "--workers COUNT", "with slurm: so many jobs, of one GPU each", type=int)
    sbatch = "with slurm: an option of sbatch, such as --sbatch=--partition=gpu"
    add_list(group, "--sbatch", metavar="OPTION", help=sbatch)


#: Instead of a model: the best measured block at the nearest sizes.
NEIGHBOURS = "neighbours"
#: Time that may be lost at a measured size for fewer intervals: the largest loss that the published
#: correction by hand accepts is 3.96 %.
LIMIT_PERCENT = 4.0
#: The names of `search.techniques.registry`, which takes scipy to import; the first is the default.
TECHNIQUES = (
    *("local", "random", "brute_force", "annealing", "dual_annealing", "mcmc", "basin_hopping"),
    *("differential_evolution", "nelder_mead", "powell", "direct", "genetic", "tpe"),
)


def add_host_options(verb: argparse.ArgumentParser) -> None:
    """Options of `collect` and `tune` to time regions instead of counting the work of kernels."""
    host = verb.add_argument_group("parameters of the program")
    add_option(
        host,
        "--tunables m,…",
        "run FILE in every configuration of its parameters, or of these; on a GPU its regions are "
        "timed",
        nargs="?",
        const="",
    )
    add_option(host, "--repetitions COUNT", "default: 3", type=int, default=3)
    add_option(
        host,
        "--search BUDGET",
        "on a GPU: run not all configurations but 200 at each size, or 5%% of them, or those for "
        "which 10min are enough at all sizes",
    )
    techniques = f"how to search: {', '.join(TECHNIQUES)} (default: {TECHNIQUES[0]})"
    add_option(host, "--technique NAME", techniques)
    start = "where a search begins; model: at the predicted fastest (default: own values)"
    add_option(host, "--start NAME=VALUE,…", start)
    add_option(host, "--jobs COUNT", "programs compiled at once (default: 1)", type=int, default=1)
    timeout = "of one run (default: 10, and 20 times that of the program's own configuration)"
    add_option(host, "--timeout SECONDS", timeout, type=float)
    add_option(
        host,
        "--tolerance X",
        "by which numbers of the output may differ from those of the program's own "
        "configuration, relative or absolute (default: 1e-5, and 0 for integers)",
        type=float,
    )
    add_option(host, "--ignore REGEX", "lines of the output that are no result")
    add_cluster_options(verb)


def add_table_options(fit: argparse.ArgumentParser) -> None:
    """Options of `fit` for measured times of a program's host tunables, or of any table."""
    add_option(fit, "file FILE", "program whose host tunables or blocks were measured", nargs="?")
    group = fit.add_argument_group("measured times as CSV")
    add_list(
        group,
        "--table",
        metavar="[NAME=]FILE",
        help="a table of measured times; several: loss when the choice of one device is used on "
        "another",
    )
    add_option(group, "--model", "neighbours: nearest neighbours", choices=(NEIGHBOURS,))
    add_option(group, "--sizes N,…", "columns that hold sizes")
    add_option(group, "--choose m,…", "columns of what is chosen")
    add_option(group, "--given R,…", "columns on whose value the choice depends")
    add_option(group, "--time ms", "column of times; without it, rows are optima")
    add_list(group, "--where", metavar="COLUMN=TEXT", help="read only these rows")
    add_option(
        group,
        "--allow CONDITION",
        "leave out configurations that do not satisfy it, for instance 'N >= 2 * m'",
    )
    limit = "time that may be lost at a measured size for fewer intervals (default: 4)"
    add_option(group, "--limit PERCENT", limit, type=float, default=LIMIT_PERCENT)
    add_option(group, "--split STATE", "also the published procedure, on this split", type=int)
    add_option(group, "-o --output FILE", "FILE.json, or C (FILE.h)")
