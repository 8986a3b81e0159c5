"""The files of a catalog to bytes, one file a format; each has a `render` as the report formats have.  Opens no file.

Every format has the columns `catalog` (its number), `root`, `volume`, `path`, the exact bytes of the path where it is
no valid Unicode, `size`, `modified_ns`, `changed_ns`, `inode`, `fingerprint` and `digest`, the last two in hexadecimal.
"""

from __future__ import annotations

from dedupe.report import Format

FORMATS: dict[str, Format] = {
    "csv": Format("csv", (".csv",), "dedupe.query.export.rows"),
    "jsonl": Format("jsonl", (".jsonl", ".ndjson"), "dedupe.query.export.lines"),
    "parquet": Format("parquet", (".parquet",), "dedupe.query.export.parquet", binary=True),
}
"""Every format by its name, sorted."""
