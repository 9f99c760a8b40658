"""`check`: a function or kernel of any origin against its reference."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cutune.cli.main import Options, varied_values
from cutune.core.codes import Code
from cutune.core.diagnostics import Diagnostic
from cutune.core.temporary import temporary_folder

if TYPE_CHECKING:
    from cutune.check.call_plan import Argument, Side
    from cutune.check.called import Called, LaunchForm
    from cutune.check.judge import Asked, Size, SizeJudgement

CHECK_SCHEMA = "cutune-check-1"
_BLOCK = re.compile(r"\d+(?:[,x]\d+){0,2}")
#: Messages of the checker that are shown.
_SHOWN = 5


def check_verb(options: Options) -> int:
    """Does a kernel do what its reference does?"""
    from cutune.check.judge import Judge
    from cutune.emulator.run import device_environment, program_environment

    asked, blocks = _asked(options), _blocks(options)
    with temporary_folder() as folder:
        place = Path(folder)
        candidate, reference, called = _sides(options, place)
        sizes = _sizes(options, reference.arguments, blocks)
        library = program_environment(Path(candidate.path))
        environment = {**library, **device_environment(options.profile, place)}
        progress = options.reporter.progress
        judge = Judge(candidate, reference, sizes, asked, environment, place, progress)
        found = list(judge.judgements())
        # They name places in files of that folder.
        for finding in [f for one in found for f in one.findings][:_SHOWN]:
            options.say(finding.diagnostic())
    if not options.json:
        _print_table(called, found)
    return _status(options, found)


def _status(options: Options, found: Sequence[SizeJudgement]) -> int:
    from cutune.check.judge import LEFT_OUT, SAME

    path, reference = options.file, options.against
    tried = [one for one in found if one.result != LEFT_OUT]
    wrong = [one for one in tried if one.result != SAME]
    is_same = bool(tried) and not wrong
    if options.json:
        print(json.dumps(_document(options, found, is_same), indent=1))
    if wrong:
        sizes = f"{len(wrong)} of {len(tried)} sizes"
        about = {"path": path, "reference": reference, "sizes": sizes, "reason": wrong[0].reason}
        options.say(Diagnostic.at(Code.NOT_ITS_REFERENCE, **about))
    elif not is_same:
        reason = found[0].reason if found else "there is no size"
        options.say(Diagnostic.at(Code.NOTHING_JUDGED, reference=reference, reason=reason))
    return 0 if is_same else 1


def _document(options: Options, found: Sequence[SizeJudgement], is_same: bool) -> dict[str, Any]:
    sizes = [
        {
            "values": dict(one.size.values),
            "block": list(one.size.block),
            "result": one.result,
            "reason": one.reason or None,
            "contents": list(one.contents),
            # JSON has no infinity.
            "worst": min(one.worst, 1e300),
            "findings": [finding.to_json() for finding in one.findings],
        }
        for one in found
    ]
    about = {"file": options.file, "reference": options.against, "same": is_same}
    return {"schema": CHECK_SCHEMA, **about, "sizes": sizes}


def _print_table(called: Called, found: Sequence[SizeJudgement]) -> None:
    has_blocks = len({one.size.block for one in found}) > 1
    names = [_named(one.size, has_blocks) for one in found]
    width = max(map(len, names), default=0)
    for name, one in zip(names, found, strict=True):
        worst = f"worst difference {one.worst:.2g} of the tolerance" if one.worst else "bit for bit"
        tail = f": {one.reason}" if one.reason else f", {worst}, {len(one.contents)} contents"
        print(f"{name:{width}}  {one.result}{tail}")
    results = [one.result for one in found]
    counted = ", ".join(f"{results.count(one)} {one}" for one in dict.fromkeys(results))
    print(f"{called.name}({', '.join(called.names)}): {counted}")


def _named(size: Size, has_blocks: bool) -> str:
    words = [f"{name}={value}" for name, value in size.values.items()]
    block = [f"block {'x'.join(map(str, size.block))}"] if has_blocks else []
    return " ".join([*words, *block]) or "once"


# ---- what is compared


def _sides(options: Options, folder: Path) -> tuple[Side, Side, Called]:
    """Both sides, built, and the reference; of a Python function the candidate."""
    from cutune.check.call_plan import Side
    from cutune.check.called import build_library, check_same, chosen
    from cutune.emulator.link import runtime_library

    path, colon, name = options.against.rpartition(":")
    if not (colon and name.isidentifier()):
        path, name = options.against, ""
    mine = _called(options.file, options.function or "")
    is_python = path.endswith(".py")
    its = mine if is_python else _called(path, name or options.function or "")
    pairs = chosen(mine, its)[: 1 if is_python else 2]
    forms = [_form(options, one) if one.is_kernel else None for one in pairs]
    runtime_library(options.toolchain.nvcc, options.reporter.progress)
    with ThreadPoolExecutor() as pool:
        folders = [folder / f"library-{number}" for number in range(len(pairs))]
        built = list(pool.map(build_library, [options.toolchain] * 2, pairs, forms, folders))
    sides = [Side(str(library), "", arguments) for library, arguments in built]
    if is_python:
        sides.append(Side(path, name, sides[0].arguments))
    check_same(pairs[0], sides[0].arguments, sides[1].arguments)
    _check_names(options, sides[1])
    return sides[0], sides[1], pairs[-1]


def _called(path: str, name: str) -> list[Called]:
    from cutune.check.called import callable_in, not_called

    if found := callable_in(path, name):
        return found
    programs = "cutune verify ORIGINAL NEW --run './{program} {n}' --vary n=…"
    wanted = f"function '{name}'" if name else "function or kernel"
    reason = f"it defines no {wanted}; two whole programs are compared by: {programs}"
    raise not_called(path, reason)


def _form(options: Options, called: Called) -> LaunchForm:
    from cutune.check.called import LaunchForm

    if not (options.grid and options.block):
        example = f"--grid '({called.names[-1]} + block.x - 1) / block.x' --block 256"
        options.wrong(f"'{called.name}' is a bare kernel, whose launch is named by {example}")
    return LaunchForm(options.grid, options.shared)


def _check_names(options: Options, reference: Side) -> None:
    arrays = [one.name for one in reference.arrays]
    others = [one.name for one in reference.arguments if not one.is_array]
    for option, known in (("array", arrays), ("values", arrays), ("vary", others)):
        for word in getattr(options, option):
            name = word.partition("=")[0].strip()
            if name not in known:
                options.wrong(f"--{option}: '{name}' is none of: {' '.join(known) or 'none'}")
    missing = [name for name in arrays if name not in _pairs(options, "array")]
    if reference.function and missing:
        example = f"--array {missing[0]}=LENGTH, or a shape: ROWS,COLUMNS"
        options.wrong(f"a Python function does not tell how long '{missing[0]}' is: add {example}")


# ---- options


def _asked(options: Options) -> Asked:
    from cutune.check.judge import Asked

    limits = {}
    for name, text in _pairs(options, "values").items():
        low, dots, high = text.partition("..")
        if not (low and dots and high):
            options.wrong(f"--values: '{text}' is not LOW..HIGH, such as 0..N-1")
        limits[name] = low, high
    if options.against.endswith(".py"):
        options.wrong("--against names a function of a Python source: FILE.py:NAME")
    return Asked(
        _pairs(options, "array"),
        limits,
        options.tolerance,
        has_special=options.special,
        is_each_size=bool(options.vary),
    )


def _pairs(options: Options, option: str) -> dict[str, str]:
    found = {}
    for word in getattr(options, option):
        name, equals, text = word.partition("=")
        if not (equals and name.strip().isidentifier() and text.strip()):
            options.wrong(f"--{option} is NAME=…, not '{word}'")
        found[name.strip()] = text.strip()
    return found


def _blocks(options: Options) -> list[tuple[int, int, int]]:
    blocks = []
    for text in options.block:
        if not _BLOCK.fullmatch(text):
            options.wrong(f"--block is X, X,Y or X,Y,Z, not '{text}'")
        x, y, z = [*map(int, re.split("[,x]", text)), 1, 1][:3]
        blocks.append((x, y, z))
    return blocks or [(1, 1, 1)]


def _sizes(
    options: Options, arguments: Sequence[Argument], blocks: Sequence[tuple[int, int, int]]
) -> list[Size]:
    """Named values in all combinations, each with default ones of the others."""
    from cutune.check.judge import Size, default_sizes

    others = [one for one in arguments if not one.is_array]
    varied = {
        n: [_number(options, n, v) for v in v] for n, v in varied_values(options.vary).items()
    }
    for place, one in enumerate(others):
        if one.type.code == "b":
            varied.setdefault(one.name, [0, 1])
        elif one.type.is_real:
            varied.setdefault(one.name, [0.8125 + place / 8])
    free = default_sizes([one.name for one in others if one.name not in varied])
    sizes = []
    for values in product(*varied.values()):
        for whole in free:
            both = {**whole, **dict(zip(varied, values, strict=True))}
            in_order = {one.name: both[one.name] for one in others}
            sizes += [Size(in_order, block) for block in blocks]
    return sizes


def _number(options: Options, name: str, text: str) -> float:
    try:
        return int(text) if re.fullmatch(r"-?\d+", text) else float(text)
    except ValueError:
        options.wrong(f"--vary: '{text}' is no value of '{name}'")
