"""The HTML report: one page that needs a browser and nothing else.  Opens no file but the parts of the page beside it.

The page is sent in three runs: the head with the totals (`htmltext`), the groups, and the tail.  The groups
are JSON, deflated and in base64, whose alphabet has no character that could end a script block; the page makes text
nodes of the names, and never markup.  See `_data` for the shape.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
import string
import zlib
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from itertools import islice

from dedupe.report.base import Style
from dedupe.report.htmltext import facts
from dedupe.result import Group, NameKind, Proof, ScanResult
from dedupe.storage.display import shown

MAX_GROUPS = 200_000  # more rows, of 84 px on a phone, would be taller than Firefox can scroll (17.8 million px)
MAX_DATA = 128 << 20  # characters of JSON: a quarter of V8's longest string
_BATCH = 64  # groups turned into JSON at once
_EFFORT = 4  # of zlib: 6 takes 1.6 times as long for 2 % less

_SCRIPTS = (
    *("format.js", "data.js", "filter.js", "marks.js", "accepted.js"),
    *("table.js", "space.js", "detail.js", "files.js", "pairs.js", "main.js"),
)
_LIBRARY = "d3-hierarchy"
_PLACES: dict[Proof | None, int] = {None: -1, **{proof: place for place, proof in enumerate(Proof)}}
_WINDOWS = re.compile(rb"[A-Za-z]:\\|\\\\")


def render(result: ScanResult, style: Style) -> Iterator[bytes]:
    """Yield the page in UTF-8.  The same result gives the same bytes; `MAX_GROUPS` and `MAX_DATA` are its limits."""
    head, tail = _template()
    css, script = _part("page.css"), _script()
    parts = {"policy": _policy(css, script), "style": css, "script": script}
    folders = _Folders()
    fields = facts(result, folders.place_of if style.folders else None) | parts
    yield head.substitute(fields).encode()
    yield from _packed(_data(result, folders))
    yield tail.substitute(fields).encode()


# --- the parts of the page


@functools.cache
def _part(name: str) -> str:
    return resources.files(__package__).joinpath("page", name).read_text(encoding="utf-8")


def _template() -> tuple[string.Template, string.Template]:
    head, _, tail = _part("page.html").partition("${data}")
    return string.Template(head), string.Template(tail)


@functools.cache
def _script() -> str:
    """Return the library under its licence, then the page's own code in a scope of its own."""
    licence = f"/*\n{_LIBRARY}\n\n{_part(f'{_LIBRARY}.LICENSE')}*/\n"
    own = "".join(_part(name) for name in _SCRIPTS)
    return f"{licence}{_part(f'{_LIBRARY}.min.js')}\n(() => {{\n'use strict';\n{own}}})();\n"


def _policy(css: str, script: str) -> str:
    """Return a policy that lets the page run its own code, show local pictures, and do nothing else."""
    rules = (
        "default-src 'none'",
        f"script-src '{_source(script)}'",
        f"style-src '{_source(css)}'",
        "img-src file: data:",
        "connect-src 'none'",
        "form-action 'none'",
        "base-uri 'none'",
    )
    return "; ".join(rules)


def _source(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


# --- the groups


def _packed(texts: Iterable[str]) -> Iterator[bytes]:
    """Deflate and write in base64, piece by piece."""
    squeeze = zlib.compressobj(_EFFORT)
    rest = b""
    for text in texts:
        rest += squeeze.compress(text.encode("ascii"))
        whole = len(rest) - len(rest) % 3
        yield base64.b64encode(rest[:whole])
        rest = rest[whole:]
    yield base64.b64encode(rest + squeeze.flush())


def _data(result: ScanResult, folders: _Folders) -> Iterator[str]:
    """Yield the groups as ASCII JSON, with their folders after those that the head has named.

    `{"version": "", "started": "", "algorithms": [name], "roots": [name], "groups": [[id, size, algorithm's place,
    digest's hex or 0, file...]], "links": [[group's place, file's place, kind's place, folder's place, name]],
    "kinds": [kind of a further name], "proofs": [proof], "folders": [[parent's place or -1, name]],
    "left": [groups, reclaimable bytes] of what was too much}`.
    A file is five values: folder's place, name (0: that of the file before), microseconds since 1970, root's place and
    proof's place (-1: not known).  A folder's name keeps its separator, so that a path is its parts joined.  A name is
    its text, or `[readable text, base64 of the exact bytes]` where the two differ.
    """
    algorithms = {name: place for place, name in enumerate(sorted({group.algorithm for group in result.groups}))}
    head = {"version": result.version, "started": result.started, "algorithms": list(algorithms)}
    words = {"kinds": list(NameKind), "proofs": list(Proof), "roots": [_name(root) for root in result.roots]}
    yield _json(head | words)[:-1] + ',"groups":['
    groups = islice(result.groups, MAX_GROUPS)
    links: list[object] = []
    size = place = 0
    while size < MAX_DATA and (batch := list(islice(groups, _BATCH))):
        text = ("," if place else "") + _json([_row(group, algorithms, folders) for group in batch])[1:-1]
        for group in batch:
            links += _links(group, place, folders)
            place += 1
        size += len(text)
        yield text
    left = sum(group.reclaimable_bytes for group in islice(result.groups, place, None))
    tail = {"links": links, "folders": folders.rows, "left": [len(result.groups) - place, left]}
    yield "]," + _json(tail)[1:]


def _row(group: Group, algorithms: Mapping[str, int], folders: _Folders) -> list[object]:
    digest = group.digest.hex() if group.digest is not None else 0
    row: list[object] = [group.id, group.size, algorithms[group.algorithm], digest]
    before = None
    for file in group.files:
        folder, name = folders.split(file.path)
        name_or_same = 0 if name == before else _name(name)
        root = -1 if file.root is None else file.root
        row += (folder, name_or_same, file.modified_ns // 1000, root, _PLACES[file.proof])
        before = name
    return row


def _links(group: Group, place: int, folders: _Folders) -> Iterator[list[object]]:
    for number, file in enumerate(group.files):
        for kind, names in enumerate((file.links, file.symlinks, file.mounted)):
            for folder, name in map(folders.split, names):
                yield [place, number, kind, folder, _name(name)]


class _Folders:
    """The folders that were met, each once; a parent comes before what it holds."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, object]] = []
        self._places: dict[bytes, int] = {b"": -1}

    def split(self, path: bytes) -> tuple[int, bytes]:
        """Return the place of the folder of `path` and the rest; -1 where there is no folder."""
        separator = _separator(path)
        end = path.rfind(separator) + 1
        return self._place(path[:end], separator), path[end:]

    def place_of(self, folder: bytes) -> int:
        """Return the place of a folder, named with or without a separator at its end."""
        separator = _separator(folder)
        return self._place(folder.removesuffix(separator) + separator, separator)

    def _place(self, folder: bytes, separator: bytes) -> int:
        unknown: list[tuple[bytes, int]] = []  # no recursion: a path may be deeper than Python's stack
        while folder not in self._places:
            start = folder.rfind(separator, 0, -1) + 1
            unknown.append((folder, start))
            folder = folder[:start]
        for path, start in reversed(unknown):
            self.rows.append((self._places[path[:start]], _name(path[start:])))
            self._places[path] = len(self.rows) - 1
        return self._places[unknown[0][0] if unknown else folder]


def _separator(path: bytes) -> bytes:
    return b"\\" if _WINDOWS.match(path) else b"/"


def _name(name: bytes) -> object:
    text = shown(name)
    return text if text.encode() == name else (text, base64.b64encode(name).decode())


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
