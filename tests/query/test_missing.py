"""What is missing is what no other file of the archive holds, whatever links, roots and the cache make of it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe.cache import write_buffer
from dedupe.compare.tuning import Tuning
from dedupe.config import Confirm, ScanConfig
from dedupe.errors import NothingUsableError, UsageError
from dedupe.query import missing
from dedupe.query.answer import MissingReason, MissingResult
from dedupe.query.catalog_fill import create
from dedupe.query.missing import find_missing
from dedupe.query.settings import MissingConfig
from dedupe.result import ProblemKind, SkipReason
from dedupe.storage.opener import Opener
from dedupe.walk import scanner, walker
from tests.conftest import need, write
from tests.disks import unmount
from tests.naive import contents, fork_workers, lower_thresholds

few = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
POOL = [*contents(2, 300, [10]), *contents(3, 900, [0, 899]), *contents(3, 9000, [0, 4096, 8999]), b"", b"x"]
FOLDERS = ("a", "a/in", "b", "c")
ROOTS = (*FOLDERS, "to_a", "to_b")
files = st.lists(st.tuples(st.sampled_from(FOLDERS), st.sampled_from(POOL)), min_size=1, max_size=25)
links = st.lists(st.tuples(st.integers(0, 24), st.sampled_from(FOLDERS)), max_size=6)
roots = st.lists(st.sampled_from(ROOTS), min_size=1, max_size=3)
posix = pytest.mark.skipif(sys.platform == "win32", reason="symbolic links, or POSIX permissions")


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> Tuning:
    """Return amounts by which small files pass through everything that large ones do."""
    return lower_thresholds(monkeypatch)


@pytest.fixture
def folder() -> Iterator[Callable[[], Path]]:
    """Return a maker of empty folders, one for each example of a property."""
    with tempfile.TemporaryDirectory() as above:
        yield lambda: Path(tempfile.mkdtemp(dir=above))


def grow(base: Path, made: Sequence[tuple[str, bytes]], linked: Sequence[tuple[int, str]]) -> None:
    """Make the folders, files, hard links, and symbolic links to folders."""
    for place in FOLDERS:
        (base / place).mkdir(exist_ok=True)
    paths = [write(base / place / f"f{n}", data) for n, (place, data) in enumerate(made)]
    for n, (which, place) in enumerate(linked):
        os.link(paths[which % len(paths)], base / place / f"l{n}")
    (base / "to_a").symlink_to(base / "a")
    (base / "to_b").symlink_to(base / "b")


def places(tops: Sequence[Path]) -> dict[str, bytes]:
    """Return the contents of all files below some folders that hold something, by their real paths."""
    found = {}
    for top in tops:
        for above, _, names in os.walk(os.path.realpath(top)):
            for name in names:
                path = Path(above, name)
                if path.is_file() and not path.is_symlink() and path.stat().st_size:
                    found[str(path)] = path.read_bytes()
    return found


def plainly_missing(card: Sequence[Path], archive: Sequence[Path]) -> set[str]:
    """Return the real paths of the card whose content is at no place of the archive that is not on the card."""
    wanted, there = places(card), places(archive)
    held = {data for path, data in there.items() if path not in wanted}
    return {path for path, data in wanted.items() if data not in held}


def real(names: Sequence[bytes]) -> set[str]:
    """Return names with the links in their folders resolved."""
    return {os.path.realpath(os.fsdecode(name)) for name in names}


def missing_names(result: MissingResult) -> set[str]:
    """Return the real paths of what a result calls missing."""
    return real([name for file in result.missing for name in file.names])


@posix
@pytest.mark.parametrize("confirm", [Confirm.SHA256, Confirm.BYTES])
def test_any_two_sides_give_the_answer_of_sets(low: Tuning, folder: Callable[[], Path], confirm: Confirm) -> None:
    """With hard links, symbolic links, empty files, nested and equal roots: what no other place holds is missing."""

    @few
    @given(files, links, roots, roots)
    def law(made: list[tuple[str, bytes]], linked: list[tuple[int, str]], card: list[str], archive: list[str]) -> None:
        base = folder()
        grow(base, made, linked)
        card_roots, archive_roots = [base / root for root in card], [base / root for root in archive]
        config = MissingConfig(card=card_roots, archive=archive_roots, confirm=confirm, jobs=1)
        try:
            result = find_missing(config, tuning=low)
        except NothingUsableError:
            assert not places(card_roots)
            return
        assert missing_names(result) == plainly_missing(card_roots, archive_roots)
        totals = result.totals
        assert totals.missing_files == len(result.missing)
        assert totals.files == totals.held_files + totals.missing_files
        assert totals.missing_bytes == sum(file.size for file in result.missing)
        assert result.is_certain == (bool(totals.files) and all(any(root.rglob("[fl][0-9]*")) for root in card_roots))
        assert [f.path for f in result.missing] == sorted((f.path for f in result.missing), key=_root_and_path(result))

    law()


def _root_and_path(result: MissingResult) -> Callable[[bytes], tuple[int, bytes]]:
    root = {file.path: file.root for file in result.missing}
    return lambda path: (root[path], path)


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # pytest-xdist has threads
@pytest.mark.skipif(sys.platform == "win32", reason="workers do not share what is patched")
def test_workers_give_the_answer_of_one_process(
    low: Tuning, folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the sides are, catalogs among them, and whoever reads: the answer is the same."""
    fork_workers(monkeypatch)
    monkeypatch.setattr(walker, "_WIDTH", 1)  # so that workers run before the table is whole
    monkeypatch.setattr(scanner, "_SHARE", 1)

    @settings(few, max_examples=6)
    @given(files, links, roots, roots, st.sampled_from(["", "away.catalog"]))
    def law(
        made: list[tuple[str, bytes]], linked: list[tuple[int, str]], card: list[str], archive: list[str], away: str
    ) -> None:
        base = folder()
        grow(base, made, linked)
        write(base / "away/x", POOL[0])
        create(str(base / "away.catalog"), ScanConfig(roots=[base / "away"], min_size=0, jobs=1))
        further = [base / away] if away else []
        answers = []
        for jobs in (1, 2):
            config = MissingConfig(
                card=[base / root for root in card], archive=[*(base / root for root in archive), *further], jobs=jobs
            )
            try:
                found = find_missing(config, tuning=low)
            except NothingUsableError:
                assert not places(config.card)
                return
            answers.append((list(found.missing), replace(found.totals, bytes_read=0), list(found.problems)))
        assert answers[0] == answers[1]

    law()


