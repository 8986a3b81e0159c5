"""Making a catalog fit to be written: brought to the newest tables, and without rows that are damaged.

What is dropped is read anew from the disk, so nothing is lost by it.
"""

from __future__ import annotations

import sqlite3

from dedupe.catalog import database
from dedupe.catalog.head import Head
from dedupe.catalog.row_checksum import is_file_whole, of_file, of_values
from dedupe.catalog.rows import may_be_whole


def mend(connection: sqlite3.Connection, head: Head) -> int:
    """Bring a catalog to the newest tables and drop what is damaged, all at once.

    Args:
        connection: the catalog.
        head: what it says of itself.

    Returns:
        How many rows were dropped.
    """
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if not database.is_checked(connection):
            _add_checksums(connection)
            database.write_head(connection, head)
        before = connection.total_changes
        bad = [(row[0],) for row in connection.execute("SELECT * FROM folders") if of_values(*row[:4]) != row[4]]
        connection.executemany("DELETE FROM folders WHERE number = ?", bad)
        rows = connection.execute("SELECT * FROM files")
        bad_files = [row[:2] for row in rows if not is_file_whole(row)]
        connection.executemany("DELETE FROM files WHERE folder = ? AND name = ?", bad_files)
        connection.execute("DELETE FROM files WHERE folder NOT IN (SELECT number FROM folders)")
        return connection.total_changes - before


def _add_checksums(connection: sqlite3.Connection) -> None:
    """Write each table anew, with the checksums that its rows lacked."""
    made = database.tables()
    connection.create_function("of_file", 8, lambda *row: of_file(row) if may_be_whole(row) else b"")
    connection.create_function("of_values", 4, of_values)
    for table, function, columns in (
        ("volumes", "of_values", "number, id, label, file_system"),
        ("folders", "of_values", "number, path, volume, inside"),
        ("files", "of_file", "folder, name, size, modified_ns, changed_ns, inode, fingerprint, digest"),
    ):
        connection.execute(f"CREATE TEMP TABLE earlier AS SELECT * FROM main.{table}")  # noqa: S608 - constants
        connection.execute(f"DROP TABLE main.{table}")
        connection.execute(made[table])
        connection.execute(f"INSERT INTO main.{table} SELECT *, {function}({columns}) FROM temp.earlier")  # noqa: S608 - constants
        connection.execute("DROP TABLE temp.earlier")
    connection.execute(made["problems"])
    connection.execute(f"PRAGMA user_version = {database.VERSION}")
