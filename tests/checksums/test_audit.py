"""Folders are audited by a list: what is extra, moved, changed or missing, as hashdeep says it and by content."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.checksums.conformance import Answer, ask, dedupe, program
from tests.conftest import need, write

FILES = {"t/a": b"1", "t/b": b"2", "t/c": b"3", "t/d/e": b"5", "t/same": b"1"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with files and a list of them, made by us."""
    for name, data in FILES.items():
        write(tmp_path / name, data)
    (tmp_path / "L").write_bytes(ask(dedupe("-r", "t"), tmp_path).out)
    return tmp_path


def audited(folder: Path, *options: str) -> Answer:
    """Return what an audit without cache says, with slashes on Windows too."""
    found = ask(dedupe("--audit", "L", "t", *options), folder)
    return found._replace(out=found.out.replace(os.sep.encode(), b"/"))


def rename(old: str, new: str, folder: Path) -> None:
    """Rename a file of the folder."""
    (folder / old).rename(folder / new)


# what is done to the files, by lines; and what the audit then says but for what is OK
CHANGES: dict[str, tuple[list[tuple[str, ...]], list[str]]] = {
    "nothing": ([], []),
    "a new file": ([("write", "t/new", "9")], ["t/new: extra"]),
    "a renamed file": ([("move", "t/b", "t/z")], ["t/z: moved from t/b"]),
    "a copy": ([("write", "t/z", "2")], ["t/z: extra, a copy of t/b"]),
    "a changed file": ([("write", "t/b", "9")], ["t/b: FAILED"]),
    "a removed file": ([("remove", "t/b")], ["t/b: missing"]),
    "a removed copy": ([("remove", "t/same")], ["t/same: missing, its content is in t/a"]),
    "one moved and copied": (
        [("move", "t/b", "t/y"), ("write", "t/z", "2")],
        ["t/y: moved from t/b", "t/z: extra, a copy of t/y"],
    ),
    "two swapped": (
        [("move", "t/b", "x"), ("move", "t/c", "t/b"), ("move", "x", "t/c")],
        ["t/b: FAILED", "t/c: FAILED"],
    ),
    "rotated": (
        [("move", "t/b", "t/b.1"), ("write", "t/b", "9")],
        ["t/b: FAILED", "t/b.1: moved from t/b"],
    ),
    "a moved folder": ([("move", "t/d", "t/f")], ["t/f/e: moved from t/d/e"]),
    "both copies moved": (
        [("move", "t/a", "t/y"), ("move", "t/same", "t/z")],
        ["t/y: moved from t/a", "t/z: moved from t/same"],
    ),
}


def change(folder: Path, acts: list[tuple[str, ...]]) -> None:
    """Do something to the files."""
    for what, name, *more in acts:
        if what == "write":
            write(folder / name, more[0].encode())
        elif what == "move":
            rename(name, more[0], folder)
        else:
            (folder / name).unlink()


@pytest.mark.parametrize("case", CHANGES)
def test_what_an_audit_says(folder: Path, case: str) -> None:
    """Each file that is not as listed has a line of its own; it ends with 0 only if there is none."""
    acts, expected = CHANGES[case]
    change(folder, acts)
    found = audited(folder, "--quiet")
    assert found.out.decode().splitlines() == expected
    assert found.code == bool(expected)
    everything = audited(folder).out.decode().splitlines()
    assert [line for line in everything if not line.endswith(": OK")] == expected
    assert audited(folder, "--status") == (bool(expected), b"", (), True)


@pytest.mark.parametrize("case", CHANGES)
def test_as_hashdeep(folder: Path, case: str) -> None:
    """The other passes and fails the same trees, and by its own list, ours included, we say the same of each file."""
    made = ask([*program("hashdeep -j0 -r -l"), "t"], folder).out
    (folder / "K").write_bytes(ask(dedupe("-r", "--hashdeep", "t"), folder).out)
    head, rows = made.splitlines(keepends=True)[:5], made.splitlines(keepends=True)[5:]
    (folder / "L").write_bytes(b"".join([*head, *sorted(rows, key=lambda row: row.split(b",")[-1])]))
    acts, expected = CHANGES[case]
    change(folder, acts)
    for known in ("L", "K"):
        theirs = ask([*program(f"hashdeep -r -l -a -vvv -k {known}"), "t"], folder)
        assert theirs.code == bool(expected)
    ours = audited(folder, "--quiet")
    assert (ours.code, sorted(ours.out.decode().splitlines())) == (theirs.code, sorted(expected))
    # hashdeep calls a copy moved, and what moved away missing too
    said = {
        word: set(re.findall(rf"^(\S+): {word}", theirs.out.decode(), re.MULTILINE)) for word in ("Moved", "No match")
    }
    beside = {line.split(":")[0] for line in expected if "extra" in line or "moved" in line}
    changed = {line.split(":")[0] for line in expected if "FAILED" in line}
    assert said["Moved"] | said["No match"] == beside | changed


def test_the_list_itself_takes_no_part(folder: Path) -> None:
    """It may lie among the files that it is of."""
    (folder / "t/L").write_bytes((folder / "L").read_bytes())
    done = ask(dedupe("--audit", "t/L", "t", "--quiet"), folder)
    assert (done.code, done.out, done.silent) == (0, b"", False)


def test_names_with_ends_of_lines_are_escaped(folder: Path) -> None:
    """Both names of a line are, and a backslash before it says so."""
    need(os.name == "posix", "POSIX, where names may hold that")
    rename("t/b", "t/new\nline", folder)
    assert audited(folder, "--quiet").out == b"\\t/new\\nline: moved from t/b\n"


def test_a_malformed_line_or_an_unreadable_folder_fails(folder: Path) -> None:
    """Who cannot see all does not say that all is well."""
    listed = (folder / "L").read_bytes()
    (folder / "L").write_bytes(listed + b"rubbish\n")
    found = audited(folder, "--quiet")
    assert (found.code, found.out, found.warnings) == (1, b"", (b"1 line is improperly formatted",))
    (folder / "L").write_bytes(b"rubbish\n")
    assert audited(folder).code == 1
    (folder / "L").write_bytes(listed)
    assert ask(dedupe("--audit", "L", "t", "gone"), folder).code == 1


def test_several_lists_and_algorithms(folder: Path) -> None:
    """The files of all of them are listed; what moved is found by whichever algorithm its line has."""
    (folder / "L").write_bytes(ask(dedupe("-a", "blake2b", "t/a", "t/b"), folder).out)
    (folder / "M").write_bytes(ask(dedupe("-a", "md5", "t/c", "t/d/e", "t/same"), folder).out)
    rename("t/b", "t/y", folder)
    rename("t/c", "t/z", folder)
    done = ask(dedupe("--audit", "L", "--audit", "M", "t", "--quiet"), folder)
    assert done.out.splitlines() == [b"t/y: moved from t/b", b"t/z: moved from t/c"]
