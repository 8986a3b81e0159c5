"""Catalogs of disks that make up inode numbers at each mount and know no links, as the cards of cameras do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dedupe.query.catalog_check import check
from dedupe.query.catalog_fill import create, update
from dedupe.query.missing import find_missing
from dedupe.query.settings import MissingConfig
from tests import file_system_kinds
from tests.catalog.test_catalogs import config, grow, settled
from tests.conftest import write

__all__ = ["settled"]


@pytest.mark.skipif(sys.platform != "linux", reason="mounting")
def test_a_card_that_makes_up_its_numbers_is_card_and_archive(tmp_path: Path) -> None:
    """Mounted again it is read no more, never holds itself, and is held by a disk and holds for one."""
    archive = grow(tmp_path / "archive", [("2024", b"one" * 500), ("2024", b"two" * 500)])
    catalog, image = tmp_path / "card.catalog", tmp_path / "exfat.image"
    with file_system_kinds.mounted(tmp_path, "exfat") as card:
        write(card / "DCIM/IMG_1", b"one" * 500)
        write(card / "DCIM/IMG_2", b"two" * 500)
        create(str(catalog), config(card))
        own = find_missing(MissingConfig(card=[card], archive=[catalog], jobs=1))
        assert (own.totals.held_files, own.totals.missing_files) == (0, 2)
    with file_system_kinds.mounted(tmp_path, "exfat", image=image) as card:
        assert update(str(catalog), config(card)).read == 0
        assert check(str(catalog), config(card)).same == 2
        held = find_missing(MissingConfig(card=[card], archive=[archive], jobs=1))
        assert (held.totals.held_files, held.is_certain) == (2, True)
        assert find_missing(MissingConfig(card=[archive], archive=[card], jobs=1)).totals.held_files == 2
    away = find_missing(MissingConfig(card=[archive], archive=[catalog], jobs=1))
    assert (away.totals.offline_files, away.is_certain) == (2, True)
    back = find_missing(MissingConfig(card=[catalog], archive=[archive], jobs=1))
    assert (back.totals.held_files, back.totals.remembered_files, back.is_certain) == (2, 0, False)
