"""What is missing to bytes, one file a format; each has a `render` as the report formats have.  Opens no file."""

from __future__ import annotations

from dedupe.report import Format

FORMATS: dict[str, Format] = {
    "csv": Format("csv", (".csv",), "dedupe.query.formats.rows"),
    "json": Format("json", (".json",), "dedupe.query.formats.one_object"),
    "paths": Format("paths", (".paths",), "dedupe.query.formats.names"),
    "text": Format("text", (".txt",), "dedupe.query.formats.lines"),
}
"""Every format by its name, sorted."""
