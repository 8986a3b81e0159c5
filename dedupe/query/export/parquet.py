"""The files of a catalog as Parquet, written by DuckDB from the CSV.  Knows nothing of Parquet itself.

`path` is text as in the other formats, and `path_bytes` has the exact bytes of every path.  Numbers that 64 bits do not
hold are null.  DuckDB and not pyarrow, as it has wheels for every system that dedupe runs on.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dedupe.errors import NothingUsableError
from dedupe.query.export import rows
from dedupe.report.base import Style

if TYPE_CHECKING:
    from dedupe.query.catalog_files import CatalogFiles

MARK = b"dedupe-catalog-export/1"  # in the metadata at the end of the file
_PIECE = 1 << 20
_MEMORY = "512MB"
_COPY = """
COPY (
  SELECT catalog, root, volume, path, coalesce(from_base64(path_base64), encode(path)) AS path_bytes,
    try_cast(size AS BIGINT) AS size, try_cast(modified_ns AS BIGINT) AS modified_ns,
    try_cast(changed_ns AS BIGINT) AS changed_ns, inode, fingerprint, digest
  FROM read_csv({source}, columns = {columns}, header = true, auto_detect = false, delim = ',', quote = '"',
    escape = '"', nullstr = '', new_line = '\\r\\n', parallel = false)
) TO {target} (FORMAT parquet, COMPRESSION zstd, KV_METADATA {{schema: '{mark}'}})
"""


def render(files: CatalogFiles, style: Style) -> Iterator[bytes]:
    """Yield the bytes of the file.

    Raises:
        NothingUsableError: DuckDB is not there, or cannot write the file.
    """
    try:
        import duckdb
    except ImportError as error:
        raise NothingUsableError(
            "Parquet is written by DuckDB, which is not installed: `pip install 'dedupe-files[parquet]'`, or name a "
            "file that ends in .csv or .jsonl, which DuckDB, Polars and Spark read as well."
        ) from error
    with tempfile.TemporaryDirectory(prefix="dedupe-") as folder:
        source, target = (os.path.join(folder, name) for name in ("files.csv", "files.parquet"))
        with open(source, "wb") as file:
            file.writelines(rows.render(files, style._replace(to_file=False)))
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": False,  # it downloads nothing
            "autoload_known_extensions": False,
            "memory_limit": _MEMORY,
            "temp_directory": folder,
        }
        columns = "{" + ", ".join(f"{name}: 'VARCHAR'" for name in rows.COLUMNS) + "}"
        names = {"source": _quoted(source), "target": _quoted(target), "columns": columns, "mark": MARK.decode()}
        try:
            with duckdb.connect(config=settings) as connection:
                connection.execute(_COPY.format(**names))
        except duckdb.Error as error:
            raise NothingUsableError(f"DuckDB cannot write the export: {error}") from error
        with open(target, "rb") as file:
            while piece := file.read(_PIECE):
                yield piece


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
