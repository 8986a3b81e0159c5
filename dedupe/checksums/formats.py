"""Lists of checksums, as sha256sum and its kin write and read them: bytes to entries and back.  Opens no file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dedupe.storage.byte_order import as_utf8

# How lists call the algorithms, and how many bytes their digests have
TAGS = {
    "md5": "MD5",
    "sha1": "SHA1",
    "sha256": "SHA256",
    "sha384": "SHA384",
    "sha512": "SHA512",
    "sha3_256": "SHA3-256",
    "blake2b": "BLAKE2b",
    "blake2s": "BLAKE2s",
    "blake3": "BLAKE3",
    "xxh32": "XXH32",
    "xxh64": "XXH64",
    "xxh3_64": "XXH3",
    "xxh3": "XXH128",
}
SIZES = {
    "md5": 16,
    "sha1": 20,
    "sha256": 32,
    "sha384": 48,
    "sha512": 64,
    "sha3_256": 32,
    "blake2b": 64,
    "blake2s": 32,
    "blake3": 32,
    "xxh32": 4,
    "xxh64": 8,
    "xxh3_64": 8,
    "xxh3": 16,
}
# An untagged line of this many digest bytes was made by one of these; others need --algorithm
_BY_SIZE = {16: ("md5",), 20: ("sha1",), 32: ("sha256",), 48: ("sha384",), 64: ("sha512", "blake2b")}
# OpenSSL and cksum call the SHA-2 family by another name
_BY_TAG = {tag.upper(): name for name, tag in TAGS.items()} | {
    "SHA2-256": "sha256",
    "SHA2-384": "sha384",
    "SHA2-512": "sha512",
    "BLAKE2B512": "blake2b",
    "BLAKE2S256": "blake2s",
}

_ESCAPES = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r"}
_MEANINGS = {b"\\\\": b"\\", b"\\n": b"\n", b"\\r": b"\r"}
_UNSAFE = re.compile(rb"[\\\n\r]")
_ESCAPED = re.compile(rb"\\.?", re.DOTALL)
# Two spaces, or a space and a star for "binary"; a single space is the reversed form of BSD
_PLAIN = re.compile(rb"[ \t]*(?P<escaped>\\?)(?P<digest>[0-9A-Fa-f]+)[ \t][ *]?(?P<path>.+)", re.DOTALL)
_TAGGED = re.compile(
    rb"[ \t]*(?P<escaped>\\?)(?P<tag>[0-9A-Za-z_-]+) ?\((?P<path>.+)\)[ \t]*=[ \t]*(?P<digest>[0-9A-Fa-f]+)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a list: a file, and the digest that it had."""

    path: bytes
    digest: bytes
    algorithms: tuple[str, ...]  # one, or those that the digest's length leaves open


@dataclass(frozen=True, slots=True)
class Sums:
    """A list: its entries in order, and the numbers of lines (from 1) that are neither entry, comment nor empty."""

    entries: tuple[Entry, ...]
    malformed: tuple[int, ...]


def escaped(path: bytes) -> tuple[bytes, bytes]:
    r"""Return what a line begins with, and a path as it stands there.

    A backslash at the beginning says that the path is written with the escapes `\\`, `\n` and `\r`.
    """
    safe = _UNSAFE.sub(lambda found: _ESCAPES[found[0]], path)
    return (b"" if safe == path else b"\\"), safe


def line(path: bytes, digest: bytes, algorithm: str, *, tag: bool = False) -> bytes:
    """Return the line of a list for a file, with its end; with `tag`, in the style of BSD."""
    mark, name = escaped(path)
    value = digest.hex().encode()
    if tag:
        return b"%b%b (%b) = %b\n" % (mark, TAGS[algorithm].encode(), name, value)
    return b"%b%b  %b\n" % (mark, value, name)


def parse(data: bytes, algorithm: str | None = None) -> Sums:
    """Return what a list holds: of coreutils, shasum, BSD, OpenSSL or PowerShell, in UTF-8 or marked UTF-16.

    With `algorithm`, only lines that may be of it count.
    """
    entries, malformed = [], []
    for number, text in enumerate(as_utf8(data).split(b"\n"), 1):
        text = text.removesuffix(b"\r")  # noqa: PLW2901 - the same line
        if not text or text.startswith(b"#"):
            continue
        entry = _entry(text, algorithm)
        if entry is None:
            malformed.append(number)
        else:
            entries.append(entry)
    return Sums(tuple(entries), tuple(malformed))


def _entry(text: bytes, algorithm: str | None) -> Entry | None:
    found = _TAGGED.fullmatch(text) or _PLAIN.fullmatch(text)
    if found is None or len(found["digest"]) % 2:
        return None
    digest = bytes.fromhex(found["digest"].decode())
    candidates = _BY_SIZE.get(len(digest), ())
    if "tag" in found.groupdict():
        tagged = _BY_TAG.get(found["tag"].decode().upper())
        candidates = (tagged,) if tagged and SIZES[tagged] == len(digest) else ()
        if algorithm not in (None, tagged):
            return None
    elif algorithm is not None:
        candidates = (algorithm,) if SIZES[algorithm] == len(digest) else ()
    path = _unescaped(found["path"]) if found["escaped"] else found["path"]
    if not candidates or path is None or b"\0" in path:
        return None
    return Entry(path, digest, candidates)


def _unescaped(path: bytes) -> bytes | None:
    """Return the path that an escaped one means, or None where an escape means nothing."""
    if any(found not in _MEANINGS for found in _ESCAPED.findall(path)):
        return None
    return _ESCAPED.sub(lambda found: _MEANINGS[found[0]], path)
