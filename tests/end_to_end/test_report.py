"""`cutune report`: the page of a tuned sample, and what a browser makes of a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cutune.cli.page.html import LARGEST, to_html
from tests.support.cutune_runs import SAMPLES, Tuned, cutune
from tests.support.reported_program import hostile, whole

#: Nothing but the page: Chromium asks for no update, and nobody else.
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PHONE = 390


@pytest.mark.long
@pytest.mark.nvcc
def test_the_report_of_a_tuned_program(tuned: Tuned, tmp_path: Path) -> None:
    workspace, page = tuned("gemm").parent, tmp_path / "page.html"
    words = ("report", SAMPLES / "gemm.cu", "--workspace", workspace, "--device", "h200")
    done = cutune(*words, "-o", page, "--sizes", "1024", "2048", "--figures", tmp_path / "figures")
    assert done.returncode == 0, done.stderr
    summary, *_ = done.stdout.splitlines()
    assert "gemm_kernel" in summary and "NVIDIA H200" in summary
    text = page.read_text(encoding="utf-8")
    assert summary in text and len(text) < LARGEST
    assert "gemm_kernel&lt;&lt;&lt;grid, block&gt;&gt;&gt;" in text
    assert (tmp_path / "figures" / "gains.png").exists()
    assert "--from SWEEP" in done.stdout


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Headless Chromium; skipped where there is none."""
    webdriver = pytest.importorskip("selenium.webdriver")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no Chromium, or no chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    service = webdriver.ChromeService(executable_path=driver)
    started = webdriver.Chrome(options=options, service=service)
    yield started
    started.quit()


def show(browser: Any, folder: Path, text: str, width: int = 1200) -> None:
    """Load a page in a window of that width."""
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width <= PHONE}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(path.as_uri())


def test_the_page_in_a_browser(browser: Any, tmp_path: Path) -> None:
    show(browser, tmp_path, to_html(whole()))
    # Sizes are chosen by keyboard.
    panels = browser.find_elements("css selector", ".panel")
    assert [panel.is_displayed() for panel in panels] == [False, False, True]
    browser.find_elements("css selector", ".sizes input")[-1].send_keys("\ue012")  # left
    assert [panel.is_displayed() for panel in panels] == [False, True, False]
    # A link opens what it leads to.
    kernel = browser.find_element("css selector", "details.kernel")
    browser.execute_script("arguments[0].open = false", kernel)
    browser.execute_script("location.hash = '#kernel-1'")
    assert browser.execute_async_script(
        "const [part, done] = arguments; setTimeout(() => done(part.open), 50)", kernel
    )
    # Light and dark.
    background = "return getComputedStyle(document.body).backgroundColor"
    before = browser.execute_script(background)
    browser.execute_script("document.getElementById('theme').click()")
    assert browser.execute_script(background) != before
    # No text is wider than a phone.
    show(browser, tmp_path, to_html(whole()), PHONE)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= PHONE
    assert browser.get_log("browser") == []


#: The part that has the focus: its number among those that can have it, and its outline's width.
FOCUS = """
const all = [...document.querySelectorAll('a[href], button, summary, input, [tabindex="0"]')];
const own = document.activeElement, label = document.querySelector(`label[for="${own.id}"]`);
return [all.indexOf(own), getComputedStyle(label || own).outlineWidth];
"""
#: Numbers of those that are shown; of sizes that exclude each other the chosen one.
SHOWN = """
const all = [...document.querySelectorAll('a[href], button, summary, input, [tabindex="0"]')];
const isShown = one => one.type == 'radio' ? one.checked : one.checkVisibility();
return all.map((one, number) => isShown(one) ? number : -1).filter(number => number >= 0);
"""


def test_the_keyboard_alone_reaches_everything_and_is_seen(browser: Any, tmp_path: Path) -> None:
    show(browser, tmp_path, to_html(whole()))
    expected, reached = browser.execute_script(SHOWN), []
    for _ in expected:
        browser.switch_to.active_element.send_keys("\ue004")  # tab
        number, outline = browser.execute_script(FOCUS)
        reached.append(number)
        assert outline == "3px"
    assert reached == expected


def test_hostile_text_runs_nothing_in_a_browser(browser: Any, tmp_path: Path) -> None:
    show(browser, tmp_path, to_html(hostile(whole())))
    assert browser.execute_script("return typeof pwned") == "undefined"
    assert browser.execute_script("return document.images.length") == 0
    assert browser.execute_script("return document.scripts.length") == 1
    assert browser.get_log("browser") == []
