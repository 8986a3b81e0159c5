"""Fingerprints: which bytes they cover, and that they tell apart what those bytes tell apart."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
import xxhash
from hypothesis import example, given
from hypothesis import strategies as st

from dedupe.compare import fingerprint
from dedupe.compare.fingerprint import WIDTH, Batch, Fingerprinter, places
from dedupe.compare.tuning import MEASURED, Tuning
from dedupe.files.table import FileTable
from dedupe.result import ProblemKind
from dedupe.storage.file_stat import FileStat
from dedupe.storage.opener import Opener
from tests.conftest import write
from tests.made_volumes import MOUNT

WHOLE, SAMPLE = MEASURED.whole, MEASURED.sample


@given(st.integers(0, WHOLE))
def test_small_files_are_covered_whole(size: int) -> None:
    """One sample is the whole file."""
    assert places(size) == ((0, size),)


@given(st.integers(WHOLE + 1, 2**63 - 1))
@example(WHOLE + 1)
@example(MEASURED.large - 1)
@example(MEASURED.large)
def test_samples_of_large_files_rise_and_reach_both_ends(size: int) -> None:
    """Head and tail are always sampled, no byte twice, nothing outside the file, and large ones between as well."""
    found = places(size)
    assert found[0] == (0, SAMPLE)
    assert found[-1] == (size - SAMPLE, SAMPLE)
    ends = [offset + length for offset, length in found]
    assert all(end <= offset for end, (offset, _) in zip(ends, found[1:], strict=False))
    assert len(found) == (2 if size < MEASURED.large else 2 + MEASURED.between)
    assert all(offset % SAMPLE == 0 for offset, _ in found[:-1])


def test_the_layout_of_samples_is_what_its_version_says() -> None:
    """A change of the layout without a new version would make remembered fingerprints mean something else."""
    sizes = (0, 1, 32768, 32769, (64 << 20) - 1, 64 << 20, 10**10)
    digest = xxhash.xxh3_128_hexdigest(repr([places(s) for s in sizes]).encode())
    assert (fingerprint.LAYOUT, digest) == (1, "e39414042db64518c5a0f0f0a4168c1a")


def batch(*files: tuple[Path, int]) -> Batch:
    """Return files with the sizes that the walk is to have seen."""
    return Batch(range(len(files)), [os.fsencode(p) for p, _ in files], [s for _, s in files])


@pytest.mark.parametrize("size", [0, 1, WHOLE - 1, WHOLE, WHOLE + 1, 100_000])
def test_a_fingerprint_is_xxh3_of_the_samples(tmp_path: Path, size: int) -> None:
    """The value is xxh3-128 over the samples in order, and only they are counted as read."""
    data = os.urandom(size)
    found = Fingerprinter(Opener())(batch((write(tmp_path / "a", data), size)))
    covered = b"".join(data[o : o + n] for o, n in places(size))
    assert found.values == [xxhash.xxh3_128_digest(covered)]
    assert len(covered) == found.bytes_read
    assert WIDTH == 16


@pytest.mark.parametrize("size", [100, 100_000])
def test_what_cannot_be_read_is_told_and_the_rest_goes_on(tmp_path: Path, size: int) -> None:
    """A file that shrank or vanished has no fingerprint but a problem; those beside it have theirs."""
    good, short = write(tmp_path / "good", bytes(size)), write(tmp_path / "short", bytes(size - 1))
    found = Fingerprinter(Opener())(batch((short, size), (tmp_path / "gone", size), (good, size)))
    assert [v is not None for v in found.values] == [False, False, True]
    assert [p.kind for p in found.problems] == [ProblemKind.SHORT_READ, ProblemKind.VANISHED]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there, and there are no FIFOs")
def test_what_took_a_files_place_is_not_opened(tmp_path: Path) -> None:
    """A link is not followed unless links are, and a FIFO neither blocks nor gives a fingerprint."""
    target = write(tmp_path / "target", b"data")
    (tmp_path / "link").symlink_to(target)
    os.mkfifo(tmp_path / "fifo")
    wanted = batch((tmp_path / "link", 4), (tmp_path / "fifo", 4))
    assert Fingerprinter(Opener())(wanted).values == [None, None]
    assert Fingerprinter(Opener(follow=True))(wanted).values == [xxhash.xxh3_128_digest(b"data"), None]


def test_a_lost_batch_names_every_file() -> None:
    """Where workers died twice, every file is a problem."""
    lost = Fingerprinter(Opener()).lost(batch((Path("a"), 1), (Path("b"), 1)))
    assert lost.values == [None, None]
    assert [p.path for p in lost.problems] == [b"a", b"b"]


def test_batches_hold_every_file_once() -> None:
    """However many files there are, each is in one batch, with its path and size."""
    size = fingerprint.batch_size(Tuning(fingerprint_files=(3, 3, 3)))
    table = FileTable()
    folder = table.enter(b"/d", MOUNT)
    for n in range(10):
        table.add(folder, b"%d" % n, FileStat(n, 0, 0, n + 1))
    found = list(fingerprint.batches(table, range(1, 10), size))
    assert [len(b.members) for b in found] == [3, 3, 3]
    assert [(i, p, s) for b in found for i, p, s in zip(b.members, b.paths, b.sizes, strict=True)] == [
        (n, b"/d%c%d" % (os.sep.encode(), n), n) for n in range(1, 10)
    ]
