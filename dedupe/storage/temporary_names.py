"""The names that files have for the moment of an act, by which whoever meets one later knows it.  Gives none."""

from __future__ import annotations

import re

ASIDE = b".dedupe-"  # begins every name that dedupe gives for the time being
_WHOLE = re.compile(re.escape(ASIDE) + rb"([0-9a-z]{8}-\d+[abc]?|[0-9a-f]{16})")


def is_temporary(name: bytes) -> bool:
    """Return whether a name is one that dedupe gives for the time being."""
    return name.startswith(ASIDE) and _WHOLE.fullmatch(name) is not None
