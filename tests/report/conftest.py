"""The system's Chromium, and HTML reports in it."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dedupe.report.base import Style
from dedupe.report.html import render
from dedupe.result import ScanResult
from tests.conftest import need
from tests.report.opened import Opened

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start the system's Chromium, with a fresh profile."""
    if sys.platform == "win32":
        pytest.skip("the page is tried in the Chromium of a Linux system")
    need(importlib.util.find_spec("playwright"), "Playwright's Python package is absent")
    from playwright.sync_api import sync_playwright

    program = os.environ.get("DEDUPE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    need(program, "Chromium is absent")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """Return a function that opens a result as a page, offline; whatever the page may not do fails the test."""
    contexts = []
    pages = []

    def opened(scan: ScanResult | Path, *, harmless: str = "\0", **options: Any) -> Opened:
        path = scan if isinstance(scan, Path) else tmp_path / "report.html"
        if not isinstance(scan, Path):
            path.write_bytes(b"".join(render(scan, Style())))
        context = browser.new_context(**{"offline": True, "viewport": {"width": 1400, "height": 900}} | options)
        contexts.append(context)
        page = Opened(context.new_page(), path)
        pages.append(page)
        context.on("request", lambda request: page.requests.append(request.url))
        page.page.on("dialog", lambda dialog: (page.dialogs.append(dialog.message), dialog.dismiss()))
        page.page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.page.on("console", lambda line: page.errors.append(line.text) if harmless not in line.text else None)
        page.page.goto(path.as_uri())
        page.page.wait_for_selector("html.ready", state="attached")
        return page

    yield opened
    for page in pages:
        assert page.dialogs == []
        assert page.errors == []
        allowed = (page.path.as_uri(), "blob:", "data:", "file:///")
        assert [url for url in page.requests if not url.startswith(allowed)] == []
    for context in contexts:
        context.close()
