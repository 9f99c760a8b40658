"""Topics of `cutune help`. Takes a word, gives a page of the guide or the meaning of a code.

The pages are those of docs/, which a wheel holds; what is known of a code is on one of them.
"""

from __future__ import annotations

import re
from pathlib import Path

from cutune.core.codes import Code
from cutune.core.diagnostics import CutuneError, Diagnostic, meant

PAGES = Path(__file__).parents[2] / "docs"
#: Folders with pages that have topics: the guide's first, what is behind it last.
_FOLDERS = ("guide", "verbs", "")
QUICK_START = "quick-start"
_CODE = re.compile(r"(?:CT)?(\d{3})", re.IGNORECASE)
_COMMENT = re.compile(r"^<!-- (?!options: ).*-->\n", re.MULTILINE)
_OPTIONS = re.compile(r"^<!-- options: \w+ -->$", re.MULTILINE)


def topics() -> dict[str, Path]:
    """The page of each topic."""
    pages = {QUICK_START: PAGES / "index.md"}
    for folder in _FOLDERS:
        for page in sorted((PAGES / folder).glob("*.md")):
            if page.stem == "index":
                continue
            # A verb and what is behind it may be called the same: then the title tells them apart.
            is_taken = page.stem in pages
            pages[_plain(title_of(page)) if is_taken else page.stem] = page
    return pages


def _plain(title: str) -> str:
    return "-".join(title.lower().split())


def title_of(page: Path) -> str:
    """Its first heading."""
    with page.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("# ").strip()


def text_on(topic: str, options: str) -> str:
    """The Markdown of a topic. `options`: where a page lists those of its verb.

    Raises:
        CutuneError: CT027.
    """
    code = _CODE.fullmatch(topic)
    if code is not None:
        return _about_code(topic, f"CT{code[1]}")
    pages = topics()
    page = pages.get(topic.lower())
    if page is None:
        raise _unknown(topic, [*pages])
    text = _COMMENT.sub("", page.read_text(encoding="utf-8"))
    return _OPTIONS.sub(lambda _: f"## Options\n\n```text\n{options}```", text)


def _about_code(topic: str, number: str) -> str:
    code = next((code for code in Code if code.number == number), None)
    if code is None:
        raise _unknown(topic, [code.number for code in Code])
    return code.section("#")


def _unknown(topic: str, known: list[str]) -> CutuneError:
    further = meant(topic, known) or "; cutune help lists the topics"
    return CutuneError(Diagnostic.at(Code.UNKNOWN_TOPIC, None, name=topic, further=further))
