"""What is redundant: never the copy that is kept, nor what lies below the root that is to stay."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dedupe.report import FORMATS, Style
from dedupe.report.redundant import Keepers
from dedupe.result import File, Group
from tests.report_helpers import result

ROOTS = [b"/keep", b"/old"]


def group(*files: File) -> Group:
    """Return a group of files."""
    return Group(1, 5, "sha256", b"\xab" * 32, tuple(sorted(files)))


def file(path: bytes, root: int | None, *links: bytes) -> File:
    """Return a file below a root."""
    return File(path, 0, 1, hash(path) % 1000, root, 0, None, links)


def redundant(one: Group, *, across: bool = False) -> list[tuple[bytes, ...]]:
    """Return the names of a group that are redundant."""
    return list(Keepers(ROOTS, across=across).redundant(one).files)


def test_the_first_root_keeps_one_whatever_the_paths() -> None:
    """The order of the roots decides, then that of the report."""
    one = group(file(b"/keep/z", 0), file(b"/keep/y", 0), file(b"/a", 1))
    assert Keepers([b"/keep", b"/"], across=False).redundant(one).keepers[0].path == b"/keep/y"
    assert redundant(one) == [(b"/a",), (b"/keep/z",)]


def test_across_roots_the_whole_first_root_stays() -> None:
    """Copies within the root that stays stay, and only those of other roots may go."""
    assert redundant(group(file(b"/keep/1", 0), file(b"/keep/2", 0), file(b"/old/1", 1)), across=True) == [(b"/old/1",)]


def test_a_file_with_a_link_below_the_root_that_stays_is_not_redundant() -> None:
    """Removing such a name frees nothing, and removing all would take one from the root that stays."""
    one = group(file(b"/keep/1", 0), file(b"/old/1", 1, b"/keep/2"))
    assert redundant(one, across=True) == []
    assert redundant(one) == [(b"/old/1", b"/keep/2")]


@pytest.mark.parametrize("kind", ["symlinks", "mounted"])
def test_what_is_seen_below_the_root_that_stays_is_not_redundant(kind: str) -> None:
    """A file that the root shows by a link or a mount would be gone from it as well."""
    old = file(b"/old/1", 1)._replace(**{kind: (b"/keep/2",)})
    assert redundant(group(file(b"/keep/1", 0), old), across=True) == []


def test_a_root_inside_the_one_that_stays_is_another_root() -> None:
    """The innermost root counts."""
    keepers = Keepers([b"/keep", b"/keep/old"], across=True)
    one = group(file(b"/keep/1", 0), file(b"/keep/old/1", 1))
    assert list(keepers.redundant(one).files) == [(b"/keep/old/1",)]


def test_without_roots_the_first_of_the_report_is_kept() -> None:
    """Reports of other finders name no root."""
    assert redundant(group(file(b"/x/2", None), file(b"/x/1", None))) == [(b"/x/2",)]


def test_paths_are_one_list_of_real_names() -> None:
    """Every line is a name that may go; hard links of a redundant file go with it."""
    found = replace(result([group(file(b"/keep/1", 0), file(b"/old/1", 1, b"/old/2"))]), roots=ROOTS)
    assert b"".join(FORMATS["paths"].render(found, Style(redundant=True))) == b"/old/1\n/old/2\n"
    assert b"".join(FORMATS["paths"].render(found, Style(redundant=True, null=True))) == b"/old/1\0/old/2\0"
    text = b"".join(FORMATS["text"].render(found, Style(redundant=True))).decode()
    assert "  kept: /keep/1\n  /old/1\n    = /old/2 (hard link)\n" in text


def test_text_marks_copies_within_a_root() -> None:
    """Across roots, a further copy of one root is shown as such."""
    found = replace(result([group(file(b"/keep/1", 0), file(b"/keep/2", 0), file(b"/old/1", 1))]), roots=ROOTS)
    text = b"".join(FORMATS["text"].render(found, Style(across=True))).decode()
    assert "  /keep/1\n  /keep/2 (within /keep)\n  /old/1\n" in text
    assert "within" not in b"".join(FORMATS["text"].render(found, Style())).decode()


@pytest.mark.parametrize(
    "place", [b"/keep/.Trash-1000/files/1", b"/keep/daily.0/1", b"/keep/lost+found/1", b"/keep/.stversions/1"]
)
def test_what_will_be_removed_is_kept_for_no_other_file(place: bytes) -> None:
    """A trash or snapshot, even of the first root, is neither the copy that stays nor one that goes."""
    assert redundant(group(file(place, 0), file(b"/old/1", 1), file(b"/old/2", 1))) == [(b"/old/2",)]
    alone = Keepers(ROOTS, across=False, staying=lambda one: [one.files[0]])
    assert alone.redundant(group(file(place, 0), file(b"/old/1", 1))) is None
    assert alone.whole == 1
    found = replace(result([group(file(place, 0), file(b"/old/1", 1))]), roots=ROOTS)
    text = b"".join(FORMATS["text"].render(found, Style(redundant=True, staying=lambda one: [one.files[0]]))).decode()
    assert "Need not be kept: 0 files" in text
    assert "1 group left whole: what would be kept lies in a trash or snapshot." in text
