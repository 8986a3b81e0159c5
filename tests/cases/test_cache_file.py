"""The cache as a file: other versions, damage, no permission, locks.  Never fatal, never silent, never wrong."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dedupe import CacheError
from dedupe.cache import maintenance
from tests.cases.common import LINKS, MODES_OF_POSIX, find, found, need_root, not_on_windows, ordinary_user, settle
from tests.conftest import write
from tests.disks import unmount

_WANT = {frozenset("abc")}


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a tree at rest and a cache that knows it."""
    top = tmp_path_factory.mktemp("tree") / "d"
    for name in "abc":
        write(top / name, b"A" * 300_000)
    write(top / "x", b"A" * 299_999 + b"B")
    for n in range(300):
        write(top / f"s/{n}", b"%09d" % n * 50)
    settle()
    cache = top.parent / "c.db"
    for _ in range(2):
        find(top, cache=cache)
    database = sqlite3.connect(cache)
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return top, cache


@pytest.fixture
def case(settled: tuple[Path, Path], tmp_path: Path) -> tuple[Path, Path]:
    """Return the tree and a cache of its own for each test, proven to be believed."""
    top, known = settled
    cache = tmp_path / "own" / "c.db"
    cache.parent.mkdir()
    shutil.copy(known, cache)
    assert find(top, cache=cache).totals.bytes_read == 0
    return top, cache


def _sql(*statements: str) -> Callable[[Path], None]:
    """Return what changes a cache by SQL."""

    def run(cache: Path) -> None:
        database = sqlite3.connect(cache)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()

    return run


