"""The page of a report: it loads nothing, text of others stays text, links lead somewhere."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import pytest

from cutune.cli.main import main
from cutune.cli.page import html
from cutune.cli.page.charts import (
    MICROSECONDS,
    TERMS,
    PictureScale,
    Svg,
    choice_chart,
    count,
    element,
    shown_rows,
    three_digits,
    unit_for,
)
from cutune.cli.page.html import SHADES, TABLE_3, table_3, to_html, write_figures
from cutune.cli.page.page_facts import PageFacts
from cutune.core.diagnostics import CutuneError
from tests.support.reported_program import HOSTILE, hostile, whole


@pytest.fixture(scope="module")
def made() -> PageFacts:
    return whole()


class Page(HTMLParser):
    """Elements with their attributes, and the text within some of them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._open: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open = tag

    def handle_data(self, data: str) -> None:
        if self._open in ("script", "style", "title", "h1"):
            self.texts[self._open] = self.texts.get(self._open, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def test_text_of_others_stays_text(made: PageFacts) -> None:
    plain, page = Page(to_html(made)), Page(to_html(hostile(made)))
    # Text in every place changes neither elements nor the names of attributes …
    shapes = [[(tag, sorted(names)) for tag, names in p.elements] for p in (plain, page)]
    assert shapes[0] == shapes[1]
    assert not page.named("img") and len(page.named("script")) == 1
    # … and is not code of the template language either.
    assert page.texts["h1"] == made.title + HOSTILE.replace("\udcff", "?")
    assert page.texts["script"] == plain.texts["script"]
    assert page.texts["style"] == plain.texts["style"]


def test_no_template_turns_escaping_off() -> None:
    for path in (Path(html.__file__).parent / "templates").glob("*.html"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe|autoescape|Markup", text)


def test_the_page_allows_its_own_script_and_style_alone(made: PageFacts) -> None:
    page = Page(to_html(made))
    policy = next(
        meta["content"] or ""
        for meta in page.named("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    )
    for tag in ("script", "style"):
        digest = base64.b64encode(sha256(page.texts[tag].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")


def test_the_page_loads_nothing_and_its_links_lead_somewhere(made: PageFacts) -> None:
    page = Page(to_html(made))
    names = [name for _, attributes in page.elements for name in attributes]
    assert not {"src", "srcset", "style", "onclick", "onload"} & {*names}
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] or "" for attributes in page.named("a")]
    assert links and {link.removeprefix("#") for link in links} <= {*ids}
    labels = [attributes["for"] for attributes in page.named("label")]
    assert {*labels} <= {*ids}
    assert "url(" not in page.texts["style"] and "@import" not in page.texts["style"]


def test_what_is_known_is_on_the_page(made: PageFacts) -> None:
    text = to_html(made)
    for word in ("a note on everything", "it is gone", "CT211", "#pragma cutune kernel tile"):
        assert word in text
    assert made.summary in text
    assert "cutune_model_add" in text
    assert "The rational program as a flow chart" in text
    assert "Mean regret over 3 timed launches" in text


def test_a_large_page_leaves_out_more_and_more_and_says_so(
    made: PageFacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    (kernel,) = made.kernels
    slower = tuple(replace(at, gain=1.0) for at in kernel.sizes)
    kernels = (replace(kernel, key="slow", name="slow", sizes=slower), kernel)
    made, said = replace(made, kernels=kernels), []
    text = to_html(made)
    while "2 of 2 kernels" not in text:
        monkeypatch.setattr(html, "LARGEST", len(text.encode()))
        text = to_html(made)
        page = Page(text)
        links = {attributes["href"] for attributes in page.named("a")}
        assert links <= {f"#{a['id']}" for _, a in page.elements if "id" in a}
        shown = text[text.index("Left out are ") + 13 :].partition(":")[0]
        parts = 'id="kernel-1"', 'id="slow"', 'id="kernel-1-1"', 'id="kernel-1-2"', "cutune_model_"
        said.append((shown, [part in text for part in parts]))
    one_size = "rational programs, all sizes but the largest"
    assert said == [
        ("rational programs", [True, True, True, True, False]),
        (one_size, [True, True, True, False, False]),
        (f"{one_size}, 1 of 2 kernels", [True, False, True, False, False]),
        (f"{one_size}, 2 of 2 kernels", [False] * 5),
    ]


def test_a_missing_package_is_named(made: PageFacts, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(module: str) -> None:
        raise ImportError(f"no {module}")

    monkeypatch.setattr(html, "import_module", fail)
    with pytest.raises(CutuneError, match=r"pip install 'cutune\[report\]'"):
        to_html(made)


def test_without_a_workspace_the_verb_says_what_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["report", "--workspace", str(tmp_path), "-o", str(tmp_path / "report.html")]
    assert main(words) == 1
    assert "run first: cutune" in capsys.readouterr().err
    assert not (tmp_path / "report.html").exists()


# ---- pictures


def test_markup_is_made_of_data() -> None:
    made = element("text", 'a<b & "c"', Svg("<g/>"), class_='x"y', stroke_width=1.25, at=None)
    assert made == '<text class="x&quot;y" stroke-width="1.2">a&lt;b &amp; &quot;c&quot;<g/></text>'


def test_ticks_are_round_and_inside() -> None:
    for low, high in ((1.0, 1.1), (1.0, 7.3), (0.0, 2.7), (3.0, 3.0), (1.0, 1234.0)):
        scale = PictureScale(low, high, 0, 100)
        assert all(low <= tick <= high + 1e-9 for tick in scale.ticks)
        assert 1 <= len(scale.ticks) <= 7
    for low, high in ((4.0, 9.0), (1.0, 1e6), (7.0, 80.0)):
        ticks = PictureScale(low, high, 0, 100, is_logarithmic=True).ticks
        assert all(low <= tick <= high for tick in ticks) and len(ticks) <= 8
    scale = PictureScale(1.0, 100.0, 0.0, 200.0, is_logarithmic=True)
    assert [scale(1.0), scale(10.0), scale(100.0)] == [0.0, 100.0, 200.0]


def test_numbers_in_few_characters() -> None:
    assert [three_digits(v) for v in (0, 0.01234, 1.234, 12.34, 1234.0)] == [
        *("0", "0.0123", "1.23", "12.3", "1234")
    ]
    assert [count(v) for v in (512, 10_000, 640_000, 5_120_000)] == ["512", "10k", "640k", "5.12M"]
    assert unit_for([999.0, 5000.0]) == MICROSECONDS
    assert [unit_for([us])(us) for us in (3.0, 25_100.0, 3e6)] == ["3.00 µs", "25.1 ms", "3.00 s"]


def test_the_choice_chart_shows_the_own_block_first(made: PageFacts) -> None:
    (kernel,) = made.kernels
    rows = shown_rows(kernel.curve)
    assert rows[0] == kernel.sizes[0].own
    assert {point.chosen for point in kernel.curve} <= {*rows}
    picture = choice_chart(kernel.curve)
    assert picture.count("<rect") >= 1 and 'role="img"' in picture
    # Names of rows end where the columns begin, and have room before it.
    names = re.findall(r'<text x="([\d.]+)"[^>]*text-anchor="end">([^<]*)', picture)
    assert len(names) > len(rows) and all(float(x) > 5 * len(name) for x, name in names)


# ---- figures


@pytest.mark.long
def test_figures_are_drawn_and_names_are_no_formulas(made: PageFacts, tmp_path: Path) -> None:
    kernels = tuple(replace(kernel, name="$\\frac{$") for kernel in made.kernels)
    written = write_figures(tmp_path / "figures", replace(made, kernels=kernels), [])
    assert {path.name for path in written} == {
        f"{name}.{kind}" for name in ("gains", "figure3", "table3") for kind in ("png", "pdf")
    }
    for path in written:
        start = path.read_bytes()[:4]
        assert start == (b"%PDF" if path.suffix == ".pdf" else b"\x89PNG")


def test_table_3_has_the_times_of_the_sweep(made: PageFacts) -> None:
    assert made.evaluation is not None
    rows = list(table_3(made.evaluation))
    assert [row[1] for row in rows] == ["512", "1000", "2048"]
    for row, case in zip(rows, made.evaluation.cases, strict=True):
        assert len(row) == len(TABLE_3)
        best = min(case.launch.microseconds.values())
        assert row[7] == three_digits(best / 1e3)


# ---- colours


def contrast(first: str, second: str) -> float:
    """As WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        digits = colour.removeprefix("#")
        digits = "".join(c * 2 for c in digits) if len(digits) == 3 else digits
        parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
        red, green, blue = (
            p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read_in_light_and_in_dark() -> None:
    style = (Path(html.__file__).parent / "templates" / "style.css").read_text()
    pair = r"light-dark\((#\w+), (#\w+)\)"
    named = {m[1]: (m[2], m[3]) for m in re.finditer(rf"--(\w+): {pair}", style)}
    on_page = [(named[name], named["page"]) for name in ("ink", "quiet", "chosen", "own")]
    on_others = [(named["ink"], named[name]) for name in ("panel", "mark", "band")]
    shades = re.findall(rf"\.h\d \{{ background: {pair}; color: {pair}", style)
    terms = re.findall(r"\.t\d \{ fill: (#\w+); background: (#\w+); color: (#\w+)", style)
    assert len(shades) == len(SHADES) + 1 and len(terms) == len(TERMS)
    pairs = [b for pair in (*on_page, *on_others) for b in zip(*pair, strict=True)]
    pairs += [both for a, b, c, d in shades for both in ((a, c), (b, d))]
    pairs += [(ground, text) for _, ground, text in terms]
    assert min(contrast(*both) for both in pairs) >= 4.5
