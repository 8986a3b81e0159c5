"""Reads what other finders write: fclones, rmlint, jdupes, fdupes.  Their groups are taken as they are.

Facts that a finder does not write are asked from the disk through a `Look`, which gives the status of a name or None.
"""

from __future__ import annotations

import csv
import io
import os
import posixpath
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeAlias

from dedupe.digests.base import BackendChoice
from dedupe.report.read.values import (
    MOST_BYTES,
    BrokenReport,
    absolute,
    check_groups,
    count,
    digest,
    strings,
    take,
    whole,
)
from dedupe.result import File, Group, GroupList, ScanResult, Totals
from dedupe.version import __version__

Look: TypeAlias = Callable[[bytes], os.stat_result | None]


@dataclass(slots=True)
class Block:
    """One group as a finder wrote it; a size or digest that it did not write is None."""

    size: int | None
    digest: bytes | None
    files: list[File] = field(default_factory=list)


def fclones(document: dict[str, Any], look: Look) -> ScanResult:
    """Return what a parsed JSON report of fclones holds."""
    header = take(document, "header", dict, "the report")
    command = header.get("command") or []
    base = os.fsencode(take(header, "base_dir", str, "header"))
    blocks = []
    for number, group in enumerate(take(document, "groups", list, "the report"), 1):
        where = f"group {number}"
        if not isinstance(group, dict):
            raise BrokenReport(f"{where} is no object")
        names = [
            absolute(_unescaped(os.path.join(base, os.fsencode(name))), where)
            for name in strings(take(group, "files", list, where), where)
        ]
        value = digest(take(group, "file_hash", str, where), where)
        blocks.append(Block(count(group, "file_len", where), value, _files(names, look)))
    algorithm = "metro"
    for before, word in pairwise(command if isinstance(command, list) else []):
        if before in ("--hash-fn", "-h"):
            algorithm = str(word)
    return _result(f"fclones {header.get('version', '')}", algorithm, blocks, str(header.get("timestamp", "")))


def fclones_csv(data: bytes, look: Look) -> ScanResult:
    """Return what a CSV report of fclones holds: size, hash, count, then as many names."""
    blocks = []
    lines = io.StringIO(data.decode("utf-8", "surrogateescape"), newline="")
    try:
        rows = list(csv.reader(lines, strict=True))[1:]
    except csv.Error as error:
        raise BrokenReport(f"it is no CSV: {error}") from error
    for number, row in enumerate(rows, 1):
        where = f"row {number}"
        if len(row) < 4 or not re.fullmatch("[0-9]{1,19}", row[0]) or row[2] != str(len(row) - 3):
            raise BrokenReport(f"{where} has not the size, hash, count and names that its header names")
        names = [_absolute(_unescaped(os.fsencode(name))) for name in row[3:]]
        blocks.append(Block(_size(row[0], where), digest(row[1], where), _files(names, look)))
    return _result("fclones", "metro", blocks)


def rmlint(document: list[Any], look: Look) -> ScanResult:
    """Return what a parsed JSON report of rmlint holds: a header, entries of any lint, a footer."""
    header = document[0] if document else None
    if not isinstance(header, dict) or "rmlint" not in str(header.get("description")):
        raise BrokenReport("it is a JSON list without rmlint's header")
    blocks: dict[object, Block] = {}
    run = 0  # where no checksum is written, an original starts a group
    for number, entry in enumerate(document[1:], 1):
        where = f"entry {number}"
        if not isinstance(entry, dict) or entry.get("type") not in ("duplicate_file", "part_of_directory"):
            continue
        run += entry.get("is_original") is True
        size, checksum = count(entry, "size", where), entry.get("checksum")
        value = digest(str(checksum), where) if checksum else None
        block = blocks.setdefault((size, value) if value else run, Block(size, value))
        block.files.append(_rmlint_file(entry, where, look))
    algorithm = str(header.get("checksum_type") or "bytes")
    return _result(f"rmlint {header.get('version', '')}", algorithm, blocks.values())


def _rmlint_file(entry: dict[str, Any], where: str, look: Look) -> File:
    """Return a file as the disk knows it now, else as rmlint did, whose dates are rounded."""
    path = _absolute(take(entry, "path", str, where).encode("utf-8", "surrogateescape"))
    (found,) = _files([path], look)
    if found.inode:
        return found
    modified = entry.get("mtime", 0)
    if not isinstance(modified, int | float) or not abs(modified) < 2**63:
        raise BrokenReport(f"{where} has a 'mtime' that is no date")
    device, inode = (count({key: 0, **entry}, key, where, most=2**128) for key in ("disk_id", "inode"))
    return File(path, int(modified * 1_000_000_000), device, inode)


def jdupes(document: dict[str, Any], look: Look) -> ScanResult:
    """Return what a parsed JSON report of jdupes holds; names that are not valid UTF-8 are lost in it."""
    blocks = []
    for number, group in enumerate(take(document, "matchSets", list, "the report"), 1):
        where = f"match set {number}"
        if not isinstance(group, dict):
            raise BrokenReport(f"{where} is no object")
        names = []
        for file in take(group, "fileList", list, where):
            if not isinstance(file, dict):
                raise BrokenReport(f"{where} has a file that is no object")
            names.append(_absolute(take(file, "filePath", str, where).encode("utf-8", "surrogatepass")))
        blocks.append(Block(count(group, "fileSize", where), None, _files(names, look)))
    return _result(f"jdupes {document.get('jdupesVersion', '')}", "bytes", blocks)


