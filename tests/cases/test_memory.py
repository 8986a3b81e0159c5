"""What is remembered but no longer so: files that change while they stand in a group by memory, and files that rot."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dedupe.checksums.hash_files import HashConfig, Hashed, Hashing
from dedupe.progress import Silent
from dedupe.result import Proof, ScanResult
from dedupe.storage import volumes
from dedupe.storage.volume import Mount
from tests import disks
from tests.cases.common import JOBS, find, found, kinds, settle
from tests.conftest import write

Cli = Callable[..., subprocess.CompletedProcess[bytes]]
_SIZE = 300 << 10  # more than is sampled
_HEAD, _MIDDLE = 100, _SIZE // 2  # one byte in a sample, one in none
_DATA = os.urandom(_SIZE)


def _proofs(result: ScanResult) -> dict[str, str]:
    """Return how each file of a group is proven."""
    return {os.path.basename(os.fsdecode(f.path)): str(f.proof) for g in result.groups for f in g.files}


# --- R1: whoever stands in a group by memory alone is looked at once more


def _rewrite(path: Path) -> None:
    path.write_bytes(b"x" * _SIZE)


def _put_back(path: Path) -> None:
    times = path.stat()
    _rewrite(path)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _cut_off(path: Path) -> None:
    os.truncate(path, 10)


def _rename_over(path: Path) -> None:
    path.with_name("spare").replace(path)


def _become_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


_CHANGES = {
    _rewrite: "changed",
    _put_back: "changed",
    _cut_off: "changed",
    _rename_over: "changed",
    _become_folder: "changed",
    Path.unlink: "vanished",
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows names some of these changes otherwise")
@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("phase", ["recall", "confirm", "arrange"])
@pytest.mark.parametrize("change", _CHANGES)
def test_r1_a_remembered_file_that_changes_during_the_scan_is_in_no_group(
    tmp_path: Path, between: Any, change: Callable[[Path], None], phase: str, jobs: int
) -> None:
    """However late and however it changes, it is told, and those that it was equal to stay together."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    for name in ("a", "b", "c", "k", "l"):
        write(top / name, _DATA if name in "abc" else _DATA[::-1])
    write(top / "spare", b"another file of another size")
    settle()
    find(top, cache=cache, jobs=jobs)
    between(phase, lambda: change(top / "b"))
    result = find(top, cache=cache, jobs=jobs)
    assert found(result, top) == {frozenset("ac"), frozenset("kl")}
    assert kinds(result) == {"b": _CHANGES[change]}
    assert result.totals.bytes_read == 0
    assert set(_proofs(result).values()) == {"remembered"}


def test_r1_a_group_that_is_left_with_one_file_is_none(tmp_path: Path, between: Any) -> None:
    """Of two remembered files one changes: there is no group, and what can be reclaimed is nothing."""
    for name in "ab":
        write(tmp_path / "d" / name, _DATA)
    settle()
    find(tmp_path / "d", cache=tmp_path / "c.db")
    between("arrange", lambda: _rewrite(tmp_path / "d" / "a"))
    result = find(tmp_path / "d", cache=tmp_path / "c.db")
    assert not result.groups
    assert (result.totals.reclaimable_bytes, result.totals.problems) == (0, 1)


# --- proof


def test_each_file_says_how_it_was_proven(tmp_path: Path) -> None:
    """Compared when all are read; remembered when none is; hashed beside a remembered one; a group is its weakest."""
    top, cache = tmp_path / "d", tmp_path / "c.db"
    for name in "ab":
        write(top / name, _DATA)
    settle()
    cold, warm = find(top, cache=cache), find(top, cache=cache)
    assert _proofs(cold) == dict.fromkeys("ab", "compared")
    assert _proofs(warm) == dict.fromkeys("ab", "remembered")
    write(top / "c", _DATA)
    mixed = find(top, cache=cache)
    assert _proofs(mixed) == {"a": "remembered", "b": "remembered", "c": "hashed"}
    assert [g.proof for g in mixed.groups] == [Proof.REMEMBERED]


# --- F2: rot


@contextmanager
def _on_disk(image: Path, folder: Path) -> Iterator[Path]:
    """Attach and mount a disk image for a while; what is read from it is not what was read before."""
    with disks.attached(image) as device, disks.mounted(folder, "-t", "ext4", device):
        yield folder


