"""What the tests of actions share: trees with copies, marks of them, and what a tree holds."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from dedupe.actions import apply as applying
from dedupe.actions.acting import Acting
from dedupe.actions.apply import ActionName, Order
from dedupe.actions.journal import Journal
from dedupe.actions.marks import MarkedFile, MarkedGroup, Marks, Rule
from dedupe.actions.tally import Tally
from dedupe.actions.undo import Wish, undo
from dedupe.progress import Silent
from dedupe.storage.temporary_names import ASIDE
from tests.conftest import write

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="acting is offered on Linux, and refused elsewhere")
LARGE = 300_000  # bytes: beyond what is read in one piece


def content(word: str, size: int = 5000) -> bytes:
    """Return bytes that only this word has."""
    return hashlib.shake_128(word.encode()).digest(size)


def marked(
    top: Path, groups: Mapping[str, tuple[Sequence[str], Sequence[str]]], *, rules: Sequence[Rule] = (), **head: Any
) -> Marks:
    """Return marks of files that are there: for each content (of a word) the names that stay and those that go."""
    made = []
    for number, (word, (keep, redundant)) in enumerate(groups.items(), 1):
        data = (top / keep[0]).read_bytes()
        assert data, word
        files = [tuple(MarkedFile(os.fsencode(top / name)) for name in names) for names in (keep, redundant)]
        made.append(MarkedGroup(number, len(data), "sha256", hashlib.sha256(data).digest(), *files))
    head.setdefault("roots", (os.fsencode(top),))
    return Marks(groups=made, rules=rules, **head)


def copies(
    top: Path, groups: Mapping[str, tuple[Sequence[str], Sequence[str]]], *, size: int = 5000, **head: Any
) -> Marks:
    """Make the files of groups, and return the marks of them."""
    number = 0
    for word, (keep, redundant) in groups.items():
        for name in (*keep, *redundant):
            number += 1
            path = write(top / name, content(word, size))
            os.utime(path, ns=(10**18 + number * 1_000_000_007, 10**18 + number * 1_000_000_007))
    return marked(top, groups, **head)


def tree(top: Path) -> Marks:
    """Make a small tree with two groups, one of them in folders, one with large files; return the marks."""
    return copies(top, {"one": (["keep/a"], ["go/b", "go/deep/c"]), "two": (["keep/d"], ["go/e"])})


def act(marks: Marks, action: ActionName, journal: Path, *, target: Path | None = None, **order: Any) -> Tally:
    """Carry marks out by the library."""
    place = os.fsencode(target or journal.parent / "target") if action is ActionName.MOVE_TO else None
    return applying.carry_out(applying.prepare(marks, Order(action=action, target=place, **order), str(journal)))


def take_back(journal: Path, **wish: Any) -> Tally:
    """Undo by the library."""
    return undo(Wish(**wish), str(journal), Silent())


def snapshot(top: Path) -> dict[str, tuple[object, ...]]:
    """Return all that a tree holds: names, contents, metadata, and which names are one file."""
    first: dict[tuple[int, int], str] = {}
    found: dict[str, tuple[object, ...]] = {}
    for path in sorted(top.rglob("*")):
        s = path.lstat()
        name = str(path.relative_to(top))
        if stat.S_ISREG(s.st_mode):
            xattrs = {x: os.getxattr(path, x) for x in os.listxattr(path)} if hasattr(os, "listxattr") else {}
            same = first.setdefault((s.st_dev, s.st_ino), name)
            found[name] = (path.read_bytes(), s.st_mode, s.st_uid, s.st_gid, s.st_mtime_ns, xattrs, same)
        else:
            found[name] = (os.readlink(path) if path.is_symlink() else None, s.st_mode)
    return found


def contents(*tops: Path) -> set[bytes]:
    """Return the digests of all files that count: temporary names and trashes do not."""
    return {
        hashlib.sha256(path.read_bytes()).digest()
        for top in tops
        for path in top.rglob("*")
        if path.is_file() and not path.is_symlink() and not path.name.encode().startswith(ASIDE)
    }


def reasons(tally: Tally) -> list[str]:
    """Return why names were refused, failed or are unclear."""
    return [each.reason for each in (*tally.refused, *tally.failed, *tally.unknown)]


class _Killed(BaseException):
    """As good as a kill: nothing of the run comes after it."""


def killed_in(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, run: Callable[[], object]) -> None:
    """Run something that ends, as by a kill, when it first comes to a function."""

    def kill(*_: object, **__: object) -> None:
        raise _Killed

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, kill)
        patch.setattr(Acting, "_give_up", lambda *_: None)
        patch.setattr(Journal, "end", lambda *_: None)
        with pytest.raises(_Killed):
            run()


@contextmanager
def no_lease(_: int) -> Iterator[bool]:
    """Stand for a file system that lends no files, and files of other owners: no writer has to wait."""
    yield False


def edit(path: Path) -> None:
    """Change a file in place and put its date back, as taggers of music do."""
    kept = path.stat()
    with path.open("r+b") as file:
        file.write(b"edited")
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