def fdupes(data: bytes, look: Look) -> ScanResult | None:
    """Return what blocks of names say, as fdupes and jdupes print them, or None where this is something else.

    Without `-S` no sizes are written: they are asked from the disk; a block none of whose files is here is left out.
    """
    blocks = []
    trusted = False
    for lines in data.split(b"\n\n"):
        names = lines.strip(b"\n").split(b"\n")
        size = re.fullmatch(rb"(\d{1,19}) bytes? each:", names[0].strip())
        files = _files(map(_absolute, _joined(names[1:] if size else names, look)), look)
        trusted = trusted or size is not None
        if size:
            blocks.append(Block(_size(size[1].decode(), "a block"), None, files))
        elif (status := next((found for file in files if (found := look(file.path))), None)) is not None:
            trusted = True
            blocks.append(Block(status.st_size, None, files))
    return _result("fdupes", "bytes", blocks) if trusted else None


def _joined(lines: list[bytes], look: Look) -> Iterator[bytes]:
    """Yield the names of a block: a name that holds a new line fills two lines, as the disk can tell."""
    i = 0
    while i < len(lines):
        name = lines[i]
        if i + 1 < len(lines) and not look(name) and look(name + b"\n" + lines[i + 1]):
            i += 1
            name += b"\n" + lines[i]
        if name:
            yield name
        i += 1


def _absolute(name: bytes) -> bytes:
    if not name or b"\0" in name:
        raise BrokenReport("it has a file without a name")
    # one that begins with a slash is absolute already: on Windows it came from elsewhere, and has no drive
    return posixpath.normpath(name) if name[:1] == b"/" else os.path.abspath(name)


def _files(paths: Iterable[bytes], look: Look) -> list[File]:
    """Return files with what the disk says of them; one that is not here has device and inode 0.

    A symbolic link, which finders may be told to follow, is a further name of the file that it leads to.
    """
    files = []
    for path in paths:
        if not path or b"\0" in path:
            raise BrokenReport("it has a file without a name")
        found, real = look(path), path
        links: tuple[bytes, ...] = ()
        if found and stat.S_ISLNK(found.st_mode):
            real, links = os.path.realpath(path), (path,)
            found = look(real)
        facts = (found.st_mtime_ns, found.st_dev, found.st_ino) if found else (0, 0, 0)
        files.append(File(real, *facts, symlinks=links))
    return files


_ESCAPES = re.compile(rb"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{6})|(.))", re.DOTALL)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t"}


def _unescaped(name: bytes) -> bytes:
    r"""Return the bytes behind fclones' escapes: `\\`, `\n`, `\xNN` for a byte, `\uNNNNNN` for a lone surrogate."""

    def exact(escape: re.Match[bytes]) -> bytes:
        byte, code, letter = escape.groups()
        if byte:
            return bytes.fromhex(byte.decode())
        if code:
            return chr(int(code, 16)).encode("utf-8", "surrogatepass")
        return _LETTERS.get(letter, letter)

    return _ESCAPES.sub(exact, name)


def _size(digits: str, where: str) -> int:
    if (size := int(digits)) > MOST_BYTES:
        raise BrokenReport(f"{where} has a size that is too large to be true")
    return size


def _united(files: Iterable[File]) -> tuple[File, ...]:
    """Return physical files by path: names that the disk knows to be one file become its links."""
    physical: dict[object, list[File]] = {}
    for file in sorted(files, key=lambda file: file.path):
        key = (file.device, file.inode) if file.inode else file.path
        physical.setdefault(key, []).append(file)
    return tuple(map(_joined_names, physical.values()))


def _joined_names(names: Sequence[File]) -> File:
    """Return one file of several that are one, with all their names."""
    first, *links = [file.path for file in names if not file.symlinks] or [names[0].path]
    symlinks = sorted({link for file in names for link in file.symlinks})
    return File(first, *names[0][1:4], links=tuple(links), symlinks=tuple(symlinks))


def _result(program: str, algorithm: str, blocks: Iterable[Block], started: str = "") -> ScanResult:
    """Return a result in our own order; `started` is empty where the finder does not say."""
    program = whole(program.strip(), "it has a version")
    whole(algorithm, "it has a name of a hash")
    whole(started, "it has a time")
    made = [Group(0, block.size or 0, algorithm, block.digest, _united(block.files)) for block in blocks]
    made = [group for group in made if len(group.files) > 1]
    made.sort(key=lambda group: (-group.reclaimable_bytes, group.files[0].path))
    groups = GroupList(replace(group, id=i) for i, group in enumerate(made, 1))
    check_groups(groups)
    notes = [f"Read from a report of {program}: its groups were not checked again."]
    if missing := sum(not file.inode for group in groups for file in group.files):
        notes.append(f"Of its files, {missing} are not here now: their dates and hard links are unknown.")
    files = sum(len(group.files) for group in groups)
    return ScanResult(
        version=__version__,
        started=started,
        seconds=0.0,
        roots=(),
        confirm=algorithm,
        backend=BackendChoice(program, "the report says what this program found"),
        totals=Totals(
            files=files,
            bytes=sum(group.size * len(group.files) for group in groups),
            groups=len(groups),
            redundant_files=files - len(groups),
            reclaimable_bytes=sum(group.reclaimable_bytes for group in groups),
        ),
        groups=groups,
        problems=(),
        notes=tuple(notes),
    )
