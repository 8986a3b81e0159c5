"""What is remembered, and when it is believed."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe import fingerprint
from dedupe.cache import RACY_NS, Cache, Learnt, is_settled
from dedupe.entries import Entries
from dedupe.status import Status

NOW = 1_900_000_000_000_000_000
SEPARATOR = os.sep.encode()
AT_REST = Status(100, NOW - 3 * RACY_NS, NOW - 3 * RACY_NS, 2**64 - 1, 2**127)
times = st.integers(-(2**63), 2**63 - 1)


def remember(
    path: Path, status: Status = AT_REST, *, algorithm: str = "sha256", digest: bytes | None = b"D" * 32
) -> None:
    """Store one row."""
    cache = Cache(path, algorithm, NOW)
    cache.remember([Learnt(b"/d" + SEPARATOR + b"f\xff", status, b"F" * 16, digest)])
    cache.close()
    assert cache.notes == []


def recall(path: Path, status: Status = AT_REST, algorithm: str = "sha256") -> list[tuple[int, bytes, bytes | None]]:
    """Return what is believed of that file now."""
    entries = Entries()
    entries.add(entries.enter(b"/d"), b"f\xff", status)
    cache = Cache(path, algorithm, NOW)
    found = [(r.member, r.fingerprint, r.digest) for r in cache.recall(entries, [0])]
    cache.close()
    assert cache.notes == []
    return found


def test_what_was_learnt_is_recalled(tmp_path: Path) -> None:
    """The same file, by path and everything that stat says, brings fingerprint and digest back."""
    remember(tmp_path / "c.db")
    assert recall(tmp_path / "c.db") == [(0, b"F" * 16, b"D" * 32)]


@pytest.mark.parametrize("field", Status._fields)
@pytest.mark.parametrize("by", [1, -1])
def test_any_other_status_is_not_believed(tmp_path: Path, field: str, by: int) -> None:
    """Size, both times, device and inode: one that differs by one is another file's row."""
    remember(tmp_path / "c.db")
    other = AT_REST._replace(
        **{field: (getattr(AT_REST, field) + by) % 2**64 if field == "device" else getattr(AT_REST, field) + by}
    )
    assert recall(tmp_path / "c.db", other) == []


def test_another_algorithm_brings_the_fingerprint_only(tmp_path: Path) -> None:
    """A digest is believed as what it is; rows of two algorithms stand beside each other."""
    remember(tmp_path / "c.db")
    assert recall(tmp_path / "c.db", algorithm="sha512") == [(0, b"F" * 16, None)]
    remember(tmp_path / "c.db", algorithm="sha512", digest=b"E" * 64)
    assert recall(tmp_path / "c.db", algorithm="sha512") == [(0, b"F" * 16, b"E" * 64)]
    assert recall(tmp_path / "c.db") == [(0, b"F" * 16, b"D" * 32)]


def test_another_layout_of_samples_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fingerprints of other samples mean nothing."""
    remember(tmp_path / "c.db")
    monkeypatch.setattr(fingerprint, "LAYOUT", fingerprint.LAYOUT + 1)
    assert recall(tmp_path / "c.db") == []


@given(times, times, times)
def test_settled_means_that_both_times_are_two_seconds_old(modified: int, changed: int, read: int) -> None:
    """A time in the future or within two seconds of the reading is in doubt."""
    wanted = max(modified, changed) < read - 2_000_000_000
    assert is_settled(Status(1, modified, changed, 1, 1), read) == wanted


@pytest.mark.parametrize("late", ["modified_ns", "changed_ns"])
def test_a_row_of_a_file_not_at_rest_is_not_believed(tmp_path: Path, late: str) -> None:
    """Equal in everything, but too young when it was read."""
    young = AT_REST._replace(**{late: NOW - RACY_NS})
    remember(tmp_path / "c.db", young)
    assert recall(tmp_path / "c.db", young) == []
    remember(tmp_path / "c.db", young._replace(**{late: NOW - RACY_NS - 1}))
    assert len(recall(tmp_path / "c.db", young._replace(**{late: NOW - RACY_NS - 1}))) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_cache_is_private(tmp_path: Path) -> None:
    """Names of files are nobody else's business."""
    remember(tmp_path / "c.db")
    assert stat.S_IMODE((tmp_path / "c.db").stat().st_mode) == 0o600


def test_no_path_remembers_nothing() -> None:
    """Without a file there is nothing to recall and no file of its own."""
    cache = Cache(None, "sha256", NOW)
    cache.remember([Learnt(b"/a", AT_REST, b"F" * 16, None)])
    cache.close()
    assert (cache.usable, cache.files, cache.notes) == (False, [], [])
