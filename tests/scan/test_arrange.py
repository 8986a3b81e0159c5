"""Looking once more: every file is looked at, whoever looks, and the groups are those of the files that stayed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.files.classes import Classes
from dedupe.files.table import FileTable
from dedupe.result import ProblemKind, Proof
from dedupe.scan.arrange import _without
from dedupe.scan.look_again import _batches, _Looker
from dedupe.scan.scope import ScopeFilter
from dedupe.storage import file_stat
from dedupe.storage.opener import Opener
from tests.conftest import write
from tests.made_volumes import MOUNT
from tests.naive import LOW

PROOFS = st.sampled_from(list(Proof))


@given(st.lists(st.lists(PROOFS, min_size=2, max_size=5), max_size=6), st.sets(st.integers(0, 30)))
def test_who_is_left_keeps_its_class_digest_and_proof(proofs: Sequence[Sequence[Proof]], gone: set[int]) -> None:
    """Classes lose those that changed and nothing else; one of which a single file is left is no class."""
    classes, expected, first = Classes(), [], 0
    for n, some in enumerate(proofs):
        members = range(first, first + len(some))
        classes.append(bytes([n]), members, some)
        left = [(i, proof) for i, proof in zip(members, some, strict=True) if i not in gone]
        expected += [(bytes([n]), left)] if len(left) > 1 else []
        first += len(some)
    found = _without(classes, gone, ScopeFilter(FileTable()))
    assert [
        (digest, list(zip(members, found.proofs(n, n + 1), strict=True))) for n, (digest, members) in enumerate(found)
    ] == expected


def test_batches_hold_every_file_once_with_its_stat(tmp_path: Path) -> None:
    """Those that changed are told by their place, with the reason; all others are silent."""
    paths = [write(tmp_path / f"{n}", b"data") for n in range(10)]
    table = FileTable()
    folder = table.enter(os.fsencode(tmp_path), MOUNT)
    for path in paths:
        table.add(folder, os.fsencode(path.name), file_stat.of_path(os.fsencode(path)))
    paths[2].write_bytes(b"longer than before")
    paths[5].unlink()
    look, changed = _Looker(Opener()), {}
    for batch in _batches(table, range(1, 10), LOW):
        assert len(batch.members) <= LOW.stat_files
        seen = look(batch)
        changed.update({batch.members[at]: p.kind for at, p in zip(seen.changed, seen.problems, strict=True)})
    assert changed == {2: ProblemKind.CHANGED, 5: ProblemKind.VANISHED}


@pytest.mark.parametrize("count", [1, 3])
def test_files_that_nobody_could_look_at_are_told(tmp_path: Path, count: int) -> None:
    """Where those who look die again and again, every file of the batch is a problem and stands in no group."""
    table = FileTable()
    folder = table.enter(os.fsencode(tmp_path), MOUNT)
    for n in range(count):
        table.add(folder, b"%d" % n, (1, 1, 1, n + 1))
    (batch,) = _batches(table, range(count), LOW)
    lost = _Looker(Opener()).lost(batch)
    assert lost.changed == list(range(count))
    assert [p.kind for p in lost.problems] == [ProblemKind.IO] * count
