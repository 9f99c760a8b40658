"""Verbs that answer: `select`, `report`, `device`, and `run`, `help`."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from textwrap import shorten

from cutune.cli.main import Options, sizes_to_show
from cutune.cli.options import parser
from cutune.cli.parser import (
    PAGES,
    QUICK_START,
    WIDTH,
    Parser,
    completion,
    help_of,
    manual_page,
    name_of,
    text_on,
    title_of,
    topics,
)
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, columns_of, wrapped
from cutune.core.temporary import temporary_folder
from cutune.search.tunables.verb_options import NEIGHBOURS

#: Lines of each kind that are shown.
MOST_SHOWN = 8
_Found = Iterator[tuple[str, str]]
_Count = Callable[[str], int]
#: The page of what is found as messages.
_OF_MESSAGES = "diagnostics"


def select_verb(options: Options) -> int:
    """The block of a kernel at given sizes."""
    from cutune.cli.report.choices import choice_to_json, print_choice
    from cutune.model.selection.chooser import parse_size, parse_sizes
    from cutune.model.selection.variants import VariantChooser
    from cutune.tuning.nvcc.units import models_in, named_model

    every = None
    if options.all_sizes is not None:
        every = parse_size(options.all_sizes, "--all-sizes 1024")
    sizes = parse_sizes(options.sizes)
    if options.model == NEIGHBOURS:
        return _select_measured(options, sizes, every)
    model = named_model(models_in(options.place), options.kernel, options.file)
    chooser = VariantChooser(model, options.profile, options.model, any_threads=True)
    choice = chooser.choose(sizes, every)
    if options.json:
        print(json.dumps(choice_to_json(model, choice)))
    else:
        print_choice(model, choice)
    return 0


def _select_measured(options: Options, sizes: Mapping[str, int], every: int | None) -> int:
    from cutune.core.diagnostics import known_names
    from cutune.search.tunables.choices import read_blocks

    _, choices = read_blocks(options.place, [options.profile], options.file)
    choice = next((one for one in choices if one.kernel == options.kernel), None)
    if choice is None:
        known = known_names(options.kernel, (one.kernel for one in choices))
        raise CutuneError.at(Code.UNMODELLED_KERNEL, name=options.kernel, known=known)
    values = choice.completed(sizes, every)
    block = choice.choose(values)
    if options.json:
        answer = {"block": list(block)} if block is not None else None
        asked = dict(zip(choice.columns, values, strict=True))
        print(json.dumps({"kernel": choice.kernel, "sizes": asked, "choice": answer}))
    elif block is None:
        print(f"{choice.kernel}: not measured at such sizes; the program's own block stays")
    else:
        print(f"{choice.kernel}: block {'x'.join(map(str, block))}, the best that was measured")
    return 0


def report_verb(options: Options) -> int:
    """One page about everything that is known."""
    from cutune.cli.page.gather import read_subjects, read_timings, report_of, training
    from cutune.cli.page.html import required, to_html, write_figures
    from cutune.core.workspace import replace_file

    # Looking at programs takes a while: what is missing is said before.
    required("jinja2")
    if options.figures is not None:
        required("matplotlib")
    analyzer, workspace, profile = options.analyzer, options.place, options.profile
    sizes = sizes_to_show(options.sizes)
    timings = read_timings(workspace, options.recorded, profile)
    subjects = read_subjects(analyzer, workspace, options.files)
    toolchain, progress = analyzer.toolchain, analyzer.reporter.progress
    found = report_of(toolchain, progress, subjects, profile, workspace, timings, sizes)
    replace_file(Path(options.output), to_html(found).encode())
    print(wrapped(found.summary, columns_of(sys.stdout)))
    print(f"report: {options.output}")
    if options.figures is not None:
        rows = training(options.say, workspace, subjects, profile)
        written = write_figures(Path(options.figures), found, rows)
        print(f"figures: {', '.join(map(str, written)) or 'nothing to draw'}")
        if found.evaluation is None:
            print("Figure 3 and Table 3 need times: add --from SWEEP")
    return 0


def device_verb(options: Options) -> int:
    """Show profiles, or calibrate one."""
    from cutune.cli.report.console import print_profile, print_profiles
    from cutune.toolchain.device.profile import DeviceProfile, shipped_profiles

    if options.calibrate:
        return _calibrate(options)
    profile = DeviceProfile.named(options.name) if options.name is not None else None
    if options.json:
        every = [one.to_json() for one in shipped_profiles()]
        print(json.dumps(every if profile is None else profile.to_json(), indent=1))
    elif profile is not None:
        print_profile(profile)
    else:
        print_profiles(shipped_profiles())
    return 0


def _calibrate(options: Options) -> int:
    from cutune.cli.report.console import print_calibration
    from cutune.core.progress import progress_for
    from cutune.core.workspace import write_text
    from cutune.measure.calibration.calibrate import calibrate
    from cutune.measure.calibration.pycuda_gpu import open_gpu
    from cutune.toolchain.nvcc import find_nvcc

    nvcc = find_nvcc(options.nvcc)
    with open_gpu(options.gpu) as gpu:
        profile, found = calibrate(gpu, nvcc, progress_for(options.quiet))
    path = Path(options.output or f"{profile.file_name}.json")
    write_text(path, json.dumps(profile.to_json(), indent=2) + "\n")
    print_calibration(profile, found)
    print(f"profile: {path}; use it with --device {path}")
    return 0


def run_verb(options: Options) -> int:
    """Run a program on the emulated device."""
    from cutune.emulator.run import main_run

    if not options.program:
        options.wrong("name the program to run")
    program, *arguments = options.program
    if arguments[:1] == ["--"]:  # as behind other launchers
        arguments = arguments[1:]
    with temporary_folder() as folder:
        if program.endswith(".cu"):
            from cutune.emulator.program_builds import build_emulated

            progress = options.reporter.progress
            program = str(build_emulated(options.toolchain, program, Path(folder), progress))
        return main_run(
            [program, *arguments],
            device=options.device.partition(",")[0],
            json_output=options.json,
            trace=options.trace,
            check=options.check,
            shown=options.findings,
            limit=options.limit,
        )


def help_verb(options: Options) -> int:
    """A page, the manual page, or what a shell completes by."""
    whole = parser()
    if options.man:
        print(manual_page(whole), end="")
    elif options.completion is not None:
        print(completion(whole, options.completion), end="")
    elif not options.topic:
        print(whole.format_help())
        print("topics of cutune help, besides codes (cutune help CT211) and any words (search):")
        verbs = whole.verbs()
        for name, page in topics().items():
            if name not in verbs:
                room = WIDTH - len(f"  {name:16}  ")
                print(f"  {name:16}  {shorten(title_of(page), room, placeholder=' …')}")
    else:
        from rich.console import Console
        from rich.markdown import Markdown

        topic = " ".join(options.topic)
        verb, console = whole.verbs().get(topic.lower()), Console()
        try:
            text = text_on(topic, verb.format_help() if verb is not None else "")
        except CutuneError:
            lines = found_for(topic.split(), whole)
            if not lines:
                raise
            print(f"no topic is called '{topic}'; it is found in:", *lines, sep="\n")
            return 0
        console.print(Markdown(text)) if console.is_terminal else print(text)
    return 0


def found_for(words: Sequence[str], whole: Parser) -> list[str]:
    """Lines for whatever holds all words; none where nothing does.

    A word stands for those that begin with it. What is found is given with what shows the words.
    """
    patterns = [re.compile(rf"(?<![a-z]){re.escape(word.lower())}") for word in words]

    def count(text: str) -> int:
        return min((len(pattern.findall(text.lower())) for pattern in patterns), default=0)

    kinds = {
        "verbs, and their options": [*_options(count, whole)],
        "pages": _pages(count),
        "messages": [*_codes(count)],
    }
    return [line for kind, rows in kinds.items() if rows for line in _lines(kind, rows)]


def _lines(kind: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    more = len(rows) - MOST_SHOWN
    yield f"{kind}, {MOST_SHOWN} of {len(rows)}:" if more > 0 else f"{kind}:"
    shown = rows[:MOST_SHOWN]
    width = max(len(name) for name, _ in shown)
    for name, text in shown:
        room = WIDTH - width - 4
        yield f"  {name:{width}}  {shorten(text, room, placeholder=' …')}"


def _options(count: _Count, whole: Parser) -> _Found:
    for verb, its in whole.verbs().items():
        if count(f"{verb} {its.description}"):
            yield f"cutune {verb}", str(its.description).partition("\n\n")[2]
    # Verbs share most of their options: each is named once.
    named: dict[tuple[str, str], str] = {}
    for verb, its in whole.verbs().items():
        for action in its.actions:
            if count(f"{name_of(action)} {help_of(action)}"):
                named.setdefault((name_of(action), help_of(action)), verb)
    yield from ((f"cutune {verb} {name}", text) for (name, text), verb in named.items())


def _pages(count: _Count) -> list[tuple[str, str]]:
    """Pages whose titles hold the words first, then those for users; by how often they do."""
    found = []
    for topic, page in topics().items():
        title = title_of(page)
        often = count(page.read_text(encoding="utf-8"))
        if often and topic != _OF_MESSAGES:
            is_behind = page.parent == PAGES and topic != QUICK_START
            rank = -count(f"{topic} {title}"), is_behind, -often
            found.append((rank, f"cutune help {topic}", title))
    return [(line, title) for _, line, title in sorted(found)]


def _codes(count: _Count) -> _Found:
    said = [code for code in Code if count(code.template)]
    meant = [code for code in Code if code not in said and count(code.meaning)]
    return ((code.number, code.template) for code in [*said, *meant])
