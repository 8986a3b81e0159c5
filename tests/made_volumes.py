"""Volumes and mounts for tests of tables that no walk made."""

from __future__ import annotations

import os

from dedupe.storage.volume import Mount, Volume

SEPARATOR = os.sep.encode()


def volume(number: int = 1, *, stable_inodes: bool = True, keeps_change_time: bool = True) -> Volume:
    """Return one of several volumes that differ in all that identifies them."""
    return Volume(
        f"uuid:{number}",
        f"dev:{number}",
        "here",
        number,
        stable_inodes=stable_inodes,
        keeps_change_time=keeps_change_time,
    )


def mount(of: Volume | None = None, prefix: bytes = SEPARATOR, base: bytes = b"", *, linked: bool = False) -> Mount:
    """Return a mount, of a whole volume at the root unless said otherwise."""
    return Mount(of or volume(), prefix, base, linked)


MOUNT = mount()
