"""Fuzzing with coverage: inputs of a reader end in a value or a diagnostic, soon.

    python -m tests.fuzzing READER --minutes 30 --seed 1 FOLDER

Each module of `readers` is a target. atheris (the extra `fuzz`) says which inputs reach new code;
only cutune's own modules are looked at. `python -m tests.fuzzing.native` runs kernels that the
reader of PTX accepts on the machine as it is built with sanitizers. FOLDER gets a file per finding,
which is minimised, and a summary.
"""
