"""The configuration: checked once, with one sentence for each mistake."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from dedupe.config import BackendName, Confirm, ScanConfig
from dedupe.errors import UsageError


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"roots": []}, "Nothing to scan"),
        ({"roots": [b"a\0b"]}, "NUL"),
        ({"roots": "/data"}, "roots"),
        ({"roots": b"/data"}, "roots"),
        ({"include": "*.jpg"}, "include"),
        ({"exclude": "*.jpg"}, "exclude"),
        ({"confirm": "md4"}, "sha256"),
        ({"backend": "gpu"}, "hashlib"),
        ({"jobs": 0}, "jobs"),
        ({"min_size": -1}, "min_size"),
        ({"max_size": 1, "min_size": 2}, "no file fits"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], said: str) -> None:
    """The sentence names what is wrong; one path or pattern is not taken for a list of letters."""
    with pytest.raises(UsageError, match=said):
        ScanConfig(**({"roots": ["."]} | options))


def test_names_become_members() -> None:
    """Text will do for what has few values."""
    config = ScanConfig(roots=["."], confirm="bytes", backend="hashlib")  # type: ignore[arg-type]
    assert (config.confirm, config.backend) == (Confirm.BYTES, BackendName.HASHLIB)


def test_it_cannot_be_changed() -> None:
    """What was checked stays as it is."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        ScanConfig(roots=["."]).jobs = 3  # type: ignore[misc]
