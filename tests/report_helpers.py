"""Results made by hand for the tests of reports: no scan, so that any name and number can be tried."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from hypothesis import settings
from hypothesis import strategies as st

from dedupe.digests.base import BackendChoice
from dedupe.report import FORMATS, Style
from dedupe.result import (
    File,
    FolderCount,
    Group,
    GroupList,
    NameKind,
    Problem,
    ProblemKind,
    Proof,
    ScanResult,
    SkipReason,
    Totals,
    VolumeInfo,
)

HOSTILE = (
    b"caf\xe9.bin",
    "\u524d.flac".encode(),
    "caf\u00e9 \U0001f600".encode(),
    b"trailing space ",
    "em space\u2003".encode(),
    b" leading",
    b"tab\t",
    b"return\r",
    b'new\nline,"comma"',
    b"\x1b[31mred",
    "bidi\u202egnp.exe".encode(),
    b"=1+1",
    b"@SUM(A1)",
    b"-2+3",
    b"literal \\x41",
    b"\xed\xa0\x80 lone surrogate",
    b"</script><script>alert(1)<",
    "line\u2028separator".encode(),
)


def group(number: int, size: int, paths: Sequence[bytes], digest: bytes | None = b"\xab" * 32) -> Group:
    """Return a group of physical files, a name each."""
    proof = Proof.COMPARED
    files = tuple(
        File(path, 1_700_000_000_123_456_789 + i, 2049, 100 * number + i, 0, 0, proof) for i, path in enumerate(paths)
    )
    return Group(number, size, "bytes" if digest is None else "sha256", digest, files)


def result(
    groups: Sequence[Group] = (),
    problems: Sequence[Problem] = (),
    skipped: Mapping[SkipReason, int] | None = None,
    folders: Mapping[bytes, FolderCount] | None = None,
) -> ScanResult:
    """Return a result with totals that fit its groups."""
    redundant = sum(max(each.copies - 1, 0) for each in groups)
    return ScanResult(
        version="0.1.0",
        started="2026-01-02T03:04:05Z",
        seconds=1.25,
        roots=(b"/data",),
        confirm="sha256",
        backend=BackendChoice("hashlib", "the only one here"),
        totals=Totals(
            files=redundant + len(groups),
            bytes=sum(each.size * len(each.files) for each in groups),
            skipped=skipped or {},
            groups=len(groups),
            redundant_files=redundant,
            reclaimable_bytes=sum(each.reclaimable_bytes for each in groups),
            problems=len(problems),
        ),
        groups=GroupList(groups),
        problems=problems,
        volumes=(VolumeInfo("uuid:1234", "photos", "ext4", b"/"),),
        folders=folders or {},
    )


def hostile_result() -> ScanResult:
    """Return a result whose names try everything: as files, links, folders, problems and roots."""
    paths = [b"/data/" + name for name in HOSTILE]
    linked = (
        group(2, 5, [b"/data/a", b"/data/b"])
        .files[0]
        ._replace(
            links=tuple(sorted(path + b"~" for path in paths)),
            symlinks=(b"/data/\xff link",),
            mounted=(b"/mnt/\xff", b"/mnt/a"),
        )
    )
    groups = (
        group(1, 4096, paths),
        Group(2, 5, "sha256", b"\xcd" * 32, (linked, File(b"/data/" + HOSTILE[0] + b"/x", -1, 2**63, 2**64 + 1, 1))),
        group(3, 0, [b"/data/empty 1", b"/data/empty 2"], digest=None),
    )
    problems = tuple(Problem(path, ProblemKind.PERMISSION, "not\x1b allowed: \u202e") for path in paths)
    made = result(groups, problems, {SkipReason.EMPTY: 1, SkipReason.SYMLINK: 3})
    volumes = (VolumeInfo("serial:\u202e", "caf\u00e9\x1b", "", b""), VolumeInfo("uuid:2", "", "vfat", b"/media/\xe9"))
    return replace(made, roots=(b"/data", b"/caf\xe9"), volumes=volumes, notes=("a note \u202e",))


def rendered(name: str, of: ScanResult, style: Style | None = None) -> bytes:
    """Return a whole report."""
    return b"".join(FORMATS[name].render(of, style or Style()))


few = settings(max_examples=40, deadline=None)
"""For properties over whole reports, where each example is long."""

_parts = st.binary(min_size=1, max_size=8).map(lambda b: b.replace(b"\0", b"_").replace(b"/", b"_"))
_paths = st.lists(_parts, min_size=1, max_size=3).map(lambda parts: b"/" + b"/".join(parts))


@st.composite
def results(draw: st.DrawFn) -> ScanResult:
    """Return results with any names, numbers, places, proofs, problems and folders."""
    paths = iter(draw(st.lists(_paths, max_size=24, unique=True)))
    volumes = tuple(draw(st.lists(st.builds(VolumeInfo, _words, _words, _words, st.just(b"") | _paths), max_size=2)))
    groups = []
    for number in range(1, draw(st.integers(0, 4)) + 1):
        files = [file for _ in range(draw(st.integers(2, 4))) if (file := _file(draw, paths, len(volumes)))]
        digest = draw(st.none() | st.binary(min_size=32, max_size=32))
        algorithm = "sha256" if digest else "bytes"
        if len(files) > 1:
            groups.append(Group(number, draw(st.integers(0, 2**58)), algorithm, digest, tuple(files)))
    problems = tuple(draw(st.lists(st.builds(Problem, _paths, st.sampled_from(ProblemKind), _words), max_size=3)))
    skipped = draw(st.dictionaries(st.sampled_from(SkipReason), st.integers(1, 10**9), max_size=3))
    made = result(tuple(groups), problems, skipped, _folders(draw, groups))
    return replace(made, volumes=volumes)


_words = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)


def _file(draw: st.DrawFn, paths: Iterator[bytes], volumes: int) -> File | None:
    """Draw a file that has some of the paths, or None where none is left."""
    own = [list(islice(paths, draw(st.integers(0, 2)))) for _ in NameKind]
    if (path := next(paths, None)) is None:
        return None
    numbers = st.integers(0, 2**64)
    modified = draw(st.integers(-(2**63), 2**63 - 1))
    volume = draw(st.none() | st.integers(0, volumes - 1)) if volumes else None
    proof = draw(st.none() | st.sampled_from(Proof))
    links, symlinks, mounted = (tuple(sorted(names)) for names in own)
    return File(
        path,
        modified,
        draw(numbers),
        draw(numbers),
        draw(st.sampled_from([None, 0])),
        volume,
        proof,
        links,
        symlinks,
        mounted,
    )


def _folders(draw: st.DrawFn, groups: Iterable[Group]) -> dict[bytes, FolderCount]:
    """Draw counts for some of the folders of the groups."""
    counts = st.integers(0, 2**40)
    above = sorted({file.path.rpartition(b"/")[0] or b"/" for each in groups for file in each.files})
    return {folder: FolderCount(draw(counts), draw(counts), draw(counts)) for folder in above if draw(st.booleans())}
