"""The one table of verbs. Feeds the parser, help, completion, the manual page and the dispatch."""

from __future__ import annotations

from typing import NamedTuple


class Verb(NamedTuple):
    """A verb: the module of `cutune.cli` that has its function `NAME_verb`, what it is for."""

    name: str
    module: str
    group: str
    help: str
    example: str


_TUNE, _SAME, _STEP = "tune a program", "is it still the same?", "the steps of tune"
_MODEL, _HERE = "models and GPUs", "this tool"
_OTHERS = "other tuners"
_RUN = "--run './{program} {n}' --vary n=128,256"

VERBS = (
    Verb(
        *("inspect", "source", _TUNE),
        "list kernels and launches, and which can be tuned",
        "cutune inspect app.cu --suggest",
    ),
    Verb(
        *("tune", "tuning", _TUNE),
        "all of it: instrument, collect, fit, emit",
        f"cutune tune app.cu {_RUN}",
    ),
    Verb(
        *("select", "asking", _TUNE),
        "which thread block a kernel would get at given sizes",
        "cutune select gemm --all-sizes 1024",
    ),
    Verb(
        *("report", "asking", _TUNE),
        "one HTML page about everything that is known",
        "cutune report -o report.html",
    ),
    Verb(
        *("nvcc", "", _TUNE),
        "nvcc, with instrumented or tuned sources",
        'make NVCC="cutune nvcc"',
    ),
    Verb(
        *("verify", "comparing", _SAME),
        "run a program and its tuned form, and compare what they give",
        "cutune verify app.cu app.tuned.cu --run './{program} 100'",
    ),
    Verb(
        *("shake", "comparing", _SAME),
        "run a program with random legal configurations, and compare what it gives",
        "cutune shake app.cu --run './{program} 1000' --seeds 20",
    ),
    Verb(
        *("run", "running", _SAME),
        "run a program on the emulated device; a .cu file is compiled for it first",
        "cutune run --check app.cu 1000",
    ),
    Verb(
        *("instrument", "source", _STEP),
        "put hooks at the launches of a program",
        "cutune instrument app.cu -o app.instrumented.cu",
    ),
    Verb(
        *("collect", "tuning", _STEP),
        "run the program on the emulated device and count what its kernels do",
        f"cutune collect app.cu {_RUN}",
    ),
    Verb(*("fit", "tuning", _STEP), "fit models to measurements", "cutune fit"),
    Verb(
        *("emit", "tuning", _STEP),
        "write the program that chooses its thread blocks",
        "cutune emit app.cu -o app.tuned.cu",
    ),
    Verb(
        *("evaluate", "gpu", _MODEL),
        "compare the chosen blocks with an exhaustive sweep, and with other strategies",
        "cutune evaluate app.cu --from sweep.json",
    ),
    Verb(
        *("device", "asking", _MODEL),
        "list the GPUs that can be modelled, show one, or calibrate one",
        "cutune device h200",
    ),
    Verb(
        *("convert", "tuners.convert", _OTHERS),
        "results of a search, from one tuner's format to another's",
        "cutune convert .cutune/trials.jsonl results.csv",
    ),
    Verb(
        *("bat", "tuners.bat", _OTHERS),
        "compare tuners on benchmarks, as the suite BAT does",
        "cutune bat -b sort -a kernel_tuner --replay sort.csv",
    ),
    Verb(*("doctor", "running", _HERE), "what this machine has and lacks", "cutune doctor"),
    Verb(
        *("help", "running", _HERE),
        "a page of the guide, what a message means, or how a verb is used",
        "cutune help CT211",
    ),
)
#: What a status means to a shell or to continuous integration.
STATUSES = (
    (0, "done; what could not be tuned was said, and stays as it is"),
    (1, "an error in what was given, nothing could be tuned, or two programs differ"),
    (2, "wrong usage: nothing was done"),
    (3, "a launch that `inspect --require` names cannot be tuned, or there is none"),
    (130, "interrupted"),
)
