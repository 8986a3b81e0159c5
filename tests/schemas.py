"""Holds documents against a JSON schema where that can be done: Debian 12's Wine lacks a DLL that jsonschema needs."""

from __future__ import annotations

import importlib
import sys
from typing import Any


def validate(document: object, schema: dict[str, Any]) -> None:
    """Fail where a document does not follow a schema; on Windows nothing is said where jsonschema cannot be loaded."""
    try:
        jsonschema = importlib.import_module("jsonschema")
    except ImportError:
        if sys.platform != "win32":
            raise
        return
    jsonschema.validate(document, schema)
