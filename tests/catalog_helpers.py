"""Changing a catalog so that it counts as whole, as one of another system or another time would be."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from dedupe.catalog.row_checksum import of_file, of_values


def rewrite(catalog: Path, *statements: str) -> None:
    """Run statements on a catalog, then write the checksums of files and volumes that fit."""
    with contextlib.closing(sqlite3.connect(catalog)) as connection, connection:
        connection.create_function("of_file", 8, lambda *row: of_file(row))
        connection.create_function("of_values", 4, of_values)
        for statement in statements:
            connection.execute(statement)
        columns = "folder, name, size, modified_ns, changed_ns, inode, fingerprint, digest"
        connection.execute(f"UPDATE files SET checksum = of_file({columns})")
        connection.execute("UPDATE volumes SET checksum = of_values(number, id, label, file_system)")