def test_what_cannot_be_read_is_never_held(
    low: Tuning, folder: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever refuses to be opened is missing or unknown, unless something that was read holds it."""
    for method in ("open", "read", "read_with_stat"):
        monkeypatch.setattr(Opener, method, _refusing(getattr(Opener, method)))
    locked = st.lists(st.booleans(), min_size=25, max_size=25)

    @few
    @given(files, locked)
    def law(made: list[tuple[str, bytes]], locks: list[bool]) -> None:
        base = folder()
        for n, ((place, data), is_locked) in enumerate(zip(made, locks, strict=False)):
            write(base / ("card" if place == "a" else "archive") / f"{'locked' if is_locked else 'f'}{n}", data)
        for side in ("card", "archive"):
            write(base / side / "odd", side.encode())
        result = find_missing(MissingConfig(card=[base / "card"], archive=[base / "archive"], jobs=1), tuning=low)
        held = {data for path, data in places([base / "archive"]).items() if "locked" not in path}
        unknown = real([p.path for p in result.problems])
        for path, data in places([base / "card"]).items():
            if path in missing_names(result):
                assert data not in held or path in unknown
            elif path not in unknown:
                assert data in held
        assert result.is_certain == (not result.problems)
        assert result.totals.unknown_files == len([p for p in unknown if Path(p).parent.name == "card"])

    law()


def _refusing(method: Callable[..., object]) -> Callable[..., object]:
    def refuse(self: Opener, path: bytes, *rest: object) -> object:
        if b"locked" in os.path.basename(path):
            raise PermissionError(13, "Permission denied")
        return method(self, path, *rest)

    return refuse


def missing_of(card: Path, archive: Path, **options: object) -> MissingResult:
    """Return what an archive does not hold of a card."""
    return find_missing(MissingConfig(card=[card], archive=[archive], jobs=1, **options))  # type: ignore[arg-type]


@posix
def test_the_reason_tells_a_file_that_is_on_both_sides(tmp_path: Path) -> None:
    """A file that the archive has only by another way to it is told as such, unlike one that is not there."""
    write(tmp_path / "card/a", b"a")
    write(tmp_path / "card/new", b"new")
    write(tmp_path / "archive/x", b"x")
    (tmp_path / "archive/link").symlink_to(tmp_path / "card/a")
    found = missing_of(tmp_path / "card", tmp_path / "archive", follow_symlinks=True)
    reasons = {os.path.basename(file.path): file.reason for file in found.missing}
    assert reasons == {b"a": MissingReason.SAME_FILE, b"new": MissingReason.NOT_HELD}


@posix
def test_what_a_link_of_the_archive_leads_to_elsewhere_holds(tmp_path: Path) -> None:
    """With links followed, data outside both sides counts, as it stays when the card goes."""
    write(tmp_path / "card/a", b"a")
    write(tmp_path / "elsewhere/a", b"a")
    (tmp_path / "archive").mkdir()
    (tmp_path / "archive/folder").symlink_to(tmp_path / "elsewhere")
    assert not missing_of(tmp_path / "card", tmp_path / "archive", follow_symlinks=True).missing
    assert missing_of(tmp_path / "card", tmp_path / "archive").missing


@posix
def test_what_a_link_of_the_card_leads_to_is_not_on_the_card(tmp_path: Path) -> None:
    """Links are not followed on the card, so what they lead to can hold."""
    write(tmp_path / "card/a", b"a")
    write(tmp_path / "archive/a", b"a")
    (tmp_path / "card/link").symlink_to(tmp_path / "archive/a")
    found = missing_of(tmp_path / "card", tmp_path / "archive", follow_symlinks=True)
    assert not found.missing
    assert found.card_skipped == {SkipReason.SYMLINK: 1}


def test_trash_counts_on_the_card_alone(tmp_path: Path) -> None:
    """What a wiped card would lose is looked for in its trash too, and trash of the archive holds nothing for long."""
    write(tmp_path / "card/.Trash-1000/old", b"old")
    write(tmp_path / "archive/.Trash-1000/old", b"old")
    write(tmp_path / "archive/new", b"new")
    found = missing_of(tmp_path / "card", tmp_path / "archive")
    assert [os.path.basename(file.path) for file in found.missing] == [b"old"]
    assert found.archive_skipped == {SkipReason.DEFAULT_EXCLUDE: 1}
    assert not missing_of(tmp_path / "card", tmp_path / "archive", default_excludes=False).missing


def test_only_sizes_of_both_sides_are_read(tmp_path: Path) -> None:
    """Copies within one side cost nothing: only what both sides share is read."""
    for n in range(3):
        write(tmp_path / f"card/{n}", b"card" * 5000)
        write(tmp_path / f"archive/{n}", b"archive" * 9000)
    found = missing_of(tmp_path / "card", tmp_path / "archive")
    assert (found.totals.missing_files, found.totals.bytes_read) == (3, 0)


def test_a_second_look_answers_from_memory_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Remembered digests stand for files, are counted, and are looked at once more; without the cache all is read."""
    data = os.urandom(100_000)
    for side in ("card", "archive"):
        write(tmp_path / side / "a", data)
    cache = tmp_path / "cache.db"
    monkeypatch.setattr(write_buffer, "RACY_NS", 0)  # files not at rest have no rows
    first = missing_of(tmp_path / "card", tmp_path / "archive", cache=cache)
    assert (first.totals.held_files, first.totals.remembered_files) == (1, 0)
    second = missing_of(tmp_path / "card", tmp_path / "archive", cache=cache)
    assert (second.totals.held_files, second.totals.remembered_files, second.totals.bytes_read) == (1, 1, 0)
    third = missing_of(tmp_path / "card", tmp_path / "archive")
    assert (third.totals.remembered_files, third.totals.bytes_read > 0) == (0, True)


def test_a_remembered_file_that_goes_before_the_answer_holds_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What stands by memory is looked at right before the answer: one that is gone by then has lost its word."""
    for side in ("card", "archive"):
        write(tmp_path / side / "a", b"a" * 100_000)
    cache = tmp_path / "cache.db"
    monkeypatch.setattr(write_buffer, "RACY_NS", 0)  # files not at rest have no rows
    missing_of(tmp_path / "card", tmp_path / "archive", cache=cache)

    def remove(*args: object) -> object:
        (tmp_path / "archive/a").unlink()
        return hold(*args)  # type: ignore[arg-type]

    hold = missing.hold
    monkeypatch.setattr(missing, "hold", remove)
    found = missing_of(tmp_path / "card", tmp_path / "archive", cache=cache)
    assert found.totals.missing_files == 1
    assert [problem.kind for problem in found.problems] == [ProblemKind.VANISHED]


@pytest.mark.parametrize("side", ["card", "archive"])
def test_a_file_that_goes_before_it_is_confirmed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, side: str
) -> None:
    """What is gone once its bytes are asked for holds nothing, and of what is gone from the card nothing is known."""
    for each in ("card", "archive"):
        write(tmp_path / each / "a", b"a" * 300_000)
    confirm = missing.confirm

    def remove(*args: object) -> object:
        (tmp_path / side / "a").unlink()
        return confirm(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(missing, "confirm", remove)
    found = missing_of(tmp_path / "card", tmp_path / "archive")
    assert [problem.kind for problem in found.problems] == [ProblemKind.VANISHED]
    expected = (0, 1, 0) if side == "card" else (0, 0, 1)
    assert (found.totals.held_files, found.totals.unknown_files, found.totals.missing_files) == expected
    assert not found.is_certain


def test_files_that_only_a_cloud_has_leave_the_answer_open(tmp_path: Path) -> None:
    """What was left out of the card as reading would download it may be nowhere else."""
    for side in ("card", "archive"):
        write(tmp_path / side / "a", b"a")
    found = missing_of(tmp_path / "card", tmp_path / "archive")
    assert found.is_certain
    assert not replace(found, card_skipped={SkipReason.CLOUD: 1}).is_certain


def test_hard_links_of_one_missing_file_are_one_file_with_two_names(tmp_path: Path) -> None:
    """Names of one file stand together, whatever sizes the archive has."""
    os.link(write(tmp_path / "card/a", b"a"), tmp_path / "card/b")
    write(tmp_path / "archive/x", b"xxx")
    (file,) = missing_of(tmp_path / "card", tmp_path / "archive").missing
    assert [os.path.basename(name) for name in file.names] == [b"a", b"b"]


@pytest.mark.skipif(sys.platform != "linux", reason="bind mounts")
@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_second_mount_does_not_hold(tmp_path: Path, what: str) -> None:
    """The same file below another mount is the same file, also where it is mounted alone under another name."""
    need(os.geteuid() == 0, "mounting needs root")
    name = write(tmp_path / "card/a", b"a")
    os.link(name, tmp_path / "card/b")  # so that the count of links does not give it away
    target = tmp_path / "archive"
    target.mkdir()
    source: Path = tmp_path / "card"
    if what == "file":
        source, target = name, write(tmp_path / "archive/other", b"")
    mounted = subprocess.run(["mount", "--bind", source, target], check=False).returncode == 0
    need(mounted, "this machine refuses mounts")
    try:
        found = missing_of(tmp_path / "card", tmp_path / "archive")
        assert [file.reason for file in found.missing] == [MissingReason.SAME_FILE]
    finally:
        unmount(target)


@pytest.mark.parametrize("side", ["card", "archive"])
def test_a_side_that_is_not_there_is_an_error(tmp_path: Path, side: str) -> None:
    """A wrong name must not turn into an answer."""
    write(tmp_path / ("archive" if side == "card" else "card") / "a", b"a")
    with pytest.raises(NothingUsableError, match=side):
        missing_of(tmp_path / "card", tmp_path / "archive")


def test_a_card_without_files_is_an_error(tmp_path: Path) -> None:
    """An empty folder may be where the card should have been mounted: nothing was checked, so nothing is promised."""
    (tmp_path / "card").mkdir()
    write(tmp_path / "archive/a", b"a")
    with pytest.raises(NothingUsableError, match="No file to look for"):
        missing_of(tmp_path / "card", tmp_path / "archive")


def test_a_card_of_empty_files_promises_nothing(tmp_path: Path) -> None:
    """Where no file holds anything, nothing was looked for: a broken card may show all its files so."""
    write(tmp_path / "card/a", b"")
    write(tmp_path / "archive/a", b"a")
    assert not missing_of(tmp_path / "card", tmp_path / "archive").is_certain


def test_one_of_several_cards_without_files_is_told(tmp_path: Path) -> None:
    """A root below which nothing is may be a disk that is not mounted; but its files may lie below another root."""
    write(tmp_path / "card/in/a", b"a")
    write(tmp_path / "archive/a", b"a")
    (tmp_path / "none").mkdir()
    roots = [tmp_path / "card", tmp_path / "card/in"]
    assert find_missing(MissingConfig(card=roots, archive=[tmp_path / "archive"], jobs=1)).is_certain
    for single in (tmp_path / "card", tmp_path / "card/in/a"):
        found = find_missing(MissingConfig(card=[tmp_path / "none", single], archive=[tmp_path / "archive"], jobs=1))
        assert [problem.path for problem in found.problems] == [os.fsencode(tmp_path / "none")]
        assert not found.is_certain
    write(tmp_path / "none/b.txt", b"b")
    rules = MissingConfig(
        card=[tmp_path / "none", tmp_path / "card"], archive=[tmp_path / "archive"], jobs=1, exclude=["*.txt"]
    )
    assert (find_missing(rules).is_certain, find_missing(rules).left_out) == (True, 1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"archive": []}, "--from"),
        ({"card": []}, "Nothing to look for"),
        ({"confirm": Confirm.XXH3}, "no proof"),
        ({"archive": [""]}, "path is empty"),
    ],
)
def test_questions_without_sense_are_refused(options: dict[str, object], words: str) -> None:
    """What cannot be answered, or not by a proof, is wrong usage."""
    with pytest.raises(UsageError, match=words):
        MissingConfig(**{"card": ["."], "archive": ["."], **options})  # type: ignore[arg-type]
