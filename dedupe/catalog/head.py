"""What a catalog says of itself, apart from its files: of what, by whom, when, and how far.  Reads no database."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, NamedTuple

from dedupe.catalog.row_checksum import of_values
from dedupe.result import SkipReason

_CHECKSUM = "checksum"  # the key of that of all others


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The one description of a catalog."""

    id: str  # random: tells catalogs of cloned disks apart
    version: str  # of dedupe that wrote it last
    made: str  # ISO 8601, UTC
    updated: str  # likewise; the last time that it was finished
    host: str
    root: bytes  # as it was reached
    inside: bytes  # the same folder in its volume, "/" between names
    capacity: int  # bytes of the volume that the root lies on
    layout: int  # version of the sample layout of the fingerprints
    algorithm: str  # of the digests
    quick: bool  # without digests
    complete: bool  # False while it is being filled
    files: int = -1  # in it when it was last finished; -1 where it does not say, as those of version 1
    size: int = -1  # bytes of these
    unread: int = -1  # files and folders that could not be read then; likewise
    undigested: int = 0  # files that have a fingerprint only, as no other catalog shared it; all of them if quick
    left_out: str = ""  # JSON: counts of what was left out then, by reason; empty where it does not say
    rules: str = ""  # JSON: by which rules; likewise

    @property
    def worth(self) -> tuple[bool, bool]:
        """Return whether the files have digests, and whether all have: the more, the better they are known."""
        return not self.quick, not self.undigested

    @property
    def told_rules(self) -> dict[str, object]:
        """Return the rules by which files were left out, none where it does not say."""
        return json.loads(self.rules) if self.rules else {}

    @property
    def skipped(self) -> Mapping[SkipReason, int]:
        """Return what was left out, by reasons that are known here."""
        told = json.loads(self.left_out) if self.left_out else {}
        return {SkipReason(reason): count for reason, count in told.items() if reason in list(SkipReason)}

    def as_rows(self) -> list[tuple[str, object]]:
        """Return keys and values as they are stored, their checksum among them."""
        rows = [(field.name, _stored(getattr(self, field.name))) for field in fields(self)]
        return [*rows, (_CHECKSUM, of_values(*sorted(rows)))]

    @classmethod
    def of_rows(cls, rows: dict[str, Any], *, checked: bool) -> Head:
        """Return the head that was stored.

        Args:
            rows: values by keys.
            checked: whether it has a checksum.

        Raises:
            KeyError, TypeError: it is damaged.
        """
        told = {key: value for key, value in rows.items() if key != _CHECKSUM}
        if checked and rows[_CHECKSUM] != of_values(*sorted(told.items())):
            raise KeyError(_CHECKSUM)
        told_of = {field for field in fields(cls) if field.default is MISSING or (checked and field.name in told)}
        kinds = {field.name: field.type for field in told_of}
        values = {name: rows[name] for name in kinds}
        for name, kind in kinds.items():
            if kind == "bool":
                values[name] = bool(values[name])
            elif type(values[name]).__name__ != kind:
                raise TypeError(name)
        return cls(**values)


def shown_time(when: str) -> str:
    """Return a time of a head as a sentence has it: to the minute."""
    return f"{when[:16].replace('T', ' ')} UTC"


def _stored(value: object) -> object:
    return int(value) if isinstance(value, bool) else value


class CatalogVolume(NamedTuple):
    """A volume that files of a catalog lie on."""

    number: int
    id: str
    label: str
    file_system: str
