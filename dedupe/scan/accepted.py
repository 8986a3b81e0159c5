"""Duplicates that are wanted: their groups are counted and left out.  Reads no file."""

from __future__ import annotations

from array import array

from dedupe.config import ScanConfig
from dedupe.files.classes import Classes
from dedupe.result import SkipReason
from dedupe.scan.confirm import Confirmed
from dedupe.walk.listing import Listing


def hide_accepted(config: ScanConfig, listing: Listing, confirmed: Confirmed) -> None:
    """Take the classes out whose digest is accepted, and count their files as left out."""
    if not config.accept:
        return
    accepted, left, hidden = frozenset(config.accept), Classes(), set[int]()
    for n, (digest, members) in enumerate(confirmed.classes):
        if digest in accepted:
            hidden.update(members)
        else:
            left.append(digest, members, confirmed.classes.proofs(n, n + 1))
    if hidden:
        listing.skipped[SkipReason.ACCEPTED] += len(hidden)
        confirmed.classes = left
        confirmed.remembered = array("I", (i for i in confirmed.remembered if i not in hidden))
