"""Which files can have rows: those of a volume that is known again, under a path in it."""

from __future__ import annotations

from pathlib import Path

from dedupe.cache import eligible
from dedupe.files.table import FileTable
from dedupe.storage.volume import NOWHERE
from tests.cache_helpers import AT_REST, DISK, mounted, one_file, recall, remember, rows

_OTHER = DISK._replace(id="uuid:other", instance="second", device=8)


def test_files_are_sorted_by_volume() -> None:
    """Files of one volume come together, in the order given; those whose times or volume tell nothing, not at all."""
    table = FileTable()
    first, second = table.enter(b"/d", mounted()), table.enter(b"/e", mounted(b"/e", _OTHER))
    nowhere = table.enter(b"/n", NOWHERE)
    for n, folder in enumerate((second, first, second, nowhere, first)):
        table.add(folder, b"%d" % n, AT_REST)
    table.add(first, b"far", AT_REST._replace(modified_ns=2**63))
    found = {volume.id: list(members) for volume, members in eligible.by_volume(table, range(len(table)))}
    assert found == {"uuid:disk": [1, 4], "uuid:other": [0, 2]}


def test_a_file_on_another_volume_than_its_folder_has_no_row(tmp_path: Path) -> None:
    """A link that was followed leads to another volume, where the link's path means nothing."""
    table = FileTable()
    folder = table.enter(b"/d", mounted())
    table.add(folder, b"link", AT_REST, table.enter_volume(_OTHER))
    remember(tmp_path / "c.db", table)
    assert rows(tmp_path / "c.db") == 0
    assert recall(tmp_path / "c.db", table) == []


def test_a_volume_without_identity_has_no_rows(tmp_path: Path) -> None:
    """What nobody can tell from another disk is not remembered."""
    table = one_file(mount=mounted(volume=DISK._replace(id="")))
    remember(tmp_path / "c.db", table)
    assert rows(tmp_path / "c.db") == 0
    assert recall(tmp_path / "c.db", table) == []
