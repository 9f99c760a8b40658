"""Instances of kernels as people write them. Takes mangled names, gives `scale<float, 4>`.

c++filt does the work where it is installed; without it a mangled name stays as it is.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence

#: Longer template arguments are cut.
LONGEST = 48


def demangled(names: Sequence[str], parameters: bool = False) -> list[str]:
    """Return names as in the source where c++filt is installed, else the mangled names."""
    tool = shutil.which("c++filt")
    if tool is None or not names:
        return list(names)
    done = subprocess.run(
        [tool, *([] if parameters else ["-p"])],
        input="\n".join(names),
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    return lines if done.returncode == 0 and len(lines) == len(names) else list(names)


def instance_names(kernels: Sequence[str], entries: Sequence[str]) -> list[str]:
    """Return unique names: with template arguments, where needed with parameter types.

    Args:
        kernels: names in the source. entries: the names in the PTX of the same kernels.
    """
    whole = demangled(entries, parameters=True)
    short = [_with_arguments(k, text) for k, text in zip(kernels, whole, strict=True)]
    count = Counter(name for name, _ in {*zip(short, entries, strict=True)})
    return [
        brief(name if count[name] == 1 else name + _parameters(kernel, text))
        for name, kernel, text in zip(short, kernels, whole, strict=True)
    ]


def brief(name: str) -> str:
    """Cut a name so that it fits into a table."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _with_arguments(kernel: str, text: str) -> str:
    """`scale<float>` from `void scale<float>(int, float*)`."""
    start = text.find(f"{kernel}<")
    return kernel + _bracketed(text, start + len(kernel), "<>") if start >= 0 else kernel


def _parameters(kernel: str, text: str) -> str:
    start = text.find(f"{kernel}(")
    return _bracketed(text, start + len(kernel), "()") if start >= 0 else f" ({text})"


def _bracketed(text: str, start: int, pair: str) -> str:
    depth = 0
    for index in range(start, len(text)):
        depth += {pair[0]: 1, pair[1]: -1}.get(text[index], 0)
        if depth == 0:
            return text[start : index + 1]
    return text[start:]
