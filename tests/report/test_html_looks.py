"""The HTML report on paper, in both schemes, in narrow windows and without scripts, in a real Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dedupe.report.base import Style
from dedupe.report.html import render
from tests.report.opened import group, scan_of, small


def test_paper_has_the_groups_in_the_order_of_the_page(open_page: Any) -> None:
    """A print lists the groups that are shown, up to a limit that it states, and no controls."""
    opened = open_page(scan_of(*(group(n, b"/a/%d" % n, b"/b/%d" % n) for n in range(1, 601))))
    opened.rule("newest")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.page.emulate_media(media="print")
    assert opened.text("#paper p") == "The first 500 of 600 groups, in the order of the page."
    assert "redundant: /a/1\nkeep: /b/1" in opened.text(".printed >> nth=0")
    assert opened.page.is_hidden("#save")
    assert opened.page.is_hidden("#grid")


PAIRS = [
    *((ink, ground) for ink in ("ink", "soft", "accent") for ground in ("page", "card", "sunk", "accent-wash")),
    ("differ", "differ-wash"),
    ("warn", "warn-wash"),
    ("keep", "keep-wash"),
    ("soft", "keep-wash"),
    ("ink", "keep-wash"),
    ("accent-ink", "accent"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast_in_both_schemes(open_page: Any, scheme: str) -> None:
    """Every pair of text and ground reaches 4.5 to 1 (WCAG 2.2 AA), in the system's scheme and by the button."""
    other = {"light": "dark", "dark": "light"}[scheme]
    opened = open_page(small(), color_scheme=other)
    opened.page.click("#theme")
    assert opened.page.evaluate("document.documentElement.dataset.theme") == scheme
    grounds = [(f"var(--{ink})", f"var(--{ground})", "") for ink, ground in PAIRS]
    grounds += [("var(--ink)", "var(--kind)", f"kind-{kind}") for kind in range(8)]
    script = """pairs => pairs.map(([ink, ground, name]) => {
      const probe = document.createElement("p");
      probe.className = name;
      probe.style.color = ink;
      probe.style.backgroundColor = ground;
      document.body.append(probe);
      const style = getComputedStyle(probe);
      const light = (text) => {
        const linear = (v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
        const [r, g, b] = text.match(/[\\d.]+/g).map(n => linear(n / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const [a, b] = [light(style.color), light(style.backgroundColor)].sort((x, y) => y - x);
      return (a + 0.05) / (b + 0.05);
    })"""
    ratios = opened.page.evaluate(script, grounds)
    assert [(pair, ratio) for pair, ratio in zip(grounds, ratios, strict=True) if ratio < 4.5] == []


@pytest.mark.parametrize("width", [360, 1400])
def test_the_page_fits_its_window(open_page: Any, width: int) -> None:
    """Neither a phone nor a wide window has to scroll sideways, even with long names."""
    long = b"/data/" + b"very_long_folder_name_without_a_break" * 5 + b"/"
    opened = open_page(
        scan_of(group(1, long + b"a" * 200, b"/data/b"), roots=(long, b"/data")),
        viewport={"width": width, "height": 800},
    )
    opened.page.locator(".row").first.click()
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.page.is_visible("#copies")


def test_without_scripts_the_totals_remain(browser: Any, tmp_path: Path) -> None:
    """Where scripts are switched off, the totals and the problems are there, and no empty frames."""
    path = tmp_path / "report.html"
    path.write_bytes(b"".join(render(small(), Style())))
    context = browser.new_context(java_script_enabled=False, offline=True)
    page = context.new_page()
    page.goto(path.as_uri())
    assert page.is_visible("text=6.0 GiB")
    assert page.is_visible("text=Permission denied")
    assert page.is_visible("noscript p")
    assert page.is_hidden("#groups")
    context.close()


def test_a_page_without_duplicates_says_so(open_page: Any) -> None:
    """A result without groups is a page that works."""
    opened = open_page(scan_of())
    assert opened.text("#nothing") == "No duplicates were found."
    assert opened.page.is_disabled("#apply")
