"""Rules: each only narrows; what is decided, what stays undecided, and rules that match nothing."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.actions.marking import Decided, mark
from dedupe.config import Rules, Then
from dedupe.errors import UsageError
from dedupe.result import File, Group, Proof
from tests.cases.common import LINKS, not_on_windows
from tests.report_helpers import group, result


def decided(rules: Rules, *groups: Group, roots: tuple[bytes, ...] = (b"/",)) -> Decided:
    """Return what rules make of groups."""
    return mark(replace(result(groups), roots=roots), rules)


def goes(found: Decided) -> list[bytes]:
    """Return all redundant paths."""
    return [file.path for each in found.marks.groups for file in each.redundant]


A, B, C = b"/a/x", b"/b/x", b"/c/longer"


@pytest.mark.parametrize(
    ("rules", "redundant"),
    [
        (Rules(protect=[b"/a"]), [B, C]),
        (Rules(protect=[b"/a"], only_in=[b"/b"]), [B]),
        (Rules(only_in=[b"/b", b"/c"]), [B, C]),
        (Rules(prefer=[b"/b"]), [A, C]),
        (Rules(prefer=[b"/nothing-here", b"/c"], protect=[b"/a"]), None),
        (Rules(prefer=[b"/c", b"/a"]), [A, B]),
        (Rules(protect_name=["long*"]), [A, B]),
        (Rules(then=[Then.NEWEST]), [A, B]),
        (Rules(then=[Then.OLDEST]), [B, C]),
        (Rules(then=[Then.SHORTEST]), []),
        (Rules(then=[Then.SHORTEST, Then.NEWEST]), [A, C]),
        (Rules(prefer=[b"/c"], then=[Then.OLDEST]), [A, B]),
        (Rules(then=[Then.FIRST_ROOT, Then.NEWEST]), [A, B]),
    ],
)
def test_rules_decide(rules: Rules, redundant: list[bytes] | None) -> None:
    """What must stay leaves the others redundant; else preference, then the tie-breakers, leave one copy."""
    made = group(1, 10, (A, B, C))
    if redundant is None:
        with pytest.raises(UsageError, match="--prefer /nothing-here matches no file"):
            decided(rules, made)
        return
    assert goes(decided(rules, made)) == redundant


def test_what_is_away_neither_stays_for_another_file_nor_goes() -> None:
    """Files of catalogs are out of the marks, and a group with one file that is here is no group."""
    made = group(1, 10, (A, B, C))
    away = [file._replace(proof=Proof.OFFLINE if file.path == A else Proof.HASHED) for file in made.files]
    rest = decided(Rules(then=[Then.SHORTEST, Then.NEWEST]), replace(made, files=away)).marks.groups
    assert [[file.path for file in each.keep] for each in rest] == [[B]]
    assert [[file.path for file in each.redundant] for each in rest] == [[C]]
    alone = decided(Rules(then=[Then.NEWEST]), replace(made, files=away[:2]))
    assert (alone.marks.groups, alone.undecided) == ([], [])
    with pytest.raises(UsageError, match="--prefer /a matches no file"):
        decided(Rules(prefer=[b"/a"]), replace(made, files=away))


def test_a_link_into_a_preferred_folder_makes_no_copy_of_it() -> None:
    """What a symbolic link shows there lies elsewhere, and the copy that lies there stays."""
    made = group(1, 10, (A, B))
    linked = [made.files[0], made.files[1]._replace(symlinks=(b"/a/favourite",))]
    assert goes(decided(Rules(prefer=[b"/a"], then=[Then.OLDEST]), replace(made, files=linked))) == [B]


def test_a_tie_stays_undecided_and_is_counted() -> None:
    """All copies of such a group stay."""
    found = decided(Rules(prefer=[b"/a"]), group(1, 10, (A, B)), group(2, 10, (b"/c/1", b"/c/2")))
    assert goes(found) == [B]
    assert [each.id for each in found.undecided] == [2]
    assert found.marks.undecided == 1


@pytest.mark.parametrize("rules", [Rules(protect=[b"/z"]), Rules(only_in=[b"/a/x/y"]), Rules(protect_name=["*.no"])])
def test_a_rule_that_matches_nothing_is_an_error(rules: Rules) -> None:
    """It is misspelt, most likely; a folder's name that merely begins like one is another folder."""
    with pytest.raises(UsageError, match="matches no file"):
        decided(rules, group(1, 10, (A, B, b"/zz/x")))


def test_no_rule_is_an_error() -> None:
    """Nothing says then what stays."""
    with pytest.raises(UsageError, match="No rule"):
        decided(Rules(), group(1, 10, (A, B)))


def test_every_name_of_a_file_counts() -> None:
    """One name below a protected folder protects the file; all must lie where files may go."""
    one = group(1, 10, (A, B))
    files = (one.files[0], one.files[1]._replace(links=(b"/p/link",)))
    made = Group(1, 10, "sha256", one.digest, files)
    assert goes(decided(Rules(protect=[b"/p"]), made)) == [A]
    assert goes(decided(Rules(only_in=[b"/b"], then=[Then.OLDEST]), made)) == []
    assert goes(decided(Rules(only_in=[b"/b", b"/p"]), made)) == [B]
    (marked,) = decided(Rules(protect=[b"/a"]), made).marks.groups
    assert marked.redundant[0].links == (b"/p/link",)


@not_on_windows(LINKS)
def test_a_folder_is_known_by_what_its_name_leads_to(tmp_path: Path) -> None:
    """A rule may name a folder through a symbolic link, or relative to the current one."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    real = os.fsencode(tmp_path / "real")
    made = group(1, 10, (real + b"/x", b"/b/x"))
    assert goes(decided(Rules(protect=[os.fsencode(tmp_path / "link")]), made)) == [b"/b/x"]


places = st.lists(st.sampled_from([b"/a", b"/b", b"/c"]), max_size=2)
words = st.lists(st.sampled_from(list(Then)), max_size=3)


@given(
    places,
    places,
    places,
    words,
    st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), min_size=2, max_size=6),
)
def test_a_rule_more_never_takes_more(
    protect: list[bytes], only_in: list[bytes], prefer: list[bytes], then: list[Then], where: list[tuple[str, int]]
) -> None:
    """A group always keeps a copy; protected files and those outside stay; a tie-breaker only adds decisions."""
    files = tuple(
        File(f"/{folder}/{number}".encode(), time, 1, number, 0) for number, (folder, time) in enumerate(where)
    )
    made = Group(1, 10, "sha256", b"x" * 32, files)
    held = group(2, 10, (b"/a/m", b"/b/m", b"/c/m"))  # so that every rule matches something
    if not (protect or only_in or prefer or then):
        return
    rules = Rules(protect=protect, only_in=only_in, prefer=prefer, then=then)
    found = [each for each in decided(rules, made, held).marks.groups if each.id == 1]
    gone = {file.path for each in found for file in each.redundant}
    assert len(gone) < len(files)
    assert not any(path.startswith(folder + b"/") for path in gone for folder in protect)
    assert not only_in or all(path.startswith(tuple(folder + b"/" for folder in only_in)) for path in gone)
    if gone and (protect or only_in or prefer):
        fewer = Rules(protect=protect, only_in=only_in, prefer=prefer)
        before = [each for each in decided(fewer, made, held).marks.groups if each.id == 1]
        assert not before or {file.path for file in before[0].redundant} == gone
