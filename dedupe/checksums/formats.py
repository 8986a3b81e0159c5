"""Lists of checksums, as sha256sum and its kin write and read them: bytes to entries and back.  Opens no file."""

from __future__ import annotations

import re
from collections.abc import Callable

from dedupe.checksums import algorithms, sfv
from dedupe.checksums.entry import Entry, Sums
from dedupe.checksums.hashdeep import MAGIC as HASHDEEP
from dedupe.checksums.hashdeep import Reader as HashdeepReader
from dedupe.storage.byte_order import as_utf8

_ESCAPES = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r"}
_MEANINGS = {b"\\\\": b"\\", b"\\n": b"\n", b"\\r": b"\r"}
_UNSAFE = re.compile(rb"[\\\n\r]")
_ESCAPED = re.compile(rb"\\.?", re.DOTALL)
# Two spaces, or a space and a star for "binary"; a single space is the reversed form of BSD
_PLAIN = re.compile(
    rb"[ \t]*(?P<escaped>\\?)(?P<xxh3>(?:XXH3_)?)(?P<digest>[0-9A-Fa-f]+)[ \t][ *]?(?P<path>.+)", re.DOTALL
)
_TAGGED = re.compile(
    rb"[ \t]*(?P<escaped>\\?)(?P<tag>[0-9A-Za-z_/-]+) ?\((?P<path>.+)\)[ \t]*=[ \t]*(?P<digest>[0-9A-Fa-f]+)", re.DOTALL
)


def escaped(path: bytes) -> tuple[bytes, bytes]:
    r"""Return what a line begins with, and a path as it stands there.

    A backslash at the beginning says that the path is written with the escapes `\\`, `\n` and `\r`.
    """
    safe = _UNSAFE.sub(lambda found: _ESCAPES[found[0]], path)
    return (b"" if safe == path else b"\\"), safe


def line(path: bytes, digest: bytes, algorithm: str, *, tag: bool = False, binary: bool = False) -> bytes:
    """Return the line of a list for a file, without its end.

    Args:
        path: as the user wrote it.
        digest: of all its bytes.
        algorithm: of the digest.
        tag: write it in the style of BSD, which names the algorithm.
        binary: mark it as read byte by byte, as all files are; lines with a tag have no such mark.
    """
    mark, name = escaped(path)
    return mark + bare_line(name, digest, algorithm, tag=tag, binary=binary)


def bare_line(path: bytes, digest: bytes, algorithm: str, *, tag: bool = False, binary: bool = False) -> bytes:
    """Return the line of a list whose lines end in NUL, where paths need no escapes; see `line`."""
    value = digest.hex().encode()
    if tag:
        return b"%b (%b) = %b" % (algorithms.tag(algorithm).encode(), path, value)
    return b"%b %b%b" % (value, b"*" if binary else b" ", path)


def parse(data: bytes, algorithm: str | None = None) -> Sums:
    """Return what a list holds, in UTF-8 or marked UTF-16.

    It may be of coreutils, shasum, xxhsum, BSD, OpenSSL, PowerShell, hashdeep, or SFV.  With `algorithm`, only lines
    that may be of it count.
    """
    entries, malformed = [], []
    lines = [text.removesuffix(b"\r") for text in as_utf8(data).split(b"\n")]
    is_comment, read = _style(lines, algorithm)
    for number, text in enumerate(lines, 1):
        if not text or is_comment(text):
            continue
        entry = read(text)
        if entry is None or b"\0" in entry.path:
            malformed.append(number)
        else:
            entries.append(entry)
    return Sums(tuple(entries), tuple(malformed))


def _style(
    lines: list[bytes], algorithm: str | None
) -> tuple[Callable[[bytes], bool], Callable[[bytes], Entry | None]]:
    """Return what tells the comments of a list, and what reads its other lines, by what it begins with."""
    told = [text for text in lines if text.strip() and not text.startswith(b"#")]
    if told and told[0].startswith(HASHDEEP):
        reader = HashdeepReader(algorithm)
        return reader.is_comment, reader.entry
    first = next((text for text in told if not text.startswith(b";")), b"")
    is_sfv = sfv.entry(first) and (first is not told[0] or not (_TAGGED.fullmatch(first) or _PLAIN.fullmatch(first)))
    if is_sfv and algorithm in (None, sfv.ALGORITHM):
        return lambda text: text.startswith(b";"), sfv.entry
    return lambda text: text.startswith(b"#"), lambda text: _entry(text, algorithm)


def _entry(text: bytes, algorithm: str | None) -> Entry | None:
    found = _TAGGED.fullmatch(text) or _PLAIN.fullmatch(text)
    if found is None or len(found["digest"]) % 2:
        return None
    digest = bytes.fromhex(found["digest"].decode())
    if "tag" in found.groupdict():
        tag, reverse = found["tag"].decode(), found["tag"].upper().endswith(b"_LE")
        candidates = _tagged(tag[:-3] if reverse else tag, len(digest), algorithm)
        digest = digest[::-1] if reverse else digest  # xxhsum --little-endian
    elif found["xxh3"]:
        candidates = _tagged("XXH3", len(digest), algorithm)
    else:
        candidates = algorithms.of_size(len(digest), algorithm)
    path = _unescaped(found["path"]) if found["escaped"] else found["path"]
    return Entry(path, digest, candidates) if candidates and path is not None else None


def _tagged(tag: str, length: int, named: str | None) -> tuple[str, ...]:
    """Return the algorithm of a line that names it, if it is the one that the user named and its digest is whole."""
    found = algorithms.of_tag(tag)
    if found is None or algorithms.size(found) != length:
        return ()
    return (found,) if named is None or found == named or (named == "blake2b" and found.startswith(named)) else ()


def _unescaped(path: bytes) -> bytes | None:
    """Return the path that an escaped one means, or None where an escape means nothing."""
    if any(found not in _MEANINGS for found in _ESCAPED.findall(path)):
        return None
    return _ESCAPED.sub(lambda found: _MEANINGS[found[0]], path)