def _bytes(change: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    """Return what changes the bytes of a cache's file."""

    def run(cache: Path) -> None:
        cache.write_bytes(change(cache.read_bytes()))

    return run


def _folder(cache: Path) -> None:
    """Put a folder in a cache's place."""
    cache.unlink()
    cache.mkdir()


def _stale_log(cache: Path) -> None:
    """Put a log beside a cache that is not its own."""
    Path(f"{cache}-wal").write_bytes(os.urandom(40_000))


def _middle(data: bytes) -> bytes:
    """Return the bytes with 1 KiB in the middle overwritten."""
    at = len(data) // 2
    return data[:at] + os.urandom(1024) + data[at + 1024 :]


# name: what happens to the cache, whether a sentence tells of it, whether the file is set aside
_DAMAGE: dict[str, tuple[Callable[[Path], None], bool | None, bool | None]] = {
    "version 0": (_sql("PRAGMA user_version = 0"), True, True),
    "version 1": (_sql("PRAGMA user_version = 1"), True, True),
    "version 999": (_sql("PRAGMA user_version = 999"), True, False),
    "another program's": (_sql("PRAGMA application_id = 77"), True, False),
    "column dropped": (_sql("ALTER TABLE files DROP COLUMN digest"), True, True),
    "column renamed": (_sql("ALTER TABLE files RENAME COLUMN size TO bytes"), True, True),
    "column added": (_sql("ALTER TABLE files ADD COLUMN more TEXT"), False, False),
    "column demanded": (_sql("ALTER TABLE files ADD COLUMN more TEXT NOT NULL DEFAULT 'x'"), False, False),
    "table dropped": (_sql("DROP TABLE files"), True, True),
    "roots dropped": (_sql("DROP TABLE roots"), True, True),
    "volumes dropped": (_sql("DROP TABLE volumes"), True, True),
    "volumes of nulls": (_sql("UPDATE volumes SET label=NULL, file_system=NULL, read_ns=NULL"), False, False),
    "volumes renumbered": (_sql("UPDATE volumes SET number = number + 1"), False, False),
    "volumes renamed": (_sql("UPDATE volumes SET id = id || 'x'"), False, False),
    "inodes of text": (_sql("UPDATE files SET inode = 'x'"), False, False),
    "rows of nulls": (
        _sql(
            "UPDATE files SET size=NULL, modified_ns=NULL, read_ns=NULL, fingerprint=NULL, digest=NULL, checksum=NULL"
        ),
        False,
        False,
    ),
    "rows of text": (_sql("UPDATE files SET read_ns='x', digest='x', fingerprint='x', layout='x'"), False, False),
    "clock of nulls": (_sql("UPDATE files SET read_ns=NULL"), False, False),
    "short digests": (_sql("UPDATE files SET digest=x'00ff', fingerprint=x'01'"), False, False),
    "digests swapped": (_sql("UPDATE files SET digest=zeroblob(32), fingerprint=zeroblob(16)"), False, False),
    "paths swapped": (_sql("UPDATE files SET path = path || x'00'"), False, False),
    "empty": (_bytes(lambda _: b""), False, False),
    "random": (_bytes(lambda _: os.urandom(50_000)), True, True),
    "text": (_bytes(lambda _: b"not a database\n" * 1000), True, True),
    "one byte": (_bytes(lambda _: b"x"), None, None),
    "a folder": (_folder, True, False),
    "middle overwritten": (_bytes(_middle), None, None),
    "head overwritten": (_bytes(lambda data: data[:20] + os.urandom(80) + data[100:]), True, None),
    "cut in half": (_bytes(lambda data: data[: len(data) // 2]), True, True),
    "cut short": (_bytes(lambda data: data[:5000]), True, True),
    "header only": (_bytes(lambda data: data[:100]), True, None),
    "grown": (_bytes(lambda data: data + os.urandom(5000)), None, None),
    "stale log": (_stale_log, None, False),
}


@pytest.mark.parametrize("damage", sorted(_DAMAGE))
def test_b89_b90_other_versions_and_damage(case: tuple[Path, Path], damage: str) -> None:
    """Whatever is wrong with the cache, a scan finds what there is, says so in a sentence, and ends well."""
    top, cache = case
    change, told, aside = _DAMAGE[damage]
    change(cache)
    before = cache.read_bytes() if cache.is_file() else b""
    result = find(top, cache=cache)
    assert found(result, top) == _WANT
    if told is not None:
        assert bool(result.notes) == told, result.notes
    kept = [*cache.parent.glob("c.db.damaged-*"), *cache.parent.glob("c.db.version-1-*")]
    if aside is not None:
        assert bool([k for k in kept if not k.name.endswith(("-wal", "-shm"))]) == aside
    if aside and not damage.endswith(("dropped", "renamed", "0", "1")):
        assert before in [k.read_bytes() for k in kept]
    if damage in ("version 999", "another program's"):
        assert cache.read_bytes() == before
    else:
        again = find(top, cache=cache)
        assert found(again, top) == _WANT
    if told and aside:  # the new one was begun by the first scan, and digests came by the second
        healed = find(top, cache=cache)
        assert (healed.totals.bytes_read, healed.notes) == (0, ())


@pytest.mark.parametrize("damage", sorted(_DAMAGE))
def test_b90_cache_commands_survive_damage(case: tuple[Path, Path], cli: Any, damage: str) -> None:
    """The commands that look after a cache fail in a sentence at worst, whatever is wrong with it."""
    _, cache = case
    _DAMAGE[damage][0](cache)
    if damage not in (
        "version 1",
        "version 999",
        "random",
        "middle overwritten",
        "a folder",
        "rows of text",
        "roots dropped",
    ):
        for command in (maintenance.info, maintenance.prune, maintenance.clear):
            with contextlib.suppress(CacheError):
                command(os.fspath(cache))
        return
    for command in ("info", "prune", "clear"):
        done = cli("cache", command, "--cache", cache)
        assert done.returncode in (0, 1)
        assert b"Traceback" not in done.stderr
        assert bool(done.stderr) == (done.returncode == 1)


def _state(folder: Path) -> dict[str, tuple[bytes, int, int]]:
    """Return what lies in a folder: content, mode and time of each file."""
    return {
        path.name: (path.read_bytes() if path.is_file() else b"", path.lstat().st_mode, path.lstat().st_mtime_ns)
        for path in folder.iterdir()
    }


@pytest.mark.parametrize("damage", ["whole", "version 1", "version 999", "text", "cut in half", "empty"])
def test_r7_info_changes_nothing(case: tuple[Path, Path], cli: Any, damage: str) -> None:
    """Asking what a file holds neither renames it nor makes another, and what is no cache is only called so."""
    _, cache = case
    cache.chmod(0o644)
    if damage != "whole":
        _DAMAGE[damage][0](cache)
    before = _state(cache.parent)
    done = cli("cache", "info", "--cache", cache)
    assert _state(cache.parent) == before
    assert done.returncode == (0 if damage == "whole" else 1)
    assert done.stderr.count(b"\n") == (damage != "whole")


def test_r7_info_reads_a_log_that_a_kill_left_and_leaves_it(case: tuple[Path, Path], cli: Any, tmp_path: Path) -> None:
    """What a killed scan had committed counts, and its log stays for the next scan to take in."""
    _, cache = case
    killed = tmp_path / "killed"
    killed.mkdir()
    with contextlib.closing(sqlite3.connect(cache)) as database:
        with database:
            database.execute("DELETE FROM files WHERE path = (SELECT min(path) FROM files)")
        for end in ("", "-wal", "-shm"):
            shutil.copy(f"{cache}{end}", killed / f"c.db{end}")
    before = {name: state[0] for name, state in _state(killed).items() if not name.endswith("-shm")}
    assert before["c.db-wal"]
    done = cli("cache", "info", "--cache", killed / "c.db")
    assert b"files    303\n" in done.stdout
    after = {name: state[0] for name, state in _state(killed).items()}
    assert {*after} == {"c.db", "c.db-wal", "c.db-shm"}
    assert before.items() <= after.items()


@not_on_windows(LINKS)
def test_r7_a_damaged_cache_behind_a_link_is_set_aside_itself(case: tuple[Path, Path], tmp_path: Path) -> None:
    """The link stays and leads to the new cache; the damaged file has the other name."""
    top, cache = case
    link = tmp_path / "link.db"
    link.symlink_to(cache)
    damaged = os.urandom(50_000)
    cache.write_bytes(damaged)
    assert found(find(top, cache=link), top) == _WANT
    assert link.is_symlink()
    assert [path.read_bytes() for path in cache.parent.glob("c.db.damaged-*")] == [damaged]
    assert not list(tmp_path.glob("link.db.*"))
    assert find(top, cache=link).totals.bytes_read == 0


@pytest.mark.parametrize("damage", ["random", "version 1"])
def test_u9_what_is_set_aside_is_replaced_in_the_same_run(case: tuple[Path, Path], damage: str) -> None:
    """One sentence tells where the old one lies, and what this very scan learns is remembered."""
    top, cache = case
    _DAMAGE[damage][0](cache)
    result = find(top, cache=cache)
    (aside,) = [path for path in cache.parent.iterdir() if path.name.startswith("c.db.") and "-2" in path.name]
    assert len(result.notes) == 1
    assert str(aside) in result.notes[0]
    assert "a new one begun" in result.notes[0]
    assert maintenance.info(os.fspath(cache)).files == 304


def test_u9_damage_met_on_the_way_is_replaced_in_the_same_run(case: tuple[Path, Path]) -> None:
    """Where only reading rows shows the damage, a new cache is begun at once and takes what is learnt from there on."""
    top, cache = case
    data = cache.read_bytes()
    cache.write_bytes(data[:4096] + b"\xff" * (len(data) - 4096))
    database = sqlite3.connect(cache)
    damaged = ""
    with contextlib.closing(database), contextlib.suppress(sqlite3.DatabaseError):
        database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        damaged = "the tables alone can be read"
    assert damaged
    result = find(top, cache=cache)
    assert found(result, top) == _WANT
    assert len(result.notes) == 1
    assert "a new one begun" in result.notes[0]
    assert maintenance.info(os.fspath(cache)).files == 304


@pytest.mark.parametrize("name", ["photos.db", "photos"])
def test_f12_another_programs_database_is_refused(case: tuple[Path, Path], name: str) -> None:
    """A database without our mark is nobody's cache: a scan goes on without, and not a byte of it changes."""
    top, cache = case
    other = cache.parent / name
    with contextlib.closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE albums (name TEXT)")
    before = _state(cache.parent)
    result = find(top, cache=other)
    assert found(result, top) == _WANT
    assert [note.count("belongs to another program") for note in result.notes] == [1]
    assert _state(cache.parent) == before


def test_b90_every_page_overwritten_in_turn(case: tuple[Path, Path], tmp_path: Path) -> None:
    """Damage to any one page of the cache neither ends a scan nor changes its result."""
    top, cache = case
    data = cache.read_bytes()
    pages = range(0, len(data), 4096)
    for at in pages[:: max(1, len(pages) // 12)]:
        for end in ("", "-wal", "-shm"):
            Path(f"{cache}{end}").unlink(missing_ok=True)
        cache.write_bytes(data[:at] + os.urandom(4096) + data[at + 4096 :])
        assert found(find(top, cache=cache), top) == _WANT


@not_on_windows(MODES_OF_POSIX)
def test_b91_read_only_cache(case: tuple[Path, Path], scan_json: Any) -> None:
    """A cache that may be read only, in a folder that may be read only, is believed and left as it is."""
    top, cache = case
    user = ordinary_user()
    cache.chmod(0o400)
    cache.parent.chmod(0o500)
    try:
        report = scan_json(top, "--cache", cache, preexec_fn=user)
        missing = scan_json(top, "--cache", cache.parent / "new.db", preexec_fn=user)
        below = scan_json(top, "--cache", cache.parent / "new/sub/c.db", preexec_fn=user)
    finally:
        cache.parent.chmod(0o700)
    assert report["totals"]["bytes_read"] == 0
    for other in (missing, below):
        assert len(other["groups"]) == 1
        assert len(other["notes"]) == 1
        assert other["totals"]["bytes_read"] > 0


@not_on_windows(MODES_OF_POSIX)
def test_b91_unreadable_cache(case: tuple[Path, Path], scan_json: Any) -> None:
    """A cache that may not be read is told in one sentence, and stays."""
    top, cache = case
    cache.chmod(0)
    report = scan_json(top, "--cache", cache, preexec_fn=ordinary_user())
    assert len(report["groups"]) == 1
    assert len(report["notes"]) == 1
    assert "may not be read" in report["notes"][0]
    assert not list(cache.parent.glob("*.damaged-*"))


@not_on_windows("Windows itself says where the cache belongs, not HOME")
@pytest.mark.parametrize("home", ["/proc/nowhere", "/dev/null"])
def test_b91_no_home(settled: tuple[Path, Path], scan_json: Any, home: str) -> None:
    """Without a home to keep a cache in, a scan goes on without one."""
    top, _ = settled
    report = scan_json(top, env={"HOME": home, "XDG_CACHE_HOME": ""}, preexec_fn=ordinary_user())
    assert len(report["groups"]) == 1
    assert len(report["notes"]) == 1


def test_b91_cache_on_a_read_only_or_full_file_system(case: tuple[Path, Path], tmp_path: Path) -> None:
    """On a read-only file system a cache is believed, on a full one it is given up; neither ends a scan."""
    need_root()
    top, cache = case
    point = tmp_path / "m"
    point.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", point], check=True)
    try:
        (point / "fill").write_bytes(b"x" * (200 << 10))
        full = find(top, cache=point / "c.db")
        assert found(full, top) == _WANT
        assert len(full.notes) == 1
        (point / "fill").unlink()
        for path in point.iterdir():
            path.unlink()
        shutil.copy(cache, point / "c.db")
        subprocess.run(["mount", "-o", "remount,ro", point], check=True)
        result = find(top, cache=point / "c.db")
        assert found(result, top) == _WANT
        assert result.totals.bytes_read == 0
    finally:
        unmount(point)


@not_on_windows(MODES_OF_POSIX)
@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_b93_private_from_the_first_moment(cli: Any, tmp_path: Path, program: Any, umask: int) -> None:
    """The cache, its log and its folder are for their owner only, whatever the umask, and also while they are made."""
    write(tmp_path / "d/f", b"x" * 5000)
    write(tmp_path / "d/g", b"x" * 5000)
    folder = tmp_path / "new"
    process = program("scan", tmp_path / "d", "--cache", folder / "c.db", umask=umask)
    seen: dict[str, int] = {}
    while process.poll() is None:
        for path in (folder, *(folder.iterdir() if folder.exists() else ())):
            try:
                seen[path.name] = seen.get(path.name, 0) | stat.S_IMODE(path.stat().st_mode)
            except FileNotFoundError:
                continue
    assert process.returncode == 0
    assert stat.S_IMODE((folder / "c.db").stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert all(mode & 0o077 == 0 for name, mode in seen.items() if name.startswith(("c.db", "new")))


@not_on_windows(MODES_OF_POSIX)
def test_b93_an_open_cache_is_closed_to_others(case: tuple[Path, Path]) -> None:
    """A cache that others could read becomes private, and so does one that was set aside stay."""
    top, cache = case
    cache.chmod(0o644)
    find(top, cache=cache)
    assert stat.S_IMODE(cache.stat().st_mode) == 0o600


def _hold(cache: Path, seconds: float, how: str) -> subprocess.Popen[bytes]:
    """Start a process that holds a lock on a cache for some time, and return once it has it."""
    code = (
        "import sqlite3, sys, time\n"
        f"d = sqlite3.connect({os.fspath(cache)!r}, isolation_level=None)\n"
        f"{how}\n"
        "print('has it', flush=True)\n"
        f"time.sleep({seconds})\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().rstrip() == b"has it"
    return process


_HOW = {
    "exclusive": "d.execute('BEGIN EXCLUSIVE')",
    "write": "d.execute('BEGIN IMMEDIATE'); d.execute(\"INSERT INTO roots VALUES (1,x'00',x'00','1','1')\")",
    "whole": "d.execute('PRAGMA locking_mode=EXCLUSIVE'); d.execute('BEGIN EXCLUSIVE')",
}


@pytest.mark.parametrize("how", sorted(_HOW))
def test_b88_a_lock_that_ends_is_waited_for(case: tuple[Path, Path], how: str) -> None:
    """A cache that another process holds for a moment is waited for."""
    top, cache = case
    with _hold(cache, 1.5, _HOW[how]):
        result = find(top, cache=cache)
    assert found(result, top) == _WANT
    assert result.notes == ()
    assert result.totals.bytes_read == 0


def test_b88_a_lock_that_does_not_end(case: tuple[Path, Path]) -> None:
    """A cache that another process does not let go of is given up after five seconds or so, in one sentence."""
    top, cache = case
    holder = _hold(cache, 60, _HOW["exclusive"])
    try:
        begun = time.monotonic()
        result = find(top, cache=cache)
        assert time.monotonic() - begun < 8
        assert found(result, top) == _WANT
        assert len(result.notes) == 1
        assert "in use by another program" in result.notes[0]
        assert not list(cache.parent.glob("*.damaged-*"))
    finally:
        holder.kill()
        holder.communicate()
    assert find(top, cache=cache).totals.bytes_read == 0


def test_b88_two_scans_at_one_moment(settled: tuple[Path, Path], program: Any, tmp_path: Path) -> None:
    """Scans that start together on one new cache share it, and all of them end well."""
    top, _ = settled
    for turn in range(3):
        cache = tmp_path / f"{turn}" / "c.db"
        scans = [program("scan", top, "--cache", cache, "--format", "json") for _ in range(4)]
        for scan in scans:
            out, err = scan.communicate(timeout=60)
            assert (scan.returncode, b"cache" in err) == (0, False), err
            assert len(json.loads(out)["groups"]) == 1
        assert find(top, cache=cache).notes == ()
        assert not list(cache.parent.glob("*.damaged-*"))


@pytest.mark.parametrize("damage", ["random", "version 1"])
def test_b88_scans_at_one_moment_on_a_cache_of_no_use(case: tuple[Path, Path], program: Any, damage: str) -> None:
    """Whoever sets it aside, all scans end well, and a new cache is there."""
    top, cache = case
    _DAMAGE[damage][0](cache)
    for scan in [program("scan", top, "--cache", cache, "--format", "json") for _ in range(4)]:
        out, err = scan.communicate(timeout=60)
        assert scan.returncode == 0, err
        assert len(json.loads(out)["groups"]) == 1
    assert maintenance.info(os.fspath(cache)).files == 304
