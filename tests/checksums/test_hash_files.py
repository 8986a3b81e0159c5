"""Files are hashed one by one, wholly or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import sqlite3
import sys
import time
from pathlib import Path

import pytest

from dedupe.cache import store, write_buffer
from dedupe.cache.write_buffer import RACY_NS
from dedupe.checksums.hash_files import HashConfig, Hashed, Hashing
from dedupe.compare.tuning import Tuning
from dedupe.progress import Silent
from dedupe.result import ProblemKind
from dedupe.scan import hash_whole


def run(names: list[bytes], stdin: bytes = b"", config: HashConfig | None = None) -> list[Hashed]:
    """Hash files as the command does."""
    with Hashing(config or HashConfig(), Silent(), io.BytesIO(stdin)) as opened:
        return list(opened.digests(names))


def write(folder: Path, name: str, data: bytes) -> bytes:
    """Write a file long enough ago to be remembered, and return its path."""
    path = folder / name
    path.write_bytes(data)
    os.utime(path, ns=(1, 1))
    return os.fsencode(path)


@pytest.mark.parametrize("size", [0, 1, 4096, (256 << 10) + 1, (8 << 20) + 3])
@pytest.mark.parametrize("algorithm", ["sha256", "sha3_256"])
def test_digest_of_all_bytes(tmp_path: Path, size: int, algorithm: str) -> None:
    """The digest is that of hashlib over all bytes, whether a file is read at once or by windows."""
    data = os.urandom(size)
    (hashed,) = run([write(tmp_path, "f", data)], config=HashConfig(algorithm=algorithm))
    assert hashed.digest == hashlib.new(algorithm, data).digest()


def test_order_is_that_of_the_names(tmp_path: Path) -> None:
    """Results come in the order of the names, with workers as without, also where one file takes longer."""
    names = [write(tmp_path, f"{n}", bytes([n]) * ((6 << 20) if n % 3 == 0 else n)) for n in range(24)]
    for jobs in (1, 2):
        found = run(names, config=HashConfig(jobs=jobs))
        assert [hashed.name for hashed in found] == names
        assert [hashed.digest for hashed in found] == [
            hashlib.sha256(Path(os.fsdecode(n)).read_bytes()).digest() for n in names
        ]


def test_standard_input_has_its_place(tmp_path: Path) -> None:
    """A dash is standard input, in its place among the files."""
    name = write(tmp_path, "f", b"x")
    found = run([name, b"-", name], stdin=b"in")
    assert [hashed.digest for hashed in found] == [hashlib.sha256(data).digest() for data in (b"x", b"in", b"x")]


def test_problems_do_not_stop_the_rest(tmp_path: Path) -> None:
    """What cannot be hashed is a problem of its own, and the files after it are hashed."""
    good = write(tmp_path, "good", b"x")
    found = run([os.fsencode(tmp_path / "missing"), os.fsencode(tmp_path), b"a\0b", good])
    assert [hashed.problem.kind if hashed.problem else None for hashed in found] == [
        ProblemKind.NOT_FOUND,
        ProblemKind.NOT_A_FILE,
        ProblemKind.NOT_FOUND,
        None,
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has none in folders")
@pytest.mark.timeout(20)
def test_special_files_are_never_opened(tmp_path: Path) -> None:
    """A FIFO, of which reading would never end, is refused; so is a device."""
    os.mkfifo(tmp_path / "fifo")
    found = run([os.fsencode(tmp_path / "fifo"), b"/dev/zero"])
    assert [hashed.problem.kind for hashed in found if hashed.problem] == [ProblemKind.NOT_A_FILE] * 2


@pytest.mark.skipif(sys.platform != "linux", reason="no /proc")
def test_file_that_lies_about_its_size() -> None:
    """A file that says it is empty and is not gets no digest: it would be that of nothing."""
    (hashed,) = run([b"/proc/self/status"])
    assert hashed.digest is None
    assert hashed.problem


def test_change_meanwhile_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that grew or shrank after it was looked at gets no digest."""
    names = [write(tmp_path, "grows", b"x" * 1000), write(tmp_path, "shrinks", b"x" * 1000)]
    batches = hash_whole._batches

    def late(*arguments: object) -> object:
        os.truncate(os.fsdecode(names[0]), 2000)
        os.truncate(os.fsdecode(names[1]), 10)
        return batches(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(hash_whole, "_batches", late)
    assert [hashed.digest for hashed in run(names)] == [None, None]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_named_links_are_followed(tmp_path: Path) -> None:
    """A link that is named is followed, as sha256sum does."""
    write(tmp_path, "f", b"x")
    (tmp_path / "link").symlink_to("f")
    (hashed,) = run([os.fsencode(tmp_path / "link")])
    assert hashed.digest == hashlib.sha256(b"x").digest()


def test_files_below_a_folder(tmp_path: Path) -> None:
    """All files below a folder are named as the folder was, sorted, none left out for its name."""
    (tmp_path / "sub" / ".Trash-1000").mkdir(parents=True)
    for name in ("b", "a", "sub/.hidden", "sub/.Trash-1000/t"):
        write(tmp_path, name, b"")
    folder = os.path.join(os.fsencode(tmp_path), b"sub", b"..")
    with Hashing(HashConfig(), Silent(), io.BytesIO()) as opened:
        found, problems, _ = opened.files_below(folder)
    expected = [b"a", b"b", os.path.join(b"sub", b".Trash-1000", b"t"), os.path.join(b"sub", b".hidden")]
    assert found == [os.path.join(folder, name) for name in expected]
    assert problems == []


class TestCache:
    """What the cache does for hashing."""

    def settled(self, folder: Path) -> bytes:
        """Return a file that is old enough to be believed."""
        name = write(folder, "f", b"x" * 100_000)
        time.sleep(RACY_NS / 1e9 + 0.1)  # its change time cannot be set
        return name

    def test_learns_serves_and_can_be_disbelieved(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A digest is remembered; then nothing is read, unless remembered digests are not to be believed."""
        name, config = self.settled(tmp_path), HashConfig(cache=os.fsencode(tmp_path / "cache.db"), use_cache=True)
        first = run([name], config=config)
        read: list[object] = []
        batches = hash_whole._batches
        monkeypatch.setattr(
            hash_whole, "_batches", lambda e, members, t: read.append(list(members)) or batches(e, members, t)
        )
        assert run([name], config=config) == first
        assert run([name], config=HashConfig(cache=config.cache, use_cache=False)) == first
        assert read == [[], [0]]

    def test_another_algorithm_is_not_served(self, tmp_path: Path) -> None:
        """A digest that is remembered for one algorithm is no other's."""
        name, cache = self.settled(tmp_path), os.fsencode(tmp_path / "cache.db")
        for algorithm in ("sha256", "blake2s", "sha256"):
            (hashed,) = run([name], config=HashConfig(cache=cache, algorithm=algorithm, use_cache=True))
            assert hashed.digest == hashlib.new(algorithm, b"x" * 100_000).digest()


@pytest.mark.parametrize("others", [1, 3, 6])
def test_two_lists_of_one_session_never_share_what_was_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    """A second list that is broken off gets none of the first one's digests, and the first one keeps its own."""
    monkeypatch.setattr(write_buffer, "RACY_NS", -(1 << 60))
    first = [write(tmp_path, f"a{n}", bytes([n]) * 100) for n in range(4)]
    second = [write(tmp_path, f"b{n}", bytes([100 + n]) * 100) for n in range(others)]
    kept = HashConfig(cache=tmp_path / "cache.db", jobs=1, use_cache=False)
    with Hashing(kept, Silent(), io.BytesIO(), Tuning(hash_files=1)) as session:
        assert len(list(session.digests(first))) == len(first)
        rest = session.digests(second)
        next(rest)
        rest.close()  # type: ignore[attr-defined]
    assert rows_with_digest(tmp_path / "cache.db") == len(first) + 1
    believed = run(first + second, config=HashConfig(cache=tmp_path / "cache.db", jobs=1, use_cache=True))
    for found in believed:
        assert found.digest == hashlib.sha256(Path(os.fsdecode(found.name)).read_bytes()).digest()


def rows_with_digest(path: Path) -> int:
    """Return how many files a cache has a digest of."""
    database = sqlite3.connect(path)
    count: int = database.execute("SELECT count(digest) FROM files").fetchone()[0]
    database.close()
    return count


def test_what_was_hashed_is_kept_while_the_next_file_takes_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache is asked to write what is due at every step of a file, not only when the next one begins."""
    asked: list[None] = []
    monkeypatch.setattr(store.Cache, "commit_if_due", lambda _: asked.append(None))
    name = write(tmp_path, "long", bytes(20 << 20))
    run([name], config=HashConfig(cache=tmp_path / "cache.db", jobs=1))
    assert len(asked) >= 20
