"""Hostile names, addresses and code in the HTML report, in a real Chromium."""

from __future__ import annotations

import base64
import os
import struct
import zlib
from pathlib import Path
from typing import Any

from tests.report.opened import group, scan_of, small

HOSTILE = (
    b"<img src=x onerror=alert(1)>.bin",
    b'" onmouseover="alert(1)',
    b"</script><script>alert(1)<",
    b"</script>",
    b"<!--",
    b"--><script>alert(1)</script>",
    b"${data}",
    b"&lt;b&gt;",
    b"javascript:alert(1)",
    b"a\xe2\x80\xaegpj.exe",
    b"line\nbreak\x1b[31m",
    b"caf\xe9<b>.jpg",
    b"%2e%2e%2f<svg onload=alert(1)>",
)


def test_hostile_names_stay_text(open_page: Any, tmp_path: Path) -> None:
    """Names that are markup, script, bidi or control characters are shown as text wherever they appear."""
    groups = [
        group(n, b"/data/<" + name + b"/script>" + name, b"/data/b/" + name, size=900 - n, links=(b"/data/l/" + name,))
        for n, name in enumerate(HOSTILE, 1)
    ]
    notes = tuple(name.decode("latin-1") for name in HOSTILE)
    opened = open_page(scan_of(*groups, roots=(b"/data", *HOSTILE), notes=notes), harmless="ERR_FILE_NOT_FOUND")
    shape = "[...document.querySelectorAll('script, img, svg, iframe, b:not(#chosen):not(.problems b)')].map(e => e.id)"
    assert opened.page.evaluate(shape) == ["data", ""]
    for n, name in enumerate(HOSTILE):
        opened.page.focus("#grid")
        opened.page.keyboard.press("ArrowDown" if n else "Home")
        opened.page.hover(".row[aria-selected=true]")
        shown = opened.text(".copy:last-child .path")
        if name.isascii() and name.decode().isprintable():
            assert shown == "/data/b/" + name.decode()
        assert opened.page.evaluate(shape) == ["data", ""]
    for bar in range(opened.page.locator("#bars button").count()):
        opened.page.locator("#bars button").nth(bar).click()
        opened.page.click("#reset")
    opened.rule("newest")
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert opened.page.evaluate(shape) == ["data", ""]
    words = opened.page.inner_text("body")
    assert "\u202e" not in words
    assert "\x1b" not in words
    saved = opened.save(tmp_path / "marks.json")
    kept = [file for each in saved["groups"] for file in each["keep"]]
    exact = [base64.b64decode(file["path_base64"]) if "path_base64" in file else file["path"].encode() for file in kept]
    assert exact == [b"/data/b/" + name for name in HOSTILE]
    assert [file for file in kept if "path_base64" in file] == [kept[HOSTILE.index(b"caf\xe9<b>.jpg")]]


def test_addresses_are_encoded_byte_by_byte(open_page: Any) -> None:
    """A link leads to the exact file: nothing in a name is read as part of an address."""
    paths = {
        b"/data/a b/100%25?x#y.txt": "file:///data/a%20b/100%2525%3Fx%23y.txt",
        b"/data/caf\xe9\\\xc3\xa9.txt": "file:///data/caf%E9%5C%C3%A9.txt",
        b"//host/share/x.txt": "file:///host/share/x.txt",
        b"C:\\Users\\a b\\x.txt": "file:///C:/Users/a%20b/x.txt",
        b"\\\\server\\share\\x.txt": "file://server/share/x.txt",
    }
    opened = open_page(scan_of(group(1, *paths, b"relative.txt")))
    links = opened.page.eval_on_selector_all(
        ".copy", "all => all.map(copy => copy.querySelector('a')?.getAttribute('href') ?? null)"
    )
    assert links == [*paths.values(), None]


def png(path: Path) -> bytes:
    """Write a small picture and return its path."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 40, 30, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(b"\0" + b"\x20\x90\x80" * 40 for _ in range(30)))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b""))
    return os.fsencode(path)


def test_pictures_are_shown_where_the_browser_may_read_them(open_page: Any, tmp_path: Path) -> None:
    """A picture is shown from the first copy that can be read; with none there is no broken image."""
    odd = tmp_path / "50% #1"
    odd.mkdir()
    real, gone, server = png(odd / "a.png"), os.fsencode(tmp_path / "gone.png"), b"\\\\server\\share\\c.png"
    scan = scan_of(
        group(1, gone, real, size=300),
        group(2, gone, gone + b".png", size=200),
        group(3, server, server + b".png", size=100),
    )
    opened = open_page(scan, harmless="ERR_FILE_NOT_FOUND")
    opened.page.wait_for_selector("#preview img:visible")
    assert opened.page.evaluate("document.querySelector('#preview img').naturalWidth") == 40
    opened.page.focus("#grid")
    for _ in range(2):
        opened.page.keyboard.press("ArrowDown")
        opened.page.wait_for_timeout(200)
        assert opened.page.locator("#preview img").count() == 0
        assert opened.page.is_hidden("#preview")
    assert not [url for url in opened.requests if "server" in url]


def test_the_policy_stops_what_the_code_does_not_do(open_page: Any) -> None:
    """Even code that got into the page could send nothing and run no script of its own."""
    opened = open_page(small(), harmless="Content Security Policy")
    stopped = opened.page.evaluate(
        """async () => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          document.body.insertAdjacentHTML("beforeend", "<b onclick='window.ran = true' id=trap></b>");
          document.getElementById("trap").click();
          const sent = await fetch("https://example.org/").then(() => "sent", () => "refused");
          return [sent, window.ran ?? "not run"];
        }"""
    )
    assert stopped == ["refused", "not run"]