@pytest.fixture
def rotting(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that mounts a disk on which the files of a marked content rot when it is mounted again."""
    image = tmp_path / "image"
    made: list[bool] = []

    def mounted(*rots: tuple[bytes, bytes]) -> Any:
        if not made:
            disks.make_image(image)
            made.append(True)
        for before, after in rots:
            _replace_once(image, before, after)
        return _on_disk(image, tmp_path / "m")

    return mounted


def _replace_once(image: Path, before: bytes, after: bytes) -> None:
    """Change bytes where an image first holds them, as a failing disk does: no file's times tell of it."""
    data = image.read_bytes()
    with image.open("r+b") as file:
        file.seek(data.index(before))
        file.write(after)


def _marked(number: int, at: int) -> tuple[bytes, bytes]:
    """Return a content with a mark of its own at a place, and the mark."""
    mark = b"mark of file %03d" % number
    return _DATA[:at] + mark + _DATA[at + len(mark) :], mark


@pytest.mark.parametrize("at", [_HEAD, _MIDDLE], ids=["in a sample", "in no sample"])
def test_f2_hash_tells_rot_and_remembers_what_is_there_now(
    tmp_path: Path, rotting: Callable[..., Any], cli: Cli, at: int
) -> None:
    """Bytes that flip under unchanged times are told once; digest and memory are of what is there now."""
    old, mark = _marked(1, at)
    new = old.replace(mark, mark[::-1])
    with rotting() as top:
        write(top / "a", old)
        write(top / "b", new)
        settle()
        first = cli("hash", "--cache", tmp_path / "c.db", "m/a", "m/b")
        assert (first.returncode, first.stderr) == (0, b"")
    with rotting((mark, mark[::-1])):
        second = cli("hash", "--cache", tmp_path / "c.db", "m/a", "m/b")
        line = hashlib.sha256(new).hexdigest().encode()
        assert second.stdout == line + b"  m/a\n" + line + b"  m/b\n"
        assert second.returncode == 3
        assert b"m/a: has other content than when it was read last" in second.stderr
        assert b"m/b" not in second.stderr
        # R4: fingerprint and digest of the row are of one state of the file, so that it is found to be equal
        result = find(tmp_path / "m", cache=tmp_path / "c.db")
        assert found(result, tmp_path / "m") == {frozenset("ab")}
        assert result.totals.bytes_read == 0


def test_f2_checking_a_list_tells_rot(tmp_path: Path, rotting: Callable[..., Any], cli: Cli) -> None:
    """`hash --check` says that a line fails, and why: the file is not what it was, though nobody wrote to it."""
    old, mark = _marked(1, _MIDDLE)
    with rotting() as top:
        write(top / "a", old)
        settle()
        (tmp_path / "sums").write_bytes(cli("hash", "--cache", tmp_path / "c.db", "m/a").stdout)
    with rotting((mark, mark[::-1])):
        done = cli("hash", "--cache", tmp_path / "c.db", "--check", "sums")
        assert (done.returncode, done.stdout) == (1, b"m/a: FAILED\n")
        assert b"m/a: has other content than when it was read last" in done.stderr


def test_f2_a_scan_that_compares_bytes_tells_rot(tmp_path: Path, rotting: Callable[..., Any], cli: Cli) -> None:
    """Files that part though remembered as equal, and such as meet though remembered as different: only the rotten."""
    same, mark = _marked(1, _MIDDLE)
    other, other_mark = _marked(2, _MIDDLE)
    pair, pair_mark = _marked(3, _MIDDLE)
    with rotting() as top:
        for name, data in {"a": same, "c": other, "d": pair, "e": pair, "f": pair}.items():
            write(top / name, data)
        settle()
        cli("hash", "--cache", tmp_path / "c.db", *(f"m/{name}" for name in "acdef"))
    with rotting((other_mark, mark), (pair_mark, b"-" * len(mark))) as top:
        (lost,) = [name for name in "def" if (top / name).read_bytes() != pair]
        result = find(top, cache=tmp_path / "c.db", confirm="bytes")
        assert found(result, top) == {frozenset("ac"), frozenset("def") - {lost}}
        assert kinds(result) == {"c": "rot", lost: "rot"}
        again = find(top, cache=tmp_path / "c.db", confirm="bytes")  # told, and then remembered as it is now
        assert (found(again, top), kinds(again)) == (found(result, top), {})


def test_f2_a_scan_that_compares_bytes_is_quiet_where_nothing_rotted(tmp_path: Path, cli: Cli) -> None:
    """Digests that agree with the bytes, of some of the files or of all, are no reason to read anything twice."""
    top = tmp_path / "d"
    for name in "abcde":
        write(top / name, _DATA if name in "abc" else _marked(ord(name), _MIDDLE)[0])
    settle()
    cli("hash", "--cache", tmp_path / "c.db", *(f"d/{name}" for name in "acd"))
    plain, result = (find(top, cache=cache, confirm="bytes") for cache in (None, tmp_path / "c.db"))
    assert (found(result, top), kinds(result)) == ({frozenset("abc")}, {})
    assert result.totals.bytes_read < plain.totals.bytes_read


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("size", [20_000, _SIZE])
def test_f2_a_scan_tells_rot_of_a_file_that_it_reads_for_another_reason(
    tmp_path: Path, rotting: Callable[..., Any], jobs: int, size: int
) -> None:
    """A file whose samples are remembered is read whole when an equal one comes: its row is of what it is by now."""
    old, mark = (data[:size] for data in _marked(1, _HEAD))
    with rotting() as top:
        write(top / "a", old)
        write(top / "b", old[::-1])
        settle()
        find(top, cache=tmp_path / "c.db", jobs=jobs)
    with rotting((mark, mark[::-1])) as top:
        shape = old.replace(mark, mark[::-1])
        write(top / "c", old)
        write(top / "d", shape)
        settle()
        result = find(top, cache=tmp_path / "c.db", jobs=jobs)
        assert kinds(result) == {"a": "rot"}
        again = find(top, cache=tmp_path / "c.db", jobs=jobs)
        assert (found(again, top), kinds(again)) == ({frozenset("ad")}, {})


# --- R5: file systems without a change time


@pytest.fixture
def undated() -> Iterator[None]:
    """Have all volumes be of a kind whose change time tells nothing."""
    real = volumes._system()

    class Undated:
        """The real system, with such volumes."""

        points, mounted, forget = real.points, real.mounted, real.forget

        def locate(self, folder: bytes, device: int) -> Mount:
            """Return where a folder lies."""
            mount = real.locate(folder, device)
            return mount._replace(volume=mount.volume._replace(keeps_change_time=False))

    with volumes.use(Undated()):
        yield


def _three(top: Path, data: bytes) -> None:
    for name in "abc":
        write(top / name, data)
    settle()


@pytest.mark.parametrize("jobs", JOBS)
def test_r5_without_change_times_a_whole_fingerprint_vouches(tmp_path: Path, undated: None, jobs: int) -> None:
    """A small file's fingerprint covers all of it: read once, it proves that what is remembered is still so."""
    data = os.urandom(9000)
    _three(tmp_path / "d", data)
    find(tmp_path / "d", cache=tmp_path / "c.db", jobs=jobs)
    warm = find(tmp_path / "d", cache=tmp_path / "c.db", jobs=jobs)
    assert found(warm, tmp_path / "d") == {frozenset("abc")}
    assert warm.totals.bytes_read == 3 * len(data)
    assert set(_proofs(warm).values()) == {"remembered"}


@pytest.mark.parametrize("jobs", JOBS)
@pytest.mark.parametrize("at", [_HEAD, _MIDDLE], ids=["in a sample", "in no sample"])
def test_r5_without_change_times_samples_vouch_for_no_large_file(
    tmp_path: Path, undated: None, rotting: Callable[..., Any], jobs: int, at: int
) -> None:
    """What changed between the samples, with its time put back, is found out as without a cache."""
    data, mark = _marked(1, at)
    with rotting() as top:
        _three(top, data)
        find(top, cache=tmp_path / "c.db", jobs=jobs)
        warm = find(top, cache=tmp_path / "c.db", jobs=jobs)
        assert found(warm, top) == {frozenset("abc")}
        assert "remembered" not in _proofs(warm).values()
    with rotting((mark, mark[::-1])) as top:
        (lost,) = [name for name in "abc" if (top / name).read_bytes() != data]
        result = find(top, cache=tmp_path / "c.db", jobs=jobs)
        assert found(result, top) == {frozenset("abc") - {lost}}
        if at == _HEAD:
            assert kinds(result) == {lost: "rot"}


@pytest.mark.parametrize("at", [_HEAD, _MIDDLE], ids=["in a sample", "in no sample"])
def test_r5_hash_does_not_believe_a_digest_without_a_look(
    tmp_path: Path, undated: None, rotting: Callable[..., Any], at: int
) -> None:
    """Asked to believe what is remembered, `hash` reads a large file all the same: its samples do not vouch for it."""
    data, mark = _marked(1, at)
    names = [os.fsencode(tmp_path / "m" / name) for name in "abc"]
    with rotting() as top:
        _three(top, data)
        for _ in range(2):
            assert [hashed.problem for hashed in _hashed(names, tmp_path / "c.db")] == [None] * 3
    with rotting((mark, mark[::-1])):
        told = _hashed(names, tmp_path / "c.db")
        contents = [Path(os.fsdecode(name)).read_bytes() for name in names]
        assert [hashed.digest for hashed in told] == [hashlib.sha256(content).digest() for content in contents]
        assert [hashed.problem is not None for hashed in told] == [content != data for content in contents]
        assert [hashed.problem for hashed in _hashed(names, tmp_path / "c.db")] == [None] * 3


def _hashed(names: list[bytes], cache: Path) -> list[Hashed]:
    """Hash files, and let what is remembered stand for reading them."""
    with Hashing(HashConfig(cache=os.fsencode(cache), use_cache=True), Silent(), io.BytesIO()) as session:
        return list(session.digests(names))
