"""Text whose first bytes say how it is encoded, as programs of Windows write it.  Reads no file.

PowerShell's `>` writes UTF-16 with a byte-order mark, and other programs put one before UTF-8:
https://www.unicode.org/faq/utf_bom.html.
"""

from __future__ import annotations

import codecs

_ENCODINGS = (  # the mark of UTF-32 begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def as_utf8(data: bytes) -> bytes:
    """Return a text as UTF-8 without a mark; one that has none stays as it is, whatever its bytes are.

    Half a surrogate pair, which Windows allows in a name, becomes three bytes as `os.fsencode` makes them there, and
    what is cut off in the middle of a character becomes a replacement character.
    """
    if data.startswith(codecs.BOM_UTF8):
        return data[len(codecs.BOM_UTF8) :]
    for mark, encoding in _ENCODINGS:
        if data.startswith(mark):
            whole = len(data) % len(mark) == 0
            return data.decode(encoding, "surrogatepass" if whole else "replace").encode("utf-8", "surrogatepass")
    return data
