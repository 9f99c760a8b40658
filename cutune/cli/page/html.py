"""A report as one HTML page. Takes `PageFacts`, gives text that loads nothing.

Every string of a source, a model or a device passes jinja2's escaping, which no template turns off.
Besides, the page allows the browser only its own script and its own style.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from hashlib import sha256
from importlib import import_module, resources
from pathlib import PurePath
from typing import Any

from cutune import __version__
from cutune.check.evaluate import OWN, Case, Evaluation
from cutune.cli.page.charts import (
    TERMS,
    Svg,
    TermRow,
    agreement,
    choice_chart,
    ranked_scores,
    ratio,
    regret_bars,
    scatter,
    stacked_bars,
    term_rows,
    three_digits,
    unit_for,
)
from cutune.cli.page.heat_map import SHADES, heat_tables, variant_words
from cutune.cli.page.page_facts import SPEAKING_GAIN, AtSizes, LaunchFacts, PageFacts, Standing
from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError
from cutune.model.measurement.sweep import SweptConfiguration
from cutune.toolchain.device.thread_block import configuration_text

#: A page is below this size, in bytes.
LARGEST = 3_000_000


def to_html(report: PageFacts) -> str:
    """The page; too large a one says what it leaves out. Raises CT017 without jinja2."""
    whole = _rendered(report, with_programs=True)
    if len(whole.encode()) < LARGEST:
        return whole
    words = "rational programs are left out: name some of the sources to have them"
    return _rendered(report, with_programs=False, left_out=f"The page would be large: {words}.")


def _rendered(report: PageFacts, with_programs: bool, left_out: str = "") -> str:
    # Our own files: no text of others is in them.
    style, script = (Svg(_own_file(name)) for name in ("style.css", "script.js"))
    gains = [gain for k in report.kernels for gain in (k.gain, k.measured_gain) if gain]
    template = _environment(with_programs).get_template("page.html")
    page: str = template.render(
        report=report,
        contents=_contents(report),
        most_gain=max(gains, default=1.0),
        left_out=left_out,
        style=style,
        script=script,
        # The browser runs and loads these two texts, nothing else.
        policy=f"default-src 'none'; style-src '{_digest(style)}'; "
        f"script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'",
        version=__version__,
    )
    return _readable(page)


def part(name: str, *arguments: object) -> str:
    """A macro of `parts.html` with its style, for notebooks. Raises CT017 without jinja2."""
    parts = _environment(with_programs=False).get_template("parts.html").module
    # The style of the page holds for this element alone; elsewhere `:root` is the notebook.
    style = _own_file("style.css").replace(":root", ":scope")
    inner = getattr(parts, name)(*arguments)
    return _readable(
        f'<div class="cutune"><style>@scope (.cutune) {{ {style} }}</style>{inner}</div>'
    )


def _environment(with_programs: bool) -> Any:
    jinja2 = required("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("cutune.cli.page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= _FUNCTIONS | {"with_programs": with_programs}
    return environment


def _readable(page: str) -> str:
    """Names of files may have bytes that are no text."""
    return page.encode(errors="replace").decode()


def required(module: str) -> Any:
    """A module of the extra `report`. Raises CT017 where it cannot be imported."""
    try:
        return import_module(module)
    except ImportError as error:
        raise CutuneError.at(Code.NO_REPORT_EXTRA, module=module, reason=error) from error


def _own_file(name: str) -> str:
    return (resources.files("cutune.cli.page") / "templates" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}"


def _contents(report: PageFacts) -> Iterator[tuple[str, str]]:
    yield "gains", "Gains"
    if report.evaluation is not None:
        yield "measured", "Measured"
    if report.kernels:
        yield "kernels", f"Kernels ({len(report.kernels)})"
    yield "launches", f"Launches ({len(report.launches)})"
    yield "provenance", "Provenance"


def _still(report: PageFacts) -> Iterator[tuple[str, LaunchFacts]]:
    for number, program in enumerate(report.programs, 1):
        for place, launch in enumerate(program.launches, 1):
            if launch.standing in (Standing.REFUSED, Standing.UNMODELLED):
                yield f"launch-{number}-{place}", launch


def _name(configuration: SweptConfiguration) -> str:
    return configuration_text(*configuration)


def _bar_width(gain: float, most: float) -> str:
    """Of a gain, where the greatest fills the picture: a gain of 1 is no bar."""
    return f"{100 * max(0.0, gain - 1) / max(most - 1, 0.01):.1f}"


def _least(at: AtSizes) -> str:
    if not at.predicted:
        return "none"
    best = at.predicted[0]
    us = best.predicted_us or 0.0
    return f"{unit_for([us])(us)} with {_name(best.configuration)}"


def _terms_of(rows: Sequence[TermRow]) -> list[tuple[str, int]]:
    used = {term for row in rows for term, _ in row.terms}
    return [(title, n) for n, (term, title) in enumerate(TERMS.items()) if term in used]


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _launch_rows(evaluation: Evaluation) -> Iterator[list[str]]:
    for case in evaluation.cases:
        name = f"{case.launch.program}: {case.launch.kernel}"
        regret = _percent(case.regret(evaluation.judged))
        yield [name, *size_and_times(case, evaluation.judged), regret]


def size_and_times(case: Case, judged: str) -> Iterator[str]:
    """Cells of the paper's Table 3: size; default, chosen and best with their ms; the worst ms."""
    launch = case.launch
    yield str(launch.size or "")
    for configuration in (case.configuration(OWN), case.configuration(judged), launch.fastest):
        yield configuration_text(*configuration)
        yield three_digits(launch.times[configuration] / 1e3)
    yield three_digits(max(launch.times.values()) / 1e3)


#: What templates call, by the names of functions without the first underscore.
_FUNCTIONS = {
    "file_name": lambda path: PurePath(path).name,
    "shades": SHADES,
    "speaking_gain": SPEAKING_GAIN,
} | {
    function.__name__.lstrip("_"): function
    for function in (
        *(agreement, _bar_width, choice_chart, heat_tables, _launch_rows, _least),
        *(_name, _percent, ranked_scores, ratio, regret_bars, scatter),
        *(stacked_bars, _still, term_rows, _terms_of, variant_words),
    )
}
