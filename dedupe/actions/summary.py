"""What a plan would come to, told before anything is done.  Changes nothing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from dedupe.actions.copies import Copy
from dedupe.actions.plan import Plan
from dedupe.storage import display, file_systems, sharing, volumes
from dedupe.storage.opening import open_folder, open_nofollow

EXAMPLES = 5


class Example(NamedTuple):
    """A name that would go, and the copy that stays for it."""

    goes: bytes
    stays: bytes


@dataclass(slots=True)
class Summary:
    """The sums of a plan, and what a user should know before saying yes."""

    names: int = 0
    files: int = 0  # physical ones
    bytes: int = 0
    freed: dict[str, int] = field(default_factory=dict)  # bytes by volume: of files that lose their last name
    keeps_name: int = 0  # files that have further names outside the report, so that nothing becomes free
    other_dates: int = 0  # victims whose dates differ from those of the copy that stays
    symlinks: int = 0  # that lead to victims
    examples: list[Example] = field(default_factory=list)


def of(plan: Plan) -> Summary:
    """Return the sums of a plan."""
    found = Summary()
    named: dict[int, tuple[str, bool]] = {}
    for group in plan.groups:
        keeper = group.keepers[0]
        for victim in _each_file(group.victims):
            device = victim.seen.device
            if device not in named:
                named[device] = _volume(victim)
            name, may_share = named[device]
            found.names += len(victim.names)
            found.files += 1
            found.bytes += group.size
            found.symlinks += len(victim.symlinks)
            found.other_dates += victim.seen.modified_ns != keeper.seen.modified_ns
            if victim.seen.nlink > len(victim.names):
                found.keeps_name += 1
                found.freed.setdefault(name, 0)
            else:
                found.freed[name] = found.freed.get(name, 0) + _own(victim, may_share=may_share)
            if len(found.examples) < EXAMPLES:
                found.examples.append(Example(victim.path, keeper.path))
    return found


def _each_file(victims: tuple[Copy, ...]) -> Iterator[Copy]:
    """Yield each physical file once, with all names of it that are known."""
    files: dict[tuple[int, int], Copy] = {}
    for victim in victims:
        known = files.get(victim.identity)
        names = victim.names if known is None else known.names + victim.names
        files[victim.identity] = victim._replace(names=names)
    yield from files.values()


def _volume(victim: Copy) -> tuple[str, bool]:
    """Return what a user calls a volume, and whether files may share blocks there."""
    try:
        volume = volumes.locate(victim.names[0].folder, victim.seen.device).volume
    except OSError:
        return "its volume", False
    shown = display.shown(volume.mount_point) if volume.mount_point else "its volume"
    return f"{shown} ({volume.label})" if volume.label else shown, file_systems.may_share(volume.file_system)


def _own(victim: Copy, *, may_share: bool) -> int:
    """Return the bytes that a file has for itself alone."""
    if may_share:
        with suppress(OSError):
            folder = open_folder(victim.names[0].folder)
            try:
                descriptor = open_nofollow(folder, victim.names[0].name)
            finally:
                os.close(folder)
            try:
                return sharing.exclusive_bytes([descriptor])
            finally:
                os.close(descriptor)
    return victim.seen.on_disk
