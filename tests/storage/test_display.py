"""Names as text: safe to show, exact where it counts, and harmless to any console."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.storage import display
from tests.report_helpers import HOSTILE


@given(st.binary(min_size=1).filter(lambda path: b"\0" not in path))
def test_text_and_base64_give_back_the_bytes(path: bytes) -> None:
    """Whatever the bytes, the text is valid Unicode and the pair leads back to them."""
    readable = display.text(path)
    readable.encode("utf-8")
    assert display.exact(readable, display.base64_if_needed(path)) == path


def test_a_literal_backslash_x_is_not_mistaken() -> None:
    r"""A name that holds the four characters `\xe9` and one that holds the byte keep apart."""
    literal, byte = b"/caf\\xe9", b"/caf\xe9"
    assert display.text(literal) == display.text(byte)
    assert display.base64_if_needed(literal) is None
    assert display.exact(display.text(byte), display.base64_if_needed(byte)) == byte


@pytest.mark.parametrize("pair", [("", None), ("a\0b", None), ("\udce9", None), ("x", "no base64!"), ("x", "AA==")])
def test_no_path_is_made_of_nonsense(pair: tuple[str, str | None]) -> None:
    """An empty path, a NUL, a lone surrogate or broken base64 is an error, never another file's name."""
    with pytest.raises(ValueError, match=r"no path|surrogates|base64"):
        display.exact(*pair)


@given(st.binary() | st.sampled_from(HOSTILE))
def test_what_is_shown_is_one_harmless_line(path: bytes) -> None:
    """No control, bidi or line-breaking character reaches a terminal."""
    shown = display.shown(path)
    assert len(shown.splitlines()) <= 1
    assert not {unicodedata.category(c) for c in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(shown) & set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (b"a\nb", r"a\nb"),
        (b"\x1b[31m", r"\x1b[31m"),
        (b"\xe9", r"\xe9"),
        ("\u0085\u202e".encode(), r"\u0085\u202e"),
        ("\U000e0041".encode(), r"\U000e0041"),
        (
            "\u524d caf\u00e9 \u3000 \U0001f468\u200d\U0001f469".encode(),
            "\u524d caf\u00e9 \u3000 \U0001f468\u200d\U0001f469",
        ),
        (b"C:\\new", r"C:\new"),
    ],
)
def test_escapes_are_readable(path: bytes, shown: str) -> None:
    """Each kind of dangerous character has its own escape; ordinary writing of any script stays."""
    assert display.shown(path) == shown


@pytest.mark.parametrize("encoding", ["cp437", "cp932", "cp1252", "ascii", "utf-8", "no such encoding"])
def test_every_console_takes_every_name(encoding: str) -> None:
    """A console that cannot hold a character gets an escape, and no error."""
    line = "\u524d.flac caf\u00e9 \U0001f600 plain\n"
    written = display.for_console(line.encode(), encoding)
    assert written.endswith(b" plain\n")
    if encoding in ("ascii", "no such encoding"):
        assert written == rb"\u524d.flac caf\xe9 \U0001f600 plain" + b"\n"
