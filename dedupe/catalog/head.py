"""What a catalog says of itself, apart from its files: of what, by whom, when, and how far.  Reads no database."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple


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

    def as_rows(self) -> list[tuple[str, object]]:
        """Return keys and values as they are stored."""
        return [(field.name, _stored(getattr(self, field.name))) for field in fields(self)]

    @classmethod
    def of_rows(cls, rows: dict[str, Any]) -> Head:
        """Return the head that was stored.

        Raises:
            KeyError, TypeError: it is damaged.
        """
        kinds = {field.name: field.type for field in fields(cls)}
        values = {name: rows[name] for name in kinds}
        for name, kind in kinds.items():
            if kind == "bool":
                values[name] = bool(values[name])
            elif type(values[name]).__name__ != kind:
                raise TypeError(name)
        return cls(**values)


def _stored(value: object) -> object:
    return int(value) if isinstance(value, bool) else value


class CatalogVolume(NamedTuple):
    """A volume that files of a catalog lie on."""

    number: int
    id: str
    label: str
    file_system: str
